// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ethernet/crc32.h"

#include <zlib.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace exrnic {
namespace {

#ifdef __x86_64__

// A block may be replaced by the product of its halves with x^n mod P, added to what lies n bits
// behind it, without a change of the CRC: V. Gopal et al., "Fast CRC Computation for Generic
// Polynomials Using PCLMULQDQ Instruction", Intel 2009, which has the constants. So data shrink to
// one block, whose CRC is that of all.
constexpr size_t kBlock = sizeof(__m128i);
constexpr size_t kLanes = 4;  // independent of each other: a product takes several cycles
constexpr size_t kStride = kLanes * kBlock;

__attribute__((target("pclmul"))) inline __m128i fold(__m128i block, __m128i by, __m128i onto) {
  const __m128i low = _mm_clmulepi64_si128(block, by, 0x00);
  const __m128i high = _mm_clmulepi64_si128(block, by, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), onto);
}

inline __m128i load(const uint8_t* data) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
}

// At least kStride bytes.
__attribute__((target("pclmul"))) uint32_t folded(const uint8_t* data, size_t size) {
  const __m128i by_stride = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
  const __m128i by_block = _mm_set_epi64x(0xccaa009e, 0x1751997d0);
  const uint8_t* const end = data + size;
  __m128i lanes[kLanes];
  for (size_t i = 0; i < kLanes; ++i) lanes[i] = load(data + i * kBlock);
  lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128(-1));  // the CRC begins with all ones
  for (data += kStride; end - data >= ptrdiff_t{kStride}; data += kStride)
    for (size_t i = 0; i < kLanes; ++i)
      lanes[i] = fold(lanes[i], by_stride, load(data + i * kBlock));
  __m128i all = lanes[0];
  for (size_t i = 1; i < kLanes; ++i) all = fold(all, by_block, lanes[i]);
  for (; end - data >= ptrdiff_t{kBlock}; data += kBlock) all = fold(all, by_block, load(data));
  uint8_t block[kBlock];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(block), all);
  // ~0 is how zlib calls a CRC that begins with zeros.
  const uLong crc = crc32(~uint32_t{0}, block, kBlock);
  return static_cast<uint32_t>(crc32(crc, data, static_cast<uInt>(end - data)));
}

bool can_fold() {
  static const bool can = __builtin_cpu_supports("pclmul");
  return can;
}

#endif

}  // namespace

uint32_t crc32_of(const uint8_t* data, size_t size) {
#ifdef __x86_64__
  if (size >= kStride && can_fold()) return folded(data, size);
#endif
  return static_cast<uint32_t>(crc32(0, data, static_cast<uInt>(size)));
}

}  // namespace exrnic
