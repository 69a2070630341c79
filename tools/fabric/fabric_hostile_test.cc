// SPDX-License-Identifier: BSD-2-Clause
// Devices that lie, and two that say that they are the same: the manager says so, and neither falls
// nor stays away.
#include <catch2/generators/catch_generators.hpp>
#include <memory>
#include <random>
#include <vector>

#include "tools/fabric/testing/fabric_fixture.h"

namespace exrnic::fabric {
namespace {

using namespace testing;

// All but the device behind the last node's port is well.
void check_others(const FakeFabric& fabric, const Built& built, size_t nodes) {
  CHECK(trouble_of_nodes(fabric, {built.nodes.begin(), built.nodes.begin() + nodes}) == "");
}

TEST_CASE("two nodes with one GUID are told, and neither is used") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 8, 4, 2);
  const uint64_t guid = fabric.at(built.nodes[6]).guid;
  fabric.at(built.nodes[7]).guid = guid;
  Manager& manager = fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  CHECK(manager.map().find(guid) == nullptr);
  CHECK(manager.map().duplicates.at(guid).size() == 2);
  CHECK(mentions(manager.problems(), "GUID " + name_of_guid(guid)));
  CHECK(fabric.at(built.nodes[6]).number == kNoNumber);
  CHECK(fabric.at(built.nodes[7]).number == kNoNumber);
  check_others(fabric, built, 6);

  // One of them goes: the other one is who it says.
  fabric.set_line(built.nodes[7], 0, false);
  fabric.run(fabric.now() + 50 * kMs);
  CHECK(manager.problems().empty());
  check_others(fabric, built, 7);
}

TEST_CASE("two switches with one GUID are left out, with what is behind them alone") {
  for (const bool mirrored : {false, true}) {
    FakeFabric fabric;
    const Built built = leaf_spine(fabric, 16, 4, 2);
    // Leaves 2 and 3; mirrored: their lines are at the same ports. Else one has other ones.
    const int a = built.switches[4], b = built.switches[5];
    if (!mirrored) fabric.set_line(b, 4, false);
    fabric.at(b).guid = fabric.at(a).guid;
    Manager& manager = fabric.manage(built.nodes[0], options());
    settle(fabric, built.nodes[0]);
    CHECK(manager.map().duplicates.count(fabric.at(a).guid) == 1);
    CHECK(manager.map().devices.size() == 8 + 4);
    check_others(fabric, built, 8);
    CHECK(fabric.at(a).number == kNoNumber);
    CHECK(fabric.at(built.nodes[9]).number == kNoNumber);
  }
}

TEST_CASE("a switch with a GUID twice on lines that do not contradict themselves is found out") {
  FakeFabric fabric;
  const Built built = star(fabric, 4);
  // Each of them has its line at another port, and no other line.
  const int a = fabric.add_switch(0x51, 4), b = fabric.add_switch(0x51, 4);
  fabric.join(built.switches[0], 4, a, 1);
  fabric.join(built.switches[0], 5, b, 2);
  Manager& manager = fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  CHECK(manager.map().duplicates.count(0x51) == 1);
  check_all(fabric, built);
}

TEST_CASE("somebody with the GUID of the own node is left out, and the own node is not") {
  FakeFabric fabric;
  const Built built = star(fabric, 5);
  fabric.at(built.nodes[4]).guid = fabric.at(built.nodes[0]).guid;
  Manager& manager = fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  CHECK(manager.map().devices.size() == 5);
  CHECK(mentions(manager.problems(), "all but the own node"));
  CHECK(fabric.at(built.nodes[4]).number == kNoNumber);
  check_others(fabric, built, 4);
  const uint64_t discoveries = manager.counts().discoveries;
  fabric.run(fabric.now() + 200 * kMs);
  CHECK(manager.counts().discoveries <= discoveries + 3);  // it may have gone, unseen
}

