// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/management/node_agent.h"

#include <utility>

#include "exrnic_registers.h"

namespace exrnic::management {
namespace {

// Four bytes as they lie in memory.
uint32_t word_at(const uint8_t* bytes) {
  return bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
}

bool asks(const Bytes& frame) {
  if (frame.size() != EXRNIC_MANAGEMENT_FRAME_BYTES) return false;
  const uint64_t method = exrnic_management_header_method(header(frame));
  return method == EXRNIC_MANAGEMENT_METHOD_GET || method == EXRNIC_MANAGEMENT_METHOD_SET;
}

// A switch takes no other one.
bool is_routed(const Bytes& frame) {
  const uint8_t* const header = management::header(frame);
  return exrnic_management_header_version(header) == EXRNIC_MANAGEMENT_VERSION &&
         exrnic_management_header_hop(header) == 0 && exrnic_management_header_hops(header) == 0;
}

}  // namespace

bool NodeAgent::has(const MmioAccess& access) {
  return access.bar == EXRNIC_BAR_REGISTERS && access.offset >= EXRNIC_REG_MANAGEMENT_OUT;
}

void NodeAgent::write(const MmioAccess& access) {
  if (access.size != 4 || access.offset % 4 != 0) return;
  const auto value = static_cast<uint32_t>(access.data);
  if (registers::in_management_out(access.offset) && !sending_) {
    uint8_t* const at = store_.data() + (access.offset - EXRNIC_REG_MANAGEMENT_OUT);
    for (unsigned i = 0; i < 4; ++i) at[i] = static_cast<uint8_t>(value >> 8 * i);
  }
  if (access.offset == EXRNIC_REG_MANAGEMENT_SEND && !sending_) send_of_host();
  if (access.offset == EXRNIC_REG_MANAGEMENT_TAKEN && !in_.empty()) in_.pop_front();
}

uint64_t NodeAgent::read(const MmioAccess& access) const {
  const bool is_word = access.size == 4 && access.offset % 4 == 0;
  const uint32_t value = is_word ? value_of(access.offset) : UINT32_MAX;
  return value == UINT32_MAX ? UINT64_MAX : value;
}

uint32_t NodeAgent::value_of(uint32_t offset) const {
  if (offset == EXRNIC_REG_MANAGEMENT_STATUS) {
    return (sending_ ? EXRNIC_MANAGEMENT_STATUS_BITS_SENDING : 0) |
           (in_.empty() ? 0 : EXRNIC_MANAGEMENT_STATUS_BITS_WAITING);
  }
  if (registers::in_management_out(offset))
    return word_at(store_.data() + (offset - EXRNIC_REG_MANAGEMENT_OUT));
  if (registers::in_management_in(offset))
    return in_.empty() ? 0 : word_at(in_.front().data() + (offset - EXRNIC_REG_MANAGEMENT_IN));
  return UINT32_MAX;
}

void NodeAgent::receive(const Frame& frame) {
  const bool full = out_.size() > kMostAnswers && asks(frame.data);
  if (frame.fcs_error || full) return count(EXRNIC_COUNTER_MANAGEMENT_DROPPED);
  take(0, Bytes(frame.data));
}

// A host asks, and does not answer. Whom it is from is the agent's to say.
void NodeAgent::send_of_host() {
  Bytes frame(store_.begin(), store_.end());
  if (!is_management(frame) || !asks(frame)) return count(EXRNIC_COUNTER_MANAGEMENT_DROPPED);
  exrnic_eth_set_src(frame.data(), mac());
  const uint64_t to = exrnic_eth_dst(frame.data());
  const bool away = has_number() && to != kAnyone && to != mac() && to >> 16 == EXRNIC_MAC_PREFIX;
  if (away && carrier_ && is_routed(frame)) return send_out(std::move(frame), /*of_host=*/true);
  from_host_ = true;
  take(kHost, std::move(frame));
  from_host_ = false;
}

void NodeAgent::set_carrier(bool up) {
  if (carrier_ == up) return;
  carrier_ = up;
  carrier_changed();
}

void NodeAgent::run(FrameSink& sink) {
  if (settles_ != 0) --settles_;
  while (!out_.empty() && sink.can_transmit()) {
    Frame frame;
    frame.data = std::move(out_.front().frame);
    if (out_.front().of_host) sending_ = false;
    out_.pop_front();
    sink.transmit(std::move(frame));
  }
}

void NodeAgent::reset() {
  store_ = {};
  out_.clear();
  in_.clear();
  sending_ = false;
}

bool NodeAgent::goes(bool answer, unsigned from, unsigned to) const {
  return answer ? to == kHost : from == kHost && to == 0 && carrier_;
}

void NodeAgent::send(unsigned to, Bytes&& frame) {
  if (to == kHost) return deliver(std::move(frame));
  send_out(std::move(frame), from_host_);
}

void NodeAgent::send_out(Bytes&& frame, bool of_host) {
  out_.push_back({std::move(frame), of_host});
  sending_ = sending_ || of_host;
}

void NodeAgent::deliver(Bytes&& frame) {
  if (in_.size() == EXRNIC_MANAGEMENT_WAITING) return count(EXRNIC_COUNTER_MANAGEMENT_DROPPED);
  in_.push_back(std::move(frame));
}

}  // namespace exrnic::management
