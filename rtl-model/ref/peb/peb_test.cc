// SPDX-License-Identifier: BSD-2-Clause
// Two PEBs and a bad network between them, under random transactions, judged by what their buses
// see; and those that mean them no good.
#include "rtl-model/ref/ddp_header.h"
#include "rtl-model/ref/peb/testing/random_bus.h"
#include "tests/support/seed.h"

namespace exrnic::peb::testing {
namespace {

using exrnic::testing::draw_seed;

constexpr unsigned kRounds = kIsRtl ? 3 : 8;

// Something happens to one of them, or to the line between them.
void strike(Pair& pair) {
  Random& random = pair.network.random;
  RandomBus& one = chance(random, 0.5) ? pair.host : pair.device;
  RandomBus& other = &one == &pair.host ? pair.device : pair.host;
  switch (below(random, 4)) {
    case 0:
      return one.lose_power();
    case 1:
      one.lose_power();
      pair.run(below(random, 200));
      return other.lose_power();
    case 2:  // for so long that the peer is given up, or not
      pair.network.cut = one.node();
      pair.run(chance(random, 0.2) ? 900'000 : below(random, 30'000));
      pair.network.cut = 0;
      return;
    default:
      const auto peer = one.peers[0];
      one.assign(0, std::nullopt);
      pair.run(below(random, 3000));
      one.assign(0, peer);
  }
}

CoreConfig config(uint16_t node) { return Pair::config(node); }

}  // namespace

TEST_CASE("PEB: what two buses say to each other arrives once, in PCIe's order") {
  const uint64_t seed = draw_seed();
  INFO("EXRNIC_SEED=" << seed);
  const uint64_t before = compared();
  Pair pair(seed);
  pair.network.leaves_out = false;
  pair.run(kIsRtl ? 250'000 : 100'000);
  pair.settle();
  pair.run(1000);
  CHECK(pair.down.arrivals > 4000);
  CHECK(pair.up.arrivals > 4000);
  CHECK(pair.down.answers > (kIsRtl ? 200 : 1000));
  CHECK(pair.up.answers > (kIsRtl ? 200 : 1000));
  CHECK(pair.malformed() == 0);
  CHECK(pair.host.peb->counters().lives == 0);
  const uint64_t seen = pair.down.arrivals + pair.up.arrivals + pair.down.answers + pair.up.answers;
  CHECK((!kIsLockstep || compared() - before >= seen));
  CHECK(pair.host.peb->idle());
  CHECK(pair.device.peb->idle());
}

