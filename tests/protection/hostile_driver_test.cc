// SPDX-License-Identifier: BSD-2-Clause
// Whatever a process, a driver or a peer does to the core: it reads and writes no memory that it
// was not told of, it harms nobody else, and it works again. Random, with the seed printed; set
// EXRNIC_SEED to repeat a run.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <vector>

#include "tests/support/memory_window.h"
#include "tests/support/ntb.h"
#include "tests/support/pio.h"
#include "tests/support/storm.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kLength = kStormLength;
constexpr uint64_t kDoorbells = EXRNIC_DOORBELL_SRQ / sizeof(exrnic_doorbell) + 1;
constexpr uint64_t kRestLimitNs = 5'000'000;  // all retransmissions to a dead peer take 0.6 ms

// A process of its own: it may write its rings and store to its user page, no more.
class Intruder {
 public:
  static constexpr uint32_t kPage = 4;
  static constexpr uint32_t kPd = 8;
  static constexpr uint32_t kCqn = 9;
  static constexpr uint32_t kQpn = 33;
  static constexpr uint32_t kStag = 0x000555'03;
  static constexpr uint32_t kWindowIndex = 0x000556;

  explicit Intruder(RnicDriver& rnic)
      : rnic_(rnic),
        region_(rnic.create_region(
            kStag, kPd, kSinkBase, kLength,
            EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_MW_BIND)) {
    create_memory_window(rnic, kWindowIndex, kPd);
  }

  void open(unsigned peer) {
    cq_ = rnic_.create_cq(kCqn, kPage, 4);
    qp_ = rnic_.create_qp(kQpn, kPage, kPd, cq_, 4);
    rnic_.connect(qp_, peer, kQpn);
  }

  void close() {
    rnic_.must(EXRNIC_MBOX_OP_DESTROY_QP, exrnic_mbox_object{kQpn});
    rnic_.must(EXRNIC_MBOX_OP_DESTROY_CQ, exrnic_mbox_object{kCqn});
  }

  // What an intruder has got hold of, for itself or its accomplice.
  void expect_no_secret() {
    const Bytes got = rnic_.read(region_, 0, kLength);
    const Bytes secret(16, Nodes::kSecret);
    CHECK(std::search(got.begin(), got.end(), secret.begin(), secret.end()) == got.end());
  }

  void fill_rings(Garbage& garbage) {
    for (uint32_t slot = 0; slot < 1u << qp_.sq.log_entries; ++slot)
      rnic_.put(qp_, any_work(garbage));
    rnic_.host().poke(qp_.rq.ring.pages[0], garbage.bytes(sizeof(exrnic_wqe) << 4));
    rnic_.host().poke(cq_.ring.pages[0], garbage.bytes(sizeof(exrnic_cqe) << 4));
  }

  void store_anything(Garbage& garbage) {
    if (garbage.one_in(4)) return store_any_block(garbage);
    const std::vector<uint32_t> numbers = {kQpn, kCqn, Pair::kLeftQpn, Pair::kRightQpn, Side::kCqn};
    const bool plausible = !garbage.one_in(4);
    const unsigned size = plausible ? 8 : 1u << garbage.below(4);
    const uint64_t slots = plausible ? kDoorbells : EXRNIC_USER_PAGE_SIZE / size;
    const uint64_t index = garbage.one_in(4) ? garbage.any() : garbage.below(17);
    const uint64_t value = plausible ? garbage.one_of(numbers) | index << 32 : garbage.any();
    rnic_.host().store(EXRNIC_BAR_USER, kPage * EXRNIC_USER_PAGE_SIZE + garbage.below(slots) * size,
                       size, value);
  }

 private:
  // It need not be what stands in the ring, nor whole.
  void store_any_block(Garbage& garbage) {
    exrnic_wqe block = any_work(garbage);
    block.number = garbage.one_of(std::vector<uint32_t>{kQpn, kQpn, kQpn, Pair::kLeftQpn});
    const uint64_t index = garbage.one_in(2) ? 1 : garbage.below(17);
    block.index = static_cast<uint32_t>(garbage.one_in(8) ? garbage.any() : index);
    PioStores stores = random_pio_stores(garbage.generator());
    if (garbage.one_in(4)) stores.resize(1 + garbage.below(stores.size()));
    if (garbage.one_in(4)) stores.push_back(garbage.one_of(stores));
    store_block(rnic_, kPage, block, stores,
                static_cast<uint32_t>(garbage.below(EXRNIC_PIO_BLOCKS)));
  }

