// SPDX-License-Identifier: BSD-2-Clause
// Copies to and from maps, and whether what was stored has arrived.
//
// Few bytes are stored into the window, or loaded from it. More, and those of maps without one, are
// pushed or pulled through registered memory of the adapter, and have arrived when the call
// returns.
#include <algorithm>
#include <cstring>
#include <deque>

#include "adapter.h"
#include "exrnic/ntb.h"
#include "limits.h"
#include "objects.h"

using exrnic::sisci::Adapter;
using exrnic::sisci::Call;
using exrnic::sisci::CheckFlags;
using exrnic::sisci::Clock;
using exrnic::sisci::Failure;
using exrnic::sisci::Map;
using exrnic::sisci::RemoteSegment;
using exrnic::sisci::Require;
using exrnic::sisci::Sequence;
using exrnic::sisci::TheLibrary;
using exrnic::sisci::Transfer;
using exrnic::sisci::Type;
using exrnic::sisci::Using;

namespace {

// Beyond these a PUSH, or a PULL, is faster.
constexpr size_t kStoresMax = 2048;
constexpr size_t kLoadsMax = 16;

template <typename Word>
void StoreWord(volatile uint8_t* to, const uint8_t* from) {
  Word word;
  memcpy(&word, from, sizeof(word));
  *reinterpret_cast<volatile Word*>(to) = word;
}
template <typename Word>
void LoadWord(uint8_t* to, const volatile uint8_t* from) {
  const Word word = *reinterpret_cast<const volatile Word*>(from);
  memcpy(to, &word, sizeof(word));
}

// The longest word that is aligned there, and no longer than what is left.
size_t WordAt(const volatile uint8_t* place, size_t left) {
  const auto address = reinterpret_cast<uintptr_t>(place);
  for (size_t word = 8; word > 1; word /= 2) {
    if (word <= left && address % word == 0) return word;
  }
  return 1;
}

void StoreAll(volatile uint8_t* to, const uint8_t* from, size_t size) {
  while (size > 0) {
    const size_t word = WordAt(to, size);
    switch (word) {
      case 8:
        StoreWord<uint64_t>(to, from);
        break;
      case 4:
        StoreWord<uint32_t>(to, from);
        break;
      case 2:
        StoreWord<uint16_t>(to, from);
        break;
      default:
        *to = *from;
    }
    to += word;
    from += word;
    size -= word;
  }
  vl_window_flush();
}

void LoadAll(uint8_t* to, const volatile uint8_t* from, size_t size) {
  while (size > 0) {
    const size_t word = WordAt(from, size);
    switch (word) {
      case 8:
        LoadWord<uint64_t>(to, from);
        break;
      case 4:
        LoadWord<uint32_t>(to, from);
        break;
      case 2:
        LoadWord<uint16_t>(to, from);
        break;
      default:
        *to = *from;
    }
    to += word;
    from += word;
    size -= word;
  }
}

// While it lives the map's window stays: who unmaps it meanwhile is told that it is BUSY.
class Use {
 public:
  explicit Use(Map* map) : map_(map) {
    ++map_->users;
    if (!map_->unmapped) return;
    --map_->users;
    throw Failure{SCI_ERR_ILLEGAL_PARAMETER};
  }
  ~Use() { --map_->users; }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  Map* const map_;
};

// A load waits for the peer, behind all stores before it.
// What comes back if it is all ones may be so at the peer, or nothing: the queue pair knows.
bool HasArrived(const Map& map) {
  const RemoteSegment& segment = *map.remote;
  vl_window_flush();
  const size_t word = WordAt(map.address, map.size);
  uint64_t loaded = UINT64_MAX;
  LoadAll(reinterpret_cast<uint8_t*>(&loaded), map.address, word);
  if (segment.lost || segment.window_broken) return false;
  if (loaded != UINT64_MAX) return true;
  vl_qp_attr attr = {};
  return vl_query_qp(segment.window_qp.get(), &attr) == 0 && attr.state == VL_QPS_RTS;
}

// The parts of a copy by PUSH or PULL that are under way, in order.
class Copy {
 public:
  Copy(Using<Map>* map, bool read) : map_(*map), lock_(map->lock()), read_(read) {
    Require(map_->remote->connected(), SCI_ERR_SEGMENT_NOT_CONNECTED);
    adapter_ = map->Keep(map_->remote->adapter);
    link_ = map_->remote->link.get();
    ++map_->uses;
  }
  ~Copy() {
    while (!parts_.empty()) Finish();
    --map_->uses;
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  // False: it has failed, and what is behind it is not copied.
  bool Run(uint8_t* memory, size_t offset, size_t size) {
    for (size_t done = 0; done < size && !failed_;) {
      const unsigned bounce = adapter_->TakeBounce(lock_, link_, parts_.empty());
      if (bounce == Adapter::kBounces) {
        Finish();
        continue;
      }
      const size_t bytes = std::min(size - done, Adapter::kBounceBytes);
      Begin(bounce, memory + done, offset + done, bytes);
      done += bytes;
    }
    while (!parts_.empty()) Finish();
    return !failed_;
  }

 private:
  struct Part {
    std::shared_ptr<Transfer> transfer;
    unsigned bounce;
    uint8_t* memory;
    size_t bytes;
  };

  void Begin(unsigned bounce, uint8_t* memory, size_t offset, size_t bytes) {
    uint8_t* const place = adapter_->BounceAt(bounce);
    if (!read_) {
      lock_->unlock();
      memcpy(place, memory, bytes);
      lock_->lock();
    }
    const RemoteSegment& segment = *map_->remote;
    auto transfer = std::make_shared<Transfer>();
    transfer->read = read_;
    transfer->pieces.push_back({vl::AddressOf(place), adapter_->bounce_stag(), segment.stag,
                                segment.address + map_->offset + offset, bytes});
    parts_.push_back({transfer, bounce, memory, bytes});
    adapter_->Start(segment.link, transfer);
  }

  void Finish() {
    const Part part = parts_.front();
    parts_.pop_front();
    adapter_->Await(lock_, *part.transfer, Clock::time_point::max());
    if (part.transfer->status != SCI_ERR_OK) failed_ = true;
    if (read_ && !failed_) {
      lock_->unlock();
      memcpy(part.memory, adapter_->BounceAt(part.bounce), part.bytes);
      lock_->lock();
    }
    adapter_->GiveBounce(link_, part.bounce);
  }

  Using<Map>& map_;
  exrnic::sisci::Lock* const lock_;
  const bool read_;
  Adapter* adapter_ = nullptr;
  exrnic::sisci::Link* link_ = nullptr;
  std::deque<Part> parts_;
  bool failed_ = false;
};

void CopyByTransfers(sci_map_t handle, uint8_t* memory, size_t offset, size_t size, bool read) {
  Using<Map> map(handle, Type::kMap);
  bool good = false;
  {
    Copy copy(&map, read);
    good = copy.Run(memory, offset, size);
  }
  if (good) return;
  ++map->failures;
  throw Failure{SCI_ERR_TRANSFER_FAILED};
}

void CopyTo(sci_map_t handle, void* memory, size_t offset, size_t size, unsigned flags) {
  CheckFlags(flags, SCI_FLAG_BLOCK_READ | SCI_FLAG_ERROR_CHECK);
  const std::shared_ptr<Map> map = exrnic::sisci::Get<Map>(handle, Type::kMap);
  Require(memory != nullptr, SCI_ERR_ILLEGAL_PARAMETER);
  Require(size != 0, SCI_ERR_SIZE_ALIGNMENT);
  Require(offset <= map->size && size <= map->size - offset, SCI_ERR_OUT_OF_RANGE);
  const bool read = (flags & SCI_FLAG_BLOCK_READ) != 0;
  Require(read || !map->read_only, SCI_ERR_ILLEGAL_OPERATION);
  const Use use(map.get());
  auto* const bytes = static_cast<uint8_t*>(memory);
  if (map->address != nullptr && map->window == nullptr) {
    auto* const place = const_cast<uint8_t*>(map->address) + offset;
    memmove(read ? bytes : place, read ? place : bytes, size);
  } else if (map->window == nullptr || size > (read ? kLoadsMax : kStoresMax)) {
    // What was stored before arrives before.
    if (map->window != nullptr && !HasArrived(*map)) throw Failure{SCI_ERR_TRANSFER_FAILED};
    CopyByTransfers(handle, bytes, offset, size, read);
  } else {
    Require(!map->remote->lost, SCI_ERR_SEGMENT_NOT_CONNECTED);
    if (read) {
      LoadAll(bytes, map->address + offset, size);
    } else {
      StoreAll(map->address + offset, bytes, size);
    }
    const bool check = read || (flags & SCI_FLAG_ERROR_CHECK) != 0;
    if (check && !HasArrived(*map)) throw Failure{SCI_ERR_TRANSFER_FAILED};
  }
}

}  // namespace

SISCI_EXPORT(SCIMemCpy);
void SCIMemCpy(sci_sequence_t sequence, void* memAddr, sci_map_t remoteMap, size_t remoteOffset,
               size_t size, unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    if (sequence != nullptr) exrnic::sisci::Get<Sequence>(sequence, Type::kSequence);
    CopyTo(remoteMap, memAddr, remoteOffset, size, flags);
  });
}