TEST_CASE("PEB: frames that are lost, doubled, reordered and broken change nothing") {
  const uint64_t seed = draw_seed();
  INFO("EXRNIC_SEED=" << seed);
  Pair pair(seed);
  pair.network.faults = {0.02, 0.02, 0.1, 0.01};
  pair.run(300'000);
  pair.settle();
  // Where a cycle is as long as a step, a burst of losses may cost the RTL a life.
  CHECK(pair.down.arrivals > (kIsRtl ? 50 : 500));
  CHECK(pair.up.answers > (kIsRtl ? 10 : 100));
  CHECK((kIsRtl || pair.host.peb->counters().lives == 0));
  CHECK(pair.host.peb->peek_counter(EXRNIC_COUNTER_RETRANSMITS) > 0);
}

TEST_CASE("PEB: who dies, is cut off or begins anew loses what was under way, and nothing later") {
  const uint64_t seed = draw_seed();
  INFO("EXRNIC_SEED=" << seed);
  for (unsigned round = 0; round < kRounds; ++round) {
    INFO("round " << round);
    Pair pair(seed + round);
    Random& random = pair.network.random;
    pair.network.faults = {0.01 * below(random, 5), 0.01, 0.1 * below(random, 3), 0.01};
    pair.host.taking = 0.05 + 0.2 * below(random, 5);
    pair.device.answering = 0.05 + 0.2 * below(random, 5);
    for (uint64_t lives = below(random, 10); lives > 0; --lives) {
      pair.run(below(random, 20'000));
      strike(pair);
    }
    pair.run(20'000);
    pair.settle();
    CHECK(pair.malformed() == 0);
  }
}

TEST_CASE("PEB: requests that are not taken hold up neither writes nor completions") {
  Pair pair(1);
  pair.host.takes_requests = false;
  pair.run(3000);
  const uint64_t writes = pair.up.arrivals;
  const uint64_t answers = pair.down.answers;
  for (unsigned i = 0; i < 100; ++i) {
    pair.device.write();
    pair.host.ask();
  }
  pair.run(20'000);
  pair.run(kIsRtl ? 60'000 : 0);
  CHECK_FALSE(pair.device.peb->has_room(0, kNonPosted));
  pair.device.begins = false;
  pair.run(20'000);
  CHECK(pair.device.peb->has_room(0, kPosted));
  CHECK(pair.up.arrivals >= writes + 100);
  CHECK(pair.down.answers >= answers + 100);
  pair.host.takes_requests = true;
  pair.settle();
  CHECK(pair.host.peb->counters().lives == 0);
}

TEST_CASE(
    "PEB: writes that are not taken hold up what may not pass them, and wait at their sender") {
  Pair pair(1);
  pair.settle();
  pair.host.takes_writes = false;
  const uint64_t answers = pair.down.answers;
  pair.device.write();
  for (unsigned i = 0; i < 100; ++i) {
    pair.device.write();
    pair.host.ask();  // their completions stand behind the writes
  }
  pair.run(20'000);
  CHECK(pair.down.answers == answers);
  CHECK_FALSE(pair.device.peb->has_room(0, kPosted));
  CHECK(pair.device.peb->peek_counter(EXRNIC_COUNTER_RETRANSMITS) == 0);  // no frame waits
  pair.host.takes_writes = true;
  pair.settle();
  CHECK(pair.down.answers == answers + 100);
}

TEST_CASE("PEB: a device that is silent costs its requests, then its link") {
  Pair pair(1);
  pair.host.refusing = pair.device.refusing = 0;
  pair.settle();
  const uint64_t interval = Pair::patience() / kStepNs;
  pair.device.answering = 0;
  pair.host.ask();
  pair.run(interval - 2000);
  CHECK(pair.down.failures == 0);
  pair.run(interval + 4000);
  CHECK(pair.down.all_answered());
  CHECK(pair.down.failures == 1);
  const uint64_t timeouts = pair.host.peb->counters().timeouts;
  CHECK(timeouts >= 1);
  CHECK(pair.host.peb->is_up(0));
  // What is owed comes: nobody takes it for something else.
  pair.device.answering = 1;
  for (unsigned i = 0; i < 20; ++i) pair.host.ask();
  pair.settle();
  CHECK(pair.down.failures == 1);
  CHECK(pair.host.peb->counters().lives == 0);
  // Each tag waits for something.
  pair.device.answering = 0;
  pair.device.takes_requests = true;
  for (unsigned i = 0; i < 2 * EXRNIC_PEB_TAGS; ++i) pair.host.ask();
  pair.run(3 * interval);
  CHECK(pair.host.peb->counters().timeouts > timeouts);
  pair.device.answering = 1;
  pair.settle();
}

TEST_CASE("PEB: a request has its time, however long nobody has looked at a PEB that was idle") {
  Pair pair(1);
  pair.settle();
  pair.run(1000);
  pair.network.now_ns += 100 * Pair::patience();
  pair.host.ask();
  pair.settle();
  CHECK(pair.host.peb->counters().lives == 0);
  CHECK(pair.host.peb->counters().timeouts == 0);
}

TEST_CASE("PEB: a device that takes no requests costs its link, and none of them waits for ever") {
  Pair pair(1);
  pair.settle();
  const uint64_t interval = Pair::patience() / kStepNs;
  pair.device.takes_requests = false;
  for (unsigned i = 0; i < 20; ++i) pair.host.ask();
  pair.run(interval - 2000);
  CHECK_FALSE(pair.down.all_answered());
  CHECK(pair.host.peb->counters().lives == 0);
  for (unsigned i = 0; i < 100; ++i) pair.host.ask();
  pair.run(4 * interval);
  CHECK(pair.down.all_answered());
  CHECK(pair.host.peb->counters().lives == 1);
  pair.device.takes_requests = true;
  pair.settle();
}

TEST_CASE("PEB: a device answers its own host and group alone") {
  Pair pair(1);
  Direction theirs{256, 512, Pair::patience()}, none{256, 512, Pair::patience()};
  RandomBus stranger(config(3), Side::kHost, pair.network.random, theirs, none);
  pair.network.add(stranger);
  stranger.assign(0, Peer{2, Pair::kGroup});
  pair.run(20'000);
  CHECK_FALSE(stranger.peb->is_up(0));
  const bool before = pair.host.peb->is_up(0);
  CHECK(before);
  // The host of the device, with another group.
  pair.host.assign(0, Peer{2, Pair::kGroup + 1});
  pair.run(200'000);
  CHECK_FALSE(pair.host.peb->is_up(0));
  CHECK(pair.device.peb->counters().foreign > 0);
  // It is given to the stranger: the old host is heard no more.
  pair.host.assign(0, Peer{2, Pair::kGroup});
  pair.settle();
  pair.device.assign(0, Peer{3, Pair::kGroup});
  for (unsigned i = 0; i < 200'000 && !stranger.peb->is_up(0); ++i) pair.network.step();
  CHECK(stranger.peb->is_up(0));
  pair.host.ask();
  for (unsigned i = 0; i < 10'000; ++i) pair.network.step();
  CHECK_FALSE(pair.host.peb->is_up(0));
  CHECK(pair.down.all_answered());
}

TEST_CASE("PEB: whatever a peer says, requests end, and only what PCIe allows reaches a bus") {
  if (kIsLockstep) return;
  const uint64_t seed = draw_seed();
  INFO("EXRNIC_SEED=" << seed);
  uint64_t malformed = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    INFO("round " << round);
    Pair pair(seed + round);
    pair.down.changed = pair.up.changed = true;
    pair.network.faults.change = 0.05;
    pair.run(60'000);
    pair.network.faults = {};
    pair.settle();
    malformed += pair.malformed();
  }
  CHECK(malformed > 0);
}

TEST_CASE("PEB: frames of anybody change nothing between two that know each other") {
  const uint64_t seed = draw_seed();
  INFO("EXRNIC_SEED=" << seed);
  Pair pair(seed);
  Random& random = pair.network.random;
  for (unsigned i = 0; i < 40'000; ++i) {
    pair.step();
    if (!chance(random, 0.2)) continue;
    // From node 3, as a PEB of that group would send it, but for some bytes.
    Frame frame;
    frame.data.resize(EXRNIC_HEADER_UNTAGGED_BYTES + below(random, 40));
    uint8_t* ethernet = frame.data.data();
    uint8_t* efe = ethernet + EXRNIC_ETH_BYTES;
    exrnic_eth_set_dst(ethernet, ref::mac_of(1 + below(random, 2)));
    exrnic_eth_set_src(ethernet, ref::mac_of(3));
    exrnic_eth_set_ethertype(ethernet, EXRNIC_ETHERTYPE);
    exrnic_efe_set_version(efe, EXRNIC_EFE_VERSION);
    exrnic_efe_set_flags(efe, EXRNIC_EFE_FLAGS_SEQ | EXRNIC_EFE_FLAGS_SYN);
    exrnic_efe_set_src_node(efe, 3);
    exrnic_efe_set_session(efe, 1 + i / 100);
    exrnic_efe_set_seq(efe, EXRNIC_INITIAL_SEQ + i % 100 / 5);
    exrnic_efe_set_dst_qpn(efe, EXRNIC_PEB_QPN + Pair::kGroup);
    exrnic_efe_set_src_qpn(efe, EXRNIC_PEB_QPN + Pair::kGroup);
    exrnic_efe_set_src_generation(efe, random());
    exrnic_efe_set_dst_generation(efe, random());
    exrnic_efe_set_length(efe, frame.data.size() - EXRNIC_ETH_BYTES - EXRNIC_EFE_BYTES);
    for (size_t at = EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES; at < frame.data.size(); ++at)
      frame.data[at] = static_cast<uint8_t>(random());
    if (chance(random, 0.1)) frame.data[below(random, frame.data.size())] ^= 1 << below(random, 8);
    pair.network.send(std::move(frame));
  }
  pair.settle();
  CHECK(pair.host.peb->counters().foreign > 0);
  CHECK(pair.host.peb->counters().lives == 0);
  CHECK(pair.device.peb->counters().lives == 0);
}

TEST_CASE("PEB: an introduction without a generation is refused, another one is not") {
  for (const uint16_t generation : {0, 5}) {
    CAPTURE(generation);
    Network network(1);
    Direction out{256, 512, Pair::patience()}, in{256, 512, Pair::patience()};
    RandomBus device(config(2), Side::kDevice, network.random, out, in);
    network.add(device);
    device.assign(0, Peer{1, Pair::kGroup});
    unsigned refusals = 0, accepted = 0;
    network.watch = [&](const Frame& frame) {
      const uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
      if (exrnic_efe_src_node(efe) != 2) return;
      refusals += exrnic_efe_refusal(efe) != 0;
      accepted += exrnic_efe_ack(efe) == EXRNIC_INITIAL_SEQ + 1;
    };
    Frame frame;
    frame.data.resize(EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES);
    ref::Tagged header;
    header.last = true;
    header.stag = EXRNIC_INTRODUCTION_STAG;
    header.to = EXRNIC_INTRODUCTION_PLAIN;
    const auto ddp = ref::make_header(header);
    frame.data.insert(frame.data.end(), ddp.begin(), ddp.end());
    uint8_t* ethernet = frame.data.data();
    uint8_t* efe = ethernet + EXRNIC_ETH_BYTES;
    exrnic_eth_set_dst(ethernet, ref::mac_of(2));
    exrnic_eth_set_src(ethernet, ref::mac_of(1));
    exrnic_eth_set_ethertype(ethernet, EXRNIC_ETHERTYPE);
    exrnic_efe_set_version(efe, EXRNIC_EFE_VERSION);
    exrnic_efe_set_flags(efe, EXRNIC_EFE_FLAGS_SEQ | EXRNIC_EFE_FLAGS_SYN);
    exrnic_efe_set_src_node(efe, 1);
    exrnic_efe_set_session(efe, 7);
    exrnic_efe_set_seq(efe, EXRNIC_INITIAL_SEQ);
    exrnic_efe_set_dst_qpn(efe, EXRNIC_PEB_QPN + Pair::kGroup);
    exrnic_efe_set_src_qpn(efe, EXRNIC_PEB_QPN + Pair::kGroup);
    exrnic_efe_set_src_generation(efe, generation);
    exrnic_efe_set_length(efe, ddp.size());
    network.send(std::move(frame));
    for (unsigned i = 0; i < 3000; ++i) network.step();
    CHECK((refusals != 0) == (generation == 0));
    CHECK((accepted != 0) == (generation != 0));
  }
}

TEST_CASE("PEB: what cannot be is refused with the value") {
  Pair pair(1);
  const auto reason = [&](const CoreConfig& config, unsigned ports) -> std::string {
    try {
      Peb(config, Side::kHost, ports, pair.host);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  CoreConfig bad = config(4);
  bad.max_payload = 384;
  CHECK(reason(bad, 1) == "max_payload 384: a power of two from 128 to 2048 is possible");
  bad = config(4);
  bad.max_read = 8192;
  CHECK(reason(bad, 1) == "max_read 8192: 1 to 4096 is possible");
  CHECK(reason(config(4), 17) == "17 ports: 1 to 16 are possible");
  Peb two(config(4), Side::kHost, 2, pair.host);
  two.assign(0, Peer{1, 1});
  CHECK_THROWS_AS(two.assign(1, Peer{1, 1}), std::invalid_argument);
  CHECK_THROWS_AS(two.assign(1, Peer{4, 1}), std::invalid_argument);
}

}  // namespace exrnic::peb::testing
