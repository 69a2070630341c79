// SPDX-License-Identifier: BSD-2-Clause
// Remote segments, and maps of both kinds.
#include <cerrno>

#include "adapter.h"
#include "exrnic/ntb.h"
#include "limits.h"
#include "objects.h"
#include "signals.h"

using exrnic::sisci::Adapter;
using exrnic::sisci::Call;
using exrnic::sisci::CheckFlags;
using exrnic::sisci::Clock;
using exrnic::sisci::DeadlineOf;
using exrnic::sisci::Descriptor;
using exrnic::sisci::Failure;
using exrnic::sisci::Kind;
using exrnic::sisci::Link;
using exrnic::sisci::LocalSegment;
using exrnic::sisci::Lock;
using exrnic::sisci::Map;
using exrnic::sisci::Message;
using exrnic::sisci::RemoteSegment;
using exrnic::sisci::Require;
using exrnic::sisci::TheLibrary;
using exrnic::sisci::Type;
using exrnic::sisci::Using;
using exrnic::sisci::WaitFor;
using exrnic::sisci::What;

namespace {

void ConnectNow(Lock* lock, Adapter* adapter, const std::shared_ptr<RemoteSegment>& segment,
                Clock::time_point deadline) {
  const std::shared_ptr<Link> link = adapter->FindOwner(lock, segment->node, What::kSegment,
                                                        segment->id, deadline, &segment->removed);
  Message question = {};
  question.kind = Kind::kConnect;
  question.what = static_cast<uint32_t>(What::kSegment);
  question.number = segment->id;
  const Message answer = adapter->Ask(lock, link, question, deadline, &segment->removed);
  Require(answer.status == SCI_ERR_OK, static_cast<sci_error_t>(answer.status));
  segment->connection = answer.number;
  segment->link = link;
  Require(answer.size != 0 && answer.address + (answer.size - 1) >= answer.address,
          SCI_ERR_CONNECTION_REFUSED);
  segment->stag = answer.stag;
  segment->address = answer.address;
  segment->size = answer.size;
  auto& segments = link->segments;
  for (size_t i = 0; i < segments.size();) {
    if (segments[i].expired()) {
      segments[i] = segments.back();
      segments.pop_back();
    } else {
      ++i;
    }
  }
  segments.push_back(segment);
}

void Hangup(RemoteSegment* segment) {
  if (segment->link == nullptr) return;
  segment->adapter->CloseQp(segment->link, std::move(segment->window_qp));
  Message message = {};
  message.kind = Kind::kDisconnect;
  message.number = segment->connection;
  segment->adapter->Send(segment->link, message);
}

// Of an asynchronous connect.
void ConnectLater(const std::shared_ptr<Adapter>& adapter,
                  const std::shared_ptr<RemoteSegment>& segment, Clock::time_point deadline) {
  Lock lock(TheLibrary().mutex);
  sci_error_t error = SCI_ERR_OK;
  Call(&error, [&] { ConnectNow(&lock, adapter.get(), segment, deadline); });
  if (!lock.owns_lock()) lock.lock();
  segment->is_connecting = false;
  if (segment->removed || error != SCI_ERR_OK) {
    Hangup(segment.get());
    segment->link = nullptr;
  }
  if (!segment->removed) {
    segment->Tell(segment, SCI_CB_CONNECT, error);
  }
  segment->changed.notify_all();
}

}  // namespace

SISCI_EXPORT(SCIConnectSegment);
void SCIConnectSegment(sci_desc_t sd, sci_remote_segment_t* segment, unsigned int nodeId,
                       unsigned int segmentId, unsigned int localAdapterNo,
                       sci_cb_remote_segment_t callback, void* callbackArg, unsigned int timeout,
                       unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    const auto made = std::make_shared<RemoteSegment>();
    Using<Descriptor> descriptor(sd, Type::kDescriptor);
    const bool calls = (flags & SCI_FLAG_USE_CALLBACK) != 0;
    const bool later = (flags & SCI_FLAG_ASYNCHRONOUS_CONNECT) != 0;
    Require(segment != nullptr && (!calls || callback != nullptr), SCI_ERR_ILLEGAL_PARAMETER);
    CheckFlags(flags, SCI_FLAG_USE_CALLBACK | SCI_FLAG_ASYNCHRONOUS_CONNECT, SCI_FLAG_BROADCAST);
    Adapter* const adapter = descriptor.Keep(descriptor->Open(localAdapterNo));
    if (nodeId == SCI_LOCAL_HOST) nodeId = adapter->node();
    Require(nodeId < adapter->attr().max_node, SCI_ERR_ILLEGAL_NODEID);
    made->sd = descriptor.object();
    made->adapter = adapter;
    made->node = nodeId;
    made->id = segmentId;
    made->callback = calls ? callback : nullptr;
    made->argument = callbackArg;
    const Clock::time_point deadline = DeadlineOf(timeout);
    ++descriptor->objects;  // it cannot be closed meanwhile
    try {
      if (!later) ConnectNow(descriptor.lock(), adapter, made, deadline);
      Publish(made, segment);
    } catch (...) {
      --descriptor->objects;
      Hangup(made.get());
      throw;
    }
    if (!later) return;
    made->is_connecting = true;
    const exrnic::sisci::SignalsBlocked blocked;
    made->connector = std::thread(ConnectLater, adapter->shared_from_this(), made, deadline);
  });
}

