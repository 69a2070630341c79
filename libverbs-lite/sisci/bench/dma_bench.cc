// SPDX-License-Identifier: BSD-2-Clause
// dma_bench: how long a DMA queue needs for a transfer, from its start until it has arrived; or,
// with -queues, how often one arrives while others are under way.
#include <cstdio>
#include <vector>

#include "ends.h"

namespace {

// Queues that take turns, each with one transfer at a time.
class Queues {
 public:
  Queues(const exrnic::BenchEnds& ends, const exrnic::BenchOptions& options)
      : ends_(ends), flags_(options.read ? SCI_FLAG_DMA_READ : 0), queues_(options.queues) {
    sci_error_t error;
    for (sci_dma_queue_t& queue : queues_) {
      SCICreateDMAQueue(ends.sd(), &queue, options.adapter, 1, 0, &error);
      exrnic::CheckBench(error, "SCICreateDMAQueue");
    }
  }

  // Waits for who was started first if none is free.
  void Start(size_t size) {
    if (started_ - ended_ == queues_.size()) AwaitOne();
    sci_error_t error;
    SCIStartDmaTransfer(Of(started_++), ends_.local(), ends_.remote(), 0, size, 0, nullptr, nullptr,
                        flags_, &error);
    exrnic::CheckBench(error, "SCIStartDmaTransfer");
  }
  void AwaitAll() {
    while (ended_ != started_) AwaitOne();
  }
  void End() {
    sci_error_t error;
    for (sci_dma_queue_t queue : queues_) {
      SCIRemoveDMAQueue(queue, 0, &error);
      exrnic::CheckBench(error, "SCIRemoveDMAQueue");
    }
  }

 private:
  sci_dma_queue_t Of(size_t number) const { return queues_[number % queues_.size()]; }
  void AwaitOne() {
    sci_error_t error;
    if (SCIWaitForDMAQueue(Of(ended_++), SCI_INFINITE_TIMEOUT, 0, &error) != SCI_DMAQUEUE_DONE) {
      exrnic::CheckBench(SCI_ERR_TRANSFER_FAILED, "SCIWaitForDMAQueue");
    }
  }

  const exrnic::BenchEnds& ends_;
  const unsigned flags_;
  std::vector<sci_dma_queue_t> queues_;
  size_t started_ = 0;
  size_t ended_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  using exrnic::BenchMicroseconds;
  constexpr size_t kLargest = 512 << 10;
  const exrnic::BenchOptions options = exrnic::ReadBenchOptions(
      argc, argv, "DMA of each size to the other node, or from it (-pull)", 100, "-pull", true);
  exrnic::BenchEnds ends(options, 0x5c1d, kLargest);
  if (!options.client) {
    ends.Finish(false);
    return 0;
  }
  Queues queues(ends, options);
  printf("Message size   Transfer time     Bandwidth\n");
  for (size_t size = 64; size <= kLargest; size *= 2) {
    queues.Start(size);  // warms up
    queues.AwaitAll();
    const double begin = BenchMicroseconds();
    for (unsigned i = 0; i < options.loops; ++i) queues.Start(size);
    queues.AwaitAll();
    const double mean = (BenchMicroseconds() - begin) / options.loops;
    printf("%9zu %15.2f us %10.2f MBytes/s\n", size, mean, static_cast<double>(size) / mean);
    fflush(stdout);
  }
  queues.End();
  ends.Finish(true);
  return 0;
}
