// SPDX-License-Identifier: BSD-2-Clause
// How long a small PUSH and a small message take between two nodes at rest, in simulated time, and
// where the cycles go. The hosts' software takes no time here.
#pragma once

#include <string>

#include "tools/bench/path.h"
#include "tools/bench/results.h"

namespace exrnic::bench {

// How a small work request is posted, and where its bytes are: in a region, and a doorbell is rung;
// inline, and a doorbell is rung; or inline in a PIO block, which leaves the processor as
// one packet of 64 bytes, as a write-combining buffer does.
enum class Post { kRegion, kInline, kPio };

// push.oneway_ns: store of the doorbell or block of one 8-byte PUSH to its last byte visible at the
// peer, both cores at rest before. Keys: profile, size, via, data.
void measure_oneway(const std::string& profile, Post post, Results& results);

// loopback.oneway_ns: likewise, to a queue pair of the own node.
void measure_loopback(const std::string& profile, Post post, Results& results);

// event.ns: a completion that the host sees, to the interrupt that tells of it: by the vector of
// its completion queue, or by an event queue, whose event is there then. And likewise of a queue
// pair that fails. Keys: profile, event, via.
void measure_events(const std::string& profile, Results& results);

// msg.rtt_us: the same store for a SEND of 8 bytes, to the completion of the receive of its answer,
// which the peer posts when its own receive has completed. Keys: profile, size, via, data.
void measure_round_trip(const std::string& profile, Post post, Results& results);
uint64_t round_trip_ns(Path& path, Post post, uint32_t size);

// stage.cycles.*: where the clock cycles of that PUSH go, from the arrival of the doorbell or of
// the block at one core to the CQE's departure from it. Keys: profile, via.
void measure_stages(const std::string& profile, Post post, Results& results);

}  // namespace exrnic::bench