TEST_CASE(
    "a switch that says that it has 65,535 ports costs no more than the ports that are taken") {
  FakeFabric fabric;
  const Built built = star(fabric, 3);
  const int liar = fabric.add_switch(0x51, 2);
  fabric.join(built.switches[0], 4, liar, 0);
  fabric.at(liar).told_ports = 65535;
  Manager& manager = fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  CHECK(mentions(manager.problems(), "says that it has 65535 ports; only the first 4096"));
  CHECK(manager.map().find(0x51)->ports.size() == 4096);
  check_all(fabric, built);
}

TEST_CASE("ports that are too many have no floods left of before") {
  FakeFabric fabric;
  const Built built = star(fabric, 3);
  const int large = fabric.add_switch(0x51, 5000);
  fabric.join(built.switches[0], 4, large, 0);
  fabric.at(large).floods[4000] = fabric.at(large).floods[4500] = true;
  Manager& manager = fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  REQUIRE(manager.map().find(0x51)->ports.size() == 4096);
  CHECK(!fabric.at(large).floods[4000]);
  CHECK(!fabric.at(large).floods[4500]);
}

// A switch that says that each of its ports has a line. At few of them somebody is.
int add_crowded(FakeFabric& fabric, uint64_t guid, size_t ports = 4096) {
  const int liar = fabric.add_switch(guid, ports);
  fabric.at(liar).lie = [&fabric, liar](Frame& frame) {
    if (!about(frame, EXRNIC_MANAGEMENT_ATTRIBUTE_PORTS)) return true;
    for (unsigned i = 0; i < kPortsOfBlock; ++i) {
      uint8_t* const port = &frame[EXRNIC_MANAGEMENT_DATA_AT + EXRNIC_MANAGEMENT_PORT_BYTES * i];
      exrnic_management_port_set_flags(port, 3);
      exrnic_management_port_set_changes(port, fabric.at(liar).changes);
    }
    return true;
  };
  return liar;
}

// Tries of a request that nobody answers.
uint64_t patience(const ManagerOptions& options, unsigned tries) {
  return options.timeout_ns * tries * (tries + 1) / 2;
}

TEST_CASE("a switch all of whose ports seem to be up is asked for a while, and no longer") {
  FakeFabric fabric;
  const Built built = star(fabric, 3);
  fabric.join(built.switches[0], 4, add_crowded(fabric, 0x51), 0);
  Manager& manager = fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0], 500 * kMs);
  CHECK(manager.problems().size() <= 300);
  check_all(fabric, built);
  // One port of it is asked with all patience, and so many once.
  const uint64_t once = 20 * options().timeout_ns;
  CHECK(manager.times().discovered_ns < patience(options(), options().tries) + once);

  // Who was silent then is asked once when everything is looked at anew.
  const uint64_t discoveries = manager.counts().discoveries;
  fabric.at(built.nodes[1]).lie = [&](Frame&) {
    return manager.counts().discoveries > discoveries;
  };
  fabric.run(fabric.now() + 50 * kMs, [&] {
    return manager.counts().discoveries > discoveries &&
           manager.state() != ManagerState::kDiscovering;
  });
  REQUIRE(manager.counts().discoveries == discoveries + 1);
  const ManagerTimes& times = manager.times();
  CHECK(times.discovered_ns - times.started_ns < once);
}

// Until what has changed now is routed round.
uint64_t repair_ns(FakeFabric& fabric, const Manager& manager) {
  const uint64_t since = fabric.now();
  fabric.run(since + 500 * kMs, [&] {
    return manager.written() && manager.state() == ManagerState::kActive &&
           manager.times().routed_ns > since;
  });
  REQUIRE(manager.times().routed_ns > since);
  return manager.times().routed_ns - since;
}

