// SPDX-License-Identifier: BSD-2-Clause
// One direction of exrnic-push: rounds of PUSHes, every byte of which the receiver compares.
//
// A round: the sender announces it; the receiver fills its region with one byte and says it is
// ready; the sender PUSHes each operation to an area of its own, with a pattern of its own, and
// says it is done; the receiver compares all areas, and all bytes between and around them, and
// answers.
#ifndef EXRNIC_EXAMPLES_TRANSFER_H
#define EXRNIC_EXAMPLES_TRANSFER_H

#include <cstdint>
#include <string>
#include <vector>

#include "exrnic/verbs.h"
#include "oob.h"
#include "verbs_objects.h"

namespace exrnic {

// Most PUSHes in flight.
constexpr uint32_t kPushDepth = 16;

// Areas of a round within a region: a small one for the warm-up, then one per operation, 64-byte
// aligned, with guards before, between and behind.
class AreaLayout {
 public:
  AreaLayout(uint32_t size, uint32_t count) : size_(size), count_(count) {}
  // area: 0 is the warm-up, 1 to count are the operations.
  size_t Offset(uint32_t area) const;
  size_t Length(uint32_t area) const { return area == 0 ? kWarmUpBytes : size_; }
  // Bytes with the last guard.
  size_t Extent() const { return Offset(count_ + 1); }
  uint32_t areas() const { return count_ + 1; }

  // Most operations of this size that fit into a region; at least 1.
  static uint32_t Fit(uint32_t size, size_t region);
  static constexpr size_t kWarmUpBytes = 8;
  static constexpr size_t kGuard = 64;

 private:
  size_t size_;
  uint32_t count_;
};

// Both ends of a direction have a connected queue pair, and a region for each way.
struct PushLink {
  Oob* oob;
  vl_cq* cq;
  vl_qp* qp;
  uint8_t* source;  // registered; `region` bytes
  uint32_t source_stag;
  uint8_t* target;  // registered for remote writes; `region` bytes
  size_t region;
  uint32_t peer_stag;  // the peer's target
  uint64_t peer_address;
};

struct PushResult {
  uint32_t ops = 0;
  uint32_t verified = 0;
  double latency_us = 0;
  double bandwidth_mbps = 0;  // 10^6 bytes a second
};

// PUSHes `ops` operations of `size` bytes and measures them in simulated time. Latency: median of
// the differences of the completion times of operations one at a time (device time stands still
// while nothing is in flight, so that is from post to completion). Bandwidth: bytes between the
// first and the last completion of a round with kPushDepth in flight. Throws on any wrong byte.
PushResult SendSize(const PushLink& link, uint32_t size, uint32_t ops, uint64_t seed);

// The receiver's part of SendSize: as many rounds as the sender announces.
void ReceiveSize(const PushLink& link);

}  // namespace exrnic

#endif  // EXRNIC_EXAMPLES_TRANSFER_H
