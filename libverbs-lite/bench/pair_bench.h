// SPDX-License-Identifier: BSD-2-Clause
// The measurements between two hosts, in wall clock: where a simulator lies between them, they are
// its figures.
#ifndef EXRNIC_BENCH_PAIR_BENCH_H
#define EXRNIC_BENCH_PAIR_BENCH_H

#include <cstdint>
#include <string>

#include "oob.h"
#include "report.h"
#include "verbs_objects.h"

namespace exrnic {

struct PairOptions {
  uint32_t node = 0;    // the lower one measures
  double seconds = 10;  // at most, for each measurement
};

// At both ends. At the lower node: pingpong.wall_us, an 8-byte inline SEND and its answer, median;
// write.wall_mibps, PUSHes of 64 KiB, 16 under way. Throws std::runtime_error.
void MeasurePair(const PairOptions& options, const OpenRnicCall& open, Oob* oob, Report* report);

}  // namespace exrnic

#endif  // EXRNIC_BENCH_PAIR_BENCH_H