SISCI_EXPORT(SCIDisconnectSegment);
void SCIDisconnectSegment(sci_remote_segment_t segment, unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    Using<RemoteSegment> remote(segment, Type::kRemoteSegment);
    CheckFlags(flags, 0);
    Require(remote->uses == 0, SCI_ERR_BUSY);
    Withdraw(remote.object().get());
    TheLibrary().answered.notify_all();  // an asynchronous connect is given up
    if (!remote->is_connecting) Hangup(remote.object().get());  // else its thread does
    --remote->sd->objects;
    AwaitCallback(remote.lock(), remote.object().get());
  });
}

SISCI_EXPORT(SCIGetRemoteSegmentSize);
size_t SCIGetRemoteSegmentSize(sci_remote_segment_t segment) {
  return Call(nullptr, [&] { return Using<RemoteSegment>(segment, Type::kRemoteSegment)->size; });
}

SISCI_EXPORT(SCIGetRemoteSegmentId);
unsigned int SCIGetRemoteSegmentId(sci_remote_segment_t segment) {
  return Call(nullptr, [&]() -> unsigned {
    return Using<RemoteSegment>(segment, Type::kRemoteSegment)->id;
  });
}

SISCI_EXPORT(SCIWaitForRemoteSegmentEvent);
sci_segment_cb_reason_t SCIWaitForRemoteSegmentEvent(sci_remote_segment_t segment,
                                                     sci_error_t* status, unsigned int timeout,
                                                     unsigned int flags, sci_error_t* error) {
  return Call(error, [&] {
    Using<RemoteSegment> remote(segment, Type::kRemoteSegment);
    CheckFlags(flags, 0);
    Require(remote->callback == nullptr, SCI_ERR_ILLEGAL_OPERATION);
    const bool told = WaitFor(remote.lock(), &remote->changed, DeadlineOf(timeout),
                              [&] { return remote->removed || !remote->events.empty(); });
    Require(!remote->removed, SCI_ERR_CANCELLED);
    Require(told, SCI_ERR_TIMEOUT);
    const auto event = remote->events.front();
    remote->events.pop_front();
    if (status != nullptr) *status = event.error;
    return event.reason;
  });
}

// ---- Maps

namespace {

void CheckRange(size_t offset, size_t size, size_t whole) {
  Require(size != 0, SCI_ERR_SIZE_ALIGNMENT);
  Require(offset <= whole && size <= whole - offset, SCI_ERR_OUT_OF_RANGE);
}

constexpr unsigned kHints =  // how memory is reached; here there is one way
    SCI_FLAG_READ_PREFETCH_AGGR_HOLD_MAP | SCI_FLAG_READ_PREFETCH_NO_HOLD_MAP |
    SCI_FLAG_IO_MAP_IOSPACE | SCI_FLAG_DMOVE_MAP | SCI_FLAG_WRITES_DISABLE_GATHER_MAP |
    SCI_FLAG_DISABLE_128_BYTES_PACKETS | SCI_FLAG_SHARED_MAP;

// A window, on the queue pair of the segment's windows, which nothing else is posted to.
void MapWindow(Using<RemoteSegment>* remote, Adapter* adapter, Map* map) {
  Require(adapter->has_windows(), SCI_ERR_NOT_IMPLEMENTED);
  RemoteSegment* const segment = remote->object().get();
  ++segment->uses;
  try {
    if (segment->window_qp == nullptr) {
      vl::Owned<vl_qp> qp = adapter->OpenQp(remote->lock(), segment->link);
      if (segment->window_qp == nullptr) {
        adapter->Watch(qp.get(), remote->object());
        segment->window_broken = false;
        segment->window_qp = std::move(qp);
      } else {
        adapter->CloseQp(segment->link, std::move(qp));  // another thread was faster
      }
    }
    Require(map->size <= adapter->attr().max_window, SCI_ERR_HW_NOSPC);
    const int access = VL_WINDOW_LOAD | (map->read_only ? 0 : VL_WINDOW_STORE);
    map->window = vl::MapWindow(segment->window_qp.get(), segment->stag,
                                segment->address + map->offset, map->size, access);
    ++segment->windows;
  } catch (...) {
    --segment->uses;
    throw;
  }
  map->address = static_cast<volatile uint8_t*>(vl_window_address(map->window.get()));
}

void UnmapWindow(Map* map) {
  RemoteSegment* const segment = map->remote.get();
  map->window.reset();
  if (--segment->windows > 0) return;
  segment->adapter->Unwatch(segment->window_qp.get());
  segment->adapter->CloseQp(segment->link, std::move(segment->window_qp));
}

}  // namespace

