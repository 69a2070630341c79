// SPDX-License-Identifier: BSD-2-Clause
// Local segments: not prepared, prepared for an adapter, available through it.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "adapter.h"
#include "objects.h"

using exrnic::sisci::Adapter;
using exrnic::sisci::Call;
using exrnic::sisci::CheckFlags;
using exrnic::sisci::Descriptor;
using exrnic::sisci::Exposure;
using exrnic::sisci::Failure;
using exrnic::sisci::LocalSegment;
using exrnic::sisci::Require;
using exrnic::sisci::SegmentEvent;
using exrnic::sisci::TheLibrary;
using exrnic::sisci::Type;
using exrnic::sisci::Using;
using exrnic::sisci::WaitFor;
using exrnic::sisci::What;

namespace {

// False: it is used, by this process or another one.
bool TakeId(LocalSegment* segment, Adapter* adapter, uint32_t id) {
  auto& segments = TheLibrary().segments;
  if (segments.count(id) != 0) return false;
  if (adapter->is_shared() && !segment->name.Take(adapter->HostNameOf(What::kSegment, id))) {
    Require(errno == EADDRINUSE, SCI_ERR_SYSTEM);
    return false;
  }
  segment->id = id;
  segments[id] = segment;
  return true;
}

void TakeId(LocalSegment* segment, Adapter* adapter, uint32_t id, bool any) {
  constexpr unsigned kTries = 1u << 16;
  for (unsigned tries = 0; !TakeId(segment, adapter, id); ++id) {
    Require(any && ++tries < kTries, SCI_ERR_SEGMENTID_USED);
  }
}

void GiveId(LocalSegment* segment) {
  if (segment->is_private) return;
  TheLibrary().segments.erase(segment->id);
  segment->name = {};
}

}  // namespace

SISCI_EXPORT(SCICreateSegment);
void SCICreateSegment(sci_desc_t sd, sci_local_segment_t* segment, unsigned int segmentId,
                      size_t size, sci_cb_local_segment_t callback, void* callbackArg,
                      unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    const auto made = std::make_shared<LocalSegment>();
    Using<Descriptor> descriptor(sd, Type::kDescriptor);
    const bool calls = (flags & SCI_FLAG_USE_CALLBACK) != 0;
    Require(segment != nullptr && (!calls || callback != nullptr), SCI_ERR_ILLEGAL_PARAMETER);
    CheckFlags(flags,
               SCI_FLAG_USE_CALLBACK | SCI_FLAG_EMPTY | SCI_FLAG_PRIVATE | SCI_FLAG_AUTO_ID |
                   SCI_FLAG_DMA_GLOBAL | SCI_FLAG_DMA_SOURCE_ONLY,
               SCI_FLAG_BROADCAST | SCI_FLAG_ALLOW_UNICAST);
    Require(size != 0, SCI_ERR_SIZE_ALIGNMENT);
    made->sd = descriptor.object();
    made->size = size;
    made->is_private = (flags & SCI_FLAG_PRIVATE) != 0;
    made->callback = calls ? callback : nullptr;
    made->argument = callbackArg;
    if ((flags & SCI_FLAG_EMPTY) == 0) {
      void* const memory =
          mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      Require(memory != MAP_FAILED, SCI_ERR_NOSPC);
      made->memory = static_cast<uint8_t*>(memory);
      made->owns_memory = true;
    }
    if (!made->is_private) {
      TakeId(made.get(), descriptor->Open(0), segmentId, (flags & SCI_FLAG_AUTO_ID) != 0);
    }
    try {
      Publish(made, segment);
    } catch (...) {
      GiveId(made.get());
      throw;
    }
    ++descriptor->objects;
  });
}

SISCI_EXPORT(SCIRegisterSegmentMemory);
void SCIRegisterSegmentMemory(void* address, size_t size, sci_local_segment_t segment,
                              unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    const Using<LocalSegment> local(segment, Type::kLocalSegment);
    CheckFlags(flags, 0);
    Require(local->memory == nullptr, SCI_ERR_ILLEGAL_OPERATION);
    Require(size != 0, SCI_ERR_SIZE_ALIGNMENT);
    Require(size <= local->size, SCI_ERR_OUT_OF_RANGE);
    const auto first = reinterpret_cast<uintptr_t>(address);
    const uintptr_t page = ~(static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)) - 1);
    Require(address != nullptr && first + (size - 1) >= first, SCI_ERR_ILLEGAL_ADDRESS);
    // Says whether all of it is mapped, and does nothing.
    Require(msync(reinterpret_cast<void*>(first & page), size + (first & ~page), MS_ASYNC) == 0,
            SCI_ERR_ILLEGAL_ADDRESS);
    local->memory = static_cast<uint8_t*>(address);
    local->size = size;
  });
}

