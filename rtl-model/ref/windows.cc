// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/windows.h"

#include <algorithm>
#include <utility>

#include "rtl-model/ref/ddp_header.h"
#include "rtl-model/ref/to_peer.h"

namespace exrnic::ref {
namespace {

constexpr uint64_t kAllOnes = UINT64_MAX;

bool is_natural(const MmioAccess& access) {
  const bool size = access.size == 1 || access.size == 2 || access.size == 4 || access.size == 8;
  return size && access.offset % access.size == 0;
}

uint64_t value_of(const uint8_t* data, size_t length) {
  uint64_t value = 0;
  for (size_t i = 0; i < length; ++i) value |= uint64_t{data[i]} << (8 * i);
  return value;
}

}  // namespace

Window* Windows::granted(const MmioAccess& access, uint32_t right) {
  const uint32_t index = access.offset / state_.window_size();
  if (!state_.enabled() || !is_natural(access) || index >= state_.windows.size()) return nullptr;
  Window& window = state_.windows[index];
  const uint32_t offset = access.offset % state_.window_size();
  return (window.access & right) && offset + access.size <= window.length ? &window : nullptr;
}

bool Windows::can_send(uint32_t qpn, uint16_t generation) const {
  const QueuePair& qp = state_.qps[qpn];
  return qp.valid && qp.generation == generation && qp.status.state == EXRNIC_QP_STATE_RTS;
}

// It completes nothing; if it fails, the queue pair does.
Segment Windows::segment(uint32_t qpn) const {
  Segment segment = segment_to_peer(state_.qps[qpn], qpn);
  segment.tag.kind = Tag::Kind::kSegment;
  return segment;
}

// ---- Stores

void Windows::store(const MmioAccess& access) {
  const Window* window = granted(access, EXRNIC_WINDOW_ACCESS_STORE);
  if (window == nullptr) return state_.count(EXRNIC_COUNTER_WINDOW_REFUSED);
  state_.count(EXRNIC_COUNTER_WINDOW_STORES);
  Store store{access.offset / state_.window_size(),
              window->qpn,
              window->generation,
              window->stag,
              window->base + access.offset % state_.window_size(),
              Bytes(access.size)};
  for (size_t i = 0; i < access.size; ++i)
    store.data[i] = static_cast<uint8_t>(access.data >> (8 * i));
  stores_.push_back(std::move(store));
  run();
}

// For room, or for the first meeting of the two queue pairs. If nobody is there what is sent all
// the same fails, and the queue pair with it.
bool Windows::waits(Store& store) {
  const QueuePair& qp = state_.qps[store.qpn];
  if (!can_send(store.qpn, store.generation)) return false;
  // Nobody waits for that one again.
  const std::pair whose{store.qpn, store.generation};
  if (!qp.at.peer.met && missed_ != whose) {
    if (store.deadline == 0) store.deadline = state_.cycle + EXRNIC_MEET_CYCLES;
    if (state_.cycle < store.deadline) return true;
    missed_ = whose;
  }
  return !efe_tx_.has_share(qp.dest_node) && !crowded_for_long();
}

// There is no room. Each store that is sent gives some of the time back, so a slow peer is waited
// for, and one that takes nothing is not waited for again.
bool Windows::crowded_for_long() {
  if (waits_since_ == 0) waits_since_ = state_.cycle;
  return crowded_ + state_.cycle - waits_since_ >= EXRNIC_ROOM_CYCLES;
}

void Windows::send(const Store& store) {
  const uint64_t since = std::exchange(waits_since_, 0);
  if (since != 0)
    crowded_ = std::min<uint64_t>(crowded_ + state_.cycle - since, EXRNIC_ROOM_CYCLES);
  if (!can_send(store.qpn, store.generation)) return state_.count(EXRNIC_COUNTER_WINDOW_REFUSED);
  Segment write = segment(store.qpn);
  write.ddp = make_header(Tagged{EXRNIC_RDMAP_OPCODE_WRITE, true, store.stag, store.to});
  write.ddp.insert(write.ddp.end(), store.data.begin(), store.data.end());
  if (efe_tx_.has_share(write.node)) {
    crowded_ -= std::min<uint64_t>(crowded_, EXRNIC_ROOM_CYCLES_BACK);
  } else {
    state_.count(EXRNIC_COUNTER_WINDOW_REFUSED);
    write.unsent = true;
    write.status = EXRNIC_CQE_STATUS_RETRY_EXC_ERR;
    state_.qps[store.qpn].broken.add(store.generation);
  }
  efe_tx_.submit(std::move(write));
}

// ---- Loads

void Windows::load(const MmioAccess& access) {
  Window* window = granted(access, EXRNIC_WINDOW_ACCESS_LOAD);
  answer_ = kAllOnes;
  if (window == nullptr) return state_.count(EXRNIC_COUNTER_WINDOW_REFUSED);
  if (window->owed) return state_.count(EXRNIC_COUNTER_WINDOW_LOAD_ERRORS);
  state_.count(EXRNIC_COUNTER_WINDOW_LOADS);
  const uint32_t index = access.offset / state_.window_size();
  const uint64_t token = uint64_t{loads_++} << 32 | index;
  if (!can_send(window->qpn, window->generation)) {
    state_.count(EXRNIC_COUNTER_WINDOW_REFUSED);
    return state_.count(EXRNIC_COUNTER_WINDOW_LOAD_ERRORS);
  }
  answer_.reset();
  loading_ = Load{index,
                  window->qpn,
                  token,
                  access.size,
                  window->stag,
                  window->base + access.offset % state_.window_size(),
                  state_.cycle + state_.settings.load_cycles};
  ask_for_load();
}

// When the queue pair has met its peer; or too late, so that the queue pair fails.
void Windows::ask_for_load() {
  auto& at = state_.qps[loading_->qpn].at;
  if (loading_->asked || (!at.peer.met && state_.cycle < loading_->deadline)) return;
  loading_->asked = true;
  Segment request = segment(loading_->qpn);
  request.ddp =
      make_read_request({EXRNIC_WINDOW_STAG, loading_->token, static_cast<uint32_t>(loading_->size),
                         loading_->stag, loading_->to, ++at.window_msn, 0});
  efe_tx_.submit(std::move(request));
}

// One that comes late is none to a later load, and makes the next one possible.
void Windows::answered(uint32_t qpn, uint64_t token, const uint8_t* data, size_t length) {
  if (loading_ && loading_->qpn == qpn && loading_->token == token && loading_->size == length)
    return end_load(value_of(data, length));
  const auto index = static_cast<uint32_t>(token);
  if (index < state_.windows.size() && state_.windows[index].qpn == qpn)
    state_.windows[index].owed = false;
}

void Windows::end_load(uint64_t value) {
  loading_.reset();
  answer_ = value;
}

void Windows::fail_load() {
  state_.count(EXRNIC_COUNTER_WINDOW_LOAD_ERRORS);
  end_load(kAllOnes);
}

std::optional<uint64_t> Windows::take_answer() { return std::exchange(answer_, std::nullopt); }

// ---- Both

// What waits for an entry that is changed is dropped.
void Windows::set(uint32_t index, const Window& entry) {
  state_.windows[index] = entry;
  for (Store& store : stores_)
    if (store.window == index) store.generation = static_cast<uint16_t>(store.generation - 1);
  if (loading_ && loading_->window == index) fail_load();
}

void Windows::run() {
  while (!stores_.empty() && !waits(stores_.front())) {
    send(stores_.front());
    stores_.pop_front();
    if (marked_ > 0) --marked_;
  }
  if (!loading_) return;
  if (!state_.quiesce) ask_for_load();
  if (!state_.qps[loading_->qpn].sends()) return fail_load();
  if (state_.cycle < loading_->deadline) return;
  state_.windows[loading_->window].owed = true;
  fail_load();
}

}  // namespace exrnic::ref
