// SPDX-License-Identifier: BSD-2-Clause
#include "sim/control/commands.h"

#include <catch2/catch_test_macros.hpp>
#include <random>

#include "exrnic_hw.h"
#include "sim/peb/testing/bus.h"
#include "sim/testing/fake_core.h"

namespace exrnic {
namespace {

using Json = nlohmann::json;

struct Bench {
  // And a PEB's host with two slots, and boxes.
  explicit Bench(unsigned nodes = 2, unsigned boxes = 0,
                 Fabric::Control fabric = Fabric::Control::kStatic) {
    TestbedOptions options;
    options.fabric = fabric;
    if (boxes > 0) options.peb_hosts = {2};
    options.peb_boxes.assign(boxes, [](Scheduler&) { return std::make_unique<peb::TestDevice>(); });
    options.profile = load_profile("dc-25g");
    options.nodes = nodes;
    testbed = std::make_unique<Testbed>(options, cores.factory());
    commands = std::make_unique<ControlCommands>(
        ControlCommands::Context{*testbed, 3, [](unsigned node) { return node == 0; },
                                 [] { return ControlCommands::Json{{"all", 1}}; },
                                 [this](const std::string& line) { log.push_back(line); }});
  }
  Json ask(const std::string& request) { return Json::parse(commands->answer(request)); }
  Json done(const std::string& request) {
    const Json answer = ask(request);
    INFO(answer.dump());
    REQUIRE(answer.at("ok") == true);
    return answer;
  }
  void refused(const std::string& request, const std::string& because) {
    const std::string answer = commands->answer(request);
    INFO(request << "\n" << answer);
    CHECK(answer.find('\n') == std::string::npos);
    const Json json = Json::parse(answer);
    CHECK(json.at("ok") == false);
    CHECK(json.at("error").get<std::string>().find(because) != std::string::npos);
  }
  // Frames that arrive of `count` sent.
  size_t exchange(unsigned from, unsigned to, int count = 1) {
    const size_t before = cores[to].frames_in.size();
    for (int i = 0; i < count; ++i) {
      Frame frame{Bytes(100)};
      exrnic_eth_set_dst(frame.data.data(), mac_address(to));
      exrnic_eth_set_src(frame.data.data(), mac_address(from));
      cores[from].frames_out.push_back(frame);
    }
    testbed->node(from).device().mmio_write(0, 0, 4, 0);
    testbed->run_for(1'000'000);
    return cores[to].frames_in.size() - before;
  }

