// SPDX-License-Identifier: BSD-2-Clause
// Every run over a bad network, judged from what passed the MACs: each frame that was sent again
// had a cause, and each node's counters say what the capture shows. And the judge itself: spoiled
// captures are found guilty.
#include "tests/support/capture.h"

#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <string>

#include "tests/support/cluster.h"
#include "tests/support/trace_check.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kRtoCycles = 8192;
constexpr uint32_t kLength = 20'000;

struct Run {
  std::vector<CapturedFrame> frames;
  std::vector<std::vector<uint64_t>> counters;  // by node
  TraceRules rules;
};

constexpr uint32_t kCrowdLength = 60'000;

void push_to_next(Cluster& cluster) {
  const unsigned nodes = cluster.size();
  for (unsigned node = 1; node < nodes; ++node) cluster.connect(node - 1, node);
  if (nodes > 2) cluster.connect(nodes - 1, 0);
  for (unsigned node = 0; node < nodes; ++node) {
    cluster[node].push((node + 1) % nodes, 0, kLength, 0);
  }
  for (unsigned node = 0; node < nodes; ++node) {
    REQUIRE(cluster[node].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  }
}

void push_to_first(Cluster& cluster) {
  for (unsigned node = 1; node < cluster.size(); ++node) {
    cluster.connect(0, node);
    cluster[node].push(0, 0, kCrowdLength, (node - 1) * kCrowdLength);
  }
  for (unsigned node = 1; node < cluster.size(); ++node) {
    REQUIRE(cluster[node].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  }
}

Run run(const TestbedOptions& options, void (*work)(Cluster&) = push_to_next) {
  Capture capture;
  Cluster cluster(options, test_cores(), 5 * kCrowdLength, &capture);
  const unsigned nodes = cluster.size();
  for (unsigned node = 0; node < nodes; ++node) {
    cluster[node].rnic.write_register(EXRNIC_REG_RTO_CYCLES, kRtoCycles);
  }
  work(cluster);
  cluster.rest();
  Run result;
  for (unsigned node = 0; node < nodes; ++node) {
    result.counters.emplace_back();
    for (unsigned i = 0; i < EXRNIC_COUNTERS; ++i) {
      result.counters.back().push_back(cluster[node].rnic.counter(static_cast<exrnic_counter>(i)));
    }
  }
  result.frames = std::move(capture.frames);
  result.rules.least_rto_ns = uint64_t{kRtoCycles} * 1'000'000 / options.profile.clock_khz;
  return result;
}

TraceVerdict judge(const Run& run) {
  return check_trace(run.frames, static_cast<unsigned>(run.counters.size()), run.rules);
}

void check(const Run& run) {
  const TraceVerdict verdict = judge(run);
  for (const std::string& fault : verdict.faults) FAIL_CHECK(fault);
  for (size_t node = 0; node < run.counters.size(); ++node) {
    for (const std::string& line : compare_counters(verdict.nodes[node], run.counters[node])) {
      FAIL_CHECK("node " << node << ": " << line);
    }
  }
}

TestbedOptions lossy(uint64_t seed) {
  TestbedOptions options = options_on("dc-25g", "star:3");
  options.seed = seed;
  options.faults.rates = {0.03, 0.03, 0.03, 0.03, 0.03};
  return options;
}

bool guilty(const Run& run, const std::string& of) {
  for (const std::string& fault : judge(run).faults) {
    if (fault.find(of) != std::string::npos) return true;
  }
  return false;
}

// The first segment that node 0 sent, or the first frame that only acknowledges.
CapturedFrame& first_sent(Run& run, bool with_segment) {
  for (CapturedFrame& frame : run.frames) {
    const uint64_t flags = exrnic_efe_flags(frame.headers.data() + EXRNIC_ETH_BYTES);
    if (frame.sent && frame.node == 0 && ((flags & EXRNIC_EFE_FLAGS_SEQ) != 0) == with_segment &&
        (with_segment || (flags & EXRNIC_EFE_FLAGS_ACK) != 0)) {
      return frame;
    }
  }
  throw std::runtime_error("no such frame in the capture");
}

TEST_CASE("on a good network nothing is sent again, and the counters are those of the capture") {
  const Run good = run(options_on("dc-25g", "star:3"));
  check(good);
  for (const NodeTrace& node : judge(good).nodes) CHECK(node.retransmits == 0);
}

TEST_CASE(
    "on a bad network every resend has its cause, and the counters are those of the capture") {
  uint64_t retransmits = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    INFO("seed " << seed);
    const Run bad = run(lossy(seed));
    check(bad);
    for (const NodeTrace& node : judge(bad).nodes) retransmits += node.retransmits;
  }
  CHECK(retransmits > 0);
}

// Through a queue of 59 frames that marks from the eighth on.
Run crowded(const char* topology) {
  TestbedOptions options = options_on("dc-25g", topology);
  options.topology->switches[0].queue_bytes = 65'536;
  options.topology->switches[0].mark_bytes = 8'192;
  return run(options, push_to_first);
}

TEST_CASE("marks are echoed, and senders keep to the window that follows from them") {
  const Run busy = crowded("star:5");
  check(busy);
  CHECK(busy.counters[0][EXRNIC_COUNTER_RX_MARKED] > 0);
}

TEST_CASE("the judge finds an echo that is missing, one too many, and a window that is exceeded") {
  Run silent = crowded("star:3");
  Run loud = silent;
  for (CapturedFrame& frame : silent.frames) {
    uint8_t* efe = frame.headers.data() + EXRNIC_ETH_BYTES;
    exrnic_efe_set_flags(efe, exrnic_efe_flags(efe) & ~uint64_t{EXRNIC_EFE_FLAGS_ECE});
  }
  CHECK(guilty(silent, "a mark is not echoed"));
  for (CapturedFrame& frame : loud.frames) {
    uint8_t* efe = frame.headers.data() + EXRNIC_ETH_BYTES;
    if ((exrnic_efe_flags(efe) & EXRNIC_EFE_FLAGS_ACK) == 0) continue;
    exrnic_efe_set_flags(efe, exrnic_efe_flags(efe) | EXRNIC_EFE_FLAGS_ECE);
  }
  CHECK(guilty(loud, "a mark is echoed that never came"));
  CHECK(guilty(loud, "the window allows"));
}

// Each node pushes to the other twice what is placed, and then what is refused: on three queue
// pairs at once.
void push_astray(Cluster& cluster) {
  constexpr uint32_t kNobodys = kSinkStag + 0x100;
  std::vector<std::pair<unsigned, QueuePair>> pushing;  // by node
  for (uint32_t i = 0; i < 6; ++i) {
    const unsigned pusher = i % 2;
    for (const unsigned node : {pusher, 1 - pusher}) {
      Member& member = cluster[node];
      QueuePair qp =
          member.rnic.create_qp(Member::kFirstQpn + i, Member::kPage, Member::kPd, member.cq);
      member.rnic.connect(qp, 1 - node, Member::kFirstQpn + i);
      if (node == pusher) pushing.emplace_back(node, qp);
    }
  }
  for (const uint32_t stag : {kSinkStag, kSinkStag, kNobodys})
    for (auto& [node, qp] : pushing)
      cluster[node].rnic.post(qp,
                              {&cluster[node].source, 0, 3000, stag, kSinkBase, stag == kNobodys});
  for (const auto& entry : pushing)
    CHECK(cluster[entry.first].wait().status == EXRNIC_CQE_STATUS_REM_ACCESS_ERR);
}

Run astray(uint64_t seed) {
  TestbedOptions options = options_on("dc-25g", "back-to-back");
  options.seed = seed;
  if (seed != 0) options.faults.rates = {0.05, 0.05, 0.05, 0.05, 0.05};
  return run(options, push_astray);
}

TEST_CASE("one segment of a node is refused at a time, and acknowledged when it has heard of it") {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    INFO("seed " << seed);
    const Run refused = astray(seed);
    for (const std::string& fault : judge(refused).faults) FAIL_CHECK(fault);
    for (const auto& counters : refused.counters)
      CHECK(counters[EXRNIC_COUNTER_TERMINATES_RX] == 3);
  }
}

