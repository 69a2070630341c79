// SPDX-License-Identifier: BSD-2-Clause
// Makes a fabric as it was planned: numbers and manager of switches, while nodes lose the numbers
// that they are not to keep, then routes and floods, then numbers of nodes, whose links so come up
// in a fabric that is ready, then assignments of PEBs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tools/fabric/changes.h"
#include "tools/fabric/known.h"
#include "tools/fabric/map.h"
#include "tools/fabric/numbers.h"
#include "tools/fabric/peers.h"
#include "tools/fabric/requests.h"
#include "tools/fabric/routes.h"

namespace exrnic::fabric {

struct WriteCounts {
  uint64_t devices = 0;
  uint64_t route_blocks = 0;
  uint64_t flood_blocks = 0;
  uint64_t assignments = 0;
};

// Requests are its own while it is at work.
class Writer {
 public:
  // All outlive it. `key`: 0 for none.
  Writer(Requests& requests, Map& map, Known& known, uint64_t key)
      : requests_(requests), map_(map), known_(known), key_(key) {}

  void begin(Numbers numbers, RoutesPlan plan, std::vector<Assignment> assignments);

  // Goes on; true when all is written, or refused.
  bool advance();

  // Leaves it at that, and clears the requests.
  void stop();

  // Somebody has not answered: the map does not fit the fabric any more. For a node the others do
  // not wait.
  bool failed() const { return failed_ || missed_; }
  // Switches that have not answered, or not done what they are told, though they are there.
  const std::set<uint64_t>& unheard() const { return unheard_; }
  // Those that have done all.
  bool has_done_all(uint64_t guid) const { return heard_.count(guid) > doubted_.count(guid); }
  // Another manager may have given devices out since.
  void forget_peers() { peers_ = Peers(); }
  const std::vector<std::string>& problems() const { return problems_; }
  const WriteCounts& counts() const { return counts_; }

 private:
  enum class Stage { kRead, kSwitches, kUrgent, kRest, kNodes, kPeers, kFree, kAssign, kDone };

  void start(Stage stage);
  void read_switches();
  void read_routes(uint64_t guid, uint32_t block);
  void read_floods(uint64_t guid, uint32_t block);
  void take_numbers();
  void set_devices(bool switches);
  void set_device(uint64_t guid, const DeviceChange& change);
  void take_device(uint64_t guid, const DeviceChange& change, const Answer& answer);
  void write_blocks(bool urgent);
  void write_block(const BlockWrite& write);
  void take_block(const BlockWrite& write, const Answer& answer);
  void read_peers();
  void read_peer(const PortId& port);
  void read_host(uint64_t host);
  void read_others(uint64_t host, uint16_t port);
  void free_ports();
  void free_device(uint64_t device, const AssignmentData& left);
  void set_peers(const Peers::Changes& changes);
  void set_peer(const PortId& port, const AssignmentData& peer);
  uint16_t number_of(uint64_t guid) const;
  void ask(uint64_t guid, Request request, std::function<void(const Answer&)> take);
  void doubt(uint64_t guid);
  void disobeys(uint64_t guid);
  void ask_node(uint64_t guid, Request request, std::function<void(const Answer&)> take);
  void report(const Device& device, const std::string& what, const Answer& answer);

  Requests& requests_;
  Map& map_;
  Known& known_;
  const uint64_t key_;
  Numbers numbers_;
  RoutesPlan plan_;
  std::vector<Assignment> assignments_;
  Peers peers_;
  std::set<uint64_t> hosts_read_;  // whose ports all have been asked for
  std::vector<BlockWrite> writes_;
  Stage stage_ = Stage::kDone;
  size_t asked_ = 0;
  bool failed_ = false;         // it does not go on
  bool missed_ = false;         // a node has not answered
  std::set<uint64_t> heard_;    // switches that have answered something,
  std::set<uint64_t> doubted_;  // not all,
  std::set<uint64_t> unheard_;  // and are there
  // Requests that switches have not answered; of one that is there all but the first.
  size_t misses_ = 0;
  size_t nodes_answered_ = 0;  // to requests
  size_t nodes_missed_ = 0;    // of those that were not silent before
  std::set<uint64_t> silent_;  // nodes that have not answered their last request
  std::vector<std::string> problems_;
  WriteCounts counts_;
};

}  // namespace exrnic::fabric
