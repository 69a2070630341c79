// SPDX-License-Identifier: BSD-2-Clause
// Requests of a port's bus: cut into TLPs, named by tags, put together when they are completed.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "rtl-model/ref/peb/tlp.h"

namespace exrnic::peb {

// Of the bus, with a name of its own. A read of memory has 1 to PEB_REQUEST_MAX bytes.
struct BusRequest {
  uint64_t id = 0;
  Request::Kind kind = Request::Kind::kRead;
  uint64_t address = 0;
  uint32_t length = 0;
  Bytes data;  // of a write
};

// How one has ended; `data` if it was a read that is successful.
struct Answer {
  uint64_t id = 0;
  exrnic_completion_status status = EXRNIC_COMPLETION_STATUS_SUCCESSFUL;
  Bytes data;
};

class Requester {
 public:
  Requester(uint16_t max_read, uint8_t timeout_shift)
      : max_read_(max_read), timeout_shift_(timeout_shift) {}

  // Its TLPs, in order; each gets its tag when it leaves.
  std::deque<Request> cut(BusRequest&& request);
  bool has_tag() const;
  void name(Request& oldest);

  enum class Taken { kNothing, kEnd, kBad };  // nobody has asked for what is bad
  Taken complete(const Completion& completion, Answer& end);

  // Those that waited for too long. Their tags stay taken until what is owed has come.
  std::deque<Answer> time_out(uint64_t time_ns);
  uint64_t timeouts() const { return timeouts_; }  // so far, of TLPs
  // No tag will come back; or the oldest that has none has waited for as long as a time-out takes.
  bool is_stuck() const;
  bool idle() const;
  uint64_t interval(uint64_t time_ns) const { return time_ns >> timeout_shift_; }

  // All that waits ends, as unsupported.
  std::deque<Answer> fail();

 private:
  // Of the bus.
  struct Whole {
    Answer answer;
    uint64_t address = 0;
    size_t pieces = 0;  // that have not ended
  };
  struct Piece {
    std::shared_ptr<Whole> whole;
    Request request;
    unsigned age = 0;  // intervals that have begun since it was asked, or has left
  };
  struct UnderWay {
    Piece piece;
    uint32_t completed = 0;  // bytes
    bool late = false;       // nobody waits for it any more
  };

  bool is_good(const UnderWay& under_way, const Completion& completion) const;
  static bool is_overdue(const Piece& piece) { return piece.age >= 2; }
  static bool end_piece(Piece& piece, exrnic_completion_status status, Answer& end);

  const uint16_t max_read_;
  const uint8_t timeout_shift_;
  uint64_t interval_ = 0;
  uint64_t timeouts_ = 0;
  std::deque<Piece> unnamed_;
  std::array<std::optional<UnderWay>, EXRNIC_PEB_TAGS> tags_;
};

}  // namespace exrnic::peb
