// SPDX-License-Identifier: BSD-2-Clause
// sisci-guest-test: SISCI between two guests. Node 0 uses what node 1 has; node 1 is several
// processes.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "sisci_api.h"

namespace {

constexpr unsigned kSegment = 100, kDoomed = 101, kOther = 102;
constexpr size_t kBytes = 1u << 20;
constexpr unsigned kSeconds = 20'000;
constexpr unsigned kThreads = 8, kRounds = 20;
constexpr unsigned kStep = 1, kFirstPulse = 10;

int failures = 0;

void Expect(bool holds, const char* what) {
  printf("%s: %s\n", holds ? "ok" : "FAILED", what);
  fflush(stdout);
  if (!holds) ++failures;
}

// What cannot go on without this call ends.
#define MUST(call, ...)                                                                  \
  do {                                                                                   \
    sci_error_t sci_error;                                                               \
    call(__VA_ARGS__, &sci_error);                                                       \
    if (sci_error != SCI_ERR_OK) {                                                       \
      printf("FAILED: " #call ": %s (0x%x)\n", SCIGetErrorString(sci_error), sci_error); \
      exit(1);                                                                           \
    }                                                                                    \
  } while (0)

sci_error_t Give(void (*call)(sci_local_segment_t, unsigned, unsigned, sci_error_t*),
                 sci_local_segment_t segment, unsigned flags) {
  sci_error_t error;
  call(segment, 0, flags, &error);
  return error;
}

struct Owned {
  Owned(sci_desc_t sd, unsigned id) {
    MUST(SCICreateSegment, sd, &segment, id, kBytes, nullptr, nullptr, 0);
    MUST(SCIPrepareSegment, segment, 0, 0);
    sci_error_t error;
    memory =
        static_cast<uint8_t*>(SCIMapLocalSegment(segment, &map, 0, kBytes, nullptr, 0, &error));
    memset(memory, 0, kBytes);
    MUST(SCISetSegmentAvailable, segment, 0, 0);
  }

  sci_local_segment_t segment = nullptr;
  sci_map_t map = nullptr;
  uint8_t* memory = nullptr;
};

sci_remote_segment_t Connect(sci_desc_t sd, unsigned node, unsigned id) {
  sci_remote_segment_t remote = nullptr;
  sci_error_t error;
  do {
    SCIConnectSegment(sd, &remote, node, id, 0, nullptr, nullptr, kSeconds, 0, &error);
  } while (error == SCI_ERR_NO_SUCH_SEGMENT);
  if (error != SCI_ERR_OK) {
    printf("FAILED: SCIConnectSegment %u: %s\n", id, SCIGetErrorString(error));
    exit(1);
  }
  return remote;
}

// Where both nodes wait for each other.
class Steps {
 public:
  Steps(sci_desc_t sd, unsigned node) {
    unsigned number = kStep;
    MUST(SCICreateInterrupt, sd, &own_, 0, &number, nullptr, nullptr,
         SCI_FLAG_FIXED_INTNO | SCI_FLAG_COUNTING_INT);
    sci_error_t error;
    do {
      SCIConnectInterrupt(sd, &peer_, 1 - node, 0, kStep, kSeconds, 0, &error);
    } while (error == SCI_ERR_NO_SUCH_INTNO);
    if (error != SCI_ERR_OK) exit(1);
  }
  void Meet() {
    MUST(SCITriggerInterrupt, peer_, 0);
    MUST(SCIWaitForInterrupt, own_, kSeconds, 0);
  }

 private:
  sci_local_interrupt_t own_ = nullptr;
  sci_remote_interrupt_t peer_ = nullptr;
};

uint8_t ByteAt(size_t i) { return static_cast<uint8_t>(i * 7 + i / 256); }

bool IsPattern(const uint8_t* memory, size_t from, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (memory[from + i] != ByteAt(i)) return false;
  }
  return true;
}

// Each thread has an interrupt at both ends, and they wake each other in turn.
void PingPong(sci_desc_t sd, unsigned node) {
  std::atomic<unsigned> failed{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      sci_local_interrupt_t own;
      sci_remote_interrupt_t peer;
      sci_error_t error;
      unsigned number = kFirstPulse + i;
      MUST(SCICreateInterrupt, sd, &own, 0, &number, nullptr, nullptr, SCI_FLAG_FIXED_INTNO);
      do {
        SCIConnectInterrupt(sd, &peer, 1 - node, 0, number, kSeconds, 0, &error);
      } while (error == SCI_ERR_NO_SUCH_INTNO);
      for (unsigned round = 0; round < kRounds; ++round) {
        if (node == 0) SCITriggerInterrupt(peer, 0, &error);
        SCIWaitForInterrupt(own, kSeconds, 0, &error);
        if (error != SCI_ERR_OK) ++failed;
        if (node == 1) SCITriggerInterrupt(peer, 0, &error);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Expect(failed == 0, "eight threads wait each for its own interrupt");
}

// Until it is killed.
[[noreturn]] void BeDoomed() {
  sci_desc_t sd;
  MUST(SCIInitialize, 0);
  MUST(SCIOpen, &sd, 0);
  const Owned owned(sd, kDoomed);
  memset(owned.memory, 0x11, kBytes);
  for (;;) pause();
}

void ExpectLost(sci_remote_segment_t remote, const volatile uint64_t* memory,
                sci_sequence_t sequence, const char* what) {
  sci_error_t error, status;
  const auto reason = SCIWaitForRemoteSegmentEvent(remote, &status, kSeconds, 0, &error);
  Expect(error == SCI_ERR_OK && reason == SCI_CB_LOST, what);
  Expect(*memory == UINT64_MAX, "a load of what is lost gives all ones");
  Expect(SCICheckSequence(sequence, 0, &error) == SCI_SEQ_NOT_RETRIABLE,
         "and its sequence says so");
}

void UseMapped(sci_desc_t sd, Steps* steps) {
  const sci_remote_segment_t remote = Connect(sd, 1, kSegment);
  const sci_remote_segment_t doomed = Connect(sd, 1, kDoomed);
  sci_map_t map, doomed_map;
  sci_sequence_t sequence, doomed_sequence;
  sci_error_t error;
  auto* const memory = static_cast<volatile uint8_t*>(const_cast<void*>(
      const_cast<const void*>(SCIMapRemoteSegment(remote, &map, 0, kBytes, nullptr, 0, &error))));
  Expect(error == SCI_ERR_OK, "a remote segment is mapped");
  const auto* const doomed_memory = static_cast<volatile uint64_t*>(
      SCIMapRemoteSegment(doomed, &doomed_map, 0, 4096, nullptr, 0, &error));
  Expect(error == SCI_ERR_OK, "and another one");
  MUST(SCICreateMapSequence, map, &sequence, 0);
  MUST(SCICreateMapSequence, doomed_map, &doomed_sequence, 0);
  Expect(SCIStartSequence(sequence, 0, &error) == SCI_SEQ_OK, "a sequence starts");
  for (size_t i = 0; i < 256; ++i) memory[i] = ByteAt(i);
  SCIStoreBarrier(sequence, 0);
  Expect(memory[200] == ByteAt(200), "a load gives what was stored");
  Expect(doomed_memory[3] == 0x1111'1111'1111'1111, "and what the owner has stored");
  std::vector<uint8_t> bytes(kBytes), back(kBytes);
  for (size_t i = 0; i < kBytes; ++i) bytes[i] = ByteAt(i);
  bool good = true;
  for (const size_t size : {1u, 7u, 64u, 1000u, 1024u, 1025u, 100'000u}) {
    SCIMemCpy(sequence, bytes.data(), map, 4096 + 1, size, SCI_FLAG_ERROR_CHECK, &error);
    good = good && error == SCI_ERR_OK;
    SCIMemCpy(sequence, back.data(), map, 4096 + 1, size, SCI_FLAG_BLOCK_READ, &error);
    good = good && error == SCI_ERR_OK && IsPattern(back.data(), 0, size);
  }
  Expect(good, "SCIMemCpy writes and reads");
  Expect(SCICheckSequence(sequence, 0, &error) == SCI_SEQ_OK, "its sequence says that all arrived");
  steps->Meet();
  steps->Meet();  // it was looked at

  const Owned own(sd, kOther);
  sci_dma_queue_t queue;
  MUST(SCICreateDMAQueue, sd, &queue, 0, 1, 0);
  memcpy(own.memory, bytes.data(), kBytes);
  SCIStartDmaTransfer(queue, own.segment, remote, 0, kBytes, 0, nullptr, nullptr, 0, &error);
  Expect(SCIWaitForDMAQueue(queue, kSeconds, 0, &error) == SCI_DMAQUEUE_DONE, "DMA writes");
  memset(own.memory, 0, kBytes);
  SCIStartDmaTransfer(queue, own.segment, remote, 3, kBytes - 10, 0, nullptr, nullptr,
                      SCI_FLAG_DMA_READ | SCI_FLAG_DMA_WAIT, &error);
  Expect(error == SCI_ERR_OK && IsPattern(own.memory, 3, kBytes - 10), "DMA reads");
  steps->Meet();
  PingPong(sd, 0);
  steps->Meet();  // the process of the second segment is killed
  ExpectLost(doomed, doomed_memory, doomed_sequence, "a process that is killed is lost");
  Expect(memory[200] == ByteAt(200), "windows to others stay");
  steps->Meet();
  steps->Meet();  // the first segment is taken away
  ExpectLost(remote, reinterpret_cast<volatile uint64_t*>(memory), sequence,
             "a segment that is taken away is lost");
  memory[0] = 99;
  SCIFlush(sequence, 0);
  SCIStartDmaTransfer(queue, own.segment, remote, 0, 8, 0, nullptr, nullptr, 0, &error);
  Expect(error == SCI_ERR_SEGMENT_NOT_CONNECTED, "DMA to it is refused");
  steps->Meet();
  for (const sci_sequence_t it : {sequence, doomed_sequence}) MUST(SCIRemoveSequence, it, 0);
  for (const sci_map_t it : {map, doomed_map}) MUST(SCIUnmapSegment, it, 0);
  for (const sci_remote_segment_t it : {remote, doomed}) MUST(SCIDisconnectSegment, it, 0);
  MUST(SCIRemoveDMAQueue, queue, 0);
}

// With the process beside it on the own node.
void UseOwnNode(sci_desc_t sd, Owned* owned) {
  sci_local_segment_t twice;
  sci_error_t error;
  const sci_remote_segment_t beside = Connect(sd, 1, kDoomed);
  SCICreateSegment(sd, &twice, kDoomed, 10, nullptr, nullptr, 0, &error);
  Expect(error == SCI_ERR_SEGMENTID_USED, "an id that another process has is used");
  sci_remote_segment_t nobody;
  SCIConnectSegment(sd, &nobody, 1, 12345, 0, nullptr, nullptr, kSeconds, 0, &error);
  Expect(error == SCI_ERR_NO_SUCH_SEGMENT, "an id that nobody has is no segment");
  sci_dma_queue_t queue;
  MUST(SCICreateDMAQueue, sd, &queue, 0, 1, 0);
  SCIStartDmaTransfer(queue, owned->segment, beside, 0, kBytes, 0, nullptr, nullptr,
                      SCI_FLAG_DMA_READ | SCI_FLAG_DMA_WAIT, &error);
  Expect(error == SCI_ERR_OK && owned->memory[kBytes - 1] == 0x11, "DMA between two processes");
  MUST(SCIRemoveDMAQueue, queue, 0);
  MUST(SCIDisconnectSegment, beside, 0);
  memset(owned->memory, 0, kBytes);
}

void Own(sci_desc_t sd, Steps* steps, Owned* owned, pid_t doomed) {
  steps->Meet();
  Expect(IsPattern(owned->memory, 0, 256), "stores to a mapped segment arrive");
  Expect(IsPattern(owned->memory, 4096 + 1, 100'000), "what SCIMemCpy has written arrives");
  steps->Meet();
  steps->Meet();
  Expect(IsPattern(owned->memory, 0, kBytes), "what DMA has written arrives");
  PingPong(sd, 1);
  kill(doomed, SIGKILL);
  waitpid(doomed, nullptr, 0);
  steps->Meet();
  steps->Meet();
  Expect(Give(SCISetSegmentUnavailable, owned->segment, SCI_FLAG_FORCE_DISCONNECT) == SCI_ERR_OK,
         "a segment that is mapped elsewhere can be taken away");
  steps->Meet();
  steps->Meet();
  Expect(IsPattern(owned->memory, 0, 8), "nobody has written to it since then");
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned node = argc == 2 ? static_cast<unsigned>(atoi(argv[1])) : 2;
  if (node > 1) {
    fprintf(stderr, "sisci-guest-test 0 | 1: the node of this guest\n");
    return 2;
  }
  pid_t doomed = 0;
  if (node == 1 && (doomed = fork()) == 0) BeDoomed();
  sci_desc_t sd;
  MUST(SCIInitialize, 0);
  MUST(SCIOpen, &sd, 0);
  Steps steps(sd, node);
  if (node == 0) {
    UseMapped(sd, &steps);
  } else {
    Owned owned(sd, kOther);
    UseOwnNode(sd, &owned);
    Owned shown(sd, kSegment);
    Own(sd, &steps, &shown, doomed);
  }
  return failures == 0 ? 0 : 1;
}
