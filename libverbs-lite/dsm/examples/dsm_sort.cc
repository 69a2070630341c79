// SPDX-License-Identifier: BSD-2-Clause
// Integer sort, by counting: each node counts its keys, adds the counts to those of all under a
// lock for each part of them, and then writes the keys of its part of the values.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "dsm_program.h"

namespace exrnic {

namespace {

constexpr unsigned kValues = 2048;  // keys are below

size_t SortArea(const DsmSizes& sizes) {
  return kValues * sizeof(uint32_t) + (size_t{sizes.size} * sizeof(uint32_t) + 4096);
}

std::vector<uint32_t> KeysOf(unsigned first, unsigned count, unsigned round) {
  std::vector<uint32_t> keys(count);
  for (unsigned i = 0; i < count; ++i)
    keys[i] =
        static_cast<uint32_t>(DsmNumbers(uint64_t{round} << 32 | (first + i)).Next() % kValues);
  return keys;
}

void AddCounts(uint32_t* counts, const std::vector<uint32_t>& own) {
  const auto hosts = static_cast<unsigned>(jiahosts);
  for (unsigned i = 0; i < hosts; ++i) {  // begins with its own part, so that few wait
    const unsigned part = (static_cast<unsigned>(jiapid) + i) % hosts;
    const unsigned each = RowsOfNode(kValues), begin = std::min(part * each, kValues);
    jia_lock(static_cast<int>(part));
    for (unsigned value = begin; value < std::min(begin + each, kValues); ++value)
      counts[value] += own[value];
    jia_unlock(static_cast<int>(part));
  }
}

uint64_t RunSort(const DsmSizes& sizes, DsmTimer* timer) {
  auto* const counts = reinterpret_cast<uint32_t*>(jia_alloc2(kValues * sizeof(uint32_t), 4096));
  auto* const sorted = reinterpret_cast<uint32_t*>(
      jia_alloc2(sizes.size * sizeof(uint32_t), RowsOfNode(sizes.size) * sizeof(uint32_t)));
  const DsmPart part = OwnPart(sizes.size), values = OwnPart(kValues);
  timer->Begin();
  for (unsigned round = 0; round < sizes.iterations; ++round) {
    const auto keys = KeysOf(part.begin, part.end - part.begin, round);
    std::vector<uint32_t> own(kValues);
    for (const uint32_t key : keys) ++own[key];
    for (unsigned value = values.begin; value < values.end; ++value) counts[value] = 0;
    jia_barrier();
    AddCounts(counts, own);
    jia_barrier();
    size_t at = 0;
    for (unsigned value = 0; value < values.begin; ++value) at += counts[value];
    for (unsigned value = values.begin; value < values.end; ++value)
      for (uint32_t i = 0; i < counts[value]; ++i) sorted[at++] = value;
    jia_barrier();
  }
  timer->End();
  if (sizes.checked && jiapid == 0) {
    auto one = KeysOf(0, sizes.size, sizes.iterations - 1);
    std::sort(one.begin(), one.end());
    for (unsigned i = 0; i < sizes.size; ++i) {
      if (sorted[i] == one[i]) continue;
      throw std::runtime_error("sort: key " + std::to_string(i) + " is " +
                               std::to_string(sorted[i]) + ", of one process it is " +
                               std::to_string(one[i]));
    }
  }
  uint64_t digest = 0;
  for (unsigned i = part.begin; i < part.end; ++i) digest += (uint64_t{i} + 1) * sorted[i];
  return digest;
}

}  // namespace

const DsmProgram kSortProgram = {
    "sort", "integers, by counting, under locks", {1 << 20, 5, true}, SortArea, RunSort};

}  // namespace exrnic
