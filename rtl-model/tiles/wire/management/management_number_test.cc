// SPDX-License-Identifier: BSD-2-Clause
// What of a node can be set, what becomes of it, and who may set it: key, number, manager
// (FABRIC.md).
#include "rtl-model/tiles/wire/management/management_bench.h"

namespace exrnic::testing {
namespace {

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

}  // namespace
}  // namespace exrnic::testing
