// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/pbl_cache.h"

#include <cstring>
#include <utility>

namespace exrnic::ref {
namespace {

uint64_t entry_of(const Bytes& line, uint64_t entry_address) {
  uint64_t entry;
  std::memcpy(&entry, line.data() + entry_address % EXRNIC_PBL_LINE_SIZE, sizeof entry);
  return entry;
}

}  // namespace

std::optional<uint64_t> PblCache::known(uint64_t entry_address, const Owner& owner) {
  const auto line = lines_.find({entry_address - entry_address % EXRNIC_PBL_LINE_SIZE, owner});
  if (line == lines_.end()) return std::nullopt;
  state_.count(EXRNIC_COUNTER_PBL_HITS);
  return entry_of(line->second, entry_address);
}

void PblCache::read(uint64_t entry_address, const Owner& owner, Done done) {
  const uint64_t line_address = entry_address - entry_address % EXRNIC_PBL_LINE_SIZE;
  state_.count(EXRNIC_COUNTER_PBL_MISSES);
  dma_read_.read(line_address, EXRNIC_PBL_LINE_SIZE,
                 [this, line_address, owner, entry_address, done = std::move(done)](
                     bool good, const Bytes& line) {
                   if (!good) return done(false, 0);
                   lines_[{line_address, owner}] = line;
                   done(true, entry_of(line, entry_address));
                 });
}

}  // namespace exrnic::ref
