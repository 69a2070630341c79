// SPDX-License-Identifier: BSD-2-Clause
// How fast the simulator is, in wall time.
#pragma once

#include <string>

#include "tools/bench/results.h"

namespace exrnic::bench {

// sim.rtl_kcps: thousand core cycles simulated per second of wall time while one core sends 1 MiB
// messages and another receives them; cycles of both count. Keys: profile, threads.
void measure_rtl_speed(const std::string& profile, unsigned threads, Results& results);

// sim.ref_kops: thousand 64-byte PUSHes per second of wall time between two reference cores. Key:
// profile.
void measure_ref_speed(const std::string& profile, Results& results);

}  // namespace exrnic::bench
