// SPDX-License-Identifier: BSD-2-Clause
// What can be asked of a running simulation, and done to it, by requests of one JSON object each:
//
//   {"command": "status"}        time, nodes, slots, links with their faults, partition
//   {"command": "counters"}      of all nodes, since their resets; "node": of one
//   {"command": "statistics"}    all that --stats would write now: counters of the whole run
//   {"command": "link", "link": "0-1", ...}
//        "up": true or false     plug the link in, or cut it
//        "faults": "drop=0.01"   as --faults, or "none"; "seed": of these faults
//        "extra_latency_ns": N   on top of the profile's
//        "towards": "node1"      faults and latency of that direction alone
//   {"command": "partition", "groups": [[0, 1], [2]]}    nodes of no group are one more; []: heal
//   {"command": "assign", "host": 2, ...}     of a node that is a host with a PEB
//        "slot": 0                            of it
//        "device": 4                          the box whose device is in it from now on; none
//                                             without it
//
// The answer is one object: "ok" true and what was asked for, or "ok" false and "error", one line.
// Whatever is wrong with a request, nothing of it is carried out.
//
// Of a simulation by several ranks each has the commands of its own part. All are given the same
// request at the same simulated time; rank 0 has the answer.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/testbed.h"

namespace exrnic {

class ControlCommands {
 public:
  using Json = nlohmann::ordered_json;
  using Log = std::function<void(const std::string& line)>;

  struct Context {
    Testbed& testbed;
    uint64_t seed = 1;                            // of faults that are given none
    std::function<bool(unsigned node)> has_host;  // somebody drives its RNIC
    std::function<Json()> statistics;             // of all ranks, at rank 0
    Log log;                                      // a line for each change
    // At rank 0 what each rank says of its own part; elsewhere nothing.
    std::function<std::vector<Json>(const Json& own)> gather = [](const Json& own) {
      return std::vector<Json>{own};
    };
  };

  explicit ControlCommands(Context context) : context_(std::move(context)) {}

  // The answer to one request, and to a connection that is refused: JSON without a line break.
  std::string answer(const std::string& request);
  static std::string refusal(const std::string& why);

 private:
  Json run(const nlohmann::json& request);
  Json own_status() const;
  Json status() const;
  Json counters(const nlohmann::json& request) const;
  Json change_link(const nlohmann::json& request);
  Json change_partition(const nlohmann::json& request);
  Json assign(const nlohmann::json& request);
  Json slots() const;

  Context context_;
};

}  // namespace exrnic
