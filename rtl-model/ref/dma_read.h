// SPDX-License-Identifier: BSD-2-Clause
// Reads of host memory: cut into PCIe reads, answered as a whole. What the host does not answer
// fails by a time-out.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <set>

#include "rtl-model/ref/state.h"

namespace exrnic::ref {

class DmaRead {
 public:
  using Done = std::function<void(bool good, Bytes&& data)>;

  explicit DmaRead(State& state) : state_(state) {}

  // At least one byte. `done` comes from complete(), never from within read(); with an error in
  // any part of the memory `good` is false.
  void read(uint64_t address, size_t length, Done done);

  // When all that was asked for before has been read: within complete() or run(), or now.
  void then(std::function<void()> action);

  void complete(const ReadCompletion& completion);
  void run(CoreSink& sink);
  bool idle() const { return waiting_.empty() && in_flight_count_ == 0; }
  bool in_flight() const { return in_flight_count_ != 0; }

  // It asks whether it can read; the first of the next cycles in which it acts if nothing comes.
  bool asks() const { return !waiting_.empty() && in_flight_count_ < kTags; }
  uint64_t next_act(CoreSink& sink) const {
    return asks() ? sink.busy_cycles(CoreSink::Ready::kRead) + 1 : kNever;
  }

 private:
  static constexpr size_t kTags = 64;
  static constexpr size_t kGenerations = 256 / kTags;  // a tag on the bus has 8 bits

  struct Request {
    uint64_t number = 0;
    Bytes data;
    size_t missing = 0;
    bool good = true;
    Done done;
  };
  struct Piece {
    std::shared_ptr<Request> request;  // empty: nothing is read with this tag
    uint64_t address = 0;
    size_t offset = 0;  // of its next byte in the request
    size_t length = 0;  // still to come
    bool old = false;   // in flight since before this interval
  };
  struct Fence {
    uint64_t number = 0;  // of the first request that it does not wait for
    std::function<void()> action;
  };

  uint8_t free_tag() const;
  void end_late();
  void end_piece(size_t tag);
  void end(const std::shared_ptr<Request>& request);

  State& state_;
  std::deque<Piece> waiting_;
  std::array<Piece, kTags> in_flight_;  // by tag
  // Of each tag, counting its time-outs: what comes too late is no answer to a later read.
  std::array<uint8_t, kTags> generation_{};
  size_t in_flight_count_ = 0;
  uint64_t interval_ = 0;
  uint64_t next_number_ = 0;
  std::set<uint64_t> open_;  // requests, by their number
  std::deque<Fence> fences_;
};

}  // namespace exrnic::ref
