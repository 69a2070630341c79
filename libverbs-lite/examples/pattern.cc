// SPDX-License-Identifier: BSD-2-Clause
#include "pattern.h"

#include <algorithm>
#include <cstring>

namespace exrnic {

namespace {

constexpr uint64_t kGamma = 0x9e3779b97f4a7c15;
constexpr size_t kWord = sizeof(uint64_t);

std::optional<Difference> FirstDifference(const uint8_t* expected, const uint8_t* got, size_t base,
                                          size_t length) {
  if (memcmp(expected, got, length) == 0) return std::nullopt;
  size_t i = 0;
  while (expected[i] == got[i]) ++i;
  return Difference{base + i, expected[i], got[i]};
}

}  // namespace

uint64_t Mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

uint64_t PatternStream(uint64_t seed, uint64_t op) { return Mix(seed + Mix(op + kGamma)); }

void FillPattern(uint64_t stream, uint8_t* to, size_t length) {
  for (size_t at = 0; at < length; at += kWord) {
    const uint64_t word = Mix(stream += kGamma);
    memcpy(to + at, &word, std::min(kWord, length - at));
  }
}

std::optional<Difference> ComparePattern(uint64_t stream, const uint8_t* with, size_t length) {
  for (size_t at = 0; at < length; at += kWord) {
    const uint64_t word = Mix(stream += kGamma);
    uint8_t expected[kWord];
    memcpy(expected, &word, kWord);
    auto difference = FirstDifference(expected, with + at, at, std::min(kWord, length - at));
    if (difference) return difference;
  }
  return std::nullopt;
}

std::optional<Difference> CompareByte(uint8_t expected, const uint8_t* with, size_t length) {
  const uint8_t* end = with + length;
  const uint8_t* wrong = std::find_if(with, end, [=](uint8_t byte) { return byte != expected; });
  if (wrong == end) return std::nullopt;
  return Difference{static_cast<size_t>(wrong - with), expected, *wrong};
}

}  // namespace exrnic
