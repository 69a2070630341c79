// SPDX-License-Identifier: BSD-2-Clause
// Fabric management: what a line and a host say to the agent of a node that has a key, and what
// devices say to a manager. An input is a list of steps: who speaks, then a frame, which is good
// but for what the input says of it.
#include <optional>
#include <string>
#include <utility>

#include "rtl-model/ref/management/node_agent.h"
#include "rtl-model/ref/management/testing/requests.h"
#include "tests/fuzz/target.h"
#include "tools/fabric/manager.h"

namespace exrnic::fuzz {
// Of its own: other targets of this folder have other steps.
namespace management_target {
namespace {

enum Step : uint8_t { kLine, kHost, kTaken, kCarrier, kReset, kAnswer, kTrap, kSteps };

constexpr uint64_t kKey = 0x5eed;
constexpr uint16_t kNumber = 7;
constexpr uint64_t kPollNs = 1'000'000;
constexpr unsigned kMostOfAStep = 64;  // requests that a manager sends

// What leaves the node: nothing but good frames, and never the key.
class Line final : public FrameSink {
 public:
  bool can_transmit() override { return true; }
  void transmit(Frame&& frame) override {
    if (frame.data.size() != EXRNIC_MANAGEMENT_FRAME_BYTES) found("a frame of another length");
    const uint8_t* const header = management::header(frame.data);
    if (exrnic_management_header_version(header) != EXRNIC_MANAGEMENT_VERSION)
      found("a frame of another version");
    const bool answers = exrnic_management_header_method(header) == EXRNIC_MANAGEMENT_METHOD_ANSWER;
    if (answers && exrnic_management_header_key(header) != 0) found("an answer with a key");
    if (answers != (sent_by == kLine)) found("an answer to the host on the line, or none to it");
    if (exrnic_eth_src(frame.data.data()) >> 16 != EXRNIC_MAC_PREFIX)
      found("a frame of somebody else");
    ++frames;
  }
  Step sent_by = kLine;
  unsigned frames = 0;
};

// The way of a manager to devices that the input plays.
class Devices final : public fabric::ManagementPort {
 public:
  bool send(const fabric::Frame& frame) override {
    if (++sent > kMostOfAStep) return false;
    asked = frame;
    return true;
  }
  std::optional<fabric::Frame> receive() override { return std::exchange(said, std::nullopt); }

  std::optional<fabric::Frame> said;
  fabric::Frame asked{};
  unsigned sent = 0;
};

management::Device device() {
  management::Device device;
  device.guid = 1;
  device.number = kNumber;
  device.nodes = 256;
  device.key = kKey;
  return device;
}

// Some bytes of the frame are what the input says.
template <typename Frame>
void spoil(Frame& frame, Reader& input) {
  const auto count = static_cast<unsigned>(input.take<uint8_t>() % 12);
  for (unsigned i = 0; i < count; ++i) {
    const auto at = input.take<uint8_t>();
    frame[at % frame.size()] = input.take<uint8_t>();
  }
}

class Bench {
 public:
  Bench() : agent_(device(), true, [](exrnic_counter) {}), manager_(devices_, options()) {}

  void run(Reader& input) {
    while (!input.empty()) {
      const auto step = static_cast<Step>(input.take<uint8_t>() % kSteps);
      step < kAnswer ? node(step, input) : fabric(step, input);
    }
  }

 private:
  static fabric::ManagerOptions options() {
    fabric::ManagerOptions options;
    options.seed = 1;
    return options;
  }

  void node(Step step, Reader& input) {
    line_.sent_by = step;
    line_.frames = 0;
    switch (step) {
      case kLine: {
        Bytes frame = management::testing::directed({EXRNIC_PORT_NONE, 0}, 2);
        if (input.take<uint8_t>() % 2 == 0)
          exrnic_eth_set_dst(frame.data(), management::mac_of(kNumber));
        exrnic_management_header_set_key(management::header(frame), kKey);
        spoil(frame, input);
        if (input.take<uint8_t>() % 16 == 0) frame.resize(input.take<uint16_t>() % 1024);
        if (management::is_management(frame)) agent_.receive({std::move(frame), false});
        break;
      }
      case kHost: {
        Bytes frame = management::testing::directed({0, 0});
        spoil(frame, input);
        for (unsigned i = 0; i < frame.size(); i += 4) {
          uint32_t word = 0;
          std::memcpy(&word, frame.data() + i, sizeof word);
          agent_.write({EXRNIC_BAR_REGISTERS, EXRNIC_REG_MANAGEMENT_OUT + i, 4, word});
        }
        agent_.write({EXRNIC_BAR_REGISTERS, EXRNIC_REG_MANAGEMENT_SEND, 4, 1});
        break;
      }
      case kTaken:
        agent_.read({EXRNIC_BAR_REGISTERS, EXRNIC_REG_MANAGEMENT_IN, 4, 0});
        agent_.write({EXRNIC_BAR_REGISTERS, EXRNIC_REG_MANAGEMENT_TAKEN, 4, 1});
        break;
      case kCarrier:
        agent_.set_carrier(input.take<uint8_t>() % 2 == 0);
        break;
      default:
        agent_.reset();
    }
    for (int i = 0; i < 20; ++i) agent_.run(line_);
    if (line_.frames > 1) found("one frame in, and several out");
    if (!agent_.idle()) found("the agent does not come to rest");
  }

  void fabric(Step step, Reader& input) {
    devices_.sent = 0;
    exrnic::fabric::Frame frame = devices_.asked;
    uint8_t* const header = frame.data() + EXRNIC_ETH_BYTES;
    exrnic_management_header_set_method(
        header, step == kAnswer ? EXRNIC_MANAGEMENT_METHOD_ANSWER : EXRNIC_MANAGEMENT_METHOD_TRAP);
    uint8_t* const data = frame.data() + EXRNIC_MANAGEMENT_DATA_AT;
    const auto guid = input.take<uint8_t>();
    exrnic_management_device_set_guid(data, guid % 8 + 1u);
    exrnic_management_device_set_kind(
        data, guid % 3 == 0 ? EXRNIC_MANAGEMENT_KIND_RNIC : EXRNIC_MANAGEMENT_KIND_SWITCH);
    exrnic_management_device_set_ports(data, guid % 5 + 1u);
    exrnic_management_device_set_nodes(data, 4096);
    spoil(frame, input);
    devices_.said = frame;
    for (int i = 0; i < 4; ++i) manager_.poll(now_ns_ += kPollNs);
    if (manager_.map().devices.size() > 1 << 15) found("a map without an end");
    manager_.problems();
  }

  Line line_;
  management::NodeAgent agent_;
  Devices devices_;
  exrnic::fabric::Manager manager_;
  uint64_t now_ns_ = 0;
};

Bytes steps(const std::vector<Step>& list) {
  Bytes input;
  for (const Step step : list) {
    put(input, static_cast<uint8_t>(step));
    put(input, uint8_t{1});
    put(input, uint8_t{0});
    put(input, uint8_t{1});
  }
  return input;
}

}  // namespace
}  // namespace management_target

std::vector<Bytes> management_seeds() {
  using namespace management_target;
  return {steps({kLine, kHost, kTaken, kLine, kReset, kHost}),
          steps({kCarrier, kLine, kCarrier, kHost, kTaken}),
          steps({kAnswer, kAnswer, kTrap, kAnswer, kAnswer, kAnswer, kAnswer, kTrap, kAnswer})};
}

void fuzz_management(const uint8_t* data, size_t size) {
  Reader input(data, size);
  management_target::Bench().run(input);
}

}  // namespace exrnic::fuzz