  exrnic_wqe any_work(Garbage& garbage) {
    exrnic_wqe wqe = RnicDriver::wqe({&region_, 0, 100, kStag, kSinkBase, true});
    auto* bytes = reinterpret_cast<uint8_t*>(&wqe);
    if (garbage.one_in(2)) {
      wqe.sge0_stag = tag(garbage);
      wqe.remote_stag = tag(garbage);
    }
    if (garbage.one_in(2))
      wqe.opcode = static_cast<uint8_t>(1 + garbage.below(EXRNIC_WQE_OPCODE_BIND_MW));
    if (garbage.one_in(8))
      wqe = bind_of({window(garbage), tag(garbage), kSinkBase + garbage.below(100),
                     1 + garbage.below(kLength), static_cast<uint32_t>(garbage.below(8)) << 1});
    if (wqe.opcode == EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE && garbage.one_in(2))
      wqe.imm_data = window(garbage);
    if (garbage.one_in(3)) garbage.spoil(bytes, sizeof wqe);
    if (garbage.one_in(8)) std::memcpy(bytes, garbage.bytes(sizeof wqe).data(), sizeof wqe);
    return wqe;
  }

  // With one of few keys.
  static uint32_t window(Garbage& garbage) {
    return kWindowIndex << EXRNIC_STAG_INDEX_SHIFT | static_cast<uint32_t>(garbage.below(4));
  }

  static uint32_t tag(Garbage& garbage) {
    return garbage.one_of(std::vector<uint32_t>{kStag, window(garbage), kSinkStag, kSourceStag,
                                                Nodes::kSecretStag,
                                                static_cast<uint32_t>(garbage.any())});
  }

  RnicDriver& rnic_;
  const Region region_;
  Queue cq_;
  QueuePair qp_;
};

TEST_CASE("garbage in rings and user page of one process harms no other, and strays nowhere") {
  Garbage garbage;
  INFO("EXRNIC_SEED=" << garbage.seed());
  Nodes nodes;
  std::array<Intruder, 2> intruders{Intruder(nodes.rnic(0)), Intruder(nodes.rnic(1))};
  for (int round = 0; round < 40; ++round) {
    INFO("round " << round);
    for (unsigned node : {0u, 1u}) intruders[node].open(1 - node);
    for (auto& intruder : intruders) intruder.fill_rings(garbage);
    for (int i = 0; i < 60; ++i) {
      for (auto& intruder : intruders) intruder.store_anything(garbage);
      nodes.testbed.run_while_busy(garbage.below(1000));
      if (garbage.one_in(40)) {
        nodes.expect_sinks_untouched();
        nodes.expect_pushes(garbage);
      }
    }
    nodes.expect_sinks_untouched();
    nodes.expect_pushes(garbage);
    for (auto& intruder : intruders) {
      intruder.close();
      intruder.expect_no_secret();
    }
  }
  nodes.testbed.run_while_busy(kRestLimitNs);
  CHECK_FALSE(nodes.testbed.busy());
  for (unsigned node : {0u, 1u}) {
    nodes.expect_nothing_refused(node);
    nodes.expect_secret_untouched(node);
    CHECK(nodes.rnic(node).counter(EXRNIC_COUNTER_DOORBELLS_REFUSED) > 100);
    CHECK(nodes.rnic(node).counter(EXRNIC_COUNTER_PIO_REFUSED) > 100);
    CHECK(nodes.rnic(node).counter(EXRNIC_COUNTER_PIO_SENDS) > 0);
    CHECK(nodes.rnic(node).counter(EXRNIC_COUNTER_WQE_ERRORS) > 10);
    CHECK(nodes.rnic(node).counter(EXRNIC_COUNTER_TERMINATES_TX) > 0);
  }
}