// The frames of a run with a refusal in them, or with a word that it was heard.
void spoil(Run& run, uint64_t (*field)(const uint8_t*), const std::function<void(uint8_t*)>& how) {
  for (CapturedFrame& frame : run.frames) {
    uint8_t* efe = frame.headers.data() + EXRNIC_ETH_BYTES;
    if (field(efe) != 0) how(efe);
  }
}

TEST_CASE("the judge finds a refusal that is not one, and what is acknowledged in spite of it") {
  const Run good = astray(0);
  Run other = good;
  spoil(other, exrnic_efe_refusal,
        [](uint8_t* efe) { exrnic_efe_set_seq(efe, exrnic_efe_seq(efe) + 1); });
  CHECK(guilty(other, "does not acknowledge all before it"));
  Run early = good;
  spoil(early, exrnic_efe_refusal, [](uint8_t* efe) {
    exrnic_efe_set_seq(efe, exrnic_efe_seq(efe) + 100);
    exrnic_efe_set_ack(efe, exrnic_efe_ack(efe) + 100);
  });
  CHECK(guilty(early, "refused before it arrived"));
  Run unheard = good;
  spoil(unheard, exrnic_efe_heard, [](uint8_t* efe) { exrnic_efe_set_heard(efe, 0); });
  CHECK(guilty(unheard, "acknowledged beyond a refused segment that nobody has heard of"));
  CHECK(guilty(unheard, "refused while refusal 1 is in force"));
  Run invented = good;
  spoil(invented, exrnic_efe_heard, [](uint8_t* efe) { exrnic_efe_set_heard(efe, 77); });
  CHECK(guilty(invented, "refusal 77 is heard that did not come"));
  Run leap = good;
  spoil(leap, exrnic_efe_refusal, [](uint8_t* efe) {
    if (exrnic_efe_refusal(efe) == 3) exrnic_efe_set_refusal(efe, 4);
  });
  CHECK(guilty(leap, "refusal 4 comes behind 2"));
}