SISCI_EXPORT(SCIMemCopy);
void SCIMemCopy(void* memAddr, sci_map_t remoteMap, size_t remoteOffset, size_t size,
                unsigned int flags, sci_error_t* error) {
  Call(error, [&] { CopyTo(remoteMap, memAddr, remoteOffset, size, flags); });
}

// One of the maps is own memory.
SISCI_EXPORT(SCITransferBlock);
void SCITransferBlock(sci_map_t sourceMap, size_t sourceOffset, sci_map_t destinationMap,
                      size_t destinationOffset, size_t size, unsigned int flags,
                      sci_error_t* error) {
  Call(error, [&] {
    CheckFlags(flags, 0);
    const auto source = exrnic::sisci::Get<Map>(sourceMap, Type::kMap);
    const auto destination = exrnic::sisci::Get<Map>(destinationMap, Type::kMap);
    const bool from_own = source->local != nullptr;
    const auto& own = from_own ? source : destination;
    const size_t own_offset = from_own ? sourceOffset : destinationOffset;
    Require(own->local != nullptr, SCI_ERR_NOT_IMPLEMENTED);
    Require(own_offset <= own->size && size <= own->size - own_offset, SCI_ERR_OUT_OF_RANGE);
    uint8_t* const memory = const_cast<uint8_t*>(own->address) + own_offset;
    if (from_own) {
      CopyTo(destinationMap, memory, destinationOffset, size, 0);
    } else {
      CopyTo(sourceMap, memory, sourceOffset, size, SCI_FLAG_BLOCK_READ);
    }
  });
}

