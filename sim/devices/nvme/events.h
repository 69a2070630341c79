// SPDX-License-Identifier: BSD-2-Clause
// Asynchronous events (5.2): requests of the host that are completed when there is something to
// tell. Only errors are told; one event, until the host has read its log page.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "sim/devices/nvme/nvme.h"

namespace exrnic::nvme {

class Events {
 public:
  void clear() { *this = Events(); }

  // A request waits from now on, unless it is refused.
  Status request(uint16_t id);
  // It waited, and is to be completed now.
  bool abort(uint16_t id);

  // An error has happened.
  void raise(uint8_t information);
  // The host has read the log page of errors.
  void log_was_read() { masked_ = false; }

  // A request is to be completed, and with what.
  bool ready() const { return !aborted_.empty() || tells(); }
  std::pair<uint16_t, Result> take();

 private:
  bool tells() const { return pending_.has_value() && !masked_ && !requests_.empty(); }

  std::deque<uint16_t> requests_;
  std::deque<uint16_t> aborted_;
  std::optional<uint32_t> pending_;
  bool masked_ = false;
};

}  // namespace exrnic::nvme
