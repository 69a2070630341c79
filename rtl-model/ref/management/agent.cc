// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/management/agent.h"

#include <algorithm>
#include <utility>

namespace exrnic::management {
namespace {

constexpr size_t kReserved = 8;  // bytes at the end of the header

bool well_formed(const Bytes& frame) {
  return frame.size() == EXRNIC_MANAGEMENT_FRAME_BYTES &&
         exrnic_management_header_version(header(frame)) == EXRNIC_MANAGEMENT_VERSION;
}

bool is_request(uint64_t method) {
  return method == EXRNIC_MANAGEMENT_METHOD_GET || method == EXRNIC_MANAGEMENT_METHOD_SET;
}

}  // namespace

void Agent::take(unsigned from, Bytes&& frame) {
  if (!well_formed(frame)) return drop();
  if (exrnic_eth_dst(frame.data()) != kAnyone) return take_routed(from, std::move(frame));
  uint8_t* const header = management::header(frame);
  const uint64_t method = exrnic_management_header_method(header);
  const uint64_t hop = exrnic_management_header_hop(header);
  const uint64_t hops = exrnic_management_header_hops(header);
  if (hops >= EXRNIC_MANAGEMENT_HOPS || hop > hops) return drop();
  if (is_request(method)) {
    if (hop == hops) return answer(from, std::move(frame));
    uint8_t* const place = hop_of(frame, static_cast<unsigned>(hop));
    const unsigned to = number_at(place);
    put_number(place, from);
    exrnic_management_header_set_hop(header, hop + 1);
    return forward(from, to, /*answer=*/false, std::move(frame));
  }
  if (method != EXRNIC_MANAGEMENT_METHOD_ANSWER || hop == 0) return drop();
  exrnic_management_header_set_hop(header, hop - 1);
  const unsigned to = number_at(hop_of(frame, static_cast<unsigned>(hop - 1)));
  forward(from, to, /*answer=*/true, std::move(frame));
}

void Agent::take_routed(unsigned from, Bytes&& frame) {
  const uint8_t* const header = management::header(frame);
  if (!has_number() || exrnic_eth_dst(frame.data()) != mac()) return drop();
  if (exrnic_management_header_hop(header) != 0 || exrnic_management_header_hops(header) != 0)
    return drop();
  const uint64_t method = exrnic_management_header_method(header);
  if (is_request(method)) return answer(from, std::move(frame));
  if (method > EXRNIC_MANAGEMENT_METHOD_TRAP || from == kHost) return drop();
  deliver(std::move(frame));
}

void Agent::forward(unsigned from, unsigned to, bool answer, Bytes&& frame) {
  goes(answer, from, to) ? send(to, std::move(frame)) : drop();
}

void Agent::answer(unsigned from, Bytes&& frame) {
  uint8_t* const header = management::header(frame);
  if (device_.key != 0 && exrnic_management_header_key(header) != device_.key) return drop();
  const bool sets = exrnic_management_header_method(header) == EXRNIC_MANAGEMENT_METHOD_SET;
  const auto attribute =
      static_cast<exrnic_management_attribute>(exrnic_management_header_attribute(header));
  const auto modifier = static_cast<uint32_t>(exrnic_management_header_modifier(header));
  uint8_t* const data = management::data(frame);
  if (!sets) std::fill_n(data, EXRNIC_MANAGEMENT_DATA_BYTES, uint8_t{0});
  const exrnic_management_status status = attribute == EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE
                                              ? serve_device(modifier, sets, data)
                                              : serve(attribute, modifier, sets, data);
  if (status == EXRNIC_MANAGEMENT_STATUS_NO_ATTRIBUTE ||
      status == EXRNIC_MANAGEMENT_STATUS_NO_BLOCK) {
    std::fill_n(data, EXRNIC_MANAGEMENT_DATA_BYTES, uint8_t{0});
  }
  count(EXRNIC_COUNTER_MANAGEMENT_SERVED);
  exrnic_management_header_set_method(header, EXRNIC_MANAGEMENT_METHOD_ANSWER);
  exrnic_management_header_set_status(header, status);
  exrnic_management_header_set_key(header, 0);
  if (from == kHost) exrnic_management_header_set_hop(header, 0);
  const auto hops = static_cast<unsigned>(exrnic_management_header_hops(header));
  std::fill(header + EXRNIC_MANAGEMENT_HEADER_BYTES - kReserved,
            header + EXRNIC_MANAGEMENT_HEADER_BYTES, uint8_t{0});
  put_number(hop_of(frame, hops), from);
  const bool routed = exrnic_eth_dst(frame.data()) != kAnyone;
  if (routed) exrnic_eth_set_dst(frame.data(), exrnic_eth_src(frame.data()));
  exrnic_eth_set_src(frame.data(), mac());
  if (routed && from != kHost) return send_routed(from, std::move(frame));
  send(from, std::move(frame));
}

exrnic_management_status Agent::serve(exrnic_management_attribute /*attribute*/,
                                      uint32_t /*modifier*/, bool /*sets*/, uint8_t* /*data*/) {
  return EXRNIC_MANAGEMENT_STATUS_NO_ATTRIBUTE;
}

exrnic_management_status Agent::serve_device(uint32_t modifier, bool sets, uint8_t* data) {
  if (modifier != 0) return EXRNIC_MANAGEMENT_STATUS_NO_BLOCK;
  const exrnic_management_status status = sets ? set_device(data) : EXRNIC_MANAGEMENT_STATUS_OK;
  std::fill_n(data, EXRNIC_MANAGEMENT_DATA_BYTES, uint8_t{0});
  exrnic_management_device_set_guid(data, device_.guid);
  exrnic_management_device_set_kind(data, device_.kind);
  exrnic_management_device_set_flags(
      data, (device_.fixed ? EXRNIC_MANAGEMENT_DEVICE_FLAGS_FIXED : 0) |
                (device_.key != 0 ? EXRNIC_MANAGEMENT_DEVICE_FLAGS_KEYED : 0));
  exrnic_management_device_set_number(data, device_.number);
  exrnic_management_device_set_ports(data, device_.ports);
  exrnic_management_device_set_manager(data, device_.manager);
  exrnic_management_device_set_nodes(data, device_.nodes);
  exrnic_management_device_set_changes(data, device_.changes);
  exrnic_management_device_set_beat(data, device_.beat);
  return status;
}

exrnic_management_status Agent::set_device(const uint8_t* data) {
  constexpr uint64_t kKnown = EXRNIC_MANAGEMENT_SETS_NUMBER | EXRNIC_MANAGEMENT_SETS_MANAGER |
                              EXRNIC_MANAGEMENT_SETS_KEY | EXRNIC_MANAGEMENT_SETS_BEAT;
  const uint64_t sets = exrnic_management_device_sets(data);
  if ((sets & ~kKnown) != 0) return EXRNIC_MANAGEMENT_STATUS_BAD_VALUE;
  const auto number = static_cast<uint16_t>(exrnic_management_device_number(data));
  const bool changes = (sets & EXRNIC_MANAGEMENT_SETS_NUMBER) && number != device_.number;
  if ((sets & EXRNIC_MANAGEMENT_SETS_NUMBER) && number != EXRNIC_NODE_NONE &&
      number >= device_.nodes) {
    return EXRNIC_MANAGEMENT_STATUS_BAD_VALUE;
  }
  if (changes && device_.fixed) return EXRNIC_MANAGEMENT_STATUS_FIXED;
  if (sets & EXRNIC_MANAGEMENT_SETS_MANAGER)
    device_.manager = static_cast<uint16_t>(exrnic_management_device_manager(data));
  if (sets & EXRNIC_MANAGEMENT_SETS_KEY) device_.key = exrnic_management_device_new_key(data);
  if (sets & EXRNIC_MANAGEMENT_SETS_BEAT)
    device_.beat = static_cast<uint8_t>(exrnic_management_device_beat(data));
  if (changes) {
    device_.number = number;
    number_changes();
  }
  return EXRNIC_MANAGEMENT_STATUS_OK;
}

}  // namespace exrnic::management
