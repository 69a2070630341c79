// SPDX-License-Identifier: BSD-2-Clause
#include "sim/app/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <regex>
#include <sstream>
#include <system_error>

#include "exrnic_hw.h"
#include "rtl-model/lockstep/lockstep.h"
#include "rtl-model/lockstep/peb/peb_lockstep.h"
#include "rtl-model/peb/rtl_peb.h"
#include "rtl-model/ref/peb/peb.h"
#include "rtl-model/ref/ref_core.h"
#include "sim/app/wave_argument.h"
#include "sim/time_sync/shared_time.h"
#include "sim/topology/partition.h"
#include "sim/topology/routes.h"
#include "sim/workload/run.h"

namespace exrnic {
namespace {

constexpr char kVfioUser[] = "vfio-user:";
constexpr char kDefaultProfile[] = "dc-25g";
constexpr char kFreeTime[] = "free";
constexpr char kSynchronised[] = "sync:";
constexpr char kStaticFabric[] = "static";
constexpr char kManagedFabric[] = "managed";
constexpr char kByFiles[] = "files";
constexpr char kByMessages[] = "messages";
constexpr char kAutomatic[] = "auto";
constexpr char kRtlCore[] = "rtl";
constexpr char kRefCore[] = "ref";

// What was typed, before it is understood.
struct Arguments {
  std::string profile = kDefaultProfile;
  std::vector<std::string> nodes;
  std::vector<std::string> peb_hosts;
  std::vector<std::string> peb_devices;
  std::vector<std::string> assignments;
  std::string reach_memory = kByFiles;
  std::string core = kRtlCore;
  uint64_t seed = 1;
  std::string faults;
  std::vector<std::string> faults_at;
  std::string topology;
  std::string fabric = kStaticFabric;
  std::optional<std::string> window_bar;  // "" is a wrong size, too
  std::string time = kFreeTime;
  std::string threads = kAutomatic;
  std::string workload;
  std::string partition = kAutoPartition;
  std::string results;
  std::string stats;
  std::string waiting;
  std::string capture;
  std::string control;
  std::vector<std::string> gdb;
  std::vector<std::string> retired;
  std::string symbols;
  std::string trace;
  std::string losses;
  std::string waves;
};

void describe(CLI::App& app, Arguments& arguments) {
  app.add_option("--node", arguments.nodes,
                 "Add a node: its RNIC is served on the unix socket PATH.\n"
                 "The first is node 0, the next node 1, ...")
      ->type_name("vfio-user:PATH")
      ->allow_extra_args(false);
  app.add_option("--peb-host", arguments.peb_hosts,
                 "Add a node: a host with a PEB, and a slot for each PATH, where the\n"
                 "device in the slot is served. Numbered after those of --node")
      ->type_name("vfio-user:PATH[,PATH...]")
      ->allow_extra_args(false);
  app.add_option("--peb-device", arguments.peb_devices,
                 "Add a node: a box with a PEB, and in it the device of the vfio-user\n"
                 "server at PATH, which must already run. Numbered after those of\n"
                 "--peb-host")
      ->type_name("vfio-user:PATH")
      ->allow_extra_args(false);
  app.add_option("--assign", arguments.assignments,
                 "Put the device of node DEVICE into slot SLOT (default 0) of node HOST.\n"
                 "Can be repeated. While the simulation runs: exrnicctl assign")
      ->type_name("HOST[.SLOT]=DEVICE")
      ->allow_extra_args(false);
  app.add_option("--reach-memory", arguments.reach_memory,
                 "How RNICs reach the memory of their clients. files: clients grant it as\n"
                 "files, as QEMU and libverbs-lite do. messages: memory granted without a\n"
                 "file is reached, too, such as by a --peb-device of another exrnic-sim.\n"
                 "All nodes wait for each such access; a client that does not answer one\n"
                 "within 5 s is disconnected")
      ->type_name("files|messages")
      ->capture_default_str();
  app.add_option("--profile", arguments.profile,
                 fmt::format("Link profile, or the path of a .json file. The profiles are\n{}",
                             fmt::join(profile_names(), ", ")))
      ->type_name("NAME|FILE")
      ->capture_default_str();
  app.add_option("--topology", arguments.topology,
                 "Network of the nodes: back-to-back, star, ring, two-levels, leaf-spine,\n"
                 "fat-tree:K, dragonfly:P, torus:AxB[xC], or the path of a .json file.\n"
                 "NAME:N has N nodes; those beyond the ones given by --node have no\n"
                 "host. Default: that of the profile")
      ->type_name("NAME|NAME:N|FILE");
  app.add_option("--fabric", arguments.fabric,
                 "What gives nodes their identifiers and switches their routes. static: this\n"
                 "program, before the simulation starts. managed: a fabric manager\n"
                 "(exrnic-fm) on any node; until it has done so, nodes have no link")
      ->type_name("static|managed")
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--window-bar", [&arguments](const std::string& size) { arguments.window_bar = size; },
         "Size of BAR 4 of each RNIC, which shows remote windows: 64M, 128M, ... 4G.\n"
         "It is divided into 64 windows. Default: 64M")
      ->type_name("SIZE");
  app.add_option("--core", arguments.core,
                 "RNIC core: rtl, the verilated SystemVerilog;\n"
                 "ref, the reference model: same behaviour, different timing;\n"
                 "or lockstep: rtl, compared with ref in everything. Also for PEBs")
      ->type_name("KIND")
      ->capture_default_str();
  app.add_option("--faults", arguments.faults,
                 "Probability per frame of each kind of fault, on every\n"
                 "Ethernet link: drop, duplicate, reorder, corrupt, delay.\n"
                 "Also reorder_frames=N, hold_ns=N, delay_ns=N")
      ->type_name("KIND=P,...");
  app.add_option("--faults-at", arguments.faults_at,
                 "The same for one line only, named by its end: node0, or a\n"
                 "switch's port such as switch0.2; can be repeated")
      ->type_name("END:KIND=P,...")
      ->allow_extra_args(false);
  app.add_option("--seed", arguments.seed, "Seed of the faults: same seed, same faults")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--time", arguments.time,
                 "free: guests run at their own speed. sync:FILE: guests and\n"
                 "simulation share one time, in FILE; each QEMU needs the\n"
                 "plugin libexrnic-time.so,clock=FILE,guest=N")
      ->type_name("free|sync:FILE")
      ->capture_default_str();
  app.add_option("--threads", arguments.threads,
                 "Simulate nodes in N threads: the same results, faster. auto: as many\n"
                 "as processors are left when each node's host has one; only one for\n"
                 "--core lockstep, --time sync, --trace, --losses, --gdb and\n"
                 "--reach-memory messages")
      ->type_name("N|auto")
      ->capture_default_str();
  app.add_option("--workload", arguments.workload,
                 "Instead of --node: nodes send each other what FILE says, then the\n"
                 "program ends (sim/workload/README.md)")
      ->type_name("FILE");
  app.add_option("--partition", arguments.partition,
                 "With mpirun exrnic-sim-mpi: which rank has which nodes and switches:\n"
                 "auto or a .json file (sim/ranks/README.md)")
      ->type_name("auto|FILE")
      ->capture_default_str();
  app.add_option("--results", arguments.results,
                 "Write the results of each flow of the workload to FILE: as CSV if its\n"
                 "name ends in .csv, otherwise as JSON")
      ->type_name("FILE");
  app.add_option("--stats", arguments.stats,
                 "At exit, write statistics to FILE, as JSON: counters of nodes, links\n"
                 "and switches over the whole run")
      ->type_name("FILE");
  app.add_option("--waiting", arguments.waiting,
                 "At exit, write to FILE who has worked and who has waited: ranks over\n"
                 "time, and nodes and switches; sim/ranks/draw_waiting.py draws it")
      ->type_name("FILE");
  app.add_option("--capture", arguments.capture,
                 "Capture what passes each Ethernet port, in simulated time, to\n"
                 "DIR/PORT.pcap, for Wireshark (tools/wireshark) and similar tools")
      ->type_name("DIR");
  app.add_option("--control", arguments.control,
                 "Serve a control socket at PATH, for exrnicctl: counters, and\n"
                 "manual faults while the simulation runs")
      ->type_name("PATH");
  app.add_option("--gdb", arguments.gdb,
                 "Let GDB debug the firmware of a node: target remote PATH; can\n"
                 "be repeated")
      ->type_name("NODE:PATH")
      ->allow_extra_args(false);
  app.add_option("--retired", arguments.retired,
                 "Write every instruction of a node's processor to FILE, and how many\n"
                 "cycles each function took; can be repeated")
      ->type_name("NODE:FILE")
      ->allow_extra_args(false);
  app.add_option("--symbols", arguments.symbols,
                 "Symbol names for --retired, in the format of nm: FILE is firmware.symbols")
      ->type_name("FILE");
  app.add_option("--trace", arguments.trace,
                 "Write what happens to each work request to FILE, for Perfetto or\n"
                 "chrome://tracing: JSON, in simulated time, about 30 KB each")
      ->type_name("FILE");
  app.add_option("--losses", arguments.losses,
                 "Write each frame that does not arrive, or is refused, to FILE: when,\n"
                 "where, why, and its work request; a line of JSON each. For exrnicctl why")
      ->type_name("FILE");
  app.add_option("--waves", arguments.waves,
                 "Write the signals of one node's RTL to FILE, as FST, with FILE.gtkw for\n"
                 "GTKWave: from simulated time `from` (default: the node's first doorbell)\n"
                 "to `to`, or for `length` (100000). Needs the program exrnic-sim-waves")
      ->type_name("FILE[,node=N][,from=NS][,to=NS][,length=NS]");
  app.footer(
      std::string(rtl_core_is_checked()
                      ? "This program checks the assertions of the RTL. If one fails, the program\n"
                        "ends with exit code 1, after a line on stdout that names it.\n\n"
                      : "") +
      "It prints 'exrnic-sim: ready' on stdout when every socket listens, and ends cleanly on\n"
      "SIGINT or SIGTERM. Exit code 2 means that an argument is wrong, 1 that something failed,\n"
      "or with --core lockstep that the cores disagree.\n\n"
      "Example: two nodes, one frame in a thousand lost\n"
      "  exrnic-sim --node vfio-user:a.sock --node vfio-user:b.sock --faults drop=0.001");
}

