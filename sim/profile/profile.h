// SPDX-License-Identifier: BSD-2-Clause
// Link profiles: what surrounds the core, as data. A profile is a JSON file; the product's own lie
// in sim/profile/profiles, and README.md there names every key with its unit and range.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exrnic_hw.h"
#include "sim/ethernet/ethernet_config.h"
#include "sim/files/data_file.h"
#include "sim/pcie/pcie_config.h"

namespace exrnic {

struct Profile {
  std::string name;
  std::string description;
  uint16_t data_bits = 0;        // width of the core's data path
  uint32_t clock_khz = 0;        // of the core
  unsigned pcie_generation = 0;  // these two: only what the device reports of its link
  unsigned pcie_lanes = 0;
  uint32_t instruction_ns = 1;  // of the hosts, in synchronised time
  // log2 of WINDOW_SIZE, which the size of BAR 4 follows from; no file says it.
  uint8_t window_shift = EXRNIC_WINDOW_SHIFT_MIN;
  PcieConfig pcie;
  EthernetLinkConfig ethernet;
  SwitchConfig ethernet_switch;
  bool two_nodes_switched = false;  // false: two nodes are back to back; more always have a switch
};

// `name_or_path`: a name without '/' and '.json' is looked up among the product's own profiles.
// Throws DataFileError.
Profile load_profile(const std::string& name_or_path);

// Parses the text of a profile; `where` names it in errors. Throws DataFileError.
Profile parse_profile(const std::string& text, const std::string& where);

// Names of the product's own profiles, sorted.
std::vector<std::string> profile_names();

}  // namespace exrnic
