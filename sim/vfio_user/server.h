// SPDX-License-Identifier: BSD-2-Clause
// A vfio-user server: it offers one device to one client at a time (QEMU's vfio-user-pci, or a
// driver in user space) over a unix socket, and is that device's HostPort.
//
// The configuration space and the MSI-X table of a device of this process are kept here. Another
// one has its own, somewhere else: all accesses are passed on to it, in simulated time. It may go
// and come while a client is connected.
//
// service() never waits. A client may come, misbehave, die and come again; each time it leaves,
// its memory and interrupts are dropped and the device is reset. One whose requests need more
// memory than there is is let go, and no other notices.
//
// The socket of a process that was killed may be closed a little after its end (what io_uring has
// begun goes first). So a client that comes while another is there waits for kGrace before it is
// refused; one does, others are refused at once.
//
// Threads: none of its own; one calls at a time, see "Several threads" in sim/README.md.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/pcie/config_space.h"
#include "sim/pcie/host_port.h"
#include "sim/posix/unique_fd.h"
#include "sim/posix/unix_listener.h"
#include "sim/vfio_user/memory_budget.h"
#include "sim/vfio_user/report.h"

namespace exrnic::vfio_user {

class Session;

class VfioUserServer : public HostPort {
 public:
  using Log = vfio_user::Log;

  static constexpr std::chrono::milliseconds kGrace{1000};

  // Listens on `socket_path`. A socket file that nobody serves any more is replaced. Throws
  // std::runtime_error with one clear line if the path cannot be served.
  VfioUserServer(const std::string& socket_path, const PciDescription& description, Log log,
                 const MemoryBudget& budget = {});
  // Likewise, of a device that is passed on: none at first.
  VfioUserServer(const std::string& socket_path, Log log, const MemoryBudget& budget = {});
  ~VfioUserServer() override;
  VfioUserServer(const VfioUserServer&) = delete;
  VfioUserServer& operator=(const VfioUserServer&) = delete;

  // The device to drive; before the first service(), and until the server is destroyed.
  void attach(DevicePort& device) { device_ = &device; }

  // Of a device that is passed on: what is behind the socket from now on. Without one a client is
  // refused. One that is connected keeps what it was told of: while another device is there it
  // finds all ones, and that device reaches nothing of it. At any time, by the thread that serves.
  void describe(std::optional<PciDescription> description);

  // The device may wait for its client: memory that the client has granted without a file is
  // reached by messages, each of which is answered within `limit`, or the client is let go. All
  // that the process does waits meanwhile. Before the first service(), which then handles what
  // nobody is to answer together, and ends before a message that is to be answered: who lets the
  // device work in between answers none before what stands in front of it has been begun.
  void reach_memory_by_messages(std::chrono::milliseconds limit) { answer_limit_ = limit; }

  // Handles what is there. True if something was done. One system call when nothing is there.
  bool service();
  // What to poll for before the next service() has something to do; at most three entries.
  void append_poll_fds(std::vector<pollfd>& fds);

  // Messages wait that no descriptor tells of: service() before the next poll.
  bool has_postponed() const;

  // The client has noticed every interrupt that was fired, or is gone.
  bool interrupts_taken();

  bool connected() const { return session_ != nullptr; }
  const Counters& counters() const { return counters_; }
  // Of the client that is connected, or the values after a reset. Not of a device that is passed
  // on.
  const PciConfigSpace& config_space() const { return *config_; }

  // HostPort
  bool dma_read(uint64_t address, uint8_t* out, size_t length) override {
    return dma_read_all({{address, length}}, out);
  }
  bool dma_read_all(const std::vector<DmaPlace>& places, uint8_t* out) override;
  bool dma_write(uint64_t address, const uint8_t* data, size_t length) override;
  void fire_msix(unsigned vector) override;

 private:
  bool accept_client();
  void begin_session(UniqueFd socket);
  void wait(UniqueFd socket);
  void stop_waiting();
  void refuse(const std::string& why);
  short session_events() const;
  bool serve_session(short events);
  void end_session(const std::string& why);
  bool dma_allowed();

  const Log log_;
  const MemoryBudget budget_;
  std::optional<PciDescription> description_;
  std::optional<PciConfigSpace> config_;  // none: the device is passed on
  Counters counters_;
  std::chrono::milliseconds answer_limit_{0};
  DevicePort* device_ = nullptr;
  UnixListener listener_;
  // Shared, because loads in flight hold a weak reference: their answer may come when it is gone.
  std::shared_ptr<Session> session_;
  UniqueFd waiting_;  // the next client
  UniqueFd grace_;    // a timer: readable when it has waited long enough
};

}  // namespace exrnic::vfio_user
