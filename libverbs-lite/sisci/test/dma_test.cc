// SPDX-License-Identifier: BSD-2-Clause
#include <atomic>
#include <thread>

#include "two_nodes.h"

namespace exrnic {
namespace {

constexpr size_t kBytes = 300'000;

// A segment of node 0 to copy from and to, one of node 1, connected, and a queue.
struct DmaPair {
  explicit DmaPair(unsigned max_entries = 4)
      : source(nodes.sd, kBytes, 1, 0), target(nodes.sd, kBytes), remote(ConnectTo(nodes.sd)) {
    SCI(SCI_ERR_OK, SCICreateDMAQueue, nodes.sd, &queue, 0, max_entries, 0);
    FillBytes(source.memory, kBytes, 1);
    memset(target.memory, 0, kBytes);
  }
  void Close() {
    SCI(SCI_ERR_OK, SCIRemoveDMAQueue, queue, 0);
    SCI(SCI_ERR_OK, SCIDisconnectSegment, remote, 0);
    source.Remove();
    target.Remove(SCI_FLAG_FORCE_REMOVE);
    SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
  }
  void Start(sci_error_t expected, size_t from, size_t size, size_t to, unsigned flags = 0) {
    SCI(expected, SCIStartDmaTransfer, queue, source.segment, remote, from, size, to, nullptr,
        nullptr, flags);
  }
  sci_dma_queue_state_t Wait() {
    sci_error_t error;
    const auto state = SCIWaitForDMAQueue(queue, kSeconds, 0, &error);
    CHECK(error == SCI_ERR_OK);
    return state;
  }

