// SPDX-License-Identifier: BSD-2-Clause
#include "diff.h"

#include <cstring>

namespace exrnic {

namespace {

constexpr size_t kDiffWord = sizeof(uint32_t);
constexpr size_t kDiffStride = 64;  // that are compared at once

bool WordsDiffer(const uint8_t* page, const uint8_t* twin, size_t at) {
  return memcmp(page + at, twin + at, kDiffWord) != 0;
}

}  // namespace

void FindDsmRuns(const void* page, const void* twin, size_t bytes, std::vector<DsmRun>* runs) {
  const auto* const now = static_cast<const uint8_t*>(page);
  const auto* const before = static_cast<const uint8_t*>(twin);
  size_t at = 0;
  while (at < bytes) {
    if (at % kDiffStride == 0 && at + kDiffStride <= bytes &&
        memcmp(now + at, before + at, kDiffStride) == 0) {
      at += kDiffStride;
      continue;
    }
    if (!WordsDiffer(now, before, at)) {
      at += kDiffWord;
      continue;
    }
    const size_t begin = at;
    while (at < bytes && WordsDiffer(now, before, at)) at += kDiffWord;
    runs->push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(at - begin)});
  }
}

}  // namespace exrnic
