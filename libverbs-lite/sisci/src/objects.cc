// SPDX-License-Identifier: BSD-2-Clause
#include "objects.h"

#include <sys/mman.h>

namespace exrnic::sisci {

LocalSegment::~LocalSegment() {
  if (owns_memory) munmap(memory, size);
}

void LocalSegment::Tell(const std::shared_ptr<LocalSegment>& self, const SegmentEvent& event) {
  if (callback == nullptr) {
    if (events.size() < kEventsMax) events.push_back(event);
    changed.notify_all();
    return;
  }
  CallBack(self, [this, event] {
    return callback(argument, reinterpret_cast<sci_local_segment_t>(handle), event.reason,
                    event.node, event.adapter, event.error);
  });
}

RemoteSegment::~RemoteSegment() {
  if (connector.joinable()) connector.detach();  // it has ended, or is this thread
}

void RemoteSegment::Tell(const std::shared_ptr<RemoteSegment>& self, sci_segment_cb_reason_t reason,
                         sci_error_t error) {
  if (callback == nullptr) {
    if (events.size() < kEventsMax) events.push_back({reason, node, 0, error});
    changed.notify_all();
    return;
  }
  CallBack(self, [this, reason, error] {
    return callback(argument, reinterpret_cast<sci_remote_segment_t>(handle), reason, error);
  });
}

void LocalInterrupt::Come(const std::shared_ptr<LocalInterrupt>& self) {
  if ((callback == nullptr && data_callback == nullptr) || callback_cancelled) {
    changed.notify_all();
    return;
  }
  if (scheduled) return;
  scheduled = true;
  CallBack(self, [this, self] { return RunCallback(self); });
}

// Without the lock.
sci_callback_action_t LocalInterrupt::RunCallback(const std::shared_ptr<LocalInterrupt>& self) {
  Lock lock(TheLibrary().mutex);
  scheduled = false;
  if (removed) return SCI_CALLBACK_CANCEL;
  sci_callback_action_t action;
  if (with_data()) {
    const Data taken = Take();
    lock.unlock();
    std::vector<uint8_t> bytes = taken.bytes;
    action = data_callback(argument, reinterpret_cast<sci_local_data_interrupt_t>(handle),
                           bytes.data(), static_cast<unsigned>(bytes.size()), SCI_ERR_OK);
  } else {
    --pending;
    lock.unlock();
    action = callback(argument, reinterpret_cast<sci_local_interrupt_t>(handle), SCI_ERR_OK);
  }
  lock.lock();
  const bool more = with_data() ? !data.empty() : pending > 0;
  if (more && !removed && action != SCI_CALLBACK_CANCEL) Come(self);
  return action;
}

}  // namespace exrnic::sisci
