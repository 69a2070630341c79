// SPDX-License-Identifier: BSD-2-Clause
// Two ends meet: vl_connect_qp, vl_conn_meet. Over sockets here, over serial lines in conn_line.cc.
#include "exrnic/connect.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "conn_line.h"
#include "conn_message.h"
#include "conn_wait.h"
#include "pd.h"
#include "qp.h"
#include "rnic.h"
#include "transport/error_text.h"

using exrnic::BeginCall;
using exrnic::Fail;

namespace exrnic {

namespace {

bool FailClosed() {
  Fail(ECONNRESET, "the peer closed the connection");
  return false;
}

// What send or recv has said. False.
bool FailStream() {
  if (errno == EPIPE || errno == ECONNRESET) return FailClosed();
  Fail(errno, "the connection has failed: %s", strerror(errno));
  return false;
}

template <size_t N>
bool SendAll(int fd, const std::array<uint8_t, N>& bytes, const Deadline& deadline) {
  for (size_t done = 0; done < N;) {
    const ssize_t count = send(fd, &bytes[done], N - done, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) {
      done += static_cast<size_t>(count);
    } else if (errno == EAGAIN) {
      if (!Await(fd, POLLOUT, deadline, "the peer takes no message")) return false;
    } else if (errno != EINTR) {
      return FailStream();
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
      return FailClosed();
    } else if (errno == EAGAIN) {
      if (!Await(fd, POLLIN, deadline, "the peer sent nothing in time")) return false;
    } else if (errno != EINTR) {
      return FailStream();
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

bool ExchangeHeads(int fd, ConnKind kind, const Deadline& deadline) {
  return SendAll(fd, EncodeConnHead(kind, 0), deadline) && ReceiveHead(fd, kind, 0, deadline);
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

// Of vl_connect_qp, over either.
class QpMeeting {
 public:
  QpMeeting(vl_qp* qp, const vl_conn_info& mine) : qp_(qp), mine_(mine) {
    mine_.node_id = qp->pd->rnic->info.node_id;
    mine_.qpn = qp->number;
  }

  // What the peer is to know.
  ConnInfoBody body() const { return EncodeConnInfo(mine_, qp_->service); }
  // The peer's. False with an error; else the queue pair is in RTS.
  bool Join(const ConnInfoBody& body) {
    const int error = DecodeConnInfo(body, qp_->service, &theirs_);
    if (error != 0) Fail(error);
    return error == 0 && TakeToRts(qp_, theirs_);
  }
  const vl_conn_info& theirs() const { return theirs_; }

 private:
  vl_qp* const qp_;
  vl_conn_info mine_;
  vl_conn_info theirs_ = {};
};

bool QpsMeetOnSocket(int fd, QpMeeting* meeting, const Deadline& deadline) {
  ConnInfoBody body = meeting->body();
  return SendAll(fd, EncodeConnHead(ConnKind::kInfo, body.size()), deadline) &&
         SendAll(fd, body, deadline) && ReceiveHead(fd, ConnKind::kInfo, body.size(), deadline) &&
         ReceiveAll(fd, &body, deadline) && meeting->Join(body) &&
         // Nothing may arrive before the other one knows its peer, too.
         ExchangeHeads(fd, ConnKind::kReady, deadline);
}

bool QpsMeetOnLine(int fd, QpMeeting* meeting, const Deadline& deadline) {
  return MeetOnLine(fd, ConnKind::kInfo, meeting->body(), deadline,
                    [meeting](const ConnInfoBody& body) { return meeting->Join(body); });
}

// False with an error.
bool IsOpen(int fd) {
  if (fcntl(fd, F_GETFD) >= 0) return true;
  Fail(EBADF, "fd is %d: not open", fd);
  return false;
}

}  // namespace

}  // namespace exrnic

int vl_connect_qp(vl_qp* qp, int fd, const vl_conn_info* mine, vl_conn_info* theirs,
                  int timeout_ms) {
  if (!BeginCall({{"qp", qp}, {"mine", mine}, {"theirs", theirs}}) ||
      !exrnic::IsWithin("mine->private_len", mine->private_len, 0, VL_CONN_PRIVATE_MAX)) {
    return -1;
  }
  if (timeout_ms < 0) return Fail(EINVAL, "timeout_ms is %d: 0 or more", timeout_ms);
  if (qp->service == VL_SERVICE_UD)
    return Fail(EINVAL, "a queue pair of VL_SERVICE_UD has no peer to connect to");
  if (!exrnic::IsOpen(fd)) return -1;
  const exrnic::Deadline deadline(timeout_ms);
  exrnic::QpMeeting meeting(qp, *mine);
  const bool met = exrnic::IsSocket(fd) ? exrnic::QpsMeetOnSocket(fd, &meeting, deadline)
                                        : exrnic::QpsMeetOnLine(fd, &meeting, deadline);
  if (met) *theirs = meeting.theirs();
  return met ? 0 : -1;
}

int vl_conn_meet(int fd, int timeout_ms) {
  BeginCall({});
  if (timeout_ms < 0) return Fail(EINVAL, "timeout_ms is %d: 0 or more", timeout_ms);
  if (!exrnic::IsOpen(fd)) return -1;
  const exrnic::Deadline deadline(timeout_ms);
  const bool met = exrnic::IsSocket(fd)
                       ? exrnic::ExchangeHeads(fd, exrnic::ConnKind::kMeet, deadline)
                       : exrnic::MeetOnLine(fd, exrnic::ConnKind::kMeet, {}, deadline,
                                            [](const exrnic::ConnInfoBody&) { return true; });
  return met ? 0 : -1;
}
