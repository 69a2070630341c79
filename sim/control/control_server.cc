// SPDX-License-Identifier: BSD-2-Clause
#include "sim/control/control_server.h"

#include <sys/socket.h>

#include <cerrno>
#include <iterator>
#include <new>
#include <utility>

namespace exrnic {

ControlServer::ControlServer(const std::string& socket_path, Answer answer, Refusal refusal,
                             UnixListener::Log log)
    : answer_(std::move(answer)),
      refusal_(std::move(refusal)),
      listener_(socket_path, std::move(log)) {}

void ControlServer::append_poll_fds(std::vector<pollfd>& fds) {
  fds.push_back(listener_.poll_fd());
  for (const Client& client : clients_) {
    fds.push_back(
        {client.socket.get(), static_cast<short>(client.out.empty() ? POLLIN : POLLOUT), 0});
  }
}

void ControlServer::service() {
  try {
    accept_clients();
  } catch (const std::bad_alloc&) {
    // The one that there is no memory for is gone.
  }
  for (auto client = clients_.begin(); client != clients_.end();) {
    client = serve(*client) ? std::next(client) : clients_.erase(client);
  }
}

void ControlServer::accept_clients() {
  for (size_t i = 0; i < kMostClients; ++i) {
    UniqueFd socket = listener_.accept();
    if (!socket) return;
    Client client{std::move(socket), {}, {}, false};
    if (clients_.size() >= kMostClients) {
      client.out =
          refusal_(std::to_string(kMostClients) + " clients are connected; end one") + '\n';
      write(client);
      continue;
    }
    clients_.push_back(std::move(client));
  }
}

bool ControlServer::serve(Client& client) {
  try {
    return attend(client);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Reads a little at a time, and nothing while an answer waits to be taken.
bool ControlServer::attend(Client& client) {
  if (!write(client)) return false;
  if (client.out.empty() && !has_request(client) && !read(client)) return false;
  while (client.out.empty() && !client.ending && has_request(client)) {
    answer_line(client);
    if (!write(client)) return false;
  }
  return !(client.ending && client.out.empty());
}

// A whole one, or one that is too long already.
bool ControlServer::has_request(const Client& client) {
  return client.in.find('\n') != std::string::npos || client.in.size() > kLongestLine;
}

bool ControlServer::read(Client& client) {
  char bytes[4096];
  const ssize_t got = ::recv(client.socket.get(), bytes, sizeof bytes, 0);
  if (got == 0) return false;
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  client.in.append(bytes, static_cast<size_t>(got));
  return true;
}

void ControlServer::answer_line(Client& client) {
  const size_t end = client.in.find('\n');
  if (end <= kLongestLine) {
    client.out = answer_(client.in.substr(0, end)) + '\n';
    client.in.erase(0, end + 1);
    return;
  }
  client.out = refusal_("a request of more than " + std::to_string(kLongestLine) + " bytes") + '\n';
  client.ending = true;
}

bool ControlServer::write(Client& client) {
  if (client.out.empty()) return true;
  const ssize_t sent =
      ::send(client.socket.get(), client.out.data(), client.out.size(), MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EINTR;
  client.out.erase(0, static_cast<size_t>(sent));
  return true;
}

}  // namespace exrnic
