// SPDX-License-Identifier: BSD-2-Clause
// A workload on a testbed: a host at each node, until the last message has ended.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sim/ranks/ranks.h"
#include "sim/testbed.h"
#include "sim/workload/host.h"
#include "sim/workload/plan.h"
#include "sim/workload/results.h"
#include "sim/workload/workload.h"

namespace exrnic::workload {

// What a workload has to know of a testbed's network.
Network network_of(const Profile& profile, const Topology& topology);

class Run {
 public:
  // All outlive it. `ranks`: each has a part of the testbed; nullptr: it is whole. Throws
  // DataFileError, with `where`, for what the nodes cannot do.
  Run(Testbed& testbed, const Workload& workload, const std::string& where, Ranks* ranks = nullptr);

  // Sets all nodes up, then lets them go. `goes_on` is asked now and then; false: it was told to
  // stop. Throws std::runtime_error when a node cannot be set up.
  bool run(const std::function<bool()>& goes_on);

  // Of ranks at rank 0; elsewhere those of no node.
  Results results() const;

 private:
  bool run_while_busy(const std::function<bool()>& goes_on);
  Bytes own_part() const;
  void add(Results& results, const Bytes& part) const;

  Testbed& testbed_;
  const Workload& workload_;
  const Plan plan_;
  Ranks* const ranks_;
  std::vector<std::unique_ptr<Host>> hosts_;  // by node; nullptr: of another rank
  SimTime begin_ = 0;
};

}  // namespace exrnic::workload
