// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_EVENT_TABLE_H
#define EXRNIC_LIBVERBS_EVENT_TABLE_H

#include <cstdint>
#include <map>
#include <mutex>

namespace exrnic {

// The objects of an RNIC that have events, by the cookies that come back in these. A cookie is used
// once, so an event that was raised before its object was destroyed finds nobody.
//
// An object whose events were taken, and not all acknowledged, stays: somebody is still about to
// use it. Any thread.
class EventTable {
 public:
  // The cookie of a new object; 0: no memory.
  uint64_t Add();
  // The object is there: its events may be taken.
  void Set(uint64_t cookie, void* object);

  // The object of an event, which has one event more to be acknowledged; null: it is no more.
  void* Take(uint64_t cookie);
  // False: it never had so many.
  bool Acknowledge(uint64_t cookie, unsigned events);

  // No event of it is taken from here on. False: some are not acknowledged, and nothing changed.
  bool Retire(uint64_t cookie);
  void Forget(uint64_t cookie);

 private:
  struct Entry {
    void* object = nullptr;  // null: none that may be handed out
    unsigned taken = 0;      // events that are not acknowledged
  };

  std::mutex mutex_;
  uint64_t last_ = 0;
  std::map<uint64_t, Entry> entries_;
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_EVENT_TABLE_H
