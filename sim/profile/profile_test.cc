// SPDX-License-Identifier: BSD-2-Clause
#include "sim/profile/profile.h"

#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/testing/temp_dir.h"
#include "sim/topology/topology.h"

namespace exrnic {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

constexpr char kGood[] = R"({
  "name": "n", "description": "d", "core": {"data_bits": 256, "clock_khz": 250000},
  "host": {"instruction_ns": 4},
  "pcie": {"generation": 3, "lanes": 8, "bytes_per_us": 1000, "latency_ns": 1,
           "max_payload_bytes": 128, "max_read_bytes": 512, "host_load_ns": 2, "host_memory_ns": 3},
  "ethernet": {"megabits_per_second": 8000, "latency_ns": 4, "two_nodes": "switch",
               "switch_latency_ns": 5, "switch_forwarding": "cut-through", "flow_control": "none",
               "switch_queue_bytes": 65536, "switch_mark_bytes": 20000}
})";

// kGood with the value at a JSON pointer replaced.
std::string with(const std::string& pointer, const nlohmann::json& value) {
  auto json = nlohmann::json::parse(kGood);
  json[nlohmann::json::json_pointer(pointer)] = value;
  return json.dump();
}

void refused(const std::string& text, const std::string& because) {
  INFO(text);
  CHECK_THROWS_MATCHES(parse_profile(text, "profile x"), DataFileError,
                       MessageMatches(ContainsSubstring("profile x: ") &&
                                      ContainsSubstring(because) && !ContainsSubstring("\n")));
}

