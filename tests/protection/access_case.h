// SPDX-License-Identifier: BSD-2-Clause
// One access to a region: how it is made, and whether what came of it is what the oracle says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/protection/stage.h"

namespace exrnic::testing {

enum class Kind : uint8_t {
  kPush,        // the peer writes
  kPull,        // the peer reads
  kGather,      // the owner reads: a PUSH to the peer
  kScatter,     // the owner writes: a receive that the peer's SEND meets
  kInvalidate,  // the peer's SEND_INVALIDATE
};
constexpr size_t kKinds = 5;
const char* name_of(Kind kind);

struct AccessCase {
  Kind kind = Kind::kPush;
  StageQp* qp = nullptr;
  Attempt attempt;
  unsigned reasons = 0;  // of the oracle; 0: to be granted
  Bytes data;            // what is written; or what must be read
  // What came.
  std::optional<uint16_t> code;  // of a terminate message
  Bytes received;                // payload of segments
  bool ended = false;            // by a segment that says it is the last
  std::vector<exrnic_cqe> cqes;

  bool to_peer() const { return kind == Kind::kPull || kind == Kind::kGather; }
  bool writes() const { return kind == Kind::kPush || kind == Kind::kScatter; }
  bool uses_receive() const { return kind == Kind::kScatter || kind == Kind::kInvalidate; }
};

// What the owner has to post for it, if anything; and the segment of the peer.
void post(Stage& stage, const AccessCase& access);
Bytes segment_of(AccessCase& access);

// A segment of the core for it; and whether it is a terminate message.
bool is_refusal(const uint8_t* ddp);
void take(AccessCase& access, const uint8_t* ddp, size_t length);

// The queue pair has failed.
bool failed(const AccessCase& access);

// Empty, or how the core's verdict differs from the oracle's.
std::string judge(const AccessCase& access);

std::string describe(const AccessCase& access);

}  // namespace exrnic::testing
