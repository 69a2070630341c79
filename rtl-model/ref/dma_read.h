// SPDX-License-Identifier: BSD-2-Clause
// Reads of host memory: cut into PCIe reads, answered as a whole.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>

#include "rtl-model/ref/state.h"

namespace exrnic::ref {

class DmaRead {
 public:
  using Done = std::function<void(bool good, Bytes&& data)>;

  explicit DmaRead(State& state) : state_(state) {}

  // At least one byte. `done` comes from complete(), never from within read(); with an error in
  // any part of the memory `good` is false.
  void read(uint64_t address, size_t length, Done done);

  void complete(const ReadCompletion& completion);
  void run(CoreSink& sink);
  bool idle() const { return waiting_.empty() && in_flight_count_ == 0; }

  // It asks whether it can read; the first of the next cycles in which it acts if nothing comes.
  bool asks() const { return !waiting_.empty() && in_flight_count_ < kTags; }
  uint64_t next_act(CoreSink& sink) const {
    return asks() ? sink.busy_cycles(CoreSink::Ready::kRead) + 1 : kNever;
  }

 private:
  static constexpr size_t kTags = 64;

  struct Request {
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
  };

  uint8_t free_tag() const;

  State& state_;
  std::deque<Piece> waiting_;
  std::array<Piece, kTags> in_flight_;  // by tag
  size_t in_flight_count_ = 0;
};

}  // namespace exrnic::ref
