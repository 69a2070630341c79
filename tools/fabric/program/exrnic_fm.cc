// SPDX-License-Identifier: BSD-2-Clause
// exrnic-fm: manages the fabric that an RNIC is in (README.md).
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "tools/fabric/manager.h"
#include "tools/fabric/program/arguments.h"
#include "tools/fabric/program/clock.h"
#include "tools/fabric/program/verbs_port.h"
#include "tools/fabric/text.h"

namespace exrnic::fabric {
namespace {

constexpr int kFailed = 1;
constexpr int kUsageError = 2;
// Nobody tells of a frame that has come: it is looked for so often.
constexpr std::chrono::milliseconds kLook(1);
// Who is told to end may wait for a reply of a simulator that stands still.
constexpr unsigned kLastSeconds = 2;

struct Arguments {
  std::string device;
  std::string key_file;
  std::string map_file;
  std::string dot_file;
  std::vector<std::string> assignments;
  bool standby = false;
  bool once = false;
  double sweep_s = 1;
  double takeover_s = 5;
  double timeout_ms = 100;
};

volatile std::sig_atomic_t told_to_end = 0;
volatile std::sig_atomic_t status_of_end = 0;

void end_soon(int /*signal*/) {
  if (told_to_end == 0) ::alarm(kLastSeconds);
  told_to_end = 1;
}

// The fabric needs no farewell, and a file is replaced when all of the new one is there.
void end_now(int /*signal*/) { ::_exit(status_of_end); }

void listen_for_signals() {
  struct sigaction action = {};
  action.sa_flags = SA_RESTART;
  action.sa_handler = end_now;
  ::sigaction(SIGALRM, &action, nullptr);
  action.sa_handler = end_soon;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

// CLI::Range takes what is no number at all.
CLI::Validator between(double least, double most) {
  const std::string what = fmt::format("FLOAT in [{} - {}]", least, most);
  const auto check = [least, most, what](const std::string& text) {
    double value = 0;
    const bool is = CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
    return is ? std::string() : fmt::format("{} is not {}", text, what);
  };
  return CLI::Validator(check, what);
}

void describe(CLI::App& app, Arguments& arguments) {
  app.add_option("--device", arguments.device,
                 "The RNIC that it uses: exrnic0, or sim:PATH, a node of exrnic-sim.\n"
                 "Default: VL_DEVICE, or exrnic0")
      ->type_name("NAME");
  app.add_option("--key-file", arguments.key_file,
                 "A file with the fabric's key, up to 16 hexadecimal digits. Devices with\n"
                 "another key are left alone. Default: no key, and anyone may manage")
      ->type_name("FILE");
  app.add_flag("--standby", arguments.standby,
               "Wait until the present manager stands still, then take over");
  app.add_flag("--once", arguments.once, "End when everything is written, instead of watching");
  app.add_option("--map", arguments.map_file, "Keep the map as text in this file")
      ->type_name("FILE");
  app.add_option("--dot", arguments.dot_file,
                 "Keep the map as a graph in this file, for Graphviz: dot -Tsvg FILE")
      ->type_name("FILE");
  app.add_option("--assign", arguments.assignments,
                 "Give the device of the PEB with GUID DEVICE to port PORT (default 0) of\n"
                 "the PEB with GUID HOST, both in hexadecimal digits. Can be repeated")
      ->type_name("HOST[.PORT]=DEVICE")
      ->allow_extra_args(false);
  app.add_option("--sweep", arguments.sweep_s, "Seconds between looks at all devices")
      ->check(between(0.001, 3600.0))
      ->capture_default_str();
  app.add_option("--takeover", arguments.takeover_s,
                 "Seconds that another manager may stand still before this one takes over")
      ->check(between(0.01, 3600.0))
      ->capture_default_str();
  app.add_option("--timeout", arguments.timeout_ms,
                 "Milliseconds that a device has to answer the first try")
      ->check(between(1.0, 60'000.0))
      ->capture_default_str();
}

ManagerOptions options_of(const Arguments& arguments) {
  ManagerOptions options;
  if (!arguments.key_file.empty()) options.key = read_key(arguments.key_file);
  options.standby = arguments.standby;
  options.timeout_ns = static_cast<uint64_t>(arguments.timeout_ms * kNsPerMs);
  options.sweep_ns = static_cast<uint64_t>(arguments.sweep_s * 1000 * kNsPerMs);
  options.takeover_ns = static_cast<uint64_t>(arguments.takeover_s * 1000 * kNsPerMs);
  for (const std::string& text : arguments.assignments)
    options.assignments.push_back(parse_assignment(text));
  return options;
}

class Program {
 public:
  explicit Program(const Arguments& arguments)
      : arguments_(arguments),
        options_(options_of(arguments)),
        port_(arguments.device),
        manager_(port_, options_) {}

  int run() {
    if (arguments_.once) status_of_end = kFailed;  // before all is written
    listen_for_signals();
    while (told_to_end == 0) {
      const uint64_t due = manager_.poll(now_ns());
      tell();
      if (arguments_.once && manager_.state() == ManagerState::kActive) return result();
      const uint64_t now = now_ns();
      // Answers come within microseconds: while some are awaited it does not sleep for long.
      if (due > now + kNsPerMs || waits_long()) std::this_thread::sleep_for(kLook);
    }
    return status_of_end;
  }

 private:
  int result() const {
    if (!manager_.written()) throw std::runtime_error(manager_.reason());
    return manager_.problems().empty() && files_kept_ && heard_ ? 0 : kFailed;
  }

  bool waits_long() const {
    return manager_.state() == ManagerState::kWaiting || manager_.state() == ManagerState::kActive;
  }

  // What is new: the state, and once all is written how that went.
  void tell() {
    const ManagerTimes& times = manager_.times();
    if (manager_.state() == ManagerState::kActive && times.routed_ns != told_) {
      told_ = times.routed_ns;
      tell_map(times);
    }
    if (manager_.state() == ManagerState::kWaiting && said_ != manager_.reason()) {
      said_ = manager_.reason();
      say(fmt::format("exrnic-fm: waiting: {}", said_));
    }
    if (manager_.state() != ManagerState::kWaiting) said_.clear();
  }

  void tell_map(const ManagerTimes& times) {
    const Map& map = manager_.map();
    size_t switches = 0;
    for (const auto& item : map.devices) switches += item.second.is_switch() ? 1 : 0;
    const std::vector<std::string> problems = manager_.problems();
    const auto ms = [&](uint64_t until) {
      return static_cast<double>(until - times.started_ns) / kNsPerMs;
    };
    say(
        fmt::format("exrnic-fm: active: {} nodes and {} switches; looked at in {:.1f} ms, routed "
                    "after {:.1f} ms; {} blocks of routes written so far",
                    map.devices.size() - switches, switches, ms(times.discovered_ns),
                    ms(times.routed_ns), manager_.counts().writes.route_blocks));
    for (const std::string& problem : problems)
      std::fprintf(stderr, "exrnic-fm: %s\n", problem.c_str());
    files_kept_ = true;
    if (!arguments_.map_file.empty()) keep(arguments_.map_file, text_of(map, problems));
    if (!arguments_.dot_file.empty()) keep(arguments_.dot_file, dot_of(map));
  }

  // A fabric needs its manager more than the file.
  // A fabric is managed whether anybody listens or not.
  void say(const std::string& text) {
    std::fputs((text + '\n').c_str(), stdout);
    if (std::fflush(stdout) != 0) heard_ = false;
  }
  void keep(const std::string& path, const std::string& text) {
    try {
      write_file(path, text);
    } catch (const std::runtime_error& error) {
      files_kept_ = false;
      std::fprintf(stderr, "exrnic-fm: %s\n", error.what());
    }
  }

  const Arguments arguments_;
  const ManagerOptions options_;
  VerbsPort port_;
  Manager manager_;
  uint64_t told_ = kNever;
  bool files_kept_ = true;
  bool heard_ = true;
  std::string said_;
};

int run(int argc, char** argv) {
  CLI::App app(
      "Manages an exrnic fabric: discovers its nodes and switches, numbers the nodes, sets "
      "routes,\n"
      "and repairs them when lines or devices come and go. Ends on SIGINT or SIGTERM; the fabric\n"
      "keeps working without it.",
      "exrnic-fm");
  Arguments arguments;
  describe(app, arguments);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "exrnic-fm: %s; see exrnic-fm --help\n", error.what());
    return kUsageError;
  }
  try {
    return Program(arguments).run();
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "exrnic-fm: %s\n", error.what());
    return kUsageError;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "exrnic-fm: %s\n", error.what());
    return kFailed;
  }
}

}  // namespace
}  // namespace exrnic::fabric

int main(int argc, char** argv) { return exrnic::fabric::run(argc, argv); }
