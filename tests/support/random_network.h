// SPDX-License-Identifier: BSD-2-Clause
// Random lives in a network of two to six nodes: queue pairs of all services between any two of
// them, or within one, do random work; they are reset, destroyed and connected anew, regions are
// invalidated and registered under other keys, whole nodes are reset, lines lose, double, reorder
// and delay frames and are cut. Some nodes may have a driver that does anything to its own device,
// and sends whatever it likes to the others.
//
// What must hold of the others' nodes it knows by itself, from no core:
//
//   memory    a byte has the value that it had, or that of a message that may write it. All of a
//             message that ended well is there. Nothing changes in a region that is invalidated,
//             nor by way of a queue pair that is reset, 2 us after that (what is on its way to
//             memory arrives)
//   work      all that is posted ends once, in order, within 0.6 s of calm; nothing of one life
//             of a queue pair ends in another one
//   messages  a receive has one message, whole, of the peer of its queue pair; those of a life come
//             in order, each once
//   atomics   each is carried out once or, if its queue pair failed, perhaps not
//   the end   when all begin a last life together, all of them work
#pragma once

#include <cstdint>
#include <string>

#include "rtl-model/systemc/rnic_module.h"

namespace exrnic::testing {

// What does not hold, a line for each; empty: all does. The same for equal arguments.
std::string run_random_network(uint64_t seed, unsigned steps, const CoreFactory& make_core);

}  // namespace exrnic::testing
