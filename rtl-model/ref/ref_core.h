// SPDX-License-Identifier: BSD-2-Clause
// The reference model: the core of rtl-model/systemc/core.h without timing, written to be read.
// It says what the RTL has to do, and serves as the fast device for guests.
#pragma once

#include <memory>

#include "rtl-model/ref/sizes.h"
#include "rtl-model/systemc/core.h"

namespace exrnic {

// With tables as the RTL of this build has them. `sink` must outlive the core. Throws
// std::invalid_argument for a node id that is none.
std::unique_ptr<Core> make_ref_core(const CoreConfig& config, CoreSink& sink);

// The same with other tables.
CoreFactory ref_cores(const RefSizes& sizes);

}  // namespace exrnic