  TwoNodes nodes;
  OwnedSegment source, target;
  sci_remote_segment_t remote;
  sci_dma_queue_t queue = nullptr;
};

TEST_CASE("DMA moves bytes both ways, of any alignment") {
  DmaPair pair;
  CHECK(SCIDMAQueueState(pair.queue) == SCI_DMAQUEUE_IDLE);
  pair.Start(SCI_ERR_OK, 3, kBytes - 10, 7);
  CHECK(pair.Wait() == SCI_DMAQUEUE_DONE);
  CHECK(memcmp(pair.source.memory + 3, pair.target.memory + 7, kBytes - 10) == 0);
  CHECK(pair.target.memory[6] == 0);
  CHECK(pair.target.memory[kBytes - 3] == 0);
  FillBytes(pair.target.memory, kBytes, 77);
  pair.Start(SCI_ERR_OK, 0, kBytes, 0, SCI_FLAG_DMA_READ | SCI_FLAG_DMA_WAIT);
  CHECK(memcmp(pair.source.memory, pair.target.memory, kBytes) == 0);
  CHECK(SCIDMAQueueState(pair.queue) == SCI_DMAQUEUE_DONE);
  pair.Close();
}

TEST_CASE("DMA of what is not there is refused") {
  DmaPair pair;
  pair.Start(SCI_ERR_SIZE_ALIGNMENT, 0, 0, 0);
  pair.Start(SCI_ERR_OUT_OF_RANGE, 1, kBytes, 0);
  pair.Start(SCI_ERR_OUT_OF_RANGE, 0, kBytes, 1);
  pair.Start(SCI_ERR_OUT_OF_RANGE, SIZE_MAX, 2, 0);
  pair.Start(SCI_ERR_OUT_OF_RANGE, 0, 2, SIZE_MAX);
  pair.Start(SCI_ERR_ILLEGAL_FLAG, 0, 1, 0, 1u << 31);
  sci_local_segment_t other = nullptr;
  SCI(SCI_ERR_OK, SCICreateSegment, pair.nodes.sd, &other, 5, 100, nullptr, nullptr, 0);
  SCI(SCI_ERR_SEGMENT_NOT_PREPARED, SCIStartDmaTransfer, pair.queue, other, pair.remote, 0, 1, 0,
      nullptr, nullptr, 0);
  SCI(SCI_ERR_OK, SCIRemoveSegment, other, 0);
  SCI(SCI_ERR_ILLEGAL_PARAMETER, SCIStartDmaTransfer, pair.queue, other, pair.remote, 0, 1, 0,
      nullptr, nullptr, 0);
  sci_error_t error;
  SCIWaitForDMAQueue(pair.queue, 0, 0, &error);
  CHECK(error == SCI_ERR_ILLEGAL_OPERATION);
  SCI(SCI_ERR_ILLEGAL_OPERATION, SCIAbortDMAQueue, pair.queue, 0);
  CHECK(SCIDMAQueueState(pair.queue) == SCI_DMAQUEUE_IDLE);
  pair.Close();
}

TEST_CASE("a vector moves each of its parts") {
  DmaPair pair;
  std::vector<dis_dma_vec_t> parts;
  for (size_t i = 0; i < DIS_DMA_MAX_VECLEN; ++i) parts.push_back({100, i * 200, i * 150 + 1, 0});
  const auto start = [&](sci_error_t expected, size_t length) {
    SCI(expected, SCIStartDmaTransferVec, pair.queue, pair.source.segment, pair.remote, length,
        parts.data(), nullptr, nullptr, 0);
  };
  start(SCI_ERR_SIZE_ALIGNMENT, 0);
  start(SCI_ERR_MAX_ENTRIES, DIS_DMA_MAX_VECLEN + 1);
  start(SCI_ERR_OK, DIS_DMA_MAX_VECLEN);
  CHECK(pair.Wait() == SCI_DMAQUEUE_DONE);
  bool good = true;
  for (const auto& part : parts) {
    good = good &&
           memcmp(pair.source.memory + part.local_offset, pair.target.memory + part.remote_offset,
                  part.size) == 0 &&
           pair.target.memory[part.remote_offset + part.size] == 0;
  }
  CHECK(good);
  parts[3].size = kBytes;
  start(SCI_ERR_OUT_OF_RANGE, 5);
  pair.Close();
}

TEST_CASE("a queue is filled, then posted, then reset") {
  DmaPair pair(2);
  sci_error_t error;
  const auto enqueue = [&](size_t offset) {
    return SCIEnqueueDMATransfer(pair.queue, pair.source.segment, pair.remote, offset, offset, 100,
                                 0, &error);
  };
  SCI(SCI_ERR_ILLEGAL_OPERATION, SCIPostDMAQueue, pair.queue, nullptr, nullptr, 0);
  CHECK(enqueue(0) == SCI_DMAQUEUE_GATHER);
  CHECK(enqueue(1000) == SCI_DMAQUEUE_GATHER);
  enqueue(2000);
  CHECK(error == SCI_ERR_MAX_ENTRIES);
  pair.Start(SCI_ERR_ILLEGAL_OPERATION, 0, 1, 0);
  SCI(SCI_ERR_OK, SCIPostDMAQueue, pair.queue, nullptr, nullptr, 0);
  CHECK(pair.Wait() == SCI_DMAQUEUE_DONE);
  CHECK(memcmp(pair.source.memory + 1000, pair.target.memory + 1000, 100) == 0);
  enqueue(0);
  CHECK(error == SCI_ERR_ILLEGAL_OPERATION);
  SCI(SCI_ERR_OK, SCIResetDMAQueue, pair.queue, 0);
  CHECK(SCIDMAQueueState(pair.queue) == SCI_DMAQUEUE_IDLE);
  pair.Close();
}

struct Heard {
  std::atomic<int> count{0};
  sci_error_t status = SCI_ERR_SYSTEM;
  sci_error_t again = SCI_ERR_SYSTEM;
  DmaPair* pair = nullptr;
};

TEST_CASE("a callback hears that a transfer has ended, and may start the next one") {
  DmaPair pair;
  Heard heard;
  heard.pair = &pair;
  const sci_cb_dma_t callback = [](void* arg, sci_dma_queue_t queue, sci_error_t status) {
    auto* const self = static_cast<Heard*>(arg);
    self->status = status;
    DmaPair* const of = self->pair;
    SCIStartDmaTransfer(queue, of->source.segment, of->remote, 0, 10, 0, nullptr, nullptr, 0,
                        &self->again);
    ++self->count;
    return SCI_CALLBACK_CONTINUE;
  };
  SCI(SCI_ERR_OK, SCIStartDmaTransfer, pair.queue, pair.source.segment, pair.remote, 0, kBytes, 0,
      callback, &heard, SCI_FLAG_USE_CALLBACK);
  CHECK(Eventually([&] { return heard.count == 1; }));
  CHECK(heard.status == SCI_ERR_OK);
  CHECK(heard.again == SCI_ERR_OK);
  CHECK(memcmp(pair.source.memory, pair.target.memory, kBytes) == 0);
  CHECK(pair.Wait() == SCI_DMAQUEUE_DONE);
  pair.Close();
}

TEST_CASE("a transfer to a segment that was taken away fails, and others go on") {
  DmaPair pair;
  OwnedSegment second(pair.nodes.sd, kBytes, 2, 1);
  const sci_remote_segment_t remote = ConnectTo(pair.nodes.sd, 2);
  pair.Start(SCI_ERR_OK, 0, kBytes, 0, SCI_FLAG_DMA_WAIT);
  // Behind the back of the other end: it hears of it, and until then is refused by the RNIC.
  SCI(SCI_ERR_OK, SCISetSegmentUnavailable, pair.target.segment, 1, SCI_FLAG_FORCE_DISCONNECT);
  memset(pair.target.memory, 0, kBytes);
  sci_error_t error;
  SCIStartDmaTransfer(pair.queue, pair.source.segment, pair.remote, 0, kBytes, 0, nullptr, nullptr,
                      SCI_FLAG_DMA_WAIT, &error);
  CHECK((error == SCI_ERR_TRANSFER_FAILED || error == SCI_ERR_SEGMENT_NOT_CONNECTED));
  CHECK(std::vector<uint8_t>(pair.target.memory, pair.target.memory + kBytes) ==
        std::vector<uint8_t>(kBytes));
  for (int i = 0; i < 3; ++i) {
    SCI(SCI_ERR_OK, SCIStartDmaTransfer, pair.queue, pair.source.segment, remote, 0, kBytes, 0,
        nullptr, nullptr, SCI_FLAG_DMA_WAIT);
  }
  CHECK(memcmp(pair.source.memory, second.memory, kBytes) == 0);
  SCI(SCI_ERR_OK, SCIDisconnectSegment, remote, 0);
  second.Remove(SCI_FLAG_FORCE_REMOVE);
  pair.Close();
}

TEST_CASE("a transfer can be aborted, and the queue used again") {
  DmaPair pair;
  std::vector<dis_dma_vec_t> parts(DIS_DMA_MAX_VECLEN, {kBytes, 0, 0, 0});
  SCI(SCI_ERR_OK, SCIStartDmaTransferVec, pair.queue, pair.source.segment, pair.remote,
      parts.size(), parts.data(), nullptr, nullptr, 0);
  SCI(SCI_ERR_ILLEGAL_OPERATION, SCIRemoveDMAQueue, pair.queue, 0);
  pair.Start(SCI_ERR_ILLEGAL_OPERATION, 0, 1, 0);
  sci_error_t error;
  CHECK(SCIWaitForDMAQueue(pair.queue, 1, 0, &error) == SCI_DMAQUEUE_POSTED);
  CHECK(error == SCI_ERR_TIMEOUT);
  SCI(SCI_ERR_BUSY, SCIDisconnectSegment, pair.remote, 0);
  SCI(SCI_ERR_OK, SCIAbortDMAQueue, pair.queue, 0);
  CHECK(SCIDMAQueueState(pair.queue) == SCI_DMAQUEUE_ABORTED);
  pair.Start(SCI_ERR_OK, 0, 10, 0, SCI_FLAG_DMA_WAIT);
  CHECK(SCIDMAQueueState(pair.queue) == SCI_DMAQUEUE_DONE);
  pair.Close();
}

TEST_CASE("who waits for a transfer that has succeeded is told so, though others begin the next") {
  DmaPair pair;
  std::atomic<unsigned> failed{0};
  std::atomic<bool> stop{false};
  pair.Start(SCI_ERR_OK, 0, kBytes, 0);
  // It sleeps while so many bytes are under way, and wakes when the next are.
  std::thread waiter([&] {
    while (!stop) {
      sci_error_t error;
      const auto state = SCIWaitForDMAQueue(pair.queue, kSeconds, 0, &error);
      if (error != SCI_ERR_OK || state != SCI_DMAQUEUE_DONE) ++failed;
    }
  });
  for (unsigned round = 0; round < 100; ++round) {
    while (SCIDMAQueueState(pair.queue) != SCI_DMAQUEUE_DONE) {
    }
    pair.Start(SCI_ERR_OK, 0, kBytes, 0);
  }
  stop = true;
  waiter.join();
  CHECK(failed == 0);
  CHECK(pair.Wait() == SCI_DMAQUEUE_DONE);
  pair.Close();
}

TEST_CASE("DMA between segments of one process goes round") {
  TwoNodes nodes;
  OwnedSegment source(nodes.sd, 1000, 1, 0), target(nodes.sd, 1000, 2, 0);
  const sci_remote_segment_t remote = ConnectTo(nodes.sd, 2, 0);
  sci_dma_queue_t queue;
  SCI(SCI_ERR_OK, SCICreateDMAQueue, nodes.sd, &queue, 0, 1, 0);
  FillBytes(source.memory, 1000, 5);
  SCI(SCI_ERR_OK, SCIStartDmaTransfer, queue, source.segment, remote, 0, 1000, 0, nullptr, nullptr,
      SCI_FLAG_DMA_WAIT);
  CHECK(memcmp(source.memory, target.memory, 1000) == 0);
  SCI(SCI_ERR_OK, SCIRemoveDMAQueue, queue, 0);
  SCI(SCI_ERR_OK, SCIDisconnectSegment, remote, 0);
  source.Remove();
  target.Remove(SCI_FLAG_FORCE_REMOVE);
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

}  // namespace
}  // namespace exrnic
