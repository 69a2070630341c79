// SPDX-License-Identifier: BSD-2-Clause
// A PEB in a managed fabric (FABRIC.md): its agent, and what a number and peers do to its ports.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <map>
#include <utility>
#include <vector>

#include "rtl-model/ref/management/frame.h"
#include "rtl-model/ref/peb/testing/network.h"

namespace exrnic::peb::testing {
namespace {

using management::is_management;

constexpr uint64_t kGuid = 0x0245585200000007;
constexpr uint16_t kNone = EXRNIC_NODE_NONE;
constexpr unsigned kGet = EXRNIC_MANAGEMENT_METHOD_GET;
constexpr unsigned kSet = EXRNIC_MANAGEMENT_METHOD_SET;
constexpr unsigned kDevice = EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE;
constexpr unsigned kAssignment = EXRNIC_MANAGEMENT_ATTRIBUTE_ASSIGNMENT;

struct Told {
  unsigned status;
  Bytes data;
  uint16_t node() const {
    return static_cast<uint16_t>(exrnic_management_assignment_node(data.data()));
  }
  uint16_t group() const {
    return static_cast<uint16_t>(exrnic_management_assignment_group(data.data()));
  }
};

// A PEB at the end of a line at whose other end is a manager.
class Managed final : public PebSink {
 public:
  explicit Managed(Side side, unsigned ports = 2, uint16_t node = kNone, uint16_t bits = 128) {
    CoreConfig config;
    config.node_id = node;
    config.guid = kGuid;
    config.data_bits = bits;
    peb = make_peb(config, side, ports, *this);
  }

  bool can_transmit() override { return chance(random, taking); }
  void transmit(Frame&& frame) override { sent.push_back(std::move(frame)); }
  bool can_write(unsigned /*port*/) override { return true; }
  void write(unsigned /*port*/, Write&& write) override { written.push_back(write.data); }
  bool can_request(unsigned /*port*/) override { return true; }
  void request(unsigned /*port*/, uint64_t /*name*/, Request&& /*request*/) override {}
  void answered(unsigned /*port*/, Answer&& answer) override { answers.push_back(answer); }
  void link(unsigned port, bool up) override { ups[port] = up; }
  void assigned(unsigned port) override { ++told[port]; }

  void step() { peb->step(now_ns += kStepNs); }
  void run(unsigned steps) {
    for (unsigned i = 0; i < steps; ++i) step();
  }
  void rest() {
    for (unsigned i = 0; i < kMost && !peb->idle(); ++i) step();
    REQUIRE(peb->idle());
  }

  // Of who is one line away.
  Bytes request_of(unsigned method, unsigned attribute, uint32_t modifier, const Bytes& data) {
    Bytes frame(EXRNIC_MANAGEMENT_FRAME_BYTES);
    exrnic_eth_set_dst(frame.data(), management::kAnyone);
    exrnic_eth_set_src(frame.data(), management::mac_of(kNone));
    exrnic_eth_set_ethertype(frame.data(), EXRNIC_MANAGEMENT_ETHERTYPE);
    uint8_t* const header = management::header(frame);
    exrnic_management_header_set_version(header, EXRNIC_MANAGEMENT_VERSION);
    exrnic_management_header_set_method(header, method);
    exrnic_management_header_set_attribute(header, attribute);
    exrnic_management_header_set_hop(header, 1);
    exrnic_management_header_set_hops(header, 1);
    exrnic_management_header_set_modifier(header, modifier);
    exrnic_management_header_set_transaction(header, ++transaction_);
    exrnic_management_header_set_key(header, key);
    std::copy(data.begin(), data.end(), management::data(frame));
    return frame;
  }
  Told ask(unsigned method, unsigned attribute, uint32_t modifier = 0, const Bytes& data = {}) {
    Frame frame;
    frame.data = request_of(method, attribute, modifier, data);
    peb->receive(std::move(frame));
    for (unsigned i = 0; i < kMost; ++i) {
      step();
      for (Frame& each : std::exchange(sent, {})) {
        if (!is_management(each.data)) {
          others.push_back(std::move(each));
          continue;
        }
        const uint8_t* const header = management::header(each.data);
        REQUIRE(exrnic_management_header_transaction(header) == transaction_);
        REQUIRE(exrnic_management_header_method(header) == EXRNIC_MANAGEMENT_METHOD_ANSWER);
        const uint8_t* const begin = management::data(each.data);
        return {static_cast<unsigned>(exrnic_management_header_status(header)),
                Bytes(begin, begin + EXRNIC_MANAGEMENT_DATA_BYTES)};
      }
    }
    FAIL("no answer");
    return {};
  }
  Told give_number(uint16_t number) {
    Bytes data(EXRNIC_MANAGEMENT_DEVICE_BYTES);
    exrnic_management_device_set_number(data.data(), number);
    exrnic_management_device_set_sets(data.data(), EXRNIC_MANAGEMENT_SETS_NUMBER);
    return ask(kSet, kDevice, 0, data);
  }
  Told give_peer(uint32_t port, uint16_t node, uint16_t group) {
    Bytes data(EXRNIC_MANAGEMENT_ASSIGNMENT_BYTES);
    exrnic_management_assignment_set_node(data.data(), node);
    exrnic_management_assignment_set_group(data.data(), group);
    return ask(kSet, kAssignment, port, data);
  }
  Told peer_at(uint32_t port) { return ask(kGet, kAssignment, port); }
  // Of others than the agent, for so long.
  std::vector<Frame> others_in(unsigned steps) {
    run(steps);
    std::vector<Frame> found = std::exchange(others, {});
    for (Frame& each : std::exchange(sent, {})) found.push_back(std::move(each));
    return found;
  }

