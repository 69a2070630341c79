// SPDX-License-Identifier: BSD-2-Clause
#include "exrnic/connect.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <new>
#include <string>

#include "conn_message.h"
#include "error_text.h"
#include "own_peer.h"
#include "pd.h"
#include "qp.h"
#include "rnic.h"

using exrnic::Fail;

namespace exrnic {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRetryMs = 20;

class Deadline {
 public:
  explicit Deadline(int timeout_ms) : end_(Clock::now() + std::chrono::milliseconds(timeout_ms)) {}
  int left_ms() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return static_cast<int>(std::max<int64_t>(0, left));
  }

 private:
  const Clock::time_point end_;
};

int FailSaying(int error, const char* text) {
  SetErrorText(text);
  errno = error;
  return -1;
}

// Until the socket is ready. False with errno.
bool Await(int fd, short events, const Deadline& deadline, const char* what) {
  for (;;) {
    pollfd ready = {fd, events, 0};
    const int count = poll(&ready, 1, deadline.left_ms());
    if (count > 0) return true;
    if (count == 0) FailSaying(ETIMEDOUT, what);
    if (count == 0 || errno != EINTR) return false;
  }
}

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// getaddrinfo takes what is beyond 16 bits modulo 2^16.
bool IsPort(const std::string& text) {
  if (text.empty() || text.size() > 5) return false;
  if (text.find_first_not_of("0123456789") != std::string::npos) return false;
  return std::stoi(text) <= UINT16_MAX;
}

