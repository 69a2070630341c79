// SPDX-License-Identifier: BSD-2-Clause
#include "sim/app/waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace exrnic {
namespace {

using Json = nlohmann::ordered_json;

Json busiest(const Testbed& testbed) {
  const auto worked = testbed.worked_s();
  std::vector<std::pair<std::string, double>> all(worked.begin(), worked.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  Json json = Json::object();
  for (size_t i = 0; i < std::min(all.size(), kMostNamed); ++i) json[all[i].first] = all[i].second;
  return json;
}

double share(const Json& part, const char* what) {
  double all = 0;
  for (const auto& [kind, seconds] : part["total_s"].items()) all += seconds.get<double>();
  return all > 0 ? part["total_s"][what].get<double>() / all : 0;
}

}  // namespace

Json waiting_of(const Testbed& testbed, const Ranks* ranks, TimeUse::Clock::time_point start) {
  unsigned nodes = 0;
  for (unsigned id = 0; id < testbed.nodes(); ++id) nodes += testbed.has(id) ? 1 : 0;
  unsigned switches = 0;
  for (size_t i = 0; i < testbed.fabric().switches(); ++i)
    switches += testbed.fabric().has_switch(i) ? 1 : 0;
  Json json = {
      {"rank", ranks == nullptr ? 0 : ranks->rank()}, {"nodes", nodes}, {"switches", switches}};
  const TimeUse use = ranks == nullptr ? TimeUse(start) : ranks->time_use();
  json.update(use.to_json(TimeUse::Clock::now()));
  json["worked_s"] = busiest(testbed);
  return json;
}

std::string waiting_text(const std::vector<Json>& parts) {
  std::string text;
  for (const Json& part : parts) {
    text += fmt::format("rank {}:", part["rank"].get<unsigned>());
    for (const char* what : TimeUse::kNames)
      text += fmt::format("{} {} {:.0f} %", what == TimeUse::kNames[0] ? "" : ",", what,
                          100 * share(part, what));
    if (!part["worked_s"].empty()) {
      const auto& most = part["worked_s"].begin();
      text += fmt::format("; busiest: {}, {:.3g} s", most.key(), most->get<double>());
    }
    text += '\n';
  }
  if (parts.size() < 2) return text;
  const auto slowest = std::max_element(
      parts.begin(), parts.end(),
      [](const Json& a, const Json& b) { return share(a, "work") < share(b, "work"); });
  return text + fmt::format("the others have waited most for rank {}\n",
                            (*slowest)["rank"].get<unsigned>());
}

}  // namespace exrnic
