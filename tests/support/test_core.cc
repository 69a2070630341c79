// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/test_core.h"

#include "rtl-model/ref/ref_core.h"

namespace exrnic::testing {

CoreFactory test_cores() {
  return [](const CoreConfig& config, CoreSink& sink) {
    return config.node_id == 0 ? EXRNIC_LEFT_CORE(config, sink) : EXRNIC_RIGHT_CORE(config, sink);
  };
}

}  // namespace exrnic::testing
