// SPDX-License-Identifier: BSD-2-Clause
// One client of the server, from accept to close: its requests, its memory, its interrupts.
// Threads: none of its own; every call comes from the thread that serves the sockets.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "sim/pcie/config_space.h"
#include "sim/pcie/host_port.h"
#include "sim/vfio_user/dma_map.h"
#include "sim/vfio_user/msix.h"
#include "sim/vfio_user/protocol.h"
#include "sim/vfio_user/report.h"
#include "sim/vfio_user/transport.h"

namespace exrnic::vfio_user {

class Session : public std::enable_shared_from_this<Session> {
 public:
  // Everything referred to outlives the session.
  struct Context {
    const PciDescription& description;
    PciConfigSpace& config;
    DevicePort& device;
    Counters& counters;
    const Log& log;
    const MemoryBudget& budget;
  };

  Session(UniqueFd socket, const Context& context);

  enum class State { kIdle, kWorked, kEnded };
  // Handles up to `most` messages. kEnded: the connection is over, end_reason() says why.
  State service(size_t most);
  const std::string& end_reason() const { return end_reason_; }

  int fd() const { return connection_.fd(); }
  short poll_events() const;

  DmaMap& dma() { return dma_; }
  Msix& msix() { return msix_; }

  // Back to the state after a reset of the function; loads in flight are answered by the device.
  void reset_function();

 private:
  struct Later {};  // the reply goes out when the device answers
  using Outcome = std::variant<Bytes, Later, Fault>;

  Outcome handle(Message& message);
  Outcome handle_version(const Message& message);
  Outcome handle_dma_map(Message& message);
  Outcome handle_dma_unmap(const Message& message);
  Outcome handle_get_info(const Message& message);
  Outcome handle_get_region_info(const Message& message);
  Outcome handle_get_irq_info(const Message& message);
  Outcome handle_set_irqs(Message& message);
  Outcome handle_region_read(const Message& message);
  Outcome handle_region_write(const Message& message);
  Outcome handle_region_write_multi(const Message& message);
  Outcome handle_reset(const Message& message);

  uint64_t region_size(uint32_t region) const;
  std::optional<Fault> check_region(const char* what, const RegionAccess& access) const;
  void write_region(const RegionWrite& write);
  Outcome read_device(const Header& header, const RegionAccess& access);
  void finish_read(const Header& header, const RegionAccess& access, uint64_t value);

  bool wants_input() const;
  void conclude(const Header& header, Outcome outcome);
  void refuse(const Header& header, const Fault& fault);

  Context context_;
  Connection connection_;
  DmaMap dma_;
  Msix msix_;
  bool greeted_ = false;  // VERSION came
  size_t reads_in_flight_ = 0;
  unsigned refusals_logged_ = 0;
  std::string end_reason_;
};

}  // namespace exrnic::vfio_user
