// SPDX-License-Identifier: BSD-2-Clause
// The trace of an exchange: valid JSON, arrows with both ends, stages in order, and at the times at
// which the simulator had them.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/trace/tracer.h"
#include "tests/support/ntb.h"
#include "tests/support/pair.h"
#include "tests/support/trace_events.h"

namespace exrnic::testing {
namespace {

using nlohmann::json;

struct Exchange {
  std::vector<json> events;
  uint64_t posted_ns = 0;     // of the last work request: its doorbell,
  uint64_t completed_ns = 0;  // when its CQE was seen
  uint64_t works = 0;         // posted
  std::vector<std::string> logged;
};

void post_and_wait(Pair& pair, const Work& work, Exchange& exchange) {
  exchange.posted_ns = pair.testbed.now_ns();
  pair.left.rnic.post(pair.left.qp, work);
  REQUIRE(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  exchange.completed_ns = pair.testbed.now_ns();
  ++exchange.works;
}

// SEND, PULL and PUSH of three frames each, from left to right; the PUSH is the last.
void exchange_under(Tracer& tracer, const FaultConfig& faults, Exchange& exchange) {
  TestbedOptions options = options_for("dc-25g");
  options.observer = &tracer;
  options.faults_towards[1] = faults;
  Pair pair(options);
  constexpr uint32_t kBytes = 2 * EXRNIC_MTU_DEFAULT + 100;
  const Region source = source_of(pair.left, kBytes);
  const Region landing = pair.left.rnic.create_region(0x000099'02, Side::kPd, 0x6600'0000'0000,
                                                      kBytes, EXRNIC_ACCESS_LOCAL_WRITE);
  const Region sink = pair.right.rnic.create_region(
      kSinkStag, Side::kPd, kSinkBase, kBytes,
      EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ);
  pair.right.rnic.post_receive(pair.right.qp, {element(sink, 0, kBytes)});
  Work work;
  work.elements = {element(source, 0, kBytes)};
  post_and_wait(pair, work, exchange);
  work.remote_stag = sink.stag;
  work.remote_to = sink.base;
  work.opcode = EXRNIC_WQE_OPCODE_PULL;
  work.elements = {element(landing, 0, kBytes)};
  post_and_wait(pair, work, exchange);
  work.opcode = EXRNIC_WQE_OPCODE_PUSH;
  work.elements = {element(source, 0, kBytes)};
  post_and_wait(pair, work, exchange);
  CHECK(tracer.works() == exchange.works);
}

Exchange traced(const std::string& path, const FaultConfig& faults = {}) {
  Exchange exchange;
  {
    Tracer tracer(path, [&](const std::string& line) { exchange.logged.push_back(line); });
    exchange_under(tracer, faults, exchange);
  }
  return exchange;
}

Exchange traced_events(const FaultConfig& faults = {}) {
  const TemporaryFile file;
  Exchange exchange = traced(file.path, faults);
  exchange.events = events_of(file.path);
  CHECK(exchange.logged.empty());
  return exchange;
}

TEST_CASE("every arrow has one begin and one end, in order of time, and lies on slices") {
  const Exchange exchange = traced_events();
  const auto all = arrows(exchange.events);
  CHECK(all.size() == exchange.works);
  for (const auto& [id, arrow] : all) {
    CAPTURE(id);
    REQUIRE(arrow.size() >= 2);
    CHECK(arrow.front()["ph"] == "s");
    CHECK(arrow.back()["ph"] == "f");
    for (size_t i = 0; i < arrow.size(); ++i) {
      CAPTURE(i, arrow[i].dump());
      CHECK_FALSE(slices_at(exchange.events, arrow[i]).empty());
      if (i == 0) continue;
      CHECK(picoseconds(arrow[i]["ts"]) >= picoseconds(arrow[i - 1]["ts"]));
      CHECK((arrow[i]["ph"] == "t") == (i + 1 < arrow.size()));
    }
  }
}

TEST_CASE("Perfetto shows every slice, and binds every arrow to slices that begin at its points") {
  const TemporaryFile file;
  {
    Tracer tracer(file.path, [](const std::string& line) { FAIL(line); });
    TestbedOptions options = options_for("ntb-gen3x8");
    options.observer = &tracer;
    Pair pair(options);
    const Region source = source_of(pair.left, 20'000);
    const Region sink = sink_of(pair.right, 20'000);
    for (uint32_t bytes = 1; bytes <= 20'000; bytes = 2 * bytes + 1) {
      pair.left.rnic.post(pair.left.qp, testing::Push{&source, 0, bytes, sink.stag, sink.base});
      REQUIRE(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    }
    for (unsigned node : {0, 1})  // doorbells of no queue, no nanosecond apart
      for (unsigned i = 0; i < 3; ++i) {
        tracer.store({node, pair.testbed.now()}, EXRNIC_BAR_USER, EXRNIC_DOORBELL_CQ, 8, i);
        pair.testbed.run_until([] { return false; }, 1);
      }
  }
  const auto complaints = perfetto_complaints(events_of(file.path));
  INFO(complaints.size() << " complaints");
  for (const std::string& complaint : complaints) UNSCOPED_INFO(complaint);
  CHECK(complaints.empty());
}

void check_stages_of_push(const std::vector<json>& events, const std::vector<json>& push) {
  struct Stage {
    const char* name;
    unsigned node;
  };
  constexpr Stage kStages[] = {
      {"store", 0},  {"doorbell", 0},   {"turn", 0},     {"work_fetch", 0}, {"payload_fetch", 0},
      {"submit", 0}, {"frame_out", 0},  {"frame_in", 1}, {"segment", 1},    {"placed", 1},
      {"ended", 0},  {"completion", 0}, {"cqe", 0}};
  size_t from = 0;
  for (const Stage& stage : kStages) {
    CAPTURE(stage.name);
    // The program posts when it sees the CQE of its last work request: a slice of that may stand
    // at the same place, so the first one will not do.
    const auto places = stages(events, push, stage.name, stage.node);
    const auto next = std::lower_bound(places.begin(), places.end(), from);
    REQUIRE(next != places.end());
    from = *next;
  }
}

TEST_CASE("a PUSH passes its stages in order: host, core, wire, peer, and back to its CQE") {
  const Exchange exchange = traced_events();
  check_stages_of_push(exchange.events, arrows(exchange.events).rbegin()->second);
}

TEST_CASE("frames of two queue pairs of UC that have one number are on the arrows of both") {
  const TemporaryFile file;
  constexpr uint32_t kWorks = 3;  // of each
  {
    Tracer tracer(file.path, [](const std::string& line) { FAIL(line); });
    TestbedOptions options = options_for("dc-25g");
    options.observer = &tracer;
    Pair pair(options);
    const Region source = source_of(pair.left, 100);
    const Region sink = sink_of(pair.right, 100);
    QueuePairOptions unreliable;
    unreliable.service = EXRNIC_SERVICE_UC;
    std::vector<QueuePair> senders;
    for (uint32_t i = 0; i < 2; ++i) {
      senders.push_back(
          pair.left.rnic.create_qp(40 + i, Side::kPage, Side::kPd, pair.left.cq, unreliable));
      const QueuePair to =
          pair.right.rnic.create_qp(50 + i, Side::kPage, Side::kPd, pair.right.cq, unreliable);
      pair.left.rnic.connect(senders[i], 1, 50 + i);
      pair.right.rnic.connect(to, 0, 40 + i);
    }
    for (uint32_t i = 0; i < 2 * kWorks; ++i) {
      pair.left.rnic.post(senders[i % 2], testing::Push{&source, 0, 100, sink.stag, sink.base});
      REQUIRE(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    }
    pair.testbed.run_until([] { return false; }, 1'000'000);
  }
  const std::vector<json> events = events_of(file.path);
  const auto all = arrows(events);
  CHECK(all.size() == 2 * kWorks);
  for (const auto& [id, arrow] : all) {
    CAPTURE(id);
    CHECK_FALSE(stages(events, arrow, "frame_out", 0).empty());
    CHECK_FALSE(stages(events, arrow, "completion", 0).empty());
  }
}

TEST_CASE("messages of a port are on no arrow of the queue pair that has its number") {
  const TemporaryFile file;
  const auto log = [](const std::string& line) { FAIL(line); };
  {
    Tracer tracer(file.path, log);
    TestbedOptions options = options_for("dc-25g");
    options.observer = &tracer;
    Pair pair(options);
    Port here{pair.left.rnic, Pair::kLeftQpn};
    Port there{pair.right.rnic, 1};
    here.open(1, 1, 0);
    there.open(0, Pair::kLeftQpn, 0);
    pair.testbed.run_until([] { return false; }, 10'000'000);
    REQUIRE(here.linked());
    const Region source = source_of(pair.left, 64);
    const Region sink =
        pair.right.rnic.create_region(kSinkStag, Side::kPd, kSinkBase, 64,
                                      EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE);
    Work work;
    work.opcode = EXRNIC_WQE_OPCODE_PUSH;
    work.elements = {element(source, 0, 64)};
    work.remote_stag = sink.stag;
    work.remote_to = sink.base;
    Exchange exchange;
    post_and_wait(pair, work, exchange);
    here.ring(1);
    pair.testbed.run_until([] { return false; }, 10'000'000);
    CHECK(there.bells() == 1);
    post_and_wait(pair, work, exchange);
    CHECK(tracer.works() == 2);
  }
  const std::vector<json> events = events_of(file.path);
  const auto all = arrows(events);
  REQUIRE(all.size() == 2);
  for (const auto& [id, arrow] : all) {
    CAPTURE(id);
    check_stages_of_push(events, arrow);
    CHECK(stages(events, arrow, "submit", 0).size() == 1);
    CHECK_FALSE(stages(events, arrow, "frame_out", 0).empty());
  }
}

TEST_CASE("times are those of the simulator: the doorbell's store, and the CQE as it was seen") {
  const Exchange exchange = traced_events();
  const auto all = arrows(exchange.events);
  const std::vector<json>& push = all.rbegin()->second;
  CHECK(picoseconds(push.front()["ts"]) / 1000 == exchange.posted_ns);
  CHECK(picoseconds(push.back()["ts"]) / 1000 == exchange.completed_ns);
}

TEST_CASE("a message's end at the peer, and a PULL's way back, are on their arrows") {
  const Exchange exchange = traced_events();
  const auto all = arrows(exchange.events);
  const auto first = all.begin();
  CHECK_FALSE(stages(exchange.events, first->second, "message_end", 1).empty());
  CHECK_FALSE(stages(exchange.events, first->second, "cqe", 1).empty());
  const std::vector<json>& pull = std::next(first)->second;
  CHECK_FALSE(stages(exchange.events, pull, "frame_out", 1).empty());
  CHECK_FALSE(stages(exchange.events, pull, "message_end", 0).empty());
}

TEST_CASE("a frame's span is as long as its way on the wire; one that is lost has none") {
  FaultConfig faults;
  faults.script[2] = Fault::kDrop;
  const auto count = [](const Exchange& exchange, const char* phase, const char* name) {
    size_t frames = 0;
    for (const json& event : exchange.events)
      if (event["ph"] == phase && event["name"] == name) ++frames;
    return frames;
  };
  const Exchange exchange = traced_events(faults);
  CHECK(arrows(exchange.events).size() == exchange.works);
  CHECK(count(exchange, "b", "frame") == count(exchange, "e", "frame"));
  CHECK(count(exchange, "X", "frame_out") == count(exchange, "X", "frame_in") + 1);
}

TEST_CASE("mailbox commands of the driver are drawn with their length") {
  const Exchange exchange = traced_events();
  size_t commands = 0;
  for (const json& event : exchange.events) {
    if (event["ph"] != "X" || event["name"] != "command") continue;
    ++commands;
    CHECK(event["dur"] > 0);
    CHECK(event["args"]["status"] == EXRNIC_MBOX_STATUS_OK);
  }
  CHECK(commands >= 4);
}

TEST_CASE("a trace that cannot be written costs one line, and the exchange goes on") {
  for (const std::string path : {"no/such/folder/trace.json", "/dev/full"}) {
    CAPTURE(path);
    const Exchange exchange = traced(path);
    REQUIRE(exchange.logged.size() == 1);
    CHECK(exchange.logged[0].find(path) != std::string::npos);
  }
}

}  // namespace
}  // namespace exrnic::testing
