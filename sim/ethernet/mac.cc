// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ethernet/mac.h"

#include <libdeflate.h>

#include <cassert>
#include <utility>

#include "exrnic_hw.h"

namespace exrnic {
namespace {

constexpr size_t kQueueFrames = 2;

uint32_t fcs_of(const uint8_t* data, size_t size) { return libdeflate_crc32(0, data, size); }

}  // namespace

void append_fcs(Bytes& frame) {
  if (frame.size() < EXRNIC_ETH_FRAME_MIN) frame.resize(EXRNIC_ETH_FRAME_MIN);
  const uint32_t fcs = fcs_of(frame.data(), frame.size());
  for (unsigned i = 0; i < kFcsBytes; ++i) frame.push_back(static_cast<uint8_t>(fcs >> (8 * i)));
}

bool has_good_fcs(const Bytes& wire) {
  if (wire.size() < kFcsBytes) return false;
  const size_t size = wire.size() - kFcsBytes;
  uint32_t received = 0;
  for (unsigned i = 0; i < kFcsBytes; ++i) received |= uint32_t{wire[size + i]} << (8 * i);
  return received == fcs_of(wire.data(), size);
}

bool remove_fcs(Bytes& wire) {
  const bool good = has_good_fcs(wire);
  if (wire.size() >= kFcsBytes) wire.resize(wire.size() - kFcsBytes);
  return good;
}

bool Mac::can_transmit() { return line_ == nullptr || line_->queued_frames() < kQueueFrames; }

uint64_t Mac::busy_until() { return line_ == nullptr ? 0 : line_->fewer_than(kQueueFrames); }

void Mac::transmit(Frame&& frame) {
  assert(can_transmit());
  if (line_ == nullptr) {
    ++counters_.dropped_link_down;
    return;
  }
  ++counters_.transmitted;
  append_fcs(frame.data);
  if (observer_) observer_(Direction::kTransmit, frame.data);
  line_->send(std::move(frame.data));
}

void Mac::receive_wire(Bytes&& wire) {
  ++counters_.received;
  if (observer_) observer_(Direction::kReceive, wire);
  Frame frame;
  frame.fcs_error = !remove_fcs(wire);
  if (frame.fcs_error) ++counters_.fcs_errors;
  frame.data = std::move(wire);
  rnic_.receive(std::move(frame));
}

}  // namespace exrnic