std::string socket_of(const char* option, const std::string& node) {
  if (node.rfind(kVfioUser, 0) == 0 && node.size() > sizeof(kVfioUser) - 1) {
    return node.substr(sizeof(kVfioUser) - 1);
  }
  throw ExitRequest(kUsageError, fmt::format("{} {}: write vfio-user:PATH", option, node));
}

std::vector<std::string> slots_of(const std::string& text, const std::string& core) {
  std::vector<std::string> slots;
  std::stringstream paths(socket_of("--peb-host", text));
  for (std::string path; std::getline(paths, path, ',');) slots.push_back(path);
  const unsigned most = core == kRefCore ? EXRNIC_PEB_PORTS : peb::rtl_peb_ports();
  if (slots.size() <= most &&
      std::none_of(slots.begin(), slots.end(), [](const auto& path) { return path.empty(); }))
    return slots;
  throw ExitRequest(kUsageError,
                    fmt::format("--peb-host {}: write vfio-user:PATH, or {} paths at most with "
                                "commas between; a PEB of --core {} has no more slots",
                                text, most, core));
}

unsigned pebs_of(const Options& options) {
  return static_cast<unsigned>(options.peb_hosts.size() + options.peb_devices.size());
}

// Of the network: nodes of all kinds.
unsigned stations_of(const Options& options) {
  return options.topology ? options.topology->nodes
                          : static_cast<unsigned>(options.sockets.size()) + pebs_of(options);
}

