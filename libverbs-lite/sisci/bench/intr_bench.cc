// SPDX-License-Identifier: BSD-2-Clause
// intr_bench: an interrupt goes to the other node, whose thread wakes, and one comes back.
#include <cstdio>

#include "ends.h"

namespace {

constexpr unsigned kNumber = 0x5c1e;

// An interrupt of each end, of either kind.
class Interrupts {
 public:
  Interrupts(const exrnic::BenchEnds& ends, const exrnic::BenchOptions& options)
      : with_data_(options.with_data) {
    unsigned number = kNumber + (options.client ? 1 : 0);
    const unsigned other = number ^ 1;
    sci_error_t error;
    if (with_data_) {
      SCICreateDataInterrupt(ends.sd(), &local_data_, options.adapter, &number, nullptr, nullptr,
                             SCI_FLAG_FIXED_INTNO, &error);
    } else {
      SCICreateInterrupt(ends.sd(), &local_, options.adapter, &number, nullptr, nullptr,
                         SCI_FLAG_FIXED_INTNO, &error);
    }
    exrnic::CheckBench(error, "SCICreateInterrupt");
    exrnic::ConnectBench(
        [&](sci_error_t* told) {
          if (with_data_) {
            SCIConnectDataInterrupt(ends.sd(), &remote_data_, options.remote_node, options.adapter,
                                    other, SCI_INFINITE_TIMEOUT, 0, told);
          } else {
            SCIConnectInterrupt(ends.sd(), &remote_, options.remote_node, options.adapter, other,
                                SCI_INFINITE_TIMEOUT, 0, told);
          }
        },
        "SCIConnectInterrupt");
  }

  void Trigger() {
    sci_error_t error;
    if (with_data_) {
      SCITriggerDataInterrupt(remote_data_, &word_, sizeof(word_), 0, &error);
    } else {
      SCITriggerInterrupt(remote_, 0, &error);
    }
    exrnic::CheckBench(error, "SCITriggerInterrupt");
  }
  void Await() {
    sci_error_t error;
    if (with_data_) {
      unsigned length = sizeof(word_);
      SCIWaitForDataInterrupt(local_data_, &word_, &length, SCI_INFINITE_TIMEOUT, 0, &error);
    } else {
      SCIWaitForInterrupt(local_, SCI_INFINITE_TIMEOUT, 0, &error);
    }
    exrnic::CheckBench(error, "SCIWaitForInterrupt");
  }
  void End() {
    sci_error_t error;
    if (with_data_) {
      SCIDisconnectDataInterrupt(remote_data_, 0, &error);
      SCIRemoveDataInterrupt(local_data_, 0, &error);
    } else {
      SCIDisconnectInterrupt(remote_, 0, &error);
      SCIRemoveInterrupt(local_, 0, &error);
    }
    exrnic::CheckBench(error, "SCIRemoveInterrupt");
  }

 private:
  const bool with_data_;
  uint64_t word_ = 0;
  sci_local_interrupt_t local_ = nullptr;
  sci_remote_interrupt_t remote_ = nullptr;
  sci_local_data_interrupt_t local_data_ = nullptr;
  sci_remote_data_interrupt_t remote_data_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  using exrnic::BenchMicroseconds;
  const exrnic::BenchOptions options = exrnic::ReadBenchOptions(
      argc, argv, "an interrupt goes to the other node and back", 200, "-data");
  exrnic::BenchEnds ends(options, 0x5c1f, 4096);
  Interrupts interrupts(ends, options);
  const double begin = BenchMicroseconds();
  for (unsigned i = 0; i < options.loops; ++i) {
    if (options.client) interrupts.Trigger();
    interrupts.Await();
    if (!options.client) interrupts.Trigger();
  }
  const double round = (BenchMicroseconds() - begin) / options.loops;
  if (options.client) {
    printf("Interrupts    Round trip (usec)    Latency (usec)\n%10u %20.2f %17.2f\n", options.loops,
           round, round / 2);
  }
  interrupts.End();
  ends.Finish(options.client);
  return 0;
}
