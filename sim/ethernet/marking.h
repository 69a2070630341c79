// SPDX-License-Identifier: BSD-2-Clause
// What a congested switch does to a frame: it sets the flag CE of the EFE header, as an IP router
// sets ECN's (RFC 3168, 5).
#pragma once

#include "rtl-model/systemc/core.h"

namespace exrnic {

// Marks a wire frame and corrects its FCS. False: nothing was changed, because it is no EFE frame
// or its FCS is wrong already, and must stay so.
bool mark_congestion(Bytes& wire);

}  // namespace exrnic
