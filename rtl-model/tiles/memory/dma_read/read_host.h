// SPDX-License-Identifier: BSD-2-Clause
// PCIe and the host behind dma_read: answers the reads in any order, in pieces of any size, and
// misbehaves as told.
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <vector>

#include "Vdma_read.h"
#include "rtl-model/testing/records.h"

namespace exrnic::testing {

constexpr uint64_t kPcieBoundary = 4096;

// What host memory holds.
inline uint8_t byte_at(uint64_t address) {
  return static_cast<uint8_t>((address * 0x9e3779b97f4a7c15) >> 56);
}

struct Read {
  uint64_t address = 0;
  unsigned length = 0;
  unsigned tag = 0;
  unsigned sent = 0;
  enum class Fault { kNone, kError, kEndsEarly, kTooMuch, kEndsLate } fault = Fault::kNone;
  unsigned good_bytes = 0;  // before the fault
};

class ReadHost {
 public:
  ReadHost(Vdma_read& dut, uint32_t seed) : dut_(dut), random_(seed) {
    dut_.rd_ready_i = 0;
    dut_.cpl_valid_i = 0;
  }

  unsigned ready_percent = 100;
  unsigned completion_percent = 100;
  unsigned fault_percent = 0;
  unsigned stray_percent = 0;
  bool paused = false;      // nothing is completed
  std::vector<Read> taken;  // every read so far
  std::size_t in_flight() const { return reads_.size(); }
  void forget() { reads_.clear(); }  // what is in flight is not completed any more

  void drive() {
    dut_.rd_ready_i = chance(ready_percent);
    dut_.cpl_valid_i = 0;
    if (chance(stray_percent)) {
      drive_stray();
    } else if (!paused && !reads_.empty() && chance(completion_percent)) {
      drive_completion(random_() % reads_.size());
    }
  }

  // With the outputs of this cycle settled. True when it took a read: the last in `taken`.
  bool sample() {
    if (!dut_.rd_valid_o || !dut_.rd_ready_i) return false;
    Read read;
    read.address = dut_.rd_address_o;
    read.length = dut_.rd_length_o;
    read.tag = dut_.rd_tag_o;
    check_rules(read);
    if (chance(fault_percent)) {
      read.fault = static_cast<Read::Fault>(1 + random_() % 4);
      read.good_bytes = static_cast<unsigned>(random_() % read.length);
    }
    reads_.push_back(read);
    taken.push_back(read);
    return true;
  }

  // One beat of a completion, as the test wants it.
  void drive_beat(unsigned tag, unsigned bytes, bool last, bool error, uint64_t address) {
    dut_.cpl_valid_i = 1;
    dut_.cpl_tag_i = static_cast<uint8_t>(tag);
    dut_.cpl_bytes_i = static_cast<uint8_t>(bytes);
    dut_.cpl_last_i = last;
    dut_.cpl_error_i = error;
    std::vector<uint8_t> data(kDataBytes);
    for (unsigned i = 0; i < kDataBytes; ++i) data[i] = byte_at(address + i);
    Packer(dut_.cpl_data_i, 8 * kDataBytes).bytes(data, 8 * kDataBytes);
  }

 private:
  bool chance(unsigned percent) { return random_() % 100 < percent; }

  void check_rules(const Read& read) const {
    REQUIRE(read.length >= 1);
    REQUIRE(read.length <= dut_.cfg_max_read_i);
    REQUIRE(read.address / kPcieBoundary == (read.address + read.length - 1) / kPcieBoundary);
    for (const Read& other : reads_) REQUIRE(other.tag != read.tag);
  }

  void drive_completion(std::size_t which) {
    using Fault = Read::Fault;
    Read& read = reads_[which];
    const unsigned left = read.length - read.sent;
    unsigned bytes = std::min<unsigned>(left, 1 + random_() % kDataBytes);
    bool last = bytes == left;
    bool error = false;
    switch (read.fault) {
      case Fault::kError:
        error = read.sent >= read.good_bytes;
        last = error && chance(50);
        bytes = error ? 0 : std::min(bytes, read.good_bytes - read.sent);
        break;
      case Fault::kEndsEarly:
        bytes = std::min(bytes, read.good_bytes - read.sent);
        last = read.sent + bytes == read.good_bytes;
        break;
      case Fault::kTooMuch:
        if (last) bytes = kDataBytes;
        break;
      case Fault::kEndsLate:
        last = left == 0;
        if (last) bytes = static_cast<unsigned>(random_() % (kDataBytes + 1));
        break;
      case Fault::kNone:
        break;
    }
    drive_beat(read.tag, bytes, last, error, read.address + read.sent);
    read.sent += std::min(bytes, left);
    if (last || error) reads_.erase(reads_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  // A completion that nobody asked for.
  void drive_stray() {
    const auto tag = static_cast<unsigned>(random_() % 256);
    for (const Read& read : reads_)
      if (read.tag == tag) return;
    drive_beat(tag, 1 + static_cast<unsigned>(random_() % kDataBytes), chance(50), chance(50), 0);
  }

  Vdma_read& dut_;
  std::mt19937_64 random_;
  std::vector<Read> reads_;  // in flight
};

}  // namespace exrnic::testing
