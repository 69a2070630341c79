// SPDX-License-Identifier: BSD-2-Clause
// DMA queues.
#include "adapter.h"
#include "limits.h"
#include "objects.h"

using exrnic::sisci::Adapter;
using exrnic::sisci::Call;
using exrnic::sisci::CheckFlags;
using exrnic::sisci::Descriptor;
using exrnic::sisci::DmaQueue;
using exrnic::sisci::Exposure;
using exrnic::sisci::LocalSegment;
using exrnic::sisci::Piece;
using exrnic::sisci::RemoteSegment;
using exrnic::sisci::Require;
using exrnic::sisci::Transfer;
using exrnic::sisci::Type;
using exrnic::sisci::Using;

namespace {

// Flags that say how an engine reaches memory, or which: here there is one.
constexpr unsigned kDmaHints = SCI_FLAG_DMA_GLOBAL | SCI_FLAG_DMA_SYSDMA | SCI_FLAG_DMA_USER_MEM;

// Throws; else it is a transfer of this queue.
Exposure* CheckSegments(const DmaQueue& queue, LocalSegment* local, const RemoteSegment& remote) {
  Require(!local->removed && !remote.removed, SCI_ERR_ILLEGAL_PARAMETER);
  Exposure* const exposure = local->On(queue.adapter->number());
  Require(exposure != nullptr, SCI_ERR_SEGMENT_NOT_PREPARED);
  Require(remote.connected() && remote.adapter == queue.adapter, SCI_ERR_SEGMENT_NOT_CONNECTED);
  return exposure;
}

// In pieces that one work request can have.
void Append(std::vector<Piece>* pieces, const LocalSegment& local, const Exposure& exposure,
            const RemoteSegment& remote, const dis_dma_vec_t& part) {
  Require(part.size != 0, SCI_ERR_SIZE_ALIGNMENT);
  Require(part.local_offset <= local.size && part.size <= local.size - part.local_offset &&
              part.remote_offset <= remote.size && part.size <= remote.size - part.remote_offset,
          SCI_ERR_OUT_OF_RANGE);
  for (size_t done = 0; done < part.size;) {
    const size_t bytes = std::min(part.size - done, exrnic::sisci::kPieceMax);
    pieces->push_back({vl::AddressOf(local.memory) + part.local_offset + done,
                       vl_mr_stag(exposure.mr.get()), remote.stag,
                       remote.address + part.remote_offset + done, bytes});
    done += bytes;
  }
}

sci_dma_queue_state_t StateAfter(sci_error_t status) {
  if (status == SCI_ERR_OK) return SCI_DMAQUEUE_DONE;
  return status == SCI_ERR_CANCELLED ? SCI_DMAQUEUE_ABORTED : SCI_DMAQUEUE_ERROR;
}

void Begin(const std::shared_ptr<DmaQueue>& queue, const std::shared_ptr<LocalSegment>& local,
           const std::shared_ptr<RemoteSegment>& remote, std::vector<Piece> pieces, bool read,
           sci_cb_dma_t callback, void* argument) {
  auto transfer = std::make_shared<Transfer>();
  transfer->read = read;
  // Without a thread only what is posted at once goes on by itself.
  transfer->wants_thread = callback != nullptr || pieces.size() > exrnic::sisci::kLinkPieces;
  transfer->pieces = std::move(pieces);
  transfer->on_end = [queue, local, remote, callback, argument](sci_error_t status) {
    --local->uses;
    --remote->uses;
    queue->status = status;
    queue->state = StateAfter(status);
    queue->changed.notify_all();
    if (callback == nullptr) return;
    const auto handle = reinterpret_cast<sci_dma_queue_t>(queue->handle);
    CallBack(queue, [=] {
      callback(argument, handle, status);
      return SCI_CALLBACK_CONTINUE;  // it is of this transfer alone
    });
  };
  ++local->uses;
  ++remote->uses;
  queue->state = SCI_DMAQUEUE_POSTED;
  queue->status = SCI_ERR_OK;
  queue->transfer = transfer;
  queue->remote = remote;  // whose link it is
  queue->adapter->Start(remote->link, transfer);
}

void StartVector(sci_dma_queue_t dq, sci_local_segment_t localSegment,
                 sci_remote_segment_t remoteSegment, size_t length, const dis_dma_vec_t* parts,
                 sci_cb_dma_t callback, void* argument, unsigned flags) {
  const auto local = exrnic::sisci::Get<LocalSegment>(localSegment, Type::kLocalSegment);
  const auto remote = exrnic::sisci::Get<RemoteSegment>(remoteSegment, Type::kRemoteSegment);
  Using<DmaQueue> queue(dq, Type::kDmaQueue);
  const bool calls = (flags & SCI_FLAG_USE_CALLBACK) != 0;
  Require(parts != nullptr && (!calls || callback != nullptr), SCI_ERR_ILLEGAL_PARAMETER);
  CheckFlags(flags, SCI_FLAG_USE_CALLBACK | SCI_FLAG_DMA_WAIT | SCI_FLAG_DMA_READ | kDmaHints);
  Require(length != 0, SCI_ERR_SIZE_ALIGNMENT);
  Require(length <= DIS_DMA_MAX_VECLEN, SCI_ERR_MAX_ENTRIES);
  Require(queue->state != SCI_DMAQUEUE_POSTED && queue->state != SCI_DMAQUEUE_GATHER,
          SCI_ERR_ILLEGAL_OPERATION);
  const Exposure* const exposure = CheckSegments(*queue.object(), local.get(), *remote);
  std::vector<Piece> pieces;
  for (size_t i = 0; i < length; ++i) {
    Append(&pieces, *local, *exposure, *remote, parts[i]);
  }
  Adapter* const adapter = queue.Keep(queue->adapter);
  Begin(queue.object(), local, remote, std::move(pieces), (flags & SCI_FLAG_DMA_READ) != 0,
        calls ? callback : nullptr, argument);
  if ((flags & SCI_FLAG_DMA_WAIT) == 0) return;
  const std::shared_ptr<Transfer> transfer = queue->transfer;
  adapter->Await(queue.lock(), *transfer, exrnic::sisci::Clock::time_point::max());
  Require(transfer->status == SCI_ERR_OK, transfer->status);
}

}  // namespace

