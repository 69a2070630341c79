// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/random_driver.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tests/support/pio.h"
#include "tests/support/rnic_driver.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kLimitNs = 200'000'000;
constexpr uint64_t kRingBytes = 4096;
constexpr unsigned kBringUp = EXRNIC_MBOX_OP_RESIZE_CQ + 1;  // beside the commands
constexpr uint64_t kUnreadable = 0x77'0000'0000;             // nothing there is granted

TestbedOptions two_nodes() {
  TestbedOptions options;
  options.profile = load_profile("dc-25g");
  return options;
}

class RandomDriver {
 public:
  RandomDriver(uint64_t seed, const CoreFactory& make_core)
      : random_(seed), testbed_(two_nodes(), make_core), rnic_(testbed_, 0) {
    for (PinnedPages& ring : rings_) ring = rnic_.pin(0, kRingBytes, DmaRights::kReadWrite);
    for (PinnedPages& ring : cq_rings_) ring = rnic_.pin(0, kRingBytes, DmaRights::kReadWrite);
    for (PinnedPages& ring : event_rings_) ring = rnic_.pin(0, kRingBytes, DmaRights::kWrite);
    be_impatient();
    if (seed % 4 == 0) leave_places(EXRNIC_MAX_READS + 2 * EXRNIC_READ_SLICE);
  }

  std::string run(unsigned steps) {
    for (unsigned step = 0; step < steps; ++step) {
      facts_ << "step " << step << ": ";
      switch (random_() % 8) {
        case 0:
          random_() % 2 ? access_register() : store_pio_block();
          break;
        case 1:
        case 2:
          ring_doorbell();
          break;
        default:
          give_command();
      }
      rest();
      facts_ << "; causes " << rnic_.read_register(EXRNIC_REG_INT_CAUSE) << '\n';
      report_completions();
      report_events();
    }
    report();
    return facts_.str();
  }

 private:
  void rest() {
    if (testbed_.run_until([] { return false; }, kLimitNs) != RunResult::kIdle)
      throw std::runtime_error("waited in vain for rest, behind:\n" + facts_.str());
  }

  template <typename T>
  using List = std::initializer_list<std::common_type_t<T>>;  // T is not deduced from it

  // Mostly one of the good values, few of them, so that commands meet each other's objects.
  template <typename T = uint32_t>
  T one_of(List<T> good, List<T> bad) {
    const auto& from = random_() % 16 ? good : bad;
    return from.begin()[random_() % from.size()];
  }
  uint32_t page() { return one_of({3u, 3u, 3u, 4u}, {EXRNIC_USER_PAGES, ~0u}); }
  uint32_t pd() { return one_of({7u}, {EXRNIC_MAX_PD, ~0u}); }
  uint32_t cqn() { return one_of({5u, 6u}, {EXRNIC_MAX_CQ, ~0u, EXRNIC_MAX_CQ - 1}); }
  uint32_t qpn() { return one_of({11u, 12u}, {EXRNIC_MAX_QP, ~0u, EXRNIC_MAX_QP - 1}); }
  uint32_t srqn() { return one_of({3u, 4u}, {EXRNIC_MAX_SRQ, ~0u, EXRNIC_MAX_SRQ - 1}); }
  uint32_t reads() { return one_of({0u, 1u, EXRNIC_MAX_READS}, {EXRNIC_MAX_READS + 1u, ~0u}); }
  uint32_t limit() { return one_of({0u, 5u, 0xffffu}, {EXRNIC_SRQ_LIMIT_MAX + 1u, ~0u}); }
  uint32_t stag() {
    return one_of({0x100u, 0x101u, 0x200u}, {EXRNIC_MAX_STAG << EXRNIC_STAG_INDEX_SHIFT, ~0u});
  }
  uint32_t ring_log() { return one_of({3u, 4u}, {0u, 2u, 13u, 17u, ~0u}); }
  // Completions are written into rings of their own: a work request that is posted does not change.
  uint64_t cq_pbl() {
    const uint64_t same = pbl();
    for (size_t i = 0; i < rings_.size(); ++i)
      if (same == rings_[i].pbl) return cq_rings_[i].pbl;
    return same;
  }
  uint64_t pbl() {
    return one_of<uint64_t>({rings_[0].pbl, rings_[1].pbl}, {rings_[0].pbl + 8, kUnreadable});
  }

