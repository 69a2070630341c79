// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/peb/peb_agent.h"

#include <algorithm>

namespace exrnic::peb {
namespace {

std::optional<Peer> peer_in(const uint8_t* data) {
  const auto node = static_cast<uint16_t>(exrnic_management_assignment_node(data));
  if (node == EXRNIC_NODE_NONE) return std::nullopt;
  return Peer{node, static_cast<uint16_t>(exrnic_management_assignment_group(data))};
}

}  // namespace

exrnic_management_status PebAgent::serve(exrnic_management_attribute attribute, uint32_t modifier,
                                         bool sets, uint8_t* data) {
  if (attribute != EXRNIC_MANAGEMENT_ATTRIBUTE_ASSIGNMENT)
    return EXRNIC_MANAGEMENT_STATUS_NO_ATTRIBUTE;
  if (modifier >= ports_.count()) return EXRNIC_MANAGEMENT_STATUS_NO_BLOCK;
  const bool taken = !sets || ports_.set_peer(modifier, peer_in(data));
  std::fill_n(data, EXRNIC_MANAGEMENT_DATA_BYTES, uint8_t{0});
  const std::optional<Peer> peer = ports_.peer_of(modifier);
  exrnic_management_assignment_set_node(data, peer ? peer->node : EXRNIC_NODE_NONE);
  exrnic_management_assignment_set_group(data, peer ? peer->group : 0);
  return taken ? EXRNIC_MANAGEMENT_STATUS_OK : EXRNIC_MANAGEMENT_STATUS_BAD_VALUE;
}

management::Device device_of(const CoreConfig& config, Side side, uint32_t nodes) {
  management::Device device;
  device.guid = config.guid;
  device.kind =
      side == Side::kHost ? EXRNIC_MANAGEMENT_KIND_PEB_HOST : EXRNIC_MANAGEMENT_KIND_PEB_DEVICE;
  device.fixed = config.node_id != EXRNIC_NODE_NONE;
  device.number = config.node_id;
  device.nodes = nodes;
  return device;
}

}  // namespace exrnic::peb
