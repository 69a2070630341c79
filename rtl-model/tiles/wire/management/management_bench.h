// SPDX-License-Identifier: BSD-2-Clause
// The agent of a node between a test, its line, its node and its host; and frames as FABRIC.md has
// them.
#pragma once

#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <optional>
#include <vector>

#include "Vmanagement.h"
#include "Vmanagement_256.h"
#include "exrnic_hw.h"
#include "exrnic_records.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/frame_beats.h"
#include "rtl-model/testing/neighbours.h"

namespace exrnic::testing {

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

inline uint64_t mac_of(uint16_t node) { return uint64_t{EXRNIC_MAC_PREFIX} << 16 | node; }

inline void put(Bytes& frame, size_t at, size_t bytes, uint64_t value) {
  for (size_t i = 0; i < bytes; ++i)
    frame[at + i] = static_cast<uint8_t>(value >> (8 * (bytes - 1 - i)));
}
inline uint64_t take(const Bytes& frame, size_t at, size_t bytes) {
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

inline Bytes set_of(Management request, const Wanted& wanted) {
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
inline Bytes answer_to(const Bytes& request, const Device& device, uint16_t port,
                       unsigned status = 0) {
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

inline Bytes efe_frame(uint16_t from, uint16_t to, size_t size = 120, uint8_t mark = 0x3c) {
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
    dut().host_valid_i = dut().assignment_hold_i = dut().assigned_i = 0;
    dut().kind_i = EXRNIC_MANAGEMENT_KIND_RNIC;
    dut().node_tx_valid_i = dut().rx_valid_i = dut().rx_error_i = 0;
    dut().tx_ready_i = dut().node_rx_ready_i = 1;
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

}  // namespace exrnic::testing
