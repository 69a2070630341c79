// SPDX-License-Identifier: BSD-2-Clause
// What --waves says.
#pragma once

#include <cstddef>
#include <string>

#include "rtl-model/systemc/wave_window.h"

namespace exrnic {

// "FILE[,node=N][,from=NS][,to=NS][,length=NS]", of `nodes` nodes. Throws std::invalid_argument
// that names what is wrong.
WaveWindow parse_waves(const std::string& text, size_t nodes);

}  // namespace exrnic
