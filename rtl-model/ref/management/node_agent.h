// SPDX-License-Identifier: BSD-2-Clause
// The agent of a node, between its MAC and all else: what it has for the line, what waits for the
// host, and the host's registers.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

#include "rtl-model/ref/management/agent.h"

namespace exrnic::management {

class NodeAgent : public Agent {
 public:
  using Counter = std::function<void(exrnic_counter)>;

  // `carrier`: whether the line has one at the begin.
  NodeAgent(const Device& device, bool carrier, Counter counter)
      : Agent(device), carrier_(carrier), counter_(std::move(counter)) {}

  static bool has(const MmioAccess& access);  // one of its registers
  void write(const MmioAccess& access);
  uint64_t read(const MmioAccess& access) const;

  void receive(const Frame& frame);  // of the line
  void set_carrier(bool up);

  // A cycle: what it has for the line leaves, before anything else of the node.
  void run(FrameSink& sink);
  bool idle() const { return out_.empty() && settles_ == 0; }

  // What else the node has may leave and come.
  bool link_up() const { return carrier_ && !is_nobody(); }
  // It has no number, or gets another one: what leaves would be of nobody.
  bool is_nobody() const { return !has_number() || settles_ != 0; }

  void reset();  // by the driver

 protected:
  bool goes(bool answer, unsigned from, unsigned to) const override;
  void send(unsigned to, Bytes&& frame) override;
  void send_routed(unsigned from, Bytes&& frame) override { send(from, std::move(frame)); }
  void deliver(Bytes&& frame) override;
  void number_changes() override { settles_ = kSettles; }
  void count(exrnic_counter which) override { counter_(which); }

 private:
  // So many cycles the link is down for a node that gets another number.
  static constexpr unsigned kSettles = 8;
  // Answers that wait for the line; further requests of it are dropped.
  static constexpr unsigned kMostAnswers = 8;
  struct Out {
    Bytes frame;
    bool of_host;
  };
  using Store = std::array<uint8_t, EXRNIC_MANAGEMENT_FRAME_BYTES>;

  void send_of_host();
  void send_out(Bytes&& frame, bool of_host);
  uint32_t value_of(uint32_t offset) const;

  bool carrier_;
  Counter counter_;
  Store store_{};           // MANAGEMENT_OUT
  bool from_host_ = false;  // the frame in hand
  bool sending_ = false;    // one of out_ is the host's
  std::deque<Out> out_;     // for the line
  std::deque<Bytes> in_;    // for the host
  unsigned settles_ = 0;
};

}  // namespace exrnic::management
