// SPDX-License-Identifier: BSD-2-Clause
// Firmware in the trace: what it does for a peer is on the arrow of the peer's work request.
#include <catch2/catch_test_macros.hpp>
#include <memory>

#include "sim/trace/tracer.h"
#include "tests/support/exchange.h"
#include "tests/support/firmware.h"
#include "tests/support/trace_events.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kAtomicAt = 0xb;

// Left works with right, whose firmware answers.
TraceEvents traced(const std::vector<Work (*)(Exchange&)>& works) {
  const TemporaryFile file;
  {
    Tracer tracer(file.path, [](const std::string& line) { FAIL(line); });
    TestbedOptions options = options_for("dc-25g");
    options.tracer = &tracer;
    Exchange e(20'000, {}, options);
    start_firmware(e.right.rnic, EXRNIC_FIRMWARE);
    e.right.rnic.write_register(EXRNIC_REG_PULL_MODE, EXRNIC_PULL_MODE_FIRMWARE);
    for (const auto& work : works) {
      e.right.receive({element(e.right.near, 0, 64)});
      e.left.post(work(e));
      REQUIRE(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
      e.rest();
    }
    CHECK(tracer.works() == works.size());
  }
  return events_of(file.path);
}

Work pull(Exchange& e) { return pull_of({element(e.left.near, 0, 3000)}, 0); }
Work add(Exchange& e) { return fetch_add_of(element(e.left.near, 0, 8), kAtomicAt, 1); }
Work send(Exchange& e) { return send_of({element(e.left.near, 0, 64)}); }

// Whether the processor of node 1 ran at some time between two points of an arrow.
bool ran_between(const TraceEvents& events, const nlohmann::json& from, const nlohmann::json& to) {
  for (const nlohmann::json& event : events) {
    if (event["ph"] != "X" || event["name"] != "runs" || event["pid"] != 1) continue;
    const uint64_t begin = picoseconds(event["ts"]);
    if (begin <= picoseconds(to["ts"]) &&
        begin + picoseconds(event["dur"]) >= picoseconds(from["ts"]))
      return true;
  }
  return false;
}

TEST_CASE("a PULL by firmware and an atomic: to the peer, its processor runs, and back to a CQE") {
  const TraceEvents events = traced({pull, add});
  const auto all = arrows(events);
  REQUIRE(all.size() == 2);
  for (const auto& [id, arrow] : all) {
    CAPTURE(id);
    const auto asked = stages(events, arrow, "segment", 1);
    const auto answered = stages(events, arrow, "frame_out", 1);
    REQUIRE_FALSE(asked.empty());
    REQUIRE_FALSE(answered.empty());
    CHECK(asked.front() < answered.front());
    CHECK(ran_between(events, arrow[asked.front()], arrow[answered.front()]));
    CHECK_FALSE(stages(events, arrow, "message_end", 0).empty());
    CHECK_FALSE(stages(events, arrow, "cqe", 0).empty());
  }
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
