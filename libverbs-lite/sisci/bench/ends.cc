// SPDX-License-Identifier: BSD-2-Clause
#include "ends.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace exrnic {

namespace {

constexpr unsigned kQueuesMax = 64;

[[noreturn]] void SayUsage(const char* program, const char* what, unsigned loops, const char* extra,
                           bool has_queues) {
  fprintf(stderr,
          "%s: %s\n"
          "usage: %s -client | -server, -rn NODE [-adapterno N] [-loops N]%s%s%s%s\n"
          "  -client, -server   which end this is: start one at each of two nodes\n"
          "  -rn NODE           the other end's node\n"
          "  -adapterno N       the RNIC of this end: 0 is what VL_DEVICE names, else exrnic0\n"
          "  -loops N           of each size (%u)\n",
          program, what, program, extra != nullptr ? " [" : "", extra != nullptr ? extra : "",
          extra != nullptr ? "]" : "", has_queues ? " [-queues N]" : "", loops);
  if (has_queues) {
    fprintf(stderr, "  -queues N          transfers under way at a time, 1 to %u (1)\n",
            kQueuesMax);
  }
  exit(2);
}

}  // namespace

BenchOptions ReadBenchOptions(int argc, char** argv, const char* what, unsigned loops,
                              const char* extra, bool has_queues) {
  BenchOptions options;
  options.loops = loops;
  bool end = false, node = false;
  for (int i = 1; i < argc; ++i) {
    const char* const word = argv[i];
    unsigned* number = nullptr;
    if (strcmp(word, "-client") == 0 || strcmp(word, "-server") == 0) {
      options.client = word[1] == 'c';
      end = true;
    } else if (extra != nullptr && strcmp(word, extra) == 0) {
      options.read = options.with_data = true;
    } else if (strcmp(word, "-rn") == 0) {
      number = &options.remote_node;
      node = true;
    } else if (strcmp(word, "-adapterno") == 0) {
      number = &options.adapter;
    } else if (strcmp(word, "-loops") == 0) {
      number = &options.loops;
    } else if (has_queues && strcmp(word, "-queues") == 0) {
      number = &options.queues;
    } else {
      SayUsage(argv[0], what, loops, extra, has_queues);
    }
    if (number == nullptr) continue;
    char* behind = nullptr;
    if (++i == argc) SayUsage(argv[0], what, loops, extra, has_queues);
    *number = static_cast<unsigned>(strtoul(argv[i], &behind, 10));
    if (*argv[i] == 0 || *behind != 0) SayUsage(argv[0], what, loops, extra, has_queues);
  }
  if (!end || !node || options.loops == 0 || options.queues == 0 || options.queues > kQueuesMax) {
    SayUsage(argv[0], what, loops, extra, has_queues);
  }
  return options;
}

void CheckBench(sci_error_t error, const char* call) {
  if (error == SCI_ERR_OK) return;
  fprintf(stderr, "%s: %s (0x%x)\n", call, SCIGetErrorString(error), static_cast<unsigned>(error));
  exit(1);
}

double BenchMicroseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

void BenchSleep() {
  constexpr timespec kMillisecond = {0, 1000000};
  nanosleep(&kMillisecond, nullptr);
}

BenchEnds::BenchEnds(const BenchOptions& options, unsigned id, size_t bytes) {
  sci_error_t error;
  SCIInitialize(0, &error);
  CheckBench(error, "SCIInitialize");
  SCIOpen(&sd_, 0, &error);
  CheckBench(error, "SCIOpen");
  const unsigned own = 2 * id + (options.client ? 1 : 0);
  SCICreateSegment(sd_, &local_, own, bytes, nullptr, nullptr, 0, &error);
  CheckBench(error, "SCICreateSegment");
  SCIPrepareSegment(local_, options.adapter, 0, &error);
  CheckBench(error, "SCIPrepareSegment");
  void* const memory = SCIMapLocalSegment(local_, &local_map_, 0, bytes, nullptr, 0, &error);
  CheckBench(error, "SCIMapLocalSegment");
  memset(memory, 0, bytes);
  memory_ = static_cast<volatile uint8_t*>(memory);
  SCISetSegmentAvailable(local_, options.adapter, 0, &error);
  CheckBench(error, "SCISetSegmentAvailable");
  ConnectBench(
      [&](sci_error_t* told) {
        SCIConnectSegment(sd_, &remote_, options.remote_node, own ^ 1, options.adapter, nullptr,
                          nullptr, SCI_INFINITE_TIMEOUT, 0, told);
      },
      "SCIConnectSegment");
  // So is the other one: it may be slow to look, and this one be through with its work.
  sci_segment_cb_reason_t reason = SCI_CB_DISCONNECT;
  while (reason != SCI_CB_CONNECT) {
    reason = SCIWaitForLocalSegmentEvent(local_, nullptr, nullptr, SCI_INFINITE_TIMEOUT, 0, &error);
    CheckBench(error, "SCIWaitForLocalSegmentEvent");
  }
  remote_memory_ = static_cast<volatile uint8_t*>(
      SCIMapRemoteSegment(remote_, &map_, 0, bytes, nullptr, 0, &error));
  if (error == SCI_ERR_NOT_IMPLEMENTED) {  // a simulator without guests
    SCIMapRemoteSegment(remote_, &map_, 0, bytes, nullptr, SCI_FLAG_COPY_ONLY_MAP, &error);
  }
  CheckBench(error, "SCIMapRemoteSegment");
  SCICreateMapSequence(map_, &sequence_, 0, &error);
  CheckBench(error, "SCICreateMapSequence");
  SCIStartSequence(sequence_, 0, &error);
  CheckBench(error, "SCIStartSequence");
}

void BenchEnds::Finish(bool client) {
  sci_error_t error = SCI_ERR_OK;
  // The client lets go first. Its own segment stays until the server has let go of it: the server's
  // last bytes are here before it knows so.
  if (!client) AwaitDisconnect();
  SCIRemoveSequence(sequence_, 0, &error);
  SCIUnmapSegment(map_, 0, &error);
  SCIDisconnectSegment(remote_, 0, &error);
  if (client) AwaitDisconnect();
  SCIUnmapSegment(local_map_, 0, &error);
  SCIRemoveSegment(local_, SCI_FLAG_FORCE_REMOVE, &error);
  SCIClose(sd_, 0, &error);
  CheckBench(error, "SCIClose");
  SCITerminate();
}

void BenchEnds::AwaitDisconnect() {
  sci_error_t error = SCI_ERR_OK;
  sci_segment_cb_reason_t reason = SCI_CB_CONNECT;
  while (error == SCI_ERR_OK && reason != SCI_CB_DISCONNECT && reason != SCI_CB_LOST) {
    reason = SCIWaitForLocalSegmentEvent(local_, nullptr, nullptr, SCI_INFINITE_TIMEOUT, 0, &error);
  }
}

}  // namespace exrnic
