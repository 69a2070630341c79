// SPDX-License-Identifier: BSD-2-Clause
// Two cores without numbers at the two ends of a line: the host of one numbers both by management
// frames (FABRIC.md), and what a driver reads of them follows.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>

#include "core.h"

namespace exrnic {
namespace {

constexpr uint16_t kNone = EXRNIC_NODE_NONE;
constexpr size_t kSize = EXRNIC_MANAGEMENT_FRAME_BYTES;
constexpr size_t kData = EXRNIC_MANAGEMENT_DATA_AT;
constexpr uint64_t kAnyNode = uint64_t{EXRNIC_MAC_PREFIX} << 16 | kNone;

class Node : public CoreSink {
 public:
  explicit Node(const CoreConfig& config) : core(make_rtl_core(config, *this)) {}

  bool can_write() override { return true; }
  void write(PostedWrite&& /*write*/) override {}
  bool can_read() override { return true; }
  void read(const ReadRequest& /*request*/) override {}
  void mmio_read_done(uint64_t data) override { answer = data; }
  bool peek(uint64_t /*address*/, uint8_t* /*out*/, size_t /*length*/) override { return false; }
  bool can_transmit() override { return true; }
  void transmit(Frame&& frame) override { sent.push_back(std::move(frame)); }

  std::unique_ptr<Core> core;
  std::optional<uint64_t> answer;
  std::deque<Frame> sent;
};

class Line {
 public:
  explicit Line(uint16_t data_bits) {
    for (uint64_t i = 0; i < 2; ++i) {
      CoreConfig config;
      config.node_id = kNone;
      config.guid = 100 + i;
      config.data_bits = data_bits;
      nodes[i] = std::make_unique<Node>(config);
    }
  }

  void wait_for(const std::function<bool()>& done) {
    for (int i = 0; i < 10'000; ++i) {
      if (done()) return;
      time_ns_ += 4;
      for (auto& node : nodes) node->core->step(time_ns_);
      for (size_t i = 0; i < 2; ++i) {
        for (; !nodes[i]->sent.empty(); nodes[i]->sent.pop_front())
          nodes[1 - i]->core->receive(std::move(nodes[i]->sent.front()));
      }
    }
    throw std::runtime_error("waited in vain");
  }
  void rest() {
    wait_for([this] { return nodes[0]->core->idle() && nodes[1]->core->idle(); });
  }

  uint32_t load(size_t node, uint32_t offset) {
    nodes[node]->answer.reset();
    nodes[node]->core->mmio_read({EXRNIC_BAR_REGISTERS, offset, 4, 0});
    wait_for([&] { return nodes[node]->answer.has_value(); });
    return static_cast<uint32_t>(*nodes[node]->answer);
  }
  void store(size_t node, uint32_t offset, uint32_t value) {
    nodes[node]->core->mmio_write({EXRNIC_BAR_REGISTERS, offset, 4, value});
  }

  // Of the host of node 0; its answer.
  Bytes ask(const Bytes& request) {
    for (uint32_t i = 0; i < kSize; i += 4)
      store(
          0, EXRNIC_REG_MANAGEMENT_OUT + i,
          request[i] | request[i + 1] << 8 | request[i + 2] << 16 | uint32_t{request[i + 3]} << 24);
    store(0, EXRNIC_REG_MANAGEMENT_SEND, 1);
    rest();
    REQUIRE(load(0, EXRNIC_REG_MANAGEMENT_STATUS) == EXRNIC_MANAGEMENT_STATUS_BITS_WAITING);
    Bytes answer;
    for (uint32_t i = 0; i < kSize; i += 4) {
      const uint32_t word = load(0, EXRNIC_REG_MANAGEMENT_IN + i);
      for (int b = 0; b < 4; ++b) answer.push_back(static_cast<uint8_t>(word >> (8 * b)));
    }
    store(0, EXRNIC_REG_MANAGEMENT_TAKEN, 1);
    CHECK(load(0, EXRNIC_REG_MANAGEMENT_STATUS) == 0);
    return answer;
  }

  std::array<std::unique_ptr<Node>, 2> nodes;

