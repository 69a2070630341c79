// SPDX-License-Identifier: BSD-2-Clause
// Terminate messages (RFC 5040, 4.8).
#pragma once

#include <optional>

#include "rtl-model/ref/segment.h"

namespace exrnic::ref {

// A whole segment with that code. It quotes the DDP header of `refused`, and where an RDMA Read
// Request is refused by RDMAP that as well; without a refused segment nothing.
Bytes terminate_message(exrnic_term_code code, const std::optional<Bytes>& refused);

// How the work request that it strikes has failed.
exrnic_cqe_status status_of_terminate(uint16_t code);

}  // namespace exrnic::ref