  // Of those for PULLs, in each direction: queue pairs that do nothing have the others.
  void leave_places(uint32_t left) {
    constexpr uint32_t kPage = 9, kPd = 9, kCqn = 9, kFirstQpn = 100;
    constexpr uint32_t kLog = EXRNIC_RING_LOG_MIN;
    rnic_.create_cq(kCqn, kPage);
    uint32_t free = EXRNIC_READ_POOL;
    for (uint32_t qpn = kFirstQpn; free > left; ++qpn) {
      const uint32_t reads = std::min<uint32_t>(free - left, EXRNIC_MAX_READS);
      rnic_.must(
          EXRNIC_MBOX_OP_CREATE_QP,
          exrnic_mbox_create_qp{qpn, kPage, kPd, kCqn, kCqn, kLog, kLog, EXRNIC_SERVICE_RC,
                                rings_[0].pbl, rings_[0].pbl, EXRNIC_NO_SRQ, reads, reads, 0});
      free -= reads;
    }
  }

  template <typename Command>
  void give(exrnic_mbox_op op, const Command& command) {
    facts_ << "command " << op << " status " << rnic_.command(op, command);
  }

  void give_command() {
    const exrnic_mbox_object no_object{};
    switch (const unsigned op = random_() % (kBringUp + 1); op) {
      case EXRNIC_MBOX_OP_CREATE_CQ:
        return give(EXRNIC_MBOX_OP_CREATE_CQ,
                    exrnic_mbox_create_cq{
                        cqn(),
                        page(),
                        cq_pbl(),
                        ring_log(),
                        one_of({1u}, {EXRNIC_MSIX_VECTORS, ~0u}),
                        one_of({0u, 1u, 3u, 0xffffu}, {EXRNIC_MODERATION_COUNT_MAX + 1u, ~0u}),
                        one_of({0u, 500u}, {EXRNIC_MODERATION_NS_MAX + 1u, ~0u}),
                        one_of({EXRNIC_NO_EQ, EXRNIC_NO_EQ, 0u, 1u}, {2u, EXRNIC_MAX_EQ, ~1u}),
                        {}});
      case EXRNIC_MBOX_OP_DESTROY_CQ:  // seldom: most commands need one; likewise below
        if (random_() % 4) return give(EXRNIC_MBOX_OP_NOP, no_object);
        return give(EXRNIC_MBOX_OP_DESTROY_CQ, exrnic_mbox_object{cqn()});
      case EXRNIC_MBOX_OP_CREATE_QP:
        return give(EXRNIC_MBOX_OP_CREATE_QP,
                    exrnic_mbox_create_qp{
                        qpn(), page(), pd(), cqn(), cqn(), ring_log(), ring_log(),
                        one_of({0u}, {1u, 2u, 4u, ~0u}), pbl(), pbl(),
                        one_of({EXRNIC_NO_SRQ, EXRNIC_NO_SRQ, 3u, 4u}, {EXRNIC_MAX_SRQ, ~1u}),
                        reads(), reads(), one_of({0u}, {EXRNIC_QP_FLAGS_GRH, 2u, ~0u})});
      case EXRNIC_MBOX_OP_MODIFY_QP:
        return modify();
      case EXRNIC_MBOX_OP_QUERY_QP:
        return query(EXRNIC_MBOX_OP_QUERY_QP, qpn(), sizeof(exrnic_mbox_query_qp));
      case EXRNIC_MBOX_OP_DESTROY_QP:
        if (random_() % 4) return give(EXRNIC_MBOX_OP_NOP, no_object);
        return give(EXRNIC_MBOX_OP_DESTROY_QP, exrnic_mbox_object{qpn()});
      case EXRNIC_MBOX_OP_REGISTER_MR:
        return give(
            EXRNIC_MBOX_OP_REGISTER_MR,
            exrnic_mbox_register_mr{
                stag(), pd(), one_of<uint64_t>({0, ~uint64_t{0} - 4095}, {~uint64_t{0}}),
                one_of<uint64_t>({1, 4096}, {0, 4097, ~uint64_t{0}}), pbl(),
                one_of({0u, 3u, 15u, 31u}, {32u, ~0u}), one_of<uint16_t>({12, 21}, {0, 13, 0xffff}),
                one_of<uint16_t>({0, 1, 2}, {3, 0xffff})});
      case EXRNIC_MBOX_OP_INVALIDATE_MR:
        return give(EXRNIC_MBOX_OP_INVALIDATE_MR, exrnic_mbox_object{stag()});
      case EXRNIC_MBOX_OP_CREATE_SRQ:
        return give(EXRNIC_MBOX_OP_CREATE_SRQ,
                    exrnic_mbox_create_srq{srqn(), page(), pd(), ring_log(), pbl(), limit(), 0});
      case EXRNIC_MBOX_OP_DESTROY_SRQ:
        if (random_() % 4) return give(EXRNIC_MBOX_OP_NOP, no_object);
        return give(EXRNIC_MBOX_OP_DESTROY_SRQ, exrnic_mbox_object{srqn()});
      case EXRNIC_MBOX_OP_MODIFY_SRQ:
        return give(EXRNIC_MBOX_OP_MODIFY_SRQ, exrnic_mbox_modify_srq{srqn(), limit()});
      case EXRNIC_MBOX_OP_QUERY_SRQ:
        return query(EXRNIC_MBOX_OP_QUERY_SRQ, srqn(), sizeof(exrnic_mbox_query_srq));
      case EXRNIC_MBOX_OP_ATTACH_GROUP:
      case EXRNIC_MBOX_OP_DETACH_GROUP:
        return give(static_cast<exrnic_mbox_op>(op),
                    exrnic_mbox_group{qpn(), one_of({1u, 2u}, {EXRNIC_GROUP_MAX + 1u, ~0u})});
      case EXRNIC_MBOX_OP_CREATE_EQ:
        return create_eq();
      case EXRNIC_MBOX_OP_DESTROY_EQ:
        if (random_() % 4) return give(EXRNIC_MBOX_OP_NOP, no_object);
        return give(EXRNIC_MBOX_OP_DESTROY_EQ, exrnic_mbox_object{one_of({0u, 1u}, {~0u})});
      case EXRNIC_MBOX_OP_RESIZE_CQ:
        return give(EXRNIC_MBOX_OP_RESIZE_CQ, exrnic_mbox_resize_cq{cqn(), ring_log(), cq_pbl()});
      case kBringUp:
        return bring_up(one_of({11u, 12u}, {13u}));
      default:
        return give(static_cast<exrnic_mbox_op>(one_of({0u}, {kBringUp, 0x104u, ~0u})), no_object);
    }
  }

