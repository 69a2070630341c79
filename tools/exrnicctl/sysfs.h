// SPDX-License-Identifier: BSD-2-Clause
// Counters as the driver shows them: /sys/class/exrnic/exrnicN/counters/NAME.
#pragma once

#include <filesystem>

#include "counters.h"

namespace exrnic::ctl {

constexpr char kSysfsClass[] = "/sys/class/exrnic";

class SysfsCounters final : public CounterSource {
 public:
  explicit SysfsCounters(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // An RNIC is there.
  bool any() const;
  // Of every RNIC of this machine.
  Snapshot read() override;

 private:
  std::filesystem::path folder_;
};

}  // namespace exrnic::ctl
