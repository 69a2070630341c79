// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <deque>
#include <random>
#include <vector>

#include "Vports.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/neighbours.h"

namespace exrnic::testing {
namespace {

constexpr int kLimit = 50;  // cycles for anything here
constexpr uint8_t kPort = 3;
constexpr uint8_t kNode = 0x21;
constexpr uint8_t kPeer = 7;
constexpr uint8_t kOwnNode = 0x10;
constexpr unsigned kVector = 9;
constexpr uint32_t kUp = EXRNIC_PORT_EVENT_LINK_UP;
constexpr uint32_t kDown = EXRNIC_PORT_EVENT_LINK_DOWN;

PortMessage said(uint8_t to, uint32_t data) { return {kPort, kNode, kPeer, to, data}; }
// By a port that has been enabled `life` times.
PortMessage state_said(uint32_t state, uint8_t life = 1) {
  return said(EXRNIC_PORT_TO_STATE, state | uint32_t{life} << 8);
}

// The block, its driver, and who takes messages and interrupts.
class Ports : public Bench<Vports> {
 public:
  Ports() : events(dut()) {
    dut().cfg_node_i = kOwnNode;
    dut().enable_i = dut().link_up_i = 1;
    dut().valid_i = dut().arrival_valid_i = dut().failed_valid_i = dut().restart_valid_i = 0;
    dut().word_i = 1;
    reset();
  }

  void cycle() override {
    dut().message_ready_i = takes;
    dut().irq_ready_i = fires;
    settle();
    const bool accepted = dut().valid_i && dut().ready_o;
    events.sample();
    if (dut().message_valid_o && takes) {
      sent.push_back(unpack<PortMessage>(dut().message_o));
      link_of_last = dut().message_link_o;
    }
    if (dut().irq_valid_o && fires) fired.push_back(dut().irq_vector_o);
    if (dut().rsp_valid_o) value_ = dut().rsp_data_o;
    tick();
    if (accepted) offered_.pop_front();
    offer();
  }
  void rest() {
    wait_for("idle_o", kLimit, [&] { return offered_.empty() && dut().idle_o != 0; });
  }

  void write(uint32_t place, uint32_t value, uint8_t port = kPort) {
    access(true, place, value, port);
  }
  // These wait for their turn while other things happen.
  void write_later(uint32_t place, uint32_t value, uint8_t port = kPort) {
    offered_.push_back({true, place, value, port});
    offer();
  }
  void read_later(uint32_t place) {
    offered_.push_back({false, place, 0, kPort});
    offer();
  }
  bool waits() const { return !offered_.empty(); }
  uint32_t read(uint32_t place, uint8_t port = kPort) {
    access(false, place, 0, port);
    cycle();
    return value_;
  }
  uint32_t pending() { return read(EXRNIC_REG_PORTS_PENDING - EXRNIC_PORT_BASE, 0); }
  // `life` of the message: how much more than that of the port is meant.
  void arrive(PortMessage message, bool good = true) {
    message.life = static_cast<uint8_t>(message.life + lives_[message.port]);
    deliver(message, good);
  }
  void deliver(const PortMessage& message, bool good = true) {
    pack(dut().arrival_i, message);
    dut().arrival_good_i = good;
    dut().arrival_valid_i = 1;
    wait_for("arrival_ready_o", kLimit, [&] { return dut().arrival_ready_o != 0; });
    cycle();
    dut().arrival_valid_i = 0;
  }
  void hear(const PortMessage& message, bool good = true) {
    arrive(message, good);
    rest();
  }

  void enable(uint8_t port = kPort, uint8_t node = kNode, uint8_t peer = kPeer) {
    write(EXRNIC_REG_PORT_PEER, uint32_t{node} << 16 | peer, port);
    write(EXRNIC_REG_PORT_VECTOR, kVector + port - kPort, port);
    write(EXRNIC_REG_PORT_CONTROL, EXRNIC_PORT_CONTROL_ENABLE, port);
    ++lives_[port];
    rest();
  }
  void enable_again(uint8_t port = kPort) {
    write(EXRNIC_REG_PORT_CONTROL, 0, port);
    write(EXRNIC_REG_PORT_CONTROL, EXRNIC_PORT_CONTROL_ENABLE, port);
    ++lives_[port];
  }
  // And forgets what led to it.
  void link() {
    enable();
    hear(said(EXRNIC_PORT_TO_STATE, EXRNIC_PORT_STATE_UP));
    REQUIRE(linked());
    write(EXRNIC_REG_PORT_EVENTS, kUp | kDown);
    rest();
    sent.clear();
    fired.clear();
  }
  void lose_line() {
    dut().link_up_i = 0;
    cycle();
    dut().link_up_i = 1;
  }
  // A message of that link is not acknowledged.
  void fail(uint8_t link, uint8_t port = kPort) {
    dut().failed_port_i = port;
    dut().failed_link_i = link;
    dut().failed_valid_i = 1;
    cycle();
    dut().failed_valid_i = 0;
  }
  bool linked(uint8_t port = kPort) {
    return read(EXRNIC_REG_PORT_STATUS, port) == EXRNIC_PORT_STATUS_LINK_UP;
  }
  int refused() const { return events[EXRNIC_COUNTER_PORT_REFUSED]; }
  int taken() const { return events[EXRNIC_COUNTER_PORT_MESSAGES]; }

  bool takes = true, fires = true;
  std::vector<PortMessage> sent;
  uint8_t link_of_last = 0;  // of `sent`: message_link_o
  std::vector<unsigned> fired;
  Events<Vports> events;

