// SPDX-License-Identifier: BSD-2-Clause
#include "sim/workload/workload.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "sim/files/data_file.h"
#include "sim/workload/plan.h"

namespace exrnic::workload {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using Json = nlohmann::json;

Network eight_nodes() { return {std::vector<uint64_t>(8, 25'000)}; }

// A file with one traffic, in which some keys are set anew.
Json file(const std::string& pattern, const Json& changes = Json::object()) {
  Json traffic = {{"pattern", pattern}, {"operation", "send"}, {"bytes", 4096}};
  traffic.update(changes);
  return {{"name", "test"}, {"traffic", {traffic}}};
}

Workload parsed(const Json& json, const Network& network = eight_nodes()) {
  return parse_workload(json.dump(), "w.json", network);
}

void refused(const Json& json, const std::string& why, const Network& network = eight_nodes()) {
  INFO(json);
  CHECK_THROWS_MATCHES(parsed(json, network), DataFileError,
                       MessageMatches(ContainsSubstring(why)));
}

Plan planned(const Json& json) { return Plan(parsed(json), 8, "w.json"); }

TEST_CASE("a workload says what it means, and the rest is by default") {
  const Workload workload =
      parsed({{"name", "x"},
              {"seed", 7},
              {"mtu", 4096},
              {"traffic",
               {{{"pattern", "random"},
                 {"operation", "push-imm"},
                 {"sizes", {{{"bytes", 1}, {"share", 3}}, {{"bytes", 2}, {"share", 1}}}},
                 {"megabits_per_second", 25'000},
                 {"arrivals", "poisson"}}}}});
  CHECK(workload.seed == 7);
  CHECK(workload.mtu == 4096);
  const Traffic& traffic = workload.traffic.at(0);
  CHECK(traffic.operation == EXRNIC_WQE_OPCODE_PUSH_IMM);
  CHECK(traffic.sizes.at(0).share == 3);
  CHECK(traffic.poisson);
  CHECK(traffic.nodes() == 8);
  CHECK(traffic.messages == 1);
  CHECK(parsed(file("permutation")).traffic.at(0).outstanding == 1);
}

TEST_CASE("what a workload cannot be is refused by key and value") {
  refused(file("gossip"), "'traffic[0].pattern' is \"gossip\"; give one of \"incast\", ");
  refused(file("incast"), "key 'traffic[0].target' is missing");
  refused(file("incast", {{"target", 8}}), "'traffic[0].target' is 8; give a whole number in 0..7");
  refused(file("all-to-all", {{"last_node", 8}}), "'traffic[0].last_node' is 8");
  refused(file("all-to-all", {{"first_node", 5}, {"last_node", 5}}),
          "'traffic[0]' is of node 5 to node 5");
  refused(file("permutation", {{"megabits_per_second", 25'001}}),
          "'traffic[0].megabits_per_second' is 25001; give a whole number in 1..25000");
  refused(file("permutation", {{"megabits_per_second", 1}, {"outstanding", 2}}),
          "'traffic[0].outstanding' is unknown");
  refused(file("permutation", {{"arrivals", "even"}}), "'traffic[0].arrivals' is unknown");
  refused(file("permutation", {{"bytes", 0}}), "'traffic[0].bytes' is 0");
  refused(file("permutation", {{"service", "ud"}}),
          "'traffic[0].bytes' is 4096; give a whole "
          "number in 1..1024");
  refused(file("permutation", {{"service", "ud"}, {"operation", "push"}}),
          "'traffic[0].operation' is \"push\"; give one that this service takes");
  refused(file("ring-all-reduce", {{"operation", "push"}}), "that the peer notices");
  refused(file("tree-all-reduce", {{"messages", 2}}), "'traffic[0].messages' is unknown");
  refused(file("permutation", {{"sizes", Json::array()}}), "'traffic[0].sizes' is unknown");
  refused({{"name", "x"}, {"traffic", Json::array()}}, "'traffic' is []; give 1 to 256 objects");
  Network slow = eight_nodes();
  slow.megabits_per_second[3] = 1'000;
  refused(file("permutation", {{"megabits_per_second", 1'001}}), "1..1000", slow);
  parsed(file("permutation", {{"megabits_per_second", 1'001}, {"first_node", 4}}), slow);
}

TEST_CASE("in a permutation everybody sends to one other, and hears one") {
  const Plan plan = planned(file("permutation", {{"messages", 3}}));
  std::set<uint32_t> heard;
  for (unsigned node = 0; node < 8; ++node) {
    const Endpoint& endpoint = plan.endpoints(node).at(0);
    REQUIRE(endpoint.messages.size() == 3);
    CHECK(endpoint.messages[0].to != node);
    CHECK(endpoint.messages[2].to == endpoint.messages[0].to);
    heard.insert(endpoint.messages[0].to);
  }
  CHECK(heard.size() == 8);
}

TEST_CASE("both ends of a connection know each other's queue pair, in each traffic their own") {
  Json json = file("all-to-all");
  json["traffic"].push_back(file("incast", {{"target", 3}})["traffic"][0]);
  const Plan plan = planned(json);
  for (unsigned node = 0; node < 8; ++node) {
    CHECK(plan.endpoints(node).at(0).peers.size() == 7);
    CHECK(plan.endpoints(node).at(1).peers.size() == (node == 3 ? 7 : 1));
    std::set<uint32_t> numbers;
    for (unsigned traffic : {0, 1})
      for (const unsigned peer : plan.endpoints(node).at(traffic).peers)
        CHECK(numbers.insert(plan.qpn(traffic, node, peer)).second);
    CHECK(*numbers.begin() == Plan::kFirstQpn);
  }
  CHECK(plan.endpoints(3).at(1).expects == std::vector<uint32_t>(7, 1));
}

TEST_CASE("of an all-reduce each node hears as much as all need, whoever it is") {
  for (const char* pattern : {"ring-all-reduce", "tree-all-reduce"}) {
    const Plan plan = planned(file(pattern));
    uint64_t sent = 0, bytes = 0;
    for (unsigned node = 0; node < 8; ++node) {
      const Endpoint& endpoint = plan.endpoints(node).at(0);
      sent += endpoint.messages.size();
      for (const Message& message : endpoint.messages) {
        bytes += message.bytes;
        CHECK(message.needs <=
              std::accumulate(endpoint.expects.begin(), endpoint.expects.end(), 0u));
      }
    }
    CHECK(sent == (pattern[0] == 'r' ? 8 * 14 : 2 * 7));
    CHECK(bytes == 14 * 4096);
  }
}

TEST_CASE("an open loop has its rate, and a drawn size comes as often as its share says") {
  const Json sizes = {{{"bytes", 1000}, {"share", 9}}, {{"bytes", 10'000}, {"share", 1}}};
  Json json = file("random", {{"sizes", sizes},
                              {"messages", 20'000},
                              {"megabits_per_second", 8'000},
                              {"arrivals", "poisson"}});
  json["traffic"][0].erase("bytes");
  const Plan plan = planned(json);
  const std::vector<Message>& messages = plan.endpoints(2).at(0).messages;
  uint64_t bytes = 0;
  for (const Message& message : messages) bytes += message.bytes;
  CHECK(bytes > 37'000'000);  // 38 million are expected
  CHECK(bytes < 39'000'000);
  CHECK(messages.back().at_ns > bytes * 97 / 100);  // a byte is a nanosecond
  CHECK(messages.back().at_ns < bytes * 103 / 100);
}

TEST_CASE("more queue pairs than a node has are refused by its number") {
  const Network network{std::vector<uint64_t>(1025, 25'000)};
  const Workload workload = parsed(file("all-to-all"), network);
  CHECK_THROWS_MATCHES(Plan(workload, 1025, "w.json"), DataFileError,
                       MessageMatches(ContainsSubstring(
                           "node 0 would need 1024 queue pairs, and has 1023; take fewer nodes")));
}

TEST_CASE(
    "more messages than memory has room for, and moments that time does not have, are refused") {
  Json json = file("all-to-all", {{"messages", 1'000'000}});
  json["traffic"].push_back(json["traffic"][0]);
  CHECK_THROWS_MATCHES(
      planned(json), DataFileError,
      MessageMatches(ContainsSubstring("it has 112000000 messages; at most 100000000")));
  const char* arrivals = GENERATE("even", "poisson");
  CHECK_THROWS_MATCHES(
      planned(file("permutation", {{"bytes", 1'000'000'000},
                                   {"messages", 200},
                                   {"megabits_per_second", 1},
                                   {"arrivals", arrivals}})),
      DataFileError,
      MessageMatches(ContainsSubstring("the last message of traffic[0] would be due")));
}

TEST_CASE("arrivals by chance begin at no moment of all") {
  const Plan plan =
      planned(file("permutation", {{"megabits_per_second", 1'000}, {"arrivals", "poisson"}}));
  std::set<uint64_t> moments;
  for (unsigned node = 0; node < 8; ++node)
    moments.insert(plan.endpoints(node).at(0).messages.at(0).at_ns);
  CHECK(moments.size() == 8);
}

}  // namespace
}  // namespace exrnic::workload
