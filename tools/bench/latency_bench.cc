// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/latency_bench.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/pio.h"
#include "tools/bench/path.h"
#include "tools/bench/traced_core.h"

namespace exrnic::bench {
namespace {

using testing::element;
using testing::Pair;
using testing::Region;
using testing::Side;

constexpr uint32_t kSize = 8;

nlohmann::ordered_json keys_of(const std::string& profile, Post post) {
  return {{"profile", profile},
          {"size", kSize},
          {"via", post == Post::kPio ? "pio" : "doorbell"},
          {"data", post == Post::kRegion ? "region" : "inline"}};
}

// A work request of `size` bytes `mark`, without address at the peer.
testing::Work work_of(Side& side, const Region& region, Post post, uint8_t mark,
                      uint32_t size = kSize) {
  testing::Work work;
  if (post == Post::kRegion) {
    side.rnic.write(region, 0, Bytes(size, mark));
    work.elements = {element(region, 0, size)};
  } else {
    work.flags |= EXRNIC_WQE_FLAGS_INLINE;
    work.inline_data.assign(size, mark);
  }
  return work;
}

testing::Work push_of(Side& side, const Region& region, Post post, uint8_t mark) {
  testing::Work work = work_of(side, region, post, mark);
  work.opcode = EXRNIC_WQE_OPCODE_PUSH;
  work.remote_stag = testing::kSinkStag;
  work.remote_to = testing::kSinkBase;
  return work;
}

// The work request is in memory; what is measured begins with the store that tells of it.
void post_work(Side& side, const testing::Work& work, Post post) {
  if (post != Post::kPio) return side.rnic.post(side.qp, work);
  const exrnic_wqe block = testing::put_block(side.rnic, side.qp, work);
  side.rnic.host().store_block(EXRNIC_BAR_USER,
                               side.qp.page * EXRNIC_USER_PAGE_SIZE + EXRNIC_PIO_AREA,
                               reinterpret_cast<const uint8_t*>(&block));
}

// A SEND at `from` when the receive at `to` stands; until that receive has completed.
void send(Side& from, Side& to, const Region& region, Post post, uint32_t size) {
  testing::Work work = work_of(from, region, post, 0, size);
  work.flags &= ~EXRNIC_WQE_FLAGS_SIGNALED;
  post_work(from, work, post);
  const exrnic_cqe cqe = to.wait(kWaitNs);
  if (cqe.opcode != EXRNIC_WQE_OPCODE_RECV || cqe.status != EXRNIC_CQE_STATUS_SUCCESS)
    throw std::runtime_error("a message did not arrive");
}

// A block that did not spare the read of the ring would measure something else.
void expect_pio(Side& side, Post post, uint64_t sends) {
  if (side.rnic.counter(EXRNIC_COUNTER_PIO_SENDS) != (post == Post::kPio ? sends : 0))
    throw std::runtime_error("not every PIO block was executed from its copy");
}

// From the store that tells of a PUSH of the left side to its last byte in `sink` of `to`.
uint64_t oneway_ns(Path& path, Side& to, const Region& sink, Post post) {
  uint64_t ns = 0;
  // The second one finds the PBL entries on chip, as a program's second message does.
  for (uint8_t mark = 1; mark <= 2; ++mark) {
    path.rest();
    const testing::Work work = push_of(path.pair.left, path.source, post, mark);
    const uint64_t start = path.pair.testbed.now_ns();
    post_work(path.pair.left, work, post);
    const auto arrived = [&] { return to.rnic.read(sink, kSize - 1, 1)[0] == mark; };
    if (path.pair.testbed.run_until(arrived, kWaitNs) != RunResult::kDone)
      throw std::runtime_error("waited in vain for 8 bytes");
    ns = path.pair.testbed.now_ns() - start;
    path.complete();
  }
  expect_pio(path.pair.left, post, 2);
  return ns;
}

}  // namespace

void measure_oneway(const std::string& profile, Post post, Results& results) {
  Path path(profile, kSize, make_rtl_core);
  const uint64_t ns = oneway_ns(path, path.pair.right, path.sink, post);
  results.add("push.oneway_ns", static_cast<double>(ns), "ns", Clock::kSimulated,
              keys_of(profile, post));
}

void measure_loopback(const std::string& profile, Post post, Results& results) {
  Path path(profile, kSize, make_rtl_core);
  Side& left = path.pair.left;
  const Region sink = testing::sink_of(left, kSize);
  if (left.rnic.modify(left.qp.qpn, EXRNIC_QP_STATE_RESET) != EXRNIC_MBOX_STATUS_OK)
    throw std::runtime_error("a queue pair could not be reset");
  left.rnic.connect(left.qp, left.rnic.node(), left.qp.qpn);
  const uint64_t ns = oneway_ns(path, left, sink, post);
  results.add("loopback.oneway_ns", static_cast<double>(ns), "ns", Clock::kSimulated,
              keys_of(profile, post));
}

namespace {

// A queue pair to itself on a completion queue that may have an event queue, and one for all else.
class Told {
 public:
  static constexpr uint32_t kNumber = 70;
  static constexpr uint32_t kVector = 5;
  static constexpr uint32_t kOtherVector = 6;

