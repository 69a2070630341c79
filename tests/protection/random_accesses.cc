// SPDX-License-Identifier: BSD-2-Clause
#include "tests/protection/random_accesses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <numeric>

#include "tests/protection/scripted_peer.h"

namespace exrnic::testing {
namespace {

constexpr size_t kBatch = 12;        // accesses under way at once, each by a queue pair of its own
constexpr uint64_t kSegment = 1024;  // EXRNIC_MTU_DEFAULT
constexpr uint64_t kLongestPull = 4000;
constexpr int kResends = 1000;
constexpr uint64_t kWholeEvery = 512;  // batches, then all of memory is compared
constexpr unsigned kRaceSteps = 400;   // cycles of traffic before a deregistration, at most

bool covers(const std::vector<Extent>& extents, uint64_t address, uint64_t length) {
  return std::any_of(extents.begin(), extents.end(), [=](const Extent& extent) {
    return address >= extent.address && address + length <= extent.address + extent.length;
  });
}

class Accesses final : private CoreWatcher {
 public:
  Accesses(const MakeCore& make_core, uint64_t seed, AccessTally& tally)
      : tally_(tally),
        stage_(make_core, *this, seed),
        peer_(stage_.core(),
              [this](uint32_t qpn, const uint8_t* ddp, size_t n) { deliver(qpn, ddp, n); }),
        order_(Stage::kQps) {
    opened_ = true;
    for (const Frame& frame : early_) peer_.receive(frame.data);
    std::iota(order_.begin(), order_.end(), 0);
    for (uint64_t at = BareCore::kMemory; at < Stage::kUserEnd; ++at)
      *stage_.core().at(at) = static_cast<uint8_t>(at * 0x9e3779b97f4a7c15 >> 56);
    expected_.assign(stage_.core().at(BareCore::kMemory), user_end());
  }

  const std::string& finding() const { return finding_; }
  uint64_t done() const { return done_; }

  void batch() {
    if (stage_.one_in(8)) replace_one();
    bind_one();
    if (stage_.one_in(32)) return race();
    draw_batch();
    run();
    for (AccessCase& access : batch_) {
      const std::string verdict = judge(access);
      if (!verdict.empty()) find(verdict + ": " + describe(access));
      if (access.reasons == 0 && is_of_window(access.attempt.stag)) ++tally_.by_window;
      auto& count = access.reasons ? tally_.refused : tally_.granted;
      ++count[static_cast<size_t>(access.kind)];
    }
    compare_extents();
    if (++batches_ % kWholeEvery == 0) compare_all();
    end_batch(false);
  }

  // The driver sees each refusal: a peer that guesses cannot do so unnoticed.
  void compare_counters() {
    constexpr uint32_t kRefusals =
        EXRNIC_REG_COUNTERS + EXRNIC_COUNTER_TERMINATES_TX * sizeof(uint64_t);
    const uint32_t counted = stage_.core().read_register(kRefusals);
    if (counted != refusals_)
      find(fmt::format("{} refusals left the core, which counts {}", refusals_, counted));
  }

  void compare_all() {
    if (!std::equal(expected_.begin(), expected_.end(), stage_.core().at(BareCore::kMemory)))
      find("memory is not as it should be");
  }

 private:
  uint8_t* user_end() { return stage_.core().at(Stage::kUserEnd - 1) + 1; }

  void find(const std::string& what) {
    if (finding_.empty()) finding_ = what;
  }

  // ---- What is tried

  // Responders act in the order of arrival, requesters do not: what changes memory or regions is
  // not mixed with what is read.
  void draw_batch() {
    const bool reading = stage_.one_in(3);
    shuffle();
    for (size_t i = 0; i < kBatch; ++i) {
      AccessCase access;
      if (reading) {
        access.kind = stage_.one_in(2) ? Kind::kGather : Kind::kPull;
      } else {
        access.kind = stage_.one_in(64)  ? Kind::kInvalidate
                      : stage_.one_in(3) ? Kind::kScatter
                                         : Kind::kPush;
      }
      access.qp = &stage_.qp(order_[i]);
      const OracleRegion* window = stage_.one_in(3) ? any_window() : nullptr;
      draw(access, window != nullptr ? *window : stage_.regions()[stage_.below(Stage::kRegions)],
           stage_.one_in(3));
    }
  }

