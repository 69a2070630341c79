// SPDX-License-Identifier: BSD-2-Clause
// Management frames by the registers of a node whose host is in this process: as a driver sends and
// gets them, in simulated time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/host/in_process_host.h"
#include "sim/testbed.h"
#include "tools/fabric/manager.h"
#include "tools/fabric/port.h"

namespace exrnic::fabric {

class SimulatedPort final : public ManagementPort {
 public:
  explicit SimulatedPort(InProcessHost& host) : host_(host) {}

  bool send(const Frame& frame) override;
  std::optional<Frame> receive() override;

 private:
  uint32_t load(uint32_t reg);
  void store(uint32_t reg, uint32_t value);

  InProcessHost& host_;
};

// Lets managers work, by turns, until `done()` holds; false: that takes longer than `limit_ns` of
// simulated time. Between their looks, and whenever one waits for the bus, time goes on.
bool run_managers(Testbed& testbed, const std::vector<Manager*>& managers,
                  const std::function<bool()>& done, uint64_t limit_ns);

}  // namespace exrnic::fabric
