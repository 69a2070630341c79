// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ethernet/switch.h"

#include <utility>

#include "exrnic_hw.h"
#include "sim/ethernet/mac.h"

namespace exrnic {

Switch::Switch(Scheduler& scheduler, const Config& config)
    : scheduler_(scheduler), config_(config) {}

WireReceiver& Switch::add_port(uint64_t station, EthernetLink& output) {
  ports_.push_back(std::make_unique<Port>(*this, output));
  stations_[station] = ports_.back().get();
  return *ports_.back();
}

void Switch::receive(const Port& from, Bytes&& wire) {
  Bytes frame(wire);
  if (!remove_fcs(frame) || frame.size() < EXRNIC_ETH_BYTES) {
    ++counters_.fcs_errors;
    return;
  }
  const auto station = stations_.find(exrnic_eth_dst(frame.data()));
  if (station == stations_.end() || station->second == &from) {
    ++counters_.unknown_station;
    return;
  }
  EthernetLink& output = station->second->output;
  scheduler_.after(
      config_.latency_ns * kPsPerNs,
      [this, &output, wire = std::move(wire)]() mutable { enqueue(output, std::move(wire)); });
}

void Switch::enqueue(EthernetLink& output, Bytes&& wire) {
  const uint64_t on_line = kPreambleBytes + wire.size() + kInterFrameGapBytes;
  if (output.queued_bytes() + on_line > config_.queue_bytes) {
    ++counters_.tail_dropped;
    return;
  }
  ++counters_.forwarded;
  output.send(std::move(wire));
}

}  // namespace exrnic
