// SPDX-License-Identifier: BSD-2-Clause
// The two cores disagree.
#pragma once

#include <stdexcept>

namespace exrnic::lockstep {

// what() names node, queue pair where there is one, time, what was expected and what came.
class Mismatch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace exrnic::lockstep
