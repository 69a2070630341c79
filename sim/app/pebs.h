// SPDX-License-Identifier: BSD-2-Clause
// The PEBs of a run: devices of other processes in boxes, and slots of hosts at sockets.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/app/options.h"
#include "sim/devices/remote/remote_endpoint.h"
#include "sim/service/slot_service.h"
#include "sim/testbed.h"

namespace exrnic {

class Pebs {
 public:
  // `options` outlives it.
  Pebs(const Options& options, vfio_user::Log log) : options_(options), log_(std::move(log)) {}

  // What the testbed is to have; it is built before anything else is called. The building throws
  // ExitRequest if a device's server is none.
  void describe(TestbedOptions& testbed);

  // Listens for the hosts' guests, and puts devices into slots. Throws ExitRequest.
  void begin(Testbed& testbed, const vfio_user::MemoryBudget& budget);
  std::vector<SideSocket*> sockets();

  // For statistics: arrays of objects.
  nlohmann::ordered_json hosts(const Testbed& testbed) const;
  nlohmann::ordered_json devices(const Testbed& testbed) const;

 private:
  std::unique_ptr<PcieDevice> make_device(Scheduler& scheduler, const std::string& path);

  const Options& options_;
  const vfio_user::Log log_;
  std::vector<RemoteEndpoint*> devices_;                          // the testbed's
  std::vector<std::vector<std::unique_ptr<SlotService>>> slots_;  // by host
};

}  // namespace exrnic