  // Its vector is that of control, of whose interrupts nothing is said. It begins anew, with
  // nothing in it.
  void create_eq() {
    const uint32_t eqn = one_of({0u, 1u}, {EXRNIC_MAX_EQ, ~0u});
    const uint32_t log = one_of({EXRNIC_RING_LOG_MIN, EXRNIC_RING_LOG_MIN + 1u}, {0u, 15u, ~0u});
    const uint64_t ring = event_rings_[eqn % event_rings_.size()].pages[0];
    const exrnic_mbox_create_eq create{
        eqn, log, ring + one_of<uint64_t>({0}, {8}), one_of({0u}, {EXRNIC_MSIX_VECTORS, ~0u}), {}};
    const Bytes before = rnic_.host().peek(ring, kRingBytes);
    rnic_.host().poke(ring, Bytes(kRingBytes));
    const exrnic_mbox_status status = rnic_.command(EXRNIC_MBOX_OP_CREATE_EQ, create);
    facts_ << "command " << EXRNIC_MBOX_OP_CREATE_EQ << " status " << status;
    if (status == EXRNIC_MBOX_STATUS_OK)
      events_[eqn] = {eqn, log, ring};
    else if (rnic_.host().peek(ring, kRingBytes) == Bytes(kRingBytes))
      rnic_.host().poke(ring, before);
  }

