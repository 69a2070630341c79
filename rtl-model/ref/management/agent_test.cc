// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <vector>

#include "rtl-model/ref/management/node_agent.h"
#include "rtl-model/ref/management/testing/requests.h"

namespace exrnic::management {
namespace {

using testing::directed;
using testing::make_frame;
using testing::path_of;
using testing::set_device;

constexpr uint64_t kGuid = 0x0123456789abcdef;

struct Line final : FrameSink {
  bool can_transmit() override { return open && frames.size() < most; }
  void transmit(Frame&& frame) override { frames.push_back(std::move(frame.data)); }
  bool open = true;
  size_t most = 1000;  // frames that it takes
  std::vector<Bytes> frames;
};

struct Bench {
  explicit Bench(uint16_t number = EXRNIC_NODE_NONE, bool fixed = false)
      : agent({kGuid, EXRNIC_MANAGEMENT_KIND_RNIC, fixed, number, 1, 256}, true,
              [this](exrnic_counter which) {
                ++(which == EXRNIC_COUNTER_MANAGEMENT_SERVED ? served : dropped);
              }) {}

  void run() {
    for (int i = 0; i < 20; ++i) agent.run(line);
  }
  // What the line brings, and what leaves then.
  std::vector<Bytes> on_line(const Bytes& frame, bool fcs_error = false) {
    line.frames.clear();
    agent.receive({frame, fcs_error});
    run();
    return line.frames;
  }
  // What the host sends, and what leaves then.
  std::vector<Bytes> of_host(const Bytes& frame) {
    line.frames.clear();
    for (unsigned i = 0; i < frame.size(); i += 4) {
      uint32_t word = 0;
      std::memcpy(&word, frame.data() + i, 4);
      store(EXRNIC_REG_MANAGEMENT_OUT + i, word);
    }
    store(EXRNIC_REG_MANAGEMENT_SEND, 1);
    run();
    return line.frames;
  }
  void store(uint32_t offset, uint32_t value) {
    agent.write({EXRNIC_BAR_REGISTERS, offset, 4, value});
  }
  uint64_t load(uint32_t offset) { return agent.read({EXRNIC_BAR_REGISTERS, offset, 4, 0}); }
  bool waits() {
    return load(EXRNIC_REG_MANAGEMENT_STATUS) & EXRNIC_MANAGEMENT_STATUS_BITS_WAITING;
  }
  // What has come for the host; nothing: empty.
  Bytes taken() {
    if (!waits()) return {};
    Bytes frame(EXRNIC_MANAGEMENT_FRAME_BYTES);
    for (unsigned i = 0; i < frame.size(); i += 4) {
      const auto word = static_cast<uint32_t>(load(EXRNIC_REG_MANAGEMENT_IN + i));
      std::memcpy(frame.data() + i, &word, 4);
    }
    store(EXRNIC_REG_MANAGEMENT_TAKEN, 1);
    return frame;
  }

