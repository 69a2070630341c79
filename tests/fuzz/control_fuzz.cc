// SPDX-License-Identifier: BSD-2-Clause
// Requests at the control socket of a running simulator, a line each. Whoever can open the socket
// may change the network, and nothing else: each request has an answer, in one line.
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "rtl-model/ref/ref_core.h"
#include "sim/control/commands.h"
#include "tests/fuzz/target.h"

namespace exrnic::fuzz {
namespace {

Bytes lines(const std::string& text) { return Bytes(text.begin(), text.end()); }

class Simulation {
 public:
  Simulation()
      : testbed_(options(), make_ref_core),
        commands_({testbed_, 1, [](unsigned node) { return node == 0; },
                   [] { return ControlCommands::Json{{"all", 1}}; },
                   [](const std::string& line) {
                     if (line.empty()) found("a change that is not logged");
                   }}) {}

  void ask(const std::string& request) {
    try {
      const std::string answer = commands_.answer(request);
      if (answer.find('\n') != std::string::npos) found("an answer of two lines");
      const auto json = nlohmann::json::parse(answer);
      if (json.at("ok") == false && json.at("error").get<std::string>().empty())
        found("a refusal that says nothing");
    } catch (const std::exception& error) {
      found(std::string("no answer, but: ") + error.what());
    }
  }

 private:
  static TestbedOptions options() {
    TestbedOptions options;
    options.profile = load_profile("dc-25g");
    options.nodes = 3;
    return options;
  }

  Testbed testbed_;
  ControlCommands commands_;
};

}  // namespace

std::vector<Bytes> control_seeds() {
  return {lines(R"({"command": "status"}
{"command": "counters"}
{"command": "counters", "node": 1}
{"command": "statistics"})"),
          lines(R"({"command": "link", "link": "0-switch0", "up": false}
{"command": "link", "link": "1-switch0", "faults": "drop=0.01,reorder=0.1", "seed": 7}
{"command": "link", "link": "0-switch0", "extra_latency_ns": 5000, "towards": "node0"}
{"command": "link", "link": "0-switch0", "up": true, "faults": "none"})"),
          lines(R"({"command": "partition", "groups": [[0, 1], [2]]}
{"command": "partition", "groups": []})")};
}

// Each input meets a network of its own.
void fuzz_control(const uint8_t* data, size_t size) {
  Simulation simulation;
  std::istringstream requests(std::string(reinterpret_cast<const char*>(data), size));
  for (std::string request; std::getline(requests, request);) simulation.ask(request);
}

}  // namespace exrnic::fuzz
