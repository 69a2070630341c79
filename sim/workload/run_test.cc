// SPDX-License-Identifier: BSD-2-Clause
#include "sim/workload/run.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "rtl-model/ref/ref_core.h"
#include "sim/profile/profile.h"
#include "sim/testing/fake_core.h"
#include "sim/topology/topology.h"

namespace exrnic::workload {
namespace {

using Json = nlohmann::json;

Results run(const Json& traffic, const std::string& topology = "two-levels:8", unsigned threads = 1,
            const FaultConfig& faults = {}) {
  TestbedOptions options;
  options.profile = load_profile("dc-25g");
  options.topology = load_topology(topology, 2);
  options.threads = threads;
  options.faults = faults;
  const Json json = {{"name", "test"}, {"traffic", traffic}};
  const Workload workload =
      parse_workload(json.dump(), "w.json", network_of(options.profile, *options.topology));
  Testbed testbed(options, make_ref_core);
  Run run(testbed, workload, "w.json");
  REQUIRE(run.run([] { return true; }));
  return run.results();
}

TEST_CASE(
    "every operation of every service ends, and each message that takes a receive finds one") {
  struct Case {
    const char* operation;
    const char* service;
    bool receives;
  };
  for (const Case& item :
       {Case{"push", "rc", false}, Case{"push-imm", "rc", true}, Case{"pull", "rc", false},
        Case{"send", "rc", true}, Case{"send-imm", "rc", true}, Case{"fetch-add", "rc", false},
        Case{"compare-swap", "rc", false}, Case{"push", "uc", false}, Case{"send", "uc", true},
        Case{"send-imm", "ud", true}}) {
    INFO(item.operation << " of " << item.service);
    const Results results = run({{{"pattern", "all-to-all"},
                                  {"operation", item.operation},
                                  {"service", item.service},
                                  {"bytes", 8},
                                  {"messages", 3},
                                  {"outstanding", 2}}});
    CHECK(results.unfinished() == 0);
    CHECK(results.flows().size() == 8 * 7);
    const TrafficResult sum = results.traffic().at(0);
    CHECK(sum.summary.ended == 3 * 8 * 7);
    CHECK(sum.summary.bytes == 3 * 8 * 7 * 8);
    CHECK(sum.received == (item.receives ? 3 * 8 * 7 : 0));
  }
}

TEST_CASE("eight senders share the line of an incast's target") {
  const Results results =
      run({{{"pattern", "incast"}, {"operation", "push"}, {"bytes", 1 << 18}, {"target", 0}}},
          "star:9");
  const TrafficResult sum = results.traffic().at(0);
  CHECK(sum.summary.ended == 8);
  const double bits_per_ns = 8.0 * (1 << 18) * 8 / sum.summary.end_ns;
  CHECK(bits_per_ns > 15);  // of 25, with headers, and what congestion control leaves
  CHECK(bits_per_ns < 25);
}

TEST_CASE("a step of a ring all-reduce waits for the one before") {
  const Results results =
      run({{{"pattern", "ring-all-reduce"}, {"operation", "push-imm"}, {"bytes", 8 * 1000}}});
  const TrafficResult sum = results.traffic().at(0);
  CHECK(sum.received == 8 * 14);
  // Each takes the PCIe link, the core and two lines or more: 1 us is too little.
  CHECK(sum.summary.end_ns > 14 * 1000);
}

TEST_CASE("both children of a tree's root hear at once, not one after the other") {
  const Results results =
      run({{{"pattern", "tree-all-reduce"}, {"operation", "send"}, {"bytes", 8}}}, "star:3");
  double starts[3] = {};
  for (const FlowResult& flow : results.flows())
    if (flow.from == 0) starts[flow.to] = flow.summary.start_ns;
  CHECK(starts[1] > 0);
  CHECK(starts[2] == starts[1]);
}

TEST_CASE("the sum of a traffic begins with the first flow that has begun") {
  FaultConfig faults;
  faults.rates.drop = 1;  // so the root never hears of its children
  const Results results = run(
      {{{"pattern", "tree-all-reduce"}, {"operation", "send"}, {"bytes", 8}, {"start_ns", 5000}}},
      "star:3", 1, faults);
  CHECK(results.unfinished() != 0);
  CHECK(results.traffic().at(0).summary.start_ns >= 5000);
}

TEST_CASE("an open loop goes on while messages wait, and a busy line makes them late") {
  const auto with_rate = [](unsigned megabits_per_second) {
    return run({{{"pattern", "incast"},
                 {"operation", "send"},
                 {"bytes", 1000},
                 {"messages", 200},
                 {"target", 3},
                 {"megabits_per_second", megabits_per_second}}},
               "star:4")
        .traffic()
        .at(0)
        .summary;
  };
  const Summary calm = with_rate(1'000), busy = with_rate(20'000);
  CHECK(calm.ended == 600);
  CHECK(busy.ended == 600);
  CHECK(calm.end_ns > 199 * 8'000);
  CHECK(busy.p99_ns > 2 * calm.p99_ns);
}

TEST_CASE("results are those of one thread, with faults too") {
  const Json traffic = {
      {{"pattern", "random"},
       {"operation", "send"},
       {"sizes", {{{"bytes", 100}, {"share", 5}}, {{"bytes", 5000}, {"share", 1}}}},
       {"messages", 30},
       {"outstanding", 3}},
      {{"pattern", "permutation"}, {"operation", "pull"}, {"bytes", 9000}}};
  FaultConfig faults;
  faults.rates.drop = 0.01;
  const std::string alone = run(traffic, "two-levels:12", 1, faults).csv();
  CHECK(run(traffic, "two-levels:12", 2, faults).csv() == alone);
  CHECK(run(traffic, "two-levels:12", 3, faults).csv() == alone);
}

TEST_CASE("CSV and JSON say the same of each flow") {
  const Results results =
      run({{{"pattern", "incast"}, {"operation", "push"}, {"bytes", 100}, {"target", 1}}});
  const std::string csv = results.csv();
  CHECK(csv.rfind("traffic,from,to,messages,ended,failed,bytes,start_ns,end_ns,p50_ns,p90_ns,",
                  0) == 0);
  CHECK(csv.find("\n0,0,1,1,1,0,100,0.0,") != std::string::npos);
  const auto json = results.json();
  CHECK(json.at("flows").size() == 7);
  CHECK(json.at("flows").at(6).at("from") == 7);
  CHECK(json.at("traffic").at(0).at("bytes") == 700);
  CHECK(results.text().rfind("incast of push: 7 flows, 7 messages, 700 bytes, 0 failed, in ", 0) ==
        0);
}

// A fake core answers each register with what the test has put there.
std::string trouble_with(uint64_t status, uint64_t mailbox) {
  TestbedOptions options;
  options.profile = load_profile("dc-25g");
  const Json json = {
      {"name", "test"},
      {"traffic", {{{"pattern", "incast"}, {"operation", "push"}, {"bytes", 8}, {"target", 0}}}}};
  const Workload workload =
      parse_workload(json.dump(), "w.json", network_of(options.profile, back_to_back()));
  FakeCores cores;
  Testbed testbed(options, cores.factory());
  for (FakeCore* core : cores.cores) {
    core->registers[EXRNIC_REG_STATUS] = status;
    core->registers[EXRNIC_REG_MBOX_STATUS] = mailbox;
  }
  Run run(testbed, workload, "w.json");
  try {
    run.run([] { return true; });
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("an RNIC that is never ready, or whose mailbox stays busy, ends the run with its name") {
  CHECK(trouble_with(0, EXRNIC_MBOX_STATUS_OK) ==
        "node 0 cannot be set up for the workload: it is not ready after 10 ms of simulated time");
  CHECK(trouble_with(EXRNIC_DEVICE_STATUS_READY, EXRNIC_MBOX_STATUS_BUSY) ==
        "node 0 cannot be set up for the workload: mailbox command " +
            std::to_string(EXRNIC_MBOX_OP_CREATE_CQ) +
            " has not ended after 10 ms of simulated time");
}

}  // namespace
}  // namespace exrnic::workload
