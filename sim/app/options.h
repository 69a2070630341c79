// SPDX-License-Identifier: BSD-2-Clause
// The command line of exrnic-sim.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "rtl-model/ref/peb/peb_core.h"
#include "rtl-model/systemc/rnic_module.h"
#include "rtl-model/systemc/wave_window.h"
#include "sim/ethernet/faults.h"
#include "sim/profile/profile.h"
#include "sim/topology/fabric.h"
#include "sim/topology/topology.h"
#include "sim/workload/workload.h"

namespace exrnic {

constexpr const char* kLockstepCore = "lockstep";

// A slot of a PEB's host and the box whose device is in it, each as its number among those of its
// kind.
struct Assignment {
  unsigned host;
  unsigned slot;
  unsigned box;
};

struct Options {
  std::vector<std::string> sockets;  // of the nodes, in the order of their identifiers
  std::vector<std::vector<std::string>> peb_hosts;  // sockets of their slots
  std::vector<std::string> peb_devices;             // sockets of the servers that have them
  std::vector<Assignment> assignments;
  bool reaches_by_messages = false;  // memory that clients of nodes grant without a file
  Profile profile;
  std::string core;  // its name
  CoreFactory make_core;
  peb::PebFactory make_peb;
  uint64_t seed = 1;
  FaultConfig faults;
  std::map<std::string, FaultConfig> faults_at;  // by the end of a line
  std::optional<Topology> topology;              // has a node for each socket, or more
  Fabric::Control fabric = Fabric::Control::kStatic;
  std::string clock_path;                        // of synchronised time; empty: free time
  std::string stats_path;                        // empty: no statistics
  std::string capture_directory;                 // empty: no captures
  std::string control_path;                      // empty: no control socket
  std::map<unsigned, std::string> gdb_paths;     // by node: a socket for a debugger
  std::map<unsigned, std::string> retire_paths;  // by node: a file for its processor's instructions
  std::string symbols_path;                      // names of their places; empty: none
  std::string trace_path;                        // empty: no trace
  std::string losses_path;                       // empty: nobody is told of frames that are lost
  std::string workload_path;                     // empty: the nodes have hosts
  std::optional<workload::Workload> workload;    // what is in it
  std::string results_path;                      // of the workload; empty: no file
  unsigned threads = 1;                          // see TestbedOptions
  std::string waiting_path;                      // of who works and who waits; empty: no file
  std::string partition;                         // of ranks; see load_partition()
  std::vector<std::string> arguments;            // as they were given
  std::optional<WaveWindow> waves;
};

// The program is to end at once with this exit code; what() goes to stderr, or to stdout with 0.
class ExitRequest : public std::runtime_error {
 public:
  ExitRequest(int code, const std::string& text) : std::runtime_error(text), code(code) {}
  int code;
};

// Throws ExitRequest: after --help with 0, after a wrong argument with kUsageError and one line.
Options parse_options(int argc, char** argv);
constexpr int kUsageError = 2;

}  // namespace exrnic
