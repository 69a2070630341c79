// SPDX-License-Identifier: BSD-2-Clause
// A command's data in the host's memory: PRP entries and lists (4.3).
//
// Nothing here is trusted. A list is read once, page by page; no more of it than the data takes.
// Errors: kInvalidPrpOffset: an entry that does not begin where it must. kDataTransferError: memory
// that the host has not granted; a part of the data may have been transferred then.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/devices/nvme/nvme.h"
#include "sim/pcie/host_port.h"

namespace exrnic::nvme {

// Both want 1 to kMaxTransferBytes of `length`.
Status copy_from_host(HostPort& host, const Command& command, uint8_t* to, size_t length);
Status copy_to_host(HostPort& host, const Command& command, const uint8_t* from, size_t length);

}  // namespace exrnic::nvme
