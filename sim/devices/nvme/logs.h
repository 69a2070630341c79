// SPDX-License-Identifier: BSD-2-Clause
// What a host can look up afterwards: commands that failed, and how much was done (5.14).
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/devices/nvme/nvme.h"

namespace exrnic::nvme {

struct Traffic {
  uint64_t reads = 0;  // commands
  uint64_t writes = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  uint64_t media_errors = 0;
};

class Logs {
 public:
  static constexpr uint16_t kNoCommand =
      0xffff;  // queue and identifier of an error that is of none
  void add_error(uint16_t queue, uint16_t command, uint16_t status_field, uint32_t nsid);

  Traffic traffic;
  uint64_t starts = 0;       // of the controller
  uint64_t sudden_ends = 0;  // its host has left it running

  // Empty: there is no such page.
  std::vector<uint8_t> page(LogPage page) const;

 private:
  struct Error {
    uint64_t number;
    uint16_t queue;
    uint16_t command;
    uint16_t status_field;
    uint32_t nsid;
  };

  std::vector<uint8_t> errors_page() const;
  std::vector<uint8_t> health_page() const;

  std::deque<Error> errors_;  // the newest first
  uint64_t errors_ever_ = 0;
};

}  // namespace exrnic::nvme
