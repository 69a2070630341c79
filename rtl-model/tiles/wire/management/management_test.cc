// SPDX-License-Identifier: BSD-2-Clause
// A node's part of FABRIC.md, rule by rule, on both widths of the data path.
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "Vmanagement.h"
#include "Vmanagement_256.h"
#include "exrnic_hw.h"
#include "exrnic_records.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/frame_beats.h"
#include "rtl-model/testing/neighbours.h"

namespace exrnic::testing {
namespace {

using Bytes = std::vector<uint8_t>;
using Frames = std::vector<Bytes>;

constexpr uint64_t kGuid = 0x0123456789abcdef;
constexpr uint16_t kNone = EXRNIC_NODE_NONE;
constexpr uint16_t kHost = EXRNIC_PORT_NONE;
constexpr size_t kSize = EXRNIC_MANAGEMENT_FRAME_BYTES;
constexpr unsigned kGet = EXRNIC_MANAGEMENT_METHOD_GET;
constexpr unsigned kSet = EXRNIC_MANAGEMENT_METHOD_SET;
constexpr unsigned kAnswer = EXRNIC_MANAGEMENT_METHOD_ANSWER;
constexpr unsigned kTrap = EXRNIC_MANAGEMENT_METHOD_TRAP;
constexpr uint64_t kAlien = 0x021122334455;

uint64_t mac_of(uint16_t node) { return uint64_t{EXRNIC_MAC_PREFIX} << 16 | node; }

void put(Bytes& frame, size_t at, size_t bytes, uint64_t value) {
  for (size_t i = 0; i < bytes; ++i)
    frame[at + i] = static_cast<uint8_t>(value >> (8 * (bytes - 1 - i)));
}
uint64_t take(const Bytes& frame, size_t at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value = value << 8 | frame[at + i];
  return value;
}

// Where FABRIC.md and management.yaml have a field: bytes of the frame.
struct Management {
  uint64_t dst = mac_of(kNone);
  uint64_t src = mac_of(0x77);
  unsigned method = kGet;
  unsigned attribute = EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE;
  unsigned hop = 0;
  unsigned hops = 0;
  uint64_t modifier = 0;
  uint64_t transaction = 0xfedcba9876543210;
  uint64_t key = 0;
  std::vector<uint16_t> path = {};

  Bytes frame() const {
    Bytes frame(kSize);
    // What is not said is no zero, so that it shows who changes it.
    for (size_t i = EXRNIC_MANAGEMENT_PATH_AT; i < kSize; ++i) frame[i] = static_cast<uint8_t>(i);
    put(frame, 0, 6, dst);
    put(frame, 6, 6, src);
    put(frame, 12, 2, 0x88b6);
    put(frame, 14, 1, 0x10 | method);
    put(frame, 16, 2, attribute);
    put(frame, 18, 1, hop);
    put(frame, 19, 1, hops);
    put(frame, 20, 4, modifier);
    put(frame, 24, 8, transaction);
    put(frame, 32, 8, key);
    for (size_t i = 0; i < path.size(); ++i) put(frame, 48 + 2 * i, 2, path[i]);
    return frame;
  }
};

struct Wanted {
  std::optional<uint16_t> number;
  std::optional<uint16_t> manager;
  std::optional<uint64_t> key;
  std::optional<uint8_t> beat;
  unsigned more = 0;  // bits of sets
};

Bytes set_of(Management request, const Wanted& wanted) {
  request.method = kSet;
  Bytes frame = request.frame();
  const unsigned sets = wanted.more | (wanted.number ? 1 : 0) | (wanted.manager ? 2 : 0) |
                        (wanted.key ? 4 : 0) | (wanted.beat ? 8 : 0);
  put(frame, 138, 2, wanted.number.value_or(0x5a5a));
  put(frame, 142, 2, wanted.manager.value_or(0x5a5a));
  put(frame, 144, 8, wanted.key.value_or(0x5a5a5a5a5a5a5a5a));
  put(frame, 158, 1, sets);
  put(frame, 159, 1, wanted.beat.value_or(0x5a));
  return frame;
}

// What a device is, as its answers say it.
struct Device {
  bool fixed = false;
  bool keyed = false;
  uint16_t number = kNone;
  uint16_t manager = kNone;
  uint16_t changes = 0;
  uint8_t beat = 0;
};

// The answer to a request that is served; `port` is the one by which it came.
Bytes answer_to(const Bytes& request, const Device& device, uint16_t port, unsigned status = 0) {
  Bytes answer = request;
  const bool directed = take(request, 0, 6) == mac_of(kNone);
  put(answer, 0, 6, directed ? mac_of(kNone) : take(request, 6, 6));
  put(answer, 6, 6, mac_of(device.number));
  put(answer, 14, 1, 0x10 | kAnswer);
  put(answer, 15, 1, status);
  if (port == kHost) put(answer, 18, 1, 0);
  put(answer, 32, 8, 0);
  put(answer, 40, 8, 0);
  put(answer, 48 + 2 * request[19], 2, port);
  std::fill(answer.begin() + 128, answer.end(), 0);
  if (status == EXRNIC_MANAGEMENT_STATUS_NO_ATTRIBUTE ||
      status == EXRNIC_MANAGEMENT_STATUS_NO_BLOCK)
    return answer;
  put(answer, 128, 8, kGuid);
  put(answer, 136, 1, EXRNIC_MANAGEMENT_KIND_RNIC);
  put(answer, 137, 1, (device.fixed ? 1 : 0) | (device.keyed ? 2 : 0));
  put(answer, 138, 2, device.number);
  put(answer, 140, 2, 1);
  put(answer, 142, 2, device.manager);
  put(answer, 152, 4, records::kNNode);
  put(answer, 156, 2, device.changes);
  put(answer, 159, 1, device.beat);
  return answer;
}

Bytes efe_frame(uint16_t from, uint16_t to, size_t size = 120, uint8_t mark = 0x3c) {
  Bytes frame(size, mark);
  put(frame, 0, 6, mac_of(to));
  put(frame, 6, 6, mac_of(from));
  put(frame, 12, 2, EXRNIC_ETHERTYPE);
  return frame;
}

template <typename Model>
class Agent : public Bench<Model> {
 public:
  static constexpr size_t kBeat = sizeof(Model::rx_data_i);
  using Bench<Model>::dut;
  using Bench<Model>::settle;

