// SPDX-License-Identifier: BSD-2-Clause
// The cores that a test runs on. Which they are is decided where the test is linked: every test of
// whole nodes is built for the RTL, for the reference model, and for a pair of one each.
#pragma once

#include <memory>

#include "rtl-model/systemc/core.h"

namespace exrnic::testing {

std::unique_ptr<Core> make_test_core(const CoreConfig& config, CoreSink& sink);

}  // namespace exrnic::testing
