// SPDX-License-Identifier: BSD-2-Clause
#include "sim/service/socket_service.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace exrnic {
namespace {

// poll() takes milliseconds only, and half as long as ppoll() when nothing is to be waited for.
int poll_fds(std::vector<pollfd>& fds, std::chrono::microseconds timeout) {
  if (timeout == timeout.zero()) return ::poll(fds.data(), fds.size(), 0);
  const timespec time = {timeout.count() / 1'000'000, timeout.count() % 1'000'000 * 1000};
  return ::ppoll(fds.data(), fds.size(), timeout < timeout.zero() ? nullptr : &time, nullptr);
}

bool has_postponed(const std::unique_ptr<vfio_user::VfioUserServer>& server) {
  return server && server->has_postponed();
}

}  // namespace

void SocketService::serve(SideSocket& socket) {
  side_sockets_.push_back(&socket);
  if (socket.may_hold_time()) holders_.push_back(&socket);
}

bool SocketService::holds_time() const {
  return std::any_of(holders_.begin(), holders_.end(),
                     [](const SideSocket* socket) { return socket->holds_time(); });
}

// One that has something to do then, though nothing comes, is served.
std::chrono::microseconds SocketService::shortened(std::chrono::microseconds timeout) const {
  if (std::any_of(servers_.begin(), servers_.end(), has_postponed)) return timeout.zero();
  for (const SideSocket* socket : side_sockets_) {
    const int own_ms = socket->poll_timeout_ms();
    if (own_ms < 0) continue;
    const std::chrono::microseconds own = std::chrono::milliseconds(own_ms);
    timeout = timeout < timeout.zero() ? own : std::min(timeout, own);
  }
  return timeout;
}

int SocketService::poll_all(std::chrono::microseconds timeout) {
  fds_.clear();
  end_of_.clear();
  fds_.push_back({stop_.fd(), POLLIN, 0});
  for (const auto& server : servers_) {
    if (server) server->append_poll_fds(fds_);
    end_of_.push_back(fds_.size());
  }
  for (SideSocket* socket : side_sockets_) socket->append_poll_fds(fds_);
  const int ready = poll_fds(fds_, shortened(timeout));
  if (ready < 0 && errno != EINTR) {
    throw std::system_error(errno, std::generic_category(), "poll");
  }
  return ready;
}

void SocketService::serve_unasked() {
  for (const auto& server : servers_)
    if (has_postponed(server)) server->service();
  for (SideSocket* socket : side_sockets_)
    if (socket->poll_timeout_ms() == 0) socket->service();
}

bool SocketService::await(std::chrono::microseconds timeout) {
  return poll_all(timeout) > 0 || shortened(timeout) == timeout.zero();
}

bool SocketService::serve(std::chrono::microseconds timeout) {
  if (poll_all(timeout) <= 0) {
    serve_unasked();
    return true;
  }
  if (fds_[0].revents != 0) return false;
  size_t entry = 1;
  for (unsigned node = 0; node < servers_.size(); ++node) {
    bool ready = false;
    for (; entry < end_of_[node]; ++entry) ready |= fds_[entry].revents != 0;
    if (ready || has_postponed(servers_[node])) servers_[node]->service();
  }
  bool asked = false;
  for (; entry < fds_.size(); ++entry) asked |= fds_[entry].revents != 0;
  if (!asked) return true;
  for (SideSocket* socket : side_sockets_) socket->service();
  return true;
}

void SocketService::after_slice() {
  for (SideSocket* socket : side_sockets_) socket->after_slice();
}

}  // namespace exrnic
