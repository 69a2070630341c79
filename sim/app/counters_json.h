// SPDX-License-Identifier: BSD-2-Clause
// Counters as statistics have them.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/ethernet/ethernet_link.h"
#include "sim/ethernet/mac.h"
#include "sim/pcie/pcie_link.h"
#include "sim/vfio_user/report.h"

namespace exrnic {

nlohmann::ordered_json to_json(const PcieCounters& counters);
nlohmann::ordered_json to_json(const MacCounters& counters);
nlohmann::ordered_json to_json(const EthernetLinkCounters& counters);
nlohmann::ordered_json to_json(const vfio_user::Counters& counters);

}  // namespace exrnic
