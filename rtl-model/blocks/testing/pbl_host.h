// SPDX-License-Identifier: BSD-2-Clause
// Host memory with page buffer lists, behind the DMA read port of pbl_cache or xlate: takes its
// time, and cuts the data into beats anywhere.
#pragma once

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <stdexcept>
#include <vector>

#include "rtl-model/blocks/testing/packed.h"

namespace exrnic::testing {

constexpr unsigned kReadRequestBits = 64 + kChunkBits + kTxAddressBits;

// The page at an entry, in a memory that changes as a whole when `epoch` does. Its low bits are
// not zero: who wants a page frame must mask them.
inline uint64_t entry_at(uint64_t address, uint64_t epoch) {
  return (address + 1) * 0x9e3779b97f4a7c15 ^ (epoch * 0xd6e8feb86659fd93);
}

template <typename Model>
class PblHost {
 public:
  using Entry = std::function<uint64_t(uint64_t address)>;

  PblHost(Model& dut, uint32_t seed, Entry entry)
      : dut_(dut), random_(seed), entry_(std::move(entry)) {
    dut_.rd_ready_i = 0;
    dut_.beat_valid_i = 0;
  }

  // Lines that the host refuses to read, by address; and after how many good bytes.
  void refuse(uint64_t line, unsigned good_bytes = 0) {
    refused_.insert(line);
    good_bytes_ = good_bytes;
  }
  void allow(uint64_t line) { refused_.erase(line); }

  const std::vector<uint64_t>& reads() const { return reads_; }
  void set_delay(unsigned cycles) { delay_ = cycles; }

  // Inputs of this cycle.
  void drive() {
    dut_.rd_ready_i = line_.empty() && random_() % 2;
    dut_.beat_valid_i = 0;
    if (line_.empty()) return;
    if (wait_ > 0) {
      --wait_;
    } else if (random_() % 4) {
      drive_beat();
    }
  }

  // With the outputs of this cycle settled.
  void sample() {
    if (!dut_.rd_valid_o || !dut_.rd_ready_i) return;
    Unpacker request(dut_.rd_req_o, kReadRequestBits);
    const uint64_t address = request.field(64);
    const uint64_t length = request.field(kChunkBits);
    const uint64_t dst = request.field(kTxAddressBits);
    if (length != EXRNIC_PBL_LINE_SIZE || address % EXRNIC_PBL_LINE_SIZE != 0 || dst != 0)
      throw std::runtime_error("not a read of one PBL line");
    reads_.push_back(address);
    for (uint64_t at = 0; at < EXRNIC_PBL_LINE_SIZE; at += EXRNIC_PBL_ENTRY_SIZE) {
      const uint64_t entry = entry_(address + at);
      for (unsigned i = 0; i < EXRNIC_PBL_ENTRY_SIZE; ++i)
        line_.push_back(static_cast<uint8_t>(entry >> (8 * i)));
    }
    fails_ = refused_.count(address) != 0;
    sent_ = 0;
    wait_ = delay_ != 0 ? delay_ : static_cast<unsigned>(random_() % 20);
  }

 private:
  static constexpr unsigned kDataBytes =
      (sizeof(Model::beat_i) * 8 - kTxAddressBits - kChunkBits - 1) / 32 * 4;

  void drive_beat() {
    const auto left = static_cast<unsigned>(line_.size()) - sent_;
    unsigned bytes = std::min<unsigned>(left, 1 + random_() % kDataBytes);
    const bool error = fails_ && sent_ >= good_bytes_;
    // One error beat, of any size: good ones behind it must not make up for it.
    if (error) bytes = 1 + random_() % left;
    if (fails_ && !error) bytes = std::min(bytes, good_bytes_ - sent_);
    fails_ = fails_ && !error;
    // Lanes behind the last byte hold noise.
    std::vector<uint8_t> data(kDataBytes, static_cast<uint8_t>(random_()));
    if (!error) std::copy_n(line_.begin() + sent_, bytes, data.begin());
    Packer(dut_.beat_i, kTxAddressBits + 8 * kDataBytes + kChunkBits + 1)
        .field(sent_, kTxAddressBits)
        .bytes(data, 8 * kDataBytes)
        .field(bytes, kChunkBits)
        .field(error, 1);
    dut_.beat_valid_i = 1;
    sent_ += bytes;
    if (sent_ == EXRNIC_PBL_LINE_SIZE) line_.clear();
  }

  Model& dut_;
  std::mt19937 random_;
  Entry entry_;
  std::set<uint64_t> refused_;
  unsigned good_bytes_ = 0;
  unsigned delay_ = 0;
  std::vector<uint64_t> reads_;
  std::vector<uint8_t> line_;  // being delivered
  bool fails_ = false;
  unsigned sent_ = 0;
  unsigned wait_ = 0;
};

}  // namespace exrnic::testing