// Throws std::invalid_argument.
Assignment assignment_of(const std::string& text, const Options& options) {
  static const std::regex kForm("([0-9]{1,5})(?:[.]([0-9]{1,2}))?=([0-9]{1,5})");
  std::smatch parts;
  if (!std::regex_match(text, parts, kForm))
    throw std::invalid_argument(fmt::format("'{}': write HOST[.SLOT]=DEVICE, such as 0=1", text));
  const auto number = [&](int part) {
    return parts[part].matched ? static_cast<unsigned>(std::stoul(parts[part])) : 0;
  };
  const unsigned boxes = stations_of(options) - static_cast<unsigned>(options.peb_devices.size());
  const unsigned hosts = boxes - static_cast<unsigned>(options.peb_hosts.size());
  const unsigned host = number(1);
  const unsigned box = number(3);
  if (host < hosts || host >= boxes)
    throw std::invalid_argument(fmt::format("'{}': node {} is no --peb-host", text, host));
  if (number(2) >= options.peb_hosts[host - hosts].size())
    throw std::invalid_argument(fmt::format("'{}': node {} has {} slots", text, host,
                                            options.peb_hosts[host - hosts].size()));
  if (box < boxes || box - boxes >= options.peb_devices.size())
    throw std::invalid_argument(fmt::format("'{}': node {} is no --peb-device", text, box));
  return {host - hosts, number(2), box - boxes};
}

