// SPDX-License-Identifier: BSD-2-Clause
// The commands of the admin queue (5).
#pragma once

#include <optional>
#include <string>

#include "sim/devices/nvme/events.h"
#include "sim/devices/nvme/features.h"
#include "sim/devices/nvme/identify.h"
#include "sim/devices/nvme/logs.h"
#include "sim/devices/nvme/nvme.h"
#include "sim/devices/nvme/queues.h"
#include "sim/pcie/host_port.h"

namespace exrnic::nvme {

class AdminCommands {
 public:
  // Everything referred to outlives it.
  struct Context {
    HostPort& host;
    const Namespaces& namespaces;
    const std::string& serial;
    Queues& queues;
    Features& features;
    Events& events;
    const Logs& logs;
    const uint32_t& configuration;  // the register
  };

  explicit AdminCommands(const Context& context) : context_(context) {}

  // Nothing: the command is completed later.
  std::optional<Result> execute(const Command& command);

 private:
  Result create_submission_queue(const Command& command);
  Result create_completion_queue(const Command& command);
  Result delete_submission_queue(const Command& command);
  Result delete_completion_queue(const Command& command);
  Result get_log_page(const Command& command);
  Result identify(const Command& command);
  Result abort(const Command& command);

  Status check_new_queue(const Command& command, unsigned entry_shift_at,
                         unsigned entry_shift) const;
  bool has_namespace(uint32_t nsid) const {
    return nsid >= 1 && nsid <= context_.namespaces.size();
  }
  bool has_io_queues();

  Context context_;
};

}  // namespace exrnic::nvme
