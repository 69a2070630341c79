// SPDX-License-Identifier: BSD-2-Clause
// Makes a good operation of a random plan one that must fail.
#pragma once

#include <random>

#include "tests/support/random_operation.h"

namespace exrnic::testing {

enum class SpoilKind {
  kLocal,   // refused by the own core
  kRemote,  // refused by the peer
};

// Of an operation that cannot be spoiled in that way, makes one that can.
void spoil(std::mt19937_64& random, Operation& operation, unsigned pair, SpoilKind kind);

}  // namespace exrnic::testing