// Two devices in one slot, or one in two.
void add_assignment(const std::string& text, Options& options) {
  const Assignment added = assignment_of(text, options);
  for (const Assignment& other : options.assignments) {
    if (other.box == added.box || (other.host == added.host && other.slot == added.slot))
      throw std::invalid_argument(
          fmt::format("'{}': another --assign has this slot or this device", text));
  }
  options.assignments.push_back(added);
}

// What PEBs cannot have part in.
void require_plain(const Arguments& arguments) {
  if (arguments.peb_hosts.empty() && arguments.peb_devices.empty() && arguments.assignments.empty())
    return;
  const std::pair<const char*, bool> given[] = {{"--time sync", arguments.time != kFreeTime},
                                                {"--trace", !arguments.trace.empty()},
                                                {"--losses", !arguments.losses.empty()}};
  for (const auto& [option, is_given] : given)
    if (is_given)
      throw ExitRequest(kUsageError,
                        fmt::format("{}: not of networks with PEBs; leave it out", option));
}

CoreFactory cores_of(const std::string& kind) {
  if (kind == kRtlCore) return make_rtl_core;
  if (kind == kRefCore) {
    RefSizes sizes;
    sizes.nodes = EXRNIC_NODE_NONE;  // all that 16 bits name but nobody
    return ref_cores(sizes);
  }
  if (kind == kLockstepCore) return lockstep::make_lockstep(make_rtl_core, make_ref_core);
  throw ExitRequest(kUsageError, fmt::format("--core {}: there is no such core; take {}, {} or {}",
                                             kind, kRtlCore, kRefCore, kLockstepCore));
}

// Of a core that there is.
peb::PebFactory pebs_of(const std::string& kind) {
  if (kind == kRtlCore) return peb::make_rtl_peb;
  if (kind == kRefCore) return peb::make_ref_peb;
  return lockstep::make_peb_lockstep(peb::make_rtl_peb, peb::make_ref_peb).make;
}

// Of a simulation with such cores.
unsigned most_nodes_of(const std::string& kind) {
  return kind == kRefCore ? kMostNodes : std::min(kMostNodes, rtl_core_nodes());
}

