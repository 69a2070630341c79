// SPDX-License-Identifier: BSD-2-Clause
// EFE frames, and the records at the ports of efe_tx and efe_rx that no other block has, for their
// tests.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "exrnic_hw.h"
#include "rtl-model/testing/records.h"

namespace exrnic::testing {

using Bytes = std::vector<uint8_t>;
using Counters = std::array<uint64_t, EXRNIC_COUNTERS>;

// Headers and inline payload in a descriptor: `from` comes first, the rest stays as it is.
template <std::size_t N>
void put_bytes(std::array<uint8_t, N>& to, const Bytes& from) {
  if (from.size() > N) throw std::length_error("more bytes than the descriptor has room for");
  std::copy(from.begin(), from.end(), to.begin());
}

// The next `bytes` of a payload, from `at` on, go to a slot.
inline DmaReadBeat read_beat(uint8_t slot, const Bytes& payload, std::size_t at,
                             std::size_t bytes) {
  DmaReadBeat beat;
  beat.dst = static_cast<uint32_t>(slot * EXRNIC_MTU_MAX + at);
  std::copy_n(payload.begin() + static_cast<std::ptrdiff_t>(at), bytes, beat.data.begin());
  beat.bytes = static_cast<uint16_t>(bytes);
  return beat;
}

// A frame from destination MAC to payload, padded as the MAC does it.
struct Frame {
  Bytes data;
  bool fcs_error = false;

  uint8_t* efe() { return data.data() + EXRNIC_ETH_BYTES; }
  const uint8_t* efe() const { return data.data() + EXRNIC_ETH_BYTES; }
  uint32_t flags() const { return static_cast<uint32_t>(exrnic_efe_flags(efe())); }
  bool has(uint32_t flag) const { return (flags() & flag) != 0; }
  uint32_t seq() const { return static_cast<uint32_t>(exrnic_efe_seq(efe())); }
  uint32_t ack() const { return static_cast<uint32_t>(exrnic_efe_ack(efe())); }
  uint16_t session() const { return static_cast<uint16_t>(exrnic_efe_session(efe())); }
  uint16_t peer_session() const { return static_cast<uint16_t>(exrnic_efe_peer_session(efe())); }
  uint8_t dst_node() const { return data[5]; }
  Bytes segment() const {
    const auto* first = efe() + EXRNIC_EFE_BYTES;
    return Bytes(first, first + exrnic_efe_length(efe()));
  }
};

// Puts the beats of the transmit port together.
class FrameCollector {
 public:
  // With the outputs of the cycle settled; true at the end of a frame.
  template <typename Model>
  bool sample(Model& dut) {
    if (!dut.tx_valid_o || !dut.tx_ready_i) return false;
    if (dut.tx_sop_o) data_.clear();
    broken_ |= (dut.tx_sop_o != 0) != start_;
    for (unsigned i = 0; i < dut.tx_bytes_o; ++i)
      data_.push_back(static_cast<uint8_t>(dut.tx_data_o[i / 4] >> (8 * (i % 4))));
    broken_ |= !dut.tx_eop_o && dut.tx_bytes_o != sizeof(dut.tx_data_o);
    start_ = dut.tx_eop_o;
    return start_;
  }
  Frame take() const {
    Frame frame{data_};
    if (frame.data.size() < EXRNIC_ETH_FRAME_MIN) frame.data.resize(EXRNIC_ETH_FRAME_MIN);
    return frame;
  }
  std::size_t unpadded_size() const { return data_.size(); }
  bool broken() const { return broken_; }  // first, last and bytes disagreed once

 private:
  Bytes data_;
  bool start_ = true;
  bool broken_ = false;
};

// Cuts frames into the beats of the receive port, one a cycle.
class FrameInjector {
 public:
  bool busy() const { return at_ < frame_.data.size(); }
  void start(Frame frame) {
    frame_ = std::move(frame);
    at_ = 0;
  }
  template <typename Model>
  void drive(Model& dut) {
    dut.rx_valid_i = busy();
    if (!busy()) return;
    const std::size_t bytes = std::min(sizeof(dut.rx_data_i), frame_.data.size() - at_);
    dut.rx_sop_i = at_ == 0;
    dut.rx_eop_i = at_ + bytes == frame_.data.size();
    dut.rx_bytes_i = static_cast<uint8_t>(bytes);
    dut.rx_error_i = dut.rx_eop_i && frame_.fcs_error;
    for (std::size_t i = 0; i < sizeof(dut.rx_data_i) / 4; ++i) dut.rx_data_i[i] = 0xa5a5a5a5;
    for (std::size_t i = 0; i < bytes; ++i)
      set_byte(dut.rx_data_i[i / 4], static_cast<unsigned>(i % 4), frame_.data[at_ + i]);
    at_ += bytes;
  }

 private:
  static void set_byte(EData& word, unsigned lane, uint8_t value) {
    word = (word & ~(0xffu << (8 * lane))) | (uint32_t{value} << (8 * lane));
  }

  Frame frame_;
  std::size_t at_ = 0;
};

// What one received or sent frame looks like without looking at its place in a session.
inline Frame make_frame(uint8_t dst, uint8_t src, uint32_t flags, uint16_t session, uint32_t seq,
                        const Bytes& segment = {}) {
  Frame frame;
  frame.data.resize(EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES);
  exrnic_eth_set_dst(frame.data.data(), uint64_t{EXRNIC_MAC_PREFIX} << 16 | dst);
  exrnic_eth_set_src(frame.data.data(), uint64_t{EXRNIC_MAC_PREFIX} << 16 | src);
  exrnic_eth_set_ethertype(frame.data.data(), EXRNIC_ETHERTYPE);
  exrnic_efe_set_version(frame.efe(), EXRNIC_EFE_VERSION);
  exrnic_efe_set_klass(frame.efe(), EXRNIC_EFE_CLASS_RELIABLE);
  exrnic_efe_set_flags(frame.efe(), flags);
  exrnic_efe_set_length(frame.efe(), segment.size());
  exrnic_efe_set_src_node(frame.efe(), src);
  exrnic_efe_set_session(frame.efe(), session);
  exrnic_efe_set_seq(frame.efe(), seq);
  frame.data.insert(frame.data.end(), segment.begin(), segment.end());
  if (frame.data.size() < EXRNIC_ETH_FRAME_MIN) frame.data.resize(EXRNIC_ETH_FRAME_MIN);
  return frame;
}

template <typename Model>
void count_events(Counters& counters, const Model& dut) {
  for (unsigned i = 0; i < EXRNIC_COUNTERS; ++i) counters[i] += get_bit(dut.event_o, i);
}

}  // namespace exrnic::testing
