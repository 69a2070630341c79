// SPDX-License-Identifier: BSD-2-Clause
// scibench: how long SCIMemCpy takes to store into a segment of another node.
#include <cstdio>
#include <vector>

#include "ends.h"

int main(int argc, char** argv) {
  using exrnic::BenchMicroseconds;
  constexpr size_t kLargest = 65536;
  const exrnic::BenchOptions options = exrnic::ReadBenchOptions(
      argc, argv, "copies segments of each size to the other node", 200, nullptr);
  exrnic::BenchEnds ends(options, 0x5c1b, kLargest);
  if (!options.client) {
    ends.Finish(false);
    return 0;
  }
  std::vector<uint8_t> source(kLargest, 0xa5);
  printf("Segment size:  Average Send Latency:  Throughput:\n");
  for (size_t size = 4; size <= kLargest; size *= 2) {
    sci_error_t error;
    double begin = 0;
    for (unsigned i = 0; i <= options.loops; ++i) {
      if (i == 1) begin = BenchMicroseconds();  // the first one warms up
      SCIMemCpy(ends.sequence(), source.data(), ends.map(), 0, size, 0, &error);
      exrnic::CheckBench(error, "SCIMemCpy");
    }
    const double mean = (BenchMicroseconds() - begin) / options.loops;
    if (SCICheckSequence(ends.sequence(), 0, &error) != SCI_SEQ_OK) {
      fprintf(stderr, "scibench: what was stored has not arrived\n");
      return 1;
    }
    printf("%9zu %20.2f us %12.2f MBytes/s\n", size, mean, static_cast<double>(size) / mean);
    fflush(stdout);
  }
  ends.Finish(true);
  return 0;
}