// Runs `read`, which reads the argument of `option`.
template <typename Read>
auto reading(const char* option, Read read) {
  try {
    return read();
  } catch (const DataFileError& error) {
    throw ExitRequest(kUsageError, fmt::format("{}: {}", option, error.what()));
  } catch (const std::invalid_argument& error) {
    throw ExitRequest(kUsageError, fmt::format("{}: {}", option, error.what()));
  }
}

// log2 of the bytes of a window.
uint8_t window_shift_of(const std::string& size) {
  for (unsigned shift = EXRNIC_WINDOW_SHIFT_MIN; shift <= EXRNIC_WINDOW_SHIFT_MAX; ++shift) {
    const uint64_t mebibytes = (uint64_t{EXRNIC_MAX_WINDOWS} << shift) >> 20;
    if (size == fmt::format("{}M", mebibytes) ||
        (mebibytes % 1024 == 0 && size == fmt::format("{}G", mebibytes / 1024)))
      return static_cast<uint8_t>(shift);
  }
  throw ExitRequest(kUsageError,
                    fmt::format("--window-bar {}: write a power of two from 64M to 4G", size));
}

std::pair<std::string, FaultConfig> faults_at(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) {
    throw std::invalid_argument(fmt::format("'{}': write END:KIND=P,...", text));
  }
  return {text.substr(0, colon), parse_faults(text.substr(colon + 1))};
}

// Refused here, with all that can be wrong with it, rather than when the testbed is built.
Topology topology_of(const Arguments& arguments, const Options& options) {
  const unsigned given = stations_of(options);
  Topology topology = load_topology(arguments.topology, given);
  if (topology.nodes < given) {
    throw DataFileError(fmt::format("topology {}: it has {} nodes, and --node{} is given {} times",
                                    topology.name, topology.nodes,
                                    pebs_of(options) == 0 ? "" : " or --peb-...", given));
  }
  if (const unsigned most = most_nodes_of(options.core); topology.nodes > most) {
    throw DataFileError(
        fmt::format("topology {}: it has {} nodes, and cores of --core {} talk to "
                    "{} at most; {}",
                    topology.name, topology.nodes, options.core, most,
                    options.core == kRefCore ? "leave some out" : "take --core ref"));
  }
  // A manager has routes of its own.
  const bool managed = options.fabric == Fabric::Control::kManaged;
  refuse_unusable(topology, options.profile.ethernet_switch.flow_control && !managed);
  return topology;
}

// A workload has no hosts: what is for them means nothing.
void require_no_host(const Arguments& arguments) {
  const std::pair<const char*, bool> given[] = {
      {"--node", !arguments.nodes.empty()},
      {"--peb-host", !arguments.peb_hosts.empty()},
      {"--peb-device", !arguments.peb_devices.empty()},
      {"--assign", !arguments.assignments.empty()},
      {"--reach-memory", arguments.reach_memory != kByFiles},
      {"--time", arguments.time != kFreeTime},
      {"--fabric", arguments.fabric != kStaticFabric},
      {"--window-bar", arguments.window_bar.has_value()},
      {"--control", !arguments.control.empty()},
      {"--gdb", !arguments.gdb.empty()},
      {"--retired", !arguments.retired.empty()},
      {"--waves", !arguments.waves.empty()}};
  for (const auto& [option, is_given] : given) {
    if (is_given)
      throw ExitRequest(
          kUsageError,
          fmt::format("{}: with --workload nodes have no hosts; leave it out", option));
  }
}

// Whether by messages, too.
bool reach_of(const Arguments& arguments) {
  const std::string& reach = arguments.reach_memory;
  if (reach != kByFiles && reach != kByMessages)
    throw ExitRequest(kUsageError, fmt::format("--reach-memory {}: write {} or {}", reach, kByFiles,
                                               kByMessages));
  if (reach == kByMessages && arguments.time != kFreeTime)
    throw ExitRequest(
        kUsageError,
        fmt::format("--reach-memory {}: not in synchronised time; take {}", reach, kByFiles));
  return reach == kByMessages;
}

