// SPDX-License-Identifier: BSD-2-Clause
// From what software names (STag and tagged offset, or a place in a ring) to a bus address.
#pragma once

#include <functional>

#include "rtl-model/ref/pbl_cache.h"
#include "rtl-model/ref/stag_table.h"

namespace exrnic::ref {

struct Place {
  Verdict verdict = Verdict::kOk;
  uint64_t address = 0;  // with kOk: bus address of the first byte
  uint64_t length = 0;   // with kOk: how many of the bytes asked for lie in its page
};

class Xlate {
 public:
  using Done = std::function<void(const Place& place)>;

  Xlate(const State& state, PblCache& pbl_cache) : state_(state), pbl_cache_(pbl_cache) {}

  // The whole range is checked, its first page is translated.
  void region(const Access& access, const Done& done);

  // An entry of a ring; it lies in one page.
  void ring(uint64_t pbl, uint64_t offset, uint64_t length, const Done& done);

 private:
  struct List {  // a page buffer list
    uint64_t pbl_address;
    PblCache::Owner owner;
    uint32_t page_shift;
  };
  void page(const List& list, uint64_t offset, uint64_t length, const Done& done);

  const State& state_;
  PblCache& pbl_cache_;
};

}  // namespace exrnic::ref
