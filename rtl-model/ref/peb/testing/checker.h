// SPDX-License-Identifier: BSD-2-Clause
// Judges what two buses see of each other through PEBs, from their transactions alone: nothing is
// lost, doubled, changed or overtaken by what must not pass it, but for what a link that goes down
// may cost. It knows nothing of frames.
//
// Addresses say which transaction it is: of number n from n * kStride on; of a register, modulo
// kRegisters.
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <map>
#include <string>

#include "rtl-model/ref/peb/port.h"

namespace exrnic::peb::testing {

constexpr uint64_t kStride = 16384;
constexpr uint64_t kRegister = 4;
constexpr uint64_t kRegisters = 1024;
constexpr uint64_t kReads = uint64_t{1} << 50;  // reads from there on, so that they are no writes

inline uint8_t pattern(uint64_t address) {
  return static_cast<uint8_t>((address * 0x9e3779b97f4a7c15u) >> 56);
}
inline Bytes pattern_at(uint64_t address, size_t length) {
  Bytes data(length);
  for (size_t i = 0; i < length; ++i) data[i] = pattern(address + i);
  return data;
}

// Cheaper than REQUIRE() where nearly all is well.
inline void require(bool holds, const char* what, uint64_t number = 0) {
  if (!holds) FAIL(what << ": " << number);
}

// What one bus says to the other.
class Direction {
 public:
  Direction(uint16_t max_payload, uint16_t max_read, uint64_t patience_ns)
      : max_payload_(max_payload), max_read_(max_read), patience_ns_(patience_ns) {}

  // ---- at the bus that begins

  // Returns where it has to be.
  uint64_t writes(size_t length, uint64_t offset) {
    const uint64_t address = ++entered_ * kStride + offset;
    writes_[entered_] = {address, length, epoch_, up_};
    return address;
  }
  BusRequest asks(Request::Kind kind, uint32_t length, uint64_t offset, uint64_t now_ns) {
    BusRequest request{++asked_, kind, offset, length, {}};
    if (kind == Request::Kind::kRead) {
      request.address += kReads + asked_ * kStride;
    } else {
      request.address += asked_ % kRegisters * kRegister;
    }
    if (kind == Request::Kind::kConfigWrite) request.data = pattern_at(asked_, length);
    requests_[asked_] = {request, epoch_, up_, now_ns, entered_, 0, 0, {}};
    return request;
  }
  void answered(const Answer& answer, uint64_t now_ns, const Direction& back) {
    const auto found = requests_.find(answer.id);
    require(found != requests_.end(), "an answer to what has been answered", answer.id);
    const Asked asked = found->second;
    requests_.erase(found);
    ++answers;
    if (answer.status == EXRNIC_COMPLETION_STATUS_SUCCESSFUL) {
      require(asked.up, "answered as done, though the link was down", answer.id);
      require(changed || asked.served == asked.request.length,
              "answered, and not served as a whole", answer.id);
      require(changed || !asked.failed, "answered as done, and failed", answer.id);
      require(changed || back.delivered_ >= asked.behind, "an answer passed a write", answer.id);
      require(changed || answer.data == expected(asked.request), "other data", answer.id);
      return;
    }
    ++failures;
    require(answer.data.empty(), "a failed answer with data", answer.id);
    const bool down = !asked.up || asked.epoch != epoch_;
    const bool late =
        answer.status == EXRNIC_COMPLETION_STATUS_ABORT && now_ns - asked.since >= patience_ns_;
    require(down || late || asked.failed == answer.status || changed, "failed for no reason",
            answer.id);
  }
  void link(bool up) {
    require(up != up_, "the link comes or goes twice");
    up_ = up;
    epoch_ += !up;
  }
  // The PEB of this bus has lost its power: nothing is answered any more.
  void restarts() {
    if (up_) link(false);
    requests_.clear();
  }

  // ---- at the other one

  void arrives(const Write& write) {
    const uint64_t number = write.address / kStride;
    require(!write.data.empty(), "an empty write", number);
    require(write.data.size() <= EXRNIC_PEB_PAYLOAD_MAX &&
                (changed || write.data.size() <= max_payload_),
            "a long write", number);
    require(write.address % 4096 + write.data.size() <= 4096, "a write over a boundary", number);
    if (changed) return;
    require(write.data == pattern_at(write.address, write.data.size()), "other data written",
            number);
    const auto found = writes_.find(number);
    require(found != writes_.end(), "nobody wrote that", number);
    const Entered& of = found->second;
    require(of.up, "it was written while the link was down", number);
    if (number != current_ || write.address != next_) {
      require(number > current_, "a write came late or twice", number);
      require(write.address == of.address, "the begin of a write is missing", number);
      // What is missing between them is of an earlier epoch.
      if (current_ != 0 && !ends(writes_.at(current_)))
        require(writes_.at(current_).epoch != of.epoch, "the end of a write is missing", current_);
      for (uint64_t i = current_ + 1; i < number; ++i)
        require(writes_.at(i).epoch != of.epoch || !writes_.at(i).up, "a write is missing", i);
      current_ = number;
    }
    next_ = write.address + write.data.size();
    require(next_ <= of.address + of.length, "more than was written", number);
    if (ends(of)) delivered_ = number;
    ++arrivals;
  }

