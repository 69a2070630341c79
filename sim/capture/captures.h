// SPDX-License-Identifier: BSD-2-Clause
// A capture file for each Ethernet port of a simulation: DIR/node0.pcap, DIR/switch0.2.pcap, ...
//
// A port's file has what it sent and what it received, in the order of simulated time: a sent frame
// when its first bit enters the line, a received one when its last bit has come (at a cut-through
// switch: its head). What a line lost is in the file of its sender alone.
//
// A file that takes no more, or cannot be opened, costs one line in the log and that capture.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "sim/capture/pcap_file.h"
#include "sim/testbed.h"

namespace exrnic {

class Captures {
 public:
  using Log = std::function<void(const std::string& line)>;

  // Captures every frame of `testbed` from now on. DIR is made if need be. This outlives the
  // testbed's runs.
  Captures(const std::string& directory, Testbed& testbed, Log log);

  // All that was captured is in the files.
  void flush();

  size_t ports() const;  // whose capture goes on

 private:
  void open(const std::string& port);
  void add(const std::string& port, SimTime now, const Bytes& wire);
  template <typename Action>
  void attempt(const std::string& port, Action action);

  std::string directory_;
  Log log_;
  std::map<std::string, std::unique_ptr<PcapFile>> files_;  // by port; nullptr: failed
};

}  // namespace exrnic
