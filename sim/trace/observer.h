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
  virtual uint64_t now() const = 0;  // ps
};

}  // namespace exrnic::trace