// ---- Sequences

SISCI_EXPORT(SCICreateMapSequence);
void SCICreateMapSequence(sci_map_t map, sci_sequence_t* sequence, unsigned int flags,
                          sci_error_t* error) {
  Call(error, [&] {
    const auto made = std::make_shared<Sequence>();
    const Using<Map> mapped(map, Type::kMap);
    Require(sequence != nullptr, SCI_ERR_ILLEGAL_PARAMETER);
    CheckFlags(flags, SCI_FLAG_FAST_BARRIER);
    made->map = mapped.object();
    Publish(made, sequence);
    ++mapped->uses;
    ++mapped->sd->objects;
  });
}

SISCI_EXPORT(SCIRemoveSequence);
void SCIRemoveSequence(sci_sequence_t sequence, unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    const Using<Sequence> made(sequence, Type::kSequence);
    CheckFlags(flags, 0);
    Withdraw(made.object().get());
    --made->map->uses;
    --made->map->sd->objects;
  });
}

SISCI_EXPORT(SCIStartSequence);
sci_sequence_status_t SCIStartSequence(sci_sequence_t sequence, unsigned int flags,
                                       sci_error_t* error) {
  sci_error_t result = SCI_ERR_OK;
  const auto status = Call(&result, [&] {
    CheckFlags(flags, 0);
    const auto made = exrnic::sisci::Get<Sequence>(sequence, Type::kSequence);
    const Use use(made->map.get());
    Map* const map = made->map.get();
    if (map->remote == nullptr) return SCI_SEQ_OK;
    if (map->remote->lost || map->remote->window_broken) return SCI_SEQ_NOT_RETRIABLE;
    made->failures = map->failures.load();
    return map->remote->adapter->link_up() ? SCI_SEQ_OK : SCI_SEQ_PENDING;
  });
  if (error != nullptr) *error = result;
  return result == SCI_ERR_OK ? status : SCI_SEQ_NOT_RETRIABLE;
}

