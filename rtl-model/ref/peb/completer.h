// SPDX-License-Identifier: BSD-2-Clause
// Requests of a port's peer that its bus serves, and their completions.
#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "rtl-model/ref/peb/tlp.h"

namespace exrnic::peb {

class Completer {
 public:
  explicit Completer(uint16_t max_payload) : max_payload_(max_payload) {}

  // Its name for the bus; no two are the same.
  uint64_t serve(const Request& request) {
    served_.emplace(++last_, request);
    return last_;
  }
  // The TLPs for what the bus says of one; none if it has been forgotten. `data`: of a successful
  // read what it asked for.
  std::deque<Completion> complete(uint64_t name, exrnic_completion_status status,
                                  const Bytes& data);
  void forget() { served_.clear(); }
  size_t serving() const { return served_.size(); }

 private:
  const uint16_t max_payload_;
  uint64_t last_ = 0;
  std::map<uint64_t, Request> served_;
};

}  // namespace exrnic::peb
