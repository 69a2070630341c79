// SPDX-License-Identifier: BSD-2-Clause
// A PEB with several ports: what happens to one of them concerns no other.
#include "rtl-model/ref/peb/testing/many.h"
#include "tests/support/seed.h"

namespace exrnic::peb::testing {
namespace {

using exrnic::testing::draw_seed;

// Something happens to one device, to its line, or to who they have.
void strike(Many& many) {
  Random& random = many.network.random;
  const auto number = static_cast<unsigned>(below(random, Many::kDevices));
  ManyStation& device = *many.devices[number];
  switch (below(random, 6)) {
    case 0:
      return device.lose_power();
    case 1:
      return many.host.lose_power();
    case 2:
      many.network.cut = device.node();
      many.run(chance(random, 0.3) ? 60'000 : below(random, 10'000));
      many.network.cut = 0;
      return;
    case 3:  // at once, one after another
      for (uint64_t i = 1 + below(random, 3); i > 0; --i) {
        many.host.assign(number, std::nullopt);
        many.run(below(random, 3));
        many.host.assign(number, Many::peer_of(number));
        many.run(below(random, 300));
      }
      return;
    case 4:
      device.assign(0, std::nullopt);
      many.run(below(random, 1000));
      device.assign(0, Peer{1, Many::kGroup});
      return;
    default:  // all of them at the same time
      for (unsigned i = 0; i < Many::kDevices; ++i) many.host.assign(i, std::nullopt);
      for (unsigned i = 0; i < Many::kDevices; ++i) many.host.assign(i, Many::peer_of(i));
  }
}

}  // namespace

TEST_CASE("PEB, ports: each has its own order and its own lives") {
  const uint64_t seed = draw_seed();
  INFO("EXRNIC_SEED=" << seed);
  constexpr uint16_t kPayloads[] = {128, 256, 2048, 512};
  constexpr uint16_t kReads[] = {4096, 128, 4096, 512};
  for (unsigned round = 0; round < 2; ++round) {
    INFO("round " << round);
    const uint64_t kind = (seed + round) % 4;
    Many many(seed + round, kPayloads[kind], kReads[kind], kind % 2 == 0 ? 512 : 256);
    Random& random = many.network.random;
    many.network.faults = {0.002 * below(random, 5), 0.002, 0.02 * below(random, 3), 0.002};
    for (unsigned i = 0; i < Many::kDevices; ++i) {
      many.host.bus(i).taking = 0.05 + 0.2 * below(random, 5);
      many.devices[i]->bus(0).answering = 0.05 + 0.2 * below(random, 5);
    }
    for (uint64_t strikes = below(random, 5); strikes > 0; --strikes) {
      many.run(below(random, 5'000));
      strike(many);
    }
    many.run(3'000);
    many.settle();
    CHECK(many.malformed() == 0);
  }
}

TEST_CASE("PEB, ports: one that is assigned in any cycle comes up") {
  for (unsigned steps = 0; steps < 40; ++steps) {
    INFO("steps " << steps);
    Many many(1);
    many.begin_nothing();
    many.host.assign(2, std::nullopt);
    many.run(100);
    many.host.assign(2, Many::peer_of(2));
    many.run(steps);
    many.host.assign(2, std::nullopt);
    many.host.assign(2, Many::peer_of(2));
    many.settle(400'000);
    many.run(1000);
    many.host.assign(2, std::nullopt);
    many.host.assign(2, Many::peer_of(2));
    many.settle(400'000);
  }
}

TEST_CASE("PEB, ports: a request that is not answered ends behind two intervals, though all rest") {
  Many many(1);
  many.settle();
  many.devices[0]->bus(0).answering = 0;
  for (unsigned i = 0; i < 5; ++i) many.host.bus(0).ask();
  many.run(2 * Many::patience() / kStepNs + 1000);
  CHECK(many.down[0]->all_answered());
}

// What is sent to a node that does not answer fills its share, and takes nothing of others.
TEST_CASE("PEB, ports: a peer that is silent holds up no other") {
  Many many(1, 128, 4096);
  many.settle();
  many.run(1000);
  PortBus& to_silent = many.host.bus(0);
  to_silent.answering = 0;
  to_silent.taking = 1;
  for (unsigned i = 0; i < 20; ++i) many.devices[0]->bus(0).ask();
  many.run(4000);
  many.network.cut = 2;
  to_silent.answering = 1;
  many.run(3000);
  const uint64_t arrivals = many.down[3]->arrivals;
  const uint64_t answers = many.down[3]->answers;
  for (unsigned i = 0; i < 10; ++i) {
    many.host.bus(3).write();
    many.host.bus(3).ask();
    many.host.bus(2).ask();
    many.devices[1]->bus(0).ask();
  }
  many.run(12'000);
  CHECK(many.host.peb->counters().lives == 0);  // it has not been given up
  CHECK(many.down[3]->arrivals >= arrivals + 10);
  CHECK(many.down[3]->answers == answers + 10);
  CHECK(many.down[2]->all_answered());
  CHECK(many.up[1]->all_answered());
}

// The host says nothing to the device of port 0 but its limits, and very much to the others.
TEST_CASE("PEB, ports: limits go to one port, however much others send") {
  Many many(1, 2048, 4096);
  many.settle();
  for (unsigned i = 1; i < Many::kDevices; ++i) {
    many.host.bus(i).begins = true;
    many.host.bus(i).writing = 1;
    many.host.bus(i).asking = 0;
    many.devices[i]->bus(0).taking = 1;
  }
  many.host.bus(0).taking = 1;
  many.run(1000);
  const uint64_t arrivals = many.up[0]->arrivals;
  for (unsigned i = 0; i < 60; ++i) many.devices[0]->bus(0).write();
  many.run(20'000);
  CHECK(many.up[0]->arrivals >= arrivals + 60);
  CHECK(many.up[0]->all_arrived());
}

// Answers that wait behind writes keep their tags.
TEST_CASE(
    "PEB, ports: answers wait for a bus that takes no writes, however many time-outs it takes") {
  Many many(1, 256, 4096);
  many.settle();
  many.host.bus(0).takes_writes = false;
  many.devices[0]->bus(0).write();
  many.run(2000);
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned i = 0; i < 18; ++i) many.host.bus(0).ask();  // two tags each at most
    many.devices[0]->bus(0).answering = 0;
    many.run(3 * Many::patience() / kStepNs);
    many.devices[0]->bus(0).answering = 1;
    many.run(20'000);
  }
  CHECK((kIsRtl || many.host.peb->counters().timeouts > EXRNIC_PEB_TAGS));
  CHECK((kIsRtl || many.host.peb->counters().lives == 0));  // there the answer keeps its tag
  many.host.bus(0).takes_writes = true;
  many.settle();
}

}  // namespace exrnic::peb::testing
