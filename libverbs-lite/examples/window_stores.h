// SPDX-License-Identifier: BSD-2-Clause
// Stores into the peer's memory through a remote window, each compared there and read back.
#ifndef EXRNIC_EXAMPLES_WINDOW_STORES_H
#define EXRNIC_EXAMPLES_WINDOW_STORES_H

#include <cstdint>

#include "exrnic/verbs.hpp"
#include "oob.h"

namespace exrnic {

// What both ends need: a queue pair each, connected to the other's, that nothing is posted to.
struct StoreLink {
  Oob* oob;
  vl_qp* qp;
  uint8_t* target;  // registered for remote writes and reads
  uint32_t peer_stag;
  uint64_t peer_address;
};

struct StoreResult {
  uint32_t stores = 0;     // of 8 bytes; 0: this RNIC has no windows
  uint32_t read_back = 0;  // that a load then gave
  uint32_t verified = 0;   // that the peer found in its memory
};

// Throws if the two lose each other, or the window cannot be mapped.
StoreResult StoreIntoPeer(const StoreLink& link, uint64_t seed);
// The peer's part.
void CompareStores(const StoreLink& link);

}  // namespace exrnic

#endif  // EXRNIC_EXAMPLES_WINDOW_STORES_H
