// SPDX-License-Identifier: BSD-2-Clause
// A real NVMe controller (exrnic-nvme), at its host's PCIe link and behind two PEBs. It takes no
// time itself, so what is measured is the way to it.
#pragma once

#include <string>

#include "rtl-model/ref/peb/peb_core.h"
#include "tools/bench/results.h"

namespace exrnic::bench {

// From the doorbell to the completion in the host's memory of 4 KiB, and a load of a register; then
// 128 KiB one behind the other, 8 under way. `core`: the name of such PEBs.
void measure_peb(const std::string& profile, const std::string& core,
                 const peb::PebFactory& make_peb, Results& results);

}  // namespace exrnic::bench