  FakeCores cores;
  std::unique_ptr<Testbed> testbed;
  std::vector<std::string> log;
  std::unique_ptr<ControlCommands> commands;
};

TEST_CASE("counters are those of the cores, of all nodes or of one") {
  Bench bench;
  bench.cores[1].counters[EXRNIC_COUNTER_FRAMES_RX] = 77;
  for (unsigned node : {0, 1}) {
    for (unsigned i = 0; i < EXRNIC_COUNTERS; ++i) bench.cores[node].counters[i] += node + i;
  }
  const Json all = bench.done(R"({"command": "counters"})");
  REQUIRE(all.at("nodes").size() == 2);
  CHECK(all["nodes"][0]["counters"].size() == EXRNIC_COUNTERS);
  CHECK(all["nodes"][1]["counters"]["frames_rx"] == 77 + 1 + EXRNIC_COUNTER_FRAMES_RX);
  const Json one = bench.done(R"({"command": "counters", "node": 1})");
  CHECK(one.at("nodes") == Json::array({all["nodes"][1]}));
}

TEST_CASE("a link that is cut loses frames and its nodes see it; plugged in, it carries again") {
  Bench bench;
  bench.done(R"({"command": "link", "link": "0-1", "up": false})");
  CHECK(bench.exchange(0, 1) == 0);
  CHECK(bench.exchange(1, 0) == 0);
  CHECK_FALSE(bench.cores[0].link_up);
  CHECK_FALSE(bench.cores[1].link_up);
  const Json status = bench.done(R"({"command": "status"})");
  CHECK(status["links"][0]["up"] == false);
  CHECK(status["links"][0]["lines"][0]["lost_down"] == 1);
  CHECK(status["nodes"][0]["host"] == true);
  CHECK(status["nodes"][1]["host"] == false);
  bench.done(R"({"command": "link", "link": "0-1", "up": true})");
  CHECK(bench.cores[1].link_up);
  CHECK(bench.exchange(0, 1) == 1);
  CHECK(bench.log == std::vector<std::string>{"link node0-node1: down", "link node0-node1: up"});
}

TEST_CASE("faults by hand strike the direction that was named, the same for the same seed") {
  const auto lost = [](const std::string& request) {
    Bench bench;
    bench.done(request);
    return std::pair(bench.exchange(0, 1, 400), bench.exchange(1, 0, 400));
  };
  const auto both = lost(R"({"command": "link", "link": "0-1", "faults": "drop=0.2", "seed": 7})");
  CHECK(both.first > 200);
  CHECK(both.first < 400);
  CHECK(both.second < 400);
  CHECK(both == lost(R"({"command": "link", "link": "1-0", "faults": "drop=0.2", "seed": 7})"));
  CHECK(both != lost(R"({"command": "link", "link": "1-0", "faults": "drop=0.2", "seed": 8})"));
  const auto one =
      lost(R"({"command": "link", "link": "0-1", "faults": "drop=1", "towards": "node1"})");
  CHECK(one == std::pair<size_t, size_t>(0, 400));
}

TEST_CASE("a delay by hand is added to the way of each frame, and taken away again") {
  Bench bench;
  const auto way_ns = [&] {
    uint64_t sent = 0, received = 0;
    bench.testbed->node(0).mac().observe([&](auto, auto&) { sent = bench.testbed->now_ns(); });
    bench.testbed->node(1).mac().observe([&](auto, auto&) { received = bench.testbed->now_ns(); });
    REQUIRE(bench.exchange(0, 1) == 1);
    return received - sent;
  };
  const uint64_t usual = way_ns();
  bench.done(R"({"command": "link", "link": "0-1", "extra_latency_ns": 25000})");
  CHECK(way_ns() == usual + 25000);
  bench.done(R"({"command": "link", "link": "0-1", "extra_latency_ns": 0, "faults": "none"})");
  CHECK(way_ns() == usual);
}

TEST_CASE("a partition keeps groups apart until it is healed, whatever lies between") {
  Bench bench(4);
  bench.done(R"({"command": "partition", "groups": [[0, 1]]})");
  CHECK(bench.exchange(0, 1) == 1);
  CHECK(bench.exchange(2, 3) == 1);
  CHECK(bench.exchange(0, 2) == 0);
  CHECK(bench.exchange(3, 1) == 0);
  CHECK(bench.done(R"({"command": "status"})")["partition"] == Json::parse("[[0, 1]]"));
  bench.done(R"({"command": "partition", "groups": []})");
  CHECK(bench.exchange(0, 2) == 1);
}

TEST_CASE("what is wrong with a request is one clear line, and nothing of it is done") {
  Bench bench;
  bench.refused("", "not JSON at byte");
  bench.refused("{\"command\": \"status\"} x", "not JSON");
  bench.refused("[]", "no JSON object");
  bench.refused("{}", "'command' is missing");
  bench.refused(R"({"command": "quit"})", "'command' is \"quit\"; give one of \"status\"");
  bench.refused(R"({"command": "status", "x": 1})", "'x' is unknown");
  bench.refused(R"({"command": "counters", "node": 2})",
                "'node' is 2; give a whole number in 0..1");
  bench.refused(R"({"command": "counters", "node": -1})", "'node' is -1");
  bench.refused(R"({"command": "link"})", "'link' is missing");
  bench.refused(R"({"command": "link", "link": "0-5", "up": false})", "there is no link '0-5'");
  bench.refused(R"({"command": "link", "link": "0-1"})", "no \"up\", \"faults\" or");
  bench.refused(R"({"command": "link", "link": "0-1", "up": "no"})", "give true or false");
  bench.refused(R"({"command": "link", "link": "0-1", "faults": "drop=2"})", "lies in 0..1");
  bench.refused(R"({"command": "link", "link": "0-1", "seed": 3})", "'seed' is 3; give \"faults\"");
  bench.refused(R"({"command": "link", "link": "0-1", "up": false, "towards": "node1"})",
                "'towards' is \"node1\"");
  bench.refused(R"({"command": "link", "link": "0-1", "faults": "none", "towards": "node7"})",
                "'node7' is no end of the link node0-node1");
  bench.refused(R"({"command": "link", "link": "0-1", "up": false, "faults": "drop=x"})",
                "not a number");
  bench.refused(R"({"command": "link", "link": "0-1", "extra_latency_ns": 1e30})",
                "give a whole number");
  bench.refused(R"({"command": "partition", "groups": [[0], [9]]})", "there is no node 9");
  bench.refused(R"({"command": "partition", "groups": [[0, 0.5]]})", "a list of lists");
  bench.refused(R"({"command": "partition", "groups": 3})", "a list of lists");
  CHECK(bench.exchange(0, 1) == 1);
  CHECK(bench.log.empty());
}

TEST_CASE("no garbage is anything but refused") {
  Bench bench;
  constexpr unsigned kSeed = 1;
  INFO("seed " << kSeed);
  std::mt19937 random(kSeed);
  const std::string good = R"({"command": "link", "link": "0-1", "faults": "drop=0.5", "seed": 7})";
  for (int i = 0; i < 20'000; ++i) {
    std::string spoiled = good;
    for (unsigned hits = 1 + random() % 4; hits > 0; --hits) {
      spoiled[random() % spoiled.size()] = static_cast<char>(random());
    }
    const std::string answer = bench.commands->answer(spoiled);
    REQUIRE(answer.find('\n') == std::string::npos);
    REQUIRE(Json::parse(answer).contains("ok"));
  }
  bench.refused(std::string(16'000, '['), "lie in each other more than 8 deep");
  bench.refused(R"({"command": "status", "command": "link"})", "key 'command' stands twice");
  bench.refused(R"({"command": [[[[[[[1]]]]]]]})", "'command' is [[[[[[[1]]]]]]]; give one of");
}

TEST_CASE("a device is put into a slot, moves to another one, and is taken out") {
  Bench bench(2, 2);
  const auto slots = [&] {
    bench.testbed->run_for(1'000'000);
    return bench.done(R"({"command": "status"})")["slots"];
  };
  const Json empty = {{"host", 2}, {"slot", 0}, {"up", false}};
  CHECK(slots()[0] == empty);
  bench.done(R"({"command": "assign", "host": 2, "device": 4})");
  Json full = {{"host", 2}, {"slot", 0}, {"up", true}, {"device", 4}, {"pci", "1234:5678"}};
  CHECK(slots()[0] == full);
  bench.done(R"({"command": "assign", "host": 2, "slot": 1, "device": 4})");
  CHECK(slots()[0] == empty);
  full["slot"] = 1;
  CHECK(slots()[1] == full);
  bench.done(R"({"command": "assign", "host": 2, "slot": 1, "device": 3})");
  full["device"] = 3;
  CHECK(slots()[1] == full);
  CHECK(bench.done(R"({"command": "assign", "host": 2, "slot": 1})")["done"] == "slot 2.1: empty");
  CHECK(slots()[1]["up"] == false);
}

TEST_CASE("a device that cannot be put there is refused, and nothing changes") {
  Bench bench(2, 1);
  bench.refused(R"({"command": "assign"})", "host");
  bench.refused(R"({"command": "assign", "host": 1, "device": 3})", "host");
  bench.refused(R"({"command": "assign", "host": 2, "slot": 2, "device": 3})", "slot");
  bench.refused(R"({"command": "assign", "host": 2, "device": 2})", "device");
  bench.refused(R"({"command": "assign", "host": 2, "device": 4})", "device");
  bench.refused(R"({"command": "assign", "host": 2, "device": 3, "at": 1})", "at");
  CHECK_FALSE(bench.testbed->peb_host(0).slot(0).peer());
  Bench managed(2, 1, Fabric::Control::kManaged);
  managed.refused(R"({"command": "assign", "host": 2, "device": 3})", "exrnic-fm --assign");
  Bench without;
  without.refused(R"({"command": "assign", "host": 2, "device": 3})", "no node is a host");
}

}  // namespace
}  // namespace exrnic