 private:
  struct Access {
    bool write;
    uint32_t place, value;
    uint8_t port;
  };
  void offer() {
    dut().valid_i = !offered_.empty();
    if (dut().valid_i) {
      const Access& access = offered_.front();
      dut().write_i = access.write;
      dut().address_i =
          static_cast<uint16_t>(EXRNIC_PORT_BASE + access.port * EXRNIC_PORT_STRIDE + access.place);
      dut().data_i = access.value;
    }
    settle();
  }
  void access(bool write, uint32_t place, uint32_t value, uint8_t port) {
    offered_.push_back({write, place, value, port});
    offer();
    wait_for("ready_o", kLimit, [&] { return offered_.empty(); });
  }

  std::deque<Access> offered_;
  uint32_t value_ = 0;
  uint8_t lives_[EXRNIC_PORTS] = {};
};

// ---- The link

TEST_CASE("A port that is enabled greets its peer, and goes up with its answer") {
  Ports ports;
  ports.enable();
  CHECK(ports.sent == std::vector<PortMessage>{state_said(EXRNIC_PORT_STATE_HELLO)});
  CHECK_FALSE(ports.linked());
  ports.hear(said(EXRNIC_PORT_TO_STATE, EXRNIC_PORT_STATE_UP));
  CHECK(ports.linked());
  CHECK(ports.read(EXRNIC_REG_PORT_EVENTS) == kUp);
  CHECK(ports.fired == std::vector<unsigned>{kVector});
  CHECK(ports.sent.size() == 1);
}

TEST_CASE("A greeting takes the link up and is answered; on a link that is up it is a new one") {
  Ports ports;
  ports.enable();
  ports.sent.clear();
  ports.hear(said(EXRNIC_PORT_TO_STATE, EXRNIC_PORT_STATE_HELLO));
  CHECK(ports.sent == std::vector<PortMessage>{state_said(EXRNIC_PORT_STATE_UP)});
  CHECK(ports.read(EXRNIC_REG_PORT_EVENTS) == kUp);
  ports.write(EXRNIC_REG_PORT_EVENTS, kUp);
  ports.hear(said(EXRNIC_PORT_TO_STATE, EXRNIC_PORT_STATE_HELLO));
  CHECK(ports.linked());
  CHECK(ports.read(EXRNIC_REG_PORT_EVENTS) == (kUp | kDown));
  CHECK(ports.sent.size() == 2);
}

TEST_CASE("The link goes down, with an event, when the peer says so or is lost") {
  Ports ports;
  ports.link();
  SECTION("DOWN") { ports.hear(said(EXRNIC_PORT_TO_STATE, EXRNIC_PORT_STATE_DOWN)); }
  SECTION("NO_LINK") { ports.hear(said(EXRNIC_PORT_TO_STATE, EXRNIC_PORT_STATE_NO_LINK)); }
  SECTION("a message is not acknowledged") {
    ports.write(EXRNIC_REG_PORT_RING, 1);
    ports.rest();
    ports.fail(ports.link_of_last);
  }
  SECTION("the node has begun anew") {
    ports.dut().restart_node_i = kNode;
    ports.dut().restart_valid_i = 1;
  }
  SECTION("the Ethernet link") { ports.dut().link_up_i = 0; }
  ports.cycle();
  ports.dut().restart_valid_i = 0;
  ports.rest();
  CHECK_FALSE(ports.linked());
  CHECK(ports.read(EXRNIC_REG_PORT_EVENTS) == kDown);
  CHECK(ports.fired == std::vector<unsigned>{kVector});
}

TEST_CASE("What the peer has said before the link came up does not count") {
  Ports ports;
  ports.enable();
  ports.hear(said(EXRNIC_PORT_TO_BELLS, 0x10));
  ports.hear(said(EXRNIC_PORT_TO_SPADS, 77));
  ports.hear(said(EXRNIC_PORT_TO_PEER_SPADS, 78));
  ports.hear(said(EXRNIC_PORT_TO_STATE, EXRNIC_PORT_STATE_UP));
  CHECK(ports.read(EXRNIC_REG_PORT_BELLS_RUNG) == 0);
  CHECK(ports.read(EXRNIC_REG_PORT_SPAD) == 0);
  CHECK(ports.read(EXRNIC_REG_PORT_PEER_SPAD) == 0);
  ports.hear(said(EXRNIC_PORT_TO_BELLS, 0x20));
  CHECK(ports.read(EXRNIC_REG_PORT_BELLS_RUNG) == 0x20);
}

// UP may be under way when the link is lost, or be said twice.
TEST_CASE("An answer takes a link up that was never up, and none that was lost") {
  Ports ports;
  ports.enable();
  const bool crosses = GENERATE(false, true);
  ports.hear(state_said(crosses ? EXRNIC_PORT_STATE_HELLO : EXRNIC_PORT_STATE_UP));
  ports.write(EXRNIC_REG_PORT_SPAD, 7);
  ports.hear(state_said(EXRNIC_PORT_STATE_UP));
  CHECK(ports.linked());
  CHECK(ports.refused() == 0);
  ports.lose_line();
  ports.rest();
  ports.write(EXRNIC_REG_PORT_EVENTS, kUp | kDown);
  ports.hear(state_said(EXRNIC_PORT_STATE_UP));
  CHECK_FALSE(ports.linked());
  CHECK(ports.refused() == 1);
  CHECK(ports.read(EXRNIC_REG_PORT_EVENTS) == 0);
  CHECK(ports.read(EXRNIC_REG_PORT_SPAD) == 7);
  SECTION("the peer begins anew") { ports.hear(state_said(EXRNIC_PORT_STATE_HELLO, 2)); }
  SECTION("we do") {
    ports.enable_again();
    ports.hear(state_said(EXRNIC_PORT_STATE_UP));
  }
  CHECK(ports.linked());
}

TEST_CASE(
    "A peer that holds a link for up that is down is told so, once for all that it has said") {
  const uint8_t to = GENERATE(as<uint8_t>{}, EXRNIC_PORT_TO_STATE, EXRNIC_PORT_TO_BELLS,
                              EXRNIC_PORT_TO_SPADS, EXRNIC_PORT_TO_PEER_SPADS);
  Ports ports;
  ports.link();
  ports.lose_line();
  ports.rest();
  PortMessage message = said(to, EXRNIC_PORT_STATE_UP);
  std::vector<PortMessage> expected;
  SECTION("its own peer") {
    const PortMessage no_link = state_said(EXRNIC_PORT_STATE_NO_LINK);
    expected = {no_link, no_link};
    ports.takes = false;
    ports.arrive(message);
    ports.cycle();  // the first answer is on its way
    for (int i = 0; i < 5; ++i) ports.arrive(message);
    ports.takes = true;
  }
  SECTION("a stranger is not") { ++message.node; }
  SECTION("nor who speaks to another opening") { ++message.life; }
  SECTION("nor who makes no sense") { message.to = EXRNIC_PORT_TO_SPADS + 1; }
  ports.hear(message);
  CHECK(ports.sent == expected);
  CHECK_FALSE(ports.linked());
}

TEST_CASE("Who loses a link before it has answered does not answer that it is up") {
  Ports ports;
  ports.link();
  ports.takes = false;
  ports.arrive(said(EXRNIC_PORT_TO_SPADS, 5));  // its echo keeps the answer waiting
  ports.cycle();
  ports.arrive(state_said(EXRNIC_PORT_STATE_HELLO, 9));
  ports.lose_line();
  ports.cycle();
  ports.sent.clear();
  ports.takes = true;
  ports.rest();
  PortMessage no_link = state_said(EXRNIC_PORT_STATE_NO_LINK);
  no_link.life = 9;
  REQUIRE(ports.sent.size() == 2);
  CHECK(ports.sent.back() == no_link);
}

TEST_CASE(
    "An answer that comes while the line is down tells for which life the peer is to hear that") {
  Ports ports;
  ports.enable();
  ports.dut().link_up_i = 0;
  ports.hear(state_said(EXRNIC_PORT_STATE_UP, 9));
  CHECK_FALSE(ports.linked());
  ports.dut().link_up_i = 1;
  ports.sent.clear();
  ports.hear(said(EXRNIC_PORT_TO_BELLS, 1));
  PortMessage no_link = state_said(EXRNIC_PORT_STATE_NO_LINK);
  no_link.life = 9;
  CHECK(ports.sent == std::vector<PortMessage>{no_link});
}

TEST_CASE("A port that is disabled hears no more that its link is lost") {
  const bool at_once = GENERATE(false, true);
  Ports ports;
  ports.link();
  ports.write(EXRNIC_REG_PORT_RING, 1);
  ports.rest();
  if (at_once) ports.write_later(EXRNIC_REG_PORT_CONTROL, 0);
  ports.fail(ports.link_of_last);
  if (!at_once) ports.write(EXRNIC_REG_PORT_CONTROL, 0);
  ports.rest();
  CHECK(ports.read(EXRNIC_REG_PORT_EVENTS) == 0);
  CHECK(ports.fired.empty());
}

TEST_CASE("What is said to a port names its life, as it has said it") {
  Ports ports;
  ports.link();
  ports.hear(state_said(EXRNIC_PORT_STATE_HELLO, 9));
  ports.write(EXRNIC_REG_PORT_RING, 1);
  ports.rest();
  PortMessage up = state_said(EXRNIC_PORT_STATE_UP), bell = said(EXRNIC_PORT_TO_BELLS, 1);
  up.life = bell.life = 9;
  CHECK(ports.sent == std::vector<PortMessage>{up, bell});
}

TEST_CASE("What was said to a port before it was enabled anew does not count, link or not") {
  Ports ports;
  ports.link();
  ports.enable_again();
  ports.rest();
  CHECK(ports.sent == std::vector<PortMessage>{state_said(EXRNIC_PORT_STATE_DOWN),
                                               state_said(EXRNIC_PORT_STATE_HELLO, 2)});
  PortMessage up = state_said(EXRNIC_PORT_STATE_UP), bell = said(EXRNIC_PORT_TO_BELLS, 1);
  PortMessage spad = said(EXRNIC_PORT_TO_SPADS, 1);
  up.life = bell.life = spad.life = UINT8_MAX;  // one less
  ports.hear(up);
  CHECK_FALSE(ports.linked());
  ports.hear(state_said(EXRNIC_PORT_STATE_HELLO));  // that crosses ours
  CHECK(ports.linked());
  for (const PortMessage& message : {up, bell, spad}) ports.hear(message);
  CHECK(ports.refused() == 4);
  CHECK(ports.read(EXRNIC_REG_PORT_BELLS_RUNG) == 0);
  CHECK(ports.read(EXRNIC_REG_PORT_SPAD) == 0);
}

TEST_CASE("What was said before the link came up takes it not down when it fails") {
  constexpr uint8_t kNext = kNode + 1;
  Ports ports;
  ports.link();
  ports.write(EXRNIC_REG_PORT_RING, 1);
  ports.rest();
  const uint8_t before = ports.link_of_last;
  SECTION("to another peer") {
    ports.write(EXRNIC_REG_PORT_CONTROL, 0);
    ports.enable(kPort, kNext);
    PortMessage up = state_said(EXRNIC_PORT_STATE_UP);
    up.node = kNext;
    ports.hear(up);
    ports.fail(ports.link_of_last);  // HELLO
  }
  SECTION("to this one, which has begun anew") {
    ports.hear(state_said(EXRNIC_PORT_STATE_HELLO, 2));
  }
  SECTION("to this one, at that moment") {
    ports.dut().failed_port_i = kPort;
    ports.dut().failed_link_i = before;
    ports.dut().failed_valid_i = 1;
    ports.arrive(state_said(EXRNIC_PORT_STATE_HELLO, 2));
    ports.dut().failed_valid_i = 0;
  }
  ports.fail(before);
  ports.rest();
  CHECK(ports.linked());
  ports.write(EXRNIC_REG_PORT_RING, 1);
  ports.rest();
  ports.fail(ports.link_of_last);
  ports.rest();
  CHECK_FALSE(ports.linked());
}

TEST_CASE("The link stays when somebody else is lost") {
  Ports ports;
  ports.link();
  ports.write(EXRNIC_REG_PORT_RING, 1);
  ports.rest();
  ports.fail(ports.link_of_last, kPort + 1);
  ports.dut().restart_node_i = kNode + 1;
  ports.dut().restart_valid_i = 1;
  ports.cycle();
  ports.dut().restart_valid_i = 0;
  ports.rest();
  CHECK(ports.linked());
  CHECK(ports.fired.empty());
}

TEST_CASE("Disabling tells the peer; enabling again forgets what was") {
  Ports ports;
  ports.link();
  ports.hear(said(EXRNIC_PORT_TO_BELLS, 5));
  ports.hear(said(EXRNIC_PORT_TO_SPADS, 6));
  ports.hear(said(EXRNIC_PORT_TO_PEER_SPADS, 7));
  ports.sent.clear();
  ports.write(EXRNIC_REG_PORT_CONTROL, 0);
  ports.rest();
  CHECK(ports.sent == std::vector<PortMessage>{state_said(EXRNIC_PORT_STATE_DOWN)});
  CHECK_FALSE(ports.linked());
  ports.enable();
  CHECK(ports.read(EXRNIC_REG_PORT_BELLS_RUNG) == 0);
  CHECK(ports.read(EXRNIC_REG_PORT_SPAD) == 0);
  CHECK(ports.read(EXRNIC_REG_PORT_PEER_SPAD) == 0);
  CHECK(ports.read(EXRNIC_REG_PORT_EVENTS) == 0);
}

// ---- Bells and scratchpads

TEST_CASE("Bells add up, fire unless they are masked, and fire when they are unmasked") {
  Ports ports;
  ports.link();
  ports.write(EXRNIC_REG_PORT_BELLS_MASK, 0xff);
  ports.hear(said(EXRNIC_PORT_TO_BELLS, 0x11));
  CHECK(ports.fired.empty());
  ports.hear(said(EXRNIC_PORT_TO_BELLS, 0x8000'0001));
  CHECK(ports.fired.size() == 1);
  CHECK(ports.read(EXRNIC_REG_PORT_BELLS_RUNG) == 0x8000'0011);
  ports.write(EXRNIC_REG_PORT_BELLS_MASK, 0x0f);  // bit 4 waits
  ports.rest();
  CHECK(ports.fired.size() == 2);
  ports.write(EXRNIC_REG_PORT_BELLS_RUNG, 0x11);
  CHECK(ports.read(EXRNIC_REG_PORT_BELLS_RUNG) == 0x8000'0000);
  ports.write(EXRNIC_REG_PORT_BELLS_MASK, 0);
  ports.rest();
  CHECK(ports.fired.size() == 2);  // the other has fired already
}

TEST_CASE("A bell that is set interrupts no more, however often it is rung, until it is cleared") {
  Ports ports;
  ports.link();
  for (int i = 0; i < 20; ++i) ports.hear(said(EXRNIC_PORT_TO_BELLS, 0x10));
  CHECK(ports.fired.size() == 1);
  ports.hear(said(EXRNIC_PORT_TO_BELLS, 0x30));  // one more
  CHECK(ports.fired.size() == 2);
  ports.write(EXRNIC_REG_PORT_BELLS_RUNG, 0x30);
  ports.hear(said(EXRNIC_PORT_TO_BELLS, 0x10));
  CHECK(ports.fired.size() == 3);
}

TEST_CASE("A link that comes and goes interrupts once for either, until that is cleared") {
  Ports ports;
  ports.link();
  for (int i = 0; i < 20; ++i) {
    ports.hear(said(EXRNIC_PORT_TO_STATE, EXRNIC_PORT_STATE_DOWN));
    ports.hear(said(EXRNIC_PORT_TO_STATE, EXRNIC_PORT_STATE_HELLO));
  }
  CHECK(ports.fired.size() == 2);
  CHECK(ports.read(EXRNIC_REG_PORT_EVENTS) == (kUp | kDown));
  ports.write(EXRNIC_REG_PORT_EVENTS, kUp | kDown);
  ports.hear(said(EXRNIC_PORT_TO_STATE, EXRNIC_PORT_STATE_DOWN));
  CHECK(ports.fired.size() == 3);
}

TEST_CASE("One register shows which ports have something to tell") {
  const uint8_t last = EXRNIC_PORTS - 1;
  Ports ports;
  CHECK(ports.pending() == 0);
  ports.link();
  CHECK(ports.pending() == 0);
  ports.write(EXRNIC_REG_PORT_BELLS_MASK, 2);
  ports.hear(said(EXRNIC_PORT_TO_BELLS, 2));
  CHECK(ports.pending() == 0);
  ports.hear(said(EXRNIC_PORT_TO_BELLS, 1));
  CHECK(ports.pending() == 1u << kPort);
  ports.enable(last, kNode, kPeer);
  PortMessage up = said(EXRNIC_PORT_TO_STATE, EXRNIC_PORT_STATE_UP);
  up.port = last;
  ports.hear(up);
  CHECK(ports.pending() == (1u << kPort | 1u << last));
  ports.write(EXRNIC_REG_PORT_BELLS_RUNG, 1);
  CHECK(ports.pending() == 1u << last);
  ports.write(EXRNIC_REG_PORT_CONTROL, 0, last);
  CHECK(ports.pending() == 0);
}

TEST_CASE("Ringing and scratchpads reach the peer while the link is up, else they are refused") {
  const bool up = GENERATE(true, false);
  Ports ports;
  if (up) {
    ports.link();
  } else {
    ports.enable();
    ports.sent.clear();
  }
  const uint32_t last = 4 * (EXRNIC_PORT_SPADS - 1);
  ports.write(EXRNIC_REG_PORT_RING, 0x8000'0001);
  ports.write(EXRNIC_REG_PORT_PEER_SPAD + last, 77);
  ports.write(EXRNIC_REG_PORT_SPAD + last, 78);
  ports.rest();
  const std::vector<PortMessage> expected = {
      said(EXRNIC_PORT_TO_BELLS, 0x8000'0001),
      said(static_cast<uint8_t>(EXRNIC_PORT_TO_SPADS + last), 77),
      said(static_cast<uint8_t>(EXRNIC_PORT_TO_PEER_SPADS + last), 78)};
  CHECK(ports.sent == (up ? expected : std::vector<PortMessage>{}));
  CHECK(ports.refused() == (up ? 0 : 3));
  CHECK(ports.read(EXRNIC_REG_PORT_PEER_SPAD + last) == (up ? 77 : 0));
  CHECK(ports.read(EXRNIC_REG_PORT_SPAD + last) == (up ? 78 : 0));
}

TEST_CASE("Each scratchpad, and each of the peer's, reads as the peer said, 0 until it has") {
  const bool own = GENERATE(true, false);
  const uint32_t first = own ? EXRNIC_REG_PORT_SPAD : EXRNIC_REG_PORT_PEER_SPAD;
  const uint32_t other = own ? EXRNIC_REG_PORT_PEER_SPAD : EXRNIC_REG_PORT_SPAD;
  const uint32_t to = own ? EXRNIC_PORT_TO_SPADS : EXRNIC_PORT_TO_PEER_SPADS;
  Ports ports;
  ports.link();
  for (unsigned i = 0; i < EXRNIC_PORT_SPADS; i += 2)
    ports.hear(said(static_cast<uint8_t>(to + 4 * i), 100 + i));
  for (unsigned i = 0; i < EXRNIC_PORT_SPADS; ++i) {
    CHECK(ports.read(first + 4 * i) == (i % 2 ? 0 : 100 + i));
    CHECK(ports.read(other + 4 * i) == 0);
  }
  CHECK(ports.read(first, kPort + 1) == 0);
  CHECK(ports.fired.empty());
}

TEST_CASE("The peer hears what a scratchpad of ours holds when it has written it, and only then") {
  Ports ports;
  ports.link();
  ports.hear(said(EXRNIC_PORT_TO_PEER_SPADS + 8, 4));
  CHECK(ports.sent.empty());
  ports.takes = false;
  ports.arrive(said(EXRNIC_PORT_TO_SPADS + 8, 5));
  for (uint32_t i = 0; i < 3; ++i) {  // while the first answer waits
    ports.arrive(said(EXRNIC_PORT_TO_SPADS + 12, i));
    ports.arrive(said(EXRNIC_PORT_TO_SPADS + 8, 10 + i));
  }
  ports.takes = true;
  ports.rest();
  CHECK(ports.sent == std::vector<PortMessage>{said(EXRNIC_PORT_TO_PEER_SPADS + 8, 5),
                                               said(EXRNIC_PORT_TO_PEER_SPADS + 12, 2),
                                               said(EXRNIC_PORT_TO_PEER_SPADS + 8, 12)});
}

TEST_CASE("While the link is down scratchpads read as before; when it comes up they are empty") {
  Ports ports;
  ports.link();
  ports.hear(said(EXRNIC_PORT_TO_SPADS, 5));
  ports.hear(said(EXRNIC_PORT_TO_PEER_SPADS, 6));
  ports.hear(said(EXRNIC_PORT_TO_STATE, EXRNIC_PORT_STATE_DOWN));
  ports.write(EXRNIC_REG_PORT_SPAD, 7);
  ports.write(EXRNIC_REG_PORT_PEER_SPAD, 8);
  CHECK(ports.read(EXRNIC_REG_PORT_SPAD) == 5);
  CHECK(ports.read(EXRNIC_REG_PORT_PEER_SPAD) == 6);
  CHECK(ports.refused() == 2);
  ports.hear(said(EXRNIC_PORT_TO_STATE, EXRNIC_PORT_STATE_HELLO));
  CHECK(ports.read(EXRNIC_REG_PORT_SPAD) == 0);
  CHECK(ports.read(EXRNIC_REG_PORT_PEER_SPAD) == 0);
  ports.hear(said(EXRNIC_PORT_TO_SPADS, 9));
  ports.hear(said(EXRNIC_PORT_TO_STATE, EXRNIC_PORT_STATE_UP));  // the link is up already
  CHECK(ports.read(EXRNIC_REG_PORT_SPAD) == 9);
}

TEST_CASE("What waits to be told of a scratchpad is forgotten with the link") {
  Ports ports;
  ports.link();
  ports.takes = false;
  ports.arrive(said(EXRNIC_PORT_TO_SPADS + 12, 5));
  ports.cycle();
  ports.arrive(said(EXRNIC_PORT_TO_SPADS + 8, 5));
  SECTION("the peer closes") { ports.arrive(said(EXRNIC_PORT_TO_STATE, EXRNIC_PORT_STATE_DOWN)); }
  SECTION("it is lost") {
    ports.fail(ports.dut().message_link_o);
    ports.cycle();
  }
  ports.takes = true;
  ports.rest();
  CHECK(ports.sent == std::vector<PortMessage>{said(EXRNIC_PORT_TO_PEER_SPADS + 12, 5)});
}

TEST_CASE(
    "Who writes a port's registers or scratchpads without end keeps no peer from its answer") {
  Ports ports;
  ports.link();
  ports.enable(kPort + 1, kNode, kPeer + 1);
  PortMessage other = said(EXRNIC_PORT_TO_STATE, EXRNIC_PORT_STATE_UP);
  other.port = kPort + 1;
  other.peer = kPeer + 1;
  ports.hear(other);
  ports.sent.clear();
  other.to = EXRNIC_PORT_TO_SPADS;
  const auto told = [&](uint8_t port) {
    return std::count_if(ports.sent.begin(), ports.sent.end(), [&](const PortMessage& message) {
      return message.port == port && message.to == EXRNIC_PORT_TO_PEER_SPADS;
    });
  };
  SECTION("our driver rings") {
    ports.arrive(other);
    for (int i = 0; i < 4; ++i) ports.write(EXRNIC_REG_PORT_RING, 1);
  }
  SECTION("the peer of another port writes") {
    for (const bool is_first : {true, false}) {
      const PortMessage mine = said(EXRNIC_PORT_TO_SPADS, 1);
      ports.rest();
      ports.sent.clear();
      ports.arrive(is_first ? mine : other);
      for (int i = 0; i < 8; ++i) ports.arrive(is_first ? other : mine);
      CHECK(told(is_first ? kPort : kPort + 1) == 1);
    }
  }
  CHECK(told(kPort + 1) >= 1);
}

// Each message has to wait for room, and greetings of others come faster.
TEST_CASE("A peer that greets without end keeps no other peer from its answer or echo") {
  const uint8_t loud = GENERATE(as<uint8_t>{}, 0, EXRNIC_PORTS - 1);
  constexpr uint8_t kGreeted = 5;
  Ports ports;
  ports.enable(loud, kNode + 1);
  ports.enable(kGreeted, kNode + 2);
  ports.link();
  const uint32_t hello = state_said(EXRNIC_PORT_STATE_HELLO).data;
  const PortMessage flood = {loud, kNode + 1, kPeer, EXRNIC_PORT_TO_STATE, hello};
  ports.takes = false;
  ports.arrive(flood);
  ports.arrive(said(EXRNIC_PORT_TO_SPADS, 1));
  ports.arrive({kGreeted, kNode + 2, kPeer, EXRNIC_PORT_TO_STATE, hello});
  pack(ports.dut().arrival_i, flood);
  ports.dut().arrival_valid_i = 1;
  for (unsigned i = 1; i <= 6 * 8; ++i) {
    ports.takes = i % 8 == 0;
    ports.cycle();
  }
  ports.dut().arrival_valid_i = 0;
  const auto told = [&](uint8_t port) {
    return std::count_if(ports.sent.begin(), ports.sent.end(),
                         [&](const PortMessage& message) { return message.port == port; });
  };
  CHECK(ports.sent.size() == 6);
  CHECK(told(kGreeted) == 1);
  CHECK(told(kPort) == 1);
  CHECK(told(loud) == 4);
}

TEST_CASE("Who accesses registers in each cycle keeps no peer from its echo") {
  const bool writes = GENERATE(false, true);
  Ports ports;
  ports.link();
  ports.hear(said(EXRNIC_PORT_TO_SPADS, 1));  // its echo is said last
  ports.sent.clear();
  ports.arrive(said(EXRNIC_PORT_TO_SPADS, 1));
  for (int i = 0; i < 16; ++i) {
    if (writes) {
      ports.write_later(EXRNIC_REG_PORT_EVENTS, 0);
    } else {
      ports.read_later(EXRNIC_REG_PORT_STATUS);
    }
  }
  for (int i = 0; i < 8; ++i) ports.cycle();
  CHECK(ports.waits());
  CHECK(ports.sent.size() == 1);
}

// Two blocks, and messages under way between them.
TEST_CASE(
    "Scratchpads that both sides write at once hold the same on both when they have stopped") {
  const auto seed = GENERATE(range(1u, 101u));
  const bool loses = GENERATE(false, true);  // links, on one side
  std::mt19937 random(seed);
  Ports left, right;
  right.dut().cfg_node_i = kNode;
  right.enable(kPeer, kOwnNode, kPort);
  left.enable();
  struct Way {
    Ports& from;
    Ports& to;
    size_t done = 0;
  };
  Way there{left, right}, back{right, left};
  const auto deliver = [](Way& way) {
    if (way.done == way.from.sent.size()) return false;
    const PortMessage message = way.from.sent[way.done++];
    const bool of_left = message.port == kPort;
    way.to.deliver({message.peer, of_left ? kOwnNode : kNode, message.port, message.to,
                    message.data, message.life});
    return true;
  };
  const auto settle = [&] {
    left.takes = right.takes = true;
    do {
      left.rest();
      right.rest();
    } while (deliver(there) || deliver(back));
  };
  settle();
  REQUIRE(left.linked());
  for (uint32_t i = 1; i <= 400; ++i) {
    Ports& side = random() % 2 ? left : right;
    const uint8_t port = &side == &left ? kPort : kPeer;
    if (random() % 2 && !side.waits()) {
      const uint32_t bank = random() % 2 ? EXRNIC_REG_PORT_SPAD : EXRNIC_REG_PORT_PEER_SPAD;
      side.write_later(bank + 4 * (random() % 2), i, port);
    }
    if (random() % 16 == 0) {
      side.write_later(EXRNIC_REG_PORT_CONTROL, 0, port);
      side.write_later(EXRNIC_REG_PORT_CONTROL, EXRNIC_PORT_CONTROL_ENABLE, port);
    }
    if (loses && random() % 32 == 0) side.lose_line();
    if (random() % 2) deliver(random() % 2 ? there : back);
    left.takes = random() % 2;
    right.takes = random() % 2;
    left.cycle();
    right.cycle();
  }
  settle();
  if (loses) {
    // Who is up alone hears of it.
    left.write_later(EXRNIC_REG_PORT_RING, 1, kPort);
    right.write_later(EXRNIC_REG_PORT_RING, 1, kPeer);
    settle();
    CHECK(left.linked() == right.linked(kPeer));
    if (!left.linked()) return;
  }
  CHECK(left.linked());
  CHECK(right.linked(kPeer));
  for (uint32_t word = 0; word < 8; word += 4) {
    const uint32_t of_left = left.read(EXRNIC_REG_PORT_SPAD + word);
    const uint32_t of_right = right.read(EXRNIC_REG_PORT_SPAD + word, kPeer);
    CHECK(right.read(EXRNIC_REG_PORT_PEER_SPAD + word, kPeer) == of_left);
    CHECK(left.read(EXRNIC_REG_PORT_PEER_SPAD + word) == of_right);
  }
}

// The driver has seen the link up, or writes at that moment; the peer, which has begun anew, holds
// it for down until it has its answer.
TEST_CASE("What is said to a peer that waits for its answer comes behind that") {
  const uint32_t place = GENERATE(as<uint32_t>{}, EXRNIC_REG_PORT_RING, EXRNIC_REG_PORT_SPAD,
                                  EXRNIC_REG_PORT_PEER_SPAD);
  Ports ports;
  ports.link();
  ports.takes = false;
  ports.arrive(
      said(EXRNIC_PORT_TO_SPADS + 60, 1));  // its echo is not the driver's word: this has a turn
  ports.cycle();
  ports.write_later(place, 5);
  ports.arrive(state_said(EXRNIC_PORT_STATE_HELLO, 9));
  ports.takes = true;
  ports.rest();
  REQUIRE(ports.sent.size() == 3);
  CHECK(ports.sent[1].to == EXRNIC_PORT_TO_STATE);
  CHECK(ports.sent[2].data == 5);
  CHECK(ports.sent[2].life == 9);
  CHECK(ports.refused() == 0);
  if (place != EXRNIC_REG_PORT_RING) CHECK(ports.read(place) == 5);
}

TEST_CASE("Loads, and stores that are no word, wait for no answer to the peer") {
  const uint32_t place = GENERATE(as<uint32_t>{}, EXRNIC_REG_PORT_RING, EXRNIC_REG_PORT_SPAD,
                                  EXRNIC_REG_PORT_PEER_SPAD);
  Ports ports;
  ports.link();
  ports.hear(said(EXRNIC_PORT_TO_SPADS + 60, 1));
  ports.arrive(state_said(EXRNIC_PORT_STATE_HELLO, 9));
  bool is_for_peer = false;
  SECTION("a load") { ports.read_later(place); }
  SECTION("a store that is no word") {
    ports.dut().word_i = 0;
    ports.write_later(place, 5);
  }
  SECTION("a store") {
    ports.write_later(place, 5);
    is_for_peer = true;
  }
  CHECK(ports.dut().ready_o == !is_for_peer);
  ports.rest();
  CHECK(ports.sent.size() == (is_for_peer ? 3 : 2));
}

TEST_CASE("A peer that begins anew without end keeps nobody from a register") {
  Ports ports;
  ports.link();
  PortMessage hello = state_said(EXRNIC_PORT_STATE_HELLO);
  pack(ports.dut().arrival_i, hello);
  ports.dut().arrival_good_i = ports.dut().arrival_valid_i = 1;
  for (int i = 0; i < 8; ++i) ports.cycle();
  ports.write(EXRNIC_REG_PORT_PEER_SPAD, 5);
  ports.dut().arrival_valid_i = 0;
  ports.rest();
  // It was said to one of the openings that are over.
  CHECK(ports.refused() == 1);
  CHECK(ports.read(EXRNIC_REG_PORT_PEER_SPAD) == 0);
  for (const PortMessage& message : ports.sent) CHECK(message.to == EXRNIC_PORT_TO_STATE);
}

TEST_CASE("Ports of one node keep apart: each hears its peer, and fires its vector") {
  Ports ports;
  ports.link();
  PortMessage other = {kPort + 1, kNode + 1, kPeer, EXRNIC_PORT_TO_STATE, EXRNIC_PORT_STATE_UP};
  ports.enable(kPort + 1, kNode + 1, kPeer);
  ports.hear(other);
  ports.fired.clear();
  other.to = EXRNIC_PORT_TO_BELLS;
  other.data = 2;
  ports.fires = false;
  ports.dut().arrival_good_i = 1;
  for (PortMessage message : {said(EXRNIC_PORT_TO_BELLS, 1), other}) {
    message.life = 1;
    pack(ports.dut().arrival_i, message);
    ports.dut().arrival_valid_i = 1;
    ports.cycle();
  }
  ports.dut().arrival_valid_i = 0;
  ports.cycle();
  CHECK(ports.dut().irq_valid_o);
  ports.fires = true;
  ports.rest();
  std::sort(ports.fired.begin(), ports.fired.end());
  CHECK(ports.fired == std::vector<unsigned>{kVector, kVector + 1});
  CHECK(ports.read(EXRNIC_REG_PORT_BELLS_RUNG) == 1);
  CHECK(ports.read(EXRNIC_REG_PORT_BELLS_RUNG, kPort + 1) == 2);
}

// ---- What is refused

TEST_CASE("A message that makes no sense, or is somebody else's, does nothing but count") {
  Ports ports;
  ports.link();
  PortMessage message = said(EXRNIC_PORT_TO_BELLS, 1);
  bool good = true;
  SECTION("another node") { ++message.node; }
  SECTION("another port of it") { ++message.peer; }
  SECTION("a port that is not enabled") { ++message.port; }
  SECTION("malformed") { good = false; }
  SECTION("nowhere") { message.to = EXRNIC_PORT_TO_BELLS + 1; }
  SECTION("before the scratchpads") { message.to = EXRNIC_PORT_TO_SPADS - 4; }
  SECTION("behind the scratchpads") {
    message.to = EXRNIC_PORT_TO_PEER_SPADS + 4 * EXRNIC_PORT_SPADS;
  }
  SECTION("between scratchpads") { message.to = EXRNIC_PORT_TO_SPADS + 2; }
  SECTION("a state that is none") {
    message.to = EXRNIC_PORT_TO_STATE;
    message.data = EXRNIC_PORT_STATE_NO_LINK + 1;
  }
  SECTION("a state with more behind it") {
    message.to = EXRNIC_PORT_TO_STATE;
    message.data = EXRNIC_PORT_STATE_UP | 1 << 16;
  }
  SECTION("an answer to another life") {
    message = state_said(EXRNIC_PORT_STATE_UP);
    message.life = 1;
  }
  SECTION("that another life has no link") {
    message = state_said(EXRNIC_PORT_STATE_NO_LINK);
    message.life = 1;
  }
  SECTION("a bell for another life") { message.life = 1; }
  const int before = ports.taken();
  ports.hear(message, good);
  CHECK(ports.refused() == 1);
  CHECK(ports.taken() == before);
  CHECK(ports.fired.empty());
  CHECK(ports.sent.empty());
  CHECK(ports.linked());
  for (unsigned port = 0; port < EXRNIC_PORTS; ++port)
    CHECK(ports.read(EXRNIC_REG_PORT_BELLS_RUNG, static_cast<uint8_t>(port)) == 0);
}

TEST_CASE("A peer or vector that is none is not taken, nor another peer while enabled") {
  Ports ports;
  ports.enable();
  const uint32_t peer = uint32_t{kNode} << 16 | kPeer;
  ports.write(EXRNIC_REG_PORT_PEER, peer + 1);
  CHECK(ports.read(EXRNIC_REG_PORT_PEER) == peer);
  ports.write(EXRNIC_REG_PORT_CONTROL, 0);
  for (const uint32_t bad :
       {uint32_t{kOwnNode} << 16, uint32_t{kNNode} << 16, peer + EXRNIC_PORTS}) {
    ports.write(EXRNIC_REG_PORT_PEER, bad);
    CHECK(ports.read(EXRNIC_REG_PORT_PEER) == peer);
  }
  ports.write(EXRNIC_REG_PORT_VECTOR, EXRNIC_MSIX_VECTORS);
  CHECK(ports.read(EXRNIC_REG_PORT_VECTOR) == kVector);
}

// Of node 0, whose PORT_PEER names it after reset.
TEST_CASE("A port whose peer is on the own node is not enabled, and says nothing") {
  Ports ports;
  ports.dut().cfg_node_i = 0;
  ports.write(EXRNIC_REG_PORT_CONTROL, EXRNIC_PORT_CONTROL_ENABLE, 0);
  ports.rest();
  CHECK(ports.read(EXRNIC_REG_PORT_CONTROL, 0) == 0);
  CHECK(ports.sent.empty());
  ports.enable(0);
  CHECK(ports.read(EXRNIC_REG_PORT_CONTROL, 0) == EXRNIC_PORT_CONTROL_ENABLE);
  CHECK(ports.sent.size() == 1);
}

TEST_CASE("What is no register reads as all ones, and takes nothing") {
  Ports ports;
  ports.link();
  CHECK(ports.read(EXRNIC_REG_PORT_RING) == UINT32_MAX);
  CHECK(ports.read(0xf0) == UINT32_MAX);
  CHECK(ports.read(4, EXRNIC_PORTS) == UINT32_MAX);  // behind PORTS_PENDING
  ports.write(EXRNIC_REG_PORTS_PENDING - EXRNIC_PORT_BASE, 0, 0);
  CHECK(ports.read(EXRNIC_REG_PORT_CONTROL) == EXRNIC_PORT_CONTROL_ENABLE);
  ports.dut().word_i = 0;
  CHECK(ports.read(EXRNIC_REG_PORT_CONTROL) == UINT32_MAX);
  ports.write(EXRNIC_REG_PORT_CONTROL, 0);
  ports.dut().word_i = 1;
  CHECK(ports.linked());
}

TEST_CASE("A message that cannot leave holds back registers, and nothing is lost") {
  Ports ports;
  ports.link();
  ports.takes = false;
  ports.write(EXRNIC_REG_PORT_RING, 1);
  for (int i = 0; i < 20; ++i) ports.cycle();
  CHECK_FALSE(ports.dut().ready_o);
  CHECK_FALSE(ports.dut().idle_o);
  ports.takes = true;
  ports.write(EXRNIC_REG_PORT_RING, 2);
  ports.rest();
  CHECK(ports.sent ==
        std::vector<PortMessage>{said(EXRNIC_PORT_TO_BELLS, 1), said(EXRNIC_PORT_TO_BELLS, 2)});
}

TEST_CASE("Without the core's enable nothing is sent") {
  Ports ports;
  ports.dut().enable_i = 0;
  ports.enable();
  CHECK(ports.sent.empty());
}

}  // namespace
}  // namespace exrnic::testing
