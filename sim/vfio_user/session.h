// SPDX-License-Identifier: BSD-2-Clause
// One client of the server, from accept to close: its requests, its memory, its interrupts.
// Threads: none of its own; every call comes from the thread that serves the sockets.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/pcie/config_space.h"
#include "sim/pcie/host_port.h"
#include "sim/vfio_user/dma_map.h"
#include "sim/vfio_user/msix.h"
#include "sim/vfio_user/pci_function.h"
#include "sim/vfio_user/protocol.h"
#include "sim/vfio_user/report.h"
#include "sim/vfio_user/transport.h"

namespace exrnic::vfio_user {

class Session : public std::enable_shared_from_this<Session> {
 public:
  // Everything referred to outlives the session.
  struct Context {
    PciDescription description;  // the client is told of; it does not change
    PciConfigSpace* config;      // null: the device is passed on
    DevicePort& device;
    Counters& counters;
    const Log& log;
    const MemoryBudget& budget;
    // How long to wait for what is asked of the client; zero: nothing is asked.
    std::chrono::milliseconds answer_limit{0};
  };

  Session(UniqueFd socket, const Context& context);

  enum class State { kIdle, kWorked, kEnded };
  // Handles up to `most` messages. answered_alone: one that wants an answer is the first or none.
  // kEnded: the connection is over, end_reason() says why.
  State service(size_t most, bool answered_alone);
  const std::string& end_reason() const { return end_reason_; }

  int fd() const { return connection_.fd(); }
  short poll_events() const;

  // Messages that came while the client's answer to us was awaited: service() has work to do.
  bool has_postponed() const { return !postponed_.empty() && wants_input(); }

  // The client's memory. False: it is not granted, or the client does not give it.
  bool dma_read(const std::vector<HostPort::DmaPlace>& places, uint8_t* out);
  bool dma_write(uint64_t address, const uint8_t* data, size_t length);
  DmaMap& dma() { return dma_; }
  Msix& msix() { return msix_; }
  PciFunction& function() { return *function_; }

 private:
  struct DeviceRead;
  // Of the client's memory, and where it is wanted.
  struct MemoryPiece {
    uint64_t address;
    size_t length;
    uint8_t* out;
  };
  using Asked = std::map<uint16_t, MemoryPiece>;  // what the client owes, by identifier
  struct Later {};                                // the reply goes out when the device answers
  using Outcome = std::variant<Bytes, Later, Fault>;

  Outcome handle(Message& message);
  Outcome handle_version(const Message& message);
  Outcome handle_dma_map(Message& message);
  Outcome handle_dma_unmap(const Message& message);
  Outcome handle_get_info(const Message& message);
  Outcome handle_get_region_info(const Message& message);
  Outcome handle_get_irq_info(const Message& message);
  Outcome handle_set_irqs(Message& message);
  Outcome set_msix(const SetIrqsRequest& request, std::vector<UniqueFd> fds);
  Outcome handle_region_read(const Message& message);
  Outcome handle_region_write(const Message& message);
  Outcome handle_region_write_multi(const Message& message);
  Outcome handle_reset(const Message& message);

  uint64_t region_size(uint32_t region) const;
  std::optional<Fault> check_region(const char* what, const RegionAccess& access) const;
  void write_region(const RegionWrite& write);
  Outcome read_device(const Header& header, const RegionAccess& access);
  void finish_load(DeviceRead& read, uint32_t at, unsigned size, uint64_t value);

  bool reaches_by_messages(uint64_t address, size_t length, bool for_write);
  bool read_by_messages(std::deque<MemoryPiece> pieces);
  bool take_piece(const Message& answer, const MemoryPiece& piece);
  uint16_t ask(Command command, const Bytes& payload);
  std::optional<Message> next_answer(Command command, const Asked& asked);
  bool is_answer(Command command, const Asked& asked, Message& message);
  void end(std::string reason);
  Connection::Status next_message(Message* out);
  bool wants_input() const;
  void conclude(const Header& header, Outcome outcome);
  void refuse(const Header& header, const Fault& fault);

  Context context_;
  Connection connection_;
  DmaMap dma_;
  Msix msix_;
  const std::unique_ptr<PciFunction> function_;
  bool greeted_ = false;  // VERSION came
  size_t loads_in_flight_ = 0;
  size_t extra_accesses_ = 0;  // of this service(), beyond one for each message
  uint16_t last_id_ = 0;       // of what was asked of the client
  std::deque<Message> postponed_;
  unsigned refusals_logged_ = 0;
  std::string end_reason_;
};

}  // namespace exrnic::vfio_user