  // Returns which request it is.
  uint64_t arrives(const Request& request) {
    require(request.length >= 1, "an empty request");
    if (request.kind == Request::Kind::kRead) {
      require(request.length <= EXRNIC_PEB_REQUEST_MAX && (changed || request.length <= max_read_),
              "a long request");
      require(request.address % 4096 + request.length <= 4096, "a request over a boundary");
      if (changed) return 0;
      const uint64_t number = (request.address - kReads) / kStride;
      begin(number, request);
      return number;
    }
    require(request.address % 4 + request.length <= 4, "a register over a boundary");
    if (changed) return 0;
    const uint64_t number = asked_ - (asked_ - request.address / kRegister) % kRegisters;
    const auto found = requests_.find(number);
    if (found != requests_.end()) {
      const BusRequest& asked = found->second.request;
      require(asked.kind == request.kind, "another request", number);
      require(asked.data == request.data, "other data for a register", number);
    }
    begin(number, request);
    return number;
  }
  // Its bus answers a request, behind all that it has written (`back`).
  void completes(uint64_t number, exrnic_completion_status status, const Direction& back) {
    const auto found = requests_.find(number);
    if (found == requests_.end()) return;
    found->second.behind = back.entered_in_epoch();
    if (status != EXRNIC_COMPLETION_STATUS_SUCCESSFUL) found->second.failed = status;
  }

  // All that was written since the link came up has arrived.
  bool all_arrived() const {
    for (const auto& [number, write] : writes_)
      if (number > delivered_ && write.epoch == epoch_ && write.up) return false;
    return true;
  }
  bool all_answered() const { return requests_.empty(); }
  bool up() const { return up_; }

  bool changed = false;  // the network changes what is said: only the rules of the bus hold
  uint64_t arrivals = 0, answers = 0, failures = 0;

 private:
  struct Entered {
    uint64_t address = 0;
    size_t length = 0;
    uint64_t epoch = 0;
    bool up = false;
  };
  struct Asked {
    BusRequest request;
    uint64_t epoch = 0;
    bool up = false;
    uint64_t since = 0;
    uint64_t writes = 0;  // that were entered before
    uint64_t served = 0;  // bytes of it that have arrived
    uint64_t behind = 0;  // writes of the server before its answer
    std::optional<exrnic_completion_status> failed;
  };

  static Bytes expected(const BusRequest& request) {
    if (request.kind == Request::Kind::kConfigWrite) return {};
    return pattern_at(request.address, request.length);
  }
  bool ends(const Entered& write) const { return next_ == write.address + write.length; }

  // What was written before it has arrived, but for what was lost with a link.
  void begin(uint64_t number, const Request& request) {
    const auto found = requests_.find(number);
    if (found == requests_.end()) return;  // it has ended without the answer
    Asked& asked = found->second;
    require(asked.up, "the link was down when it was asked", number);
    require(request.address == asked.request.address + asked.served,
            "not the next part of a request", number);
    asked.served += request.length;
    require(asked.served <= asked.request.length, "more than was asked for", number);
    for (uint64_t i = delivered_ + 1; i <= asked.writes; ++i)
      require(writes_.at(i).epoch != asked.epoch || !writes_.at(i).up, "a request passed a write",
              number);
  }
  uint64_t entered_in_epoch() const {
    for (uint64_t i = entered_; i != 0; --i)
      if (writes_.at(i).epoch == epoch_ && writes_.at(i).up) return i;
    return 0;
  }

  const uint16_t max_payload_;
  const uint16_t max_read_;
  const uint64_t patience_ns_;
  bool up_ = false;
  uint64_t epoch_ = 0;  // ends with the link
  uint64_t entered_ = 0;
  uint64_t asked_ = 0;
  std::map<uint64_t, Entered> writes_;
  std::map<uint64_t, Asked> requests_;
  uint64_t current_ = 0;  // write of which bytes have arrived,
  uint64_t next_ = 0;     // and the address behind them
  uint64_t delivered_ = 0;
};

}  // namespace exrnic::peb::testing