  Told(Path& path, bool by_queue)
      : testbed_(path.pair.testbed),
        rnic_(path.pair.left.rnic),
        events_(rnic_.create_eq(EXRNIC_EQN_ASYNC, kOtherVector)),
        fired_(rnic_.create_eq(1, kVector)),
        cq_(by_queue ? rnic_.create_cq(kNumber, Side::kPage, fired_)
                     : rnic_.create_cq(kNumber, Side::kPage, 6, kVector)),
        qp_(rnic_.create_qp(kNumber, Side::kPage, Side::kPd, cq_)) {
    rnic_.connect(qp_, rnic_.node(), kNumber);
    rnic_.ring(fired_, true);
    rnic_.ring(events_, true);
  }

  // From the completion of this to an interrupt of that vector.
  uint64_t ns(const testing::Work& work, unsigned vector) {
    rnic_.arm(cq_, Side::kPage);
    testbed_.run_for(kRestNs);
    rnic_.host().clear_records();
    rnic_.post(qp_, work);
    await([&] { return rnic_.poll(cq_, Side::kPage).has_value(); }, "a completion");
    const uint64_t start = testbed_.now_ns();
    const auto& fired = rnic_.host().interrupts();
    await([&] { return std::count(fired.begin(), fired.end(), vector) != 0; }, "an interrupt");
    return testbed_.now_ns() - start;
  }
  void expect_event(bool completion) {
    if (!rnic_.poll(completion ? fired_ : events_))
      throw std::runtime_error("an interrupt came before its event");
  }

 private:
  static constexpr uint64_t kRestNs = 10'000;

  template <typename Condition>
  void await(Condition condition, const char* what) {
    if (testbed_.run_until(condition, kWaitNs) != RunResult::kDone)
      throw std::runtime_error(std::string("waited in vain for ") + what);
  }

  Testbed& testbed_;
  testing::RnicDriver& rnic_;
  testing::EventQueue events_, fired_;
  testing::Queue cq_;
  testing::QueuePair qp_;
};

}  // namespace

void measure_events(const std::string& profile, Results& results) {
  const auto add = [&](const char* event, const char* via, uint64_t ns) {
    results.add("event.ns", static_cast<double>(ns), "ns", Clock::kSimulated,
                {{"profile", profile}, {"event", event}, {"via", via}});
  };
  for (const bool by_queue : {false, true}) {
    Path path(profile, kSize, make_rtl_core);
    Told told(path, by_queue);
    const Region sink = testing::sink_of(path.pair.left, kSize);
    testing::Work work = push_of(path.pair.left, sink, Post::kInline, 1);
    add("completion", by_queue ? "queue" : "vector", told.ns(work, Told::kVector));
    if (!by_queue) continue;
    told.expect_event(/*completion=*/true);
    work.flags |= 0x80;  // there is no such one
    add("qp_error", "queue", told.ns(work, Told::kOtherVector));
    told.expect_event(/*completion=*/false);
  }
}

uint64_t round_trip_ns(Path& path, Post post, uint32_t size) {
  Side& left = path.pair.left;
  Side& right = path.pair.right;
  uint64_t ns = 0;
  for (int round = 0; round < 2; ++round) {  // the second one finds all on chip
    right.rnic.post_receive(right.qp, {element(path.sink, 0, size)});
    left.rnic.post_receive(left.qp, {element(path.landing, 0, size)});
    path.rest();
    const uint64_t start = path.pair.testbed.now_ns();
    send(left, right, path.source, post, size);
    send(right, left, path.sink, post, size);
    ns = path.pair.testbed.now_ns() - start;
  }
  for (Side* side : {&left, &right}) expect_pio(*side, post, 2);
  return ns;
}

void measure_round_trip(const std::string& profile, Post post, Results& results) {
  Path path(profile, kSize, make_rtl_core);
  const uint64_t ns = round_trip_ns(path, post, kSize);
  results.add("msg.rtt_us", static_cast<double>(ns) / 1e3, "us", Clock::kSimulated,
              keys_of(profile, post));
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

void measure_stages(const std::string& profile, Post post, Results& results) {
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
    post_work(pair.left, push_of(pair.left, source, post, 1), post);
    pair.left.wait(kWaitNs);
  }
  const auto at = [&log](uint16_t node, Passage passage, unsigned nth = 0) {
    return static_cast<double>(cycle_of(log, node, passage, nth));
  };
  const nlohmann::ordered_json keys = {{"profile", profile},
                                       {"via", post == Post::kPio ? "pio" : "doorbell"}};
  const auto add = [&](const char* stage, double cycles) {
    results.add(std::string("stage.cycles.") + stage, cycles, "cycles", Clock::kSimulated, keys);
  };
  if (post == Post::kPio) {
    add("block_to_frame", at(0, Passage::kTransmit) - at(0, Passage::kStore));
  } else {
    add("doorbell_to_wqe_read", at(0, Passage::kRead, 0) - at(0, Passage::kStore));
    add("wqe_memory", at(0, Passage::kReadCompletion, 0) - at(0, Passage::kRead, 0));
    add("wqe_to_payload_read", at(0, Passage::kRead, 1) - at(0, Passage::kReadCompletion, 0));
    add("payload_memory", at(0, Passage::kReadCompletion, 1) - at(0, Passage::kRead, 1));
    add("payload_to_frame", at(0, Passage::kTransmit) - at(0, Passage::kReadCompletion, 1));
  }
  add("frame_to_placement", at(1, Passage::kWrite) - at(1, Passage::kReceive));
  add("placement_to_ack", at(1, Passage::kTransmit) - at(1, Passage::kWrite));
  add("ack_to_cqe", at(0, Passage::kWrite) - at(0, Passage::kReceive));
}

}  // namespace exrnic::bench
