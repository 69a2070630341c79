// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/pbl_cache.h"

#include <cstring>

namespace exrnic::ref {
namespace {

uint64_t entry_of(const Bytes& line, uint64_t entry_address) {
  uint64_t entry;
  std::memcpy(&entry, line.data() + entry_address % EXRNIC_PBL_LINE_SIZE, sizeof entry);
  return entry;
}

}  // namespace

void PblCache::look_up(uint64_t entry_address, const Done& done) {
  const uint64_t line_address = entry_address - entry_address % EXRNIC_PBL_LINE_SIZE;
  const auto known = lines_.find(line_address);
  if (known != lines_.end()) {
    state_.count(EXRNIC_COUNTER_PBL_HITS);
    return done(true, entry_of(known->second, entry_address));
  }
  state_.count(EXRNIC_COUNTER_PBL_MISSES);
  dma_read_.read(line_address, EXRNIC_PBL_LINE_SIZE, [=](bool good, const Bytes& line) {
    if (!good) return done(false, 0);
    lines_[line_address] = line;
    done(true, entry_of(line, entry_address));
  });
}

}  // namespace exrnic::ref
