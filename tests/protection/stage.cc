// SPDX-License-Identifier: BSD-2-Clause
#include "tests/protection/stage.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/protection/scripted_peer.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kPage = 1u << EXRNIC_PAGE_SHIFT;
constexpr uint64_t kHugePage = 1u << EXRNIC_HUGE_PAGE_SHIFT;
constexpr uint64_t kSmallPages = BareCore::kMemory + 2 * kHugePage;  // behind two huge pages
constexpr uint64_t kLongest = 3 * kPage;                             // of a region of small pages
constexpr uint32_t kUserPage = 2;
constexpr uint32_t kCqn = 1;
constexpr uint32_t kCqLog = 12;
constexpr uint32_t kRingLog = 3;
constexpr uint32_t kRtoCycles = 1u << 15;
constexpr size_t kDriverPages = 2 * Stage::kQps + 40;
constexpr uint32_t kAllRights =
    EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ;

}  // namespace

Stage::Stage(const MakeCore& make_core, CoreWatcher& watcher, uint64_t seed)
    : random_(seed),
      core_(make_core, kUserEnd - BareCore::kMemory + kDriverPages * kPage, watcher, seed) {
  core_.write_register(EXRNIC_REG_RTO_CYCLES, kRtoCycles);
  for (uint64_t at = kSmallPages; at < kUserEnd; at += kPage) free_pages_.push_back(at);
  std::shuffle(free_pages_.begin(), free_pages_.end(), random_);
  pbl_next_ = driver_pages(3);
  for (auto& pbl : region_pbls_) pbl = new_pbl({});
  open_queues();
  for (size_t i = 0; i < kRegions; ++i) register_at(i);
  for (StageWindow& window : windows_) create_window(window);
}

// ---- Memory of the driver

uint64_t Stage::driver_pages(size_t count) {
  return std::exchange(driver_next_, driver_next_ + count * kPage);
}

uint64_t Stage::new_pbl(const std::vector<uint64_t>& pages) {
  const size_t lines = std::max<size_t>(1, (pages.size() + 7) / 8);
  const uint64_t at = std::exchange(pbl_next_, pbl_next_ + lines * EXRNIC_PBL_LINE_SIZE);
  fill_pbl(at, pages);
  return at;
}

// What is no entry leads astray.
void Stage::fill_pbl(uint64_t at, const std::vector<uint64_t>& pages) {
  std::memset(core_.at(at), 0xee, EXRNIC_PBL_LINE_SIZE);
  if (!pages.empty()) std::memcpy(core_.at(at), pages.data(), pages.size() * sizeof pages[0]);
}

// ---- Regions

uint32_t Stage::any_stag() {
  for (;;) {
    const auto stag = static_cast<uint32_t>(below(uint64_t{EXRNIC_MAX_STAG} << 8));
    const auto same_index = [&](const OracleRegion& r) { return r.stag >> 8 == stag >> 8; };
    const auto same_window = [&](const StageWindow& w) { return w.index == stag >> 8; };
    if (std::none_of(regions_.begin(), regions_.end(), same_index) &&
        std::none_of(windows_.begin(), windows_.end(), same_window))
      return stag;
  }
}

// One in eight on huge pages, which regions share; one in six ends or starts where numbers do.
void Stage::draw_place(OracleRegion& region) {
  const bool huge = one_in(8);
  region.page_bytes = huge ? kHugePage : kPage;
  region.length = 1 + (one_in(4) ? below(200) : below(huge ? kHugePage : kLongest));
  region.base = any() >> below(40);
  if (one_in(12)) region.base = 0;
  if (one_in(12)) region.base = ~region.length + 1;  // the last byte is the last there is
  if (region.base + (region.length - 1) < region.base) region.base = 0;
  const uint64_t pages =
      (region.base % region.page_bytes + region.length - 1) / region.page_bytes + 1;
  region.pages.clear();
  for (uint64_t i = 0; i < pages; ++i) {
    if (huge) {
      region.pages.push_back(BareCore::kMemory + (i + region.stag) % 2 * kHugePage);
    } else {
      region.pages.push_back(free_pages_.back());
      free_pages_.pop_back();
    }
  }
}

void Stage::register_at(size_t i) {
  OracleRegion region;
  region.stag = any_stag();
  region.domain = static_cast<uint32_t>(below(kDomains));
  region.rights = one_in(3) ? static_cast<uint32_t>(below(kAllRights + 1)) : kAllRights;
  if (!one_in(3)) region.rights |= EXRNIC_ACCESS_MW_BIND;
  draw_place(region);
  fill_pbl(region_pbls_[i], region.pages);
  exrnic_mbox_register_mr create{};
  create.stag = region.stag;
  create.pd = region.domain;
  create.base = region.base;
  create.length = region.length;
  create.pbl_address = region_pbls_[i];
  create.access = region.rights;
  create.page_shift = region.page_bytes == kPage ? EXRNIC_PAGE_SHIFT : EXRNIC_HUGE_PAGE_SHIFT;
  core_.must(EXRNIC_MBOX_OP_REGISTER_MR, create);
  oracle_.add(region);
  regions_[i] = region;
}

// Then its PBL leads astray, and its pages may be anybody's.
void Stage::deregister(size_t i) {
  const OracleRegion region = std::exchange(regions_[i], {});
  core_.must(EXRNIC_MBOX_OP_INVALIDATE_MR, exrnic_mbox_object{region.stag});
  oracle_.remove(region.stag);
  fill_pbl(region_pbls_[i], {});
  if (region.page_bytes == kPage)
    free_pages_.insert(free_pages_.begin() + static_cast<ptrdiff_t>(below(free_pages_.size() + 1)),
                       region.pages.begin(), region.pages.end());
}