  FrameSource<kBeat> line_sends, node_sends;
  FrameDrain<kBeat> line_gets, node_gets;
  bool line_open = true;
  bool node_open = true;
  bool line_pauses = false;
  bool fcs_error = false;
  int link_was_down = 0;  // cycles

  explicit Agent(uint16_t strap = kNone) {
    dut().cfg_node_i = strap;
    dut().assignment_status_i = EXRNIC_MANAGEMENT_STATUS_NO_ATTRIBUTE;
    dut().cfg_guid_i = kGuid;
    dut().link_up_i = 1;
    dut().host_valid_i = 0;
    power();
  }

  void power() {
    dut().power_ni = dut().rst_ni = 1;
    settle();
    dut().power_ni = 0;
    driver_reset();
  }
  // Which lets the power come back, too.
  void driver_reset() {
    line_sends.clear();
    node_sends.clear();
    line_gets.clear();
    node_gets.clear();
    dut().rst_ni = 1;
    settle();
    dut().rst_ni = 0;
    for (int i = 0; i < 3; ++i) cycle();
    dut().rst_ni = dut().power_ni = 1;
    cycle();
  }

  void cycle() override {
    drive();
    settle();
    sample();
    this->tick();
    settle();
  }
  void cycles(int count) {
    for (int i = 0; i < count; ++i) cycle();
  }
  void rest() {
    this->wait_for("rest", 5000,
                   [this] { return !line_sends.waits() && !node_sends.waits() && dut().idle_o; });
    cycle();
  }

  // ---- The line
  void comes(const Bytes& frame) {
    line_sends.frames.push_back(frame);
    rest();
  }
  // What leaves because of that.
  Frames answers(const Bytes& frame) {
    line_gets.frames.clear();
    comes(frame);
    return line_gets.frames;
  }
  void number(uint16_t number) {
    line_gets.frames.clear();
    comes(set_of({}, {number, {}, {}, {}}));
    REQUIRE(line_gets.frames.size() == 1);
    REQUIRE(dut().node_o == number);
    line_gets.frames.clear();
  }

  // ---- The host
  void store(uint32_t address, uint32_t value, bool word = true) {
    access(address, value, true, word);
    dut().host_valid_i = 0;
  }
  uint32_t load(uint32_t address, bool word = true) {
    access(address, 0, false, word);
    dut().host_valid_i = 0;
    REQUIRE(dut().host_rsp_valid_o);
    return dut().host_rsp_data_o;
  }
  uint32_t status() { return load(EXRNIC_REG_MANAGEMENT_STATUS); }
  void put_out(const Bytes& frame) {
    for (size_t i = 0; i < kSize / 4; ++i) {
      const uint32_t word = frame[4 * i] | frame[4 * i + 1] << 8 | frame[4 * i + 2] << 16 |
                            uint32_t{frame[4 * i + 3]} << 24;
      store(static_cast<uint32_t>(EXRNIC_REG_MANAGEMENT_OUT + 4 * i), word);
    }
  }
  void send(const Bytes& frame) {
    put_out(frame);
    store(EXRNIC_REG_MANAGEMENT_SEND, 0);
    rest();
    REQUIRE((status() & EXRNIC_MANAGEMENT_STATUS_BITS_SENDING) == 0);
  }
  Bytes peek_in() {
    Bytes frame;
    for (size_t i = 0; i < kSize / 4; ++i) {
      const uint32_t word = load(static_cast<uint32_t>(EXRNIC_REG_MANAGEMENT_IN + 4 * i));
      for (int b = 0; b < 4; ++b) frame.push_back(static_cast<uint8_t>(word >> (8 * b)));
    }
    return frame;
  }
  bool waits() { return (status() & EXRNIC_MANAGEMENT_STATUS_BITS_WAITING) != 0; }
  Frames take_all() {
    Frames frames;
    while (waits()) {
      frames.push_back(peek_in());
      store(EXRNIC_REG_MANAGEMENT_TAKEN, 0);
    }
    return frames;
  }

  int served() const { return events_[EXRNIC_COUNTER_MANAGEMENT_SERVED]; }
  int dropped() const { return events_[EXRNIC_COUNTER_MANAGEMENT_DROPPED]; }

