// SPDX-License-Identifier: BSD-2-Clause
// exrnicctl: looks at RNICs and, through their simulator, at the network between them; and breaks
// that network by hand. In a guest it reads the driver's counters, elsewhere the simulator's.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "exrnic_hw.h"
#include "losses.h"
#include "simulator.h"
#include "sysfs.h"
#include "tables.h"
#include "tools/fabric/program/arguments.h"
#include "tools/fabric/program/look.h"
#include "tools/fabric/program/verbs_port.h"
#include "tools/fabric/text.h"

namespace exrnic::ctl {
namespace {

constexpr int kFailed = 1;
constexpr int kUsageError = 2;

struct Arguments {
  std::string control;
  std::string sysfs = kSysfsClass;
  bool json = false;
  bool all = false;
  double interval = 1;
  unsigned count = 0;  // 0: without end
  std::string link;
  std::vector<std::string> action;
  std::string towards;
  std::map<std::string, double> rates;  // by the names of sim/ethernet/faults.h
  std::optional<uint64_t> reorder_frames, hold_ns, delay_ns;
  std::optional<uint64_t> seed;
  std::vector<std::string> groups;
  std::string slot;
  std::string device;
  bool heal = false;
  std::string losses;  // a file; empty: the newest
  std::string rnic;    // as vl_open_rnic() has it
  std::string key_file;
  bool dot = false;
};

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw Failure("the answer could not be written; is the disk full?");
  }
}

std::string control_path(const Arguments& arguments) {
  return arguments.control.empty() ? find_simulator() : arguments.control;
}

std::unique_ptr<CounterSource> counters(const Arguments& arguments) {
  auto sysfs = std::make_unique<SysfsCounters>(arguments.sysfs);
  const bool told = arguments.sysfs != kSysfsClass;
  if (told || (arguments.control.empty() && sysfs->any())) return sysfs;
  return std::make_unique<Simulator>(control_path(arguments));
}

void stat(const Arguments& arguments) {
  const Snapshot now = counters(arguments)->read();
  print(arguments.json ? counter_json(now) : counter_table(now, arguments.all));
}

// As much as the terminal has room for, from its first line on.
std::string screenful(const std::string& text) {
  constexpr char kHomeAndClear[] = "\x1b[H\x1b[2J";
  constexpr unsigned kFewest = 3;
  winsize window{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col != 0;
  return kHomeAndClear +
         (known && window.ws_row >= kFewest ? fitted(text, window.ws_row, window.ws_col) : text);
}

void top(const Arguments& arguments) {
  const auto source = counters(arguments);
  const bool screen = ::isatty(STDOUT_FILENO) == 1;
  Snapshot before = source->read();
  for (unsigned shown = 0; arguments.count == 0 || shown < arguments.count; ++shown) {
    if (shown != 0) std::this_thread::sleep_for(std::chrono::duration<double>(arguments.interval));
    const Snapshot now = source->read();
    const std::string table = counter_table(now, arguments.all, &before);
    print(screen ? screenful(table) : table);
    before = now;
  }
}

void status(const Arguments& arguments) {
  const Json answer = Simulator(control_path(arguments)).ask({{"command", "status"}});
  print(arguments.json ? answer.dump() + '\n' : status_text(answer));
}

// As exrnic-sim's --faults takes them; empty: none were given.
std::string fault_text(const Arguments& arguments) {
  std::string text;
  const auto add = [&](const std::string& key, auto value) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value);
  };
  for (const auto& [kind, rate] : arguments.rates) add(kind, rate);
  if (arguments.reorder_frames) add("reorder_frames", *arguments.reorder_frames);
  if (arguments.hold_ns) add("hold_ns", *arguments.hold_ns);
  if (arguments.delay_ns) add("delay_ns", *arguments.delay_ns);
  return text;
}

