// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/xlate.h"

#include <algorithm>

namespace exrnic::ref {

void Xlate::region(const Access& access, const Done& done) {
  const Verdict verdict = check(state_, access);
  if (verdict != Verdict::kOk) return done({verdict, 0, 0});
  const uint32_t index = region_of(state_, access);
  const Region& region = state_.regions[index];
  const uint64_t base_in_page = region.base % (uint64_t{1} << region.page_shift);
  // Behind a read of the PBL the region is looked at again: it may have been invalidated, or be
  // another one by now.
  const uint32_t life = region.life;
  const List list{region.pbl_address, {false, index, life}, region.page_shift};
  page(list, access.to - region.base + base_in_page, access.length,
       [this, access, index, life, done](const Place& place) {
         const Verdict now = check(state_, access);
         if (now == Verdict::kOk &&
             (region_of(state_, access) != index || state_.regions[index].life != life))
           return this->region(access, done);
         done(now == Verdict::kOk ? place : Place{now, 0, 0});
       });
}

void Xlate::ring(uint64_t pbl, uint64_t offset, uint64_t length, const Done& done) {
  page({pbl, {/*ring=*/true, 0, 0}, EXRNIC_PAGE_SHIFT}, offset, length, done);
}

void Xlate::page(const List& list, uint64_t offset, uint64_t length, const Done& done) {
  const uint64_t page_size = uint64_t{1} << list.page_shift;
  const uint64_t in_page = offset % page_size;
  const auto place = [=](uint64_t page_address) -> Place {
    return {Verdict::kOk, (page_address & ~(page_size - 1)) + in_page,
            std::min(length, page_size - in_page)};
  };
  const uint64_t entry = list.pbl_address + (offset >> list.page_shift) * EXRNIC_PBL_ENTRY_SIZE;
  if (const auto page_address = pbl_cache_.known(entry, list.owner))
    return done(place(*page_address));
  pbl_cache_.read(entry, list.owner, [done, place](bool good, uint64_t page_address) {
    done(good ? place(page_address) : Place{Verdict::kMemory, 0, 0});
  });
}

}  // namespace exrnic::ref
