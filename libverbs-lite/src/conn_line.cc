// SPDX-License-Identifier: BSD-2-Clause
#include "conn_line.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "transport/error_text.h"

namespace exrnic {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// The pauses between words that say the same; the peer may start later, and need not drown.
constexpr milliseconds kFirstPause(100);
constexpr milliseconds kLongestPause(2000);
// The last word may be lost: it is said again when the peer goes on to wait for it...
constexpr milliseconds kLastPause(1000);
// ...and who knows that both are ready goes when the peer has been silent for so long.
constexpr milliseconds kSilence = 3 * kLongestPause;

// False with errno: it is no terminal.
bool SetRaw(int fd) {
  termios mode;
  if (tcgetattr(fd, &mode) != 0) return false;
  cfmakeraw(&mode);
  mode.c_cflag |= CLOCAL | CREAD;
  return tcsetattr(fd, TCSANOW, &mode) == 0;
}

// 0 with an error.
uint32_t DrawSession() {
  uint32_t session = 0;
  while (session == 0) {
    if (getrandom(&session, sizeof(session), 0) != sizeof(session)) {
      Fail(errno, "getrandom: %s", strerror(errno));
      return 0;
    }
  }
  return session;
}

// Neither reading nor writing waits, until it ends.
class WithoutWaiting {
 public:
  explicit WithoutWaiting(int fd) : fd_(fd), flags_(fcntl(fd, F_GETFL)) {
    fcntl(fd_, F_SETFL, flags_ | O_NONBLOCK);
  }
  ~WithoutWaiting() { fcntl(fd_, F_SETFL, flags_); }
  WithoutWaiting(const WithoutWaiting&) = delete;
  WithoutWaiting& operator=(const WithoutWaiting&) = delete;

 private:
  const int fd_;
  const int flags_;
};

// One call at one end.
class LineMeeting {
 public:
  LineMeeting(int fd, ConnKind kind, const ConnInfoBody& mine, uint32_t session) : fd_(fd) {
    mine_.kind = kind;
    mine_.body = mine;
    mine_.session = session;
  }

  // False with an error.
  bool Run(const Deadline& deadline, const std::function<bool(const ConnInfoBody&)>& join) {
    while (!Over()) {
      // Who has met knows that the peer is ready.
      if (deadline.left_ms() == 0) return mine_.stage == LineStage::kMet || FailLate();
      if (!Write() || !Wait(deadline) || !Read(join)) return false;
    }
    return true;
  }

  // The peer need not wait for its time limit.
  void TellFailure() {
    const int error = errno;
    mine_.stage = LineStage::kLeaves;
    if (written_ == kLineWordBytes) {
      const LineBytes last = EncodeLineWord(mine_);
      if (write(fd_, last.data(), last.size()) < 0) errno = error;  // it finds out by itself
    }
    errno = error;
  }

 private:
  bool Over() const {
    return told_ == LineStage::kMet && IsWritten() &&
           (peer_has_met_ || Clock::now() >= heard_ + kSilence);
  }
  bool IsWritten() const { return written_ == kLineWordBytes; }

  bool FailLate() const {
    Fail(ETIMEDOUT, "%s",
         mine_.heard == 0 ? "nobody with this version of the library spoke on the line in time"
                          : "the other end of the line did not come so far in time");
    return false;
  }
  static bool FailClosed() {
    Fail(ECONNRESET, "the line was closed at its other end");
    return false;
  }

  // What changed is said at once.
  void Go(LineStage stage) {
    mine_.stage = stage;
    Hurry();
  }
  void Hurry() {
    next_ = Clock::now();
    pause_ = kFirstPause;
  }

  // As much of a word as the line takes; the next one when this one is out and it is time.
  bool Write() {
    if (IsWritten() && Clock::now() >= next_) {
      out_ = EncodeLineWord(mine_);
      written_ = 0;
      told_ = mine_.stage;
      next_ = Clock::now() + (told_ == LineStage::kMet ? kLastPause : pause_);
      pause_ = std::min(pause_ * 2, kLongestPause);
    }
    while (!IsWritten()) {
      const ssize_t count = write(fd_, &out_[written_], kLineWordBytes - written_);
      if (count > 0) {
        written_ += static_cast<size_t>(count);
      } else if (errno == EAGAIN) {
        return true;
      } else if (errno != EINTR) {
        return FailClosed();
      }
    }
    return true;
  }