uint64_t nanoseconds(const std::string& text) {
  size_t used = 0;
  uint64_t value = 0;
  try {
    if (text[0] != '-') value = std::stoull(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  static const std::map<std::string, uint64_t> kUnits = {
      {"", 1}, {"ns", 1}, {"us", 1000}, {"ms", 1'000'000}};
  const auto unit = kUnits.find(text.substr(used));
  if (used == 0 || unit == kUnits.end() || value > 1'000'000'000) {
    throw Failure("delay " + text + ": give a time up to 1000ms, such as 500ns, 20us or 0");
  }
  return value * unit->second;
}

void apply_action(const std::vector<std::string>& action, Json& request) {
  if (action.empty()) return;
  const std::string& what = action[0];
  if (action.size() != (what == "delay" ? 2u : 1u)) {
    throw Failure("link: '" + what + "' and what follows it: give up, down, clear or delay TIME");
  }
  if (what == "up" || what == "down") {
    request["up"] = what == "up";
  } else if (what == "delay") {
    request["extra_latency_ns"] = nanoseconds(action[1]);
  } else if (what == "clear") {
    request["extra_latency_ns"] = 0;
    request["faults"] = "none";
  } else {
    throw Failure("link: there is no '" + what + "'; give up, down, clear or delay TIME");
  }
}

void link(const Arguments& arguments) {
  Json request = {{"command", "link"}, {"link", arguments.link}};
  apply_action(arguments.action, request);
  const std::string faults = fault_text(arguments);
  if (!faults.empty()) request["faults"] = faults;
  if (arguments.seed) request["seed"] = *arguments.seed;
  if (!arguments.towards.empty()) request["towards"] = arguments.towards;
  const Json answer = Simulator(control_path(arguments)).ask(request);
  print(answer.at("done").get<std::string>() + '\n');
}

// "0,1" and "2" to [[0, 1], [2]].
Json groups_of(const std::vector<std::string>& texts) {
  Json groups = Json::array();
  for (const std::string& text : texts) {
    Json group = Json::parse("[" + text + "]", nullptr, /*allow_exceptions=*/false);
    const auto is_node = [](const Json& node) { return node.is_number_unsigned(); };
    if (!group.is_array() || group.empty() || !std::all_of(group.begin(), group.end(), is_node)) {
      throw Failure("partition: '" + text + "': give groups of nodes such as 0,1 2,3");
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

void partition(const Arguments& arguments) {
  if (arguments.groups.empty() != arguments.heal) {
    throw Failure("partition: give groups of nodes such as 0,1 2,3, or --heal");
  }
  const Json request = {{"command", "partition"}, {"groups", groups_of(arguments.groups)}};
  const Json answer = Simulator(control_path(arguments)).ask(request);
  print(answer.at("done").get<std::string>() + '\n');
}

unsigned number_in(const std::string& text, const char* form) {
  size_t used = 0;
  unsigned long number = 0;
  try {
    number = std::stoul(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != text.size() || number > EXRNIC_MAX_NODE)
    throw Failure("assign: '" + text + "': give " + form);
  return static_cast<unsigned>(number);
}

void assign(const Arguments& arguments) {
  constexpr char kSlot[] = "a slot as HOST.SLOT, by numbers, such as 2.0";
  const size_t dot = arguments.slot.find('.');
  Json request = {{"command", "assign"}, {"host", number_in(arguments.slot.substr(0, dot), kSlot)}};
  if (dot != std::string::npos) request["slot"] = number_in(arguments.slot.substr(dot + 1), kSlot);
  if (arguments.device != "none")
    request["device"] = number_in(arguments.device, "the number of the device's node, or none");
  const Json answer = Simulator(control_path(arguments)).ask(request);
  print(answer.at("done").get<std::string>() + '\n');
}

void show_fabric(const Arguments& arguments) {
  constexpr double kTimeoutMs = 200;
  const uint64_t key = arguments.key_file.empty() ? 0 : fabric::read_key(arguments.key_file);
  fabric::VerbsPort port(arguments.rnic);
  const fabric::Map map = fabric::look_at_fabric(port, key, kTimeoutMs);
  print(arguments.dot ? fabric::dot_of(map) : fabric::text_of(map, {}));
  const std::vector<std::string> problems = fabric::problems_of(map);
  for (const std::string& problem : problems)
    std::fprintf(stderr, "exrnicctl: %s\n", problem.c_str());
  if (problems.empty()) return;
  throw Failure(
      fmt::format("the fabric has {} problem{}", problems.size(), problems.size() == 1 ? "" : "s"));
}

void why(const Arguments& arguments) {
  constexpr size_t kMost = 20;
  const std::string path = arguments.losses.empty() ? find_losses() : arguments.losses;
  const Losses losses = read_losses(path);
  if (arguments.json) return print(Json(losses).dump() + '\n');
  print(path + "\n\n" + loss_table(losses, arguments.all ? 0 : kMost));
}

void describe_why(CLI::App& app, Arguments& arguments) {
  auto* command = app.add_subcommand(
      "why",
      "Print which frames did not arrive, or were refused: where, why, and for which work request");
  command->add_option(
      "losses", arguments.losses,
      "File written by exrnic-sim --losses (default: the newest below ./build/run)");
  command->add_flag("--all", arguments.all, "All of them, not only the last 20");
  command->add_flag("--json", arguments.json, "As one line of JSON");
  command->callback([&] { why(arguments); });
}

void describe_fabric(CLI::App& app, Arguments& arguments) {
  auto* command = app.add_subcommand(
      "fabric",
      "Print the map of the fabric: nodes, switches, lines. Problems go to stderr, and the exit\n"
      "status is then 1");
  command->add_option(
      "--device", arguments.rnic,
      "The RNIC to look from: exrnic0, or sim:PATH (default: VL_DEVICE, or exrnic0)");
  command->add_option("--key-file", arguments.key_file,
                      "File with the fabric's key, as for exrnic-fm");
  command->add_flag("--dot", arguments.dot, "Print a graph for Graphviz: | dot -Tsvg");
  command->callback([&] { show_fabric(arguments); });
}

void describe_counters(CLI::App& app, Arguments& arguments) {
  auto* stat_command = app.add_subcommand("stat", "Print the counters of all nodes");
  auto* top_command = app.add_subcommand("top", "Print the counters repeatedly, with the changes");
  for (CLI::App* command : {stat_command, top_command}) {
    command->add_flag("--all", arguments.all, "Include counters that are zero");
    command->add_option("--sysfs", arguments.sysfs, "Where the driver shows its RNICs")
        ->capture_default_str();
  }
  stat_command->add_flag("--json", arguments.json, "As one line of JSON");
  stat_command->callback([&] { stat(arguments); });
  top_command->add_option("--interval", arguments.interval, "Seconds between updates")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  top_command->add_option("--count", arguments.count, "Number of updates; 0: no limit")
      ->capture_default_str();
  top_command->callback([&] { top(arguments); });
}

void describe_link(CLI::App& app, Arguments& arguments) {
  auto* command = app.add_subcommand(
      "link", "Cut a link, or make it faulty: exrnicctl link 0-1 --drop 0.01 --seed 7");
  command->add_option("link", arguments.link, "Named by its ends: 0-1, 2-switch0, leaf0.4-spine1")
      ->required();
  command
      ->add_option("action", arguments.action,
                   "down, up, delay TIME (on top of its latency), or clear: no faults, no delay")
      ->expected(0, 2);
  for (const char* kind : {"drop", "duplicate", "reorder", "corrupt", "delay"}) {
    command->add_option_function<double>(
        std::string("--") + kind, [&arguments, kind](double rate) { arguments.rates[kind] = rate; },
        "Probability of this fault per frame; replaces all earlier faults");
  }
  command->add_option("--reorder-frames", arguments.reorder_frames,
                      "With reorder: how many frames overtake a late one");
  command->add_option("--hold-ns", arguments.hold_ns, "... or how late it is, if none come");
  command->add_option("--delay-ns", arguments.delay_ns, "With delay: how late a frame is");
  command->add_option("--seed", arguments.seed, "Same seed, same faults");
  command->add_option("--towards", arguments.towards,
                      "One direction only, named by the end it leads to");
  command->callback([&] { link(arguments); });
}

void describe(CLI::App& app, Arguments& arguments) {
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option(
         "--control", arguments.control,
         "The simulator's control socket. Default: that of the only simulator running below\n"
         "./build/run; for stat and top in a guest: its driver")
      ->envname("EXRNIC_CONTROL");
  auto* status_command = app.add_subcommand("status", "Print nodes, links and their faults");
  status_command->add_flag("--json", arguments.json, "As one line of JSON");
  status_command->callback([&] { status(arguments); });
  describe_counters(app, arguments);
  describe_link(app, arguments);
  describe_why(app, arguments);
  describe_fabric(app, arguments);
  auto* command = app.add_subcommand("partition", "Let nodes hear only those of their own group");
  command->add_option("groups", arguments.groups,
                      "Such as 0,1 2,3; all others form one more group");
  command->add_flag("--heal", arguments.heal, "All nodes hear each other again");
  command->callback([&] { partition(arguments); });
  command = app.add_subcommand("assign", "Put the device of a node into a slot of a host");
  command->add_option("slot", arguments.slot, "As HOST.SLOT, or HOST for its slot 0")->required();
  command->add_option("device", arguments.device, "Number of the device's node, or none")
      ->required();
  command->callback([&] { assign(arguments); });
}

}  // namespace
}  // namespace exrnic::ctl

int main(int argc, char** argv) {
  CLI::App app("Watches RNICs, and breaks their network on demand", "exrnicctl");
  exrnic::ctl::Arguments arguments;
  exrnic::ctl::describe(app, arguments);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "exrnicctl: %s; see exrnicctl --help\n", error.what());
    return exrnic::ctl::kUsageError;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "exrnicctl: %s\n", error.what());
    return exrnic::ctl::kFailed;
  }
}