  unsigned served = 0;
  unsigned dropped = 0;
  Line line;
  NodeAgent agent;
};

uint64_t status_of(const Bytes& frame) { return exrnic_management_header_status(header(frame)); }
const uint8_t* data_of(const Bytes& frame) { return frame.data() + EXRNIC_MANAGEMENT_DATA_AT; }

TEST_CASE("a directed request at its end is answered on the line that it came by") {
  Bench bench;
  Bytes request = directed({EXRNIC_PORT_NONE, 5, 2}, 3);
  const std::vector<Bytes> answers = bench.on_line(request);
  REQUIRE(answers.size() == 1);
  const Bytes& answer = answers.front();
  REQUIRE(answer.size() == EXRNIC_MANAGEMENT_FRAME_BYTES);
  CHECK(exrnic_eth_dst(answer.data()) == kAnyone);
  CHECK(exrnic_eth_src(answer.data()) == kAnyone);
  CHECK(exrnic_management_header_method(header(answer)) == EXRNIC_MANAGEMENT_METHOD_ANSWER);
  CHECK(status_of(answer) == EXRNIC_MANAGEMENT_STATUS_OK);
  CHECK(exrnic_management_header_transaction(header(answer)) == 0x1122334455667788);
  CHECK(exrnic_management_header_hop(header(answer)) == 3);
  CHECK(path_of(answer, 2) == 2);
  CHECK(path_of(answer, 3) == 0);
  CHECK(exrnic_management_device_guid(data_of(answer)) == kGuid);
  CHECK(exrnic_management_device_number(data_of(answer)) == EXRNIC_NODE_NONE);
  CHECK(exrnic_management_device_nodes(data_of(answer)) == 256);
  CHECK(bench.served == 1);
}

TEST_CASE("what a host sends goes on its way, and the answer comes to it") {
  Bench bench(7, true);
  const std::vector<Bytes> sent = bench.of_host(directed({0, 5}));
  REQUIRE(sent.size() == 1);
  CHECK(exrnic_eth_src(sent.front().data()) == mac_of(7));
  CHECK(exrnic_management_header_hop(header(sent.front())) == 1);
  CHECK(path_of(sent.front(), 0) == EXRNIC_PORT_NONE);
  CHECK(path_of(sent.front(), 1) == 5);

  Bytes answer = directed({EXRNIC_PORT_NONE, 3, 0}, 1, EXRNIC_MANAGEMENT_METHOD_ANSWER);
  CHECK(bench.on_line(answer).empty());
  const Bytes heard = bench.taken();
  REQUIRE(!heard.empty());
  CHECK(exrnic_management_header_hop(header(heard)) == 0);
  CHECK(bench.taken().empty());
  CHECK(bench.dropped == 0);
}

TEST_CASE("a host finds its own agent with no hop, and by its own address") {
  Bench bench(7, true);
  CHECK(bench.of_host(directed({})).empty());
  const Bytes answer = bench.taken();
  REQUIRE(!answer.empty());
  CHECK(path_of(answer, 0) == EXRNIC_PORT_NONE);
  CHECK(exrnic_management_device_number(data_of(answer)) == 7);
  CHECK(bench.of_host(make_frame(mac_of(7), EXRNIC_MANAGEMENT_METHOD_GET)).empty());
  const Bytes routed = bench.taken();
  REQUIRE(!routed.empty());
  CHECK(exrnic_eth_dst(routed.data()) == mac_of(7));
}

TEST_CASE("a routed request is answered to its sender; an answer and a trap come to the host") {
  Bench bench(7, true);
  Bytes request = make_frame(mac_of(7), EXRNIC_MANAGEMENT_METHOD_GET);
  exrnic_eth_set_src(request.data(), mac_of(9));
  const std::vector<Bytes> answers = bench.on_line(request);
  REQUIRE(answers.size() == 1);
  CHECK(exrnic_eth_dst(answers.front().data()) == mac_of(9));
  CHECK(exrnic_eth_src(answers.front().data()) == mac_of(7));
  for (const auto method : {EXRNIC_MANAGEMENT_METHOD_ANSWER, EXRNIC_MANAGEMENT_METHOD_TRAP}) {
    CHECK(bench.on_line(make_frame(mac_of(7), method)).empty());
    CHECK(!bench.taken().empty());
  }
  CHECK(bench.on_line(make_frame(mac_of(8), EXRNIC_MANAGEMENT_METHOD_GET)).empty());
  CHECK(bench.dropped == 1);
}

TEST_CASE("a number is taken whole or not at all") {
  Bench bench;
  const Bytes request = directed({EXRNIC_PORT_NONE}, 1);
  const unsigned both = EXRNIC_MANAGEMENT_SETS_NUMBER | EXRNIC_MANAGEMENT_SETS_KEY;
  CHECK(status_of(bench.on_line(set_device(request, both, 256, 5)).front()) ==
        EXRNIC_MANAGEMENT_STATUS_BAD_VALUE);
  CHECK(bench.agent.device().key == 0);
  CHECK(status_of(bench.on_line(set_device(request, 0x80, 1)).front()) ==
        EXRNIC_MANAGEMENT_STATUS_BAD_VALUE);
  CHECK(bench.agent.is_nobody());
  const std::vector<Bytes> answers = bench.on_line(set_device(request, both, 255, 5));
  CHECK(status_of(answers.front()) == EXRNIC_MANAGEMENT_STATUS_OK);
  CHECK(exrnic_eth_src(answers.front().data()) == mac_of(255));
  CHECK(exrnic_management_device_new_key(data_of(answers.front())) == 0);
  CHECK(bench.agent.link_up());
}

TEST_CASE("a fixed number stays") {
  Bench bench(7, true);
  const Bytes request = directed({EXRNIC_PORT_NONE}, 1);
  const auto set = [&](uint16_t number) {
    return status_of(
        bench.on_line(set_device(request, EXRNIC_MANAGEMENT_SETS_NUMBER, number)).front());
  };
  CHECK(set(8) == EXRNIC_MANAGEMENT_STATUS_FIXED);
  CHECK(set(EXRNIC_NODE_NONE) == EXRNIC_MANAGEMENT_STATUS_FIXED);
  CHECK(set(7) == EXRNIC_MANAGEMENT_STATUS_OK);
  CHECK(bench.agent.device().number == 7);
}

TEST_CASE("who does not have the key hears nothing, and that is counted") {
  Bench bench;
  Bytes request = directed({EXRNIC_PORT_NONE}, 1);
  CHECK(bench.on_line(set_device(request, EXRNIC_MANAGEMENT_SETS_KEY, 0, 99)).size() == 1);
  CHECK(bench.on_line(request).empty());
  exrnic_management_header_set_key(header(request), 98);
  CHECK(bench.on_line(request).empty());
  CHECK(bench.dropped == 2);
  exrnic_management_header_set_key(header(request), 99);
  const std::vector<Bytes> answers = bench.on_line(request);
  REQUIRE(answers.size() == 1);
  CHECK(exrnic_management_header_key(header(answers.front())) == 0);
  CHECK((exrnic_management_device_flags(data_of(answers.front())) &
         EXRNIC_MANAGEMENT_DEVICE_FLAGS_KEYED));
}

TEST_CASE("what a node has no use for is dropped and counted") {
  Bench bench(7, true);
  Bytes frame;
  SECTION("too short") {
    frame = directed({EXRNIC_PORT_NONE}, 1);
    frame.pop_back();
  }
  SECTION("too long") {
    frame = directed({EXRNIC_PORT_NONE}, 1);
    frame.push_back(0);
  }
  SECTION("another version") {
    frame = directed({EXRNIC_PORT_NONE}, 1);
    exrnic_management_header_set_version(header(frame), 2);
  }
  SECTION("a request for somebody behind it") { frame = directed({EXRNIC_PORT_NONE, 0}, 1); }
  SECTION("beyond its path") { frame = directed({EXRNIC_PORT_NONE}, 2); }
  SECTION("a path without end") {
    frame = directed({EXRNIC_PORT_NONE}, 1);
    exrnic_management_header_set_hops(header(frame), EXRNIC_MANAGEMENT_HOPS);
    exrnic_management_header_set_hop(header(frame), EXRNIC_MANAGEMENT_HOPS);
  }
  SECTION("an answer to nobody") { frame = directed({0, 0}, 1, EXRNIC_MANAGEMENT_METHOD_ANSWER); }
  SECTION("an answer that has gone too far") {
    frame = directed({EXRNIC_PORT_NONE}, 0, EXRNIC_MANAGEMENT_METHOD_ANSWER);
  }
  SECTION("a directed trap") {
    frame = directed({EXRNIC_PORT_NONE}, 1, EXRNIC_MANAGEMENT_METHOD_TRAP);
  }
  SECTION("a method that there is not") {
    frame = directed({EXRNIC_PORT_NONE}, 1, static_cast<exrnic_management_method>(9));
  }
  SECTION("a routed one with a path") {
    frame = make_frame(mac_of(7), EXRNIC_MANAGEMENT_METHOD_GET);
    exrnic_management_header_set_hops(header(frame), 1);
  }
  CHECK(bench.on_line(frame).empty());
  CHECK(bench.taken().empty());
  CHECK(bench.dropped == 1);
  CHECK(bench.served == 0);
}

TEST_CASE("a wrong checksum is no management") {
  Bench bench;
  CHECK(bench.on_line(directed({EXRNIC_PORT_NONE}, 1), true).empty());
  CHECK(bench.dropped == 1);
}

TEST_CASE("a host asks, and does not answer, and sends nothing but management") {
  Bench bench(7, true);
  Bytes frame;
  SECTION("an answer") { frame = directed({0}, 0, EXRNIC_MANAGEMENT_METHOD_ANSWER); }
  SECTION("a trap") { frame = make_frame(mac_of(9), EXRNIC_MANAGEMENT_METHOD_TRAP); }
  SECTION("another EtherType") {
    frame = make_frame(mac_of(9), EXRNIC_MANAGEMENT_METHOD_GET);
    exrnic_eth_set_ethertype(frame.data(), EXRNIC_ETHERTYPE);
  }
  SECTION("a routed one with a path") {
    frame = make_frame(mac_of(9), EXRNIC_MANAGEMENT_METHOD_GET);
    exrnic_management_header_set_hop(header(frame), 1);
  }
  SECTION("by a line that there is not") { frame = directed({1}); }
  CHECK(bench.of_host(frame).empty());
  CHECK(bench.taken().empty());
  CHECK(bench.dropped == 1);
}

TEST_CASE("what waits for the host is bounded, and a reset of the driver ends it") {
  Bench bench(7, true);
  for (unsigned i = 0; i < EXRNIC_MANAGEMENT_WAITING + 3; ++i) {
    Bytes answer = make_frame(mac_of(7), EXRNIC_MANAGEMENT_METHOD_ANSWER);
    exrnic_management_header_set_transaction(header(answer), i);
    bench.on_line(answer);
  }
  CHECK(bench.dropped == 3);
  for (unsigned i = 0; i < 4; ++i)
    CHECK(exrnic_management_header_transaction(header(bench.taken())) == i);
  bench.agent.reset();
  CHECK(bench.taken().empty());
  CHECK(bench.load(EXRNIC_REG_MANAGEMENT_IN) == 0);
  CHECK(bench.agent.device().number == 7);
}

TEST_CASE("a frame that the line does not take yet says so") {
  Bench bench(7, true);
  bench.line.open = false;
  CHECK(bench.of_host(directed({0, 5})).empty());
  CHECK(bench.load(EXRNIC_REG_MANAGEMENT_STATUS) == EXRNIC_MANAGEMENT_STATUS_BITS_SENDING);
  bench.store(EXRNIC_REG_MANAGEMENT_OUT, 0);
  bench.line.open = true;
  bench.run();
  CHECK(bench.line.frames.size() == 1);
  CHECK(bench.load(EXRNIC_REG_MANAGEMENT_STATUS) == 0);
  CHECK(bench.load(EXRNIC_REG_MANAGEMENT_OUT) != 0);
}

TEST_CASE("a flood of requests keeps little, and a host's frame has left when it has left") {
  Bench bench(7, true);
  bench.line.open = false;
  CHECK(bench.of_host(directed({0, 5})).empty());
  for (int i = 0; i < 100; ++i) bench.agent.receive({directed({EXRNIC_PORT_NONE}, 1), false});
  CHECK(bench.served == 8);
  CHECK(bench.dropped == 92);
  // One leaves, others wait.
  bench.line.most = 1;
  bench.line.open = true;
  bench.agent.run(bench.line);
  CHECK(bench.line.frames.size() == 1);
  CHECK(bench.load(EXRNIC_REG_MANAGEMENT_STATUS) == 0);
}

TEST_CASE("who gets another number has its link down in between") {
  Bench bench;
  const Bytes request = directed({EXRNIC_PORT_NONE}, 1);
  CHECK(!bench.agent.link_up());
  bench.agent.receive({set_device(request, EXRNIC_MANAGEMENT_SETS_NUMBER, 3), false});
  bench.agent.run(bench.line);
  CHECK(!bench.agent.link_up());
  bench.run();
  CHECK(bench.agent.link_up());
  bench.agent.receive({set_device(request, EXRNIC_MANAGEMENT_SETS_NUMBER, 4), false});
  CHECK(!bench.agent.link_up());
  bench.agent.set_carrier(false);
  bench.run();
  CHECK(!bench.agent.link_up());
  CHECK(bench.agent.device().changes == 1);
}

}  // namespace
}  // namespace exrnic::management