Fabric::Control fabric_of(const Arguments& arguments) {
  const std::string& fabric = arguments.fabric;
  if (fabric == kStaticFabric) return Fabric::Control::kStatic;
  if (fabric != kManagedFabric)
    throw ExitRequest(kUsageError, fmt::format("--fabric {}: write {} or {}", fabric, kStaticFabric,
                                               kManagedFabric));
  if (!arguments.assignments.empty())
    throw ExitRequest(kUsageError,
                      fmt::format("--assign: with --fabric {} its manager does that (exrnic-fm "
                                  "--assign); leave it out",
                                  fabric));
  return Fabric::Control::kManaged;
}

// The nodes that the profile joins if nothing else is said, for a workload.
unsigned nodes_of(const Options& options) {
  return options.topology ? options.topology->nodes : TestbedOptions{}.nodes;
}

workload::Workload workload_of(const Arguments& arguments, const Options& options) {
  Topology topology;  // of which the lines count
  topology.nodes = nodes_of(options);
  if (options.topology) topology = *options.topology;
  return workload::load_workload(arguments.workload,
                                 workload::network_of(options.profile, topology));
}

// The file of the shared clock, empty in free time.
std::string clock_of(const Arguments& arguments) {
  const std::string& time = arguments.time;
  if (time == kFreeTime) return {};
  if (time.rfind(kSynchronised, 0) != 0 || time.size() == sizeof(kSynchronised) - 1) {
    throw ExitRequest(kUsageError,
                      fmt::format("--time {}: write {} or {}FILE", time, kFreeTime, kSynchronised));
  }
  if (arguments.nodes.size() > EXRNIC_TIME_MAX_GUESTS) {
    throw ExitRequest(kUsageError,
                      fmt::format("--time {}: {} guests share a clock at most, and --node is given "
                                  "{} times",
                                  time, EXRNIC_TIME_MAX_GUESTS, arguments.nodes.size()));
  }
  return time.substr(sizeof(kSynchronised) - 1);
}

// Of two for one line, or for one node, the other would have no effect.
template <typename Key, typename Value>
void add_once(const char* option, const std::string& text, std::map<Key, Value>& map,
              const std::pair<Key, Value>& item) {
  if (map.insert(item).second) return;
  throw ExitRequest(kUsageError, fmt::format("{} {}: it is given for {} already; give it once",
                                             option, text, item.first));
}

// Refuses a path that two options name: each would take it from the other. Of devices, such as
// /dev/null, any number may.
class OwnPaths {
 public:
  void add(const char* option, const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code error;
    if (path.empty() || fs::is_character_file(path, error)) return;
    const auto [other, is_new] =
        options_.try_emplace(fs::absolute(path).lexically_normal(), option);
    if (is_new) return;
    throw ExitRequest(kUsageError, fmt::format("{} {}: {} names this path, too; give another",
                                               option, path, other->second));
  }

 private:
  std::map<std::filesystem::path, const char*> options_;
};

void require_own_paths(const Arguments& arguments, const Options& options) {
  OwnPaths paths;
  for (const std::string& socket : options.sockets) paths.add("--node", socket);
  for (const auto& slots : options.peb_hosts)
    for (const std::string& socket : slots) paths.add("--peb-host", socket);
  for (const std::string& socket : options.peb_devices) paths.add("--peb-device", socket);
  std::error_code error;  // a profile and a topology may be names
  if (std::filesystem::exists(arguments.profile, error)) paths.add("--profile", arguments.profile);
  if (std::filesystem::exists(arguments.topology, error))
    paths.add("--topology", arguments.topology);
  paths.add("--symbols", options.symbols_path);
  paths.add("--control", options.control_path);
  for (const auto& item : options.gdb_paths) paths.add("--gdb", item.second);
  paths.add("--time", options.clock_path);
  paths.add("--workload", options.workload_path);
  if (std::filesystem::exists(options.partition, error))
    paths.add("--partition", options.partition);
  paths.add("--results", options.results_path);
  paths.add("--stats", options.stats_path);
  paths.add("--waiting", options.waiting_path);
  paths.add("--trace", options.trace_path);
  paths.add("--losses", options.losses_path);
  for (const auto& item : options.retire_paths) paths.add("--retired", item.second);
  if (options.waves) paths.add("--waves", options.waves->path);
}

