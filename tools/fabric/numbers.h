// SPDX-License-Identifier: BSD-2-Clause
// Which number each device has. Who has a valid one keeps it, who has had it before others; the
// others get the lowest free ones, in order of GUID: nodes from 0 on, switches from kFirstSwitch.
// Those of absent devices are the last that others get.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/fabric/map.h"

namespace exrnic::fabric {

constexpr uint16_t kFirstSwitch = 0x8000;

struct Numbers {
  std::map<uint64_t, uint16_t> of;  // by GUID; who is missing can have none
  std::vector<std::string> problems;
};

// `before`: numbers that devices had; who comes back without one gets it again if it is free.
Numbers assign_numbers(const Map& map, const std::map<uint64_t, uint16_t>& before = {});

}  // namespace exrnic::fabric
