// SPDX-License-Identifier: BSD-2-Clause
// scipp: bytes go to the other node's segment and back; each end sees them come in its own memory.
#include <sched.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "ends.h"

namespace {

// The last word of what is sent counts rounds: stores arrive in order. One word is stored by the
// program itself, more by SCIMemCpy.
class PingPong {
 public:
  explicit PingPong(exrnic::BenchEnds* ends) : ends_(ends), bytes_(kLargest) {}
  static constexpr size_t kLargest = 8192;

  void Send(size_t size) {
    ++round_;
    memcpy(bytes_.data() + size - sizeof(round_), &round_, sizeof(round_));
    sci_error_t error;
    for (;;) {
      if (size == sizeof(round_) && ends_->remote_memory() != nullptr) {
        *reinterpret_cast<volatile uint32_t*>(ends_->remote_memory()) = round_;
        SCIFlush(ends_->sequence(), SCI_FLAG_FLUSH_CPU_BUFFERS_ONLY);
      } else {
        SCIMemCpy(ends_->sequence(), bytes_.data(), ends_->map(), 0, size, 0, &error);
        exrnic::CheckBench(error, "SCIMemCpy");
      }
      const auto status = SCICheckSequence(ends_->sequence(),
                                           SCI_FLAG_NO_FLUSH | SCI_FLAG_NO_STORE_BARRIER, &error);
      if (status == SCI_SEQ_OK) return;
      if (status != SCI_SEQ_RETRIABLE) exrnic::CheckBench(SCI_ERR_TRANSFER_FAILED, "a sequence");
      ++retries;
    }
  }
  void Await(size_t size) {
    const volatile uint32_t* const place =
        reinterpret_cast<const volatile uint32_t*>(ends_->memory() + size - sizeof(uint32_t));
    const uint32_t expected = ++seen_;
    for (unsigned i = 1; *place != expected; ++i) {
      if (i % 4096 == 0) sched_yield();
    }
  }

  unsigned retries = 0;

 private:
  exrnic::BenchEnds* const ends_;
  std::vector<uint8_t> bytes_;
  uint32_t round_ = 0;
  uint32_t seen_ = 0;
};

}  // namespace

constexpr unsigned kWarm = 3;  // rounds before those that count

int main(int argc, char** argv) {
  using exrnic::BenchMicroseconds;
  const exrnic::BenchOptions options = exrnic::ReadBenchOptions(
      argc, argv, "bytes go to the other node's memory and back", 200, nullptr);
  exrnic::BenchEnds ends(options, 0x5c1c, PingPong::kLargest);
  PingPong pingpong(&ends);
  if (options.client)
    printf("Ping Pong data transfer:\n   size  retries  latency (usec)  latency/2 (usec)\n");
  for (size_t size = 4; size <= PingPong::kLargest; size *= 2) {
    double begin = 0;
    for (unsigned i = 0; i < options.loops + kWarm; ++i) {
      if (i == kWarm) begin = BenchMicroseconds();
      if (options.client) pingpong.Send(size);
      pingpong.Await(size);
      if (!options.client) pingpong.Send(size);
    }
    const double round = (BenchMicroseconds() - begin) / options.loops;
    if (!options.client) continue;
    printf("%7zu %8u %15.2f %17.2f\n", size, pingpong.retries, round, round / 2);
    fflush(stdout);
  }
  ends.Finish(options.client);
  return 0;
}
