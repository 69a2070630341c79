// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/latency_bench.h"

#include <stdexcept>
#include <vector>

#include "tools/bench/path.h"
#include "tools/bench/traced_core.h"

namespace exrnic::bench {
namespace {

using testing::element;
using testing::Pair;
using testing::Region;
using testing::Side;

constexpr uint32_t kSize = 8;

// Posts a SEND at `from` when the receive at `to` stands; until that receive has completed. The
// bytes are those of a region, or stand in the work request itself.
void send(Side& from, Side& to, const Region* region) {
  testing::Work work;
  work.flags = 0;
  if (region) {
    work.elements = {element(*region, 0, kSize)};
  } else {
    work.flags |= EXRNIC_WQE_FLAGS_INLINE;
    work.inline_data.resize(kSize);
  }
  from.rnic.post(from.qp, work);
  const exrnic_cqe cqe = to.wait(kWaitNs);
  if (cqe.opcode != EXRNIC_WQE_OPCODE_RECV || cqe.status != EXRNIC_CQE_STATUS_SUCCESS)
    throw std::runtime_error("a message did not arrive");
}

}  // namespace

void measure_oneway(const std::string& profile, Results& results) {
  Path path(profile, kSize, make_rtl_core);
  uint8_t mark = 1;
  uint64_t ns = 0;
  // The second one finds the PBL entries on chip, as a program's second message does.
  for (int round = 0; round < 2; ++round, ++mark) {
    path.pair.left.rnic.write(path.source, 0, Bytes(kSize, mark));
    path.put(Carrier::kPush, kSize);
    path.rest();
    const uint64_t start = path.pair.testbed.now_ns();
    path.ring();
    const auto arrived = [&] {
      return path.pair.right.rnic.read(path.sink, kSize - 1, 1)[0] == mark;
    };
    if (path.pair.testbed.run_until(arrived, kWaitNs) != RunResult::kDone)
      throw std::runtime_error("waited in vain for 8 bytes");
    ns = path.pair.testbed.now_ns() - start;
    path.complete();
  }
  results.add("push.oneway_ns", static_cast<double>(ns), "ns", Clock::kSimulated,
              {{"profile", profile}, {"size", kSize}, {"via", "doorbell"}});
}

void measure_round_trip(const std::string& profile, bool is_inline, Results& results) {
  Path path(profile, kSize, make_rtl_core);
  Side& left = path.pair.left;
  Side& right = path.pair.right;
  uint64_t ns = 0;
  for (int round = 0; round < 2; ++round) {  // the second one finds all on chip
    right.rnic.post_receive(right.qp, {element(path.sink, 0, kSize)});
    left.rnic.post_receive(left.qp, {element(path.landing, 0, kSize)});
    path.rest();
    const uint64_t start = path.pair.testbed.now_ns();
    send(left, right, is_inline ? nullptr : &path.source);
    send(right, left, is_inline ? nullptr : &path.sink);
    ns = path.pair.testbed.now_ns() - start;
  }
  results.add("msg.rtt_us", static_cast<double>(ns) / 1e3, "us", Clock::kSimulated,
              {{"profile", profile},
               {"size", kSize},
               {"via", "doorbell"},
               {"data", is_inline ? "inline" : "region"}});
}

namespace {

struct Event {
  uint16_t node;
  Passage passage;
  uint64_t cycle;
  size_t bytes;
};

uint64_t cycle_of(const std::vector<Event>& log, uint16_t node, Passage passage, unsigned nth) {
  for (const Event& event : log)
    if (event.node == node && event.passage == passage && nth-- == 0) return event.cycle;
  throw std::runtime_error("the trace of a PUSH lacks an event");
}

}  // namespace

void measure_stages(const std::string& profile, Results& results) {
  std::vector<Event> log;
  TestbedOptions options = testing::options_for(profile.c_str());
  const CoreFactory traced = [&log](const CoreConfig& config, CoreSink& sink) {
    const uint16_t node = config.node_id;
    return std::make_unique<TracedCore>(
        config, sink, make_rtl_core, [&log, node](Passage passage, uint64_t cycle, size_t bytes) {
          log.push_back({node, passage, cycle, bytes});
        });
  };
  Pair pair(options, traced);
  const Region source = testing::source_of(pair.left, 8);
  testing::sink_of(pair.right, 8);
  for (int round = 0; round < 2; ++round) {
    pair.testbed.run_until([] { return false; }, kWaitNs);
    log.clear();
    pair.left.rnic.post(pair.left.qp,
                        {&source, 0, kSize, testing::kSinkStag, testing::kSinkBase, true});
    pair.left.wait(kWaitNs);
  }
  const auto at = [&log](uint16_t node, Passage passage, unsigned nth = 0) {
    return static_cast<double>(cycle_of(log, node, passage, nth));
  };
  const nlohmann::ordered_json keys = {{"profile", profile}};
  const auto add = [&](const char* stage, double cycles) {
    results.add(std::string("stage.cycles.") + stage, cycles, "cycles", Clock::kSimulated, keys);
  };
  add("doorbell_to_wqe_read", at(0, Passage::kRead, 0) - at(0, Passage::kStore));
  add("wqe_memory", at(0, Passage::kReadCompletion, 0) - at(0, Passage::kRead, 0));
  add("wqe_to_payload_read", at(0, Passage::kRead, 1) - at(0, Passage::kReadCompletion, 0));
  add("payload_memory", at(0, Passage::kReadCompletion, 1) - at(0, Passage::kRead, 1));
  add("payload_to_frame", at(0, Passage::kTransmit) - at(0, Passage::kReadCompletion, 1));
  add("frame_to_placement", at(1, Passage::kWrite) - at(1, Passage::kReceive));
  add("placement_to_ack", at(1, Passage::kTransmit) - at(1, Passage::kWrite));
  add("ack_to_cqe", at(0, Passage::kWrite) - at(0, Passage::kReceive));
}

}  // namespace exrnic::bench