SISCI_EXPORT(SCICreateDMAQueue);
void SCICreateDMAQueue(sci_desc_t sd, sci_dma_queue_t* dq, unsigned int localAdapterNo,
                       unsigned int maxEntries, unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    const auto made = std::make_shared<DmaQueue>();
    const Using<Descriptor> descriptor(sd, Type::kDescriptor);
    Require(dq != nullptr && maxEntries != 0, SCI_ERR_ILLEGAL_PARAMETER);
    CheckFlags(flags, kDmaHints, SCI_FLAG_DMA_PHDMA);
    made->sd = descriptor.object();
    made->adapter = descriptor->Open(localAdapterNo);
    made->max_entries = maxEntries;
    Publish(made, dq);
    ++descriptor->objects;
  });
}

SISCI_EXPORT(SCIRemoveDMAQueue);
void SCIRemoveDMAQueue(sci_dma_queue_t dq, unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    Using<DmaQueue> queue(dq, Type::kDmaQueue);
    CheckFlags(flags, 0);
    queue->adapter->Progress();  // it may have ended
    Require(queue->state != SCI_DMAQUEUE_POSTED, SCI_ERR_ILLEGAL_OPERATION);
    Withdraw(queue.object().get());
    queue->remote = nullptr;
    queue->local = nullptr;
    --queue->sd->objects;
    AwaitCallback(queue.lock(), queue.object().get());
  });
}

SISCI_EXPORT(SCIStartDmaTransfer);
void SCIStartDmaTransfer(sci_dma_queue_t dq, sci_local_segment_t localSegment,
                         sci_remote_segment_t remoteSegment, size_t localOffset, size_t size,
                         size_t remoteOffset, sci_cb_dma_t callback, void* callbackArg,
                         unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    const dis_dma_vec_t part = {size, localOffset, remoteOffset, 0};
    StartVector(dq, localSegment, remoteSegment, 1, &part, callback, callbackArg, flags);
  });
}

SISCI_EXPORT(SCIStartDmaTransferVec);
void SCIStartDmaTransferVec(sci_dma_queue_t dq, sci_local_segment_t localSegment,
                            sci_remote_segment_t remoteSegment, size_t vecLength,
                            dis_dma_vec_t* disDmaVec, sci_cb_dma_t callback, void* callbackArg,
                            unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    StartVector(dq, localSegment, remoteSegment, vecLength, disDmaVec, callback, callbackArg,
                flags);
  });
}

// ---- Queues that are filled, then posted

SISCI_EXPORT(SCIEnqueueDMATransfer);
sci_dma_queue_state_t SCIEnqueueDMATransfer(sci_dma_queue_t dq, sci_local_segment_t localSegment,
                                            sci_remote_segment_t remoteSegment, size_t localOffset,
                                            size_t remoteOffset, size_t size, unsigned int flags,
                                            sci_error_t* error) {
  return Call(error, [&] {
    const auto local = exrnic::sisci::Get<LocalSegment>(localSegment, Type::kLocalSegment);
    const auto remote = exrnic::sisci::Get<RemoteSegment>(remoteSegment, Type::kRemoteSegment);
    const Using<DmaQueue> queue(dq, Type::kDmaQueue);
    CheckFlags(flags, SCI_FLAG_DMA_READ | kDmaHints);
    const bool read = (flags & SCI_FLAG_DMA_READ) != 0;
    Require(queue->state == SCI_DMAQUEUE_IDLE || queue->state == SCI_DMAQUEUE_GATHER,
            SCI_ERR_ILLEGAL_OPERATION);
    const bool first = queue->state == SCI_DMAQUEUE_IDLE;
    // All of one queue go the same way, between the same two.
    Require(first || (queue->local == local && queue->remote == remote && queue->read == read),
            SCI_ERR_ILLEGAL_OPERATION);
    Require(queue->gathered.size() < queue->max_entries, SCI_ERR_MAX_ENTRIES);
    const Exposure* const exposure = CheckSegments(*queue.object(), local.get(), *remote);
    Append(&queue->gathered, *local, *exposure, *remote, {size, localOffset, remoteOffset, 0});
    queue->local = local;
    queue->remote = remote;
    queue->read = read;
    return queue->state = SCI_DMAQUEUE_GATHER;
  });
}