  // A frame of the line that is dropped and counted, and nothing else happens.
  void is_dropped(const Bytes& frame) {
    const int before = dropped();
    const int served_before = served();
    CHECK(answers(frame).empty());
    CHECK(dropped() == before + 1);
    CHECK(served() == served_before);
    CHECK_FALSE(waits());
  }
  void is_dropped_of_host(const Bytes& frame) {
    const int before = dropped();
    line_gets.frames.clear();
    send(frame);
    CHECK(line_gets.frames.empty());
    CHECK(dropped() == before + 1);
    CHECK_FALSE(waits());
  }

 private:
  void access(uint32_t address, uint32_t value, bool write, bool word) {
    dut().host_valid_i = 1;
    dut().host_write_i = write;
    dut().host_word_i = word;
    dut().host_address_i = static_cast<uint16_t>(address);
    dut().host_data_i = value;
    cycle();
  }

  void drive() {
    dut().node_tx_valid_i = node_sends.waits();
    if (node_sends.waits()) {
      dut().node_tx_sop_i = node_sends.first();
      dut().node_tx_eop_i = node_sends.last();
      dut().node_tx_bytes_i = static_cast<uint8_t>(node_sends.bytes());
      node_sends.put(dut().node_tx_data_i);
    }
    dut().rx_valid_i = line_sends.waits() && !line_pauses;
    if (line_sends.waits()) {
      dut().rx_sop_i = line_sends.first();
      dut().rx_eop_i = line_sends.last();
      dut().rx_bytes_i = static_cast<uint8_t>(line_sends.bytes());
      dut().rx_error_i = line_sends.last() && fcs_error;
      line_sends.put(dut().rx_data_i);
    }
    dut().tx_ready_i = line_open;
    dut().node_rx_ready_i = node_open;
  }
  void sample() {
    if (dut().node_rx_valid_o && dut().node_rx_ready_i)
      node_gets.take(dut().rx_data_i, dut().rx_bytes_i, dut().rx_sop_i, dut().rx_eop_i);
    if (dut().tx_valid_o && dut().tx_ready_i)
      line_gets.take(dut().tx_data_o, dut().tx_bytes_o, dut().tx_sop_o, dut().tx_eop_o);
    events_.sample();
    link_was_down += !dut().link_up_o;
    const bool sent = dut().node_tx_valid_i && dut().node_tx_ready_o;
    const bool came = dut().rx_valid_i && dut().rx_ready_o;
    if (sent) node_sends.taken();
    if (came) line_sends.taken();
  }

