// SPDX-License-Identifier: BSD-2-Clause
// Ports that are opened anew, however often, while messages are under way. Not in lockstep: which
// of them find the link up is a matter of time.
#include <catch2/generators/catch_generators.hpp>
#include <random>

#include "tests/support/cluster.h"
#include "tests/support/exchange.h"
#include "tests/support/ntb.h"

namespace exrnic::testing {
namespace {

TEST_CASE("what was said to an earlier opening of a port does not count") {
  const auto seed = GENERATE(1u, 2u, 3u, 4u);
  std::mt19937 random(seed);
  TestbedOptions options = options_on("dc-25g", "star:2");
  for (TopologyLink& link : options.topology->links) link.latency_ns = 2'000;
  Exchange pair(20'000, {}, options);
  Port here(pair.left.rnic, 3), there(pair.right.rnic, 2);
  here.open(1, 2, 9);
  there.open(0, 3, 9);
  pair.rest();
  for (unsigned i = 1; i <= 200; ++i) {
    Port& side = random() % 2 ? here : there;
    switch (random() % 4) {
      case 0:
        side.set_spad(random() % 2, i);
        break;
      case 1:
        side.set_peer_spad(random() % 2, i);
        break;
      case 2:
        side.write(EXRNIC_REG_PORT_CONTROL, 0);
        side.write(EXRNIC_REG_PORT_CONTROL, EXRNIC_PORT_CONTROL_ENABLE);
        break;
      default:
        pair.testbed.run_for(random() % 4'000);
    }
  }
  pair.rest();
  REQUIRE(here.linked());
  REQUIRE(there.linked());
  for (uint32_t i = 0; i < 2; ++i) {
    CHECK(here.spad(i) == there.peer_spad(i));
    CHECK(there.spad(i) == here.peer_spad(i));
  }
  // Bells of an earlier opening: none is rung behind the last one.
  for (Port* port : {&here, &there}) {
    port->ring(1);
    port->write(EXRNIC_REG_PORT_CONTROL, 0);
    port->write(EXRNIC_REG_PORT_CONTROL, EXRNIC_PORT_CONTROL_ENABLE);
  }
  pair.rest();
  CHECK(here.linked());
  CHECK(there.linked());
  CHECK(here.bells() == 0);
  CHECK(there.bells() == 0);
}

}  // namespace
}  // namespace exrnic::testing
