// SPDX-License-Identifier: BSD-2-Clause
// exrnic-tickets: processes draw numbers of one counter, each number once, and nobody hands them
// out.
//
//     guest                                desk, at node 0
//       |--- "here I am", to the group ----->|   multicast, again until there is an answer
//       |<-- "here is the counter" ----------|   a datagram to who asked
//       |=== FETCH_ADD =====================>|   connected; the desk's process takes no part
//       |--- the ticket that it drew ------->|   into one of the receives that all guests share
//       |<-- "all are drawn" ----------------|
#ifndef EXRNIC_EXAMPLES_TICKETS_PROGRAM_H
#define EXRNIC_EXAMPLES_TICKETS_PROGRAM_H

#include <cstdint>
#include <cstdio>

#include "verbs_objects.h"

namespace exrnic {

struct TicketOptions {
  uint32_t nodes = 2;     // with the desk
  uint32_t tickets = 16;  // of each guest
};

// All nodes run it with the same options, and find each other. The desk makes sure that each ticket
// was drawn once. Each end prints a line of JSON to `out`. Throws std::exception.
void RunTickets(const TicketOptions& options, const OpenRnicCall& open, FILE* out);

}  // namespace exrnic

#endif  // EXRNIC_EXAMPLES_TICKETS_PROGRAM_H
