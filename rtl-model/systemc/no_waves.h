// SPDX-License-Identifier: BSD-2-Clause
// What stands for waves.h in programs that are not built for waves: they pay nothing, and refuse.
#pragma once

#include <stdexcept>

#include "wave_window.h"

namespace exrnic {

class Waves {
 public:
  template <typename Model>
  Waves(Model& /*model*/, const WaveWindow* window) {
    if (window != nullptr) throw std::invalid_argument("this program is not built for waves");
  }
  void stored() {}
  void record(uint64_t /*time_ns*/, uint64_t /*before_ps*/) {}
};

}  // namespace exrnic