// A driver gone mad, on node 0.
class MadDriver {
 public:
  MadDriver(Nodes& nodes, Garbage& garbage) : rnic_(nodes.rnic(0)), garbage_(garbage) {
    for (int i = 0; i < 8; ++i) memory_.push_back(rnic_.pin(0, 4 * kPage, DmaRights::kReadWrite));
  }

  void act() {
    switch (garbage_.below(9)) {
      case 0:
        return store(EXRNIC_BAR_REGISTERS, EXRNIC_BAR0_SIZE);
      case 1:
        return store(EXRNIC_BAR_REGISTERS, EXRNIC_REG_MBOX_STATUS + 4);
      case 2:
        return load();
      case 3:
        return ring_any_doorbell();
      case 4:
        return spoil_memory();
      case 6:
        return store(EXRNIC_BAR_WINDOW, 24 * kWindowSize);
      case 5:
        return rnic_.write_register(EXRNIC_REG_CONTROL, EXRNIC_DEVICE_CONTROL_ENABLE);
      default:
        return plausible_command();
    }
  }

  // Nothing is at an address that this driver put nowhere. An address counts for the 8 MiB from
  // the start of its huge page, which PBL index and page offset may add. What was never written
  // reads as zero.
  bool gave(uint64_t address) const {
    for (const uint64_t value : given_)
      if (address - (value >> EXRNIC_HUGE_PAGE_SHIFT << EXRNIC_HUGE_PAGE_SHIFT) < 8u << 20)
        return true;
    return false;
  }

 private:
  static constexpr uint64_t kPage = 1u << EXRNIC_PAGE_SHIFT;

  uint64_t give(uint64_t address) {
    given_.push_back(address);
    return address;
  }

  uint64_t address() {
    const PinnedPages& memory = garbage_.one_of(memory_);
    if (garbage_.one_in(2)) return give(memory.pbl);
    return give(garbage_.any() & ~uint64_t{EXRNIC_PBL_LINE_SIZE - 1});
  }

  uint32_t small() { return static_cast<uint32_t>(garbage_.below(24)); }
  uint32_t stag() { return small() << EXRNIC_STAG_INDEX_SHIFT; }

  void store(unsigned bar, uint64_t limit) {
    const unsigned size = garbage_.one_in(4) ? 1u << garbage_.below(4) : 4;
    rnic_.host().store(bar, garbage_.below(limit / size) * size, size, garbage_.any());
  }

  void load() {
    const unsigned size = 1u << garbage_.below(4);
    const uint64_t offset = garbage_.below(EXRNIC_BAR0_SIZE / size) * size;
    switch (garbage_.below(3)) {
      case 0:
        return void(rnic_.host().load(EXRNIC_BAR_REGISTERS, offset, size));
      case 1:
        return void(rnic_.host().load(EXRNIC_BAR_USER, offset, size));
      default:
        rnic_.host().load(EXRNIC_BAR_WINDOW, small() * uint64_t{kWindowSize} + offset, size);
    }
  }

  void ring_any_doorbell() {
    const uint32_t bell =
        static_cast<uint32_t>(garbage_.below(kDoorbells)) * sizeof(exrnic_doorbell);
    rnic_.store_doorbell(small(), bell, small(), static_cast<uint32_t>(garbage_.below(70)));
  }

  void spoil_memory() {
    const PinnedPages& memory = garbage_.one_of(memory_);
    if (garbage_.one_in(2))
      return rnic_.host().poke(garbage_.one_of(memory.pages), garbage_.bytes(kPage));
    const uint64_t entry = give(garbage_.any());
    Bytes bytes(sizeof entry);
    std::memcpy(bytes.data(), &entry, sizeof entry);
    rnic_.host().poke(memory.pbl + garbage_.below(8) * sizeof entry, bytes);
  }

  uint32_t reads() { return static_cast<uint32_t>(garbage_.below(EXRNIC_MAX_READS + 1)); }

