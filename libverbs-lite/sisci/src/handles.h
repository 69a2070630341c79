// SPDX-License-Identifier: BSD-2-Clause
// Handles that programs hold: numbers of places, with the life of each, so that one of an object
// that has ended is of nothing.
#ifndef EXRNIC_SISCI_HANDLES_H
#define EXRNIC_SISCI_HANDLES_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace exrnic::sisci {

enum class Type : uint8_t {
  kNone,
  kDescriptor,
  kLocalSegment,
  kRemoteSegment,
  kMap,
  kSequence,
  kDmaQueue,
  kLocalInterrupt,
  kRemoteInterrupt,
  kLocalDataInterrupt,
  kRemoteDataInterrupt
};

struct Object {
  explicit Object(Type of_type) : type(of_type) {}
  virtual ~Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  const Type type;
  // All below under the library's lock.
  uint64_t handle = 0;
  bool removed = false;
  bool in_callback = false;
  bool callback_cancelled = false;
  unsigned callbacks_waiting = 0;
  std::condition_variable changed;
};

class Handles {
 public:
  // 0: there are too many.
  uint64_t Add(const std::shared_ptr<Object>& object) {
    std::lock_guard<std::mutex> guard(adding_);
    for (size_t tries = 0; tries < kSlots; ++tries) {
      const size_t index = next_++ % kSlots;
      Slot& slot = slots_[index];
      const SlotLock lock(&slot);
      if (slot.object != nullptr) continue;
      slot.object = object;
      slot.handle =
          (++slot.lives << kLifeShift) | (index << kTypeBits) | static_cast<uint64_t>(object->type);
      object->handle = slot.handle;
      return slot.handle;
    }
    return 0;
  }

  // Null: it is of nothing, or of another type.
  std::shared_ptr<Object> Get(uint64_t handle, Type type) {
    if ((handle & kTypeMask) != static_cast<uint64_t>(type)) return nullptr;
    Slot& slot = slots_[(handle >> kTypeBits) % kSlots];
    const SlotLock lock(&slot);
    return slot.handle == handle ? slot.object : nullptr;
  }

  void Remove(uint64_t handle) {
    Slot& slot = slots_[(handle >> kTypeBits) % kSlots];
    std::shared_ptr<Object> last;  // ends behind the lock
    const SlotLock lock(&slot);
    if (slot.handle != handle) return;
    slot.handle = 0;
    last.swap(slot.object);
  }

 private:
  static constexpr unsigned kTypeBits = 4;
  static constexpr uint64_t kTypeMask = (1u << kTypeBits) - 1;
  static constexpr size_t kSlots = 1u << 14;
  static constexpr unsigned kLifeShift = 20;

  struct Slot {
    std::atomic_flag held = ATOMIC_FLAG_INIT;
    uint64_t handle = 0;
    uint64_t lives = 0;
    std::shared_ptr<Object> object;
  };
  // For some tens of instructions.
  class SlotLock {
   public:
    explicit SlotLock(Slot* slot) : slot_(slot) {
      while (slot_->held.test_and_set(std::memory_order_acquire)) {
      }
    }
    ~SlotLock() { slot_->held.clear(std::memory_order_release); }
    SlotLock(const SlotLock&) = delete;
    SlotLock& operator=(const SlotLock&) = delete;

   private:
    Slot* slot_;
  };

  std::mutex adding_;
  size_t next_ = 1;
  std::vector<Slot> slots_{kSlots};
};

}  // namespace exrnic::sisci

#endif  // EXRNIC_SISCI_HANDLES_H
