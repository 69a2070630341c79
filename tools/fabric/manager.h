// SPDX-License-Identifier: BSD-2-Clause
// A fabric manager: discovers a fabric from one of its nodes, numbers its devices, sets its routes,
// and keeps it like that while lines and devices come and go. It knows no clock and no thread: who
// calls poll() has both. All times are in ns, of one clock that does not go back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/fabric/discovery.h"
#include "tools/fabric/known.h"
#include "tools/fabric/map.h"
#include "tools/fabric/port.h"
#include "tools/fabric/pulse.h"
#include "tools/fabric/requests.h"
#include "tools/fabric/standby.h"
#include "tools/fabric/sweep.h"
#include "tools/fabric/writer.h"

namespace exrnic::fabric {

struct ManagerOptions {
  uint64_t key = 0;                 // of the fabric; 0: its devices have none
  bool standby = false;             // begins when nobody else manages the own node
  uint64_t timeout_ns = 5'000'000;  // of the first try of a request; the nth waits n times as long
  unsigned tries = 6;
  unsigned routed_tries = 3;             // of a look at a device, before it is asked along its path
  uint64_t sweep_ns = 1'000'000'000;     // between looks at all devices
  uint64_t takeover_ns = 5'000'000'000;  // how long another manager's beat stands still until then
  uint64_t pause_ns = 2'000'000;         // between discoveries that traps or trouble ask for
  DiscoveryLimits limits;
  std::optional<uint64_t> seed;  // for tests: transactions can be guessed then
  std::vector<Assignment> assignments;
};

enum class ManagerState { kWaiting, kDiscovering, kWriting, kActive };
const char* name_of(ManagerState state);

// kNever: not yet.
struct ManagerTimes {
  uint64_t started_ns = kNever;     // the last discovery
  uint64_t discovered_ns = kNever;  // the end of the last one
  uint64_t routed_ns = kNever;      // when all of it was written
  uint64_t swept_ns = kNever;       // the end of the last look at all devices
};

struct ManagerCounts {
  RequestCounts requests;
  WriteCounts writes;
  uint64_t discoveries = 0;  // of everything
  uint64_t looks = 0;        // at a part
  uint64_t sweeps = 0;
  uint64_t takeovers = 0;
  uint64_t yields = 0;
};

class Manager {
 public:
  // The port outlives it. Nothing is sent before the first poll().
  Manager(ManagementPort& port, const ManagerOptions& options);

  // Does what can be done without waiting. Returns when it wants to be called at the latest;
  // sooner does no harm, and when a frame has come it is of use.
  uint64_t poll(uint64_t now_ns);

  ManagerState state() const { return state_; }
  bool written() const { return written_; }  // all that is planned; else it begins anew by itself
  const std::string& reason() const { return reason_; }  // why it is in that state
  const Map& map() const { return map_; }
  const ManagerTimes& times() const { return times_; }
  ManagerCounts counts() const;

  // Each names a device, what is wrong with it, and what to do.
  std::vector<std::string> problems() const;

  // Replaces the list of the options; takes effect with the next writing, which it asks for.
  void assign(std::vector<Assignment> assignments);

 private:
  // A switch that went from the map while it was written.
  struct LeftOut {
    uint64_t guid = 0;
    Path path;
    std::set<uint32_t> blocks;  // of routes that it may have
  };

  // States.
  void enter(ManagerState state, std::string reason);
  void advance(uint64_t now_ns);
  void wait(uint64_t now_ns);
  void begin_discovery(uint64_t now_ns);
  void discover(uint64_t now_ns);
  void take_map(uint64_t now_ns);
  bool has_others() const;
  void leave_out_deaf(Map* map);
  void count_deaf();
  void remember_left_out(const Map& map);
  void empty_left_out();
  void empty_blocks(LeftOut item);
  void plan();
  void remember_numbers();
  void write(uint64_t now_ns);
  void watch(uint64_t now_ns);
  uint64_t due_ns() const;
  uint64_t work_due_ns() const;

  // What happens in a fabric that is routed.
  uint64_t next_discovery_ns() const;
  void count_failure(uint64_t now_ns);
  bool may_interrupt(uint64_t now_ns, bool already) const;
  void take_trap(const Trap& trap);
  void begin_sweep();
  void look_at_own(const Answer* answer);
  bool is_busy() const;
  void show_life(uint64_t now_ns);
  void hear_own(const DeviceData& own);
  void end_sweep(uint64_t now_ns);
  void write_again();
  void read_again();
  bool is_foreign(const DeviceData& own) const;
  void yield_to(uint16_t manager, uint64_t now_ns);
  uint16_t own_number() const;

  const ManagerOptions options_;
  Requests requests_;
  Map map_;
  Known known_;
  Numbers numbers_;
  std::map<uint64_t, uint16_t> had_;       // numbers, by GUID
  std::map<uint16_t, uint64_t> switches_;  // GUIDs, by number
  std::vector<Assignment> assignments_;
  std::vector<LeftOut> left_out_;
  std::set<uint64_t> deaf_;               // switches, see Map
  std::map<uint64_t, unsigned> unheard_;  // switches; writings one after the other that they ended
  Discovery discovery_;
  Writer writer_;
  Sweep sweep_;
  Pulse pulse_;
  Standby standby_;
  Transactions chance_;

  ManagerState state_ = ManagerState::kWaiting;
  std::string reason_;
  bool begun_ = false;
  ManagerTimes times_;
  ManagerCounts counts_;

  std::set<uint64_t> dirty_;  // devices that have changed
  bool all_dirty_ = true;
  bool written_ = false;          // the last plan
  bool replan_ = false;           // the map is right, what was written may be not
  bool trapped_ = false;          // since the last discovery began
  bool partly_ = false;           // the discovery is one of what has changed
  unsigned added_looks_ = 0;      // to it
  unsigned failures_ = 0;         // one after the other
  uint64_t earliest_ns_ = 0;      // of the next look at what has changed
  uint64_t earliest_all_ns_ = 0;  // of the next one at everything
  bool write_interrupted_ = false;
  bool sweep_interrupted_ = false;

  bool sweeping_ = false;
  bool own_asked_ = false;
  uint64_t next_sweep_ns_ = 0;
  uint64_t next_pulse_ns_ = 0;
  bool own_silent_ = false;
  uint64_t read_again_ns_ = kNever;  // another manager may have written until then
  bool holds_own_ = false;  // this manager's number has been that of the own node's manager
  std::optional<uint8_t> own_beat_;
  std::optional<uint16_t> other_;  // who counts there instead
};

}  // namespace exrnic::fabric