  // One that was bound, if there is one; most of them still are, and their queue pairs live.
  const OracleRegion* any_window() {
    const OracleRegion* window = nullptr;
    for (int i = 0; i < 20; ++i) {
      const OracleRegion& drawn = stage_.windows()[stage_.below(Stage::kWindows)].bound;
      if (!drawn.binding) continue;
      window = &drawn;
      const OracleQp& qp = drawn.binding->qp;
      if (stage_.oracle().has(drawn.stag) && stage_.qp(qp.qpn / 2).life == qp.life) break;
    }
    return window;
  }

  bool is_of_window(uint32_t stag) {
    const auto& windows = stage_.windows();
    return std::any_of(windows.begin(), windows.end(),
                       [&](const StageWindow& window) { return window.index == stag >> 8; });
  }

  // ---- Memory windows

  // Posted alone; how it ended.
  uint8_t status_of(StageQp& qp, const exrnic_wqe& wqe) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&wqe);
    stage_.post_send(qp, Bytes(bytes, bytes + sizeof wqe));
    stage_.core().run_to_rest();
    const std::vector<exrnic_cqe> cqes = stage_.poll();
    if (cqes.size() != 1) {
      find(fmt::format("{} completions of one work request", cqes.size()));
      return EXRNIC_CQE_STATUS_WR_FLUSH_ERR;
    }
    if (cqes[0].status != EXRNIC_CQE_STATUS_SUCCESS) stage_.restart(qp);
    return cqes[0].status;
  }

  static exrnic_wqe own_work(exrnic_wqe_opcode opcode, uint32_t stag) {
    exrnic_wqe wqe{};
    wqe.opcode = opcode;
    wqe.flags = EXRNIC_WQE_FLAGS_SIGNALED;
    wqe.num_slots = 1;
    wqe.imm_data = stag;
    return wqe;
  }

  // Drawn again and again: most of them are of the window's domain.
  template <typename Draw>
  auto& most_of(Draw draw, const StageWindow& window) {
    auto* drawn = &draw();
    for (int i = 0; i < 10 && drawn->domain != window.domain; ++i) drawn = &draw();
    return *drawn;
  }
  StageQp& any_qp(const StageWindow& window) {
    return most_of([&]() -> auto& { return stage_.qp(stage_.below(Stage::kQps)); }, window);
  }

  // A window is given back or not, and then bound to a part of a region, or what is none.
  void bind_one() {
    StageWindow& window = stage_.windows()[stage_.below(Stage::kWindows)];
    if (stage_.one_in(8)) stage_.replace_window(window);
    if (stage_.oracle().has(window.bound.stag) && !stage_.one_in(4)) end_binding(window);
    const OracleRegion& region =
        most_of([&]() -> auto& { return stage_.regions()[stage_.below(Stage::kRegions)]; }, window);
    StageQp* qp = &any_qp(window);
    OracleRegion bound;
    bound.stag = window.index << EXRNIC_STAG_INDEX_SHIFT | (stage_.any() & 0xff);
    bound.domain = window.domain;
    bound.rights = static_cast<uint32_t>(stage_.below(8)) << 1;
    const uint64_t skip = stage_.below(region.length);
    bound.base = region.base + skip;
    bound.length = 1 + stage_.below(region.length - skip);
    if (stage_.one_in(16)) bound.base = stage_.any();
    if (stage_.one_in(16)) bound.length = region.length - skip + 1 + stage_.below(3);
    if (stage_.one_in(16)) bound.length += uint64_t{1} << 32;
    const bool wraps = bound.base + (bound.length - 1) < bound.base;
    uint32_t of = region.stag;
    if (stage_.one_in(16)) of ^= 1u << stage_.below(8);
    if (stage_.one_in(16)) of = stage_.windows()[stage_.below(Stage::kWindows)].bound.stag;
    bind(window, *qp, bound, of, wraps);
  }