SISCI_EXPORT(SCIPrepareSegment);
void SCIPrepareSegment(sci_local_segment_t segment, unsigned int localAdapterNo, unsigned int flags,
                       sci_error_t* error) {
  Call(error, [&] {
    const Using<LocalSegment> local(segment, Type::kLocalSegment);
    CheckFlags(flags, SCI_FLAG_DMA_SOURCE_ONLY | SCI_FLAG_DMA_GLOBAL);
    Adapter* const adapter = local->sd->Open(localAdapterNo);
    Require(!local->removed, SCI_ERR_ILLEGAL_PARAMETER);  // meanwhile
    Require(local->memory != nullptr && local->On(localAdapterNo) == nullptr,
            SCI_ERR_ILLEGAL_OPERATION);
    Exposure exposure = {};
    exposure.adapter = adapter;
    exposure.source_only = (flags & SCI_FLAG_DMA_SOURCE_ONLY) != 0;
    int access = VL_ACCESS_LOCAL_WRITE;
    if (!exposure.source_only) access |= VL_ACCESS_REMOTE_READ | VL_ACCESS_REMOTE_WRITE;
    exposure.mr = vl::AllocateMr(adapter->pd(), local->memory, local->size, access);
    local->exposures[localAdapterNo] = std::move(exposure);
  });
}

SISCI_EXPORT(SCISetSegmentAvailable);
void SCISetSegmentAvailable(sci_local_segment_t segment, unsigned int localAdapterNo,
                            unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    const Using<LocalSegment> local(segment, Type::kLocalSegment);
    CheckFlags(flags, 0);
    Require(!local->is_private, SCI_ERR_ILLEGAL_OPERATION);
    local->sd->Open(localAdapterNo);
    Exposure* const exposure = local->On(localAdapterNo);
    Require(exposure != nullptr, SCI_ERR_SEGMENT_NOT_PREPARED);
    Require(!exposure->source_only && !exposure->available, SCI_ERR_ILLEGAL_OPERATION);
    exposure->available = true;
  });
}

namespace {

// Whoever is connected loses it at once: by another STag.
void ForceDisconnect(const LocalSegment& segment, Exposure* exposure) {
  vl::SetMrAccess(exposure->mr.get(),
                  VL_ACCESS_LOCAL_WRITE | VL_ACCESS_REMOTE_READ | VL_ACCESS_REMOTE_WRITE);
  exposure->adapter->TellConnections(segment, SCI_CB_LOST, true);
}

}  // namespace

SISCI_EXPORT(SCISetSegmentUnavailable);
void SCISetSegmentUnavailable(sci_local_segment_t segment, unsigned int localAdapterNo,
                              unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    const Using<LocalSegment> local(segment, Type::kLocalSegment);
    CheckFlags(flags, SCI_FLAG_FORCE_DISCONNECT | SCI_FLAG_NOTIFY);
    local->sd->Open(localAdapterNo);
    Exposure* const exposure = local->On(localAdapterNo);
    Require(exposure != nullptr && exposure->available, SCI_ERR_ILLEGAL_OPERATION);
    exposure->available = false;
    if ((flags & SCI_FLAG_FORCE_DISCONNECT) != 0) {
      ForceDisconnect(*local.object(), exposure);
    } else if ((flags & SCI_FLAG_NOTIFY) != 0) {
      exposure->adapter->TellConnections(*local.object(), SCI_CB_DISCONNECT, false);
    }
  });
}

SISCI_EXPORT(SCIRemoveSegment);
void SCIRemoveSegment(sci_local_segment_t segment, unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    Using<LocalSegment> local(segment, Type::kLocalSegment);
    CheckFlags(flags, SCI_FLAG_FORCE_REMOVE);
    Require(local->uses == 0, SCI_ERR_BUSY);
    const bool force = (flags & SCI_FLAG_FORCE_REMOVE) != 0;
    Require(local->connections == 0 || force, SCI_ERR_BUSY);
    for (auto& exposure : local->exposures) {
      if (force && !exposure.second.source_only) ForceDisconnect(*local.object(), &exposure.second);
    }
    Withdraw(local.object().get());
    GiveId(local.object().get());
    local->exposures.clear();  // nobody reaches its memory any more
    --local->sd->objects;
    AwaitCallback(local.lock(), local.object().get());
  });
}

SISCI_EXPORT(SCIWaitForLocalSegmentEvent);
sci_segment_cb_reason_t SCIWaitForLocalSegmentEvent(sci_local_segment_t segment,
                                                    unsigned int* sourcenodeId,
                                                    unsigned int* localAdapterNo,
                                                    unsigned int timeout, unsigned int flags,
                                                    sci_error_t* error) {
  return Call(error, [&] {
    Using<LocalSegment> local(segment, Type::kLocalSegment);
    CheckFlags(flags, 0);
    Require(local->callback == nullptr, SCI_ERR_ILLEGAL_OPERATION);
    const bool told = WaitFor(local.lock(), &local->changed, exrnic::sisci::DeadlineOf(timeout),
                              [&] { return local->removed || !local->events.empty(); });
    Require(!local->removed, SCI_ERR_CANCELLED);
    Require(told, SCI_ERR_TIMEOUT);
    const SegmentEvent event = local->events.front();
    local->events.pop_front();
    if (sourcenodeId != nullptr) *sourcenodeId = event.node;
    if (localAdapterNo != nullptr) *localAdapterNo = event.adapter;
    return event.reason;
  });
}

SISCI_EXPORT(SCIGetLocalSegmentId);
unsigned int SCIGetLocalSegmentId(sci_local_segment_t segment) {
  return Call(nullptr,
              [&]() -> unsigned { return Using<LocalSegment>(segment, Type::kLocalSegment)->id; });
}

SISCI_EXPORT(SCIGetLocalSegmentSize);
size_t SCIGetLocalSegmentSize(sci_local_segment_t segment) {
  return Call(nullptr, [&] { return Using<LocalSegment>(segment, Type::kLocalSegment)->size; });
}
