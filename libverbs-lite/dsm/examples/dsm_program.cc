// SPDX-License-Identifier: BSD-2-Clause
#include "dsm_program.h"

#include <cstring>
#include <stdexcept>

namespace exrnic {

void DsmTimer::Begin() {
  jia_barrier();
  jia_startstat();
  begin_ = jia_wtime();
}

void DsmTimer::End() {
  jia_barrier();
  seconds_ = jia_wtime() - begin_;
  jia_statistics(&statistics_);
}

unsigned RowsOfNode(unsigned rows) {
  const auto hosts = static_cast<unsigned>(jiahosts);
  return (rows + hosts - 1) / hosts;
}

DsmPart OwnPart(unsigned count) {
  const unsigned each = RowsOfNode(count);
  const unsigned begin = each * static_cast<unsigned>(jiapid);
  return {begin < count ? begin : count, begin + each < count ? begin + each : count};
}

uint64_t DsmNumbers::Next() {  // splitmix64
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint64_t DsmDigest(const double* rows, size_t stride, unsigned row) {
  uint64_t digest = 0xcbf29ce484222325 + row;
  for (size_t i = 0; i < stride; ++i) {
    uint64_t word;
    memcpy(&word, &rows[row * stride + i], sizeof(word));
    digest = (digest ^ word) * 0x100000001b3;
  }
  return digest;
}

uint64_t DsmDigest(const double* rows, size_t stride, DsmPart part) {
  uint64_t sum = 0;
  for (unsigned row = part.begin; row < part.end; ++row) sum += DsmDigest(rows, stride, row);
  return sum;
}

void CompareDsm(const double* got, const double* expected, size_t count, const char* what) {
  for (size_t i = 0; i < count; ++i) {
    if (memcmp(&got[i], &expected[i], sizeof(double)) == 0) continue;
    throw std::runtime_error(std::string(what) + ": number " + std::to_string(i) + " is " +
                             std::to_string(got[i]) + ", of one process it is " +
                             std::to_string(expected[i]));
  }
}

// Nothing but barriers.
const DsmProgram kBarrierProgram = {"barrier",
                                    "barriers, one after the other",
                                    {1, 1000, true},
                                    [](const DsmSizes&) { return size_t{0}; },
                                    [](const DsmSizes& sizes, DsmTimer* timer) {
                                      timer->Begin();
                                      for (unsigned i = 0; i < sizes.iterations; ++i) jia_barrier();
                                      timer->End();
                                      return uint64_t{0};
                                    }};

}  // namespace exrnic
