// SPDX-License-Identifier: BSD-2-Clause
// Waits until nobody manages the own node any more: what a manager counts there stands still.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/fabric/frames.h"
#include "tools/fabric/requests.h"

namespace exrnic::fabric {

class Standby {
 public:
  // `requests` outlives it. The node is looked at each `look_ns`.
  Standby(Requests& requests, uint64_t look_ns) : requests_(requests), look_ns_(look_ns) {}

  // It is over when nothing has changed for `patience_ns`.
  void begin(uint64_t now_ns, uint64_t patience_ns);

  // Goes on; true when it is over.
  bool advance(uint64_t now_ns);
  uint64_t due_ns() const { return asked_ ? kNever : next_look_ns_; }

  // The number of who manages the node; kNoNumber: nobody, or it has not answered.
  uint16_t manager() const { return seen_ ? seen_->manager : kNoNumber; }
  bool answers() const { return answers_; }

 private:
  struct Seen {
    uint16_t manager;
    uint8_t beat;
  };

  void look();

  Requests& requests_;
  const uint64_t look_ns_;
  uint64_t patience_ns_ = 0;
  uint64_t next_look_ns_ = 0;
  uint64_t still_since_ns_ = 0;
  bool asked_ = false;
  bool moved_ = false;  // since the last call
  bool answers_ = true;
  std::optional<Seen> seen_;
};

}  // namespace exrnic::fabric
