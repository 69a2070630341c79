// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/lockstep/lockstep.h"
#include "rtl-model/ref/ref_core.h"
#include "tests/support/test_core.h"

namespace exrnic::testing {

CoreFactory test_cores() { return lockstep::make_lockstep(make_rtl_core, make_ref_core); }

}  // namespace exrnic::testing