SISCI_EXPORT(SCIPostDMAQueue);
void SCIPostDMAQueue(sci_dma_queue_t dq, sci_cb_dma_t callback, void* callbackArg,
                     unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    const Using<DmaQueue> queue(dq, Type::kDmaQueue);
    const bool calls = (flags & SCI_FLAG_USE_CALLBACK) != 0;
    CheckFlags(flags, SCI_FLAG_USE_CALLBACK);
    Require(!calls || callback != nullptr, SCI_ERR_ILLEGAL_PARAMETER);
    Require(queue->state == SCI_DMAQUEUE_GATHER, SCI_ERR_ILLEGAL_OPERATION);
    CheckSegments(*queue.object(), queue->local.get(), *queue->remote);
    std::vector<Piece> pieces;
    pieces.swap(queue->gathered);
    Begin(queue.object(), queue->local, queue->remote, std::move(pieces), queue->read,
          calls ? callback : nullptr, callbackArg);
  });
}

SISCI_EXPORT(SCIResetDMAQueue);
void SCIResetDMAQueue(sci_dma_queue_t dq, unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    const Using<DmaQueue> queue(dq, Type::kDmaQueue);
    CheckFlags(flags, 0);
    queue->adapter->Progress();
    Require(queue->state != SCI_DMAQUEUE_POSTED, SCI_ERR_ILLEGAL_OPERATION);
    queue->gathered.clear();
    queue->state = SCI_DMAQUEUE_IDLE;
  });
}

// ---- While it is posted

SISCI_EXPORT(SCIAbortDMAQueue);
void SCIAbortDMAQueue(sci_dma_queue_t dq, unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    Using<DmaQueue> queue(dq, Type::kDmaQueue);
    CheckFlags(flags, 0);
    queue->adapter->Progress();
    Require(queue->state == SCI_DMAQUEUE_POSTED, SCI_ERR_ILLEGAL_OPERATION);
    Adapter* const adapter = queue.Keep(queue->adapter);
    const std::shared_ptr<Transfer> transfer = queue->transfer;
    adapter->Abort(queue->remote->link, transfer);
    // What the RNIC has begun it ends.
    adapter->Await(queue.lock(), *transfer, exrnic::sisci::Clock::time_point::max());
  });
}

SISCI_EXPORT(SCIDMAQueueState);
sci_dma_queue_state_t SCIDMAQueueState(sci_dma_queue_t dq) {
  sci_error_t error = SCI_ERR_OK;
  const auto state = Call(&error, [&] {
    const Using<DmaQueue> queue(dq, Type::kDmaQueue);
    if (queue->state == SCI_DMAQUEUE_POSTED) queue->adapter->Progress();
    return queue->state;
  });
  return error == SCI_ERR_OK ? state : SCI_DMAQUEUE_ERROR;
}

SISCI_EXPORT(SCIWaitForDMAQueue);
sci_dma_queue_state_t SCIWaitForDMAQueue(sci_dma_queue_t dq, unsigned int timeout,
                                         unsigned int flags, sci_error_t* error) {
  sci_error_t result = SCI_ERR_OK;
  const auto state = Call(&result, [&] {
    Using<DmaQueue> queue(dq, Type::kDmaQueue);
    CheckFlags(flags, 0);
    Require(queue->state != SCI_DMAQUEUE_IDLE && queue->state != SCI_DMAQUEUE_GATHER,
            SCI_ERR_ILLEGAL_OPERATION);
    if (queue->state != SCI_DMAQUEUE_POSTED) return queue->state;
    Adapter* const adapter = queue.Keep(queue->adapter);
    const std::shared_ptr<Transfer> transfer = queue->transfer;
    Require(adapter->Await(queue.lock(), *transfer, exrnic::sisci::DeadlineOf(timeout)),
            SCI_ERR_TIMEOUT);
    return StateAfter(transfer->status);  // the queue may have begun another one
  });
  if (error != nullptr) *error = result;
  if (result == SCI_ERR_OK) return state;
  return result == SCI_ERR_TIMEOUT ? SCI_DMAQUEUE_POSTED : SCI_DMAQUEUE_ERROR;
}
