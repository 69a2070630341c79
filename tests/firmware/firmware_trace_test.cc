// SPDX-License-Identifier: BSD-2-Clause
// Firmware in the trace: what it does for a peer is on the arrow of the peer's work request.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <string>
#include <vector>

#include "sim/trace/tracer.h"
#include "tests/support/exchange.h"
#include "tests/support/firmware.h"
#include "tests/support/trace_events.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kAtomicAt = 0xb;

// Left works with right, whose firmware answers.
TraceEvents traced(const std::vector<Work (*)(Exchange&)>& works,
                   exrnic_pull_mode mode = EXRNIC_PULL_MODE_FIRMWARE) {
  const TemporaryFile file;
  {
    Tracer tracer(file.path, [](const std::string& line) { FAIL(line); });
    TestbedOptions options = options_for("dc-25g");
    options.observer = &tracer;
    Exchange e(20'000, {}, options);
    start_firmware(e.right.rnic, EXRNIC_FIRMWARE);
    e.right.rnic.write_register(EXRNIC_REG_PULL_MODE, mode);
    for (const auto& work : works) {
      e.right.receive({element(e.right.near, 0, 64)});
      e.left.post(work(e));
      REQUIRE(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
      e.rest();
    }
    CHECK(tracer.works() == works.size());
  }
  const TraceEvents events = events_of(file.path);
  CHECK(perfetto_complaints(events) == std::vector<std::string>());
  return events;
}

Work pull(Exchange& e) { return pull_of({element(e.left.near, 0, 3000)}, 0); }
Work add(Exchange& e) { return fetch_add_of(element(e.left.near, 0, 8), kAtomicAt, 1); }
Work send(Exchange& e) { return send_of({element(e.left.near, 0, 64)}); }

// The point of an arrow on node 1's processor; it has to be one alone.
const nlohmann::json& on_processor(const TraceEvents& arrow) {
  const auto at = [](const nlohmann::json& point) {
    return point["pid"] == 1 && point["tid"] == EXRNIC_TRACE_TRACK_PROCESSOR;
  };
  REQUIRE(std::count_if(arrow.begin(), arrow.end(), at) == 1);
  return *std::find_if(arrow.begin(), arrow.end(), at);
}

TEST_CASE("PULLs by firmware: to the peer, its processor runs, and back to a CQE") {
  const TraceEvents events = traced({pull, pull});
  const auto all = arrows(events);
  REQUIRE(all.size() == 2);
  for (const auto& [id, arrow] : all) {
    CAPTURE(id);
    const auto asked = stages(events, arrow, "segment", 1);
    const auto answered = stages(events, arrow, "frame_out", 1);
    REQUIRE_FALSE(asked.empty());
    REQUIRE_FALSE(answered.empty());
    CHECK(asked.front() < answered.front());
    const uint64_t taken = picoseconds(on_processor(arrow)["ts"]);
    CHECK(taken >= picoseconds(arrow[asked.front()]["ts"]));
    CHECK(taken < picoseconds(arrow[answered.front()]["ts"]));
    CHECK_FALSE(stages(events, arrow, "message_end", 0).empty());
    CHECK_FALSE(stages(events, arrow, "cqe", 0).empty());
  }
}

TEST_CASE("a PULL and an atomic that hardware answers do not pass the processor") {
  const TraceEvents events = traced({pull, add}, EXRNIC_PULL_MODE_HARDWARE);
  const auto all = arrows(events);
  REQUIRE(all.size() == 2);
  for (const auto& [id, arrow] : all)
    for (const nlohmann::json& point : arrow) CHECK(point["tid"] != EXRNIC_TRACE_TRACK_PROCESSOR);
}

TEST_CASE("a SEND behind atomics has its own receive on its arrow, and they have none") {
  const TraceEvents events = traced({add, send, add});
  const auto all = arrows(events);
  REQUIRE(all.size() == 3);
  for (const auto& [id, arrow] : all) {
    CAPTURE(id);
    CHECK(stages(events, arrow, "message_end", 1).empty() == (id != 2));
    CHECK(stages(events, arrow, "cqe", 1).empty() == (id != 2));
  }
}

}  // namespace
}  // namespace exrnic::testing
