// SPDX-License-Identifier: BSD-2-Clause
// A trace that a test has written, read back: its events, arrows and slices.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "exrnic_hw.h"

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

// What Perfetto would not show as it is meant (its trace processor: trace_sorter.h,
// slice_tracker.cc, flow_tracker.cc): slices that it drops, and points of arrows that it binds to
// others.
inline std::vector<std::string> perfetto_complaints(const TraceEvents& events) {
  struct Slice {
    uint64_t begin, end;
  };
  const auto ns = [](const nlohmann::json& us) {
    return static_cast<uint64_t>(us.get<double>() * 1000.0);
  };
  std::vector<std::tuple<uint64_t, uint64_t, size_t>> order;  // time; longest first, then others
  for (size_t i = 0; i < events.size(); ++i) {
    if (!events[i].contains("ts")) continue;
    const bool slice = events[i]["ph"] == "X";
    order.emplace_back(ns(events[i]["ts"]), ~(slice ? ns(events[i]["dur"]) : 0), i);
  }
  std::sort(order.begin(), order.end());
  std::map<std::pair<unsigned, unsigned>, std::vector<Slice>> tracks;
  std::vector<std::string> complaints;
  for (const auto& [time, key, i] : order) {
    const nlohmann::json& event = events[i];
    const std::string phase = event["ph"];
    if (phase == "b" || phase == "e") continue;  // each has a track of its own
    std::vector<Slice>& open = tracks[{event["pid"], event["tid"]}];
    if (phase != "X") {
      // The processor runs for as long as there is something to do.
      const bool within = event["tid"] == EXRNIC_TRACE_TRACK_PROCESSOR;
      if (open.empty() || open.back().end <= time || (!within && open.back().begin != time))
        complaints.push_back(event.dump());
      continue;
    }
    while (!open.empty() && open.back().end <= time) open.pop_back();
    if (!open.empty() && time + ~key > open.back().end)
      complaints.push_back(event.dump());
    else
      open.push_back({time, time + ~key});
  }
  return complaints;
}

}  // namespace exrnic::testing
