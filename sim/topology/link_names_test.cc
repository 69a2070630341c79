// SPDX-License-Identifier: BSD-2-Clause
#include "sim/topology/link_names.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace exrnic {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

std::string found(const Topology& topology, const std::string& name) {
  return name_of(topology, link_named(topology, name));
}

void refused(const Topology& topology, const std::string& name, const std::string& because) {
  INFO(name);
  CHECK_THROWS_MATCHES(link_named(topology, name), DataFileError,
                       MessageMatches(ContainsSubstring(because) && !ContainsSubstring("\n")));
}

TEST_CASE("a link is found by the numbers or names of its ends, in any order") {
  const Topology pair = back_to_back();
  for (const char* name : {"0-1", "1-0", "node0-node1", "node1-0"}) {
    CHECK(found(pair, name) == "node0-node1");
  }
  const Topology one_switch = star(3);
  const std::string name = one_switch.switches[0].name;
  CHECK(found(one_switch, "2-" + name) == found(one_switch, name + ".2-node2"));
}

TEST_CASE("a link that is not there, or may be several, is one clear line") {
  const Topology pair = back_to_back();
  refused(pair, "0-7", "there is no link '0-7'; topology back-to-back has node0-node1");
  for (const char* name : {"", "-", "0", "0-0", "0-", "node0-node1-node0", "0-1 "}) {
    refused(pair, name, "there is no link");
  }
  refused(star(3), "0-1", "there is no link '0-1'");
  refused(single_node(), "0-1", "has none");
  Topology twice = ring(2);  // two switches
  REQUIRE(twice.switches.size() == 2);
  twice.links.push_back({{{true, 0, 100}, {true, 1, 100}}, {}, {}, {}});
  refused(twice, twice.switches[0].name + "-" + twice.switches[1].name, "name the port");
}

TEST_CASE("groups of a partition are nodes of the topology, each in one group") {
  const Topology topology = star(3);
  CHECK_NOTHROW(check_partition(topology, {{0, 1}, {2}}));
  CHECK_NOTHROW(check_partition(topology, {}));
  CHECK_THROWS_MATCHES(check_partition(topology, {{0, 3}}), DataFileError,
                       MessageMatches(ContainsSubstring("there is no node 3")));
  CHECK_THROWS_MATCHES(check_partition(topology, {{0}, {1, 0}}), DataFileError,
                       MessageMatches(ContainsSubstring("node 0 stands in two groups")));
}

}  // namespace
}  // namespace exrnic