SISCI_EXPORT(SCIMapLocalSegment);
void* SCIMapLocalSegment(sci_local_segment_t segment, sci_map_t* map, size_t offset, size_t size,
                         void* /*addr*/, unsigned int flags, sci_error_t* error) {
  return Call(error, [&]() -> void* {
    const auto made = std::make_shared<Map>();
    const Using<LocalSegment> local(segment, Type::kLocalSegment);
    Require(map != nullptr, SCI_ERR_ILLEGAL_PARAMETER);
    CheckFlags(flags, SCI_FLAG_READONLY_MAP | kHints, SCI_FLAG_FIXED_MAP_ADDR);
    Require(local->memory != nullptr, SCI_ERR_ILLEGAL_OPERATION);
    CheckRange(offset, size, local->size);
    made->sd = local->sd;
    made->local = local.object();
    made->address = local->memory + offset;
    made->offset = offset;
    made->size = size;
    made->read_only = (flags & SCI_FLAG_READONLY_MAP) != 0;
    Publish(made, map);
    ++local->uses;
    ++local->sd->objects;
    return local->memory + offset;
  });
}

SISCI_EXPORT(SCIMapRemoteSegment);
volatile void* SCIMapRemoteSegment(sci_remote_segment_t segment, sci_map_t* map, size_t offset,
                                   size_t size, void* /*addr*/, unsigned int flags,
                                   sci_error_t* error) {
  return Call(
      error, [&]() -> volatile void* {
        const auto made = std::make_shared<Map>();
        Using<RemoteSegment> remote(segment, Type::kRemoteSegment);
        Require(map != nullptr, SCI_ERR_ILLEGAL_PARAMETER);
        CheckFlags(flags, SCI_FLAG_READONLY_MAP | SCI_FLAG_COPY_ONLY_MAP | kHints,
                   SCI_FLAG_FIXED_MAP_ADDR | SCI_FLAG_LOCK_OPERATION |
                       SCI_FLAG_CONDITIONAL_INTERRUPT_MAP |
                       SCI_FLAG_UNCONDITIONAL_DATA_INTERRUPT_MAP | SCI_FLAG_NO_MEMORY_LOOPBACK_MAP |
                       SCI_FLAG_WRITE_BACK_CACHE_MAP);
        Require(remote->connected(), SCI_ERR_SEGMENT_NOT_CONNECTED);
        CheckRange(offset, size, remote->size);
        Adapter* const adapter = remote.Keep(remote->adapter);
        made->sd = remote->sd;
        made->remote = remote.object();
        made->offset = offset;
        made->size = size;
        made->read_only = (flags & SCI_FLAG_READONLY_MAP) != 0;
        const auto own = TheLibrary().segments.find(remote->id);
        const bool is_own = adapter->IsOwn(*remote->link) && own != TheLibrary().segments.end() &&
                            own->second->size == remote->size &&
                            vl::AddressOf(own->second->memory) == remote->address;
        if ((flags & SCI_FLAG_COPY_ONLY_MAP) != 0) {
          ++remote->uses;
        } else if (is_own) {
          made->local = std::static_pointer_cast<LocalSegment>(
              TheLibrary().handles.Get(own->second->handle, Type::kLocalSegment));
          made->address = made->local->memory + offset;
          ++made->local->uses;
          ++remote->uses;
        } else {
          Require(remote->node != adapter->node(), SCI_ERR_NOT_IMPLEMENTED);
          MapWindow(&remote, adapter, made.get());
        }
        ++remote->sd->objects;
        try {
          Publish(made, map);
        } catch (...) {
          --remote->sd->objects;
          --remote->uses;
          if (made->local != nullptr) --made->local->uses;
          if (made->window != nullptr) UnmapWindow(made.get());
          throw;
        }
        return made->address;
      });
}

SISCI_EXPORT(SCIUnmapSegment);
void SCIUnmapSegment(sci_map_t map, unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    const Using<Map> mapped(map, Type::kMap);
    CheckFlags(flags, 0);
    Require(mapped->uses == 0, SCI_ERR_BUSY);
    mapped->unmapped = true;
    if (mapped->users != 0) {
      mapped->unmapped = false;
      throw Failure{SCI_ERR_BUSY};
    }
    Withdraw(mapped.object().get());
    if (mapped->window != nullptr) UnmapWindow(mapped.object().get());
    if (mapped->local != nullptr) --mapped->local->uses;
    if (mapped->remote != nullptr) --mapped->remote->uses;
    --mapped->sd->objects;
  });
}