  void bind(StageWindow& window, StageQp& qp, OracleRegion& bound, uint32_t region, bool wraps) {
    constexpr uint32_t kWritten = EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_ATOMIC;
    exrnic_wqe wqe = own_work(EXRNIC_WQE_OPCODE_BIND_MW, bound.stag);
    wqe.remote_to = bound.base;
    wqe.remote_stag = bound.rights;
    wqe.sge0_address = bound.length;
    wqe.sge0_stag = region;
    Attempt needs;
    needs.stag = region;
    needs.domain = qp.domain;
    needs.right = EXRNIC_ACCESS_MW_BIND;
    if (bound.rights & kWritten) needs.right |= EXRNIC_ACCESS_LOCAL_WRITE;
    needs.to = bound.base;
    needs.length = bound.length;
    AccessOracle& oracle = stage_.oracle();
    const bool bindable = window.for_domain || !oracle.has(window.bound.stag);
    const bool good = window.domain == qp.domain && bindable && oracle.reasons(needs) == 0;
    const uint64_t serial = good ? oracle.serial(region) : 0;
    bound.binding = OracleBinding{qp.now(), region, serial, window.for_domain};
    const uint8_t status = status_of(qp, wqe);
    const exrnic_cqe_status refused =
        wraps ? EXRNIC_CQE_STATUS_LOC_QP_OP_ERR : EXRNIC_CQE_STATUS_MW_BIND_ERR;
    ++(good ? tally_.binds : tally_.binds_refused);
    if (status != (good ? EXRNIC_CQE_STATUS_SUCCESS : refused))
      find(fmt::format("a bind that is to be {} ends with {}", good ? "granted" : "refused",
                       status));
    if (!good) return;
    oracle.remove(window.bound.stag);
    window.bound = bound;
    oracle.add(bound);
  }

  // By own work of any queue pair of its domain.
  void end_binding(StageWindow& window) {
    StageQp& qp = any_qp(window);
    const bool good = qp.domain == window.domain;
    const uint8_t status =
        status_of(qp, own_work(EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE, window.bound.stag));
    if (status != (good ? EXRNIC_CQE_STATUS_SUCCESS : EXRNIC_CQE_STATUS_LOC_PROT_ERR))
      find(fmt::format("an invalidation that is to be {} ends with {}",
                       good ? "granted" : "refused", status));
    if (good) stage_.oracle().invalidate(window.bound.stag);
  }

  // ---- How accesses are drawn

  void shuffle() {
    for (size_t i = 0; i + 1 < order_.size(); ++i)
      std::swap(order_[i], order_[i + stage_.below(order_.size() - i)]);
  }

  static uint32_t right_of(Kind kind) {
    switch (kind) {
      case Kind::kPush:
        return EXRNIC_ACCESS_REMOTE_WRITE;
      case Kind::kPull:
        return EXRNIC_ACCESS_REMOTE_READ;
      case Kind::kScatter:
        return EXRNIC_ACCESS_LOCAL_WRITE;
      default:
        return 0;
    }
  }

  // An access within the region, of its domain if one of those queue pairs is free; or, `spoiled`,
  // one that probably is not to be granted.
  void draw(AccessCase& access, const OracleRegion& region, bool spoiled) {
    Attempt& attempt = access.attempt;
    attempt.right = right_of(access.kind);
    const uint64_t most = access.kind == Kind::kPull ? kLongestPull : kSegment;
    attempt.length =
        std::min(stage_.one_in(8) ? stage_.below(4) : stage_.below(most + 1), region.length);
    const uint64_t room = region.length - attempt.length;
    const uint64_t at = stage_.one_in(4) ? 0 : stage_.one_in(4) ? room : stage_.below(room + 1);
    attempt.to = region.base + at;
    attempt.stag = region.stag;
    if (spoiled) {
      spoil(attempt, region, most);
    } else {
      prefer_domain(access, region);
    }
    attempt.domain = access.qp->domain;
    attempt.qp = access.qp->now();
    enter(std::move(access));
  }

  // Of a memory window for one queue pair that one, if it is free.
  void prefer_domain(AccessCase& access, const OracleRegion& region) {
    const auto is_meant = [&](const StageQp& qp) {
      const bool for_one = region.binding && !region.binding->for_domain;
      return for_one ? qp.qpn == region.binding->qp.qpn : qp.domain == region.domain;
    };
    for (size_t i = kBatch; i < order_.size(); ++i) {
      StageQp& other = stage_.qp(order_[i]);
      const auto same = [&](const AccessCase& a) { return a.qp == &other; };
      if (!is_meant(other) || std::any_of(batch_.begin(), batch_.end(), same)) continue;
      access.qp = &other;
      return;
    }
  }

