// SPDX-License-Identifier: BSD-2-Clause
// What stands on a bare core while accesses are tried: queue pairs of a few domains, regions that
// come and go on random pages, and the driver that makes them. Pages of a region have no other
// owner; between them lie bytes that are nobody's.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "tests/protection/access_oracle.h"
#include "tests/protection/bare_core.h"

namespace exrnic::testing {

struct StageQp {
  uint32_t qpn = 0;
  uint32_t domain = 0;
  uint32_t life = 0;
  uint16_t sq_index = 0;
  uint16_t rq_index = 0;
  uint32_t send_msn = 1;  // of the peer's next message
  uint32_t read_msn = 1;

  OracleQp now() const { return {qpn, life}; }
};

// A memory window; what it was bound to last, as the oracle knows it.
struct StageWindow {
  uint32_t index = 0;
  uint32_t domain = 0;
  bool for_domain = false;
  OracleRegion bound = {};
};

class Stage {
 public:
  static constexpr size_t kQps = 24;
  static constexpr size_t kRegions = 40;
  static constexpr size_t kWindows = 20;
  static constexpr uint32_t kDomains = 4;
  static constexpr uint64_t kUserEnd = BareCore::kMemory + (5u << 20);  // then rings and PBLs

  Stage(const MakeCore& make_core, CoreWatcher& watcher, uint64_t seed);

  BareCore& core() { return core_; }
  AccessOracle& oracle() { return oracle_; }
  std::vector<OracleRegion>& regions() { return regions_; }
  StageQp& qp(size_t i) { return qps_.at(i); }
  std::vector<StageWindow>& windows() { return windows_; }
  uint64_t below(uint64_t limit) { return random_() % limit; }
  uint64_t any() { return random_(); }
  bool one_in(uint64_t n) { return below(n) == 0; }
  uint32_t any_stag();  // that no region has

  // Deregisters region i, and registers another in its place on other or the same pages. In between
  // the core says that it is done with the pages; then `gone` is called.
  template <typename Gone>
  void replace_region(size_t i, Gone gone) {
    deregister(i);
    gone();
    register_at(i);
  }

  // Another memory window in the place of that one, which is not bound, of any domain.
  void replace_window(StageWindow& window);

  void post_send(StageQp& qp, const Bytes& slot);
  void post_receive(StageQp& qp, const Bytes& slot);
  void restart(StageQp& qp);  // to RTS again, whatever its state

  std::vector<exrnic_cqe> poll();

 private:
  void open_queues();
  void deregister(size_t i);
  void register_at(size_t i);
  void create_window(StageWindow& window);
  void draw_place(OracleRegion& region);
  uint64_t new_pbl(const std::vector<uint64_t>& pages);
  void fill_pbl(uint64_t at, const std::vector<uint64_t>& pages);
  uint64_t driver_pages(size_t count);
  void modify(const StageQp& qp, exrnic_qp_state state);

  std::mt19937_64 random_;
  BareCore core_;
  AccessOracle oracle_;
  std::vector<OracleRegion> regions_{kRegions};
  std::vector<StageWindow> windows_{kWindows};
  std::vector<uint64_t> region_pbls_ = std::vector<uint64_t>(kRegions);
  std::vector<uint64_t> free_pages_;
  std::vector<StageQp> qps_{kQps};
  std::vector<uint64_t> sq_rings_, rq_rings_;
  uint64_t cq_ring_ = 0;
  uint32_t cq_index_ = 0;
  uint64_t driver_next_ = kUserEnd;
  uint64_t pbl_next_ = 0;
};

}  // namespace exrnic::testing
