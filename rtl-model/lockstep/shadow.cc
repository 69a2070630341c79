// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/lockstep/shadow.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "exrnic_hw.h"
#include "rtl-model/lockstep/first_copies.h"

namespace exrnic::lockstep {
namespace {

// A core that does nothing at its boundary for so many steps waits for an input, or for time.
constexpr unsigned kQuietSteps = 8;
constexpr unsigned kLoadSteps = 100'000;

}  // namespace

Shadow::Shadow(const CoreConfig& config, const CoreFactory& make_core, ShadowObserver& observer,
               Transmit transmit)
    : node_(config.node_id),
      observer_(observer),
      transmit_(std::move(transmit)),
      core_(make_core(config, *this)) {}

void Shadow::reset() {
  answers_.clear();
  core_->reset();
}

std::optional<uint64_t> Shadow::take_answer() {
  if (answers_.empty()) return std::nullopt;
  const uint64_t answer = answers_.front();
  answers_.pop_front();
  return answer;
}

void Shadow::receive(Frame&& frame) {
  if (const auto segment = segment_of(frame)) owner_ = segment->owner();
  core_->receive(std::move(frame));
}

bool Shadow::step(uint64_t time_ns) {
  active_ = false;
  core_->step(time_ns);
  return active_;
}

void Shadow::write(PostedWrite&& write) {
  active_ = true;
  observer_.predict(node_, write, owner_);
}

void Shadow::read(const ReadRequest& request) {
  active_ = true;
  ReadCompletion completion{request.tag, true, false, Bytes(request.length)};
  if (!peek(request.address, completion.data.data(), request.length)) {
    completion.error = true;
    completion.data.clear();
  }
  core_->read_completion(std::move(completion));
}

void Shadow::mmio_read_done(uint64_t data) {
  active_ = true;
  answers_.push_back(data);
}

void Shadow::transmit(Frame&& frame) {
  active_ = true;
  observer_.predict(node_, frame);
  frame.data.resize(std::max<size_t>(frame.data.size(), EXRNIC_ETH_FRAME_MIN));  // as a MAC does
  transmit_(std::move(frame));
}

// It goes by the fabric, as others do.
void Shadow::looped(const Frame& frame) {
  active_ = true;
  observer_.predict(node_, frame);
  transmit_(Frame(frame));
}

bool Shadow::peek(uint64_t address, uint8_t* out, size_t length) {
  return observer_.read_memory(node_, address, out, length);
}

void ShadowFabric::add(const CoreConfig& config) {
  CoreConfig patient = config;
  patient.patient = true;
  shadows_[config.node_id] =
      std::make_unique<Shadow>(patient, make_core_, observer_, [this](Frame&& frame) {
        const auto segment = segment_of(frame);
        if (!segment || !segment->number) frames_.push_back({std::move(frame), std::nullopt});
      });
}

// But for its mark: congestion is the subject's affair.
void ShadowFabric::deliver(uint32_t node, const Frame& frame) {
  Frame copy = frame;
  uint8_t* efe = copy.data.data() + EXRNIC_ETH_BYTES;
  exrnic_efe_set_flags(efe, exrnic_efe_flags(efe) & ~uint64_t{EXRNIC_EFE_FLAGS_CE});
  shadows_.at(node)->receive(std::move(copy));
  settle();
}

void ShadowFabric::store(uint32_t node, const MmioAccess& access) {
  shadows_.at(node)->store(access);
  settle();
}

uint64_t ShadowFabric::load(uint32_t node, const MmioAccess& access) {
  Shadow& shadow = *shadows_.at(node);
  shadow.load(access);
  for (unsigned i = 0; i < kLoadSteps; ++i) {
    if (const auto answer = shadow.take_answer()) return *answer;
    shadow.step(time_ns_);
    if (i >= kQuietSteps) hurry();
  }
  throw std::runtime_error("lockstep: the reference core of node " + std::to_string(node) +
                           " does not answer a load");
}

// A load of a window waits for the peer, and others for stores to windows before them that found no
// room: frames take no time for them.
void ShadowFabric::hurry() {
  for (InFlight& one : frames_) one.arrives_ns = time_ns_;
  if (!frames_.empty()) run(time_ns_);
}

// One frame at a time, when all that came of the one before is over: so it is known for whom a
// shadow writes.
bool ShadowFabric::run(uint64_t time_ns) {
  time_ns_ = time_ns;
  for (InFlight& one : frames_)
    if (!one.arrives_ns) one.arrives_ns = time_ns + kFabricNs;
  // The cycles of a shadow whose frame waits do not count: it must not give its peer up.
  bool active = !held_ && step_all();
  if (active) settle();
  for (auto next = next_to_deliver(); next != frames_.end(); next = next_to_deliver()) {
    Frame frame = std::move(next->frame);
    frames_.erase(next);
    const auto to = shadows_.find(node_of(exrnic_eth_dst(frame.data.data())));
    if (to != shadows_.end()) to->second->receive(std::move(frame));
    settle();
    active = true;
  }
  return active;
}

// An acknowledgement alone overtakes what waits: its place among segments means nothing.
std::deque<ShadowFabric::InFlight>::iterator ShadowFabric::next_to_deliver() {
  std::set<std::pair<uint64_t, uint64_t>> blocked;  // from, to
  held_ = false;
  for (auto one = frames_.begin(); one != frames_.end(); ++one) {
    if (!one->arrives_ns || *one->arrives_ns > time_ns_) break;
    const auto segment = segment_of(one->frame);
    if (!segment) return one;
    const uint8_t* ethernet = one->frame.data.data();
    const std::pair way{exrnic_eth_src(ethernet), exrnic_eth_dst(ethernet)};
    if (blocked.count(way) == 0 && observer_.may_deliver(one->frame)) return one;
    blocked.insert(way);
    held_ = true;
  }
  return frames_.end();
}

// Until all shadows wait for a frame, a host, or time.
bool ShadowFabric::settle() {
  bool active = false;
  for (unsigned quiet = 0; quiet < kQuietSteps;) {
    const bool moved = step_all();
    active |= moved;
    quiet = moved ? 0 : quiet + 1;
  }
  return active;
}

bool ShadowFabric::step_all() {
  bool active = false;
  for (const auto& [node, shadow] : shadows_)
    if (!shadow->idle() || shadow->wakes_at_ns() <= time_ns_) active |= shadow->step(time_ns_);
  return active;
}

bool ShadowFabric::idle() const {
  if (!frames_.empty()) return false;
  for (const auto& entry : shadows_)
    if (!entry.second->idle()) return false;
  return true;
}

uint64_t ShadowFabric::wakes_at_ns() const {
  uint64_t first = Core::kNever;
  for (const auto& entry : shadows_) first = std::min(first, entry.second->wakes_at_ns());
  return first;
}

}  // namespace exrnic::lockstep