 private:
  uint64_t time_ns_ = 0;
};

Bytes request(unsigned method, unsigned hops) {
  Bytes frame(kSize);
  exrnic_eth_set_dst(frame.data(), kAnyNode);
  exrnic_eth_set_ethertype(frame.data(), EXRNIC_MANAGEMENT_ETHERTYPE);
  uint8_t* const management = frame.data() + EXRNIC_ETH_BYTES;
  exrnic_management_header_set_version(management, EXRNIC_MANAGEMENT_VERSION);
  exrnic_management_header_set_method(management, method);
  exrnic_management_header_set_hops(management, hops);
  exrnic_management_header_set_transaction(management, 77);
  return frame;
}

Bytes number(uint16_t number, unsigned hops) {
  Bytes frame = request(EXRNIC_MANAGEMENT_METHOD_SET, hops);
  exrnic_management_device_set_number(frame.data() + kData, number);
  exrnic_management_device_set_sets(frame.data() + kData, EXRNIC_MANAGEMENT_SETS_NUMBER);
  return frame;
}

TEST_CASE("A host numbers its node and the next one, and what drivers read follows") {
  Line line(GENERATE(uint16_t{128}, uint16_t{256}));
  const auto has_number = [&](size_t node, uint16_t id) {
    CHECK(line.load(node, EXRNIC_REG_NODE_ID) == id);
    CHECK(line.load(node, EXRNIC_REG_MAC_LO) ==
          ((EXRNIC_MAC_PREFIX & 0xffff) << 16 | uint32_t{id}));
    CHECK(line.load(node, EXRNIC_REG_MAC_HI) == EXRNIC_MAC_PREFIX >> 16);
    const bool up = line.load(node, EXRNIC_REG_STATUS) & EXRNIC_DEVICE_STATUS_LINK_UP;
    CHECK(up == (id != kNone));
  };
  line.wait_for([&] {
    return (line.load(0, EXRNIC_REG_STATUS) & line.load(1, EXRNIC_REG_STATUS) &
            EXRNIC_DEVICE_STATUS_READY) != 0;
  });
  has_number(0, kNone);
  has_number(1, kNone);
  for (const unsigned hops : {0u, 1u}) {
    const Bytes answer = line.ask(request(EXRNIC_MANAGEMENT_METHOD_GET, hops));
    CHECK(exrnic_management_header_method(answer.data() + EXRNIC_ETH_BYTES) ==
          EXRNIC_MANAGEMENT_METHOD_ANSWER);
    CHECK(exrnic_management_header_transaction(answer.data() + EXRNIC_ETH_BYTES) == 77);
    CHECK(exrnic_management_header_hop(answer.data() + EXRNIC_ETH_BYTES) == 0);
    CHECK(exrnic_management_device_guid(answer.data() + kData) == 100 + hops);
    CHECK(exrnic_management_device_number(answer.data() + kData) == kNone);
    CHECK(exrnic_eth_src(answer.data()) == kAnyNode);
  }
  line.ask(number(5, 0));
  has_number(0, 5);
  has_number(1, kNone);
  const Bytes answer = line.ask(number(9, 1));
  CHECK(exrnic_eth_src(answer.data()) == (kAnyNode ^ kNone ^ 9));
  has_number(1, 9);

  // Now that both have numbers, routed.
  Bytes routed = request(EXRNIC_MANAGEMENT_METHOD_GET, 0);
  exrnic_eth_set_dst(routed.data(), kAnyNode ^ kNone ^ 9);
  CHECK(exrnic_management_device_guid(line.ask(routed).data() + kData) == 101);
  CHECK(line.nodes[0]->core->peek_counter(EXRNIC_COUNTER_MANAGEMENT_SERVED) == 2);
  CHECK(line.nodes[1]->core->peek_counter(EXRNIC_COUNTER_MANAGEMENT_SERVED) == 3);
  CHECK(line.nodes[1]->core->peek_counter(EXRNIC_COUNTER_MANAGEMENT_DROPPED) == 0);

  for (auto& node : line.nodes) node->core->reset();
  has_number(0, 5);
  has_number(1, 9);
  line.nodes[1]->core->set_link(false);
  line.rest();
  CHECK((line.load(1, EXRNIC_REG_STATUS) & EXRNIC_DEVICE_STATUS_LINK_UP) == 0);
  CHECK(line.load(1, EXRNIC_REG_NODE_ID) == 9);
}

TEST_CASE("The registers of the agent are words, and nothing else") {
  Line line(128);
  line.rest();
  auto& node = *line.nodes[0];
  const auto load = [&](uint32_t offset, uint8_t size) {
    node.answer.reset();
    node.core->mmio_read({EXRNIC_BAR_REGISTERS, offset, size, 0});
    line.wait_for([&] { return node.answer.has_value(); });
    return *node.answer;
  };
  line.store(0, EXRNIC_REG_MANAGEMENT_OUT + 4, 0x12345678);
  node.core->mmio_write({EXRNIC_BAR_REGISTERS, EXRNIC_REG_MANAGEMENT_OUT + 4, 2, 0});
  node.core->mmio_write({EXRNIC_BAR_REGISTERS, EXRNIC_REG_MANAGEMENT_OUT, 8, ~uint64_t{0}});
  CHECK(load(EXRNIC_REG_MANAGEMENT_OUT + 4, 4) == 0x12345678);
  CHECK(load(EXRNIC_REG_MANAGEMENT_OUT, 4) == 0);
  CHECK(load(EXRNIC_REG_MANAGEMENT_OUT, 8) == ~uint64_t{0});
  CHECK(load(EXRNIC_REG_MANAGEMENT_OUT + 4, 1) == ~uint64_t{0});
  CHECK(load(EXRNIC_REG_MANAGEMENT_SEND, 4) == ~uint64_t{0});
  CHECK(load(EXRNIC_REG_MANAGEMENT_TAKEN + 4, 4) == ~uint64_t{0});
}

TEST_CASE("A number that a board has fixed is below those of the build") {
  CoreConfig config;
  config.node_id = static_cast<uint16_t>(rtl_core_nodes());
  CHECK_THROWS_AS(Node(config), std::invalid_argument);
}

}  // namespace
}  // namespace exrnic
