// SPDX-License-Identifier: BSD-2-Clause
// Who is told what passes between the parts of a node, and what lines and switches lose: by those
// who stand between the parts (TracedCore, TracedDevice, TracedHost), at once.
//
// Threads: none. What different nodes tell comes in the order in which they are simulated; what one
// of them tells, in the order of time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "rtl-model/systemc/core.h"
#include "rtl-model/systemc/scheduler.h"
#include "sim/ethernet/loss.h"

namespace exrnic::trace {

// Where and when something is seen.
struct At {
  unsigned node = 0;
  SimTime ps = 0;
};

class Observer {
 public:
  virtual ~Observer() = default;

  // Before anything else. `period_ps`: of the cores' clock.
  virtual void start(uint64_t period_ps, unsigned nodes) = 0;

  virtual void core_event(const At& at, const TraceEvent& event) = 0;
  virtual void frame(const At& at, const Frame& frame, bool out) = 0;
  virtual void store(const At& at, unsigned bar, uint64_t offset, unsigned size,
                     uint64_t value) = 0;
  // DevicePort::kBlockBytes of it.
  virtual void block(const At& at, unsigned bar, uint64_t offset, const uint8_t* data) = 0;
  virtual void loaded(const At& at, unsigned bar, uint64_t offset, uint64_t value,
                      SimTime since) = 0;
  // `data`: nullptr of a read.
  virtual void memory(const At& at, bool write, uint64_t address, const uint8_t* data,
                      size_t length) = 0;
  virtual void interrupt(const At& at, unsigned vector) = 0;
  virtual void reset(const At& at) = 0;

  // ---- Of what does not arrive; asked once for each core and line.
  virtual bool watches_losses() const { return false; }
  // A line, or a port of a switch, loses a frame. `where`: its name.
  virtual void lost(SimTime /*ps*/, const std::string& /*where*/, Loss /*loss*/,
                    const Frame& /*frame*/) {}
  // The node's core drops a frame at its check, and counts it so.
  virtual void dropped(const At& /*at*/, const Frame& /*frame*/, unsigned /*counter*/) {}
  // It does not serve the segment, and counts it so.
  virtual void unserved(const At& /*at*/, const exrnic_trace_args& /*segment*/,
                        unsigned /*counter*/) {}
  // It refuses a segment of `peer`, of which the low bits of the number are known: by a terminate
  // code, or as there is no receive for it yet.
  virtual void refused(const At& /*at*/, unsigned /*peer*/, uint16_t /*seq*/, unsigned /*code*/,
                       bool /*comes_again*/) {}
};

}  // namespace exrnic::trace
