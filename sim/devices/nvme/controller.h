// SPDX-License-Identifier: BSD-2-Clause
// An NVM Express controller, 1.4: registers, doorbells, and the execution of commands (3, 4, 7).
//
// It has no time of its own and no threads: registers answer at once, and work() executes one
// command when whoever owns it wants to. So a host that fills all queues keeps nobody else waiting.
// The host is not trusted: what it gives to the controller is checked, and harms its own data only.
#pragma once

#include <string>

#include "sim/devices/nvme/admin_commands.h"
#include "sim/devices/nvme/events.h"
#include "sim/devices/nvme/features.h"
#include "sim/devices/nvme/io_commands.h"
#include "sim/devices/nvme/logs.h"
#include "sim/devices/nvme/queues.h"
#include "sim/pcie/host_port.h"

namespace exrnic::nvme {

class Controller final : public DevicePort {
 public:
  // `host` outlives it. `serial`: up to 20 printable characters.
  Controller(HostPort& host, Namespaces namespaces, std::string serial);
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Executes one command, or tells one event. False: there is nothing to do until the host writes a
  // register.
  bool work();

  // DevicePort. Accesses of less than 4 bytes are only read.
  void mmio_write(unsigned bar, uint64_t offset, unsigned size, uint64_t value) override;
  void mmio_read(unsigned bar, uint64_t offset, unsigned size, ReadDone done) override;
  void reset() override;

 private:
  bool enabled() const { return (configuration_ & kConfigEnable) != 0; }
  bool running() const { return status_ == kStatusReady; }  // not shut down, not failed

  uint32_t register_at(uint64_t offset) const;
  void write_register(uint64_t offset, uint32_t value);
  void write_configuration(uint32_t value);
  void ring(uint64_t offset, uint32_t value);
  void start();
  void stop();
  void shut_down();

  bool read(SubmissionQueue& commands, uint32_t count);
  std::optional<Result> execute(unsigned queue, const Command& command);
  void complete(unsigned queue, uint16_t id, uint32_t nsid, Result result);
  bool tell_event();
  void fail() { status_ |= kStatusFatal; }

  HostPort& host_;
  Namespaces namespaces_;
  const std::string serial_;

  uint32_t configuration_ = 0;  // CC
  uint32_t status_ = 0;         // CSTS
  uint32_t admin_sizes_ = 0;    // AQA
  uint64_t admin_submission_ = 0;
  uint64_t admin_completion_ = 0;

  Queues queues_;
  Features features_;
  Events events_;
  Logs logs_;
  AdminCommands admin_;
  IoCommands io_;
};

}  // namespace exrnic::nvme