TEST_CASE("a profile's values arrive where they belong") {
  const Profile profile = parse_profile(kGood, "test");
  CHECK(profile.name == "n");
  CHECK(profile.data_bits == 256);
  CHECK(profile.clock_khz == 250'000);
  CHECK(profile.pcie_generation == 3);
  CHECK(profile.pcie_lanes == 8);
  CHECK(profile.pcie.bytes_per_us == 1000);
  CHECK(profile.pcie.latency_ns == 1);
  CHECK(profile.pcie.max_payload == 128);
  CHECK(profile.pcie.max_read == 512);
  CHECK(profile.pcie.host_load_ns == 2);
  CHECK(profile.pcie.host_memory_ns == 3);
  CHECK(profile.ethernet.megabits_per_second == 8000);
  CHECK(profile.ethernet.latency_ns == 4);
  CHECK(profile.two_nodes_switched);
  CHECK(profile.ethernet_switch.latency_ns == 5);
  CHECK(profile.ethernet_switch.cut_through);
  CHECK(profile.ethernet_switch.queue_bytes == 65536);
  CHECK(profile.ethernet_switch.mark_bytes == 20000);
  CHECK_FALSE(profile.ethernet_switch.flow_control);
  CHECK(profile.ethernet.buffer_bytes == 0);
}

TEST_CASE("with credits the queue's size is that of the buffer at the end of each line") {
  const Profile profile = parse_profile(with("/ethernet/flow_control", "credits"), "test");
  CHECK(profile.ethernet_switch.flow_control);
  CHECK(profile.ethernet.buffer_bytes == 65536);
}

TEST_CASE("every profile of the product loads, under the name of its file") {
  const auto names = profile_names();
  CHECK(names == std::vector<std::string>{"dc-25g", "expether-gbe", "ntb-gen3x8", "rhinet2"});
  for (const std::string& name : names) CHECK(load_profile(name).name == name);
}

TEST_CASE("a wrong value is refused with its key, its value and what may stand there") {
  refused(with("/core/data_bits", 512), "'core.data_bits' is 512; give a whole number in 128..256");
  refused(with("/core/clock_khz", 0), "'core.clock_khz' is 0; give a whole number in 1000..");
  refused(with("/pcie/bytes_per_us", -3), "'pcie.bytes_per_us' is -3; give a whole number");
  refused(with("/pcie/bytes_per_us", 1.5), "'pcie.bytes_per_us' is 1.5");
  refused(with("/pcie/latency_ns", "1"), "'pcie.latency_ns' is \"1\"");
  refused(with("/pcie/max_payload_bytes", 200), "a power of two in 128..4096");
  refused(with("/ethernet/megabits_per_second", 12), "a multiple of 8");
  refused(with("/ethernet/two_nodes", "hub"), "one of \"back-to-back\", \"switch\"");
  refused(with("/ethernet/flow_control", "pause"), "one of \"none\", \"credits\"");
  refused(with("/ethernet/switch_forwarding", 1), "one of \"store-and-forward\", \"cut-through\"");
  refused(with("/ethernet/switch_queue_bytes", 100), "a whole number in 16384..");
  refused(with("/ethernet/switch_mark_bytes", -1), "a whole number in 0..");
  refused(with("/name", ""), "'name' is \"\"; give a text");
  refused(with("/pcie", 3), "pcie is not a JSON object");
  refused("[]", "the whole file is not a JSON object");
}

TEST_CASE("a missing key and an unknown key are refused by name") {
  refused(with("/pcie/slots", 4), "key 'pcie.slots' is unknown; remove it");
  refused(with("/extra", 4), "key 'extra' is unknown; remove it");
  auto json = nlohmann::json::parse(kGood);
  json["ethernet"].erase("latency_ns");
  refused(json.dump(), "key 'ethernet.latency_ns' is missing; add it");
}

TEST_CASE("text that is not JSON is refused with the place") {
  refused("{\"name\": }", "not JSON at byte 10");
  refused("", "not JSON at byte 1");
}

TEST_CASE("a number that no computer holds is refused, and shown") {
  refused("{\"name\": 104E576}", "'104E576'; take a number of a sensible size");
}

TEST_CASE("a key that stands twice in its object is refused, not taken from one of the places") {
  std::string text = kGood;
  text.insert(text.find("\"latency_ns\": 4"), "\"latency_ns\": 7, ");
  refused(text, "key 'latency_ns' stands twice in one object; remove one");
  refused(R"({"name": "a", "name": "a"})", "key 'name' stands twice");
  CHECK_NOTHROW(parse_json(R"([{"a": 1, "b": {"a": 2}}, {"a": 3}])", "x"));
}

TEST_CASE("what is nested without end is refused before it takes memory") {
  CHECK_THROWS_MATCHES(parse_profile(std::string(100'000'000, '['), "profile x"), DataFileError,
                       MessageMatches(ContainsSubstring("lie in each other more than 8 deep")));
  std::string objects;
  for (int i = 0; i < 9; ++i) objects += "{\"a\":";
  refused(objects, "lie in each other more than 8 deep");
  CHECK_NOTHROW(parse_json("[[[[[[[[]]]]]]]]", "x"));
}

TEST_CASE("a value that is long is shown by its beginning") {
  refused(with("/pcie/latency_ns", std::string(1'000, 'x')), "xxx...; give a whole number");
  refused(with("/name", nlohmann::json::array({"\u00e9"})), "'name' is [\"\\u00e9\"]; give a text");
}

TEST_CASE("a file is refused at once when it is no regular one, or too large") {
  TempDir dir;
  const auto unreadable = [&](const std::string& because) {
    for (const auto& load : {+[](const std::string& path) { load_profile(path); },
                             +[](const std::string& path) { load_topology(path, 2); }}) {
      CHECK_THROWS_MATCHES(load(dir / "x.json"), DataFileError,
                           MessageMatches(ContainsSubstring(because) && !ContainsSubstring("\n")));
    }
  };
  REQUIRE(::mkfifo((dir / "x.json").c_str(), 0600) == 0);
  unreadable("cannot be read: it is no regular file");
  fs::remove(dir / "x.json");
  fs::create_symlink("/dev/zero", dir / "x.json");
  unreadable("cannot be read: it is no regular file");
  fs::remove(dir / "x.json");
  std::ofstream(dir / "x.json") << ' ';
  fs::resize_file(dir / "x.json", uintmax_t{1} << 40);
  unreadable("it has more than 4194304 bytes");
}

TEST_CASE("a missing profile is refused with the names to choose from") {
  CHECK_THROWS_MATCHES(
      load_profile("dc-100g"), DataFileError,
      MessageMatches(ContainsSubstring("no profile 'dc-100g'; take one of dc-25g, expether-gbe")));
  CHECK_THROWS_MATCHES(load_profile("/nowhere/p.json"), DataFileError,
                       MessageMatches(ContainsSubstring("profile /nowhere/p.json: no such file")));
  CHECK_THROWS_MATCHES(load_profile("/"), DataFileError,
                       MessageMatches(ContainsSubstring("cannot be read")));
}

}  // namespace
}  // namespace exrnic
