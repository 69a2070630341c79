// SPDX-License-Identifier: BSD-2-Clause
// A trace that a test has written, read back: its events, arrows and slices.
#pragma once

#include <unistd.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace exrnic::testing {

// A file of this test alone, gone with it.
struct TemporaryFile {
  TemporaryFile() : path("trace." + std::to_string(getpid()) + ".json") {}
  ~TemporaryFile() { unlink(path.c_str()); }
  std::string path;
};

inline uint64_t picoseconds(double us) { return static_cast<uint64_t>(std::llround(us * 1e6)); }

using TraceEvents = std::vector<nlohmann::json>;

inline TraceEvents events_of(const std::string& path) {
  std::ifstream file(path);
  const auto document = nlohmann::json::parse(file);  // throws if it is none
  return document.at("traceEvents").get<TraceEvents>();
}

// Points of each arrow, by its id, in the order of the file.
inline std::map<uint64_t, TraceEvents> arrows(const TraceEvents& events) {
  std::map<uint64_t, TraceEvents> found;
  for (const nlohmann::json& event : events)
    if (event["ph"] == "s" || event["ph"] == "t" || event["ph"] == "f")
      found[event["id"]].push_back(event);
  return found;
}

// Names of the slices that begin at a point of an arrow.
inline std::set<std::string> slices_at(const TraceEvents& events, const nlohmann::json& point) {
  std::set<std::string> names;
  for (const nlohmann::json& event : events)
    if (event["ph"] == "X" && event["pid"] == point["pid"] && event["tid"] == point["tid"] &&
        picoseconds(event["ts"]) == picoseconds(point["ts"]))
      names.insert(event["name"]);
  return names;
}

// The places at which an arrow has the slice `name`, as indices of its points.
inline std::vector<size_t> stages(const TraceEvents& events, const TraceEvents& arrow,
                                  const std::string& name, unsigned node) {
  std::vector<size_t> found;
  for (size_t i = 0; i < arrow.size(); ++i)
    if (arrow[i]["pid"] == node && slices_at(events, arrow[i]).count(name)) found.push_back(i);
  return found;
}

}  // namespace exrnic::testing