  void spoil(Attempt& attempt, const OracleRegion& region, uint64_t most) {
    switch (stage_.below(8)) {
      case 0:
        attempt.stag ^= 1u << stage_.below(8);  // the key
        break;
      case 1:
        attempt.stag = stage_.one_in(2) ? stage_.any_stag() : static_cast<uint32_t>(stage_.any());
        break;
      case 2:
        attempt.to = region.base - 1 - (stage_.one_in(2) ? 0 : stage_.below(5000));
        break;
      case 3:
        attempt.to = region.base + region.length - attempt.length + 1 +
                     (stage_.one_in(2) ? 0 : stage_.below(5000));
        break;
      case 4:
        attempt.to = ~uint64_t{0} - stage_.below(2 * most);
        break;
      case 5:
        attempt.to = stage_.any();
        break;
      case 6:
        attempt.length = std::min(most, region.length + 1 + stage_.below(most));
        break;
      default:
        break;  // domain and rights may do
    }
  }

  void enter(AccessCase&& access) {
    const Attempt& attempt = access.attempt;
    AccessOracle& oracle = stage_.oracle();
    if (access.kind == Kind::kInvalidate) {
      access.reasons = oracle.reasons_not_to_invalidate(attempt.stag, attempt.domain, attempt.qp);
      if (access.reasons == 0) oracle.invalidate(attempt.stag);
    } else {
      access.reasons = oracle.reasons(attempt);
      if (access.reasons == 0) expect(access);
    }
    if (access.writes() && access.data.empty()) access.data = bytes(attempt.length);
    batch_.push_back(std::move(access));
  }

  Bytes bytes(uint64_t count) {
    Bytes data(count);
    for (auto& byte : data) byte = static_cast<uint8_t>(stage_.any());
    return data;
  }

  // What a granted access does to memory, or what it reads there.
  void expect(AccessCase& access) {
    if (access.writes()) access.data = bytes(access.attempt.length);
    size_t done = 0;
    for (const Extent& extent : stage_.oracle().extents(access.attempt)) {
      uint8_t* here = expected_.data() + (extent.address - BareCore::kMemory);
      if (access.writes()) {
        writable_.push_back(extent);
        std::copy_n(access.data.begin() + static_cast<ptrdiff_t>(done), extent.length, here);
      } else {
        readable_.push_back(extent);
        access.data.insert(access.data.end(), here, here + extent.length);
      }
      done += extent.length;
    }
  }

  // ---- How it runs

  // Receives are there before what needs them.
  void start() {
    for (AccessCase& access : batch_)
      if (access.uses_receive()) post(stage_, access);
    stage_.core().run_to_rest();
    for (AccessCase& access : batch_) {
      if (access.kind == Kind::kGather) {
        post(stage_, access);
      } else {
        peer_.send(access.qp->qpn, segment_of(access));
      }
    }
  }

  void finish() {
    stage_.core().run_to_rest();
    for (int i = 0; !peer_.settled(); ++i) {
      if (i == kResends) return find("segments are not acknowledged");
      peer_.resend();
      stage_.core().run_to_rest();
    }
    for (const exrnic_cqe& cqe : stage_.poll())
      if (AccessCase* access = case_of(cqe.qpn)) access->cqes.push_back(cqe);
  }

  void run() {
    start();
    finish();
  }

  void end_batch(bool all) {
    for (AccessCase& access : batch_)
      if (all || failed(access)) stage_.restart(*access.qp);
    done_ += batch_.size();
    batch_.clear();
    writable_.clear();
    readable_.clear();
  }

  void replace_one() {
    ++tally_.deregistrations;
    stage_.replace_region(stage_.below(Stage::kRegions), [] {});
  }

