// SPDX-License-Identifier: BSD-2-Clause
// The reference model: the core of rtl-model/systemc/core.h without timing, written to be read.
// It says what the RTL has to do, and serves as the fast device for guests.
#pragma once

#include <memory>

#include "rtl-model/systemc/core.h"

namespace exrnic {

// `sink` must outlive the core. Throws std::invalid_argument for a node id that is none.
std::unique_ptr<Core> make_ref_core(const CoreConfig& config, CoreSink& sink);

}  // namespace exrnic