TEST_CASE("a switch with a thousand silent ports does not keep the others from being repaired") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 7, 4, 2);
  // At the manager's leaf; lines of the other one come and go.
  const int own = built.nodes[4], liar = add_crowded(fabric, 0x51, 1024), leaf = built.switches[2];
  fabric.join(built.switches[3], 3, liar, 0);
  Manager& manager = fabric.manage(own, options());
  settle(fabric, own);
  // They change again and again: each look at all devices finds that, and they are asked anew.
  for (unsigned i = 0; i < 20; ++i) {
    INFO("time " << i);
    ++fabric.at(liar).changes;
    const uint64_t looks = manager.counts().looks;
    fabric.run(fabric.now() + 100 * kMs, [&] { return manager.counts().looks > looks; });
    REQUIRE(manager.counts().looks > looks);
    fabric.run(fabric.now() + i * options().timeout_ns / 5);
    fabric.set_line(leaf, 4, i % 2 != 0);
    CHECK(repair_ns(fabric, manager) < options().pause_ns + 2 * options().timeout_ns);
    CHECK(trouble_of_nodes(fabric, built.nodes) == "");
  }
}

TEST_CASE("nobody waits for silent ports that are asked again with each look at all devices") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 7, 4, 2);
  const int own = built.nodes[4], leaf = built.switches[2];
  fabric.join(built.switches[3], 3, add_crowded(fabric, 0x51), 0);
  Manager& manager = fabric.manage(own, options());
  settle(fabric, own);
  for (unsigned i = 0; i < 5; ++i) {
    INFO("time " << i);
    fabric.set_line(leaf, 4, false);
    repair_ns(fabric, manager);
    fabric.run(fabric.now() + 20 * kMs);
    const uint64_t sweeps = manager.counts().sweeps;
    fabric.run(fabric.now() + 20 * kMs, [&] { return manager.counts().sweeps > sweeps; });
    // Nobody tells: the next look sees it.
    fabric.lose(1, 1);
    fabric.set_line(leaf, 4, true);
    fabric.lose(0, 1);
    CHECK(repair_ns(fabric, manager) < options().sweep_ns + options().timeout_ns);
  }
}

// What came by a line says by which port; what comes from the own host has none.
bool by_line(const Frame& frame) { return exrnic_management_header_hops(&frame[kHeaderAt]) != 0; }

TEST_CASE(
    "a line whose other end was silent for a while is found again though it is the only one") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 8, 4, 2);
  FakeDevice& own = fabric.at(built.nodes[0]);
  const bool known = GENERATE(false, true);
  if (known) {
    fabric.manage(built.nodes[0], options());
    settle(fabric, built.nodes[0]);
  }
  own.lie = [](Frame& frame) { return !by_line(frame); };
  Manager& manager = fabric.manage(built.nodes[0], options());
  fabric.run(fabric.now() + 100 * kMs);
  own.lie = nullptr;
  fabric.run(fabric.now() + 50 * kMs);
  CHECK(manager.map().devices.size() == fabric.size());
  CHECK(manager.problems().empty());
  check_all(fabric, built);
}

TEST_CASE("where frames are lost, a switch that was silent before is not taken for two") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 60, 1, 2);
  FakeDevice& spine = fabric.at(built.switches[1]);
  spine.key = 99;
  ManagerOptions lossy = options();
  lossy.tries = 12;
  lossy.sweep_ns = 100 * kMs;
  Manager& manager = fabric.manage(built.nodes[0], lossy);
  settle(fabric, built.nodes[0]);
  REQUIRE(manager.map().find(spine.guid) == nullptr);
  // It is found when everything is looked at anew, which is when somebody is gone for a moment.
  fabric.at(built.nodes[30]).lie = [&](Frame&) { return manager.counts().discoveries > 1; };
  fabric.run(fabric.now() + 200 * kMs, [&] { return manager.counts().discoveries > 1; });
  REQUIRE(manager.state() == ManagerState::kDiscovering);
  spine.key = 0;
  fabric.lose(0.05, 1);
  fabric.run(fabric.now() + 100 * kMs,
             [&] { return manager.state() != ManagerState::kDiscovering; });
  CHECK(manager.map().duplicates.empty());
  CHECK(manager.map().find(spine.guid) != nullptr);
}

