// SPDX-License-Identifier: BSD-2-Clause
// The verilated PEB behind the PebCore interface.
#pragma once

#include "rtl-model/ref/peb/peb_core.h"

namespace exrnic::peb {

// See PebFactory. It has as many ports as this build's, rtl_peb_ports(), at most.
std::unique_ptr<PebCore> make_rtl_peb(const CoreConfig& config, Side side, unsigned ports,
                                      PebSink& sink);
unsigned rtl_peb_ports();

}  // namespace exrnic::peb