  // What was told in this step: in which order, and how often the same, is a matter of time. So is
  // what finds a ring full: that comes when there is room.
  void report_events() {
    std::set<std::tuple<uint32_t, uint32_t, uint32_t>> told;
    constexpr unsigned kMostTurns = 1000;
    unsigned turns = 0;
    for (bool more = true; more;) {
      if (++turns > kMostTurns)
        throw std::runtime_error("events do not end, behind:\n" + facts_.str());
      more = false;
      for (EventQueue& eq : events_) {
        if (eq.ring == 0) continue;
        while (const auto eqe = rnic_.poll(eq)) {
          told.insert({eqe->event_type, eqe->number, eqe->detail});
          more = true;
        }
        rnic_.ring(eq);
      }
      if (more) rest();
    }
    for (const auto& [type, number, detail] : told)
      facts_ << "event " << type << " of " << number << ": " << detail << '\n';
    for (const EventQueue& eq : events_)
      if (eq.ring != 0) rnic_.ring(eq, random_() % 2);
    const uint32_t eqn = random_() % EXRNIC_MAX_EQ;
    if (random_() % 4 == 0) rnic_.write_register(EXRNIC_REG_EQ_ARM + 4 * eqn, 1u << 30);
  }

  // Mostly what goes with the change, so that it goes through.
  uint32_t attributes(uint32_t to) {
    constexpr uint32_t kEver = EXRNIC_QP_ATTRIBUTES_ACCESS;
    constexpr uint32_t kPeer = EXRNIC_QP_ATTRIBUTES_DEST;
    constexpr uint32_t kWithRtr =
        kEver | kPeer | EXRNIC_QP_ATTRIBUTES_PATH_MTU | EXRNIC_QP_ATTRIBUTES_MAX_READS_IN;
    constexpr uint32_t kAtRts = kEver | EXRNIC_QP_ATTRIBUTES_MIN_RNR_TIMER |
                                EXRNIC_QP_ATTRIBUTES_RNR_RETRY | EXRNIC_QP_ATTRIBUTES_TIMEOUT |
                                EXRNIC_QP_ATTRIBUTES_RETRY_COUNT;
    const uint32_t one = 1u << random_() % 32;
    if (to == EXRNIC_QP_STATE_INIT) return one_of({0u, kEver}, {one, ~0u});
    if (to == EXRNIC_QP_STATE_RTR) return one_of({kPeer, kWithRtr}, {0u, kPeer | one, ~0u});
    if (to == EXRNIC_QP_STATE_SQD) return one_of({0u, kAtRts}, {kWithRtr, one, ~0u});
    if (to == EXRNIC_QP_STATE_RTS)
      return one_of({0u, kAtRts, kAtRts | EXRNIC_QP_ATTRIBUTES_MAX_READS_OUT}, {one, ~0u});
    return one_of({0u}, {one, ~0u});
  }

  uint8_t small(uint32_t most) {
    return static_cast<uint8_t>(one_of({0u, 1u, most}, {most + 1, 255u}));
  }

  void modify() {
    exrnic_mbox_modify_qp change{};
    change.qpn = qpn();
    change.state = one_of({0u, 1u, 1u, 2u, 2u, 3u, 3u, 4u, 5u}, {6u, ~0u});
    change.attributes = attributes(change.state);
    change.dest_node = one_of({1u, 2u}, {0u, EXRNIC_MAX_NODE, ~0u});
    change.dest_qpn = one_of({11u}, {0xff'ffffu, 0x100'0000u});
    change.qkey = one_of({7u}, {~0u});
    change.pkey_index = one_of({0u, 3u}, {EXRNIC_PKEYS - 1u, EXRNIC_PKEYS, ~0u});
    change.access = one_of({0u, 2u, 14u}, {1u, 16u, ~0u});
    change.path_mtu = one_of({256u, 4096u, 1040u}, {0u, 255u, 1000u, 4097u, ~0u});
    change.max_reads_in = small(EXRNIC_MAX_READS);
    change.max_reads_out = small(EXRNIC_MAX_READS);
    change.min_rnr_timer = small(EXRNIC_RNR_TIMER_MAX);
    change.rnr_retry = small(EXRNIC_RNR_RETRY_ENDLESS);
    change.timeout = small(EXRNIC_QP_TIMEOUT_MAX);
    change.retry_count = small(EXRNIC_QP_RETRY_COUNT_MAX);
    give(EXRNIC_MBOX_OP_MODIFY_QP, change);
  }