TEST_CASE("when only the tail is lost a time-out is the cause") {
  TestbedOptions options = options_on("dc-25g", "back-to-back");
  const Run good = run(options);
  uint64_t towards = 0;
  for (const CapturedFrame& frame : good.frames) towards += frame.node == 1 && !frame.sent;
  for (uint64_t frame = 0; frame < towards; ++frame) {
    INFO("frame " << frame << " towards node 1 is lost");
    options.faults_towards[1] = {};
    options.faults_towards[1].script[frame] = Fault::kDrop;
    check(run(options));
  }
}

TEST_CASE("the judge finds a segment that is sent again without a cause") {
  Run spoiled = run(options_on("dc-25g", "back-to-back"));
  CapturedFrame again = first_sent(spoiled, true);
  const auto sent = [&](const CapturedFrame& frame) {
    return frame.sent && frame.time_ns == again.time_ns && frame.node == again.node;
  };
  const auto place = std::find_if(spoiled.frames.begin(), spoiled.frames.end(), sent);
  again.time_ns += 500;
  spoiled.frames.insert(place + 1, again);
  CHECK(guilty(spoiled, "sent again without a cause"));
  const auto differences = compare_counters(judge(spoiled).nodes[0], spoiled.counters[0]);
  CHECK(differences.size() == 2);  // FRAMES_TX, RETRANSMITS
}

TEST_CASE("the judge finds a segment that is sent again when it is acknowledged, or changed") {
  Run spoiled = run(options_on("dc-25g", "back-to-back"));
  CapturedFrame again = first_sent(spoiled, true);
  again.time_ns = spoiled.frames.back().time_ns + 1'000'000;
  again.segment ^= 1;
  spoiled.frames.push_back(again);
  CHECK(guilty(spoiled, "sent again although it is acknowledged"));
  CHECK(guilty(spoiled, "sent again with other bytes"));
}

TEST_CASE("the judge finds a number that is skipped, and an acknowledgement of what never came") {
  Run spoiled = run(options_on("dc-25g", "back-to-back"));
  uint8_t* efe = first_sent(spoiled, true).headers.data() + EXRNIC_ETH_BYTES;
  exrnic_efe_set_seq(efe, exrnic_efe_seq(efe) + 1);
  CHECK(guilty(spoiled, "is the next number"));
  Run early = run(options_on("dc-25g", "back-to-back"));
  efe = first_sent(early, false).headers.data() + EXRNIC_ETH_BYTES;
  exrnic_efe_set_ack(efe, exrnic_efe_ack(efe) + 1000);
  CHECK(guilty(early, "acknowledged before it arrived"));
  CHECK(guilty(early, "an acknowledgement is taken back"));
}

}  // namespace
}  // namespace exrnic::testing