  std::unique_ptr<PebCore> peb;
  std::vector<Frame> sent, others;
  std::vector<Bytes> written;
  std::vector<Answer> answers;
  std::map<unsigned, bool> ups;
  std::map<unsigned, unsigned> told;
  uint64_t now_ns = 0;
  uint64_t key = 0;
  Random random{7};
  double taking = 1;  // frames, by the line

 private:
  static constexpr unsigned kMost = 20'000;
  uint64_t transaction_ = 0;
};

// Frames of each go to the other at once, as long as those of a MAC: shorter ones are not taken.
void join(Managed& a, Managed& b, unsigned steps) {
  for (unsigned i = 0; i < steps; ++i) {
    for (Managed* each : {&a, &b}) {
      each->step();
      for (Frame& frame : each->sent)
        frame.data.resize(std::max<size_t>(frame.data.size(), EXRNIC_ETH_FRAME_MIN));
    }
    for (Frame& frame : std::exchange(a.sent, {})) b.peb->receive(std::move(frame));
    for (Frame& frame : std::exchange(b.sent, {})) a.peb->receive(std::move(frame));
  }
}

// Longer than an interval of introductions.
constexpr unsigned kLong = 2 * (1 << EXRNIC_PEB_ASK_SHIFT) / kStepNs;

TEST_CASE("an agent says what its PEB is, and has one line") {
  const auto [side, kind] = GENERATE(std::pair(Side::kHost, EXRNIC_MANAGEMENT_KIND_PEB_HOST),
                                     std::pair(Side::kDevice, EXRNIC_MANAGEMENT_KIND_PEB_DEVICE));
  Managed managed(side, 2, kNone, GENERATE(uint16_t{128}, uint16_t{256}));
  const Told told = managed.ask(kGet, kDevice);
  CHECK(told.status == EXRNIC_MANAGEMENT_STATUS_OK);
  const uint8_t* const data = told.data.data();
  CHECK(exrnic_management_device_guid(data) == kGuid);
  CHECK(exrnic_management_device_kind(data) == kind);
  CHECK(exrnic_management_device_number(data) == kNone);
  CHECK(exrnic_management_device_flags(data) == 0);
  CHECK(exrnic_management_device_ports(data) == 1);
  CHECK(exrnic_management_device_changes(data) == 0);
  managed.peb->set_link(false);
  managed.run(2);
  managed.peb->set_link(true);
  managed.run(2);
  CHECK(exrnic_management_device_changes(managed.ask(kGet, kDevice).data.data()) == 2);
}

TEST_CASE("each port has an assignment, and what is beyond has none") {
  const unsigned ports = GENERATE(1u, 2u, 3u, 4u);
  Managed managed(Side::kHost, ports);
  for (unsigned port = 0; port < ports; ++port) {
    const Told told = managed.peer_at(port);
    CHECK(told.status == EXRNIC_MANAGEMENT_STATUS_OK);
    CHECK(told.node() == kNone);
    CHECK(told.group() == 0);
  }
  managed.give_number(3);
  for (const uint32_t beyond : {uint32_t{ports}, 0x10000u + ports - 1, 0xffffffffu}) {
    CHECK(managed.peer_at(beyond).status == EXRNIC_MANAGEMENT_STATUS_NO_BLOCK);
    CHECK(managed.give_peer(beyond, 4, 1).status == EXRNIC_MANAGEMENT_STATUS_NO_BLOCK);
  }
  for (const unsigned attribute :
       {EXRNIC_MANAGEMENT_ATTRIBUTE_PORTS, EXRNIC_MANAGEMENT_ATTRIBUTE_ROUTES})
    CHECK(managed.ask(kGet, attribute).status == EXRNIC_MANAGEMENT_STATUS_NO_ATTRIBUTE);
  for (unsigned port = 0; port < ports; ++port) CHECK_FALSE(managed.peb->peer(port));
}

TEST_CASE("a peer that a port cannot have changes nothing, and is answered with what is") {
  Managed managed(Side::kHost);
  CHECK(managed.give_peer(0, 4, 1).status == EXRNIC_MANAGEMENT_STATUS_BAD_VALUE);  // no number yet
  managed.give_number(3);
  REQUIRE(managed.give_peer(0, 4, 1).status == EXRNIC_MANAGEMENT_STATUS_OK);
  managed.told.clear();
  const uint64_t nodes = exrnic_management_device_nodes(managed.ask(kGet, kDevice).data.data());
  std::vector<std::pair<uint32_t, Peer>> bad = {{0, {3, 1}}, {1, {4, 1}}};
  if (nodes < kNone) bad.push_back({0, {static_cast<uint16_t>(nodes), 1}});
  for (const auto& [port, peer] : bad) {
    const Told told = managed.give_peer(port, peer.node, peer.group);
    CHECK(told.status == EXRNIC_MANAGEMENT_STATUS_BAD_VALUE);
    CHECK(told.node() == (port == 0 ? 4 : kNone));
    CHECK(told.group() == (port == 0 ? 1 : 0));
  }
  managed.key = 5;
  Bytes data(EXRNIC_MANAGEMENT_DEVICE_BYTES);
  exrnic_management_device_set_new_key(data.data(), 5);
  exrnic_management_device_set_sets(data.data(), EXRNIC_MANAGEMENT_SETS_KEY);
  managed.ask(kSet, kDevice, 0, data);
  Frame foreign;
  managed.key = 6;
  Bytes wanted(EXRNIC_MANAGEMENT_ASSIGNMENT_BYTES);
  exrnic_management_assignment_set_node(wanted.data(), 9);
  foreign.data = managed.request_of(kSet, kAssignment, 0, wanted);
  managed.peb->receive(std::move(foreign));
  managed.run(2000);
  CHECK(managed.told.empty());
  CHECK(managed.peb->peer(0) == Peer{4, 1});
  CHECK_FALSE(managed.peb->peer(1));
}

TEST_CASE("two ports may have one node in two groups, and the same peer again changes nothing") {
  Managed managed(Side::kHost);
  managed.give_number(3);
  CHECK(managed.give_peer(0, 4, 1).status == EXRNIC_MANAGEMENT_STATUS_OK);
  CHECK(managed.give_peer(1, 4, 0xffff).status == EXRNIC_MANAGEMENT_STATUS_OK);
  CHECK(managed.peb->peer(1) == Peer{4, 0xffff});
  CHECK(managed.peer_at(1).group() == 0xffff);
  const uint64_t lives = managed.peb->counters().lives;
  managed.told.clear();
  CHECK(managed.give_peer(0, 4, 1).status == EXRNIC_MANAGEMENT_STATUS_OK);
  managed.run(200);
  CHECK(managed.peb->counters().lives == lives);
  CHECK(managed.told.empty());
  CHECK(managed.give_peer(0, 4, 2).group() == 2);
  managed.run(200);
  CHECK(managed.peb->counters().lives == lives + 1);
  CHECK(managed.told.size() == 1);
  const Told none = managed.give_peer(0, kNone, 77);
  CHECK(none.status == EXRNIC_MANAGEMENT_STATUS_OK);
  CHECK(none.node() == kNone);
  CHECK(none.group() == 0);
  CHECK_FALSE(managed.peb->peer(0));
}

TEST_CASE("what others assign a manager reads, and a fixed number stays") {
  Managed managed(Side::kDevice, 1, 8);
  managed.peb->assign(0, Peer{2, 9});
  managed.run(10);
  CHECK(managed.peer_at(0).node() == 2);
  CHECK(managed.peer_at(0).group() == 9);
  CHECK(managed.give_number(7).status == EXRNIC_MANAGEMENT_STATUS_FIXED);
  CHECK(managed.give_number(8).status == EXRNIC_MANAGEMENT_STATUS_OK);
  CHECK(managed.peb->peer(0) == Peer{2, 9});
  managed.peb->assign(0, std::nullopt);
  managed.run(10);
  CHECK(managed.peer_at(0).node() == kNone);
}

TEST_CASE("without a number a PEB says nothing, has no peers, and rests") {
  Managed managed(Side::kDevice, 1);
  managed.rest();
  CHECK(managed.peb->number() == kNone);
  CHECK(managed.peb->wakes_at_ns() == Core::kNever);
  CHECK_THROWS(managed.peb->assign(0, Peer{2, 9}));
  managed.peb->assign(0, std::nullopt);
  CHECK(managed.peb->idle());
  CHECK(managed.others_in(kLong).empty());
}

TEST_CASE("a routed answer or a trap, which is for a host, is dropped and counted") {
  Managed managed(Side::kDevice, 1);
  managed.give_number(6);
  managed.run(20);
  for (unsigned i = 0; i < 2 * EXRNIC_MANAGEMENT_WAITING; ++i) {
    Frame frame;
    frame.data = managed.request_of(
        i % 2 == 0 ? EXRNIC_MANAGEMENT_METHOD_TRAP : EXRNIC_MANAGEMENT_METHOD_ANSWER, kDevice, 0,
        {});
    exrnic_eth_set_dst(frame.data.data(), management::mac_of(6));
    exrnic_management_header_set_hop(management::header(frame.data), 0);
    exrnic_management_header_set_hops(management::header(frame.data), 0);
    managed.peb->receive(std::move(frame));
  }
  managed.run(2000);
  CHECK(managed.peb->peek_counter(EXRNIC_COUNTER_MANAGEMENT_DROPPED) ==
        2 * EXRNIC_MANAGEMENT_WAITING);
  CHECK(managed.others_in(100).empty());
}

TEST_CASE("two PEBs meet once they have numbers and peers, and part with another number") {
  Managed host(Side::kHost);
  Managed device(Side::kDevice, 1);
  host.give_number(3);
  device.give_number(4);
  host.give_peer(1, 4, 3);
  device.give_peer(0, 3, 3);
  for (Managed* each : {&host, &device}) each->others.clear();
  join(host, device, kLong);
  REQUIRE(host.peb->is_up(1));
  REQUIRE(device.peb->is_up(0));
  host.peb->write(1, 0x1000, Bytes(64, 0x5a));
  join(host, device, 2000);
  REQUIRE(device.written.size() == 1);
  CHECK(device.written[0] == Bytes(64, 0x5a));

  BusRequest read;
  read.id = 1;
  read.kind = Request::Kind::kRead;
  read.address = 0x2000;
  read.length = 8;
  host.peb->request(1, std::move(read));
  join(host, device, 2000);
  CHECK(host.answers.empty());
  device.told.clear();
  host.told.clear();
  const uint16_t number = GENERATE(uint16_t{5}, kNone);
  CHECK(host.give_number(number).status == EXRNIC_MANAGEMENT_STATUS_OK);
  host.run(100);
  CHECK_FALSE(host.ups[1]);
  CHECK_FALSE(host.peb->is_up(1));
  CHECK(host.told.count(1) == 1);
  CHECK(host.peb->number() == number);
  CHECK_FALSE(host.peb->peer(1));
  CHECK(host.peer_at(1).node() == kNone);
  REQUIRE(host.answers.size() == 1);
  CHECK(host.answers[0].status == EXRNIC_COMPLETION_STATUS_UNSUPPORTED);
  CHECK(host.others_in(kLong).empty());

  host.give_number(6);
  host.give_peer(0, 4, 6);
  device.give_peer(0, 6, 6);
  for (Managed* each : {&host, &device}) each->others.clear();
  join(host, device, kLong);
  CHECK(host.peb->is_up(0));
  device.peb->write(0, 0x3000, Bytes(32, 0x11));
  join(host, device, 2000);
  REQUIRE(host.written.size() == 1);
  CHECK(host.written[0] == Bytes(32, 0x11));
}

// The line is slow, so that numbers change at any beat of a frame.
TEST_CASE("in traffic a number changes between two frames, and the new one works as well") {
  const uint16_t bits = GENERATE(uint16_t{128}, uint16_t{256});
  Managed host(Side::kHost, 1, kNone, bits);
  Managed device(Side::kDevice, 1, kNone, bits);
  device.give_number(4);
  for (uint16_t round = 0; round < 14; ++round) {
    INFO("round " << round);
    const auto number = static_cast<uint16_t>(5 + round % 2);
    REQUIRE(host.give_number(number).status == EXRNIC_MANAGEMENT_STATUS_OK);
    REQUIRE(host.give_peer(0, 4, round).status == EXRNIC_MANAGEMENT_STATUS_OK);
    REQUIRE(device.give_peer(0, number, round).status == EXRNIC_MANAGEMENT_STATUS_OK);
    host.taking = 1;
    host.others.clear();
    device.others.clear();
    join(host, device, kLong);
    REQUIRE(host.ups[0]);
    REQUIRE(device.ups[0]);
    host.written.clear();
    device.written.clear();
    device.peb->write(0, 0x100, Bytes(100, static_cast<uint8_t>(round)));
    join(host, device, 2000);
    REQUIRE(host.written.size() == 1);
    CHECK(host.written[0] == Bytes(100, static_cast<uint8_t>(round)));

    host.taking = 0.2;
    for (unsigned i = 0; i < 20; ++i) host.peb->write(0, 0x1000 * i, Bytes(200, 0x77));
    host.run(20 + 28 * round);
    host.sent.clear();
    REQUIRE(host.give_number(static_cast<uint16_t>(11 - number)).status ==
            EXRNIC_MANAGEMENT_STATUS_OK);
    CHECK_FALSE(host.peb->is_up(0));
    for (const Frame& frame : host.others_in(2000)) {
      CHECK(exrnic_eth_ethertype(frame.data.data()) == EXRNIC_ETHERTYPE);
      CHECK(exrnic_eth_src(frame.data.data()) == management::mac_of(number));
    }
    CHECK_FALSE(host.peb->peer(0));
  }
}

TEST_CASE("a peer that is taken away ends the life, and whoever comes gets the next one") {
  Managed host(Side::kHost, 1);
  Managed device(Side::kDevice, 1);
  host.give_number(3);
  device.give_number(4);
  host.give_peer(0, 4, 3);
  device.give_peer(0, 3, 3);
  for (Managed* each : {&host, &device}) each->others.clear();
  join(host, device, kLong);
  REQUIRE(device.ups[0]);
  device.give_peer(0, kNone, 0);
  device.run(100);
  CHECK_FALSE(device.ups[0]);
  CHECK_FALSE(device.peb->is_up(0));
  device.give_peer(0, 3, 3);
  device.others.clear();
  join(host, device, 2 * kLong);
  CHECK(device.ups[0]);
  CHECK(host.ups[0]);
}

// In the tests of the RTL one of the two is the reference model.
TEST_CASE("whatever management frames come, both sides answer alike, and stay alike") {
  const uint64_t seed = GENERATE(range(uint64_t{1}, uint64_t{9}));
  const uint16_t bits = seed % 2 == 0 ? 128 : 256;
  Random random(seed);
  const auto upto = [&](uint64_t most) {
    return std::uniform_int_distribution<uint64_t>(0, most)(random);
  };
  const auto one_of = [&](const std::vector<uint64_t>& values) {
    return values[upto(values.size() - 1)];
  };
  Managed host(Side::kHost, 4, kNone, bits);
  Managed device(Side::kDevice, 4, kNone, bits);
  for (unsigned round = 0; round < 600; ++round) {
    INFO("seed " << seed << ", round " << round);
    Bytes data(EXRNIC_MANAGEMENT_DATA_BYTES);
    const uint64_t attribute = one_of({kDevice, kAssignment, kAssignment, kAssignment, upto(7)});
    if (attribute == kDevice) {
      exrnic_management_device_set_number(data.data(), one_of({3, 4, kNone, 7, upto(255)}));
      exrnic_management_device_set_manager(data.data(), upto(0xffff));
      exrnic_management_device_set_new_key(data.data(), one_of({0, 5}));
      exrnic_management_device_set_beat(data.data(), upto(255));
      exrnic_management_device_set_sets(data.data(), one_of({0, 1, 2, 4, 8, 15, upto(255)}));
    } else {
      exrnic_management_assignment_set_node(data.data(), one_of({3, 4, 5, 6, kNone, upto(255)}));
      exrnic_management_assignment_set_group(data.data(), upto(2));
      if (chance(random, 0.3))
        for (size_t i = EXRNIC_MANAGEMENT_ASSIGNMENT_BYTES; i < data.size(); ++i)
          data[i] = static_cast<uint8_t>(upto(255));
    }
    Frame frame;
    host.key = one_of({0, 5, 5, 5});
    frame.data =
        host.request_of(static_cast<unsigned>(one_of({kGet, kSet, kSet, kSet, upto(15)})),
                        static_cast<unsigned>(attribute),
                        static_cast<uint32_t>(one_of({0, 0, 1, 2, 3, 4, upto(0xffffffff)})), data);
    uint8_t* const header = management::header(frame.data);
    if (chance(random, 0.3)) {  // routed
      exrnic_eth_set_dst(frame.data.data(),
                         management::mac_of(static_cast<uint16_t>(one_of({3, 4, 7, 8}))));
      exrnic_eth_set_src(frame.data.data(), chance(random, 0.5) ? management::mac_of(9)
                                                                : upto((uint64_t{1} << 48) - 1));
      exrnic_management_header_set_hop(header, 0);
      exrnic_management_header_set_hops(header, 0);
    }
    if (chance(random, 0.2)) {
      exrnic_management_header_set_hop(header, one_of({0, 1, 2, 39, 40, upto(255)}));
      exrnic_management_header_set_hops(header, one_of({0, 1, 2, 39, 40, upto(255)}));
    }
    if (chance(random, 0.2)) frame.data[upto(127)] = static_cast<uint8_t>(upto(255));
    if (chance(random, 0.1)) frame.data.resize(upto(300));
    frame.fcs_error = chance(random, 0.05);
    for (Managed* each : {&host, &device}) {
      each->sent.clear();
      Frame copy = frame;
      each->peb->receive(std::move(copy));
      each->run(160);
    }
    std::vector<Bytes> answers[2];
    for (const Managed* each : {&host, &device}) {
      for (const Frame& sent : each->sent) {
        if (!is_management(sent.data)) continue;  // introductions
        Bytes bytes = sent.data;
        if (exrnic_management_header_attribute(management::header(bytes)) == kDevice) {
          exrnic_management_device_set_kind(management::data(bytes), 0);
          exrnic_management_device_set_nodes(management::data(bytes), 0);  // as they are built
        }
        answers[each == &host ? 0 : 1].push_back(std::move(bytes));
      }
    }
    REQUIRE(answers[0] == answers[1]);
    REQUIRE(host.peb->number() == device.peb->number());
    for (unsigned port = 0; port < 4; ++port)
      REQUIRE(host.peb->peer(port) == device.peb->peer(port));
    for (const auto counter : {EXRNIC_COUNTER_MANAGEMENT_DROPPED, EXRNIC_COUNTER_MANAGEMENT_SERVED})
      REQUIRE(host.peb->peek_counter(counter) == device.peb->peek_counter(counter));
  }
}

// Of those that it has answered, in their order: others have no effect.
class Followed {
 public:
  static constexpr unsigned kPorts = 4;