SISCI_EXPORT(SCICheckSequence);
sci_sequence_status_t SCICheckSequence(sci_sequence_t sequence, unsigned int flags,
                                       sci_error_t* error) {
  sci_error_t result = SCI_ERR_OK;
  const auto status = Call(&result, [&] {
    CheckFlags(flags, SCI_FLAG_NO_FLUSH | SCI_FLAG_NO_STORE_BARRIER);
    const auto made = exrnic::sisci::Get<Sequence>(sequence, Type::kSequence);
    const Map& map = *made->map;
    const Use use(made->map.get());
    if (map.remote == nullptr) return SCI_SEQ_OK;
    if (map.failures != made->failures || map.remote->lost) return SCI_SEQ_NOT_RETRIABLE;
    if (!map.remote->adapter->link_up()) return SCI_SEQ_PENDING;
    if (map.window == nullptr) return SCI_SEQ_OK;  // what was copied had arrived
    if (flags != 0) return map.remote->window_broken ? SCI_SEQ_NOT_RETRIABLE : SCI_SEQ_OK;
    return HasArrived(map) ? SCI_SEQ_OK : SCI_SEQ_NOT_RETRIABLE;
  });
  if (error != nullptr) *error = result;
  return result == SCI_ERR_OK ? status : SCI_SEQ_NOT_RETRIABLE;
}

SISCI_EXPORT(SCIStoreBarrier);
void SCIStoreBarrier(sci_sequence_t sequence, unsigned int flags) {
  Call(nullptr, [&] {
    CheckFlags(flags, 0);
    const auto made = exrnic::sisci::Get<Sequence>(sequence, Type::kSequence);
    const Use use(made->map.get());
    if (made->map->window != nullptr) HasArrived(*made->map);
  });
}

SISCI_EXPORT(SCIFlush);
void SCIFlush(sci_sequence_t /*sequence*/, unsigned int /*flags*/) { vl_window_flush(); }

// Nothing is read ahead.
SISCI_EXPORT(SCIFlushReadBuffers);
void SCIFlushReadBuffers(sci_sequence_t /*sequence*/) {}

// The RNIC sees what processors have in their caches.
SISCI_EXPORT(SCICacheSync);
void SCICacheSync(sci_map_t /*map*/, void* addr, size_t length, unsigned int flags,
                  sci_error_t* error) {
  Call(error, [&] {
    CheckFlags(flags, SCI_FLAG_CACHE_FLUSH | SCI_FLAG_CACHE_INVALIDATE);
    Require(addr != nullptr && length != 0, SCI_ERR_ILLEGAL_PARAMETER);
    vl_window_flush();
  });
}
