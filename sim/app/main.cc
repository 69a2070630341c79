// SPDX-License-Identifier: BSD-2-Clause
// exrnic-sim: wires command line, testbed and vfio-user servers, and runs them until a signal.
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "sim/app/observation.h"
#include "sim/app/options.h"
#include "sim/app/pebs.h"
#include "sim/app/stats.h"
#include "sim/app/waiting.h"
#include "sim/capture/captures.h"
#include "sim/control/commands.h"
#include "sim/control/control_server.h"
#include "sim/debug/gdb_server.h"
#include "sim/debug/retire_trace.h"
#include "sim/files/output_file.h"
#include "sim/ranks/meeting.h"
#include "sim/ranks/ranks.h"
#include "sim/service/ranked_loop.h"
#include "sim/service/service_loop.h"
#include "sim/testbed.h"
#include "sim/time_sync/ranked_synchronised_loop.h"
#include "sim/time_sync/synchronised_loop.h"
#include "sim/topology/partition.h"
#include "sim/trace/observer.h"
#include "sim/vfio_user/rnic_pci.h"
#include "sim/vfio_user/server.h"
#include "sim/workload/run.h"

namespace exrnic {
namespace {

constexpr int kFailure = 1;
constexpr std::chrono::seconds kAnswerLimit{5};  // of a client whose memory has no file

// Of several ranks: which one speaks.
std::string& speaker() {
  static std::string name = "exrnic-sim";
  return name;
}

void log(const std::string& line) {
  std::fprintf(stderr, "%s: %s\n", speaker().c_str(), line.c_str());
}

// A file that is written at the end. It is opened before anything runs, so that a wrong path is
// known at once.
class Report {
 public:
  Report(const char* option, const std::string& path) : path_(path) {
    if (path.empty()) return;
    file_ = open_output(path);
    if (!file_) {
      throw ExitRequest(kUsageError, std::string(option) + " " + path + ": cannot be written: " +
                                         std::generic_category().message(errno) +
                                         "; check path and rights");
    }
  }

  bool wanted() const { return file_ != nullptr; }

  // `what`: what it is.
  void write(const char* what, const std::string& text) {
    const bool written = std::fputs(text.c_str(), file_.get()) >= 0;
    if (std::fclose(file_.release()) != 0 || !written)
      throw std::runtime_error(std::string(what) + " could not be written to " + path_);
  }

 private:
  std::string path_;
  OutputFile file_;
};

// This process' part of a run by several.
struct OwnPart {
  OwnPart(const Options& options, Ranks& all)
      : partition(load_partition(options.partition, *options.topology, all.size())),
        ranks(all),
        testbed{partition, all.rank(), border, all} {}