// ---- Memory windows

void Stage::create_window(StageWindow& window) {
  const uint32_t stag = any_stag();
  window = {stag >> EXRNIC_STAG_INDEX_SHIFT, static_cast<uint32_t>(below(kDomains)), one_in(2)};
  exrnic_mbox_register_mr create{};
  create.stag = stag;
  create.pd = window.domain;
  create.kind =
      window.for_domain ? EXRNIC_REGION_KIND_DOMAIN_WINDOW : EXRNIC_REGION_KIND_MEMORY_WINDOW;
  core_.must(EXRNIC_MBOX_OP_REGISTER_MR, create);
}

void Stage::replace_window(StageWindow& window) {
  core_.must(EXRNIC_MBOX_OP_INVALIDATE_MR,
             exrnic_mbox_object{window.index << EXRNIC_STAG_INDEX_SHIFT});
  oracle_.remove(window.bound.stag);
  create_window(window);
}

// ---- Queues

void Stage::open_queues() {
  const size_t cq_pages = (sizeof(exrnic_cqe) << kCqLog) / kPage;
  cq_ring_ = driver_pages(cq_pages);
  std::vector<uint64_t> pages;
  for (size_t i = 0; i < cq_pages; ++i) pages.push_back(cq_ring_ + i * kPage);
  exrnic_mbox_create_cq cq{};
  cq.eqn = EXRNIC_NO_EQ;
  cq.cqn = kCqn;
  cq.page = kUserPage;
  cq.pbl_address = new_pbl(pages);
  cq.log_entries = kCqLog;
  core_.must(EXRNIC_MBOX_OP_CREATE_CQ, cq);
  for (uint32_t i = 0; i < kQps; ++i) {
    StageQp& qp = qps_[i];
    qp.qpn = 2 * i + 1;  // between them lie numbers of none
    qp.domain = i % kDomains;
    sq_rings_.push_back(driver_pages(1));
    rq_rings_.push_back(driver_pages(1));
    exrnic_mbox_create_qp create{};
    create.qpn = qp.qpn;
    create.page = kUserPage;
    create.pd = qp.domain;
    create.send_cqn = create.recv_cqn = kCqn;
    create.sq_log_slots = create.rq_log_slots = kRingLog;
    create.service = EXRNIC_SERVICE_RC;
    create.sq_pbl_address = new_pbl({sq_rings_.back()});
    create.rq_pbl_address = new_pbl({rq_rings_.back()});
    create.srqn = EXRNIC_NO_SRQ;
    create.max_reads_out = create.max_reads_in = EXRNIC_MAX_READS;
    core_.must(EXRNIC_MBOX_OP_CREATE_QP, create);
    restart(qp);
  }
}

void Stage::modify(const StageQp& qp, exrnic_qp_state state) {
  exrnic_mbox_modify_qp change{};
  change.qpn = qp.qpn;
  change.state = state;
  if (state == EXRNIC_QP_STATE_RTR) change.attributes = EXRNIC_QP_ATTRIBUTES_DEST;
  change.dest_node = ScriptedPeer::kNode;
  change.dest_qpn = qp.qpn;
  core_.must(EXRNIC_MBOX_OP_MODIFY_QP, change);
}

void Stage::restart(StageQp& qp) {
  for (const auto state :
       {EXRNIC_QP_STATE_RESET, EXRNIC_QP_STATE_INIT, EXRNIC_QP_STATE_RTR, EXRNIC_QP_STATE_RTS})
    modify(qp, state);
  qp.sq_index = qp.rq_index = 0;
  qp.send_msn = qp.read_msn = 1;
  ++qp.life;
}

void Stage::post_send(StageQp& qp, const Bytes& slot) {
  const uint64_t at = (qp.sq_index++ & ((1u << kRingLog) - 1)) * sizeof(exrnic_wqe);
  std::copy(slot.begin(), slot.end(), core_.at(sq_rings_[qp.qpn / 2] + at));
  core_.store_doorbell(kUserPage, EXRNIC_DOORBELL_SQ, qp.qpn, qp.sq_index);
}

void Stage::post_receive(StageQp& qp, const Bytes& slot) {
  const uint64_t at = (qp.rq_index++ & ((1u << kRingLog) - 1)) * sizeof(exrnic_wqe);
  std::copy(slot.begin(), slot.end(), core_.at(rq_rings_[qp.qpn / 2] + at));
  core_.store_doorbell(kUserPage, EXRNIC_DOORBELL_RQ, qp.qpn, qp.rq_index);
}

std::vector<exrnic_cqe> Stage::poll() {
  std::vector<exrnic_cqe> all;
  for (;; ++cq_index_) {
    exrnic_cqe cqe;
    const uint64_t at = (cq_index_ & ((1u << kCqLog) - 1)) * sizeof cqe;
    std::memcpy(&cqe, core_.at(cq_ring_ + at), sizeof cqe);
    const unsigned phase = ~(cq_index_ >> kCqLog) & 1;
    if ((cqe.phase & 1) != phase) break;
    all.push_back(cqe);
  }
  if (!all.empty()) core_.store_doorbell(kUserPage, EXRNIC_DOORBELL_CQ, kCqn, cq_index_);
  return all;
}

}  // namespace exrnic::testing