  void plausible_command() {
    const uint32_t log = EXRNIC_RING_LOG_MIN + static_cast<uint32_t>(garbage_.below(7));
    switch (garbage_.below(13)) {
      case 12:
        rnic_.command(EXRNIC_MBOX_OP_CREATE_EQ,
                      exrnic_mbox_create_eq{small(), log, address(), small(), {}});
        break;
      case 11:
        rnic_.write_register(EXRNIC_REG_EQ_ARM + 4 * (small() % EXRNIC_MAX_EQ), small());
        break;
      case 10:
        rnic_.write_register(EXRNIC_REG_EQ_CONSUMER + 4 * (small() % EXRNIC_MAX_EQ), small());
        break;
      case 9:
        rnic_.command(EXRNIC_MBOX_OP_SET_WINDOW,
                      exrnic_mbox_set_window{small(), small(), garbage_.any(), stag(),
                                             static_cast<uint32_t>(garbage_.below(kWindowSize + 2)),
                                             static_cast<uint32_t>(garbage_.below(5)), 0});
        break;
      case 0:
        rnic_.command(EXRNIC_MBOX_OP_CREATE_CQ,
                      exrnic_mbox_create_cq{small(),
                                            small(),
                                            address(),
                                            log,
                                            small(),
                                            small(),
                                            small(),
                                            garbage_.one_in(2) ? EXRNIC_NO_EQ : small(),
                                            {}});
        break;
      case 1:
        rnic_.command(EXRNIC_MBOX_OP_CREATE_QP,
                      exrnic_mbox_create_qp{small(),
                                            small(),
                                            small(),
                                            small(),
                                            small(),
                                            log,
                                            log,
                                            EXRNIC_SERVICE_RC,
                                            address(),
                                            address(),
                                            garbage_.one_in(2) ? EXRNIC_NO_SRQ : small(),
                                            reads(),
                                            reads(),
                                            {}});
        break;
      case 2:
        rnic_.command(
            EXRNIC_MBOX_OP_REGISTER_MR,
            exrnic_mbox_register_mr{
                stag(), small(), garbage_.any() >> 1, 1 + garbage_.below(1u << 30), address(),
                static_cast<uint32_t>(garbage_.below(32)),
                garbage_.one_of(std::vector<uint16_t>{EXRNIC_PAGE_SHIFT, EXRNIC_HUGE_PAGE_SHIFT}),
                garbage_.one_of(std::vector<uint16_t>{
                    EXRNIC_REGION_KIND_MEMORY, EXRNIC_REGION_KIND_MEMORY, EXRNIC_REGION_KIND_FAST,
                    EXRNIC_REGION_KIND_MEMORY_WINDOW, EXRNIC_REGION_KIND_DOMAIN_WINDOW})});
        break;
      case 3:
        rnic_.command(EXRNIC_MBOX_OP_INVALIDATE_MR, exrnic_mbox_object{stag()});
        break;
      case 4:
        rnic_.command(
            garbage_.one_of(std::vector<exrnic_mbox_op>{
                EXRNIC_MBOX_OP_DESTROY_QP, EXRNIC_MBOX_OP_DESTROY_CQ, EXRNIC_MBOX_OP_DESTROY_SRQ}),
            exrnic_mbox_object{small()});
        break;
      case 5:
        rnic_.command(
            EXRNIC_MBOX_OP_CREATE_SRQ,
            exrnic_mbox_create_srq{small(), small(), small(), log, address(), small(), {}});
        break;
      case 6:
        rnic_.command(EXRNIC_MBOX_OP_MODIFY_SRQ, exrnic_mbox_modify_srq{small(), small()});
        break;
      default:
        rnic_.modify(small(), static_cast<exrnic_qp_state>(garbage_.below(6)),
                     static_cast<uint32_t>(garbage_.below(3)), small());
    }
  }

  RnicDriver& rnic_;
  Garbage& garbage_;
  std::vector<PinnedPages> memory_;
  std::vector<uint64_t> given_{0};
};

