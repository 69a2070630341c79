// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/simulated/simulated_port.h"

#include <algorithm>
#include <cstring>

#include "libverbs-lite/data_path/exrnic_driver.h"

namespace exrnic::fabric {
namespace {

// A driver that looks whether a frame has come does so about as often.
constexpr uint64_t kLookNs = 1'000;

}  // namespace

uint32_t SimulatedPort::load(uint32_t reg) {
  return static_cast<uint32_t>(host_.load(EXRNIC_BAR_REGISTERS, reg, sizeof(uint32_t)));
}

void SimulatedPort::store(uint32_t reg, uint32_t value) {
  host_.store(EXRNIC_BAR_REGISTERS, reg, sizeof(value), value);
}

bool SimulatedPort::send(const Frame& frame) {
  if (load(EXRNIC_REG_MANAGEMENT_STATUS) & EXRNIC_MANAGEMENT_STATUS_BITS_SENDING) return false;
  for (uint32_t at = 0; at < frame.size(); at += sizeof(uint32_t)) {
    uint32_t word = 0;
    std::memcpy(&word, frame.data() + at, sizeof(word));
    store(EXRNIC_REG_MANAGEMENT_OUT + at, word);
  }
  store(EXRNIC_REG_MANAGEMENT_SEND, 1);
  return true;
}

std::optional<Frame> SimulatedPort::receive() {
  if (!(load(EXRNIC_REG_MANAGEMENT_STATUS) & EXRNIC_MANAGEMENT_STATUS_BITS_WAITING))
    return std::nullopt;
  Frame frame{};
  for (uint32_t at = 0; at < frame.size(); at += sizeof(uint32_t)) {
    if (!exrnic_management_word_counts(frame.data(), at / sizeof(uint32_t))) continue;
    const uint32_t word = load(EXRNIC_REG_MANAGEMENT_IN + at);
    std::memcpy(frame.data() + at, &word, sizeof(word));
  }
  store(EXRNIC_REG_MANAGEMENT_TAKEN, 1);
  return frame;
}

bool run_managers(Testbed& testbed, const std::vector<Manager*>& managers,
                  const std::function<bool()>& done, uint64_t limit_ns) {
  const uint64_t end = testbed.now_ns() + limit_ns;
  while (!done()) {
    const uint64_t now = testbed.now_ns();
    if (now > end) return false;
    for (Manager* manager : managers) manager->poll(testbed.now_ns());
    if (testbed.now_ns() < now + kLookNs) testbed.run_for(now + kLookNs - testbed.now_ns());
  }
  return true;
}

}  // namespace exrnic::fabric
