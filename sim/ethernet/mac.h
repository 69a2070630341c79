// SPDX-License-Identifier: BSD-2-Clause
// The Ethernet MAC between an RNIC and its line: pads, appends and checks the frame check sequence
// (FCS: CRC-32, least significant byte first on the wire; IEEE 802.3, 3.2.9).
#pragma once

#include <cstdint>
#include <functional>

#include "rtl-model/systemc/rnic_ports.h"
#include "sim/ethernet/ethernet_link.h"

namespace exrnic {

// A frame with a wrong FCS goes up with Frame::fcs_error set: to count it is the RNIC's affair.
struct MacCounters {
  uint64_t transmitted = 0;
  uint64_t received = 0;  // with wrong ones
  uint64_t fcs_errors = 0;
  uint64_t dropped_link_down = 0;  // the RNIC sent while no line was plugged in
};

class Mac final : public EthernetPort, public WireReceiver {
 public:
  enum class Direction { kTransmit, kReceive };

  // Sees each wire frame (destination MAC to FCS) as it enters the line or has left it.
  using Observer = std::function<void(Direction direction, const Bytes& wire)>;

  explicit Mac(FrameReceiver& rnic) : rnic_(rnic) {}

  // Plugs in the outgoing line; until then the link is down.
  void connect(EthernetLink& line) { line_ = &line; }
  void observe(Observer observer) { observer_ = std::move(observer); }

  // Holds one frame beside the one on the line. A frame that was taken is on its way: a reset of
  // the RNIC does not call it back.
  bool can_transmit() override;
  void transmit(Frame&& frame) override;
  uint64_t busy_until() override;

  void receive_wire(Bytes&& wire) override;

  const MacCounters& counters() const { return counters_; }

 private:
  FrameReceiver& rnic_;
  EthernetLink* line_ = nullptr;
  Observer observer_;
  MacCounters counters_;
};

// Pads `frame` to the minimum and appends its FCS.
void append_fcs(Bytes& frame);

// False: the FCS at the end of `wire` is wrong, or there is not even room for one.
bool has_good_fcs(const Bytes& wire);

// Removes the FCS from a wire frame; false: it was wrong, or there was not even room for one.
bool remove_fcs(Bytes& wire);

}  // namespace exrnic
