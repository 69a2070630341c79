// SPDX-License-Identifier: BSD-2-Clause
// The addresses of exrnic/connect.h: TCP, and serial lines.
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "conn_line.h"
#include "conn_wait.h"
#include "exrnic/connect.h"
#include "own_peer.h"
#include "transport/error_text.h"

using exrnic::BeginCall;
using exrnic::Fail;

namespace exrnic {

namespace {

constexpr int kRetryMs = 20;

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// getaddrinfo takes what is beyond 16 bits modulo 2^16.
bool IsPort(const std::string& text) {
  if (text.empty() || text.size() > 5) return false;
  if (text.find_first_not_of("0123456789") != std::string::npos) return false;
  return std::stoi(text) <= UINT16_MAX;
}

// "HOST:PORT" in its parts. Null: it is none, or nobody knows the host; errno is EINVAL.
Addresses Resolve(const std::string& text, bool passive) {
  Addresses none(nullptr, freeaddrinfo);
  const size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon == std::string::npos ? 0 : colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  const bool whole = colon != std::string::npos && IsPort(text.substr(colon + 1));
  if (!whole || (host.empty() && !passive)) {
    Fail(EINVAL, "\"%s\" is no HOST:PORT, and no path of a serial line", text.c_str());
    return none;
  }
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                text.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0) {
    Fail(EINVAL, "\"%s\": %s", text.c_str(), gai_strerror(error));
    return none;
  }
  return Addresses(found, freeaddrinfo);
}

int NewSocket(const addrinfo& address, int flags = 0) {
  return socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | flags, address.ai_protocol);
}

int CloseAndFail(int fd) {
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

// Not blocking: a peer may be gone again, or taken by another thread, between poll and accept.
int Listen(const addrinfo& address) {
  const int fd = NewSocket(address, SOCK_NONBLOCK);
  if (fd < 0) return -1;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const bool listens =
      bind(fd, address.ai_addr, address.ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0;
  return listens ? fd : CloseAndFail(fd);
}

// Messages are small, and each is waited for.
int WithoutDelay(int fd) {
  const int on = 1;
  if (fd >= 0) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

// Where nobody listens, a connection may meet itself: the port that the kernel gave it is the one
// that it goes to (simultaneous open, RFC 9293, 3.5).
int RefuseItself(int fd) {
  if (!IsOwnPeer(fd)) return fd;
  // Gone at once: the port is free for whoever is to listen there.
  const linger hard = {1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
  errno = ECONNREFUSED;
  return CloseAndFail(fd);
}

int ConnectOnce(const addrinfo& address, const Deadline& deadline) {
  const int fd = NewSocket(address);
  if (fd < 0) return -1;
  const int flags = fcntl(fd, F_GETFL);
  fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  int error = connect(fd, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    if (!Await(fd, POLLOUT, deadline, "the peer did not answer in time")) return CloseAndFail(fd);
    socklen_t size = sizeof(error);
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  fcntl(fd, F_SETFL, flags);
  if (error == 0) return RefuseItself(fd);
  errno = error;
  return CloseAndFail(fd);
}

// A path, which no HOST:PORT is.
bool IsLine(const char* address) { return strchr(address, '/') != nullptr; }

bool TimeIsValid(int timeout_ms) {
  if (timeout_ms >= 0) return true;
  Fail(EINVAL, "timeout_ms is %d: 0 or more", timeout_ms);
  return false;
}

// What a system call says of an address. -1.
int FailAt(const char* what, const char* address) {
  const int error = errno;
  return Fail(error, "%s %s: %s", what, address, strerror(error));
}

int ListenAt(const char* address) {
  if (IsLine(address)) return OpenLine(address);
  const Addresses addresses = Resolve(address, true);
  if (addresses == nullptr) return -1;
  int fd = -1;
  for (addrinfo* at = addresses.get(); at != nullptr && fd < 0; at = at->ai_next) fd = Listen(*at);
  return fd >= 0 ? fd : FailAt("cannot listen on", address);
}

int ConnectTo(const char* address, const Deadline& deadline) {
  if (IsLine(address)) return OpenLine(address);
  const Addresses addresses = Resolve(address, false);
  if (addresses == nullptr) return -1;
  for (;;) {
    bool refused = false;  // by one of them: somebody may listen there soon
    for (addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
      const int fd = ConnectOnce(*at, deadline);
      if (fd >= 0) return WithoutDelay(fd);
      refused = refused || errno == ECONNREFUSED;
    }
    if (!refused) return errno == ETIMEDOUT ? -1 : FailAt("cannot connect to", address);
    if (deadline.left_ms() == 0) return Fail(ETIMEDOUT, "nobody listens on %s", address);
    poll(nullptr, 0, std::min(deadline.left_ms(), kRetryMs));
  }
}

}  // namespace

}  // namespace exrnic

int vl_conn_listen(const char* address) try {
  return BeginCall({{"address", address}}) ? exrnic::ListenAt(address) : -1;
} catch (const std::bad_alloc&) {
  return Fail(ENOMEM);
}

int vl_conn_accept(int listener, int timeout_ms) {
  if (!BeginCall({}) || !exrnic::TimeIsValid(timeout_ms)) return -1;
  // poll would wait for what is none.
  if (fcntl(listener, F_GETFD) < 0) return Fail(EBADF, "listener is %d: not open", listener);
  if (!exrnic::IsSocket(listener)) return fcntl(listener, F_DUPFD_CLOEXEC, 0);
  const exrnic::Deadline deadline(timeout_ms);
  for (;;) {
    if (!exrnic::Await(listener, POLLIN, deadline, "nobody connected in time")) return -1;
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) return exrnic::WithoutDelay(fd);
    if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
      return Fail(errno, "cannot accept at file descriptor %d: %s", listener, strerror(errno));
  }
}

int vl_conn_connect(const char* address, int timeout_ms) try {
  if (!BeginCall({{"address", address}}) || !exrnic::TimeIsValid(timeout_ms)) return -1;
  return exrnic::ConnectTo(address, exrnic::Deadline(timeout_ms));
} catch (const std::bad_alloc&) {
  return Fail(ENOMEM);
}
