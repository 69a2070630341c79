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

// What the host will notice.
template <typename Action>
void PcieLink::schedule_touch(SimTime time, Action action) {
  touches_.insert(std::upper_bound(touches_.begin(), touches_.end(), time), time);
  schedule(time, [this, time, action = std::move(action)]() mutable {
    touches_.erase(std::lower_bound(touches_.begin(), touches_.end(), time));
    action();
  });
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
  loads_.push_back({size, std::move(done)});
  schedule(arrival(down_, kTlpReadRequest), [this, access] { endpoint_.mmio_read(access); });
}

void PcieLink::mmio_read_done(uint64_t data) {
  assert(replies_ < loads_.size());
  const unsigned size = loads_[replies_++].size;
  const SimTime arrived = arrival(up_, kTlpCompletionOverhead + payload_of(size));
  schedule_touch(arrived + config_.host_load_ns * kPsPerNs, [this, data] { finish_load(data); });
}

void PcieLink::finish_load(uint64_t data) {
  const Load load = std::move(loads_.front());
  loads_.pop_front();
  --replies_;
  load.done(truncate(data, load.size));
}

void PcieLink::reset() {
  ++counters_.resets;
  ++epoch_;
  up_.clear();
  down_.clear();
  writes_leave_.clear();
  reads_leave_.clear();
  touches_.clear();
  replies_ = 0;
  endpoint_.reset();
  for (const Load& load : std::exchange(loads_, {})) load.done(truncate(kAllOnes, load.size));
}

bool PcieLink::can_write() { return has_room(writes_leave_, scheduler_.now()); }

void PcieLink::write(PostedWrite&& write) {
  assert(can_write() && write.data.size() <= config_.max_payload);
  // An interrupt is a write of one word to the vector's address.
  const unsigned payload = payload_of(static_cast<unsigned>(write.data.size()));
  const SimTime arrived = arrival(up_, kTlpWriteOverhead + payload);
  writes_leave_.push_back(up_.free_at());
  schedule_touch(arrived, [this, write = std::move(write)] { arrive_write(write); });
}

void PcieLink::arrive_write(const PostedWrite& write) {
  if (write.kind == PostedWrite::Kind::kMsix) {
    ++counters_.interrupts;
    if (host_ != nullptr) host_->fire_msix(static_cast<unsigned>(write.address));
    return;
  }
  if (host_ == nullptr || !host_->dma_write(write.address, write.data.data(), write.data.size())) {
    ++counters_.writes_refused;
    return;
  }
  ++counters_.writes;
  counters_.write_bytes += write.data.size();
}

bool PcieLink::can_read() { return has_room(reads_leave_, scheduler_.now()); }

void PcieLink::read(const ReadRequest& request) {
  assert(can_read() && request.length >= 1 && request.length <= config_.max_read);
  const SimTime arrived = arrival(up_, kTlpReadRequest);
  reads_leave_.push_back(up_.free_at());
  schedule_touch(arrived, [this, request] { arrive_read(request); });
}

// Memory is read at once, so that the data are those of this point in the order of TLPs; the time
// that the host's memory takes comes after.
void PcieLink::arrive_read(const ReadRequest& request) {
  const SimTime ready = scheduler_.now() + config_.host_memory_ns * kPsPerNs;
  Bytes data(request.length);
  if (host_ == nullptr || !host_->dma_read(request.address, data.data(), data.size())) {
    ++counters_.reads_refused;
    schedule(ready, [this, request] { complete_refused(request); });
    return;
  }
  ++counters_.reads;
  counters_.read_bytes += data.size();
  schedule(ready, [this, request, data = std::move(data)]() mutable {
    complete(request, std::move(data));
  });
}

void PcieLink::complete(const ReadRequest& request, Bytes&& data) {
  size_t done = 0;
  while (done < data.size()) {
    const uint64_t address = request.address + done;
    const uint64_t limit = address + config_.max_payload;
    const size_t to_boundary = limit - limit % kReadCompletionBoundary - address;
    const size_t part = std::min(to_boundary, data.size() - done);
    ReadCompletion completion{request.tag, done + part == data.size(), false, {}};
    completion.data.assign(data.begin() + done, data.begin() + done + part);
    send_completion(std::move(completion));
    done += part;
  }
}

void PcieLink::complete_refused(const ReadRequest& request) {
  send_completion({request.tag, true, true, {}});
}

void PcieLink::send_completion(ReadCompletion&& completion) {
  const SimTime arrived = arrival(down_, kTlpCompletionOverhead + completion.data.size());
  schedule(arrived, [this, completion = std::move(completion)]() mutable {
    endpoint_.read_completion(std::move(completion));
  });
}

}  // namespace exrnic
