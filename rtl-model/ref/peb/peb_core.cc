// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/peb/peb_core.h"

#include <stdexcept>
#include <string>

namespace exrnic::peb {

void check_peer(const Peer& peer, uint16_t node, bool taken) {
  const std::string text =
      "node " + std::to_string(peer.node) + ", group " + std::to_string(peer.group);
  if (node == EXRNIC_NODE_NONE) throw std::invalid_argument(text + ": this PEB has no number");
  if (taken) throw std::invalid_argument(text + ": another port has this peer");
  if (peer.node == node) throw std::invalid_argument(text + ": that is the own node");
}

void check_config(const CoreConfig& config, unsigned ports) {
  const unsigned payload = config.max_payload;
  if (payload < EXRNIC_PEB_PAYLOAD_MIN || payload > EXRNIC_PEB_PAYLOAD_MAX ||
      (payload & (payload - 1)) != 0)
    throw std::invalid_argument("max_payload " + std::to_string(payload) +
                                ": a power of two from " + std::to_string(EXRNIC_PEB_PAYLOAD_MIN) +
                                " to " + std::to_string(EXRNIC_PEB_PAYLOAD_MAX) + " is possible");
  if (config.max_read == 0 || config.max_read > EXRNIC_PEB_REQUEST_MAX)
    throw std::invalid_argument("max_read " + std::to_string(config.max_read) + ": 1 to " +
                                std::to_string(EXRNIC_PEB_REQUEST_MAX) + " is possible");
  if (ports == 0 || ports > EXRNIC_PEB_PORTS)
    throw std::invalid_argument(std::to_string(ports) + " ports: 1 to " +
                                std::to_string(EXRNIC_PEB_PORTS) + " are possible");
}

}  // namespace exrnic::peb
