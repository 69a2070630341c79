// SPDX-License-Identifier: BSD-2-Clause
// Who is told what passes between the parts of a node: the wrappers around them tell it, now.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rtl-model/systemc/core.h"

namespace exrnic::trace {

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void core_event(unsigned node, const TraceEvent& event) = 0;
  virtual void frame(unsigned node, const Frame& frame, bool out) = 0;
  virtual void store(unsigned node, unsigned bar, uint64_t offset, unsigned size,
                     uint64_t value) = 0;
  virtual void block(unsigned node, unsigned bar, uint64_t offset, const uint8_t* data) = 0;
  virtual void loaded(unsigned node, unsigned bar, uint64_t offset, uint64_t value,
                      uint64_t since_ps) = 0;
  virtual void memory(unsigned node, bool write, uint64_t address, const uint8_t* data,
                      size_t length) = 0;
  virtual void interrupt(unsigned node, unsigned vector) = 0;
  virtual void reset(unsigned node) = 0;

  // ---- Of what does not arrive; asked once for each core.
  virtual bool watches_losses() const { return false; }
  // The core of `node` drops a frame at its check, and counts it so.
  virtual void dropped(unsigned /*node*/, const Frame& /*frame*/, unsigned /*counter*/) {}
  // It does not serve the segment, and counts it so.
  virtual void unserved(unsigned /*node*/, const exrnic_trace_args& /*segment*/,
                        unsigned /*counter*/) {}
  // It refuses a segment of `peer`, of which the low bits of the number are known: by a terminate
  // code, or as there is no receive for it yet.
  virtual void refused(unsigned /*node*/, unsigned /*peer*/, uint16_t /*seq*/, unsigned /*code*/,
                       bool /*comes_again*/) {}

  virtual uint64_t now() const = 0;  // ps
};

}  // namespace exrnic::trace