  Events<Model> events_{dut()};
};

#define EXRNIC_WIDTHS Vmanagement, Vmanagement_256

TEMPLATE_TEST_CASE("A directed request at its end is served, and its answer goes back the way", "",
                   EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  for (const unsigned hops : {0u, 1u, 3u, 39u}) {
    CAPTURE(hops);
    Management request;
    request.hop = request.hops = hops;
    Bytes frame = request.frame();
    put(frame, 15, 1, 0x99);                // what an answer does not have from its request:
    put(frame, 40, 8, 0x1111111111111111);  // status, and what is reserved
    CHECK(agent.answers(frame) == Frames{answer_to(frame, {}, 0)});
  }
  CHECK(agent.served() == 4);
  CHECK(agent.dropped() == 0);
  CHECK_FALSE(agent.waits());
  CHECK(agent.node_gets.frames.empty());
}

TEMPLATE_TEST_CASE("What is not for this node, or not at its end, is dropped", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  agent.number(5);
  Management request;
  SECTION("a request on its way") {
    request.hop = 1;
    request.hops = 2;
  }
  SECTION("one that is beyond its end") {
    request.hop = 2;
    request.hops = 1;
  }
  SECTION("one whose path is too long") { request.hop = request.hops = EXRNIC_MANAGEMENT_HOPS; }
  SECTION("a routed one to another node") { request.dst = mac_of(6); }
  SECTION("one to another address with this number") { request.dst = kAlien << 16 | 5; }
  SECTION("a routed one that says hops") {
    request.dst = mac_of(5);
    request.hop = request.hops = 1;
  }
  SECTION("a directed trap") { request.method = kTrap; }
  SECTION("an answer without hops to go back") { request.method = kAnswer; }
  SECTION("an answer that claims more hops than there are") {
    request.method = kAnswer;
    request.hop = 3;
    request.hops = 2;
    request.path = {kHost, kHost, kHost};
  }
  SECTION("an answer whose path is too long") {
    request.method = kAnswer;
    request.hop = 1;
    request.hops = EXRNIC_MANAGEMENT_HOPS;
    request.path = {kHost};
  }
  SECTION("an answer whose next place is not the host") {
    request.method = kAnswer;
    request.hop = 2;
    request.hops = 3;
    request.path = {kHost, 0, kHost};
  }
  SECTION("an unknown method") { request.method = 7; }
  SECTION("a routed unknown method") {
    request.dst = mac_of(5);
    request.method = 7;
  }
  agent.is_dropped(request.frame());
}

TEMPLATE_TEST_CASE("What is malformed is dropped and reaches nobody", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  agent.number(5);
  Bytes frame = Management{}.frame();
  SECTION("short") { frame.resize(kSize - 1); }
  SECTION("a beat") { frame.resize(16); }
  SECTION("shorter by beats") { frame.resize(kSize - 64); }
  SECTION("long") { frame.resize(kSize + 1); }
  SECTION("longer by beats") { frame.resize(2 * kSize); }
  SECTION("another version") { frame[14] = 0x20; }
  SECTION("wrong FCS") { agent.fcs_error = true; }
  agent.is_dropped(frame);
  CHECK(agent.node_gets.frames.empty());
  agent.fcs_error = false;
  const Bytes good = Management{}.frame();
  CHECK(agent.answers(good).size() == 1);
}

TEMPLATE_TEST_CASE("A routed request to the node is served; its answer goes to the source", "",
                   EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  agent.number(0x1d);
  Management request;
  request.dst = mac_of(0x1d);
  request.src = mac_of(0x99);
  Device device;
  device.number = 0x1d;
  CHECK(agent.answers(request.frame()) == Frames{answer_to(request.frame(), device, 0)});
}

TEMPLATE_TEST_CASE("Answers and traps for the host wait for it in their order", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  agent.number(3);
  CHECK(agent.peek_in() == Bytes(kSize, 0));
  Frames expected;
  Management directed;
  directed.method = kAnswer;
  for (const unsigned hop : {1u, 2u, 39u}) {
    directed.hop = hop;
    directed.hops = 39;
    directed.path.assign(40, 0);
    directed.path[hop - 1] = kHost;
    agent.comes(directed.frame());
    --directed.hop;
    expected.push_back(directed.frame());
  }
  Management routed;
  routed.dst = mac_of(3);
  for (const unsigned method : {kAnswer, kTrap}) {
    routed.method = method;
    agent.comes(routed.frame());
    expected.push_back(routed.frame());
  }
  CHECK(agent.take_all() == expected);
  CHECK(agent.peek_in() == Bytes(kSize, 0));
  CHECK(agent.line_gets.frames.empty());
  CHECK(agent.dropped() == 0);
  CHECK(agent.served() == 1);  // the number
}

TEMPLATE_TEST_CASE("So many frames wait; more are dropped and counted", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  agent.number(3);
  std::deque<Bytes> expected;
  uint64_t mark = 0;
  const auto comes = [&] {
    Management trap;
    trap.dst = mac_of(3);
    trap.method = kTrap;
    trap.transaction = ++mark;
    agent.line_sends.frames.push_back(trap.frame());
    return trap.frame();
  };
  for (int round = 0; round < 5; ++round) {
    const auto room = static_cast<size_t>(EXRNIC_MANAGEMENT_WAITING) - expected.size();
    for (size_t i = 0; i < room; ++i) expected.push_back(comes());
    comes();
    comes();
    agent.rest();  // one behind the other
    CHECK(agent.dropped() == 2 * (round + 1));
    for (int i = 0; i < 3 + round; ++i) {
      CHECK(agent.peek_in() == expected.front());
      agent.store(EXRNIC_REG_MANAGEMENT_TAKEN, 1);
      expected.pop_front();
    }
  }
  // The own host's answer, too.
  while (expected.size() < EXRNIC_MANAGEMENT_WAITING) expected.push_back(comes());
  agent.rest();
  agent.send(Management{}.frame());
  CHECK(agent.dropped() == 11);
  CHECK(agent.take_all() == Frames(expected.begin(), expected.end()));
  agent.store(EXRNIC_REG_MANAGEMENT_TAKEN, 1);  // where there is none
  CHECK_FALSE(agent.waits());
}

TEMPLATE_TEST_CASE("The host's request to its own node is answered to it", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  Device device;
  Management request;
  SECTION("directed, without a number") {}
  SECTION("directed, with hops") { request.hop = request.hops = 4; }
  SECTION("directed, with a number") {
    agent.number(9);
    device.number = 9;
  }
  SECTION("routed") {
    agent.number(9);
    device.number = 9;
    request.dst = mac_of(9);
  }
  request.src = kAlien;
  agent.send(request.frame());
  request.src = mac_of(device.number);
  CHECK(agent.take_all() == Frames{answer_to(request.frame(), device, kHost)});
  CHECK(agent.line_gets.frames.empty());
  CHECK(agent.dropped() == 0);
}

TEMPLATE_TEST_CASE("The host's requests to others leave by port 0, with the own address", "",
                   EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  const bool numbered = GENERATE(false, true);
  if (numbered) agent.number(9);
  Management request;
  request.src = kAlien;
  Management expected;
  for (const unsigned method : {kGet, kSet}) {
    for (const unsigned hop : {0u, 2u, 38u}) {
      CAPTURE(method, hop);
      request.method = method;
      request.hop = hop;
      request.hops = 39;
      request.path.assign(40, 6);
      request.path[hop] = 0;
      agent.send(request.frame());
      expected = request;
      expected.src = mac_of(numbered ? 9 : kNone);
      expected.path[hop] = kHost;
      ++expected.hop;
      CHECK(agent.line_gets.frames == Frames{expected.frame()});
      agent.line_gets.frames.clear();
    }
  }
  Management routed;
  routed.dst = mac_of(0x1234);
  routed.src = kAlien;
  routed.key = 5;
  agent.send(routed.frame());
  // An answer would not find who has no number.
  routed.src = expected.src;
  CHECK(agent.line_gets.frames == (numbered ? Frames{routed.frame()} : Frames{}));
  CHECK(agent.dropped() == !numbered);
  CHECK(agent.served() == numbered);
}

TEMPLATE_TEST_CASE("What the host may not send is dropped and counted", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  agent.number(9);
  Management request;
  request.hops = 2;
  request.path = {0, 0, 0};
  Bytes frame;
  SECTION("an answer") { request.method = kAnswer; }
  SECTION("a trap") { request.method = kTrap; }
  SECTION("by a port that there is not") { request.path = {1, 0, 0}; }
  SECTION("to the host") { request.path = {kHost, 0, 0}; }
  SECTION("beyond its end") { request.hop = 3; }
  SECTION("too far") { request.hops = EXRNIC_MANAGEMENT_HOPS; }
  SECTION("to no node") { request.dst = kAlien; }
  SECTION("routed, with hops") { request.dst = mac_of(10); }
  SECTION("routed, without a carrier") {
    request.hops = 0;
    request.dst = mac_of(10);
    agent.dut().link_up_i = 0;
  }
  SECTION("directed, without a carrier") { agent.dut().link_up_i = 0; }
  SECTION("of another version") {
    frame = request.frame();
    frame[14] = 0;
  }
  SECTION("of another kind") {
    frame = request.frame();
    frame[12] = 0x88;
    frame[13] = 0xb5;
  }
  agent.is_dropped_of_host(frame.empty() ? request.frame() : frame);
}

TEMPLATE_TEST_CASE("Who has not its key is dropped, be it the host or the line", "",
                   EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  Management request;
  request.key = 17;  // there is none yet
  Device device;
  device.keyed = true;
  Bytes set = set_of(request, {{}, {}, 0xaabbccddeeff0011, {}});
  CHECK(agent.answers(set) == Frames{answer_to(set, device, 0)});
  agent.is_dropped(request.frame());
  agent.is_dropped_of_host(request.frame());
  agent.is_dropped(set);
  request.attribute = 99;  // it does not even hear that there is none
  agent.is_dropped(request.frame());
  request.key = 0xaabbccddeeff0011;
  const Bytes other = request.frame();
  CHECK(agent.answers(other) ==
        Frames{answer_to(other, device, 0, EXRNIC_MANAGEMENT_STATUS_NO_ATTRIBUTE)});
  request.attribute = 0;
  agent.send(request.frame());
  request.src = mac_of(kNone);
  CHECK(agent.take_all() == Frames{answer_to(request.frame(), device, kHost)});
  // To others it needs none.
  Management on;
  on.hops = 1;
  on.path = {0};
  agent.line_gets.frames.clear();
  agent.send(on.frame());
  CHECK(agent.line_gets.frames.size() == 1);
  // A key of zero is none.
  device.keyed = false;
  set = set_of(request, {{}, {}, 0, {}});
  CHECK(agent.answers(set) == Frames{answer_to(set, device, 0)});
  request.key = 3;
  CHECK(agent.answers(request.frame()) == Frames{answer_to(request.frame(), device, 0)});
}

TEMPLATE_TEST_CASE("A set changes what it names, or nothing", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  Device device;
  const auto answers = [&](const Management& request, const Wanted& wanted, unsigned status) {
    const Bytes frame = set_of(request, wanted);
    CHECK(agent.answers(frame) == Frames{answer_to(frame, device, 0, status)});
  };
  constexpr unsigned kOk = EXRNIC_MANAGEMENT_STATUS_OK;
  constexpr unsigned kBad = EXRNIC_MANAGEMENT_STATUS_BAD_VALUE;
  answers({}, {}, kOk);
  device.manager = 0x1234;
  answers({}, {{}, 0x1234, {}, {}}, kOk);
  device.beat = 0x80;
  answers({}, {{}, {}, {}, 0x80}, kOk);
  device = {false, true, 7, 8, 0, 9};
  answers({}, {7, 8, 11, 9}, kOk);
  Management request;
  request.key = 11;
  answers(request, {static_cast<uint16_t>(records::kNNode), 1, 2, 3}, kBad);
  answers(request, {0xfffe, 1, 2, 3}, kBad);
  answers(request, {5, 1, 2, 3, 0x10}, kBad);
  answers(request, {5, 1, 2, 3, 0x80}, kBad);
  // What comes first decides.
  Management other = request;
  other.modifier = 1;
  answers(other, {0xfffe, 1, 2, 3}, EXRNIC_MANAGEMENT_STATUS_NO_BLOCK);
  other.modifier = 0x80000000;
  answers(other, {5, 1, 2, 3}, EXRNIC_MANAGEMENT_STATUS_NO_BLOCK);
  for (const unsigned attribute : {1u, 2u, 3u, 4u, 5u, 0x100u}) {
    other.attribute = attribute;
    answers(other, {5, 1, 2, 3}, EXRNIC_MANAGEMENT_STATUS_NO_ATTRIBUTE);
  }
  // A get changes nothing.
  Bytes get = set_of(request, {1, 2, 3, 4});
  put(get, 14, 1, 0x10 | kGet);
  CHECK(agent.answers(get) == Frames{answer_to(get, device, 0)});
  device.number = records::kNNode - 1;
  answers(request, {static_cast<uint16_t>(records::kNNode - 1), {}, {}, {}}, kOk);
  device.number = kNone;
  answers(request, {kNone, {}, {}, {}}, kOk);
  CHECK(agent.dropped() == 0);
}

TEMPLATE_TEST_CASE("A number that a board has fixed is there, and stays", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent(0x21);
  CHECK(agent.dut().node_o == 0x21);
  CHECK(agent.dut().link_up_o);
  Device device;
  device.fixed = true;
  device.number = 0x21;
  const auto answers = [&](const Wanted& wanted, unsigned status) {
    const Bytes frame = set_of({}, wanted);
    CHECK(agent.answers(frame) == Frames{answer_to(frame, device, 0, status)});
  };
  agent.link_was_down = 0;
  answers({5, 1, {}, 3}, EXRNIC_MANAGEMENT_STATUS_FIXED);
  answers({kNone, 1, {}, 3}, EXRNIC_MANAGEMENT_STATUS_FIXED);
  answers({0xfffe, 1, {}, 3}, EXRNIC_MANAGEMENT_STATUS_BAD_VALUE);
  answers({5, 1, {}, 3, 0x20}, EXRNIC_MANAGEMENT_STATUS_BAD_VALUE);
  device.manager = 1;
  device.beat = 3;
  answers({0x21, 1, {}, 3}, EXRNIC_MANAGEMENT_STATUS_OK);
  CHECK(agent.link_was_down == 0);
}

TEMPLATE_TEST_CASE("Without a number a node is on the line for management alone", "",
                   EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  CHECK(agent.dut().node_o == kNone);
  CHECK_FALSE(agent.dut().link_up_o);
  agent.line_open = false;  // what goes nowhere waits for nobody
  agent.node_open = false;
  for (const uint16_t from : {uint16_t{4}, kNone})
    agent.node_sends.frames.push_back(efe_frame(from, 6));
  agent.comes(efe_frame(6, 4));
  CHECK(agent.node_gets.frames.empty());
  agent.line_open = agent.node_open = true;
  agent.cycles(20);
  CHECK(agent.line_gets.frames.empty());
  CHECK(agent.dropped() == 0);

  agent.number(4);
  CHECK(agent.dut().link_up_o);
  agent.node_sends.frames.push_back(efe_frame(4, 6));
  agent.comes(efe_frame(6, 4));
  agent.rest();
  CHECK(agent.node_gets.frames == Frames{efe_frame(6, 4)});
  CHECK(agent.line_gets.frames == Frames{efe_frame(4, 6)});
  agent.dut().link_up_i = 0;
  agent.cycle();
  CHECK_FALSE(agent.dut().link_up_o);
  CHECK(agent.dut().node_o == 4);
}

TEMPLATE_TEST_CASE("Who gets another number has its link down in between", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  agent.number(4);
  agent.link_was_down = 0;
  const Bytes same = set_of({}, {4, {}, {}, {}});
  agent.comes(same);
  CHECK(agent.link_was_down == 0);
  agent.line_gets.frames.clear();
  agent.number(5);
  CHECK(agent.link_was_down >= 4);
  // What had begun under the old one is not sent.
  agent.node_sends.frames = {efe_frame(4, 6), efe_frame(5, 6), efe_frame(4, 6)};
  agent.rest();
  CHECK(agent.line_gets.frames == Frames{efe_frame(5, 6)});
  agent.number(kNone);
  CHECK_FALSE(agent.dut().link_up_o);
}

TEMPLATE_TEST_CASE("A frame that has begun to leave leaves whole, whatever becomes of the number",
                   "", EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  agent.number(4);
  const Bytes out = efe_frame(4, 6, 4000);
  const Bytes in = efe_frame(6, 4, 4000);
  agent.node_sends.frames = {out};
  agent.line_open = false;
  agent.line_sends.frames = {set_of({}, {5, {}, {}, {}}), in};
  agent.cycles(100);
  agent.line_open = true;
  agent.rest();
  REQUIRE(agent.line_gets.frames.size() == 2);
  CHECK(agent.line_gets.frames[0] == out);
  CHECK_FALSE(agent.line_gets.broken);
  CHECK_FALSE(agent.node_gets.broken);
}

TEMPLATE_TEST_CASE("The driver's reset leaves number, manager, key and beat; power does not", "",
                   EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  Device device = {false, true, 7, 8, 2, 9};
  Management request;
  request.key = 11;
  agent.comes(set_of({}, {7, 8, 11, 9}));
  agent.dut().link_up_i = 0;
  agent.cycles(5);
  agent.dut().link_up_i = 1;
  agent.cycles(5);
  CHECK(agent.answers(request.frame()) == Frames{answer_to(request.frame(), device, 0)});
  Management trap;
  trap.dst = mac_of(7);
  trap.method = kTrap;
  agent.comes(trap.frame());
  CHECK(agent.waits());
  // One is being sent, one in hand.
  agent.line_open = false;
  Management out;
  out.dst = mac_of(12);
  agent.put_out(out.frame());
  agent.store(EXRNIC_REG_MANAGEMENT_SEND, 1);
  agent.line_sends.frames = {request.frame()};
  agent.cycles(100);
  CHECK(agent.status() ==
        (EXRNIC_MANAGEMENT_STATUS_BITS_SENDING | EXRNIC_MANAGEMENT_STATUS_BITS_WAITING));
  agent.driver_reset();
  agent.line_open = true;
  CHECK(agent.status() == 0);
  CHECK(agent.dut().node_o == 7);
  CHECK(agent.load(EXRNIC_REG_MANAGEMENT_OUT) == 0);
  agent.rest();
  CHECK(agent.line_gets.frames.empty());
  CHECK(agent.peek_in() == Bytes(kSize, 0));
  CHECK(agent.answers(request.frame()) == Frames{answer_to(request.frame(), device, 0)});

  agent.power();
  CHECK(agent.dut().node_o == kNone);
  CHECK(agent.answers(Management{}.frame()) == Frames{answer_to(Management{}.frame(), {}, 0)});
}

TEMPLATE_TEST_CASE("Changes are those of the carrier since the power came", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  Device device;
  agent.dut().link_up_i = 0;
  agent.power();
  CHECK(agent.answers(Management{}.frame()) == Frames{answer_to(Management{}.frame(), device, 0)});
  for (int i = 1; i <= 300; ++i) {
    agent.dut().link_up_i = i % 2;
    agent.cycle();
  }
  device.changes = 300;
  CHECK(agent.answers(Management{}.frame()) == Frames{answer_to(Management{}.frame(), device, 0)});
}

TEMPLATE_TEST_CASE("The registers of the host", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  agent.number(4);
  const Bytes frame = Management{}.frame();
  for (size_t i = 0; i < kSize; i += 4)
    CHECK(agent.load(static_cast<uint32_t>(EXRNIC_REG_MANAGEMENT_OUT + i)) == 0);
  agent.put_out(frame);
  const auto word = [&](size_t i) {
    return frame[4 * i] | frame[4 * i + 1] << 8 | frame[4 * i + 2] << 16 |
           uint32_t{frame[4 * i + 3]} << 24;
  };
  const uint32_t out = EXRNIC_REG_MANAGEMENT_OUT;
  for (uint32_t i = 0; i < kSize / 4; ++i) CHECK(agent.load(out + 4 * i) == word(i));
  agent.store(out, 1, /*word=*/false);
  CHECK(agent.load(out) == word(0));
  CHECK(agent.load(out, /*word=*/false) == UINT32_MAX);
  CHECK(agent.load(EXRNIC_REG_MANAGEMENT_SEND) == UINT32_MAX);
  CHECK(agent.load(EXRNIC_REG_MANAGEMENT_TAKEN) == UINT32_MAX);
  agent.store(EXRNIC_REG_MANAGEMENT_SEND, 0, /*word=*/false);
  CHECK(agent.status() == 0);
  // While it is sent nobody changes it.
  Management on;
  on.dst = mac_of(12);
  agent.line_open = false;
  agent.put_out(on.frame());
  agent.store(EXRNIC_REG_MANAGEMENT_SEND, 0);
  CHECK(agent.status() == EXRNIC_MANAGEMENT_STATUS_BITS_SENDING);
  agent.put_out(frame);
  agent.store(EXRNIC_REG_MANAGEMENT_SEND, 0);
  agent.cycles(50);
  CHECK(agent.status() == EXRNIC_MANAGEMENT_STATUS_BITS_SENDING);
  agent.line_open = true;
  agent.rest();
  CHECK(agent.status() == 0);
  on.src = mac_of(4);
  CHECK(agent.line_gets.frames == Frames{on.frame()});
  // It keeps what was written.
  CHECK(agent.load(out + 4) != word(1));
  agent.store(EXRNIC_REG_MANAGEMENT_SEND, 0);
  agent.rest();
  CHECK(agent.line_gets.frames == Frames{on.frame(), on.frame()});
}

TEMPLATE_TEST_CASE(
    "While a request is in hand another one is dropped and counted; the node gets its frames", "",
    EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  agent.number(4);
  agent.line_open = false;
  for (int i = 0; i < 3; ++i) {
    agent.line_sends.frames.push_back(Management{}.frame());
    agent.line_sends.frames.push_back(efe_frame(6, 4));
  }
  agent.cycles(300);
  CHECK_FALSE(agent.line_sends.waits());
  CHECK(agent.dropped() == 2);
  CHECK(agent.node_gets.frames == Frames(3, efe_frame(6, 4)));
  agent.line_open = true;
  agent.rest();
  CHECK(agent.line_gets.frames.size() == 1);
}

TEMPLATE_TEST_CASE("An answer finds its place between the frames of a node that sends all the time",
                   "", EXRNIC_WIDTHS) {
  Agent<TestType> agent(4);
  for (int i = 0; i < 20; ++i) agent.node_sends.frames.push_back(efe_frame(4, 6, 1000));
  agent.line_sends.frames.push_back(Management{}.frame());
  agent.rest();
  REQUIRE(agent.line_gets.frames.size() == 21);
  size_t at = 0;
  while (take(agent.line_gets.frames[at], 12, 2) != 0x88b6) ++at;
  CHECK(at <= 3);
}

TEMPLATE_TEST_CASE("Requests without a gap hold back neither each other's answers nor the node", "",
                   EXRNIC_WIDTHS) {
  Agent<TestType> agent(4);
  for (int i = 0; i < 100; ++i) {
    agent.node_sends.frames.push_back(efe_frame(4, 6, 200));
    agent.line_sends.frames.push_back(Management{}.frame());
  }
  agent.send([] {
    Management on;
    on.dst = mac_of(12);
    return on.frame();
  }());
  CHECK(agent.line_gets.frames.size() == 100u + 1u + static_cast<size_t>(agent.served()));
  CHECK(agent.served() >= 20);
  CHECK(agent.served() + agent.dropped() == 100);
}

TEMPLATE_TEST_CASE("An answer begins at once", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent(4);
  agent.line_sends.frames.push_back(Management{}.frame());
  agent.wait_for("the request", 100, [&] { return !agent.line_sends.waits(); });
  int cycles = 0;
  agent.wait_for("the answer", 100, [&] {
    ++cycles;
    return agent.dut().tx_valid_o;
  });
  CHECK(cycles == (Agent<TestType>::kBeat == 16 ? 14 : 9));
}

TEMPLATE_TEST_CASE("A frame of the node passes in the cycle in which it comes", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent(4);
  constexpr size_t kSizeOfMany = 1600;
  for (int i = 0; i < 10; ++i) {
    agent.node_sends.frames.push_back(efe_frame(4, 6, kSizeOfMany));
    agent.line_sends.frames.push_back(efe_frame(6, 4, kSizeOfMany));
  }
  agent.cycles(static_cast<int>(10 * kSizeOfMany / Agent<TestType>::kBeat));
  CHECK(agent.line_gets.frames.size() == 10);
  CHECK(agent.node_gets.frames.size() == 10);
}

TEMPLATE_TEST_CASE("Frames of the node are whole and in their order, whatever the agent does", "",
                   EXRNIC_WIDTHS) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto one_of = [&](unsigned n) { return random() % n; };
    Agent<TestType> agent(4);
    Frames in, out, requests, traps;
    std::deque<Bytes> coming, leaving;
    Device device;
    device.fixed = true;
    device.number = 4;
    for (int i = 0; i < 80; ++i) {
      const size_t size = 60 + one_of(i % 5 == 0 ? 4000 : 200);
      const auto mark = static_cast<uint8_t>(random());
      out.push_back(efe_frame(4, 6, size, mark));
      in.push_back(efe_frame(6, 4, 60 + one_of(300), mark));
      leaving.push_back(out.back());
      coming.push_back(in.back());
      if (one_of(3) == 0) {
        Management request;
        request.transaction = random();
        request.hop = request.hops = one_of(40);
        requests.push_back(request.frame());
        coming.push_back(request.frame());
      }
      if (one_of(12) == 0 && traps.size() < EXRNIC_MANAGEMENT_WAITING) {
        Management trap;
        trap.method = kTrap;
        trap.dst = mac_of(4);
        trap.transaction = random();
        traps.push_back(trap.frame());
        coming.push_back(trap.frame());
      }
    }
    agent.wait_for("all frames", 60'000, [&] {
      agent.line_open = one_of(4) != 0;
      agent.node_open = one_of(4) != 0;
      agent.line_pauses = one_of(4) == 0;
      if (!leaving.empty() && one_of(12) == 0) {
        agent.node_sends.frames.push_back(leaving.front());
        leaving.pop_front();
      }
      if (!coming.empty() && one_of(40) == 0) {
        agent.line_sends.frames.push_back(coming.front());
        coming.pop_front();
      }
      return coming.empty() && leaving.empty() && !agent.line_sends.waits() &&
             !agent.node_sends.waits() && agent.dut().idle_o;
    });
    Frames of_node, of_agent;
    for (const Bytes& frame : agent.line_gets.frames)
      (take(frame, 12, 2) == 0x88b6 ? of_agent : of_node).push_back(frame);
    CHECK(of_node == out);
    CHECK(agent.node_gets.frames == in);
    CHECK_FALSE((agent.line_gets.broken || agent.node_gets.broken));
    // Each answer is right; some requests came while another one was in hand.
    size_t at = 0;
    for (const Bytes& request : requests)
      if (at < of_agent.size() && of_agent[at] == answer_to(request, device, 0)) ++at;
    CHECK(at == of_agent.size());
    CHECK(of_agent.size() + static_cast<size_t>(agent.dropped()) == requests.size());
    CHECK(agent.take_all() == traps);
  }
}

