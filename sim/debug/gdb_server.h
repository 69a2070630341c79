// SPDX-License-Identifier: BSD-2-Clause
// A socket at which GDB debugs the firmware of one node: "target remote PATH".
//
// One debugger at a time; another is let go at once, and so is one for whose requests there is no
// memory. Threads: none; nothing here waits for GDB.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/debug/gdb_session.h"
#include "sim/posix/side_socket.h"
#include "sim/posix/unix_listener.h"
#include "sim/testbed.h"

namespace exrnic::debug {

class GdbServer final : public SideSocket {
 public:
  using Log = std::function<void(const std::string&)>;

  // Listens on `socket_path`; a socket file that nobody serves any more is replaced. Throws
  // std::runtime_error with one clear line if the path cannot be served.
  GdbServer(const std::string& socket_path, Testbed& testbed, unsigned node, const Log& log);
  ~GdbServer() override;
  GdbServer(const GdbServer&) = delete;
  GdbServer& operator=(const GdbServer&) = delete;

  void append_poll_fds(std::vector<pollfd>& fds) override;
  void service() override;
  void after_slice() override;  // tells GDB if the processor has halted

 private:
  class Connection;

  void accept_one();
  template <typename Serve>
  void serve(Serve serve);

  Testbed& testbed_;
  unsigned node_;
  const Log log_;
  UnixListener listener_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace exrnic::debug
