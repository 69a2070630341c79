// SPDX-License-Identifier: BSD-2-Clause
// A memory window of an end of an exchange, and a region that it may be bound to.
#pragma once

#include "tests/support/exchange.h"
#include "tests/support/memory_window.h"

namespace exrnic::testing {

// A region of an end, and memory windows that may be bound to it.
struct WindowOwner {
  static constexpr uint32_t kRegionIndex = 0x0002'31;
  static constexpr uint32_t kWindowIndex = 0x0003'07;
  static constexpr uint64_t kBase = 0x5500'0000'0123;
  static constexpr uint64_t kBytes = 20'000;
  static constexpr uint64_t kFirst = kBase + 4321;  // of the window
  static constexpr uint64_t kLength = 9000;

  explicit WindowOwner(End& owner,
                       uint32_t access = EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_MW_BIND,
                       exrnic_region_kind kind = EXRNIC_REGION_KIND_MEMORY_WINDOW)
      : end(owner),
        region(end.rnic.create_region(kRegionIndex << EXRNIC_STAG_INDEX_SHIFT | 0x66, End::kPd,
                                      kBase, kBytes, access)),
        stag(create_memory_window(end.rnic, kWindowIndex, End::kPd, kind) | 0x42) {}

  Bind bind(uint32_t rights = kRemoteRights) const {
    return {stag, region.stag, kFirst, kLength, rights};
  }

  template <typename Request>
  exrnic_cqe do_work(const Request& request) {
    end.rnic.put(end.qp, request);
    end.rnic.ring(end.qp);
    return end.wait();
  }
  void must_bind(const Bind& bind) {
    REQUIRE(do_work(bind_of(bind)).status == EXRNIC_CQE_STATUS_SUCCESS);
  }

  // Of the peer, by the window.
  Work by_window(Work work, uint64_t offset = 0) const {
    work.remote_stag = stag;
    work.remote_to = kFirst + offset;
    return work;
  }

  End& end;
  Region region;
  uint32_t stag;
};

}  // namespace exrnic::testing