TEMPLATE_TEST_CASE("Answers to the host and what comes for it keep out of each other's way", "",
                   EXRNIC_WIDTHS) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Agent<TestType> agent(4);
    Frames traps, own, got;
    Device device;
    device.fixed = true;
    device.number = 4;
    for (int i = 0; i < 30; ++i) {
      Management trap;
      trap.method = kTrap;
      trap.dst = mac_of(4);
      trap.transaction = random();
      traps.push_back(trap.frame());
      Management request;
      request.src = mac_of(4);
      request.transaction = random();
      own.push_back(answer_to(request.frame(), device, kHost));
      agent.put_out(request.frame());
      agent.store(EXRNIC_REG_MANAGEMENT_SEND, 0);
      agent.cycles(static_cast<int>(random() % 40));
      agent.line_sends.frames.push_back(trap.frame());
      agent.line_pauses = random() % 2;
      agent.cycles(static_cast<int>(random() % 20));
      agent.line_pauses = false;
      agent.rest();
      for (const Bytes& frame : agent.take_all()) got.push_back(frame);
    }
    Frames got_traps, got_own;
    for (const Bytes& frame : got)
      ((frame[14] & 15) == kTrap ? got_traps : got_own).push_back(frame);
    CHECK(got_traps == traps);
    CHECK(got_own == own);
    CHECK(agent.dropped() == 0);
  }
}

}  // namespace
}  // namespace exrnic::testing
