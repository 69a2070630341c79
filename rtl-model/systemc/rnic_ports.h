// SPDX-License-Identifier: BSD-2-Clause
// The two connectors of an RNIC, seen from both sides. RnicModule stands between them; the PCIe
// link and the Ethernet MAC of the simulator stand outside.
//
// Threads: none of its own; one calls at a time, see "Several threads" in sim/README.md.
// Errors: a call that breaks a `can_*` answer or the order of replies is a bug and asserts.
#pragma once

#include "rtl-model/systemc/core.h"

namespace exrnic {

// What the PCIe link offers to the RNIC: the way towards the host.
class PciePort {
 public:
  virtual ~PciePort() = default;
  virtual bool can_write() = 0;
  virtual void write(PostedWrite&& write) = 0;
  virtual bool can_read() = 0;
  virtual void read(const ReadRequest& request) = 0;
  virtual void mmio_read_done(uint64_t data) = 0;
  virtual bool peek(uint64_t address, uint8_t* out, size_t length) = 0;  // see CoreSink

  // The simulated time, in ps, up to which can_write(), or can_read(), surely says no if nothing is
  // handed over meanwhile; 0: not known.
  virtual uint64_t writes_busy_until() { return 0; }
  virtual uint64_t reads_busy_until() { return 0; }
};

// What the RNIC offers to the PCIe link: the way from the host.
class PcieEndpoint {
 public:
  virtual ~PcieEndpoint() = default;
  virtual void mmio_write(const MmioAccess& access) = 0;
  virtual void mmio_read(const MmioAccess& access) = 0;
  virtual void read_completion(ReadCompletion&& completion) = 0;
  virtual void reset() = 0;
  // Accesses that it has taken and that wait in it.
  virtual size_t backlog() { return 0; }
};

// What the Ethernet MAC offers to the RNIC.
class EthernetPort {
 public:
  virtual ~EthernetPort() = default;
  virtual bool can_transmit() = 0;
  virtual void transmit(Frame&& frame) = 0;
  virtual uint64_t busy_until() { return 0; }  // likewise, of can_transmit()
};

// What the RNIC offers to the Ethernet MAC.
class FrameReceiver {
 public:
  virtual ~FrameReceiver() = default;
  virtual void receive(Frame&& frame) = 0;
};

}  // namespace exrnic