TEST_CASE("one that answers at last is found among thousands, and beside them") {
  FakeFabric fabric;
  Built built = star(fabric, 4);
  const int liar = add_crowded(fabric, 0x51);
  fabric.join(built.switches[0], 4, liar, 0);
  fabric.at(built.nodes[3]).key = 99;
  Manager& manager = fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  CHECK(manager.map().devices.size() == 5);
  fabric.at(built.nodes[3]).key = 0;
  fabric.run(fabric.now() + 3 * options().sweep_ns);
  CHECK(fabric.at(built.nodes[3]).number != kNoNumber);

  const int last = fabric.add_node(0x77);
  fabric.join(last, 0, liar, 4000);
  fabric.run(fabric.now() + 1'000 * kMs);
  CHECK(fabric.at(last).number != kNoNumber);
  built.nodes.push_back(last);
  CHECK(trouble_of_nodes(fabric, built.nodes) == "");
}

TEST_CASE("a switch with thousands of silent ports does not hide what else is wrong") {
  FakeFabric fabric;
  const Built built = star(fabric, 4);
  fabric.join(built.switches[0], 4, add_crowded(fabric, 0x51), 0);
  fabric.at(built.nodes[3]).key = 99;
  Manager& manager = fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  CHECK(manager.problems().size() < 20);
  CHECK(mentions(manager.problems(), "port 3 of switch " + name_of_guid(switch_guid(0))));
  CHECK(mentions(manager.problems(), "switch 0000000000000051 (32768): at 4087 more of its ports"));
}

// A switch behind which there is another one behind each port, without end.
TEST_CASE("a switch that makes devices up without end is believed up to the limits") {
  FakeFabric fabric;
  const Built built = star(fabric, 3);
  const int liar = fabric.add_switch(0x51, 8);
  fabric.join(built.switches[0], 4, liar, 0);
  // What it should send on it answers itself.
  uint64_t made_up = 1000;
  for (uint16_t port = 1; port < 8; ++port) {
    const int mirror = fabric.add_switch(0x100 + port, 8);
    fabric.join(liar, port, mirror, 0);
    fabric.at(mirror).lie = [&made_up](Frame& frame) {
      uint8_t* const data = &frame[EXRNIC_MANAGEMENT_DATA_AT];
      if (about(frame, EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE)) {
        exrnic_management_device_set_guid(data, ++made_up);
      }
      return true;
    };
  }
  ManagerOptions few = options();
  few.limits.devices = 20;
  Manager& manager = fabric.manage(built.nodes[0], few);
  fabric.run(200 * kMs);
  CHECK(manager.map().devices.size() <= 20);
  CHECK(manager.counts().discoveries <= 10);  // after longer and longer pauses
  CHECK(manager.counts().requests.requests < 100'000);
  check_all(fabric, built);
}

TEST_CASE("no more devices and ports are taken than the limits allow, and that is told") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 64, 8, 2);
  ManagerOptions few = options();
  few.limits.devices = 30;
  Manager& manager = fabric.manage(built.nodes[0], few);
  settle(fabric, built.nodes[0]);
  CHECK(manager.map().devices.size() == 30);
  CHECK(mentions(manager.problems(), "there are more devices"));
}

// Answers of one node, changed.
struct Lie {
  const char* what;
  void (*tell)(Frame&);
};

