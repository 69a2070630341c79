// SPDX-License-Identifier: BSD-2-Clause
// PUSHes and PULLs without end: traffic under which things are destroyed.
#ifndef EXRNIC_GUEST_STREAM_H
#define EXRNIC_GUEST_STREAM_H

#include <cstdint>

#include "connection.h"

namespace exrnic {

// Keeps some PUSHes in flight over the whole target until one fails; its completion. Throws after
// 30 s without an error.
vl_wc StreamUntilError(const Connection& connection);

// The same with PULLs, of the peer's target into the own one.
vl_wc PullUntilError(const Connection& connection);
// The same with SENDs of the whole source.
vl_wc SendUntilError(const Connection& connection);

// True once a stream writes at `target`, which it fills with what is not there before; false after
// 30 s.
bool AwaitStreamInto(const uint8_t* target, uint8_t before = Connection::kPoison);

}  // namespace exrnic

#endif  // EXRNIC_GUEST_STREAM_H
