// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/test_cores.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "rtl-model/lockstep/lockstep.h"
#include "rtl-model/ref/ref_core.h"

namespace exrnic::testing {
namespace {

CoreFactory pair_of(const CoreFactory& left, const CoreFactory& right) {
  return [=](const CoreConfig& config, CoreSink& sink) {
    return config.node_id == 0 ? left(config, sink) : right(config, sink);
  };
}

}  // namespace

// The reference model alone is of a build that can talk to every node there may be.
CoreFactory test_cores() {
  const char* const given = std::getenv("EXRNIC_TEST_CORES");
  const std::string cores = given == nullptr ? "rtl" : given;
  if (cores == "rtl") return make_rtl_core;
  if (cores == "ref") {
    RefSizes sizes;
    sizes.nodes = EXRNIC_NODE_NONE;  // all that 16 bits name but nobody
    return ref_cores(sizes);
  }
  if (cores == "rtl_ref") return pair_of(make_rtl_core, make_ref_core);
  if (cores == "ref_rtl") return pair_of(make_ref_core, make_rtl_core);
  if (cores == "lockstep") return lockstep::make_lockstep(make_rtl_core, make_ref_core);
  throw std::invalid_argument("EXRNIC_TEST_CORES=" + cores +
                              ": take rtl, ref, rtl_ref, ref_rtl or lockstep");
}

}  // namespace exrnic::testing
