// SPDX-License-Identifier: BSD-2-Clause
// Host memory with page buffer lists, behind the DMA read port of pbl_cache or xlate: takes its
// time, cuts the data into beats anywhere, and mixes those of several reads.
#pragma once

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <stdexcept>
#include <vector>

#include "rtl-model/testing/records.h"

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

  // Lines that are read, but whose data does not come for the time being.
  void hold(uint64_t line) { held_.insert(line); }
  void release(uint64_t line) { held_.erase(line); }

  const std::vector<uint64_t>& reads() const { return reads_; }
  std::size_t in_flight() const { return flights_.size(); }
  void set_delay(unsigned cycles) { delay_ = cycles; }

  // Inputs of this cycle.
  void drive() {
    dut_.rd_ready_i = random_() % 2;
    dut_.beat_valid_i = 0;
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < flights_.size(); ++i) {
      Flight& flight = flights_[i];
      if (flight.wait > 0)
        --flight.wait;
      else if (held_.count(flight.address) == 0)
        ready.push_back(i);
    }
    if (!ready.empty() && random_() % 4) drive_beat(ready[random_() % ready.size()]);
  }

  // With the outputs of this cycle settled.
  void sample() {
    if (!dut_.rd_valid_o || !dut_.rd_ready_i) return;
    Unpacker request(dut_.rd_req_o, kReadRequestBits);
    Flight flight;
    flight.address = request.field(64);
    const uint64_t length = request.field(kChunkBits);
    flight.dst = request.field(kTxAddressBits);
    if (length != EXRNIC_PBL_LINE_SIZE || flight.address % EXRNIC_PBL_LINE_SIZE != 0)
      throw std::runtime_error("not a read of one PBL line");
    for (const Flight& other : flights_)
      if (other.dst == flight.dst) throw std::runtime_error("two reads into one place");
    reads_.push_back(flight.address);
    for (uint64_t at = 0; at < EXRNIC_PBL_LINE_SIZE; at += EXRNIC_PBL_ENTRY_SIZE) {
      const uint64_t entry = entry_(flight.address + at);
      for (unsigned i = 0; i < EXRNIC_PBL_ENTRY_SIZE; ++i)
        flight.line.push_back(static_cast<uint8_t>(entry >> (8 * i)));
    }
    flight.fails = refused_.count(flight.address) != 0;
    flight.wait = delay_ != 0 ? delay_ : static_cast<unsigned>(random_() % 20);
    flights_.push_back(flight);
  }

 private:
  // A line on its way.
  struct Flight {
    uint64_t address = 0;
    uint64_t dst = 0;
    std::vector<uint8_t> line;
    bool fails = false;
    unsigned sent = 0;
    unsigned wait = 0;
  };

  void drive_beat(std::size_t index) {
    Flight& flight = flights_[index];
    const auto left = static_cast<unsigned>(flight.line.size()) - flight.sent;
    unsigned bytes = std::min<unsigned>(left, 1 + random_() % kDataBytes);
    const bool error = flight.fails && flight.sent >= good_bytes_;
    // One error beat, of any size: good ones behind it must not make up for it.
    if (error) bytes = 1 + random_() % left;
    if (flight.fails && !error) bytes = std::min(bytes, good_bytes_ - flight.sent);
    flight.fails = flight.fails && !error;
    // Lanes behind the last byte hold noise.
    DmaReadBeat beat;
    beat.dst = static_cast<uint32_t>(flight.dst + flight.sent);
    beat.data.fill(static_cast<uint8_t>(random_()));
    if (!error) std::copy_n(flight.line.begin() + flight.sent, bytes, beat.data.begin());
    beat.bytes = static_cast<uint16_t>(bytes);
    beat.error = error;
    pack(dut_.beat_i, beat);
    dut_.beat_valid_i = 1;
    flight.sent += bytes;
    if (flight.sent == EXRNIC_PBL_LINE_SIZE)
      flights_.erase(flights_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  Model& dut_;
  std::mt19937 random_;
  Entry entry_;
  std::set<uint64_t> refused_;
  unsigned good_bytes_ = 0;
  unsigned delay_ = 0;
  std::set<uint64_t> held_;
  std::vector<uint64_t> reads_;
  std::vector<Flight> flights_;
};

}  // namespace exrnic::testing
