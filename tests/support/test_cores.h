// SPDX-License-Identifier: BSD-2-Clause
// The cores that a test of whole nodes runs on. Environment variable EXRNIC_TEST_CORES says which:
//
//   rtl, ref          the verilated core, the reference model
//   rtl_ref, ref_rtl  one of each: the core of node 0, and that of all others
//   lockstep          the verilated core, compared with the reference model at every step
//
// Without it: rtl.
#pragma once

#include "rtl-model/systemc/rnic_module.h"

namespace exrnic::testing {

// For one simulation: cores of the same may know each other. Throws std::invalid_argument when the
// variable says something else.
CoreFactory test_cores();

}  // namespace exrnic::testing
