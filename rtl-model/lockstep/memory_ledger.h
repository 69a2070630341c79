// SPDX-License-Identifier: BSD-2-Clause
// Bytes that the reference core has written and the subject has not yet, of one host's memory.
//
// Each byte of memory has its own order: the subject must write what was predicted for it, in that
// order. How writes are cut, and the order of different bytes, is left to it.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "rtl-model/lockstep/endpoint.h"
#include "rtl-model/systemc/core.h"

namespace exrnic::lockstep {

class MemoryLedger {
 public:
  struct Difference {
    uint64_t address = 0;
    int expected = -1;  // -1: no write of this byte at all
    int came = -1;
    Owner owner;  // for whom the reference wrote; with `expected` only
  };

  // The reference writes for `owner`. A byte that the subject has written already is
  // compared now.
  std::optional<Difference> predict(uint64_t address, const Bytes& data, const Owner& owner,
                                    const Excused& excused);

  // The subject writes. What is predicted nowhere waits; `explained_by` are those for whom
  // segments with these bytes came.
  std::optional<Difference> done(uint64_t address, const Bytes& data, const Excused& excused,
                                 const std::function<std::vector<Owner>()>& explained_by);

  // Puts what is predicted over what memory holds; not what may never be written.
  void overlay(uint64_t address, uint8_t* out, size_t length, const Excused& excused) const;

  // The first byte without its counterpart that time does not excuse.
  std::optional<Difference> unmatched(const Excused& excused) const;
  // For whom the reference wrote what the subject has not written.
  std::set<Endpoint> unwritten_for() const;
  void clear();

 private:
  static constexpr uint64_t kPage = 4096;

  // A predicted write, within a page. The last of its bytes to come ends it.
  struct Piece {
    uint64_t address = 0;
    Bytes data;
    Owner owner;
    std::vector<bool> taken = std::vector<bool>(data.size());
    size_t left = data.size();

    bool waits_for(uint64_t byte) const {
      return byte >= address && byte - address < data.size() && !taken[byte - address];
    }
  };

  // What the subject wrote and nobody has predicted.
  struct Early {
    uint64_t address = 0;
    uint8_t value = 0;
    std::vector<Owner> explained_by;
  };

  static std::optional<Difference> match(std::list<Piece>& pieces, uint64_t address,
                                         const Bytes& data, std::vector<bool>& open,
                                         const Excused& excused);

  std::map<uint64_t, std::list<Piece>> pages_;  // by number of the page; in order of prediction
  std::list<Early> early_;                      // in order
};

}  // namespace exrnic::lockstep