  void bring_up(uint32_t qpn) {
    for (const uint32_t state : {EXRNIC_QP_STATE_INIT, EXRNIC_QP_STATE_RTR, EXRNIC_QP_STATE_RTS}) {
      exrnic_mbox_modify_qp change{};
      change.qpn = qpn;
      change.state = state;
      if (state == EXRNIC_QP_STATE_RTR) change.attributes = EXRNIC_QP_ATTRIBUTES_DEST;
      change.dest_node = 1;
      change.dest_qpn = 11;
      facts_ << "to state " << state << " status "
             << rnic_.command(EXRNIC_MBOX_OP_MODIFY_QP, change) << ' ';
    }
  }

  void query(exrnic_mbox_op op, uint32_t index, uint32_t answer_bytes) {
    give(op, exrnic_mbox_object{index});
    for (uint32_t at = 0; at < answer_bytes; at += 4)
      facts_ << ' ' << rnic_.read_register(EXRNIC_REG_MBOX_DATA + at);
  }

  void ring_doorbell() {
    const uint32_t offset =
        one_of({EXRNIC_DOORBELL_SQ, EXRNIC_DOORBELL_RQ, EXRNIC_DOORBELL_CQ, EXRNIC_DOORBELL_CQ_ARM,
                EXRNIC_DOORBELL_CQ_ARM_SOLICITED, EXRNIC_DOORBELL_SRQ},
               {4, 0x30, EXRNIC_PIO_AREA - 8});
    const bool for_cq = offset == EXRNIC_DOORBELL_CQ || offset == EXRNIC_DOORBELL_CQ_ARM ||
                        offset == EXRNIC_DOORBELL_CQ_ARM_SOLICITED;
    const uint32_t number = for_cq ? cqn() : offset == EXRNIC_DOORBELL_SRQ ? srqn() : qpn();
    // The rings are of zeros: every work request fails, so the index stays near what is done.
    const uint32_t index = one_of<uint32_t>({1, 2, 3, 4, 6, 8, 12}, {0, 0x10001, ~0u});
    const uint32_t from = page() % EXRNIC_USER_PAGES;
    rnic_.store_doorbell(from, offset, number, index);
    facts_ << "doorbell " << offset << " of " << number << " from " << from;
  }

  // Mostly the next slot of its queue, which is full of zeros, so the core finds fault with it.
  void store_pio_block() {
    exrnic_wqe block{};
    block.number = qpn();
    block.index = one_of<uint32_t>({1, 1, 1, 2, 3}, {0, 0x10001, ~0u});
    block.num_slots = static_cast<uint8_t>(one_of({1u}, {0u, 2u}));
    PioStores stores = random_pio_stores(random_);
    if (random_() % 8 == 0) stores.pop_back();
    const uint32_t from = page() % EXRNIC_USER_PAGES;
    store_block(rnic_, from, block, stores, one_of({0u, 1u}, {EXRNIC_PIO_BLOCKS - 1}));
    facts_ << "block of " << block.number << " index " << block.index << " from " << from;
  }

  void access_register() {
    const uint32_t offset = one_of<uint32_t>(
        {EXRNIC_REG_MTU, EXRNIC_REG_RTO_CYCLES, EXRNIC_REG_RETRY_LIMIT, EXRNIC_REG_INT_ENABLE,
         EXRNIC_REG_INT_CAUSE, EXRNIC_REG_MBOX_STATUS, EXRNIC_REG_PULL_MODE, EXRNIC_REG_ERRATA,
         EXRNIC_REG_MAX_EQ, EXRNIC_REG_EQ_CONSUMER - 4, EXRNIC_REG_PKEYS, EXRNIC_REG_PKEYS + 12},
        {EXRNIC_REG_ID, EXRNIC_REG_MAX_QP, EXRNIC_REG_MAC_LO, EXRNIC_REG_MAC_HI,
         EXRNIC_REG_CLOCK_KHZ, EXRNIC_REG_STATUS, EXRNIC_REG_NODE_ID, EXRNIC_REG_MAX_SRQ, 0x7c,
         EXRNIC_REG_EQ_ARM + 4 * EXRNIC_MAX_EQ, EXRNIC_REG_PORTS_PENDING,
         EXRNIC_REG_PORTS_PENDING + 4, 0xffc, EXRNIC_REG_COUNTERS + EXRNIC_COUNTERS * 8, 0x8000,
         0xfffc});
    if (random_() % 2)
      rnic_.write_register(offset, one_of({0u, 1u, 7u, 256u, 1024u, 4096u}, {255u, 4112u, ~0u}));
    facts_ << "register " << offset << " is " << rnic_.read_register(offset);
    if (offset == EXRNIC_REG_RTO_CYCLES || offset == EXRNIC_REG_RETRY_LIMIT) be_impatient();
  }

