// SPDX-License-Identifier: BSD-2-Clause
// The cores that a test runs on. Which they are is decided where the test is linked: every test of
// whole nodes is built for the RTL, for the reference model, for a pair of one each, and for both
// in lockstep.
#pragma once

#include "rtl-model/systemc/rnic_module.h"

namespace exrnic::testing {

// For one simulation: cores of the same may know each other.
CoreFactory test_cores();

}  // namespace exrnic::testing