// NODE:PATH
std::pair<unsigned, std::string> node_path(const std::string& text, const char* example,
                                           const Options& options) {
  const size_t colon = text.find(':');
  unsigned node = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), node);
  if (error != std::errc() || end != text.data() + colon || colon + 1 == text.size()) {
    throw std::invalid_argument(fmt::format("'{}': write NODE:PATH, such as {}", text, example));
  }
  if (node >= options.sockets.size()) {
    throw std::invalid_argument(
        fmt::format("'{}': the nodes are 0 to {}", text, options.sockets.size() - 1));
  }
  return {node, text.substr(colon + 1)};
}

// Why it has to be one thread; empty: it need not.
std::string reason_for_one_thread(const Options& options) {
  if (options.core == kLockstepCore) return "the cores in lockstep are one object";
  if (!options.clock_path.empty()) return "in synchronised time guests and simulation take turns";
  if (!options.trace_path.empty()) return "a trace is written in the order of time";
  if (!options.losses_path.empty()) return "losses are written in the order of time";
  if (!options.gdb_paths.empty()) return "a debugger looks at single cycles";
  if (options.reaches_by_messages) return "all nodes wait for memory that is reached by messages";
  return {};
}

// Those that this process may run on, of the first 1,024.
unsigned usable_processors() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 1;
}

unsigned threads_of(const std::string& text, const Options& options) {
  const std::string reason = reason_for_one_thread(options);
  const unsigned nodes = stations_of(options);
  if (text == kAutomatic) {
    const unsigned processors = usable_processors();
    if (options.workload) return reason.empty() ? processors : 1;
    return reason.empty() && processors > nodes ? std::min(nodes, processors - nodes) : 1;
  }
  unsigned threads = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  if (error != std::errc() || end != text.data() + text.size() || threads < 1 ||
      threads > kMostNodes) {
    throw ExitRequest(kUsageError, fmt::format("--threads {}: write {}, or a number from 1 to {}",
                                               text, kAutomatic, kMostNodes));
  }
  if (threads > 1 && !reason.empty())
    throw ExitRequest(kUsageError, fmt::format("--threads {}: {}; take 1", text, reason));
  return threads;
}

WaveWindow waves_of(const Arguments& arguments, const Options& options) {
  if (arguments.core == kRefCore)
    throw std::invalid_argument("the reference model has no signals; take --core rtl");
  const WaveWindow window = parse_waves(arguments.waves, options.sockets.size());
  if (!rtl_core_has_waves()) {
    throw std::invalid_argument(
        "this program is not built for waves, exrnic-sim-waves is (make run WAVES=1 builds it)");
  }
  return window;
}

