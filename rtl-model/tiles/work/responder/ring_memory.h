// SPDX-License-Identifier: BSD-2-Clause
// Rings of receives in host memory, behind the ports by which the responder reads them.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "Vresponder.h"
#include "rtl-model/testing/neighbours.h"
#include "rtl-model/testing/records.h"

namespace exrnic::testing {

constexpr unsigned kSgeBytes = sizeof(exrnic_sge);
constexpr unsigned kWqeBytes = sizeof(exrnic_wqe);

// Rings in host memory, 16 bytes a word. A ring is where its PBL is, page behind page.
class RingMemory {
 public:
  using Word = std::array<uint8_t, kSgeBytes>;

  std::map<uint64_t, Word> words;
  std::set<uint64_t> refused;  // addresses of words that the host does not let read
  bool no_page = false;        // their PBLs cannot be read

  explicit RingMemory(Vresponder& dut, uint32_t seed) : dut_(dut), random_(seed) {
    dut_.fetch_read_beat_valid_i = dut_.fetch_xlate_rsp_valid_i = 0;
  }

  void drive() {
    drive_xlate();
    dut_.fetch_read_ready_i = random_() % 2;
    dut_.fetch_read_beat_valid_i = 0;
    if (beats_.empty() || random_() % 2) return;
    const auto [address, dst] = beats_.front();
    beats_.pop_front();
    DmaReadBeat beat;
    beat.dst = static_cast<uint32_t>(dst);
    beat.bytes = kDataBytes;
    for (unsigned at = 0; at < kDataBytes; at += kSgeBytes) {
      const Word& word = words[address + at];
      std::copy(word.begin(), word.end(), beat.data.begin() + at);
      beat.error = beat.error || refused.count(address + at) != 0;
    }
    pack(dut_.fetch_read_beat_i, beat);
    dut_.fetch_read_beat_valid_i = 1;
  }
  void sample() {
    if (dut_.fetch_xlate_valid_o && dut_.fetch_xlate_ready_i)
      looked_up_.push_back(unpack<XlateReq>(dut_.fetch_xlate_req_o));
    if (!dut_.fetch_read_valid_o || !dut_.fetch_read_ready_i) return;
    const auto asked = unpack<DmaReadReq>(dut_.fetch_read_req_o);
    ++reads_;
    for (uint32_t at = 0; at < asked.length; at += kDataBytes) {
      beats_.push_back({asked.address + at, asked.dst + at});
      read.insert((asked.address + at) / kWqeBytes * kWqeBytes);
    }
    std::shuffle(beats_.begin(), beats_.end(), random_);  // reads complete in any order
  }
  int reads() const { return reads_; }
  std::set<uint64_t> read;  // addresses of slots that were

 private:
  void drive_xlate() {
    dut_.fetch_xlate_ready_i = looked_up_.empty() && random_() % 2;
    dut_.fetch_xlate_rsp_valid_i = 0;
    if (looked_up_.empty() || random_() % 4 == 0) return;
    XlateRsp response = translate_in_place(looked_up_.front());
    response.address = looked_up_.front().pbl_address + looked_up_.front().to;
    if (no_page) response.status = kXlateMemory;
    pack(dut_.fetch_xlate_rsp_i, response);
    dut_.fetch_xlate_rsp_valid_i = 1;
    looked_up_.clear();
  }

  struct Beat {
    uint64_t address;
    uint32_t dst;
  };
  Vresponder& dut_;
  std::mt19937 random_;
  std::deque<Beat> beats_;
  std::vector<XlateReq> looked_up_;  // one at the most
  int reads_ = 0;
};

// ---- Receives

// A work request as its words; elements {address, length, stag}.
inline std::vector<RingMemory::Word> recv_wqe(const std::vector<exrnic_sge>& elements) {
  const auto further = static_cast<unsigned>(elements.size()) - EXRNIC_WQE_SGES;
  const unsigned slots = elements.size() <= EXRNIC_WQE_SGES
                             ? 1
                             : 1 + (further + EXRNIC_WQE_SLOT_SGES - 1) / EXRNIC_WQE_SLOT_SGES;
  exrnic_wqe wqe{};
  wqe.opcode = EXRNIC_WQE_OPCODE_RECV;
  wqe.num_sge = static_cast<uint8_t>(elements.size());
  wqe.num_slots = static_cast<uint8_t>(slots);
  for (const exrnic_sge& element : elements) wqe.length += element.length;
  std::vector<RingMemory::Word> words(4 * slots);
  std::memcpy(words.data(), &wqe, 2 * kSgeBytes);
  for (unsigned i = 0; i < elements.size(); ++i)
    std::memcpy(&words[2 + i], &elements[i], kSgeBytes);
  return words;
}
// The header of such words, to spoil it.
inline exrnic_wqe& header_of(std::vector<RingMemory::Word>& words) {
  return *reinterpret_cast<exrnic_wqe*>(words.data());
}

// Puts words at a producer of a ring, which moves on.
inline void post(RingMemory& memory, uint64_t ring, unsigned log, uint16_t& producer,
                 const std::vector<RingMemory::Word>& words) {
  const uint64_t bytes = uint64_t{kWqeBytes} << log;
  for (std::size_t i = 0; i < words.size(); ++i)
    memory.words[ring + (uint64_t{producer} * kWqeBytes + i * kSgeBytes) % bytes] = words[i];
  producer = static_cast<uint16_t>(producer + words.size() / 4);
}
}  // namespace exrnic::testing
