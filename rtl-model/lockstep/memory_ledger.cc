// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/lockstep/memory_ledger.h"

#include <algorithm>

namespace exrnic::lockstep {

// Takes the bytes that are open from the pieces that wait for them, oldest first.
std::optional<MemoryLedger::Difference> MemoryLedger::match(std::list<Piece>& pieces,
                                                            uint64_t address, const Bytes& data,
                                                            std::vector<bool>& open,
                                                            const Excused& excused) {
  size_t missing = static_cast<size_t>(std::count(open.begin(), open.end(), true));
  for (auto piece = pieces.begin(); piece != pieces.end() && missing > 0;) {
    const uint64_t first = std::max(address, piece->address);
    const uint64_t end = std::min(address + data.size(), piece->address + piece->data.size());
    for (uint64_t byte = first; byte < end; ++byte) {
      if (!open[byte - address] || !piece->waits_for(byte)) continue;
      const uint8_t expected = piece->data[byte - piece->address];
      if (expected != data[byte - address]) {
        if (excused(piece->owner)) continue;  // it may never be written
        return Difference{byte, expected, data[byte - address], piece->owner};
      }
      piece->taken[byte - piece->address] = true;
      --piece->left;
      open[byte - address] = false;
      --missing;
    }
    piece = piece->left == 0 ? pieces.erase(piece) : std::next(piece);
  }
  return std::nullopt;
}

std::optional<MemoryLedger::Difference> MemoryLedger::done(
    uint64_t address, const Bytes& data, const Excused& excused,
    const std::function<std::vector<Owner>()>& explained_by) {
  std::vector<bool> open(data.size(), true);
  const auto page = pages_.find(address / kPage);
  if (page != pages_.end()) {
    const auto difference = match(page->second, address, data, open, excused);
    if (difference) return difference;
    if (page->second.empty()) pages_.erase(page);
  }
  if (std::find(open.begin(), open.end(), true) == open.end()) return std::nullopt;
  const std::vector<Owner> by = explained_by();
  for (size_t i = 0; i < data.size(); ++i)
    if (open[i]) early_.push_back({address + i, data[i], by});
  return std::nullopt;
}

std::optional<MemoryLedger::Difference> MemoryLedger::predict(uint64_t address, const Bytes& data,
                                                              const Owner& owner,
                                                              const Excused& excused) {
  Piece piece{address, data, owner};
  for (auto early = early_.begin(); early != early_.end();) {
    if (!piece.waits_for(early->address)) {
      ++early;
      continue;
    }
    const uint8_t expected = data[early->address - address];
    if (expected != early->value && !excused(owner))
      return Difference{early->address, expected, early->value, owner};
    piece.taken[early->address - address] = true;
    --piece.left;
    early = early_.erase(early);
  }
  if (piece.left > 0) pages_[address / kPage].push_back(std::move(piece));
  return std::nullopt;
}

void MemoryLedger::overlay(uint64_t address, uint8_t* out, size_t length,
                           const Excused& excused) const {
  const uint64_t end = address + length;
  for (auto page = pages_.lower_bound(address / kPage);
       page != pages_.end() && page->first * kPage < end; ++page)
    for (const Piece& piece : page->second)
      for (uint64_t byte = std::max(address, piece.address);
           byte < std::min(end, piece.address + piece.data.size()); ++byte)
        if (piece.waits_for(byte) && !excused(piece.owner))
          out[byte - address] = piece.data[byte - piece.address];
}

std::optional<MemoryLedger::Difference> MemoryLedger::unmatched(const Excused& excused) const {
  for (const Early& early : early_)
    if (std::none_of(early.explained_by.begin(), early.explained_by.end(), excused))
      return Difference{early.address, -1, early.value, {}};
  for (const auto& [number, pieces] : pages_)
    for (const Piece& piece : pieces) {
      if (excused(piece.owner)) continue;
      const auto at =
          std::find(piece.taken.begin(), piece.taken.end(), false) - piece.taken.begin();
      return Difference{piece.address + at, piece.data[at], -1, piece.owner};
    }
  return std::nullopt;
}

std::set<Endpoint> MemoryLedger::unwritten_for() const {
  std::set<Endpoint> all;
  for (const auto& entry : pages_)
    for (const Piece& piece : entry.second) all.insert(piece.owner.qp);
  return all;
}

void MemoryLedger::clear() {
  pages_.clear();
  early_.clear();
}

}  // namespace exrnic::lockstep