TEST_CASE("answers that fit no request are counted, and their device is as silent as any") {
  const Lie lies[] = {
      {"transaction",
       [](Frame& f) { exrnic_management_header_set_transaction(&f[kHeaderAt], 0xdeadbeef); }},
      {"attribute", [](Frame& f) { exrnic_management_header_set_attribute(&f[kHeaderAt], 2); }},
      {"modifier", [](Frame& f) { exrnic_management_header_set_modifier(&f[kHeaderAt], 77); }},
      {"status", [](Frame& f) { exrnic_management_header_set_status(&f[kHeaderAt], 200); }},
      {"path behind its end", [](Frame& f) { f[EXRNIC_MANAGEMENT_PATH_AT + 2 * 30] = 1; }},
      {"beginning of the path", [](Frame& f) { f[EXRNIC_MANAGEMENT_PATH_AT + 2 + 1] = 99; }},
  };
  for (const Lie& lie : lies) {
    INFO(lie.what);
    FakeFabric fabric;
    const Built built = leaf_spine(fabric, 8, 4, 1);
    // It is the path in the frame that leads back: who changes that may be lost.
    fabric.at(built.nodes[7]).lie = [&lie](Frame& frame) {
      lie.tell(frame);
      return true;
    };
    Manager& manager = fabric.manage(built.nodes[0], options());
    settle(fabric, built.nodes[0]);
    CHECK(manager.map().find(fabric.at(built.nodes[7]).guid) == nullptr);
    CHECK(mentions(manager.problems(), "nobody answers there"));
    check_others(fabric, built, 7);
  }
}

TEST_CASE("devices that no device can be are as silent as any") {
  for (const int what : {0, 1}) {
    FakeFabric fabric;
    const Built built = star(fabric, 4);
    fabric.at(built.nodes[3]).lie = [what](Frame& frame) {
      uint8_t* const data = &frame[EXRNIC_MANAGEMENT_DATA_AT];
      if (what == 0) exrnic_management_device_set_guid(data, 0);
      if (what == 1) exrnic_management_device_set_kind(data, 9);
      return true;
    };
    Manager& manager = fabric.manage(built.nodes[0], options());
    settle(fabric, built.nodes[0]);
    CHECK(manager.map().devices.size() == 4);
    check_others(fabric, built, 3);
  }
}

TEST_CASE("a switch that takes nothing of what it is told is told of, and written once") {
  FakeFabric fabric;
  const Built built = star(fabric, 4);
  fabric.at(built.switches[0]).lie = [](Frame& frame) {
    const bool routes = about(frame, EXRNIC_MANAGEMENT_ATTRIBUTE_ROUTES);
    if (routes)
      exrnic_management_header_set_status(&frame[kHeaderAt], EXRNIC_MANAGEMENT_STATUS_BAD_VALUE);
    return true;
  };
  Manager& manager = fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  CHECK(mentions(manager.problems(), "it does not take this"));
  const uint64_t sets = fabric.at(built.switches[0]).sets;
  fabric.run(fabric.now() + 3 * kMs);
  CHECK(fabric.at(built.switches[0]).sets <= sets + 2);  // beats
}

TEST_CASE("where a switch does not answer what it is told nothing is said to be written") {
  FakeFabric fabric;
  const Built built = star(fabric, 4);
  fabric.at(built.switches[0]).lie = [](Frame& frame) {
    return !about(frame, EXRNIC_MANAGEMENT_ATTRIBUTE_ROUTES);
  };
  Manager& manager = fabric.manage(built.nodes[0], options());
  fabric.run(100 * kMs, [&] { return manager.state() == ManagerState::kActive; });
  CHECK(manager.state() == ManagerState::kActive);
  CHECK(!manager.written());
  CHECK(manager.reason().find("somebody has not answered") != std::string::npos);
  fabric.at(built.switches[0]).lie = nullptr;
  settle(fabric, built.nodes[0]);
  CHECK(manager.written());
}