// "HOST:PORT" in its parts. Null: it is none, or nobody knows the host; errno is EINVAL.
Addresses Resolve(const char* address, bool passive) {
  Addresses none(nullptr, freeaddrinfo);
  const std::string text = address == nullptr ? "" : address;
  const size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon == std::string::npos ? 0 : colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  const bool whole = colon != std::string::npos && IsPort(text.substr(colon + 1));
  if (!whole || (host.empty() && !passive)) {
    FailSaying(EINVAL, ("\"" + text + "\" is no HOST:PORT").c_str());
    return none;
  }
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                text.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0) {
    FailSaying(EINVAL, ("\"" + text + "\": " + gai_strerror(error)).c_str());
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

template <size_t N>
bool SendAll(int fd, const std::array<uint8_t, N>& bytes, const Deadline& deadline) {
  for (size_t done = 0; done < N;) {
    const ssize_t count = send(fd, &bytes[done], N - done, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) {
      done += static_cast<size_t>(count);
    } else if (errno == EPIPE) {
      return FailSaying(ECONNRESET, "the peer closed the connection") == 0;
    } else if (errno == EAGAIN) {
      if (!Await(fd, POLLOUT, deadline, "the peer takes no message")) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

template <size_t N>
bool ReceiveAll(int fd, std::array<uint8_t, N>* bytes, const Deadline& deadline) {
  for (size_t done = 0; done < N;) {
    const ssize_t count = recv(fd, bytes->data() + done, N - done, MSG_DONTWAIT);
    if (count > 0) {
      done += static_cast<size_t>(count);
    } else if (count == 0) {
      return FailSaying(ECONNRESET, "the peer closed the connection") == 0;
    } else if (errno == EAGAIN) {
      if (!Await(fd, POLLIN, deadline, "the peer sent nothing in time")) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool ReceiveHead(int fd, ConnKind kind, size_t body_bytes, const Deadline& deadline) {
  ConnHead head;
  if (!ReceiveAll(fd, &head, deadline)) return false;
  const int error = CheckConnHead(head, kind, body_bytes);
  if (error != 0) errno = error;
  return error == 0;
}

bool ExchangeInfo(int fd, vl_service service, const vl_conn_info& mine, vl_conn_info* theirs,
                  const Deadline& deadline) {
  ConnInfoBody body = EncodeConnInfo(mine, service);
  if (!SendAll(fd, EncodeConnHead(ConnKind::kInfo, body.size()), deadline) ||
      !SendAll(fd, body, deadline) || !ReceiveHead(fd, ConnKind::kInfo, body.size(), deadline) ||
      !ReceiveAll(fd, &body, deadline)) {
    return false;
  }
  const int error = DecodeConnInfo(body, service, theirs);
  if (error != 0) errno = error;
  return error == 0;
}

bool GoTo(vl_qp* qp, vl_qp_state state, const vl_conn_info& peer) {
  vl_qp_attr attr = {};
  attr.state = state;
  attr.dest_node = peer.node_id;
  attr.dest_qpn = peer.qpn;
  attr.min_rnr_timer = VL_CONN_RNR_TIMER;
  attr.rnr_retry = VL_RNR_RETRY_ENDLESS;
  return vl_modify_qp(qp, &attr) == 0;
}

bool TakeToRts(vl_qp* qp, const vl_conn_info& peer) {
  if (qp->state == VL_QPS_RESET && !GoTo(qp, VL_QPS_INIT, peer)) return false;
  return GoTo(qp, VL_QPS_RTR, peer) && GoTo(qp, VL_QPS_RTS, peer);
}

}  // namespace

}  // namespace exrnic

int vl_conn_listen(const char* address) try {
  exrnic::ClearErrorText();
  const auto addresses = exrnic::Resolve(address, true);
  int fd = -1;
  for (addrinfo* at = addresses.get(); at != nullptr && fd < 0; at = at->ai_next) {
    fd = exrnic::Listen(*at);
  }
  return fd;
} catch (const std::bad_alloc&) {
  return Fail(ENOMEM);
}

int vl_conn_accept(int listener, int timeout_ms) {
  if (timeout_ms < 0) return Fail(EINVAL);
  if (listener < 0) return Fail(EBADF);  // poll would wait for it
  exrnic::ClearErrorText();
  const exrnic::Deadline deadline(timeout_ms);
  for (;;) {
    if (!exrnic::Await(listener, POLLIN, deadline, "nobody connected in time")) return -1;
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) return exrnic::WithoutDelay(fd);
    if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) return -1;
  }
}

int vl_conn_connect(const char* address, int timeout_ms) try {
  if (timeout_ms < 0) return Fail(EINVAL);
  exrnic::ClearErrorText();
  const exrnic::Deadline deadline(timeout_ms);
  const auto addresses = exrnic::Resolve(address, false);
  if (addresses == nullptr) return -1;
  for (;;) {
    bool refused = false;  // by one of them: somebody may listen there soon
    for (addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
      const int fd = exrnic::ConnectOnce(*at, deadline);
      if (fd >= 0) return exrnic::WithoutDelay(fd);
      refused = refused || errno == ECONNREFUSED;
    }
    if (!refused) return -1;
    if (deadline.left_ms() == 0) {
      return exrnic::FailSaying(ETIMEDOUT, ("nobody listens on " + std::string(address)).c_str());
    }
    poll(nullptr, 0, std::min(deadline.left_ms(), exrnic::kRetryMs));
  }
} catch (const std::bad_alloc&) {
  return Fail(ENOMEM);
}

int vl_connect_qp(vl_qp* qp, int fd, const vl_conn_info* mine, vl_conn_info* theirs,
                  int timeout_ms) {
  if (qp == nullptr || mine == nullptr || theirs == nullptr || timeout_ms < 0 ||
      mine->private_len > VL_CONN_PRIVATE_MAX) {
    return Fail(EINVAL);
  }
  exrnic::ClearErrorText();
  if (qp->service == VL_SERVICE_UD) {
    return exrnic::FailSaying(EINVAL, "a queue pair of VL_SERVICE_UD has no peer to connect to");
  }
  const exrnic::Deadline deadline(timeout_ms);
  vl_conn_info filled = *mine;
  filled.node_id = qp->pd->rnic->info.node_id;
  filled.qpn = vl_qp_number(qp);
  vl_conn_info peer = {};
  if (!exrnic::ExchangeInfo(fd, qp->service, filled, &peer, deadline) ||
      !exrnic::TakeToRts(qp, peer)) {
    return -1;
  }
  // Nothing may arrive before the other one knows its peer, too.
  const bool both =
      exrnic::SendAll(fd, exrnic::EncodeConnHead(exrnic::ConnKind::kReady, 0), deadline) &&
      exrnic::ReceiveHead(fd, exrnic::ConnKind::kReady, 0, deadline);
  if (both) *theirs = peer;
  return both ? 0 : -1;
}
