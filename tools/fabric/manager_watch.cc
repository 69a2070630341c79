// SPDX-License-Identifier: BSD-2-Clause
// What a manager does in a fabric that is routed: it looks, it hears traps, it gives way.
#include <fmt/format.h>

#include <utility>

#include "tools/fabric/manager.h"

namespace exrnic::fabric {
namespace {

constexpr size_t kMostDirty = 64;  // the rest is found by looking
constexpr unsigned kSweepsOfDoubt = 16;

}  // namespace

// A trap ends what is under way at once, but not the same a second time: who sends traps without
// end does not keep the manager from its work.
bool Manager::may_interrupt(uint64_t now_ns, bool already) const {
  return trapped_ && !already && now_ns >= next_discovery_ns();
}

// Traps have no key. One is no more than a reason to look.
void Manager::take_trap(const Trap& trap) {
  if (state_ == ManagerState::kWaiting) return;
  const auto found = switches_.find(trap.number);
  if (found == switches_.end()) return;
  if (dirty_.size() < kMostDirty) dirty_.insert(found->second);
  trapped_ = true;
}

void Manager::begin_sweep() {
  pulse_.forget_silent();
  sweeping_ = own_asked_ = true;
  sweep_.forget();
  requests_.ask(get(along({}), EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE), [this](const Answer* answer) {
    own_asked_ = false;
    look_at_own(answer);
  });
}

void Manager::look_at_own(const Answer* answer) {
  const auto data = answer == nullptr ? std::nullopt : parse_device(answer->data);
  if (!data || data->guid != map_.own) {
    all_dirty_ = true;
    return;
  }
  DeviceData& own = map_.devices.at(map_.own).data;
  const bool other_beat = own_beat_ && data->beat != *own_beat_ && data->manager != kNoNumber;
  if (holds_own_ && (is_foreign(*data) || other_beat)) {
    other_ = data->manager;
    return;
  }
  if (data->number != own.number || data->changes != own.changes || data->keyed != own.keyed ||
      data->manager == kNoNumber) {
    dirty_.insert(map_.own);
  }
  DeviceChange change;
  change.beat = static_cast<uint8_t>(data->beat + 1);
  own_beat_.reset();
  const auto take = [this, change, pulses = pulse_.begun()](const Answer* set) {
    if (set != nullptr && set->ok() && pulse_.begun() == pulses) own_beat_ = change.beat;
  };
  requests_.ask(set_device(along({}), change), take);
  sweep_.begin(own_number(), options_.routed_tries);
}

// Something that may take longer than others wait.
bool Manager::is_busy() const {
  return state_ == ManagerState::kDiscovering || state_ == ManagerState::kWriting || sweeping_;
}

// Who manages nothing yet counts at the nodes that he has found.
void Manager::show_life(uint64_t now_ns) {
  if (!is_busy() || pulse_.at_work() || now_ns < next_pulse_ns_) return;
  next_pulse_ns_ = now_ns + options_.sweep_ns;
  own_beat_.reset();
  const bool first = state_ == ManagerState::kDiscovering && !holds_own_;
  pulse_.begin(first ? discovery_.map() : map_);
}

// Its number may be about to change; then it is both.
void Manager::hear_own(const DeviceData& own) {
  const auto planned = numbers_.of.find(map_.own);
  const bool mine = planned != numbers_.of.end() && own.manager == planned->second;
  if (holds_own_ && is_foreign(own) && !mine) other_ = own.manager;
}

void Manager::end_sweep(uint64_t now_ns) {
  sweeping_ = false;
  sweep_interrupted_ = false;
  ++counts_.sweeps;
  times_.swept_ns = now_ns;
  dirty_.insert(sweep_.changed().begin(), sweep_.changed().end());
  if (sweep_.lost()) {
    count_failure(now_ns);
  } else if (!all_dirty_) {
    failures_ = 0;
  }
  // Those that are left out are looked at by nobody else.
  const bool doubt = !map_.duplicates.empty() || !deaf_.empty() || !map_.mute.empty() || map_.full;
  if (doubt && counts_.sweeps % kSweepsOfDoubt == 0) {
    all_dirty_ = true;
    deaf_.clear();
  }
  if (sweep_.misrouted()) write_again();
  if (now_ns >= read_again_ns_) read_again();
  if (!sweep_.hopeless()) return;
  requests_.clear();
  sweep_.stop();
}

// Somebody's routes are not what is known of them.
void Manager::write_again() {
  for (auto& [guid, known] : known_) {
    for (const auto& [block, ports] : known.routes) known.unsure_routes.insert(block);
  }
  replan_ = true;
}

// Until it has found out that it was replaced, another manager writes what it had planned, also
// behind what was read here.
void Manager::read_again() {
  read_again_ns_ = kNever;
  for (auto& [guid, known] : known_) known.complete = false;
  replan_ = true;
}

bool Manager::is_foreign(const DeviceData& own) const {
  return own.manager != kNoNumber && own.manager != own_number();
}

void Manager::yield_to(uint16_t manager, uint64_t now_ns) {
  requests_.clear();
  sweep_.stop();
  writer_.stop();
  writer_.forget_peers();
  sweeping_ = own_asked_ = holds_own_ = trapped_ = false;
  own_beat_.reset();
  other_.reset();
  read_again_ns_ = kNever;
  known_.clear();
  left_out_.clear();
  deaf_.clear();
  unheard_.clear();
  written_ = false;
  dirty_.clear();
  ++counts_.yields;
  // Two that have given way to each other do not come back at the same time.
  const uint64_t longer = (chance_.next() ^ map_.own) % (options_.takeover_ns / 2 + 1);
  standby_.begin(now_ns, options_.takeover_ns + longer);
  enter(ManagerState::kWaiting, fmt::format("node {} manages the own node now", manager));
}

uint16_t Manager::own_number() const {
  const Device* const own = map_.find(map_.own);
  return own == nullptr ? kNoNumber : own->data.number;
}

void Manager::assign(std::vector<Assignment> assignments) {
  assignments_ = std::move(assignments);
  replan_ = true;
}

}  // namespace exrnic::fabric
