// SPDX-License-Identifier: BSD-2-Clause
#include "sim/pcie/pcie_link.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <utility>

namespace exrnic {
namespace {

constexpr uint64_t kAllOnes = ~uint64_t{0};

uint64_t truncate(uint64_t value, unsigned size) {
  return size >= sizeof(value) ? value : value & ((uint64_t{1} << (size * 8)) - 1);
}

// A TLP's payload is whole 4-byte words; byte enables pick what is meant.
unsigned payload_of(unsigned size) { return std::max(size, 4u); }

bool has_room(std::deque<SimTime>& leave, SimTime now) {
  while (!leave.empty() && leave.front() <= now) leave.pop_front();
  return leave.size() < kPcieQueueTlps;
}

}  // namespace

PcieLink::PcieLink(Scheduler& scheduler, const PcieConfig& config, PcieEndpoint& endpoint)
    : scheduler_(scheduler),
      config_(config),
      endpoint_(endpoint),
      up_(config.bytes_per_us),
      down_(config.bytes_per_us) {}

// Queues a TLP; returns when its last byte is at the other end.
SimTime PcieLink::arrival(Lane& lane, uint64_t bytes) {
  lane.send(scheduler_.now(), bytes);
  return lane.free_at() + config_.latency_ns * kPsPerNs;
}

// Like Scheduler::at, but a reset in between cancels the action.
template <typename Action>
void PcieLink::schedule(SimTime time, Action action) {
  scheduler_.at(time, [this, epoch = epoch_, action = std::move(action)]() mutable {
    if (epoch == epoch_) action();
  });
}

// The same for the next of a kind that is on its way: no larger than what a std::function holds in
// itself.
template <void (PcieLink::*kArrive)()>
void PcieLink::schedule(SimTime time) {
  scheduler_.at(time, [this, epoch = epoch_] {
    if (epoch == epoch_) (this->*kArrive)();
  });
}

// What the host will notice.
template <void (PcieLink::*kArrive)()>
void PcieLink::schedule_touch(SimTime time) {
  touches_.insert(std::upper_bound(touches_.begin(), touches_.end(), time), time);
  schedule<&PcieLink::touch<kArrive>>(time);
}

template <void (PcieLink::*kArrive)()>
void PcieLink::touch() {
  touches_.erase(touches_.begin());
  (this->*kArrive)();
}

void PcieLink::mmio_write(unsigned bar, uint64_t offset, unsigned size, uint64_t value) {
  const MmioAccess access{static_cast<uint8_t>(bar), static_cast<uint32_t>(offset),
                          static_cast<uint8_t>(size), truncate(value, size)};
  ++counters_.stores;
  schedule(arrival(down_, kTlpWriteOverhead + payload_of(size)),
           [this, access] { endpoint_.mmio_write(access); });
}

void PcieLink::mmio_write_block(unsigned bar, uint64_t offset, const uint8_t* data) {
  std::array<uint64_t, kBlockBytes / sizeof(uint64_t)> words;
  std::memcpy(words.data(), data, kBlockBytes);
  ++counters_.stores;
  schedule(arrival(down_, kTlpWriteOverhead + kBlockBytes), [this, bar, offset, words] {
    for (unsigned i = 0; i < words.size(); ++i)
      endpoint_.mmio_write({static_cast<uint8_t>(bar),
                            static_cast<uint32_t>(offset + i * sizeof words[i]), sizeof words[i],
                            words[i]});
  });
}

void PcieLink::mmio_read(unsigned bar, uint64_t offset, unsigned size, ReadDone done) {
  const MmioAccess access{static_cast<uint8_t>(bar), static_cast<uint32_t>(offset),
                          static_cast<uint8_t>(size), 0};
  ++counters_.loads;
  loads_.push_back({size, std::move(done), 0});
  schedule(arrival(down_, kTlpReadRequest), [this, access] { endpoint_.mmio_read(access); });
}

void PcieLink::mmio_read_done(uint64_t data) {
  assert(replies_ < loads_.size());
  Load& load = loads_[replies_++];
  load.data = truncate(data, load.size);
  const SimTime arrived = arrival(up_, kTlpCompletionOverhead + payload_of(load.size));
  schedule_touch<&PcieLink::finish_load>(arrived + config_.host_load_ns * kPsPerNs);
}

void PcieLink::finish_load() {
  place_arrived_parts();
  Load load = std::move(loads_.front());
  loads_.pop_front();
  --replies_;
  tell_host([done = std::move(load.done), data = load.data] { done(data); });
}

template <typename Action>
void PcieLink::tell_host(Action action) {
  if (outside_ == nullptr) return action();
  outside_->at(scheduler_.now(), std::move(action));
}

void PcieLink::reset() {
  ++counters_.resets;
  ++epoch_;
  up_.clear();
  down_.clear();
  writes_leave_.clear();
  reads_leave_.clear();
  touches_.clear();
  writes_.clear();
  reads_.clear();
  answers_.clear();
  completions_.clear();
  replies_ = 0;
  endpoint_.reset();
  for (const Load& load : std::exchange(loads_, {})) load.done(truncate(kAllOnes, load.size));
}

bool PcieLink::can_write() {
  return has_room(writes_leave_, scheduler_.now()) && (host_ == nullptr || host_->can_take_write());
}

void PcieLink::write(PostedWrite&& write) {
  assert(can_write() && write.data.size() <= config_.max_payload);
  // An interrupt is a write of one word to the vector's address.
  const unsigned payload = payload_of(static_cast<unsigned>(write.data.size()));
  const SimTime arrived = arrival(up_, kTlpWriteOverhead + payload);
  writes_leave_.push_back(up_.free_at());
  const bool more = write.more;
  writes_.push_back({std::move(write), arrived});
  if (!more) schedule_touch<&PcieLink::arrive_write>(arrived);
}

void PcieLink::arrive_write() {
  while (writes_.front().write.more) join_part();
  if (writes_.front().write.kind == PostedWrite::Kind::kMemory) {
    join_part();
    return place_parts();
  }
  const auto vector = static_cast<unsigned>(writes_.front().write.address);
  writes_.pop_front();
  place_parts();
  ++counters_.interrupts;
  tell_host([this, vector] {
    if (host_ != nullptr) host_->fire_msix(vector);
  });
}

// Takes the next write to those that the host is to get as one, if it continues them.
void PcieLink::join_part() {
  const PostedWrite part = std::move(writes_.front().write);
  writes_.pop_front();
  if (part.address != joined_address_ + joined_.size()) place_parts();
  if (joined_.empty()) joined_address_ = part.address;
  joined_.insert(joined_.end(), part.data.begin(), part.data.end());
  ++parts_;
}

void PcieLink::place_parts() {
  if (parts_ == 0) return;
  if (outside_ == nullptr) {
    place(joined_address_, joined_, parts_);
    joined_.clear();
  } else {
    unplaced_.push_back({joined_address_, std::exchange(joined_, {}), parts_});
    const uint64_t until = placed_ + unplaced_.size();
    tell_host([this, until] { place_unplaced(until); });
  }
  parts_ = 0;
}

void PcieLink::place(uint64_t address, const Bytes& data, size_t parts) {
  const bool good = host_ != nullptr && host_->dma_write(address, data.data(), data.size());
  (good ? counters_.writes : counters_.writes_refused) += parts;
  if (good) counters_.write_bytes += data.size();
}

// Those that were given to the outside, up to this one.
void PcieLink::place_unplaced(uint64_t until) {
  for (; placed_ < until; ++placed_) {
    const Unplaced write = std::move(unplaced_.front());
    unplaced_.pop_front();
    place(write.address, write.data, write.parts);
  }
}

// A device that reads what it wrote within a lookahead is rare: then the host sees it too, before
// its turn.
void PcieLink::place_for_read(uint64_t address, size_t length) {
  const auto overlaps = [&](const Unplaced& write) {
    return address - write.address < write.data.size() || write.address - address < length;
  };
  if (std::any_of(unplaced_.begin(), unplaced_.end(), overlaps))
    place_unplaced(placed_ + unplaced_.size());
}

bool PcieLink::peek(uint64_t address, uint8_t* out, size_t length) {
  place_for_read(address, length);
  return host_ != nullptr && host_->dma_peek(address, out, length);
}

// For what came behind them, while the last one has not.
void PcieLink::place_arrived_parts() {
  while (!writes_.empty() && writes_.front().write.more &&
         writes_.front().arrives <= scheduler_.now()) {
    join_part();
  }
  place_parts();
}

bool PcieLink::can_read() {
  return has_room(reads_leave_, scheduler_.now()) && (host_ == nullptr || host_->can_take_read());
}

void PcieLink::read(const ReadRequest& request) {
  assert(can_read() && request.length >= 1 && request.length <= config_.max_read);
  const SimTime arrived = arrival(up_, kTlpReadRequest);
  reads_leave_.push_back(up_.free_at());
  reads_.push_back(request);
  schedule_touch<&PcieLink::arrive_read>(arrived);
}

void PcieLink::arrive_read() {
  place_arrived_parts();
  const ReadRequest request = reads_.front();
  reads_.pop_front();
  if (host_ != nullptr && host_->answers_later()) return read_later(request);
  const uint64_t wait_ns =
      host_ == nullptr ? 0 : host_->read_wait_ns(request.address, request.length);
  if (wait_ns == 0) return read_memory(request);
  if (wait_ns == HostPort::kNever) return;
  const SimTime time = scheduler_.now() + wait_ns * kPsPerNs;
  touches_.insert(std::upper_bound(touches_.begin(), touches_.end(), time), time);
  schedule(time, [this, request] {
    touches_.erase(touches_.begin());
    place_arrived_parts();
    read_memory(request);
  });
}

// At once, so that the data are those of this point in the order of TLPs; the time that the host's
// memory takes comes after.
void PcieLink::read_memory(const ReadRequest& request) {
  place_for_read(request.address, request.length);
  Bytes data(request.length);
  const bool good = host_ != nullptr && host_->dma_read(request.address, data.data(), data.size());
  answer(request, good, std::move(data));
}

void PcieLink::read_later(const ReadRequest& request) {
  host_->dma_read_later(
      request.address, request.length, [this, request, epoch = epoch_](const uint8_t* data) {
        if (epoch != epoch_) return;
        const bool good = data != nullptr;
        answer(request, good, good ? Bytes(data, data + request.length) : Bytes());
      });
}

void PcieLink::answer(const ReadRequest& request, bool good, Bytes&& data) {
  ++(good ? counters_.reads : counters_.reads_refused);
  if (good) counters_.read_bytes += request.length;
  answers_.push_back({request, !good, std::move(data)});
  schedule<&PcieLink::complete>(scheduler_.now() + config_.host_memory_ns * kPsPerNs);
}

// What is wanted whole comes when the last of its completions does.
void PcieLink::complete() {
  Answer answer = std::move(answers_.front());
  answers_.pop_front();
  auto& [request, refused, data] = answer;
  if (refused)
    return deliver({request.tag, true, true, {}}, arrival(down_, kTlpCompletionOverhead));
  SimTime arrived = 0;
  for (size_t done = 0; done < data.size();) {
    const uint64_t address = request.address + done;
    const uint64_t limit = address + config_.max_payload;
    const size_t to_boundary = limit - limit % kReadCompletionBoundary - address;
    const size_t part = std::min(to_boundary, data.size() - done);
    arrived = arrival(down_, kTlpCompletionOverhead + part);
    const auto first = data.begin() + done;
    done += part;
    if (!request.whole)
      deliver({request.tag, done == data.size(), false, Bytes(first, first + part)}, arrived);
  }
  if (request.whole) deliver({request.tag, true, false, std::move(data)}, arrived);
}

void PcieLink::deliver(ReadCompletion&& completion, SimTime arrived) {
  completions_.push_back(std::move(completion));
  schedule<&PcieLink::arrive_completion>(arrived);
}

void PcieLink::arrive_completion() {
  ReadCompletion completion = std::move(completions_.front());
  completions_.pop_front();
  endpoint_.read_completion(std::move(completion));
}

}  // namespace exrnic