TEST_CASE("traps without end do not keep a manager from its work") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 16, 4, 2);
  Manager& manager = fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  Frame trap{};
  exrnic_eth_set_src(trap.data(), 0x024558520000 | fabric.at(built.switches[1]).number);
  exrnic_eth_set_ethertype(trap.data(), EXRNIC_MANAGEMENT_ETHERTYPE);
  exrnic_management_header_set_version(&trap[kHeaderAt], EXRNIC_MANAGEMENT_VERSION);
  exrnic_management_header_set_method(&trap[kHeaderAt], EXRNIC_MANAGEMENT_METHOD_TRAP);
  exrnic_management_header_set_attribute(&trap[kHeaderAt], EXRNIC_MANAGEMENT_ATTRIBUTE_PORTS);
  const ManagerCounts before = manager.counts();
  const uint64_t since = fabric.now();
  while (fabric.now() < since + 100 * kMs) {
    fabric.inject(built.nodes[0], trap);
    fabric.run(fabric.now() + 2'000);
    if (fabric.now() - since > 50 * kMs) fabric.at(built.switches[5]).routes.clear();
  }
  const ManagerCounts after = manager.counts();
  CHECK(after.requests.traps > before.requests.traps + 10'000);
  CHECK(after.looks - before.looks <= 100);  // one in a pause
  CHECK(after.looks > before.looks);
  CHECK(after.sweeps - before.sweeps >= 5);
  CHECK(after.discoveries == before.discoveries);
  settle(fabric, built.nodes[0]);
}

TEST_CASE("whatever frames come, a manager goes on") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 8, 4, 2);
  Manager& manager = fabric.manage(built.nodes[0], options());
  std::mt19937_64 random(1);
  for (unsigned i = 0; i < 20'000; ++i) {
    Frame frame;
    for (uint8_t& byte : frame) byte = static_cast<uint8_t>(random());
    if (i % 4 != 0) {
      exrnic_eth_set_ethertype(frame.data(), EXRNIC_MANAGEMENT_ETHERTYPE);
      exrnic_management_header_set_version(&frame[kHeaderAt], EXRNIC_MANAGEMENT_VERSION);
      exrnic_management_header_set_method(&frame[kHeaderAt], random() % 4);
    }
    fabric.inject(built.nodes[0], frame);
    fabric.run(fabric.now() + 5'000);
  }
  CHECK(manager.counts().requests.strange > 10'000);
  settle(fabric, built.nodes[0]);
  check_all(fabric, built);
}

TEST_CASE("answers changed by chance are no answers, or the device's own affair") {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    FakeFabric fabric;
    const Built built = leaf_spine(fabric, 12, 4, 2);
    const auto random = std::make_shared<std::mt19937_64>(seed);
    // A leaf with nodes of its own; the manager's is another one.
    fabric.at(built.switches[4]).lie = [random](Frame& frame) {
      for (unsigned i = 0; i < 3; ++i) {
        const size_t at = kHeaderAt + (*random)() % (frame.size() - kHeaderAt);
        frame[at] = static_cast<uint8_t>((*random)());
      }
      return (*random)() % 8 != 0;
    };
    Manager& manager = fabric.manage(built.nodes[0], options());
    fabric.run(100 * kMs);
    CHECK(manager.map().devices.size() <= 64);
    CHECK(manager.problems().size() <= 600);
    // An honest one in its place, and all is well, also where it has brought others into disrepute.
    fabric.power(built.switches[4], false);
    fabric.at(built.switches[4]).lie = nullptr;
    fabric.run(fabric.now() + 300 * kMs);
    fabric.power(built.switches[4], true);
    fabric.run(fabric.now() + 300 * kMs);
    settle(fabric, built.nodes[0]);
    CHECK(trouble_of_nodes(fabric, built.nodes) == "");
  }
}

// A switch with a node behind it, at the switch in the middle of a chain.
struct AtTheEdge {
  explicit AtTheEdge(unsigned count) : built(chain(fabric, 3)) {
    FakeDevice& middle = fabric.at(built.switches[1]);
    const size_t first = middle.ports.size();
    middle.ports.resize(first + count);
    middle.forget();
    for (unsigned i = 0; i < count; ++i) {
      switches.push_back(fabric.add(0x900 + i, EXRNIC_MANAGEMENT_KIND_SWITCH, 3));
      nodes.push_back(fabric.add_node(0x800 + i));
      fabric.join(switches[i], 0, built.switches[1], static_cast<uint16_t>(first + i));
      fabric.join(nodes[i], 0, switches[i], 1);
    }
  }
  FakeFabric fabric;
  Built built;
  std::vector<int> switches, nodes;
};