TEST_CASE("a driver gone mad makes its core touch only addresses it gave, and a reset heals it") {
  Garbage garbage;
  INFO("EXRNIC_SEED=" << garbage.seed());
  Nodes nodes;
  for (int life = 0; life < 5; ++life) {
    INFO("life " << life);
    MadDriver mad(nodes, garbage);
    for (int i = 0; i < 300; ++i) {
      mad.act();
      nodes.testbed.run_while_busy(garbage.below(500));
    }
    const InProcessHost& host = nodes.rnic(0).host();
    for (const uint64_t address : host.refused_read_addresses()) CHECK(mad.gave(address));
    for (const auto& write : host.refused_writes()) CHECK(mad.gave(write.address));
    for (const unsigned vector : host.interrupts()) CHECK(vector < EXRNIC_MSIX_VECTORS);
    nodes.restart(0);
    nodes.expect_pushes(garbage);
  }
  nodes.expect_nothing_refused(1);
  nodes.expect_secret_untouched(1);
}

// A peer gone mad: frames put on the line towards node 1 in the name of node 0.
class MadPeer {
 public:
  MadPeer(Nodes& nodes, Garbage& garbage)
      : victim_(nodes.testbed.node(1).mac()), garbage_(garbage) {
    victim_.observe([this](Mac::Direction direction, const Bytes& wire) { see(direction, wire); });
  }
  ~MadPeer() { victim_.observe(nullptr); }

  void learn(bool on) { learns_ = on; }

  void send() {
    Bytes frame = garbage_.one_of(seen_);
    uint8_t* efe = frame.data() + EXRNIC_ETH_BYTES;
    // Behind the sequence check most frames would be dropped as duplicates.
    if (!garbage_.one_in(4)) exrnic_efe_set_seq(efe, expected_);
    if (garbage_.one_in(8)) frame = garbage_.bytes(garbage_.below(5000));
    if (garbage_.one_in(4)) frame.resize(garbage_.below(frame.size() + 40));
    if (!garbage_.one_in(3) && frame.size() > EXRNIC_ETH_BYTES)
      garbage_.spoil(frame.data() + EXRNIC_ETH_BYTES, frame.size() - EXRNIC_ETH_BYTES);
    const bool right_checksum = !garbage_.one_in(8);
    append_fcs(frame);
    if (!right_checksum) frame.back() ^= 1;
    victim_.receive_wire(std::move(frame));
  }

 private:
  void see(Mac::Direction direction, const Bytes& wire) {
    const uint8_t* efe = wire.data() + EXRNIC_ETH_BYTES;
    if (direction == Mac::Direction::kTransmit) {
      if (exrnic_efe_flags(efe) & EXRNIC_EFE_FLAGS_ACK)
        expected_ = static_cast<uint32_t>(exrnic_efe_ack(efe));
    } else if (learns_) {
      seen_.push_back(wire);
      remove_fcs(seen_.back());
    }
  }

  Mac& victim_;
  Garbage& garbage_;
  bool learns_ = false;
  uint32_t expected_ = 0;
  std::vector<Bytes> seen_;
};

TEST_CASE("frames of a peer gone mad make the core touch no memory that its driver did not give") {
  Garbage garbage;
  INFO("EXRNIC_SEED=" << garbage.seed());
  Nodes nodes;
  for (int life = 0; life < 5; ++life) {
    INFO("life " << life);
    {
      MadPeer peer(nodes, garbage);
      peer.learn(true);
      nodes.expect_pushes(garbage);
      peer.learn(false);
      for (int i = 0; i < 200; ++i) {
        peer.send();
        nodes.testbed.run_while_busy(garbage.below(1000));
      }
    }
    nodes.testbed.run_while_busy(kRestLimitNs);
    CHECK_FALSE(nodes.testbed.busy());
    for (unsigned node : {0u, 1u}) {
      nodes.expect_nothing_refused(node);
      nodes.expect_secret_untouched(node);
    }
    CHECK(nodes.rnic(1).counter(EXRNIC_COUNTER_RX_MALFORMED) > 0);
    CHECK(nodes.rnic(1).counter(EXRNIC_COUNTER_RX_FCS_ERROR) > 0);
    nodes.restart(1);
    nodes.expect_pushes(garbage);
  }
}

}  // namespace
}  // namespace exrnic::testing