  const Partition partition;
  Ranks& ranks;
  Border border;
  const TestbedPart testbed;
};

// What has to be the same in all ranks, as text: the program, its arguments, and the files that
// they name.
std::string description(const Options& options, const Partition& partition) {
  std::error_code error;
  const auto is_written = [&](const std::string& path) {
    return path == options.results_path || path == options.stats_path ||
           path == options.waiting_path || path == options.trace_path ||
           path == options.losses_path;
  };
  nlohmann::json json = {{"program", std::filesystem::file_size("/proc/self/exe", error)},
                         {"nodes", partition.nodes},
                         {"switches", partition.switches},
                         {"arguments", options.arguments},
                         {"files", nlohmann::json::array()}};
  for (const std::string& argument : options.arguments)
    if (std::filesystem::is_regular_file(argument, error) && !is_written(argument))
      json["files"].push_back(read_data_file(argument, argument, ""));
  return json.dump();
}

void require_same(const Options& options, const OwnPart& part) {
  const std::string own = description(options, part.partition);
  const std::vector<Bytes> all = part.ranks.gather(Bytes(own.begin(), own.end()));
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      throw ExitRequest(kUsageError, "rank " + std::to_string(rank) +
                                         " simulates something else than rank 0: start all with "
                                         "one program, the same options and the same files");
}

// nullptr: alone.
std::unique_ptr<OwnPart> own_part(const Options& options, Ranks* ranks) {
  if (ranks == nullptr && options.partition != kAutoPartition)
    throw ExitRequest(
        kUsageError,
        "--partition: this is one process; start several: mpirun -n N exrnic-sim-mpi ...");
  if (ranks == nullptr) return nullptr;
  if (ranks->any(false))  // see main()
    throw ExitRequest(kUsageError, "another rank was asked for help: start all with one command");
  if (!options.peb_hosts.empty() || !options.peb_devices.empty())
    throw ExitRequest(kUsageError, "--peb-host, --peb-device: of one process only; leave them out");
  if (options.reaches_by_messages)
    throw ExitRequest(kUsageError, "--reach-memory messages: of one process only; take files");
  if (!options.gdb_paths.empty() || !options.retire_paths.empty())
    throw ExitRequest(kUsageError, "--gdb, --retired: of one process only; leave them out");
  if (options.core == kLockstepCore)
    throw ExitRequest(kUsageError, "--core lockstep: of one process only; take rtl or ref");
  if (!options.topology)
    throw ExitRequest(kUsageError, "several ranks need --topology, with a node for each or more");
  if (options.topology->nodes < ranks->size())
    throw ExitRequest(kUsageError, "--topology: it has " + std::to_string(options.topology->nodes) +
                                       " nodes, fewer than ranks (" +
                                       std::to_string(ranks->size()) + "); start fewer");
  if (Fabric::least_latency(options.profile, *options.topology) == 0)
    throw ExitRequest(kUsageError,
                      "several ranks need a network whose lines have a latency; take another "
                      "profile or topology");
  std::unique_ptr<OwnPart> part;
  try {
    part = std::make_unique<OwnPart>(options, *ranks);
  } catch (const DataFileError& error) {
    throw ExitRequest(kUsageError, std::string("--partition: ") + error.what());
  }
  require_same(options, *part);
  return part;
}

TestbedOptions testbed_options(const Options& options, trace::Observer* observer,
                               const OwnPart* part, Pebs& pebs) {
  TestbedOptions testbed;
  if (part != nullptr) testbed.part = &part->testbed;
  testbed.observer = observer;
  testbed.profile = options.profile;
  if (!options.workload) testbed.nodes = static_cast<unsigned>(options.sockets.size());
  testbed.seed = options.seed;
  testbed.faults = options.faults;
  testbed.faults_at = options.faults_at;
  testbed.topology = options.topology;
  testbed.threads = options.threads;
  testbed.measure_work = !options.waiting_path.empty();
  testbed.fabric = options.fabric;
  pebs.describe(testbed);
  return testbed;
}

// The cores, one of which writes waves, if any is to. `options` must outlive them.
CoreFactory core_factory(const Options& options) {
  if (!options.waves) return options.make_core;
  return [make = options.make_core, &window = *options.waves](const CoreConfig& given,
                                                              CoreSink& sink) {
    CoreConfig config = given;
    if (config.guid == Fabric::guid_of_node(window.node)) config.waves = &window;
    return make(config, sink);
  };
}

// Only the end of a line that a fault is to strike has not been looked at before.
Testbed build(const Options& options, trace::Observer* observer, const OwnPart* part, Pebs& pebs) {
  try {
    return Testbed(testbed_options(options, observer, part, pebs), core_factory(options));
  } catch (const DataFileError& error) {
    throw ExitRequest(kUsageError, std::string("--faults-at: ") + error.what());
  } catch (const std::system_error& error) {
    throw std::runtime_error("--threads " + std::to_string(options.threads) + ": " + error.what() +
                             "; give fewer");
  }
}

unsigned sockets_here(const Options& options, const Testbed& testbed) {
  unsigned count = 0;
  for (unsigned id = 0; id < options.sockets.size(); ++id) count += testbed.has(id) ? 1 : 0;
  return count;
}

// Of each guest that is here.
vfio_user::MemoryBudget memory_budget(const Options& options, const Testbed& testbed) {
  size_t sockets = sockets_here(options, testbed);
  for (const auto& slots : options.peb_hosts) sockets += slots.size();
  return vfio_user::MemoryBudget::share_of(std::max<size_t>(1, sockets));
}

ServiceLoop::Servers listen(const Options& options, Testbed& testbed) {
  const RnicBoard board{options.profile.pcie.max_payload, options.profile.pcie_generation,
                        options.profile.pcie_lanes, options.profile.window_shift};
  const auto budget = memory_budget(options, testbed);
  ServiceLoop::Servers servers;
  for (unsigned id = 0; id < options.sockets.size(); ++id) {
    if (!testbed.has(id)) {
      servers.emplace_back();
      continue;
    }
    try {
      servers.push_back(std::make_unique<vfio_user::VfioUserServer>(
          options.sockets[id], rnic_pci_description(board), log, budget));
    } catch (const std::exception& error) {
      throw ExitRequest(kUsageError, error.what());
    }
    if (options.reaches_by_messages) servers.back()->reach_memory_by_messages(kAnswerLimit);
    servers.back()->attach(testbed.node(id).combined_device());
    testbed.connect_outside_host(id, servers.back().get());
  }
  return servers;
}

// What a guest's store can do to another guest goes over both PCIe links and the network between
// them. Where none of these has a latency, there are at least two cores on the way, of which each
// takes a cycle of 1 ns or more.
GuestClocks::Config clock_config(const Options& options, const Testbed& testbed, bool ranks) {
  GuestClocks::Config config;
  config.guests = sockets_here(options, testbed);
  config.others = ranks;
  config.instruction_ns = options.profile.instruction_ns;
  const SimTime way = Fabric::least_way(options.profile, testbed.fabric().topology(),
                                        static_cast<unsigned>(options.sockets.size()));
  const uint64_t network_ns = way == Fabric::kNoLines ? 0 : way / kPsPerNs;
  config.guest_to_guest_ns =
      std::max<uint64_t>(1, 2 * uint64_t{options.profile.pcie.latency_ns} + network_ns);
  return config;
}

std::unique_ptr<GuestClocks> make_clocks(const Options& options, const Testbed& testbed,
                                         bool ranks) {
  if (options.clock_path.empty()) return nullptr;
  const unsigned most = EXRNIC_TIME_MAX_GUESTS - (ranks ? 1 : 0);  // the others are one more
  if (const unsigned here = sockets_here(options, testbed); here > most)
    throw ExitRequest(kUsageError, "--time sync: this rank has " + std::to_string(here) +
                                       " guests, and of several ranks each may have " +
                                       std::to_string(most) + "; divide the nodes otherwise");
  try {
    return std::make_unique<GuestClocks>(options.clock_path, clock_config(options, testbed, ranks));
  } catch (const std::exception& error) {
    throw ExitRequest(kUsageError, error.what());
  }
}

// `flush`: what is done whenever nothing is in flight.
template <typename Loop>
void run_loop(Loop loop, const std::vector<SideSocket*>& side_sockets,
              const std::function<void()>& flush) {
  for (SideSocket* socket : side_sockets) loop.serve(*socket);
  loop.at_rest(flush);
  std::puts("exrnic-sim: ready");
  std::fflush(stdout);
  loop.run();
}

void serve(const Options& options, Testbed& testbed, ServiceLoop::Servers& servers,
           GuestClocks* clocks, const StopSignal& stop,
           const std::vector<SideSocket*>& side_sockets, const std::function<void()>& flush) {
  if (clocks == nullptr) {
    return run_loop(ServiceLoop(testbed, servers, stop), side_sockets, flush);
  }
  run_loop(SynchronisedLoop(testbed, servers, stop, *clocks, options.profile.pcie.latency_ns),
           side_sockets, flush);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

using Json = nlohmann::ordered_json;

// At rank 0 what each rank says; elsewhere nothing.
std::vector<Json> gather(const Json& own, Ranks* ranks) {
  if (ranks == nullptr) return {own};
  const std::string text = own.dump();
  std::vector<Json> parts;
  for (const Bytes& part : ranks->gather(Bytes(text.begin(), text.end())))
    parts.push_back(Json::parse(part.begin(), part.end()));
  return parts;
}

// Of all ranks, at rank 0.
Json statistics_of(const Json& own, const Topology& topology, Ranks* ranks) {
  if (ranks == nullptr) return own;
  std::vector<std::string> names;
  for (const TopologySwitch& item : topology.switches) names.push_back(item.name);
  std::vector<Json> parts = gather(own, ranks);
  return parts.empty() ? Json::object() : merged_statistics(std::move(parts), names);
}

ControlCommands control_commands(const Options& options, Testbed& testbed,
                                 const ServiceLoop::Servers& servers, const Pebs& pebs,
                                 Ranks* ranks, std::chrono::steady_clock::time_point start) {
  return ControlCommands(
      {testbed, options.seed,
       [&](unsigned node) { return node < servers.size() && servers[node]->connected(); },
       [&options, &testbed, &servers, &pebs, ranks, start] {
         return statistics_of(statistics(options, testbed, servers, pebs, seconds_since(start)),
                              testbed.fabric().topology(), ranks);
       },
       [ranks](const std::string& line) {
         if (ranks == nullptr || ranks->rank() == 0) log("control: " + line);
       },
       [ranks](const Json& own) { return gather(own, ranks); }});
}

std::unique_ptr<ControlServer> serve_control(const std::string& path,
                                             const ControlServer::Answer& answer) {
  if (path.empty()) return nullptr;
  try {
    return std::make_unique<ControlServer>(
        path, answer, ControlCommands::refusal,
        [](const std::string& line) { log("control: " + line); });
  } catch (const std::exception& error) {
    throw ExitRequest(kUsageError, std::string("--control: ") + error.what());
  }
}

using GdbServers = std::vector<std::unique_ptr<debug::GdbServer>>;

GdbServers serve_gdb(const Options& options, Testbed& testbed) {
  GdbServers servers;
  for (const auto& [node, path] : options.gdb_paths) {
    try {
      servers.push_back(std::make_unique<debug::GdbServer>(path, testbed, node, log));
    } catch (const std::exception& error) {
      throw ExitRequest(kUsageError, std::string("--gdb: ") + error.what());
    }
  }
  return servers;
}

using RetireTraces = std::vector<std::unique_ptr<debug::RetireTrace>>;

RetireTraces trace_retirement(const Options& options, Testbed& testbed) {
  RetireTraces traces;
  debug::FirmwareSymbols symbols;
  try {
    if (!options.symbols_path.empty())
      symbols = debug::FirmwareSymbols::of_file(options.symbols_path);
  } catch (const std::exception& error) {
    throw ExitRequest(kUsageError, std::string("--symbols: ") + error.what());
  }
  for (const auto& [node, path] : options.retire_paths) {
    try {
      traces.push_back(std::make_unique<debug::RetireTrace>(path, symbols, testbed, node, log));
    } catch (const std::exception& error) {
      throw ExitRequest(kUsageError, std::string("--retired: ") + error.what());
    }
  }
  return traces;
}

// Each node has sockets, eventfds and files of its client, each port a capture: the usual soft
// limit is for programs that use select().
void raise_file_limit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

void write_results(Report& file, const std::string& path, const workload::Results& results) {
  const bool csv = std::filesystem::path(path).extension() == ".csv";
  file.write("results", csv ? results.csv() : results.json().dump(2) + '\n');
}

// Found when the simulation is over, in all ranks: nobody waits for this one any more.
class LateFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What it throws goes to `error`, if nothing is there: others still count on this rank.
template <typename Action>
void attempt(std::string& error, Action action) {
  try {
    action();
  } catch (const std::exception& failure) {
    if (error.empty()) error = failure.what();
  }
}

// Adds to `error` that messages have not ended although nothing is under way.
void run_workload(const Options& options, Testbed& testbed, const StopSignal& stop,
                  Report results_file, Ranks* ranks, std::string& error) {
  std::unique_ptr<workload::Run> run;
  try {
    run = std::make_unique<workload::Run>(testbed, *options.workload,
                                          "workload " + options.workload_path, ranks);
  } catch (const DataFileError& error) {
    throw ExitRequest(kUsageError, std::string("--workload: ") + error.what());
  }
  pollfd signal{stop.fd(), POLLIN, 0};
  const bool done = run->run([&] { return ::poll(&signal, 1, 0) == 0; });
  const workload::Results results = run->results();
  if (ranks != nullptr && ranks->rank() != 0) return;  // rank 0 has all
  std::fputs(results.text().c_str(), stdout);
  attempt(error, [&] {
    if (results_file.wanted()) write_results(results_file, options.results_path, results);
    if (done && results.unfinished() != 0)
      throw std::runtime_error(
          std::to_string(results.unfinished()) +
          " messages of the workload have not ended, and nothing is under way");
  });
}

void run(Options options, const StopSignal& stop, Ranks* ranks) {
  if (options.waves) options.waves->log = log;
  raise_file_limit();
  std::signal(SIGPIPE, SIG_IGN);
  const auto part = own_part(options, ranks);
  // What is of the whole run rank 0 has.
  const bool is_first = ranks == nullptr || ranks->rank() == 0;
  Report stats("--stats", is_first ? options.stats_path : "");
  Report waiting("--waiting", is_first ? options.waiting_path : "");
  Report results("--results", is_first ? options.results_path : "");
  Observation observation(
      options, ranks, part ? Fabric::least_latency(options.profile, *options.topology) : SimTime{0},
      log);
  Pebs pebs(options, log);
  Testbed testbed = build(options, observation.observer(), part.get(), pebs);
  if (ranks != nullptr) ranks->connect(part->border);
  if (options.threads > 1 && testbed.nodes() > 1 && testbed.threads() == 1)
    log("--threads: one simulates, as a line of the network has no latency");
  ServiceLoop::Servers servers = listen(options, testbed);
  pebs.begin(testbed, memory_budget(options, testbed));
  const auto clocks = make_clocks(options, testbed, ranks != nullptr);
  const auto start = std::chrono::steady_clock::now();
  ControlCommands commands = control_commands(options, testbed, servers, pebs, ranks, start);
  const auto answer = [&](const std::string& line) { return commands.answer(line); };
  std::optional<Meeting> meeting;
  if (ranks != nullptr) meeting.emplace(*ranks, answer);
  const auto control = serve_control(
      is_first ? options.control_path : "",
      [&](const std::string& line) { return meeting ? meeting->ask(line) : answer(line); });
  const GdbServers debuggers = serve_gdb(options, testbed);
  const RetireTraces retire_traces = trace_retirement(options, testbed);
  std::unique_ptr<Captures> captures;
  if (!options.capture_directory.empty()) {
    captures = std::make_unique<Captures>(options.capture_directory, testbed, log);
  }
  std::vector<SideSocket*> side_sockets = pebs.sockets();
  if (control) side_sockets.push_back(control.get());
  for (const auto& debugger : debuggers) side_sockets.push_back(debugger.get());
  const auto flush = [&] {
    if (captures) captures->flush();
    observation.flush();
  };
  std::string error;
  if (options.workload) {
    run_workload(options, testbed, stop, std::move(results), ranks, error);
  } else if (meeting && clocks) {
    run_loop(RankedSynchronisedLoop(testbed, servers, stop, *clocks, *ranks, *meeting,
                                    options.profile.pcie.latency_ns),
             side_sockets, flush);
  } else if (meeting) {
    run_loop(RankedLoop(testbed, servers, stop, *ranks, *meeting), side_sockets, flush);
  } else {
    serve(options, testbed, servers, clocks.get(), stop, side_sockets, flush);
  }
  flush();
  const double wall_s = seconds_since(start);
  if (!options.stats_path.empty()) {
    const Json all = statistics_of(statistics(options, testbed, servers, pebs, wall_s),
                                   testbed.fabric().topology(), ranks);
    attempt(error, [&] {
      if (stats.wanted()) stats.write("statistics", all.dump(2) + '\n');
    });
  }
  if (ranks != nullptr || !options.waiting_path.empty()) {
    const std::vector<Json> parts = gather(waiting_of(testbed, ranks, start), ranks);
    std::fputs(waiting_text(parts).c_str(), stdout);
    attempt(error, [&] {
      if (waiting.wanted()) waiting.write("who waits", Json(parts).dump() + '\n');
    });
  }
  if (ranks != nullptr) ranks->any(!error.empty());  // all are here
  if (!error.empty()) throw LateFailure(error);
}

}  // namespace
}  // namespace exrnic

int main(int argc, char** argv) {
  std::optional<exrnic::StopSignal> stop;
  try {
    stop.emplace();  // first, so that it is blocked in the threads of MPI, too
  } catch (const std::exception& failure) {
    exrnic::log(failure.what());
    return exrnic::kFailure;
  }
  const std::unique_ptr<exrnic::Ranks> ranks = exrnic::join_ranks();
  if (ranks) exrnic::speaker() += ": rank " + std::to_string(ranks->rank());
  int code = exrnic::kFailure;
  std::string error;
  try {
    exrnic::run(exrnic::parse_options(argc, argv), *stop, ranks.get());
    return 0;
  } catch (const exrnic::LateFailure& failure) {
    exrnic::log(failure.what());
    return code;
  } catch (const exrnic::ExitRequest& exit) {
    code = exit.code;
    error = exit.what();
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  if (code == 0) {
    if (ranks) ranks->any(true);  // who was asked for something else waits for this one
    if (!ranks || ranks->rank() == 0) std::fputs(error.c_str(), stdout);
    return 0;
  }
  // What is wrong in all ranks rank 0 says.
  if (ranks && ranks->rank() != 0) std::this_thread::sleep_for(std::chrono::seconds(1));
  exrnic::log(error);
  if (ranks) ranks->abort(code);
  return code;
}