  bool Wait(const Deadline& deadline) const {
    if (Over()) return true;
    const auto pause = std::chrono::ceil<milliseconds>(next_ - Clock::now()).count();
    const int ms = IsWritten() ? static_cast<int>(std::clamp<int64_t>(pause, 0, deadline.left_ms()))
                               : deadline.left_ms();
    pollfd ready = {fd_, static_cast<short>(IsWritten() ? POLLIN : POLLIN | POLLOUT), 0};
    if (poll(&ready, 1, ms) >= 0 || errno == EINTR) return true;
    Fail(errno, "poll: %s", strerror(errno));
    return false;
  }

  // Never beyond the end of a word: what is behind the last one is the program's. Once: there may
  // be noise without end, and in between there is to be said what there is to say, and looked at
  // the time.
  bool Read(const std::function<bool(const ConnInfoBody&)>& join) {
    if (Over()) return true;
    const ssize_t count = read(fd_, &in_[have_], kLineWordBytes - have_);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (count <= 0) return FailClosed();
    const size_t total = have_ + static_cast<size_t>(count);
    const std::optional<LineWord> word =
        total == kLineWordBytes ? DecodeLineWord(in_) : std::nullopt;
    if (word && !Hear(*word, join)) return false;
    // Else noise, a damaged word or a part of one: a word may begin in it.
    const size_t skipped = total == kLineWordBytes ? 1 : 0;
    have_ = word ? 0 : BeginningOfWord(in_.data() + skipped, total - skipped);
    memmove(in_.data(), in_.data() + total - have_, have_);
    return true;
  }

  bool Hear(const LineWord& word, const std::function<bool(const ConnInfoBody&)>& join) {
    if (word.session == mine_.session) return true;  // an echo
    if (mine_.stage != LineStage::kLooks && word.session != mine_.heard) return HearOther();
    if (word.session != mine_.heard) Hurry();
    mine_.heard = word.session;
    // Of a program before, or of one that has not heard of this call.
    if (word.heard != mine_.session) return true;
    heard_ = Clock::now();
    if (word.stage == LineStage::kLeaves) {
      Fail(ECONNRESET, "the peer gave up");
      return false;
    }
    if (word.kind != mine_.kind) {
      Fail(EPROTO, "the peer is in another call: one of vl_connect_qp and vl_conn_meet");
      return false;
    }
    if (mine_.stage == LineStage::kLooks) {
      if (!join(word.body)) return false;
      Go(LineStage::kReady);
    }
    if (mine_.stage == LineStage::kReady && word.stage >= LineStage::kReady) Go(LineStage::kMet);
    peer_has_met_ = word.stage == LineStage::kMet;
    return true;
  }

  // A word of another call, behind one that had heard of this. A peer that has met may be in its
  // next call, and its last word be lost.
  bool HearOther() {
    if (mine_.stage == LineStage::kMet) {
      peer_has_met_ = true;
      return true;
    }
    Fail(ECONNRESET, "the peer was started anew");
    return false;
  }

  const int fd_;
  LineWord mine_;
  LineBytes out_ = {};
  size_t written_ = kLineWordBytes;  // of out_
  LineStage told_ = LineStage::kLooks;
  Clock::time_point next_ = Clock::now();
  milliseconds pause_ = kFirstPause;
  LineBytes in_ = {};
  size_t have_ = 0;          // of in_
  Clock::time_point heard_;  // when the peer last spoke to this call
  bool peer_has_met_ = false;
};

}  // namespace

int OpenLine(const char* path) {
  const int fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return Fail(errno, "%s: %s", path, strerror(errno));
  if (!SetRaw(fd)) {
    const int error = errno;
    close(fd);
    return Fail(error, "%s cannot be set to raw mode, as a serial line can: %s", path,
                strerror(error));
  }
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

bool MeetOnLine(int fd, ConnKind kind, const ConnInfoBody& mine, const Deadline& deadline,
                const std::function<bool(const ConnInfoBody&)>& join) {
  const uint32_t session = DrawSession();
  if (session == 0) return false;
  if (isatty(fd)) SetRaw(fd);
  const WithoutWaiting flags(fd);
  LineMeeting meeting(fd, kind, mine, session);
  const bool met = meeting.Run(deadline, join);
  if (!met) meeting.TellFailure();
  return met;
}

}  // namespace exrnic