Options understand(const Arguments& arguments) {
  Options options;
  if (!arguments.workload.empty()) {
    require_no_host(arguments);
  } else if (arguments.nodes.empty() && arguments.peb_hosts.empty()) {
    throw ExitRequest(kUsageError, "--node is required, or --workload; see exrnic-sim --help");
  } else if (!arguments.results.empty()) {
    throw ExitRequest(kUsageError, "--results: they are a workload's; give --workload, too");
  }
  for (const std::string& node : arguments.nodes) {
    const std::string socket = socket_of("--node", node);
    if (std::count(options.sockets.begin(), options.sockets.end(), socket) != 0) {
      throw ExitRequest(kUsageError,
                        fmt::format("--node {}: this socket has a node already", node));
    }
    options.sockets.push_back(socket);
  }
  require_plain(arguments);
  for (const std::string& host : arguments.peb_hosts)
    options.peb_hosts.push_back(slots_of(host, arguments.core));
  for (const std::string& device : arguments.peb_devices)
    options.peb_devices.push_back(socket_of("--peb-device", device));
  options.reaches_by_messages = reach_of(arguments);
  options.fabric = fabric_of(arguments);
  options.core = arguments.core;
  options.make_core = cores_of(arguments.core);
  options.make_peb = pebs_of(arguments.core);
  if (const unsigned most = most_nodes_of(options.core); stations_of(options) > most) {
    throw ExitRequest(kUsageError,
                      fmt::format("--node: {} nodes given; with --core {} at most {} are possible",
                                  stations_of(options), options.core, most));
  }
  options.profile = reading("--profile", [&] { return load_profile(arguments.profile); });
  if (arguments.window_bar) options.profile.window_shift = window_shift_of(*arguments.window_bar);
  options.seed = arguments.seed;
  options.faults = reading("--faults", [&] { return parse_faults(arguments.faults); });
  for (const std::string& text : arguments.faults_at) {
    add_once("--faults-at", text, options.faults_at,
             reading("--faults-at", [&] { return faults_at(text); }));
  }
  if (!arguments.topology.empty()) {
    options.topology = reading("--topology", [&] { return topology_of(arguments, options); });
  }
  for (const std::string& text : arguments.assignments)
    reading("--assign", [&] { return add_assignment(text, options), 0; });
  if (!arguments.workload.empty()) {
    options.workload_path = arguments.workload;
    options.workload = reading("--workload", [&] { return workload_of(arguments, options); });
  }
  options.results_path = arguments.results;
  options.partition = arguments.partition;
  options.clock_path = clock_of(arguments);
  options.stats_path = arguments.stats;
  options.waiting_path = arguments.waiting;
  options.capture_directory = arguments.capture;
  options.control_path = arguments.control;
  if (!arguments.gdb.empty() && !options.clock_path.empty()) {
    throw ExitRequest(kUsageError, "--gdb: guests cannot wait for a debugger; take --time free");
  }
  for (const std::string& text : arguments.gdb) {
    add_once("--gdb", text, options.gdb_paths,
             reading("--gdb", [&] { return node_path(text, "0:gdb.sock", options); }));
  }
  if (!arguments.retired.empty() && arguments.core == kRefCore)
    throw ExitRequest(kUsageError,
                      "--retired: the reference model has no processor; take --core rtl");
  for (const std::string& text : arguments.retired) {
    add_once("--retired", text, options.retire_paths,
             reading("--retired", [&] { return node_path(text, "0:retired.txt", options); }));
  }
  options.symbols_path = arguments.symbols;
  options.trace_path = arguments.trace;
  options.losses_path = arguments.losses;
  options.threads = threads_of(arguments.threads, options);
  if (!arguments.waves.empty())
    options.waves = reading("--waves", [&] { return waves_of(arguments, options); });
  require_own_paths(arguments, options);
  return options;
}

}  // namespace

Options parse_options(int argc, char** argv) {
  CLI::App app(
      "Simulates RNICs, their PCIe links and the Ethernet between them. Each node's RNIC appears\n"
      "as a PCI device to the QEMU guest, or the user-space driver, at its vfio-user socket.",
      "exrnic-sim");
  Arguments arguments;
  describe(app, arguments);
  try {
    app.parse(argc, argv);
    Options options = understand(arguments);
    options.arguments.assign(argv + 1, argv + argc);
    return options;
  } catch (const CLI::CallForHelp&) {
    throw ExitRequest(0, app.help());
  } catch (const CLI::ParseError& error) {
    throw ExitRequest(kUsageError, fmt::format("{}; see exrnic-sim --help", error.what()));
  }
}

}  // namespace exrnic