  // Nobody answers here: until a peer counts as dead, cycles pass in which there is nothing to see.
  void be_impatient() {
    rnic_.write_register(EXRNIC_REG_RTO_CYCLES, 0);
    rnic_.write_register(EXRNIC_REG_RETRY_LIMIT, 1);
  }

  // Whether two control interrupts close to each other become one is a matter of time. The RTL
  // reads receives ahead, and so may find a ring unreadable that the reference model does not need.
  static bool is_promised(unsigned counter) {
    return counter != EXRNIC_COUNTER_PBL_HITS && counter != EXRNIC_COUNTER_PBL_MISSES &&
           counter != EXRNIC_COUNTER_MSIX && counter != EXRNIC_COUNTER_DMA_READ_ERRORS &&
           counter != EXRNIC_COUNTER_EVENTS && counter != EXRNIC_COUNTER_EVENTS_LATE;
  }

  void report() {
    static constexpr const char* kNames[] = EXRNIC_COUNTER_NAMES;
    for (unsigned counter = 0; counter < EXRNIC_COUNTERS; ++counter)
      if (is_promised(counter))
        facts_ << kNames[counter] << ' ' << rnic_.counter(static_cast<exrnic_counter>(counter))
               << '\n';
    for (const unsigned vector : rnic_.host().interrupts())
      if (vector != EXRNIC_MSIX_VECTOR_CONTROL) facts_ << "interrupt " << vector << '\n';
  }

  // Of one step. Each queue's are in their order. Which of two queues is the first to be told of
  // something is a matter of time, and so is which of them finds no more room in a completion queue
  // that they share. The phase is its place's: of two queues at the end of a round either may be
  // the last one of it.
  void report_completions() {
    constexpr size_t kBehindTimestamp = sizeof(uint64_t);
    constexpr size_t kPhase = offsetof(exrnic_cqe, phase);
    const uint64_t lost = rnic_.counter(EXRNIC_COUNTER_CQ_OVERRUNS);
    const auto& writes = rnic_.host().writes();
    std::set<std::pair<uint64_t, unsigned>> places;  // with their phases
    std::map<std::pair<uint32_t, bool>, std::string> of_queue;
    for (; writes_reported_ < writes.size(); ++writes_reported_) {
      const auto& write = writes[writes_reported_];
      if (write.data.size() == sizeof(exrnic_eqe)) continue;
      const bool has_phase = write.data.size() == sizeof(exrnic_cqe);
      places.insert({write.address, has_phase ? write.data[kPhase] : 0});
      if (lost != lost_) continue;
      exrnic_cqe cqe{};
      std::memcpy(&cqe, write.data.data(), std::min(sizeof cqe, write.data.size()));
      std::string& text = of_queue[{cqe.qpn, cqe.opcode == EXRNIC_WQE_OPCODE_RECV}];
      text += "completion";
      const size_t end = has_phase ? kPhase : write.data.size();
      for (size_t i = kBehindTimestamp; i < end; ++i) text += ' ' + std::to_string(write.data[i]);
      text += '\n';
    }
    for (const auto& [place, phase] : places) facts_ << "write " << place << ' ' << phase << '\n';
    for (const auto& [queue, text] : of_queue) facts_ << text;
    lost_ = lost;
  }

  std::mt19937_64 random_;
  Testbed testbed_;
  RnicDriver rnic_;
  std::array<PinnedPages, 2> rings_;
  std::array<PinnedPages, 2> cq_rings_;
  std::array<PinnedPages, 2> event_rings_;
  std::array<EventQueue, 2> events_;
  size_t writes_reported_ = 0;
  uint64_t lost_ = 0;  // completions, before this step
  std::ostringstream facts_;
};

}  // namespace

std::string run_random_driver(uint64_t seed, unsigned steps, const CoreFactory& make_core) {
  return RandomDriver(seed, make_core).run(steps);
}

}  // namespace exrnic::testing
