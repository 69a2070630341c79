// SPDX-License-Identifier: BSD-2-Clause
// The control socket of a simulator: requests come as lines, one answer line each. What the lines
// say is another's affair (commands.h).
//
// Clients are not trusted: one that sends a line without end is told so and let go, one that does
// not read its answers is not read either, there are at most kMostClients of them, and one for
// whose request there is no memory is let go.
//
// Threads: none; service() never waits.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <vector>

#include "sim/posix/side_socket.h"
#include "sim/posix/unique_fd.h"
#include "sim/posix/unix_listener.h"

namespace exrnic {

class ControlServer final : public SideSocket {
 public:
  static constexpr size_t kMostClients = 16;
  static constexpr size_t kLongestLine = 16'384;

  // Request and answer without the line's end. The answer is JSON without a line break.
  using Answer = std::function<std::string(const std::string& line)>;
  // The answer to what is wrong with the connection itself.
  using Refusal = std::function<std::string(const std::string& why)>;

  // Listens on `socket_path`; a socket file that nobody serves any more is replaced. Throws
  // std::runtime_error with one clear line if the path cannot be served.
  ControlServer(const std::string& socket_path, Answer answer, Refusal refusal,
                UnixListener::Log log);
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  void append_poll_fds(std::vector<pollfd>& fds) override;
  void service() override;

  size_t clients() const { return clients_.size(); }

 private:
  struct Client {
    UniqueFd socket;
    std::string in;
    std::string out;
    bool ending = false;  // nothing more is read; over when `out` has left
  };

  void accept_clients();
  bool serve(Client& client);  // false: it is over
  bool attend(Client& client);
  static bool read(Client& client);
  static bool has_request(const Client& client);
  void answer_line(Client& client);
  static bool write(Client& client);

  Answer answer_;
  Refusal refusal_;
  UnixListener listener_;
  std::list<Client> clients_;
};

}  // namespace exrnic
