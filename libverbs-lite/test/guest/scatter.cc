// SPDX-License-Identifier: BSD-2-Clause
#include "scatter.h"

#include <algorithm>

namespace exrnic {

Parts Scatter(std::mt19937_64* random, uint32_t length, uint32_t count, size_t* cursor) {
  constexpr uint32_t kGapMost = 40;
  // Equal cuts leave empty parts between them.
  std::vector<uint32_t> cuts = {0};
  for (uint32_t i = 1; i < count; ++i) {
    cuts.push_back(static_cast<uint32_t>((*random)() % (uint64_t{length} + 1)));
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.push_back(length);
  Parts parts;
  for (uint32_t i = 0; i < count; ++i) {
    *cursor += 1 + (*random)() % kGapMost;
    parts.push_back({*cursor, cuts[i + 1] - cuts[i]});
    *cursor += parts.back().length;
  }
  return parts;
}

std::vector<vl_sge> ElementsOf(const Parts& parts, const uint8_t* base, uint32_t stag) {
  std::vector<vl_sge> list;
  for (const Part& part : parts) {
    list.push_back({reinterpret_cast<uintptr_t>(base) + part.at, part.length, stag});
  }
  return list;
}

std::vector<uint8_t> Take(const Parts& parts, const std::vector<uint8_t>& from) {
  std::vector<uint8_t> bytes;
  for (const Part& part : parts) {
    const auto at = from.begin() + static_cast<std::ptrdiff_t>(part.at);
    bytes.insert(bytes.end(), at, at + part.length);
  }
  return bytes;
}

void Put(const std::vector<uint8_t>& bytes, const Parts& parts, std::vector<uint8_t>* to) {
  size_t done = 0;
  for (const Part& part : parts) {
    const size_t count = std::min<size_t>(part.length, bytes.size() - done);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(done), count,
                to->begin() + static_cast<std::ptrdiff_t>(part.at));
    done += count;
  }
}

std::string FirstWrong(const std::vector<uint8_t>& expected, const uint8_t* memory) {
  const auto wrong = std::mismatch(expected.begin(), expected.end(), memory);
  if (wrong.first == expected.end()) return {};
  char text[80];
  snprintf(text, sizeof(text), "byte %td is 0x%02x, not 0x%02x", wrong.first - expected.begin(),
           *wrong.second, *wrong.first);
  return text;
}

}  // namespace exrnic
