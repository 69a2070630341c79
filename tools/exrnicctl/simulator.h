// SPDX-License-Identifier: BSD-2-Clause
// A running exrnic-sim, through its control socket (sim/control/commands.h has the requests).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "counters.h"
#include "sim/posix/unique_fd.h"

namespace exrnic::ctl {

using Json = nlohmann::ordered_json;

class Simulator final : public CounterSource {
 public:
  // Throws Failure: nobody serves `path`.
  explicit Simulator(const std::string& path);

  // The simulator's answer. Throws Failure: it refuses, and why, or it has ended.
  Json ask(const Json& request);

  // Of all nodes.
  Snapshot read() override;

 private:
  std::string read_line();

  std::string path_;
  UniqueFd socket_;
  std::string in_;
};

// The control socket of the one simulator that runs below ./build/run, as the launcher starts it.
// Throws Failure: none runs, or several do.
std::string find_simulator();

}  // namespace exrnic::ctl
