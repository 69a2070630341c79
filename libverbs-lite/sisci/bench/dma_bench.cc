// SPDX-License-Identifier: BSD-2-Clause
// dma_bench: how long a DMA queue needs for a transfer, from its start until it has arrived.
#include <cstdio>

#include "ends.h"

int main(int argc, char** argv) {
  using exrnic::BenchMicroseconds;
  constexpr size_t kLargest = 512 << 10;
  const exrnic::BenchOptions options = exrnic::ReadBenchOptions(
      argc, argv, "DMA of each size to the other node, or from it (-pull)", 100, "-pull");
  exrnic::BenchEnds ends(options, 0x5c1d, kLargest);
  if (!options.client) {
    ends.Finish(false);
    return 0;
  }
  sci_error_t error;
  sci_dma_queue_t queue;
  SCICreateDMAQueue(ends.sd(), &queue, options.adapter, 1, 0, &error);
  exrnic::CheckBench(error, "SCICreateDMAQueue");
  printf("Message size   Transfer time     Bandwidth\n");
  for (size_t size = 64; size <= kLargest; size *= 2) {
    double begin = 0;
    for (unsigned i = 0; i <= options.loops; ++i) {
      if (i == 1) begin = BenchMicroseconds();  // the first one warms up
      SCIStartDmaTransfer(queue, ends.local(), ends.remote(), 0, size, 0, nullptr, nullptr,
                          options.read ? SCI_FLAG_DMA_READ : 0, &error);
      exrnic::CheckBench(error, "SCIStartDmaTransfer");
      if (SCIWaitForDMAQueue(queue, SCI_INFINITE_TIMEOUT, 0, &error) != SCI_DMAQUEUE_DONE) {
        exrnic::CheckBench(SCI_ERR_TRANSFER_FAILED, "SCIWaitForDMAQueue");
      }
    }
    const double mean = (BenchMicroseconds() - begin) / options.loops;
    printf("%9zu %15.2f us %10.2f MBytes/s\n", size, mean, static_cast<double>(size) / mean);
    fflush(stdout);
  }
  SCIRemoveDMAQueue(queue, 0, &error);
  exrnic::CheckBench(error, "SCIRemoveDMAQueue");
  ends.Finish(true);
  return 0;
}
