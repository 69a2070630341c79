// SPDX-License-Identifier: BSD-2-Clause
// Files that people write: each is taken, or refused in one clear line.
#include <exception>
#include <filesystem>

#include "sim/profile/profile.h"
#include "sim/topology/routes.h"
#include "sim/topology/topology.h"
#include "tests/fuzz/target.h"

namespace exrnic::fuzz {
namespace {

Bytes bytes_of(const std::string& text) { return Bytes(text.begin(), text.end()); }

// Anything but a DataFileError is a finding, as is an error without a text.
template <typename Parse>
void parse(const uint8_t* data, size_t size, Parse parse_text) {
  try {
    parse_text(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const DataFileError& error) {
    if (std::string(error.what()).empty()) found("an error that says nothing");
  } catch (const std::exception& error) {
    found(std::string("not a DataFileError: ") + error.what());
  }
}

}  // namespace

std::vector<Bytes> profile_seeds() {
  std::vector<Bytes> seeds;
  for (const std::string& name : profile_names())
    seeds.push_back(bytes_of(read_data_file(
        std::filesystem::path(EXRNIC_SOURCE_DIR) / "sim/profile/profiles" / (name + ".json"), name,
        "")));
  return seeds;
}

void fuzz_profile(const uint8_t* data, size_t size) {
  parse(data, size, [](const std::string& text) { parse_profile(text, "fuzz"); });
}

std::vector<Bytes> topology_seeds() {
  return {
      bytes_of(R"({"name": "pair", "nodes": 2, "switches": [],
        "links": [{"ends": ["node0", "node1"]}]})"),
      bytes_of(R"({"name": "rooms", "nodes": 2,
        "switches": [{"name": "left", "queue_bytes": 65536, "mark_bytes": 16384},
                     {"name": "right", "latency_ns": 300}],
        "links": [{"ends": ["node0", "left.0"]}, {"ends": ["node1", "right.0"]},
                  {"ends": ["left.1", "right.1"], "megabits_per_second": 10000,
                   "latency_ns": 5000, "faults_towards": {"right.1": "drop=0.001"}}]})"),
      bytes_of(R"({"name": "circle", "nodes": 3,
        "switches": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
        "links": [{"ends": ["node0", "a.0"]}, {"ends": ["node1", "b.0"]},
                  {"ends": ["node2", "c.0"]}, {"ends": ["a.1", "b.2"]},
                  {"ends": ["b.1", "c.2"]}, {"ends": ["c.1", "a.2"]}]})"),
  };
}

void fuzz_topology(const uint8_t* data, size_t size) {
  parse(data, size, [](const std::string& text) {
    const Topology topology = parse_topology(text, "fuzz");
    usable_routes(topology, text.size() % 2 == 0);
    for (const TopologyLink& link : topology.links)
      for (const LinkEnd& end : link.ends)
        if (!(topology.end_named(topology.name_of(end)) == end)) found("an end has no name");
  });
}

}  // namespace exrnic::fuzz
