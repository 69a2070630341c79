// SPDX-License-Identifier: BSD-2-Clause
// What handles are of. All of it under the library's lock, unless it says otherwise.
#ifndef EXRNIC_SISCI_OBJECTS_H
#define EXRNIC_SISCI_OBJECTS_H

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "host_name.h"
#include "library.h"
#include "link.h"

namespace exrnic::sisci {

// It alone owns adapters: its objects are gone before it is.
struct Descriptor : Object {
  Descriptor() : Object(Type::kDescriptor) {}
  Adapter* Open(unsigned number);

  std::map<unsigned, std::shared_ptr<Adapter>> adapters;
  unsigned objects = 0;
};

struct SegmentEvent {
  sci_segment_cb_reason_t reason;
  unsigned node;
  unsigned adapter;
  sci_error_t error;
};
constexpr size_t kEventsMax = 1024;  // that nobody has waited for; those beyond are lost

// A local segment as one adapter shows it.
struct Exposure {
  Adapter* adapter;
  vl::Owned<vl_mr> mr;
  bool available = false;
  bool source_only = false;
};

struct LocalSegment : Object {
  LocalSegment() : Object(Type::kLocalSegment) {}
  ~LocalSegment() override;
  void Tell(const std::shared_ptr<LocalSegment>& self, const SegmentEvent& event);
  Exposure* On(unsigned adapter) {
    const auto found = exposures.find(adapter);
    return found == exposures.end() ? nullptr : &found->second;
  }

  std::shared_ptr<Descriptor> sd;
  uint32_t id = 0;
  bool is_private = false;
  HostName name;
  uint8_t* memory = nullptr;
  size_t size = 0;
  bool owns_memory = false;
  std::map<unsigned, Exposure> exposures;
  unsigned connections = 0;
  unsigned uses = 0;  // maps, and transfers under way
  sci_cb_local_segment_t callback = nullptr;
  void* argument = nullptr;
  std::deque<SegmentEvent> events;
};

struct RemoteSegment : Object {
  RemoteSegment() : Object(Type::kRemoteSegment) {}
  ~RemoteSegment() override;
  void Tell(const std::shared_ptr<RemoteSegment>& self, sci_segment_cb_reason_t reason,
            sci_error_t error);
  bool connected() const { return link != nullptr && !lost.load(std::memory_order_relaxed); }

  std::shared_ptr<Descriptor> sd;
  Adapter* adapter = nullptr;
  std::shared_ptr<Link> link;  // null until it is connected
  bool is_connecting = false;
  std::atomic<bool> lost{false};  // read without the lock
  uint32_t node = 0;
  uint32_t id = 0;
  uint32_t connection = 0;
  uint32_t stag = 0;
  uint64_t address = 0;
  size_t size = 0;
  unsigned uses = 0;
  vl::Owned<vl_qp> window_qp;  // of all its maps that are windows
  unsigned windows = 0;
  std::atomic<bool> window_broken{false};  // read without the lock
  sci_cb_remote_segment_t callback = nullptr;
  void* argument = nullptr;
  std::deque<SegmentEvent> events;
  std::thread connector;  // of an asynchronous connect
};

struct Map : Object {
  Map() : Object(Type::kMap) {}

  // Constant.
  std::shared_ptr<Descriptor> sd;
  std::shared_ptr<LocalSegment> local;  // one of these
  std::shared_ptr<RemoteSegment> remote;
  volatile uint8_t* address = nullptr;  // null: SCI_FLAG_COPY_ONLY_MAP
  vl::Owned<vl_window> window;          // null: it is own memory, or none
  size_t offset = 0;
  size_t size = 0;
  bool read_only = false;

  unsigned uses = 0;
  // Any thread.
  std::atomic<unsigned> failures{0};  // copies that have failed
  std::atomic<unsigned> users{0};     // threads that use the window now
  std::atomic<bool> unmapped{false};
};

struct Sequence : Object {
  Sequence() : Object(Type::kSequence) {}

  std::shared_ptr<Map> map;
  std::atomic<unsigned> failures{0};  // of the map when it was started
};

struct DmaQueue : Object {
  DmaQueue() : Object(Type::kDmaQueue) {}

  std::shared_ptr<Descriptor> sd;
  Adapter* adapter = nullptr;
  unsigned max_entries = 0;
  sci_dma_queue_state_t state = SCI_DMAQUEUE_IDLE;
  std::shared_ptr<Transfer> transfer;
  sci_error_t status = SCI_ERR_OK;
  // In SCI_DMAQUEUE_GATHER.
  std::vector<Piece> gathered;
  std::shared_ptr<LocalSegment> local;
  std::shared_ptr<RemoteSegment> remote;
  bool read = false;
};

struct LocalInterrupt : Object {
  explicit LocalInterrupt(bool with_data)
      : Object(with_data ? Type::kLocalDataInterrupt : Type::kLocalInterrupt) {}
  bool with_data() const { return type == Type::kLocalDataInterrupt; }
  // One has come, or more.
  void Come(const std::shared_ptr<LocalInterrupt>& self);
  sci_callback_action_t RunCallback(const std::shared_ptr<LocalInterrupt>& self);

  struct Data {
    std::vector<uint8_t> bytes;
    std::weak_ptr<Link> link;  // whose credit comes back...
    uint32_t connection;       // ...for this one
  };
  Data Take();  // there is one

  std::shared_ptr<Descriptor> sd;
  Adapter* adapter = nullptr;
  uint32_t number = 0;
  HostName name;
  bool counting = false;
  uint64_t pending = 0;
  std::deque<Data> data;
  sci_cb_interrupt_t callback = nullptr;
  sci_cb_data_interrupt_t data_callback = nullptr;
  void* argument = nullptr;
  uint64_t orphans = 0;  // of `data`, whose connection is gone
  void Orphan(uint32_t connection, uint64_t count);
  bool scheduled = false;  // its callback is to run
};

struct RemoteInterrupt : Object {
  explicit RemoteInterrupt(bool with_data)
      : Object(with_data ? Type::kRemoteDataInterrupt : Type::kRemoteInterrupt) {}
  bool with_data() const { return type == Type::kRemoteDataInterrupt; }

  std::shared_ptr<Descriptor> sd;
  Adapter* adapter = nullptr;
  std::shared_ptr<Link> link;
  uint32_t connection = 0;
  // With data: how many were sent, and how many the other end has taken, which it counts there.
  uint64_t sent = 0;
  uint64_t taken = 0;
  uint32_t credit_stag = 0;
  uint64_t credit_address = 0;
};

// Most interrupts with data of one connection that nobody has taken.
constexpr uint64_t kDataInterruptsMax = 64;

}  // namespace exrnic::sisci

#endif  // EXRNIC_SISCI_OBJECTS_H
