// SPDX-License-Identifier: BSD-2-Clause
// A slot of a PEB's host and the socket at which a guest finds the device in it: tells the server
// what is there, and a log when it comes and goes.
//
// Threads: none of its own; every call comes from the thread that serves the sockets.
#pragma once

#include <memory>
#include <string>

#include "sim/peb/host_slot.h"
#include "sim/posix/side_socket.h"
#include "sim/vfio_user/server.h"

namespace exrnic {

class SlotService final : public SideSocket {
 public:
  // `slot` outlives it.
  SlotService(std::unique_ptr<vfio_user::VfioUserServer> server, const peb::HostSlot& slot,
              std::string name, vfio_user::Log log);

  vfio_user::VfioUserServer& server() { return *server_; }
  const vfio_user::VfioUserServer& server() const { return *server_; }

  void append_poll_fds(std::vector<pollfd>& fds) override { server_->append_poll_fds(fds); }
  void service() override { server_->service(); }
  void after_slice() override;

 private:
  std::unique_ptr<vfio_user::VfioUserServer> server_;
  const peb::HostSlot& slot_;
  const std::string name_;
  const vfio_user::Log log_;
  uint64_t changes_ = 0;  // of the slot, that the server knows of
  bool full_ = false;
};

}  // namespace exrnic
