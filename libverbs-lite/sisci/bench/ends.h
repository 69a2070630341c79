// SPDX-License-Identifier: BSD-2-Clause
// What the benchmarks share: two processes, a client and a server, each with a segment of the
// other's. They know nothing of the library but its public header.
#ifndef EXRNIC_SISCI_BENCH_ENDS_H
#define EXRNIC_SISCI_BENCH_ENDS_H

#include <cstddef>
#include <cstdint>

#include "sisci_api.h"

namespace exrnic {

struct BenchOptions {
  bool client = false;
  unsigned remote_node = 0;
  unsigned adapter = 0;
  unsigned loops = 0;
  unsigned queues = 1;     // dma_bench
  bool read = false;       // dma_bench
  bool with_data = false;  // intr_bench
};

// Ends the process if the command line is wrong. extra: the program's own flag, or NULL.
// has_queues: it knows -queues.
BenchOptions ReadBenchOptions(int argc, char** argv, const char* what, unsigned loops,
                              const char* extra, bool has_queues = false);

// Ends the process if a call has failed.
void CheckBench(sci_error_t error, const char* call);

double BenchMicroseconds();

// For a millisecond.
void BenchSleep();

// Connects, again until what is there that `error` says is not: NO_SUCH_SEGMENT, or _INTNO. Sleeps
// in between, so that the RNICs have nothing to do meanwhile, which costs a simulation nothing.
template <typename Connect>
void ConnectBench(Connect connect, const char* call) {
  sci_error_t error = SCI_ERR_OK;
  while (connect(&error), error == SCI_ERR_NO_SUCH_SEGMENT) BenchSleep();
  CheckBench(error, call);
}

class BenchEnds {
 public:
  // Returns when both ends are there. id: of this benchmark.
  BenchEnds(const BenchOptions& options, unsigned id, size_t bytes);

  sci_desc_t sd() const { return sd_; }
  sci_local_segment_t local() const { return local_; }
  sci_remote_segment_t remote() const { return remote_; }
  volatile uint8_t* memory() const { return memory_; }                // the own segment
  sci_map_t map() const { return map_; }                              // of the other one
  volatile uint8_t* remote_memory() const { return remote_memory_; }  // NULL: copies alone
  sci_sequence_t sequence() const { return sequence_; }

  // The client lets go of the server's segment, then the server of the client's.
  void Finish(bool client);

 private:
  // Of the own segment, by the other end.
  void AwaitDisconnect();

  sci_desc_t sd_ = nullptr;
  sci_local_segment_t local_ = nullptr;
  sci_map_t local_map_ = nullptr;
  sci_remote_segment_t remote_ = nullptr;
  sci_map_t map_ = nullptr;
  sci_sequence_t sequence_ = nullptr;
  volatile uint8_t* memory_ = nullptr;
  volatile uint8_t* remote_memory_ = nullptr;
};

}  // namespace exrnic

#endif  // EXRNIC_SISCI_BENCH_ENDS_H
