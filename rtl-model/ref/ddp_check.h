// SPDX-License-Identifier: BSD-2-Clause
// What a received DDP segment is, or which error it is (RFC 5041, 8; RFC 5040, 4.8).
#pragma once

#include <optional>

#include "rtl-model/ref/state.h"

namespace exrnic::ref {

bool is_tagged(const Bytes& ddp);

// A terminate message, well formed or not: none is ever refused.
bool is_terminate(const Bytes& ddp);

// What a queue pair tells its peer of itself (EFE.md), from the header and the length alone.
bool is_introduction(const uint8_t* ddp, size_t length);

// Nothing for a segment that the responder serves, as far as its header and length tell; else why
// it is none. Reserved bits are ignored.
std::optional<exrnic_term_code> header_error(const Bytes& ddp);

}  // namespace exrnic::ref
