// SPDX-License-Identifier: BSD-2-Clause
// The numbers of objects, which the driver of a device hands out. Not for several threads.
#ifndef EXRNIC_LIBVERBS_SIM_NUMBERS_H
#define EXRNIC_LIBVERBS_SIM_NUMBERS_H

#include <cstdint>
#include <vector>

namespace exrnic {

// That nobody can guess. Throws SimError.
uint32_t Random32();

// Numbers from first to count - 1, each handed out in turn, so that one that was given back does
// not soon come again: a late frame for a destroyed queue pair must not meet its successor.
class SimNumbers {
 public:
  // what: for messages.
  SimNumbers(const char* what, uint32_t first, uint32_t count)
      : what_(what), first_(first), next_(first), used_(count) {}

  // Throws ENOSPC.
  uint32_t Take();
  void Give(uint32_t number) { used_[number] = false; }

 private:
  const char* const what_;
  const uint32_t first_;
  uint32_t next_;
  std::vector<bool> used_;
};

// STags that a peer cannot guess: index and key are random (RFC 5042, 5.3.1). An index never comes
// back with the key that it had last.
class SimStags {
 public:
  explicit SimStags(uint32_t count) : used_(count), keys_(count) {}

  // Throws ENOSPC.
  uint32_t Take();
  void Give(uint32_t stag);

 private:
  std::vector<bool> used_;
  std::vector<uint8_t> keys_;
};

// A number of either, which goes back unless it is kept.
template <typename Numbers>
class Taken {
 public:
  explicit Taken(Numbers* numbers) : numbers_(numbers), value_(numbers->Take()) {}
  ~Taken() {
    if (numbers_ != nullptr) numbers_->Give(value_);
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  uint32_t value() const { return value_; }
  uint32_t Keep() {
    numbers_ = nullptr;
    return value_;
  }

 private:
  Numbers* numbers_;
  const uint32_t value_;
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SIM_NUMBERS_H
