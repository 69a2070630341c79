// SPDX-License-Identifier: BSD-2-Clause
// What the network does to the core, in simulated time: loss, reordering, several senders to one,
// switches on the way. All on the RTL. Key of every row: profile.
#pragma once

#include <string>

#include "tools/bench/results.h"

namespace exrnic::bench {

// loss.goodput_ratio: goodput of back-to-back PUSHes of 64 KiB as a share of the computed limit,
// when each frame in each direction is lost with probability p. Keys: p, size.
void measure_loss(const std::string& profile, Results& results);

// reorder.false_retransmits: frames sent again in 10 MiB of such PUSHes over a link that lets later
// frames pass one in a hundred, and loses none. Keys: p, frames (how many pass).
void measure_reordering(const std::string& profile, Results& results);

// tail_loss.rto_count: retransmission time-outs until a PUSH of 64 KiB has ended whose last frames
// were lost once: the most of losing the last one, two and four. Keys: size.
void measure_tail_loss(const std::string& profile, Results& results);

// incast.goodput_ratio: what eight senders of PUSHes of 16 KiB get to one receiver together,
// through a switch whose queue holds 64 KiB, as a share of the limit of that receiver's link;
// incast.fairness: Jain's index of their shares, (sum x)^2 / (8 sum x^2). Keys: senders,
// queue_bytes.
void measure_incast(const std::string& profile, Results& results);

// fabric.rtt_us: what msg.rtt_us measures, inline, over a chain of switches. Key: hops (links).
void measure_hops(const std::string& profile, Results& results);

}  // namespace exrnic::bench