  // A region is deregistered under accesses to it. Each is granted as long as it lasts, or refused;
  // when the driver has been told that it is gone, nothing touches its pages any more.
  void race() {
    const size_t victim = stage_.below(Stage::kRegions);
    const OracleRegion region = stage_.regions()[victim];
    shuffle();
    for (size_t i = 0; i < kBatch; ++i) {
      AccessCase access;
      access.kind = static_cast<Kind>(stage_.below(4));
      access.qp = &stage_.qp(order_[i]);
      const OracleRegion* window = stage_.one_in(2) ? window_of(region) : nullptr;
      draw(access, window ? *window : region, false);
    }
    start();
    for (uint64_t n = stage_.below(kRaceSteps); n > 0; --n) stage_.core().step();
    stage_.replace_region(victim, [&] {
      for (const uint64_t page : region.pages)
        if (stage_.core().is_reading(page, region.page_bytes))
          find(fmt::format("a read of page {:#x} is under way behind its deregistration", page));
      writable_.clear();
      readable_.clear();
    });
    finish();
    ++tally_.races;
    ++tally_.deregistrations;
    for (const AccessCase& access : batch_)
      ++(failed(access) ? tally_.races_refused : tally_.races_granted);
    for (const uint64_t page : region.pages)
      std::copy_n(stage_.core().at(page), region.page_bytes,
                  expected_.data() + (page - BareCore::kMemory));
    end_batch(true);
  }

  // One that is bound to it, if there is one.
  const OracleRegion* window_of(const OracleRegion& region) {
    for (const StageWindow& window : stage_.windows())
      if (window.bound.binding && window.bound.binding->region == region.stag) return &window.bound;
    return nullptr;
  }

  // ---- What is seen

  AccessCase* case_of(uint32_t qpn) {
    for (AccessCase& access : batch_)
      if (access.qp->qpn == qpn) return &access;
    return nullptr;
  }

  void deliver(uint32_t qpn, const uint8_t* ddp, size_t length) {
    AccessCase* access = case_of(qpn);
    if (access == nullptr) return find(fmt::format("a segment of idle queue pair {}", qpn));
    take(*access, ddp, length);
    refusals_ += is_refusal(ddp);
  }

  void compare_extents() {
    for (const Extent& extent : writable_)
      if (std::memcmp(stage_.core().at(extent.address),
                      expected_.data() + (extent.address - BareCore::kMemory), extent.length) != 0)
        find(fmt::format("wrong bytes at {:#x}, {} bytes", extent.address, extent.length));
  }

  void wrote(uint64_t address, size_t length) override {
    if (!stage_.core().inside(address, length))
      return find(fmt::format("a write outside of memory, at {:#x}", address));
    if (address < Stage::kUserEnd && !covers(writable_, address, length))
      find(fmt::format("a stray write at {:#x}, {} bytes", address, length));
  }

  // While the stage opens, it is not there to be asked; then only the driver's memory is read.
  void reads(uint64_t address, size_t length) override {
    if (!opened_) return;
    if (!stage_.core().inside(address, length))
      return find(fmt::format("a read outside of memory, at {:#x}", address));
    if (address < Stage::kUserEnd && !covers(readable_, address, length))
      find(fmt::format("a stray read at {:#x}, {} bytes", address, length));
  }

  void sent(const Frame& frame) override {
    opened_ ? peer_.receive(frame.data) : early_.push_back(frame);
  }

  AccessTally& tally_;
  bool opened_ = false;
  std::vector<Frame> early_;  // sent before
  Stage stage_;
  ScriptedPeer peer_;
  std::vector<size_t> order_;  // of queue pairs; the first kBatch have the next accesses
  std::vector<AccessCase> batch_;
  Bytes expected_;  // user memory as it should be
  std::vector<Extent> writable_, readable_;
  std::string finding_;
  uint64_t done_ = 0;
  uint64_t batches_ = 0;
  uint32_t refusals_ = 0;  // terminate messages
};

}  // namespace

std::string try_random_accesses(const MakeCore& make_core, uint64_t seed, uint64_t accesses,
                                AccessTally& tally) {
  uint64_t done = 0;
  std::string finding;
  try {
    Accesses all(make_core, seed, tally);
    while (all.done() < accesses && all.finding().empty()) {
      done = all.done();
      all.batch();
    }
    all.compare_all();
    all.compare_counters();
    finding = all.finding();
  } catch (const std::exception& error) {
    finding = error.what();
  }
  if (finding.empty()) return "";
  return fmt::format("seed {}, behind access {}: {}\n", seed, done, finding);
}

}  // namespace exrnic::testing
