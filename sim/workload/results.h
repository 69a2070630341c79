// SPDX-License-Identifier: BSD-2-Clause
// How the messages of a workload went: per flow, which is all that one node sends another in one
// traffic, and per traffic.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/workload/host.h"
#include "sim/workload/plan.h"
#include "sim/workload/workload.h"

namespace exrnic::workload {

// Times count from the workload's begin. How long messages took, those that failed left out: what
// so many of them took at most.
struct Summary {
  uint64_t messages = 0;
  uint64_t begun = 0;
  uint64_t ended = 0;   // well
  uint64_t failed = 0;  // with an error
  uint64_t bytes = 0;   // of those that ended well
  double start_ns = 0;  // of the first that has begun; 0 if none has
  double end_ns = 0;    // of the last
  double p50_ns = 0;
  double p90_ns = 0;
  double p99_ns = 0;
  double most_ns = 0;
};

struct FlowResult {
  unsigned traffic = 0;
  unsigned from = 0;
  unsigned to = 0;
  Summary summary;
};

struct TrafficResult {
  unsigned flows = 0;
  uint64_t received = 0;  // messages that took a receive
  Summary summary;
};

class Results {
 public:
  Results(const Workload& workload, SimTime begin);

  // What one node has sent. Nodes come in their order.
  void add(unsigned node, const Endpoint& endpoint, const std::vector<Sent>& sent,
           uint64_t received);

  // Or in any order, and this at the end.
  void sort();

  const std::vector<FlowResult>& flows() const { return flows_; }
  std::vector<TrafficResult> traffic() const;
  // Messages that have neither ended well nor failed.
  uint64_t unfinished() const;

  std::string csv() const;  // a line for each flow, below one with the names
  nlohmann::ordered_json json() const;
  std::string text() const;  // for people: a line for each traffic

 private:
  Workload workload_;
  SimTime begin_;
  std::vector<FlowResult> flows_;
  std::vector<std::vector<SimTime>> took_;  // by traffic: each message that ended well
  std::vector<uint64_t> received_;          // likewise
};

}  // namespace exrnic::workload
