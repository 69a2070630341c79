// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/manager.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tools/fabric/text.h"

namespace exrnic::fabric {
namespace {

constexpr size_t kMostRemembered = 1 << 16;  // numbers of devices that have gone
constexpr size_t kMostLooks = 64;            // that are added to a discovery
constexpr size_t kMostLeftOut = 64;          // switches that are emptied
constexpr unsigned kDeaf = 2;                // writings that a switch ends; frames may be lost
constexpr unsigned kMostFailures = 6;        // each doubles the pause
constexpr unsigned kLooksOfPatience = 8;  // at the own node, while its manager's beat stands still

Requests::Options request_options(const ManagerOptions& options) {
  return {options.key, options.timeout_ns, std::max(1u, options.tries), options.seed};
}

}  // namespace

const char* name_of(ManagerState state) {
  switch (state) {
    case ManagerState::kWaiting:
      return "waiting";
    case ManagerState::kDiscovering:
      return "discovering";
    case ManagerState::kWriting:
      return "writing";
    default:
      return "active";
  }
}

Manager::Manager(ManagementPort& port, const ManagerOptions& options)
    : options_(options),
      requests_(port, request_options(options), [this](const Trap& trap) { take_trap(trap); }),
      assignments_(options.assignments),
      discovery_(requests_, options.limits),
      writer_(requests_, map_, known_, options.key),
      sweep_(requests_, map_),
      pulse_(requests_, [this](const DeviceData& own) { hear_own(own); }),
      standby_(requests_, std::max<uint64_t>(1, options.takeover_ns / kLooksOfPatience)),
      chance_(options.seed) {}

uint64_t Manager::poll(uint64_t now_ns) {
  if (!begun_) {
    begun_ = true;
    if (options_.standby) {
      enter(ManagerState::kWaiting, "it is to wait until nobody manages the own node");
      standby_.begin(now_ns, options_.takeover_ns);
    } else {
      begin_discovery(now_ns);
    }
  }
  requests_.poll(now_ns);
  advance(now_ns);
  show_life(now_ns);
  const uint64_t requests_due = requests_.poll(now_ns);
  const uint64_t due = std::min(requests_due, due_ns());
  // Nothing is waited for any more: the last answer has just come.
  const bool goes_on = work_due_ns() == kNever && requests_.idle();
  return goes_on ? now_ns : std::max(due, now_ns);
}

void Manager::enter(ManagerState state, std::string reason) {
  state_ = state;
  reason_ = std::move(reason);
}

void Manager::advance(uint64_t now_ns) {
  if (other_ && state_ != ManagerState::kWaiting) return yield_to(*other_, now_ns);
  switch (state_) {
    case ManagerState::kWaiting:
      return wait(now_ns);
    case ManagerState::kDiscovering:
      return discover(now_ns);
    case ManagerState::kWriting:
      return write(now_ns);
    case ManagerState::kActive:
      return watch(now_ns);
  }
}

// When there is something to do although no answer is waited for.
uint64_t Manager::due_ns() const {
  if (is_busy() && !pulse_.at_work()) return std::min(work_due_ns(), next_pulse_ns_);
  return work_due_ns();
}

uint64_t Manager::work_due_ns() const {
  switch (state_) {
    case ManagerState::kWaiting:
      return standby_.due_ns();
    case ManagerState::kDiscovering:
      if (!discovery_.failed()) return kNever;
      return partly_ ? 0 : earliest_ns_;
    case ManagerState::kWriting:
      return kNever;
    case ManagerState::kActive:
      return sweeping_ ? kNever : std::min(next_discovery_ns(), next_sweep_ns_);
  }
  return kNever;
}

void Manager::wait(uint64_t now_ns) {
  if (!standby_.advance(now_ns)) return;
  ++counts_.takeovers;
  all_dirty_ = true;
  failures_ = 0;
  earliest_all_ns_ = now_ns;
  begin_discovery(now_ns);
}

void Manager::begin_discovery(uint64_t now_ns) {
  requests_.clear();
  sweep_.stop();
  sweeping_ = own_asked_ = false;
  partly_ = !(all_dirty_ && now_ns >= earliest_all_ns_) && map_.own != 0 && !dirty_.empty();
  times_.started_ns = now_ns;
  if (partly_) {
    ++counts_.looks;
    discovery_.begin_at(map_, dirty_);
    enter(ManagerState::kDiscovering, "what has changed is looked at");
  } else {
    ++counts_.discoveries;
    discovery_.begin_all();
    enter(ManagerState::kDiscovering, "everything is looked at");
  }
  added_looks_ = 0;
  all_dirty_ = all_dirty_ && partly_;
  trapped_ = false;
  dirty_.clear();
}

void Manager::discover(uint64_t now_ns) {
  if (discovery_.failed() && partly_) {
    requests_.clear();
    count_failure(now_ns);
    return enter(ManagerState::kActive, "what is there is not what was known");
  }
  if (discovery_.failed() && now_ns >= earliest_ns_) {
    all_dirty_ = true;
    begin_discovery(now_ns);
  }
  // What belongs together comes at the same time: a switch that dies is told by all around it.
  while (partly_ && !dirty_.empty() && added_looks_ < kMostLooks) {
    discovery_.look_also_at(*dirty_.begin());
    dirty_.erase(dirty_.begin());
    ++added_looks_;
  }
  if (!discovery_.advance()) return;
  earliest_ns_ = now_ns + options_.pause_ns;
  if (!discovery_.failed()) {
    take_map(now_ns);
  } else {
    own_silent_ = own_silent_ || !partly_;
  }
}

void Manager::take_map(uint64_t now_ns) {
  Map map = discovery_.map();
  leave_out_deaf(&map);
  const bool same = written_ && same_fabric(map_, map);
  remember_left_out(map);
  const bool was_double = map_.duplicates.count(map_.own) != 0;
  map_ = std::move(map);
  own_silent_ = false;
  times_.discovered_ns = now_ns;
  sweep_.forget_misrouted();
  const DeviceData& own = map_.devices.at(map_.own).data;
  if (holds_own_ && is_foreign(own)) return yield_to(own.manager, now_ns);
  if (same) return enter(ManagerState::kActive, "the fabric is routed");
  if (was_double || has_others()) read_again_ns_ = now_ns + options_.takeover_ns;
  plan();
}

// Whether another manager has been at one of them. Where it could not see this node it may have the
// same number.
bool Manager::has_others() const {
  const uint16_t own = own_number();
  return std::any_of(map_.devices.begin(), map_.devices.end(), [&](const auto& item) {
    const DeviceData& device = item.second.data;
    const bool is_double = device.number == own && device.guid != map_.own;
    return (device.manager != kNoNumber && device.manager != own) || is_double;
  });
}

// Else one of them would keep all others from their routes, for ever.
void Manager::leave_out_deaf(Map* map) {
  for (auto it = deaf_.begin(); it != deaf_.end();) {
    const bool gone = !partly_ && map->find(*it) == nullptr;
    it = gone ? deaf_.erase(it) : std::next(it);
  }
  map->deaf = deaf_;
  if (!deaf_.empty()) map->settle();
}

// A line that loses much may look like that once.
void Manager::count_deaf() {
  for (auto it = unheard_.begin(); it != unheard_.end();) {
    const bool done = !writer_.failed() || writer_.has_done_all(it->first);
    const bool heard = done && deaf_.count(it->first) == 0;
    it = heard ? unheard_.erase(it) : std::next(it);
  }
  for (const uint64_t guid : writer_.unheard())
    if (++unheard_[guid] >= kDeaf) deaf_.insert(guid);
}

// What they have is partly of one plan, and partly of another one: frames may go round there.
void Manager::remember_left_out(const Map& map) {
  left_out_.erase(
      std::remove_if(left_out_.begin(), left_out_.end(),
                     [&](const LeftOut& item) { return map.find(item.guid) != nullptr; }),
      left_out_.end());
  if (written_) return;
  for (const auto& [guid, known] : known_) {
    const Device* const before = map_.find(guid);
    if (before == nullptr || map.find(guid) != nullptr || left_out_.size() >= kMostLeftOut)
      continue;
    LeftOut item{guid, before->path, known.unsure_routes};
    for (const auto& [block, ports] : known.routes) item.blocks.insert(block);
    left_out_.push_back(std::move(item));
  }
}

// If they are still there, and no other manager's. Nobody waits for them.
void Manager::empty_left_out() {
  for (LeftOut& item : std::exchange(left_out_, {})) {
    const auto take = [this, item](const Answer* answer) {
      const auto data = answer == nullptr ? std::nullopt : parse_device(answer->data);
      if (data && data->guid == item.guid && data->manager == own_number()) empty_blocks(item);
    };
    requests_.ask(get(along(item.path), EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE), take, 1);
  }
}

// One by one: who does not answer costs one time-out.
void Manager::empty_blocks(LeftOut item) {
  if (item.blocks.empty()) return;
  Request request = set_routes(along(item.path), *item.blocks.begin(), no_routes());
  item.blocks.erase(item.blocks.begin());
  const auto take = [this, item = std::move(item)](const Answer* answer) {
    if (answer != nullptr) empty_blocks(item);
  };
  requests_.ask(std::move(request), take, 1);
}

void Manager::plan() {
  replan_ = false;
  for (auto it = known_.begin(); it != known_.end();) {
    const bool gone = map_.find(it->first) == nullptr;
    it = gone ? known_.erase(it) : std::next(it);
  }
  written_ = false;
  numbers_ = assign_numbers(map_, had_);
  switches_.clear();
  for (const auto& [guid, number] : numbers_.of) {
    if (map_.devices.at(guid).is_switch()) switches_[number] = guid;
  }
  remember_numbers();
  writer_.begin(numbers_, plan_routes(make_net(map_, numbers_)), assignments_);
  enter(ManagerState::kWriting, "numbers and routes are written");
}

// A number is that of the last who had it.
void Manager::remember_numbers() {
  std::set<uint16_t> taken;
  for (const auto& [guid, number] : numbers_.of) taken.insert(number);
  for (auto it = had_.begin(); it != had_.end();) {
    it = taken.count(it->second) != 0 ? had_.erase(it) : std::next(it);
  }
  if (had_.size() > kMostRemembered) had_.clear();
  for (const auto& [guid, number] : numbers_.of) had_[guid] = number;
}

void Manager::write(uint64_t now_ns) {
  if (may_interrupt(now_ns, write_interrupted_)) {
    write_interrupted_ = true;
    writer_.stop();
    return begin_discovery(now_ns);
  }
  const bool done = writer_.advance();
  const Device* const own = map_.find(map_.own);
  holds_own_ = holds_own_ || own->data.manager == own_number();
  if (!done) return;
  count_deaf();
  if (writer_.failed()) {
    count_failure(now_ns);
    enter(ManagerState::kActive, "somebody has not answered; everything is looked at again soon");
  } else {
    written_ = true;
    write_interrupted_ = false;
    times_.routed_ns = now_ns;
    empty_left_out();
    enter(ManagerState::kActive, "the fabric is routed");
  }
  next_sweep_ns_ = now_ns;
}

void Manager::watch(uint64_t now_ns) {
  const std::set<uint64_t> found = sweep_.take_found();
  dirty_.insert(found.begin(), found.end());
  const bool free = !sweeping_ && now_ns >= next_discovery_ns();
  if (free || may_interrupt(now_ns, sweep_interrupted_)) {
    sweep_interrupted_ = sweep_interrupted_ || sweeping_;
    return begin_discovery(now_ns);
  }
  if (sweeping_) {
    if (sweep_.hopeless() || (!own_asked_ && sweep_.done())) end_sweep(now_ns);
  } else if (replan_) {
    requests_.clear();
    sweep_.stop();
    plan();
  } else if (now_ns >= next_sweep_ns_) {
    next_sweep_ns_ = now_ns + options_.sweep_ns;
    begin_sweep();
  }
}

uint64_t Manager::next_discovery_ns() const {
  return std::min(all_dirty_ ? earliest_all_ns_ : kNever, dirty_.empty() ? kNever : earliest_ns_);
}

// Everything is looked at again: at once, and then after longer and longer pauses. Else who lies
// would keep the manager at it.
void Manager::count_failure(uint64_t now_ns) {
  if (all_dirty_) return;
  all_dirty_ = true;
  earliest_all_ns_ = failures_ == 0 ? now_ns : now_ns + (options_.pause_ns << failures_);
  failures_ = std::min(failures_ + 1, kMostFailures);
}

ManagerCounts Manager::counts() const {
  ManagerCounts counts = counts_;
  counts.requests = requests_.counts();
  counts.writes = writer_.counts();
  return counts;
}

std::vector<std::string> Manager::problems() const {
  std::vector<std::string> all = problems_of(map_);
  if (own_silent_ || (state_ == ManagerState::kWaiting && !standby_.answers())) {
    all.push_back(
        "the own node does not answer: it has another key, or no agent; give the manager its key");
  }
  all.insert(all.end(), numbers_.problems.begin(), numbers_.problems.end());
  all.insert(all.end(), writer_.problems().begin(), writer_.problems().end());
  return all;
}

}  // namespace exrnic::fabric