  explicit Followed(uint16_t bits)
      : host_(Side::kHost, kPorts, kNone, bits), device_(Side::kDevice, kPorts, kNone, bits) {}

  Managed& host() { return host_; }
  void ask(Frame&& frame) {
    exrnic_management_header_set_transaction(management::header(frame.data), ++last_);
    host_.peb->receive(Frame(frame));
    asked_[last_] = std::move(frame);
  }
  void follow() {
    for (const Frame& each : std::exchange(host_.sent, {})) {
      if (!is_management(each.data)) continue;
      const uint64_t transaction =
          exrnic_management_header_transaction(management::header(each.data));
      INFO("request " << transaction);
      REQUIRE(asked_.count(transaction) == 1);
      device_.peb->receive(Frame(asked_.at(transaction)));
      asked_.erase(asked_.begin(), asked_.upper_bound(transaction));
      device_.run(160);
      Bytes told;
      for (Frame& sent : std::exchange(device_.sent, {}))
        if (is_management(sent.data)) told = std::move(sent.data);
      REQUIRE(without_kind(told) == without_kind(each.data));
      ++answered_;
    }
  }
  void finish() {
    host_.taking = 1;
    for (unsigned i = 0; i < 100 && !host_.peb->idle(); ++i) host_.run(1000);
    follow();
    REQUIRE(answered_ > 0);
    REQUIRE(host_.peb->number() == device_.peb->number());
    for (unsigned port = 0; port < kPorts; ++port)
      REQUIRE(host_.peb->peer(port) == device_.peb->peer(port));
  }

