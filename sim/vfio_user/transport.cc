// SPDX-License-Identifier: BSD-2-Clause
#include "sim/vfio_user/transport.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace exrnic::vfio_user {
namespace {

// Room for one descriptor more than is allowed: its arrival is a fault that can then be named.
constexpr size_t kControlSize = CMSG_SPACE(sizeof(int) * (kMaxMessageFds + 1));

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

std::string error_text(const char* what) { return std::string(what) + ": " + strerror(errno); }

}  // namespace

Connection::Connection(UniqueFd socket, Peer peer) : socket_(std::move(socket)), peer_(peer) {
  ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
}

// Behind the shutdown no more can come, and what was sent can be read.
Connection::~Connection() {
  shut_down();
  char unread[4096];
  while (::recv(socket_.get(), unread, sizeof(unread), MSG_DONTWAIT) > 0) {
  }
}

void Connection::shut_down() { ::shutdown(socket_.get(), SHUT_RDWR); }

Connection::Status Connection::fail(std::string reason) {
  lost_ = true;
  failure_ = std::move(reason);
  incoming_ = {};
  return Status::kMalformed;
}

// Takes ownership first and judges afterwards, so that no descriptor is ever lost.
bool Connection::take_fds(void* message_header) {
  auto* header = static_cast<msghdr*>(message_header);
  for (cmsghdr* c = CMSG_FIRSTHDR(header); c != nullptr; c = CMSG_NXTHDR(header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
      incoming_.fds.emplace_back(fd);
    }
  }
  if ((header->msg_flags & MSG_CTRUNC) != 0 || incoming_.fds.size() > kMaxMessageFds) {
    fail("more than " + std::to_string(kMaxMessageFds) +
         " file descriptors in a message, or no room for them in this process");
    return false;
  }
  return true;
}

// Never asks for a byte beyond the current message: descriptors that the kernel hands over with
// these bytes then belong to this message and no other.
Connection::Status Connection::receive_into(uint8_t* to, size_t wanted, size_t* have) {
  while (*have < wanted) {
    alignas(cmsghdr) char control[kControlSize];
    iovec data{to + *have, wanted - *have};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0) {
      if (errno == EINTR) continue;
      if (would_block()) return Status::kNothing;
      if (errno == ECONNRESET) {
        lost_ = true;
        return Status::kClosed;
      }
      return fail(error_text("receive"));
    }
    if (!take_fds(&message)) return Status::kMalformed;
    if (got == 0) {
      if (header_have_ != 0) return fail("the peer left in the middle of a message");
      lost_ = true;
      return Status::kClosed;
    }
    *have += static_cast<size_t>(got);
  }
  return Status::kMessage;
}

Connection::Status Connection::receive(Message* out) {
  if (!failure_.empty()) return Status::kMalformed;
  if (header_have_ < sizeof(Header)) {
    const Status status = receive_into(header_bytes_, sizeof(Header), &header_have_);
    if (status != Status::kMessage) return status;
    const Header header = decode_header(header_bytes_);
    const bool is_reply = both_ways_ ? header.is_reply() : peer_ == Peer::kServer;
    const Parsed<Header> checked = is_reply ? check_reply(header) : check_request(header);
    if (const auto* fault = std::get_if<Fault>(&checked)) return fail(fault->reason);
    incoming_.header = header;
    incoming_.payload.resize(header.size - sizeof(Header));
  }
  const Status status =
      receive_into(incoming_.payload.data(), incoming_.payload.size(), &payload_have_);
  if (status != Status::kMessage) return status;
  *out = std::exchange(incoming_, {});
  header_have_ = 0;
  payload_have_ = 0;
  return Status::kMessage;
}

bool Connection::send_some(Outgoing& item) {
  while (item.sent < item.bytes.size()) {
    alignas(cmsghdr) char control[kControlSize];
    iovec data{item.bytes.data() + item.sent, item.bytes.size() - item.sent};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    if (!item.fds.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(sizeof(int) * item.fds.size());
      std::memset(control, 0, message.msg_controllen);
      cmsghdr* c = CMSG_FIRSTHDR(&message);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(sizeof(int) * item.fds.size());
      for (size_t i = 0; i < item.fds.size(); ++i) {
        const int fd = item.fds[i].get();
        std::memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(fd));
      }
    }
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (!would_block()) lost_ = true;
      return false;
    }
    item.fds.clear();
    item.sent += static_cast<size_t>(sent);
    queued_bytes_ -= static_cast<size_t>(sent);
  }
  return true;
}

bool Connection::send(const Header& header, const Bytes& payload, const std::vector<int>& fds) {
  if (lost_ || fds.size() > kMaxMessageFds) return false;
  Outgoing item;
  Header out = header;
  out.size = static_cast<uint32_t>(sizeof(Header) + payload.size());
  item.bytes.resize(out.size);
  std::memcpy(item.bytes.data(), &out, sizeof(out));
  std::copy(payload.begin(), payload.end(), item.bytes.begin() + sizeof(out));
  for (const int fd : fds) {
    UniqueFd duplicate(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!duplicate) return false;
    item.fds.push_back(std::move(duplicate));
  }
  queued_bytes_ += item.bytes.size();
  outgoing_.push_back(std::move(item));
  return flush();
}

bool Connection::flush() {
  while (!lost_ && !outgoing_.empty() && send_some(outgoing_.front())) outgoing_.pop_front();
  return !lost_;
}

}  // namespace exrnic::vfio_user
