// SPDX-License-Identifier: BSD-2-Clause
// What a path can carry at most, computed from its profile: the least of the PCIe payload rates of
// both hosts and the Ethernet payload rate.
#pragma once

#include <cstdint>

#include "sim/profile/profile.h"

namespace exrnic::bench {

// Bytes of payload per second for messages of `size` bytes (at least 1), cut into frames of `mtu`
// bytes: P / (P + 24) of the PCIe rate for posted writes, P / (P + 20) for completions, with P the
// profile's MPS, and P / (P + headers + 38) of the Ethernet rate, with P the MTU; in each the last
// piece of a message is as short as it is. PULL has the headers of PUSH, in the other direction.
double push_limit(const Profile& profile, uint32_t mtu, uint64_t size);

// The same with the longer headers of untagged segments.
double send_limit(const Profile& profile, uint32_t mtu, uint64_t size);

// Bytes of a device's DMA per second across two PEBs, of long transfers. A TLP of the profile's MPS
// is one frame, whose header is that of an address below 4 GiB, or of a completion: as long.
double peb_limit(const Profile& profile);

// A message of `size` bytes and its answer of as many, in ns: what passes every line and switch of
// two nodes at its rate, and takes no time anywhere else.
double round_trip_limit_ns(const Profile& profile, uint32_t mtu, uint64_t size);

// A load of a register, in ns: the host, and two packets on the PCIe link.
double load_limit_ns(const Profile& profile);

}  // namespace exrnic::bench