 private:
  static Bytes without_kind(Bytes frame) {
    if (exrnic_management_header_attribute(management::header(frame)) == kDevice) {
      exrnic_management_device_set_kind(management::data(frame), 0);
      exrnic_management_device_set_nodes(management::data(frame), 0);
    }
    return frame;
  }

  Managed host_, device_;
  uint64_t last_ = 0;
  std::map<uint64_t, Frame> asked_;
  unsigned answered_ = 0;
};

TEST_CASE("of management frames without a gap those that are answered are carried out, no other") {
  const uint64_t seed = GENERATE(range(uint64_t{1}, uint64_t{9}));
  INFO("seed " << seed);
  Random random(seed);
  const auto one_of = [&](const std::vector<uint64_t>& values) {
    return values[below(random, values.size())];
  };
  Followed followed(seed % 2 == 0 ? 128 : 256);
  Managed& host = followed.host();
  host.taking = seed % 3 == 0 ? 1 : 0.3;
  for (unsigned burst = 0; burst < 40; ++burst) {
    for (uint64_t left = one_of({1, 2, 3, 8, 20}); left > 0; --left) {
      const bool numbers = chance(random, 0.25);
      Bytes data(EXRNIC_MANAGEMENT_DATA_BYTES);
      if (numbers) {
        exrnic_management_device_set_number(data.data(), one_of({3, 4, 7, kNone}));
        exrnic_management_device_set_beat(data.data(), below(random, 256));
        exrnic_management_device_set_sets(data.data(), one_of({0, 1, 1, 8, 9}));
      } else {
        exrnic_management_assignment_set_node(data.data(), one_of({3, 4, 5, 6, kNone}));
        exrnic_management_assignment_set_group(data.data(), below(random, 3));
      }
      Frame frame;
      frame.data = host.request_of(
          chance(random, 0.7) ? kSet : kGet, numbers ? kDevice : kAssignment,
          numbers ? 0 : static_cast<uint32_t>(below(random, Followed::kPorts + 1)), data);
      if (chance(random, 0.2)) {  // routed
        exrnic_eth_set_dst(frame.data.data(),
                           management::mac_of(static_cast<uint16_t>(one_of({3, 4, 7}))));
        exrnic_eth_set_src(frame.data.data(), management::mac_of(9));
        exrnic_management_header_set_hop(management::header(frame.data), 0);
        exrnic_management_header_set_hops(management::header(frame.data), 0);
      }
      followed.ask(std::move(frame));
      if (chance(random, 0.2)) {
        Frame other;
        other.data.assign(1 + below(random, 300), 0x55);
        other.fcs_error = chance(random, 0.5);
        host.peb->receive(std::move(other));
      }
      if (chance(random, 0.3)) host.run(static_cast<unsigned>(below(random, 12)));
    }
    host.run(static_cast<unsigned>(one_of({0, 1, 20, 160, 400})));
    followed.follow();
  }
  followed.finish();
}

}  // namespace
}  // namespace exrnic::peb::testing
