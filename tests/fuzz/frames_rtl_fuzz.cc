// SPDX-License-Identifier: BSD-2-Clause
// The same into the RTL. Its tables take their time to clear, so many inputs share one core; what
// one of them did to the queue pair the next ones meet.
#include <memory>

#include "tests/fuzz/frame_bench.h"

namespace exrnic::fuzz {

void fuzz_frames_rtl(const uint8_t* data, size_t size) {
  // Never destroyed: Verilator's own statics would be gone before.
  static auto& bench = *new std::unique_ptr<FrameBench>;
  static unsigned left = 0;
  if (left == 0) {
    bench = std::make_unique<FrameBench>(make_rtl_core);
    left = kFramesRtlShared;
  }
  --left;
  bench->run(data, size);
}

}  // namespace exrnic::fuzz
