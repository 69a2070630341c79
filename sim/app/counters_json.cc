// SPDX-License-Identifier: BSD-2-Clause
#include "sim/app/counters_json.h"

namespace exrnic {

using Json = nlohmann::ordered_json;

Json to_json(const PcieCounters& c) {
  return {{"writes", c.writes},
          {"write_bytes", c.write_bytes},
          {"writes_refused", c.writes_refused},
          {"reads", c.reads},
          {"read_bytes", c.read_bytes},
          {"reads_refused", c.reads_refused},
          {"interrupts", c.interrupts},
          {"stores", c.stores},
          {"loads", c.loads},
          {"resets", c.resets}};
}

Json to_json(const MacCounters& c) {
  return {{"transmitted", c.transmitted},
          {"received", c.received},
          {"fcs_errors", c.fcs_errors},
          {"dropped_link_down", c.dropped_link_down}};
}

Json to_json(const EthernetLinkCounters& c) {
  return {{"frames", c.frames},
          {"bytes", c.bytes},
          {"dropped", c.dropped},
          {"duplicated", c.duplicated},
          {"reordered", c.reordered},
          {"corrupted", c.corrupted},
          {"delayed", c.delayed},
          {"lost_down", c.lost_down},
          {"lost_partitioned", c.lost_partitioned}};
}

Json to_json(const vfio_user::Counters& c) {
  return {{"clients", c.clients},
          {"clients_refused", c.clients_refused},
          {"connections_malformed", c.connections_malformed},
          {"requests_refused", c.requests_refused},
          {"posted_writes_refused", c.posted_writes_refused},
          {"dma_refused_bus_master", c.dma_refused_bus_master},
          {"dma_refused_address", c.dma_refused_address},
          {"interrupts_dropped", c.interrupts_dropped}};
}

}  // namespace exrnic
