// SPDX-License-Identifier: BSD-2-Clause
// Messages and reductions by firmware, between whole nodes.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>

#include "tests/support/channel.h"
#include "tests/support/cluster.h"
#include "tests/support/faulty_core.h"

namespace exrnic::testing {
namespace {

struct Nodes {
  explicit Nodes(unsigned count, double loss = 0) : testbed(options(count, loss), make_rtl_core) {
    for (unsigned node = 0; node < testbed.nodes(); ++node) {
      rnics.push_back(std::make_unique<RnicDriver>(testbed, node));
      rnics.back()->write_register(EXRNIC_REG_RTO_CYCLES, 8192);
      start_firmware(*rnics.back(), EXRNIC_FIRMWARE);
      ends.push_back(std::make_unique<ChannelEnd>(*rnics.back()));
      REQUIRE(ends.back()->open() == EXRNIC_FW_STATUS_OK);
    }
  }
  // Three nodes that are there once: to start them takes longer than what a test does with them.
  static Nodes& three(const ChannelOptions& channel = {}) {
    static Nodes nodes(3);
    nodes.open_anew(channel);
    return nodes;
  }
  static Nodes& three_on_a_bad_link() {
    static Nodes nodes(3, 0.02);
    nodes.open_anew({});
    return nodes;
  }
  void open_anew(const ChannelOptions& channel) {
    for (auto& end : ends) end->close();
    testbed.run_for(100'000);  // what is under way comes to nobody
    for (auto& end : ends) REQUIRE(end->open_anew(channel) == EXRNIC_FW_STATUS_OK);
  }
  static TestbedOptions options(unsigned count, double loss) {
    TestbedOptions options = options_on("dc-25g", "star:" + std::to_string(count));
    options.faults.rates.drop = loss;
    return options;
  }
  // Firmware is lost and comes again, as when the driver restarts it.
  void restart(unsigned node) {
    start_firmware(*rnics[node], EXRNIC_FIRMWARE);
    REQUIRE(ends[node]->open() == EXRNIC_FW_STATUS_OK);
    ends[node]->ring();
  }
  ChannelEnd& operator[](unsigned node) { return *ends[node]; }

  Testbed testbed;
  std::vector<std::unique_ptr<RnicDriver>> rnics;
  std::vector<std::unique_ptr<ChannelEnd>> ends;
};

Bytes pattern(uint32_t length, uint32_t seed) {
  Bytes bytes(length);
  std::minstd_rand random(seed + 1);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() >> 8);
  return bytes;
}

constexpr uint32_t kSizes[] = {0, 1, 24, 25, 1024, 8192};

TEST_CASE("messages of all sizes come once each, in order, with their bytes and their sender") {
  Nodes& nodes = Nodes::three();
  uint32_t seed = 0;
  for (const uint32_t size : kSizes) nodes[0].put_send(1, pattern(size, seed++));
  nodes[0].ring();
  seed = 0;
  for (const uint32_t size : kSizes) {
    Bytes data;
    const exrnic_channel_event event = nodes[1].wait(&data);
    INFO("message " << seed);
    CHECK(event.kind == EXRNIC_CHANNEL_EVENT_KIND_MESSAGE);
    CHECK(event.source == 0);
    CHECK(event.id == seed);
    CHECK(data == pattern(size, seed++));
    nodes[1].ring();
  }
  nodes[0].wait_done(nodes[0].posted);
  nodes.testbed.run_while_busy(1'000'000);
  CHECK(!nodes.testbed.busy());
  CHECK(nodes.rnics[0]->counter(EXRNIC_COUNTER_FW_REFUSED) == 0);
  CHECK(nodes.rnics[1]->counter(EXRNIC_COUNTER_FW_DROPPED) == 0);
}

TEST_CASE("a channel sends messages of all sizes to itself, beside those of another node") {
  Nodes& nodes = Nodes::three();
  for (unsigned i = 0; i < 12; ++i) {
    for (const unsigned from : {1u, 2u}) {
      nodes[from].put_send(1, pattern(kSizes[i % 6], 100 * from + i));
      nodes[from].ring();
    }
  }
  std::array<unsigned, 3> seen{};
  for (unsigned i = 0; i < 24; ++i) {
    Bytes data;
    const exrnic_channel_event event = nodes[1].wait(&data, 100'000'000);
    REQUIRE(event.kind == EXRNIC_CHANNEL_EVENT_KIND_MESSAGE);
    INFO("from " << event.source << ", its message " << seen.at(event.source));
    CHECK(data == pattern(kSizes[seen[event.source] % 6], 100 * event.source + seen[event.source]));
    ++seen[event.source];
    nodes[1].ring();
  }
  CHECK(seen == std::array<unsigned, 3>{0, 12, 12});
  CHECK(nodes.rnics[1]->counter(EXRNIC_COUNTER_FRAMES_LOOPED) > 0);
  CHECK(nodes.rnics[1]->counter(EXRNIC_COUNTER_FW_DROPPED) == 0);
}

// All but the first node send to it: they share its slots, and wait for each other.
void all_to_one(Nodes& nodes, unsigned each, const std::function<void(unsigned)>& between) {
  const unsigned senders = static_cast<unsigned>(nodes.ends.size()) - 1;
  for (unsigned from = 1; from <= senders; ++from) {
    for (unsigned i = 0; i < each; ++i) {
      nodes[from].put_send(0, pattern(kSizes[(i + from) % 6], 100 * from + i));
      if (i % 3 != 0) nodes[from].ring_by_pio();
    }
    nodes[from].ring();
  }
  std::vector<unsigned> seen(senders + 1);
  for (unsigned i = 0; i < senders * each; ++i) {
    between(i);
    Bytes data;
    const exrnic_channel_event event = nodes[0].wait(&data, 100'000'000);
    REQUIRE(event.kind == EXRNIC_CHANNEL_EVENT_KIND_MESSAGE);
    const unsigned from = event.source;
    INFO("message " << i << ", from " << from << ", id " << event.id);
    REQUIRE(event.id == seen.at(from));
    REQUIRE(data == pattern(kSizes[(seen[from] + from) % 6], 100 * from + seen[from]));
    ++seen[from];
    nodes[0].ring();
  }
  for (unsigned from = 1; from <= senders; ++from) nodes[from].wait_done(each, 100'000'000);
  CHECK(!nodes[0].has_event());
}

TEST_CASE("many send to one through slots that do not grow with their number") {
  ChannelOptions few;
  few.num_slots = 2;
  few.log_events = 4;
  Nodes& nodes = Nodes::three(few);
  all_to_one(nodes, 6, [](unsigned) {});
}

TEST_CASE("on a bad link no message is lost, and none comes twice") {
  Nodes& nodes = Nodes::three_on_a_bad_link();
  all_to_one(nodes, 6, [](unsigned) {});
}

TEST_CASE("a sender whose firmware is restarted in between loses and repeats nothing") {
  Nodes& nodes = Nodes::three();
  all_to_one(nodes, 6, [&](unsigned i) {
    if (i == 3) nodes.restart(1);
  });
}

TEST_CASE("firmware that is restarted in between, on either side, loses and repeats nothing",
          "[.soak]") {
  Nodes& nodes = Nodes::three();
  all_to_one(nodes, 7, [&](unsigned i) {
    if (i == 3) nodes.restart(0);
    if (i == 5) nodes.restart(1);
  });
}

TEST_CASE("a short message by a PIO block comes without a read of the sender's memory") {
  Nodes& nodes = Nodes::three();
  for (uint32_t i = 0; i < 4; ++i) {
    nodes[0].put_send(1, pattern(24, i));
    nodes.rnics[0]->write(nodes[0].region, ChannelEnd::kWork + i * sizeof(exrnic_channel_work),
                          Bytes(sizeof(exrnic_channel_work)));  // what is there is not needed
    nodes[0].ring_by_pio(pio_stores(4));
    Bytes data;
    CHECK(nodes[1].wait(&data).id == i);
    CHECK(data == pattern(24, i));
    nodes[1].ring();
  }
  CHECK(nodes[0].status().bad_bells == 0);
}

TEST_CASE("a process that waits is interrupted when its event is there, and not without") {
  Nodes& nodes = Nodes::three();
  RnicDriver& rnic = *nodes.rnics[1];
  const auto interrupts = [&] {
    const auto& all = rnic.host().interrupts();
    return std::count(all.begin(), all.end(), EXRNIC_MSIX_VECTOR_CONTROL);
  };
  const auto message = [&] {
    nodes[0].put_send(1, pattern(8, 1));
    nodes[0].ring_by_pio();
  };
  constexpr uint32_t kOwn = 1u << 1;  // the channel's bit
  rnic.write_register(EXRNIC_REG_FW_RAISED, ~0u);
  rnic.write_register(EXRNIC_REG_INT_CAUSE, EXRNIC_INT_CAUSE_FIRMWARE);
  rnic.write_register(EXRNIC_REG_INT_ENABLE, EXRNIC_INT_CAUSE_FIRMWARE);
  rnic.host().clear_records();
  message();  // nobody waits for this one
  nodes[1].wait();
  nodes.testbed.run_for(20'000);
  CHECK(interrupts() == 0);
  for (int times = 1; times <= 3; ++times) {
    nodes[1].await_event();
    if (times == 2) nodes[1].put_send(2, pattern(8, 1));  // its block is a bell as well
    if (times == 2)
      nodes[1].ring_by_pio();
    else
      nodes[1].ring();
    nodes.testbed.run_for(20'000);
    CHECK(interrupts() == times - 1);
    CHECK(rnic.read_register(EXRNIC_REG_FW_RAISED) == 0);
    message();
    const uint64_t end = nodes.testbed.now_ns() + 100'000;
    while (interrupts() != times && nodes.testbed.now_ns() < end) nodes.testbed.run_for(1);
    REQUIRE(interrupts() == times);
    CHECK(nodes[1].has_event());  // before the interrupt
    CHECK(rnic.read_register(EXRNIC_REG_FW_RAISED) == kOwn);
    rnic.write_register(EXRNIC_REG_FW_RAISED, kOwn);
    CHECK(rnic.read_register(EXRNIC_REG_FW_RAISED) == 0);
    nodes[1].take();
  }
  message();
  nodes[1].wait();
  nodes[1].await_event();
  message();
  nodes.testbed.run_for(20'000);
  CHECK(interrupts() == 3);
  nodes[1].ring();  // too late: it is there already
  nodes.testbed.run_for(20'000);
  CHECK(interrupts() == 4);
  rnic.write_register(EXRNIC_REG_FW_RAISED, kOwn);
  nodes[1].take();
  nodes[1].await_event();
  nodes[1].ring();
  nodes.testbed.run_for(20'000);
  nodes.restart(1);  // whoever waits is woken, to say so again
  CHECK(rnic.read_register(EXRNIC_REG_FW_RAISED) == kOwn);
  rnic.write_register(EXRNIC_REG_FW_RAISED, kOwn);
  nodes.testbed.run_for(20'000);
  const auto before = interrupts();
  message();
  nodes.testbed.run_for(20'000);
  CHECK(interrupts() == before + 1);
  CHECK(nodes[1].has_event());
  rnic.write_register(EXRNIC_REG_INT_ENABLE, 0);
  rnic.write_register(EXRNIC_REG_FW_RAISED, kOwn);
}

TEST_CASE("a bell that names what cannot be does nothing, and the next one recovers") {
  Nodes& nodes = Nodes::three();
  ChannelEnd& end = nodes[0];
  end.put_send(1, pattern(10, 1));
  const std::pair<uint32_t, uint32_t> bells[] = {
      {0, end.posted + 1000},  // more than the ring holds
      {5, 0},                  // events that have not been
      {0, end.posted + 3}};    // work that is not there
  for (const auto& [taken, posted] : bells) {
    end.ring(taken, posted);
    nodes.testbed.run_for(5'000);
  }
  CHECK(nodes[1].wait().id == 0);
  nodes.testbed.run_for(20'000);
  CHECK(end.status().bad_bells == 3);
  end.put_send(1, pattern(10, 2));
  end.ring();
  Bytes data;
  CHECK(nodes[1].wait(&data).id == 1);
  CHECK(data == pattern(10, 2));
}

TEST_CASE("work that is none, or that nobody takes, ends with a failure and holds up nothing") {
  Nodes& nodes = Nodes::three();
  exrnic_channel_work work{};
  work.opcode = 99;
  nodes[0].put(work);
  nodes[0].put_send(EXRNIC_CHANNEL_NODES, {});  // no such node
  nodes[0].put_send(999, {});                   // nor this one
  nodes[0].put_send(1, Bytes(20000));           // longer than its slots
  nodes[0].put_send(1, pattern(5, 5));
  nodes[0].ring();
  const exrnic_channel_event_status expected[] = {
      EXRNIC_CHANNEL_EVENT_STATUS_MALFORMED, EXRNIC_CHANNEL_EVENT_STATUS_MALFORMED,
      EXRNIC_CHANNEL_EVENT_STATUS_MALFORMED, EXRNIC_CHANNEL_EVENT_STATUS_TOO_LONG};
  for (uint32_t i = 0; i < 4; ++i) {
    const exrnic_channel_event event = nodes[0].wait();
    CHECK(event.kind == EXRNIC_CHANNEL_EVENT_KIND_FAILURE);
    CHECK(event.id == i);
    CHECK(event.status == expected[i]);
  }
  Bytes data;
  CHECK(nodes[1].wait(&data).id == 4);
  CHECK(data == pattern(5, 5));
  CHECK(nodes[1].close() == EXRNIC_FW_STATUS_OK);
  nodes[0].put_send(1, pattern(5, 6), 200);
  nodes[0].ring();
  CHECK(nodes[0].wait().status == EXRNIC_CHANNEL_EVENT_STATUS_TIMEOUT);
}

// ---- Reductions

std::vector<unsigned> first(unsigned count) {
  std::vector<unsigned> nodes(count);
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

void expect_sum(Nodes& nodes, const std::vector<unsigned>& set, uint16_t group, uint32_t round) {
  uint64_t sum = 0;
  for (const unsigned node : set) {
    const uint64_t value = 0x1'0000'0001u * (node + 1) + round;
    sum += value;
    nodes[node].put_reduce(group, set, round, EXRNIC_CHANNEL_OPERATION_SUM, value);
    nodes[node].ring();
  }
  for (const unsigned node : set) {
    const exrnic_channel_event event = nodes[node].wait();
    INFO("node " << node << ", round " << round);
    REQUIRE(event.kind == EXRNIC_CHANNEL_EVENT_KIND_REDUCTION);
    CHECK(event.id == round);
    CHECK(event.source == group);
    CHECK(event.value == sum);
  }
}

TEST_CASE("a reduction over any set of nodes gives each of them the result, round after round") {
  Nodes& nodes = Nodes::three();
  for (uint32_t round = 0; round < 3; ++round) {
    expect_sum(nodes, {2}, 1, round);
    expect_sum(nodes, {0, 2}, 2, round);
    expect_sum(nodes, {0, 1, 2}, 3, round);
  }
}

// `rounds` barriers of all nodes; each time another one is late.
void expect_barriers(Nodes& nodes, uint32_t rounds) {
  const std::vector<unsigned> all = first(nodes.testbed.nodes());
  for (uint32_t round = 0; round < rounds; ++round) {
    const unsigned late = round % nodes.testbed.nodes();
    for (const unsigned node : all) {
      if (node == late) continue;
      nodes[node].put_reduce(1, all, round, EXRNIC_CHANNEL_OPERATION_NOTHING, 0);
      nodes[node].ring();
    }
    nodes.testbed.run_for(20'000);
    for (const unsigned node : all) CHECK(!nodes[node].has_event());
    nodes[late].put_reduce(1, all, round, EXRNIC_CHANNEL_OPERATION_NOTHING, 0);
    nodes[late].ring();
    for (const unsigned node : all)
      CHECK(nodes[node].wait().kind == EXRNIC_CHANNEL_EVENT_KIND_REDUCTION);
  }
}

TEST_CASE("nobody leaves a barrier before everybody has come, over a bad link too") {
  expect_barriers(Nodes::three_on_a_bad_link(), 3);
}

TEST_CASE("a reduction goes on when the firmware of one of its nodes is restarted") {
  Nodes& nodes = Nodes::three();
  expect_sum(nodes, first(3), 1, 0);
  for (const unsigned node : {0u, 1u}) {
    nodes[node].put_reduce(1, first(3), 1, EXRNIC_CHANNEL_OPERATION_SUM, 10);
    nodes[node].ring();
  }
  nodes.testbed.run_for(20'000);
  nodes.restart(1);
  nodes.testbed.run_for(20'000);
  nodes[2].put_reduce(1, first(3), 1, EXRNIC_CHANNEL_OPERATION_SUM, 10);
  nodes[2].ring();
  for (const unsigned node : first(3)) CHECK(nodes[node].wait().value == 30);
}

TEST_CASE("a reduction that somebody stays away from ends with a time-out; one of others goes on") {
  Nodes& nodes = Nodes::three();
  nodes[0].put_reduce(1, first(3), 0, EXRNIC_CHANNEL_OPERATION_SUM, 1, 300);
  nodes[0].ring();
  const exrnic_channel_event event = nodes[0].wait();
  CHECK(event.kind == EXRNIC_CHANNEL_EVENT_KIND_FAILURE);
  CHECK(event.status == EXRNIC_CHANNEL_EVENT_STATUS_TIMEOUT);
  expect_sum(nodes, {0, 2}, 2, 0);
  nodes[0].put_reduce(3, {1, 2}, 0, EXRNIC_CHANNEL_OPERATION_SUM, 1);  // not of the set
  nodes[0].ring();
  CHECK(nodes[0].wait().status == EXRNIC_CHANNEL_EVENT_STATUS_MALFORMED);
}

// ---- Lives of a channel

// Moments in an exchange of some microseconds.
template <typename Function>
void at_each_moment(uint64_t end_ns, uint64_t step_ns, Function function) {
  for (uint64_t moment = 0; moment < end_ns; moment += step_ns) {
    INFO("channel closed " << moment << " ns behind the bell");
    function(moment);
  }
}

TEST_CASE("a reduction whose nodes begin anew at any moment has parts of one life of each") {
  Nodes& nodes = Nodes::three();
  ChannelEnd &late = nodes[0], &early = nodes[1];
  const std::vector<unsigned> both{0, 1};
  unsigned met = 0;
  at_each_moment(9'000, 600, [&](uint64_t moment) {
    early.put_reduce(1, both, 0, EXRNIC_CHANNEL_OPERATION_SUM, 1000);
    early.ring();
    nodes.testbed.run_for(moment);
    // The later of the two may have met the other's earlier life.
    ChannelEnd* const order[] = {&late, &early};
    for (const unsigned i : {0u, 1u})
      REQUIRE(order[i ^ (moment / 600 & 1)]->open_anew({}) == EXRNIC_FW_STATUS_OK);
    late.put_reduce(1, both, 0, EXRNIC_CHANNEL_OPERATION_SUM, 1);
    late.ring();
    nodes.testbed.run_for(20'000);
    early.put_reduce(1, both, 0, EXRNIC_CHANNEL_OPERATION_SUM, 5, 200);
    early.ring();
    const uint64_t sum = late.wait().value;
    const exrnic_channel_event event = early.wait();
    if (sum == 1001) {
      ++met;
      CHECK(event.kind == EXRNIC_CHANNEL_EVENT_KIND_FAILURE);
    } else {
      CHECK(sum == 6);
      CHECK(event.kind == EXRNIC_CHANNEL_EVENT_KIND_REDUCTION);
      CHECK(event.value == 6);
    }
  });
  CHECK(met < 15);
}

// A message of the sender's earlier life, and one of the present one: each whole, the first one at
// most once to each life of the receiver, and before the second.
void expect_whole(ChannelEnd& receiver, const Bytes& earlier, const Bytes& later) {
  Bytes data;
  receiver.wait(&data);
  receiver.ring();
  if (data == earlier) {
    receiver.wait(&data);
    receiver.ring();
  }
  CHECK(data == later);
  receiver.rnic.testbed().run_for(20'000);
  CHECK(!receiver.has_event());
}

TEST_CASE("a message whose ends begin anew at any moment comes whole, or not, and holds no slot") {
  ChannelOptions few;
  few.num_slots = 2;
  Nodes& nodes = Nodes::three(few);
  ChannelEnd &sender = nodes[1], &receiver = nodes[0];
  uint32_t seed = 0;
  at_each_moment(8'000, 500, [&](uint64_t moment) {
    for (ChannelEnd* anew : {&sender, &receiver}) {
      const Bytes earlier = pattern(8192, ++seed), later = pattern(8192, ++seed);
      sender.put_send(0, earlier);
      sender.ring();
      nodes.testbed.run_for(moment);
      REQUIRE(anew->open_anew(few) == EXRNIC_FW_STATUS_OK);
      sender.put_send(0, later);
      sender.ring();
      expect_whole(receiver, earlier, later);
      sender.wait_done(sender.posted);
    }
  });
  for (int i = 0; i < 4; ++i) {
    sender.put_send(0, pattern(8192, 1000 + i));
    sender.ring();
    Bytes data;
    receiver.wait(&data);
    receiver.ring();
    CHECK(data == pattern(8192, 1000 + i));
  }
}

// ---- Nodes that are no friends

// A node without firmware, whose PUSHes to that number leave as if firmware had sent them.
constexpr uint32_t kForgedQpn = 77;

std::unique_ptr<Core> forging_core(const CoreConfig& config, CoreSink& sink) {
  Fault fault;
  fault.transmit = [](Frame& frame) {
    uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
    const bool introduces = exrnic_efe_length(efe) == EXRNIC_DDP_TAGGED_BYTES;
    if (exrnic_efe_dst_qpn(efe) >= kForgedQpn && exrnic_efe_dst_qpn(efe) < EXRNIC_MAX_QP &&
        !introduces) {
      exrnic_efe_set_dst_qpn(efe, EXRNIC_FW_QPN);
      exrnic_efe_set_src_qpn(efe, EXRNIC_FW_QPN);
    }
    return true;
  };
  return std::make_unique<FaultyCore>(config, sink, make_rtl_core, fault);
}

// It says to the firmware of node 0, and writes there, what it likes.
struct Forger {
  static constexpr uint32_t kIncarnation = 4711;
  static constexpr unsigned kAtOnce = 32;

  Forger(Testbed& testbed, unsigned node, RnicDriver& victim, const Queue& cq)
      : side(testbed, node, Pair::kRightQpn), source(source_of(side, kAtOnce * kBytes)) {
    const uint32_t qpn = kForgedQpn + node;  // its peer, so that it sends at all
    side.rnic.connect(side.qp, 0, qpn);
    victim.connect(victim.create_qp(qpn, Side::kPage, Side::kPd, cq), node, Pair::kRightQpn);
  }
  void post(const Bytes& bytes, uint32_t stag, uint64_t to) {
    if (under_way == kAtOnce) wait();
    const uint64_t place = next++ % kAtOnce * kBytes;
    side.rnic.write(source, place, bytes);
    side.rnic.post(side.qp, {&source, place, static_cast<uint32_t>(bytes.size()), stag, to, true});
    ++under_way;
  }
  // Nobody tells it what becomes of it.
  void wait() {
    CHECK(side.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    --under_way;
  }
  void write(const Bytes& bytes, uint32_t stag, uint64_t to) {
    post(bytes, stag, to);
    while (under_way != 0) wait();
    side.rnic.testbed().run_for(20'000);
  }
  static Bytes message(enum exrnic_fw_message_kind kind, uint32_t id, uint32_t argument = 0,
                       uint32_t channel = ChannelOptions().channel) {
    Bytes bytes(EXRNIC_FW_MESSAGE_BYTES);
    exrnic_fw_message_set_kind(bytes.data(), kind);
    exrnic_fw_message_set_channel(bytes.data(), static_cast<uint8_t>(channel));
    exrnic_fw_message_set_id(bytes.data(), id);
    exrnic_fw_message_set_incarnation(bytes.data(), kIncarnation);
    exrnic_fw_message_set_argument(bytes.data(), argument);
    return bytes;
  }
  void say(enum exrnic_fw_message_kind kind, uint32_t id, uint32_t argument = 0) {
    write(message(kind, id, argument), EXRNIC_FW_STAG, 0);
  }

  static constexpr uint32_t kBytes = 1024;
  static constexpr uint32_t kOldest = 0x80000000;
  Side side;
  Region source;
  uint64_t next = 0;
  unsigned under_way = 0;
};

struct Attack {
  Attack() : testbed(options_on("dc-25g", "star:4"), make), victim(testbed, 0) {
    start_firmware(victim, EXRNIC_FIRMWARE);
    channel.emplace(victim);
    REQUIRE(channel->open() == EXRNIC_FW_STATUS_OK);
    cq = victim.create_cq(Side::kCqn, Side::kPage, 4);
    for (const unsigned node : {1u, 2u})
      forgers.push_back(std::make_unique<Forger>(testbed, node, victim, cq));
  }
  // Nodes 0 and 3 are friends.
  static std::unique_ptr<Core> make(const CoreConfig& config, CoreSink& sink) {
    return config.node_id == 0 || config.node_id == 3 ? make_rtl_core(config, sink)
                                                      : forging_core(config, sink);
  }
  uint64_t dropped() { return victim.counter(EXRNIC_COUNTER_FW_DROPPED); }
  Bytes slot(uint32_t number) {
    return victim.read(channel->region, ChannelEnd::kSlots + number * ChannelOptions().slot_bytes,
                       ChannelOptions().slot_bytes);
  }

  Testbed testbed;
  RnicDriver victim;
  std::optional<ChannelEnd> channel;
  Queue cq;
  std::vector<std::unique_ptr<Forger>> forgers;
};

// As firmware draws it: the nth since it was started, of that slot.
uint32_t name_of(uint32_t n, uint32_t slot) {
  return n * EXRNIC_FW_GRANTS | (ChannelOptions().channel * EXRNIC_CHANNEL_SLOTS_MAX + slot);
}

TEST_CASE("no node writes what firmware has not granted it: its bytes are dropped and counted") {
  Attack attack;
  ChannelEnd& channel = *attack.channel;
  exrnic_channel_event event{};
  event.kind = EXRNIC_CHANNEL_EVENT_KIND_MESSAGE;
  event.source = 1;
  event.length = 8;
  event.slot = EXRNIC_CHANNEL_NO_SLOT;
  event.serial = 1;
  Bytes data(sizeof event);
  std::memcpy(data.data(), &event, sizeof event);
  uint64_t tries = 0;
  const auto push = [&](uint32_t stag, uint64_t to) {
    attack.forgers[0]->write(data, stag, to);
    CHECK_FALSE(channel.has_event());
    CHECK(attack.dropped() == ++tries);
  };
  push(channel.stag(), ChannelEnd::kBase + ChannelEnd::kEvents);
  push(channel.stag(), ChannelEnd::kBase + ChannelEnd::kSlots);
  push(name_of(1, 0), 0);
  push(0, 0);
  CHECK(attack.victim.counter(EXRNIC_COUNTER_FW_MESSAGES) == 0);
}

TEST_CASE("a grant is for one node, a range, and until it ends; behind that nothing is written") {
  Attack attack;
  ChannelEnd& channel = *attack.channel;
  Forger &owner = *attack.forgers[0], &other = *attack.forgers[1];
  const Bytes evil = pattern(200, 1);
  uint64_t tries = 0;
  const auto refused = [&](Forger& forger, uint32_t name, uint64_t to, uint32_t length = 200) {
    const Bytes before = attack.victim.read(channel.region, 0, ChannelEnd::kSlots + 8 * 8192);
    forger.write(Bytes(evil.begin(), evil.begin() + length), name, to);
    CHECK(attack.dropped() == ++tries);
    CHECK(attack.victim.read(channel.region, 0, before.size()) == before);
  };
  owner.say(EXRNIC_FW_MESSAGE_KIND_SEND, 0, 1000 | Forger::kOldest);
  const uint32_t name = name_of(1, 0);
  refused(other, name, 0);                // another node
  refused(owner, name, 801);              // beyond the end
  refused(owner, name, 1000, 1);          // all beyond it
  refused(owner, name, UINT64_MAX - 99);  // around the end of numbers
  refused(owner, name, uint64_t{1} << 32);
  refused(owner, name + 1, 0);                 // the next slot
  refused(owner, name + EXRNIC_FW_GRANTS, 0);  // another name of the same one
  refused(owner, channel.stag(), ChannelEnd::kBase + ChannelEnd::kSlots);
  owner.write(evil, name, 800);
  CHECK(attack.dropped() == tries);
  const Bytes slot = attack.slot(0);
  CHECK(Bytes(slot.begin() + 800, slot.begin() + 1000) == evil);
  CHECK(std::all_of(slot.begin() + 1000, slot.end(), [](uint8_t byte) { return byte == 0; }));
  other.say(EXRNIC_FW_MESSAGE_KIND_DONE, 0);  // it is not the one that was granted
  CHECK_FALSE(channel.has_event());
  owner.say(EXRNIC_FW_MESSAGE_KIND_DONE, 0);
  CHECK(channel.has_event());
  refused(owner, name, 0);  // it was told
  owner.say(EXRNIC_FW_MESSAGE_KIND_DONE, 0);
  owner.say(EXRNIC_FW_MESSAGE_KIND_SEND, 0, 1000 | Forger::kOldest);  // again: delivered
  refused(owner, name, 0);
  channel.take();
  CHECK_FALSE(channel.has_event());

  owner.say(EXRNIC_FW_MESSAGE_KIND_SEND, 1, 1000);  // behind 0, a new one
  owner.write(evil, name_of(2, 1), 0);
  CHECK(attack.dropped() == tries);
  owner.say(EXRNIC_FW_MESSAGE_KIND_SEND, 2, 1000 | Forger::kOldest);  // gives that one up
  refused(owner, name_of(2, 1), 0);
  owner.write(evil, name_of(3, 1), 0);
  CHECK(attack.dropped() == tries);
  SECTION("the channel closes") {
    REQUIRE(channel.close() == EXRNIC_FW_STATUS_OK);
    refused(owner, name_of(3, 1), 0);
    REQUIRE(channel.open() == EXRNIC_FW_STATUS_OK);
    refused(owner, name_of(3, 1), 0);
  }
  SECTION("firmware is restarted") {
    start_firmware(attack.victim, EXRNIC_FIRMWARE);
    refused(owner, name_of(3, 1), 0);
    REQUIRE(channel.open() == EXRNIC_FW_STATUS_OK);
    refused(owner, name_of(3, 1), 0);
  }
}

TEST_CASE("whatever words a node says to firmware, it writes no ring, and firmware goes on") {
  Attack attack;
  ChannelEnd& channel = *attack.channel;
  Forger& forger = *attack.forgers[0];
  std::minstd_rand random(5);
  const Bytes before = attack.victim.read(channel.region, 64, ChannelEnd::kEvents - 64);
  for (int i = 0; i < 600; ++i) {
    Bytes bytes = pattern(EXRNIC_FW_MESSAGE_BYTES, random());
    exrnic_fw_message_set_kind(bytes.data(), static_cast<uint8_t>(random() % 10));
    if (i % 4 != 0) exrnic_fw_message_set_channel(bytes.data(), ChannelOptions().channel);
    if (i % 3 != 0) exrnic_fw_message_set_incarnation(bytes.data(), Forger::kIncarnation);
    forger.post(bytes, EXRNIC_FW_STAG, 0);
  }
  while (forger.under_way != 0) forger.wait();
  attack.testbed.run_for(100'000);
  CHECK(attack.victim.read_register(EXRNIC_REG_FW_STATE) == EXRNIC_FW_STATE_READY);
  CHECK(attack.victim.read(channel.region, 64, before.size()) == before);
  while (channel.has_event()) CHECK(channel.take().source == 1);
  CHECK(channel.close() == EXRNIC_FW_STATUS_OK);
}

TEST_CASE("who holds all slots that he can get, and who sends without end, keep no other one out") {
  Attack attack;
  RnicDriver friendly(attack.testbed, 3);
  start_firmware(friendly, EXRNIC_FIRMWARE);
  ChannelEnd sender(friendly), &channel = *attack.channel;
  REQUIRE(sender.open() == EXRNIC_FW_STATUS_OK);
  Forger &holder = *attack.forgers[0], &flooder = *attack.forgers[1];
  for (uint32_t id = 0; id < 12; ++id) {  // it never fills them
    Bytes ask =
        Forger::message(EXRNIC_FW_MESSAGE_KIND_SEND, id, id == 0 ? Forger::kOldest | 1000 : 1000);
    exrnic_fw_message_set_to_high(ask.data(), id - 1);
    holder.write(ask, EXRNIC_FW_STAG, 0);
  }
  uint32_t asked = 0;
  const auto flood = [&] {
    while (flooder.under_way != 0 && flooder.side.rnic.poll(flooder.side.cq, Side::kPage))
      --flooder.under_way;
    while (flooder.under_way < Forger::kAtOnce)
      flooder.post(Forger::message(EXRNIC_FW_MESSAGE_KIND_SEND, asked++, 8 | Forger::kOldest),
                   EXRNIC_FW_STAG, 0);
  };
  for (uint32_t i = 0; i < 12; ++i) sender.put_send(0, pattern(kSizes[i % 6], i));
  sender.ring();
  const uint64_t start = attack.testbed.now_ns();
  for (uint32_t seen = 0; seen < 12;) {
    REQUIRE(attack.testbed.now_ns() < start + 20'000'000);
    flood();
    attack.testbed.run_for(2'000);
    if (!channel.has_event()) continue;
    Bytes data;
    const exrnic_channel_event event = channel.take(&data);  // one at a time
    channel.ring();
    if (event.source != 3) continue;
    CHECK(data == pattern(kSizes[seen % 6], seen));
    ++seen;
  }
}

// ---- Opening

TEST_CASE("a channel opens with what is sound and granted, once, and closes") {
  Nodes& nodes = Nodes::three();
  ChannelEnd& end = nodes[0];
  CHECK(end.open() == EXRNIC_FW_STATUS_BAD_STATE);
  CHECK(end.close() == EXRNIC_FW_STATUS_OK);
  CHECK(end.close() == EXRNIC_FW_STATUS_BAD_STATE);
  const auto refused = [&](auto change) {
    exrnic_channel_open words = end.open_words();
    change(words);
    return end.command(EXRNIC_FW_OP_CHANNEL_OPEN, &words, sizeof words) ==
           EXRNIC_FW_STATUS_BAD_PARAMETER;
  };
  CHECK(refused([](auto& w) { w.channel = EXRNIC_FW_CHANNELS; }));
  CHECK(refused([](auto& w) { w.page = EXRNIC_USER_PAGES; }));
  CHECK(refused([](auto& w) { w.incarnation = 0; }));
  CHECK(refused([](auto& w) { w.work += 4; }));
  CHECK(refused([](auto& w) { w.log_work = EXRNIC_CHANNEL_RING_LOG_MAX + 1; }));
  CHECK(refused([](auto& w) { w.log_events = 0; }));
  CHECK(refused([](auto& w) { w.num_slots = EXRNIC_CHANNEL_SLOTS_MAX + 1; }));
  CHECK(refused([](auto& w) { w.num_slots = 0; }));
  CHECK(refused([](auto& w) { w.slot_bytes = EXRNIC_CHANNEL_SLOT_MAX * 2; }));
  CHECK(refused([](auto& w) { w.stag ^= 1; }));
  CHECK(refused([](auto& w) { w.base = 0x40; }));
  CHECK(refused([](auto& w) { w.slots = 0x40000000; }));
  CHECK(end.open() == EXRNIC_FW_STATUS_OK);
}

// ---- make soak

TEST_CASE("many nodes, many restarts, a bad link", "[.soak]") {
  Nodes nodes(5, 0.02);
  all_to_one(nodes, 10, [&](unsigned i) {
    if (i % 17 == 3) nodes.restart(0);
    if (i % 5 == 2) nodes.restart(1 + i % 4);
  });
  nodes.open_anew({});
  expect_barriers(nodes, 6);
  for (unsigned count = 1; count <= 5; ++count)
    for (uint32_t round = 0; round < 2; ++round)
      expect_sum(nodes, first(count), static_cast<uint16_t>(1 + count), round);
}

}  // namespace
}  // namespace exrnic::testing
