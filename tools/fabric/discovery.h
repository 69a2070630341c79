// SPDX-License-Identifier: BSD-2-Clause
// Finds out who is in a fabric, by directed requests, breadth first. A line has two ends and a
// GUID one device: what contradicts that in two passes is a GUID that several have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>

#include "tools/fabric/map.h"
#include "tools/fabric/requests.h"

namespace exrnic::fabric {

// Of what is believed of devices: who lies may cost no more than this.
struct DiscoveryLimits {
  size_t devices = 16384;
  size_t ports = 4096;  // of a switch
  size_t ports_of_all = 1 << 18;
};

class Discovery {
 public:
  // `requests` outlives it, or is cleared before.
  Discovery(Requests& requests, const DiscoveryLimits& limits)
      : requests_(requests), limits_(limits) {}

  // Everything, from the own node on.
  void begin_all();

  // What has changed at these devices of `map`, and behind them.
  void begin_at(Map map, const std::set<uint64_t>& guids);
  void look_also_at(uint64_t guid);

  // Goes on; true when there is nothing left to find out. Who looks at several devices does not
  // wait for ports that may be silent: these are told to be.
  bool advance();

  // Of begin_at(): the map does not fit the fabric any more, all of it has to be found anew. Of
  // begin_all(): the own node does not answer.
  bool failed() const { return failed_; }
  const Map& map() const { return map_; }
  Map& map() { return map_; }

 private:
  struct Probe {
    PortId from;
    bool patient = false;  // it is asked again if nobody answers
    bool again = false;
    bool disputed = false;  // somebody says that he is there
  };
  // What it asks about the ports of one device.
  struct Probing {
    std::deque<Probe> waiting;
    unsigned out = 0;
    unsigned answered = 0;
    unsigned silent = 0;  // when they were asked once
    bool tired = false;   // one was silent each time
  };

  void begin_pass();
  bool end_pass();
  void look_at_next();
  void ask_own();
  void probe(const PortId& from, bool patient);
  void ask_more(uint64_t guid);
  void ask_later();
  void ask_port(const Probe& probe, bool later);
  void take_probe(const Probe& probe, const Answer* answer);
  void dispute(const PortId& port);
  void leave(const PortId& port);
  void leave_later();
  void forget_probes();
  bool has_later() const { return !later_out_.empty() || !later_.empty(); }
  void arrive(const PortId& from, const Answer& answer);
  bool add(const DeviceData& data, const Path& path);
  void ask_ports(uint64_t guid);
  void ask_ports_of_block(uint64_t guid, unsigned block);
  void take_ports(uint64_t guid, unsigned block, const Answer* answer);
  void suspect(uint64_t guid, const PortId& from);
  void look_at_contradictions();
  void suspect_contradictions();
  void part(const PortId& port);
  void settle();
  template <typename Take>
  void ask(Path path, uint16_t attribute, uint32_t modifier, Take take, unsigned tries = 0);

  Requests& requests_;
  const DiscoveryLimits limits_;
  Map map_;
  bool all_ = false;
  bool failed_ = false;
  bool done_ = true;
  size_t asked_ = 0;
  size_t ports_of_all_ = 0;
  unsigned passes_ = 0;
  std::map<uint64_t, Probing> probing_;  // by GUID
  std::deque<Probe> later_;              // for whose answer nobody is to wait long
  std::multiset<PortId> later_out_;      // of them those that are asked
  std::set<PortId> silent_before_;       // of begin_all()
  std::set<PortId> unsure_;              // silent ones that were not asked with patience
  bool hurried_ = false;                 // somebody else is to be looked at, too
  std::deque<uint64_t> look_;
  std::set<uint64_t> looked_;  // of begin_at()
  std::map<uint64_t, std::set<PortId>> suspects_;
  std::map<uint64_t, std::set<PortId>> suspects_before_;
  std::set<uint64_t> mute_before_;
  std::map<PortId, PortId> parted_;  // lines that were taken from the map: by whom, other end
};

}  // namespace exrnic::fabric
