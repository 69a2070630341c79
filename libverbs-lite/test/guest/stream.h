// SPDX-License-Identifier: BSD-2-Clause
// PUSHes and PULLs without end: traffic under which things are destroyed.
#ifndef EXRNIC_GUEST_STREAM_H
#define EXRNIC_GUEST_STREAM_H

#include <cstdint>
#include <functional>
#include <optional>

#include "connection.h"

namespace exrnic {

// Work requests without end over a connection, some in flight.
class Stream {
 public:
  // post(i, at): the work request number i, for the bytes from `at` on.
  using PostOne = std::function<void(uint64_t i, size_t at)>;
  static constexpr uint32_t kBytes = 2048;  // of one
  static constexpr uint32_t kMostInFlight = 8;

  Stream(const Connection& connection, PostOne post, uint32_t in_flight);
  // Takes what has completed, and posts as much again. A completion that failed is the stream's
  // end.
  std::optional<vl_wc> Step();

 private:
  void PostNext();

  const Connection& connection_;
  const PostOne post_;
  uint64_t posted_ = 0;
};

// PUSHes over the peer's target; PULLs of it to the same places behind `into`.
Stream::PostOne Pushes(const Connection& connection);
Stream::PostOne Pulls(const Connection& connection, vl_sge into);

// Keeps some PUSHes in flight over the whole target until one fails; its completion. Throws after
// 30 s without an error.
vl_wc StreamUntilError(const Connection& connection);

// The same with PULLs, of the peer's target into the own one.
vl_wc PullUntilError(const Connection& connection);
// The same with SENDs of the whole source.
vl_wc SendUntilError(const Connection& connection);

// True once a stream writes at `target`, which it fills with what is not there before; false after
// 30 s.
bool AwaitStreamInto(const uint8_t* target, uint8_t before = Connection::kPoison);

}  // namespace exrnic

#endif  // EXRNIC_GUEST_STREAM_H