TEST_CASE("switches that do not answer what they are told keep nobody else from routes") {
  const unsigned count = GENERATE(1u, 12u);
  AtTheEdge at(count);
  for (const int index : at.switches) ignore_sets(at.fabric.at(index));
  Manager& manager = at.fabric.manage(at.built.nodes[0], options());
  at.fabric.run(2'000 * kMs);
  CHECK(manager.written());
  CHECK(trouble_of_nodes(at.fabric, at.built.nodes) == "");
  CHECK(mentions(manager.problems(), "0000000000000900"));
  CHECK(mentions(manager.problems(), "left out"));
  CHECK(at.fabric.at(at.nodes[0]).number == kNoNumber);

  // They are tried again, and harm nobody by that.
  for (unsigned i = 0; i < 40; ++i) {
    at.fabric.run(at.fabric.now() + 1'000 * kMs);
    CHECK(trouble_of_nodes(at.fabric, at.built.nodes) == "");
  }
}

TEST_CASE("a switch that was left out belongs to the fabric when it does what it is told") {
  AtTheEdge at(1);
  ignore_sets(at.fabric.at(at.switches[0]));
  Manager& manager = at.fabric.manage(at.built.nodes[0], options());
  at.fabric.run(2'000 * kMs);
  REQUIRE(mentions(manager.problems(), "left out"));
  at.fabric.at(at.switches[0]).lie = nullptr;
  at.fabric.run(at.fabric.now() + 40'000 * kMs);
  std::vector<int> all = at.built.nodes;
  all.push_back(at.nodes[0]);
  CHECK(trouble_of_nodes(at.fabric, all) == "");
  CHECK_FALSE(mentions(manager.problems(), "left out"));
}

TEST_CASE("a switch that does what it is told of routes, and does not answer, is not left out") {
  const bool middle = GENERATE(false, true);
  AtTheEdge at(1);
  FakeDevice& device = at.fabric.at(middle ? at.built.switches[1] : at.switches[0]);
  device.lie = [&device, seen = device.sets](Frame& frame) mutable {
    const bool set = device.sets != seen;
    seen = device.sets;
    return !set || !about(frame, EXRNIC_MANAGEMENT_ATTRIBUTE_ROUTES);
  };
  Manager& manager = at.fabric.manage(at.built.nodes[0], options());
  at.fabric.run(2'000 * kMs);
  CHECK(manager.written());
  CHECK_FALSE(mentions(manager.problems(), "left out"));
  std::vector<int> all = at.built.nodes;
  all.push_back(at.nodes[0]);
  for (unsigned i = 0; i < 40; ++i) {
    at.fabric.run(at.fabric.now() + 1'000 * kMs);
    CHECK(trouble_of_nodes(at.fabric, all) == "");
  }
}

TEST_CASE(
    "a switch in the middle that does nothing of what it is told leaves those before it their "
    "routes") {
  AtTheEdge at(1);
  const int own = at.fabric.add_node(0x777);
  FakeDevice& first = at.fabric.at(at.built.switches[0]);
  const auto port = static_cast<uint16_t>(first.ports.size());
  first.ports.resize(port + 1u);
  first.forget();
  at.fabric.join(own, 0, at.built.switches[0], port);
  ignore_sets(at.fabric.at(at.built.switches[1]));
  Manager& manager = at.fabric.manage(at.built.nodes[0], options());
  at.fabric.run(2'000 * kMs);
  CHECK(manager.written());
  CHECK(mentions(manager.problems(), "left out"));
  CHECK(trouble_of_nodes(at.fabric, {at.built.nodes[0], own}) == "");
}

}  // namespace
}  // namespace exrnic::fabric
