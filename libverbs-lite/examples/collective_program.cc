// SPDX-License-Identifier: BSD-2-Clause
#include "collective_program.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace exrnic {

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kGroup = 1;
constexpr std::chrono::seconds kPatience(120);

// What node `node` gives in a round; not the same in any two.
uint64_t Value(uint32_t node, uint32_t round) {
  return (uint64_t{node} + 1) * 0x9e37'79b9'7f4a'7c15 ^ round;
}

class Program {
 public:
  Program(const CollectiveOptions& options, const OpenRnicCall& open)
      : options_(options),
        rnic_(Own(open(), "cannot open the RNIC")),
        channel_(CreateMessageChannel(
            rnic_.get(), {options.channel, VL_MESSAGE_SHORT, VL_MESSAGE_SENDS_MAX, 1})),
        seen_(options.nodes) {
    for (uint32_t node = 0; node < options.nodes; ++node)
      nodes_[node / 8] = static_cast<uint8_t>(nodes_[node / 8] | 1u << node % 8);
  }

  void Meet() { Reduce(VL_REDUCE_BARRIER, 0); }

  // The median, in microseconds.
  double Barriers() {
    std::vector<double> took;
    for (uint32_t i = 0; i < options_.rounds; ++i) {
      const auto begin = Clock::now();
      Meet();
      took.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    std::nth_element(took.begin(), took.begin() + took.size() / 2, took.end());
    return took[took.size() / 2];
  }

  void Reductions() {
    for (uint32_t i = 0; i < options_.rounds; ++i) {
      for (int operation = VL_REDUCE_SUM; operation <= VL_REDUCE_XOR; ++operation)
        Verify(static_cast<vl_reduction>(operation));
    }
  }

  // To every other node its own number and the receiver's.
  void Messages() {
    for (uint32_t node = 0; node < options_.nodes; ++node) {
      if (node == options_.node) continue;
      const uint32_t numbers[] = {options_.node, node};
      memcpy(vl_message_buffer(channel_.get()), numbers, sizeof(numbers));
      Check(vl_send_message(channel_.get(), node, sizeof(numbers), 0, nullptr), "vl_send_message");
    }
    while (messages_ + 1 < options_.nodes) Take(Await("a message"));
  }
  uint32_t verified() const { return verified_; }

 private:
  void Verify(vl_reduction operation) {
    uint64_t expected = Value(0, round_);
    for (uint32_t node = 1; node < options_.nodes; ++node)
      expected = Combine(operation, expected, Value(node, round_));
    const uint64_t result = Reduce(operation, Value(options_.node, round_));
    if (result != expected)
      throw std::runtime_error("reduction " + std::to_string(operation) + " gave " +
                               std::to_string(result) + ", not " + std::to_string(expected));
    ++verified_;
  }

  uint64_t Reduce(vl_reduction operation, uint64_t value) {
    Check(vl_reduce(channel_.get(), kGroup, nodes_, round_, operation, value, 0), "vl_reduce");
    vl_message result = Await("a reduction");
    // Of nodes that have more results than this one.
    for (; result.kind == VL_MESSAGE_RECEIVED; result = Await("a reduction")) Take(result);
    if (result.id != round_++)
      throw std::runtime_error("the result is that of round " + std::to_string(result.id));
    Release();
    return result.value;
  }

  void Take(const vl_message& message) {
    uint32_t numbers[2] = {};
    if (message.length == sizeof(numbers)) memcpy(numbers, message.data, sizeof(numbers));
    if (message.length != sizeof(numbers) || message.source >= options_.nodes ||
        seen_[message.source] || numbers[0] != message.source || numbers[1] != options_.node)
      throw std::runtime_error("a message of node " + std::to_string(message.source) +
                               " is not what it sent");
    seen_[message.source] = true;
    ++messages_;
    ++verified_;
    Release();
  }

  vl_message Await(const char* what) {
    const auto end = Clock::now() + kPatience;
    vl_message message;
    while (Poll(&message) == 0) {
      if (options_.events) Sleep(end);
      if (Clock::now() > end) throw std::runtime_error(std::string("waited in vain for ") + what);
    }
    if (message.kind == VL_MESSAGE_FAILED)
      throw std::runtime_error(std::string(what) + ": " + vl_message_status_string(message.status));
    return message;
  }
  void Sleep(Clock::time_point end) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    Check(vl_await_message(channel_.get(), std::max(static_cast<int>(left.count()), 0)),
          "vl_await_message");
  }
  int Poll(vl_message* message) {
    const int found = vl_poll_message(channel_.get(), message);
    Check(found, "vl_poll_message");
    return found;
  }
  void Release() { Check(vl_release_messages(channel_.get(), 1), "vl_release_messages"); }

  const CollectiveOptions options_;
  const Owned<vl_rnic> rnic_;
  const Owned<vl_message_channel> channel_;
  uint8_t nodes_[VL_MESSAGE_NODES / 8] = {};
  uint32_t round_ = 0;
  uint32_t verified_ = 0;
  std::vector<bool> seen_;  // messages of these nodes
  uint32_t messages_ = 0;
};

}  // namespace

uint64_t Combine(vl_reduction operation, uint64_t a, uint64_t b) {
  switch (operation) {
    case VL_REDUCE_BARRIER:
      return 0;
    case VL_REDUCE_SUM:
      return a + b;
    case VL_REDUCE_LEAST:
      return std::min(a, b);
    case VL_REDUCE_MOST:
      return std::max(a, b);
    case VL_REDUCE_AND:
      return a & b;
    case VL_REDUCE_OR:
      return a | b;
    case VL_REDUCE_XOR:
      return a ^ b;
  }
  return 0;
}

void RunCollective(const CollectiveOptions& options, const OpenRnicCall& open, FILE* out) {
  if (options.node >= options.nodes)
    throw std::runtime_error("node " + std::to_string(options.node) + " is none of " +
                             std::to_string(options.nodes));
  Program program(options, open);
  program.Meet();
  const double barrier_us = program.Barriers();
  program.Reductions();
  program.Messages();
  program.Meet();
  program.Meet();  // nobody leaves who may still be asked for a part
  fprintf(out, "@exrnic {\"nodes\":%u,\"rounds\":%u,\"verified\":%u,\"barrier_%s_us\":%.3f}\n",
          options.nodes, options.rounds, program.verified(), options.in_guest ? "guest" : "wall",
          barrier_us);
}

}  // namespace exrnic
