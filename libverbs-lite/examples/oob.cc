// SPDX-License-Identifier: BSD-2-Clause
#include "oob.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <stdexcept>

namespace exrnic {

namespace {

uint32_t DrawSession() {
  std::random_device random;
  uint32_t session = 0;
  while (session == 0) session = random();
  return session;
}

// Whoever writes to a peer that is gone lives on to say why: no SIGPIPE.
ssize_t WriteSome(int fd, const uint8_t* bytes, size_t count) {
  const ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);
  return sent < 0 && errno == ENOTSOCK ? write(fd, bytes, count) : sent;
}

std::string ErrnoText(const std::string& what) { return what + ": " + strerror(errno); }

int MillisecondsUntil(std::chrono::steady_clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      until - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<int64_t>(0, left.count()));
}

std::string Seconds(std::chrono::milliseconds limit) {
  return std::to_string(limit.count() / 1000) + " s";
}

}  // namespace

Oob::Oob(int fd, std::string program, OobLimits limits)
    : fd_(fd), program_(std::move(program)), limits_(limits), session_(DrawSession()) {
  fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
}

Oob::~Oob() {
  if (isatty(fd_)) tcdrain(fd_);
  close(fd_);
}

OobFrame Oob::MakeFrame(OobKind kind) const {
  OobFrame frame;
  frame.kind = kind;
  frame.session = session_;
  frame.peer_session = peer_session_;
  return frame;
}

void Oob::Write(const OobFrame& frame) {
  const std::vector<uint8_t> bytes = EncodeOobFrame(frame);
  const Clock::time_point until = Clock::now() + limits_.message;
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = WriteSome(fd_, bytes.data() + done, bytes.size() - done);
    if (count > 0) {
      done += static_cast<size_t>(count);
      continue;
    }
    // What there is to read tells why.
    if (count < 0 && (errno == EPIPE || errno == ECONNRESET)) return;
    if (count < 0 && errno != EAGAIN && errno != EINTR) {
      throw std::runtime_error(ErrnoText("cannot write to the out-of-band line"));
    }
    pollfd ready = {fd_, POLLOUT, 0};
    poll(&ready, 1, MillisecondsUntil(until));
    if (Clock::now() >= until) {
      throw std::runtime_error("the out-of-band line took no byte for " + Seconds(limits_.message));
    }
  }
}

void Oob::ReadSome(Clock::time_point until) {
  pollfd ready = {fd_, POLLIN, 0};
  if (poll(&ready, 1, MillisecondsUntil(until)) <= 0) return;
  uint8_t bytes[512];
  const ssize_t count = read(fd_, bytes, sizeof(bytes));
  if (count > 0) {
    parser_.Add(bytes, static_cast<size_t>(count));
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    throw std::runtime_error("the out-of-band line was closed");
  }
}

// Reads what comes until then at the latest, and handles it.
void Oob::Serve(Clock::time_point until) {
  ReadSome(until);
  while (std::optional<OobFrame> frame = parser_.Next()) Handle(*frame);
  if (parser_.foreign_version() != 0) {
    throw std::runtime_error(
        "the peer speaks version " + std::to_string(parser_.foreign_version()) +
        " of the out-of-band frames, this program version " + std::to_string(kOobVersion));
  }
}

void Oob::Handle(const OobFrame& frame) {
  if (frame.kind == OobKind::kSyn) return HandleSyn(frame);
  // All others must be for this run of the program, not for one before it on the same line.
  if (frame.peer_session != session_) return;
  if (frame.kind == OobKind::kSynAck) {
    if (connected_) return;
    peer_session_ = frame.session;
    connected_ = true;
    return;
  }
  if (!connected_ || frame.session != peer_session_) return;
  if (frame.kind == OobKind::kAck) {
    acknowledged_ = std::max(acknowledged_, frame.sequence);
  } else if (frame.kind == OobKind::kData) {
    HandleData(frame);
  } else if (frame.kind == OobKind::kAbort) {
    throw std::runtime_error("the peer gave up: " +
                             std::string(frame.payload.begin(), frame.payload.end()));
  }
}

void Oob::HandleSyn(const OobFrame& frame) {
  // The line keeps the order: this is no late word of an earlier run.
  if (connected_ && frame.session != peer_session_) {
    throw std::runtime_error("the peer was started anew");
  }
  const std::string program(frame.payload.begin(), frame.payload.end());
  if (program != program_) {
    throw std::runtime_error("the peer runs \"" + program + "\", this is \"" + program_ + "\"");
  }
  OobFrame answer = MakeFrame(OobKind::kSynAck);
  answer.peer_session = frame.session;
  Write(answer);
}

void Oob::HandleData(const OobFrame& frame) {
  if (frame.sequence > next_expected_) return;
  if (frame.sequence == next_expected_) {
    received_.push_back(frame);
    ++next_expected_;
  }
  OobFrame answer = MakeFrame(OobKind::kAck);
  answer.sequence = frame.sequence;
  Write(answer);
}

void Oob::Connect() {
  const Clock::time_point until = Clock::now() + limits_.connect;
  OobFrame syn = MakeFrame(OobKind::kSyn);
  syn.payload.assign(program_.begin(), program_.end());
  while (!connected_) {
    if (Clock::now() >= until) {
      throw std::runtime_error("no peer on the out-of-band line within " +
                               Seconds(limits_.connect));
    }
    Write(syn);
    const Clock::time_point again = std::min(until, Clock::now() + limits_.repeat);
    while (!connected_ && Clock::now() < again) Serve(again);
  }
}

void Oob::Send(uint32_t type, const std::vector<uint8_t>& payload) {
  if (payload.size() > kOobPayloadMax) throw std::runtime_error("an out-of-band message too long");
  OobFrame frame = MakeFrame(OobKind::kData);
  frame.sequence = next_sequence_++;
  frame.type = type;
  frame.payload = payload;
  const Clock::time_point until = Clock::now() + limits_.message;
  while (acknowledged_ < frame.sequence) {
    if (Clock::now() >= until) {
      throw std::runtime_error("the peer did not take message " + std::to_string(type) +
                               " within " + Seconds(limits_.message));
    }
    Write(frame);
    const Clock::time_point again = std::min(until, Clock::now() + limits_.repeat);
    while (acknowledged_ < frame.sequence && Clock::now() < again) Serve(again);
  }
}

std::vector<uint8_t> Oob::Receive(uint32_t type) {
  const Clock::time_point until = Clock::now() + limits_.message;
  while (received_.empty()) {
    if (Clock::now() >= until) {
      throw std::runtime_error("the peer sent no message " + std::to_string(type) + " within " +
                               Seconds(limits_.message));
    }
    Serve(until);
  }
  const OobFrame frame = received_.front();
  received_.pop_front();
  if (frame.type != type) {
    throw std::runtime_error("the peer sent message " + std::to_string(frame.type) + " where " +
                             std::to_string(type) + " was due");
  }
  return frame.payload;
}

void Oob::Abort(const std::string& reason) noexcept {
  try {
    if (!connected_) return;
    OobFrame frame = MakeFrame(OobKind::kAbort);
    const size_t length = std::min(reason.size(), kOobPayloadMax);
    frame.payload.assign(reason.begin(), reason.begin() + static_cast<std::ptrdiff_t>(length));
    Write(frame);
  } catch (const std::exception&) {
    // The line is gone as well: nobody is left to be told.
  }
}

void Oob::ThrowLength(uint32_t type, size_t got, size_t expected) {
  throw std::runtime_error("message " + std::to_string(type) + " has " + std::to_string(got) +
                           " bytes, " + std::to_string(expected) + " were due");
}

}  // namespace exrnic
