// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/dma_read.h"

#include <algorithm>
#include <utility>

#include "rtl-model/ref/cut.h"

namespace exrnic::ref {

void DmaRead::read(uint64_t address, size_t length, Done done) {
  auto request = std::make_shared<Request>();
  request->number = next_number_++;
  request->data.resize(length);
  request->missing = length;
  request->done = std::move(done);
  open_.insert(request->number);
  for_each_cut(address, length, state_.config.max_read, [&](size_t offset, size_t bytes) {
    waiting_.push_back({request, address + offset, offset, bytes});
  });
}

void DmaRead::then(std::function<void()> action) {
  if (open_.empty()) return action();
  fences_.push_back({next_number_, std::move(action)});
}

void DmaRead::complete(const ReadCompletion& completion) {
  const size_t tag = completion.tag % kTags;
  Piece& piece = in_flight_[tag];
  if (!piece.request || completion.tag / kTags != generation_[tag]) return;
  const size_t bytes = std::min(piece.length, completion.data.size());
  std::copy_n(completion.data.begin(), bytes, piece.request->data.begin() + piece.offset);
  piece.offset += bytes;
  piece.length -= bytes;
  piece.request->missing -= bytes;
  if (completion.last || completion.error) return end_piece(tag);
  if (piece.request->missing == 0) end(piece.request);
}

// What is missing was refused, cut short, or came too late.
void DmaRead::end_piece(size_t tag) {
  const Piece piece = std::exchange(in_flight_[tag], {});
  --in_flight_count_;
  if (piece.length > 0) {
    state_.count(EXRNIC_COUNTER_DMA_READ_ERRORS);
    piece.request->good = false;
    piece.request->missing -= piece.length;
  }
  if (piece.request->missing == 0) end(piece.request);
}

void DmaRead::end(const std::shared_ptr<Request>& request) {
  open_.erase(request->number);
  std::exchange(request->done, [](bool, Bytes&&) {})(request->good, std::move(request->data));
  while (!fences_.empty() && (open_.empty() || *open_.begin() >= fences_.front().number)) {
    const auto action = std::move(fences_.front().action);
    fences_.pop_front();
    action();
  }
}

// Behind one interval, and before two of them are over.
void DmaRead::end_late() {
  const uint64_t interval = state_.time_ns >> state_.config.read_timeout_shift;
  if (std::exchange(interval_, interval) == interval) return;
  for (size_t tag = 0; tag < kTags; ++tag) {
    if (!in_flight_[tag].request || !std::exchange(in_flight_[tag].old, true)) continue;
    state_.count(EXRNIC_COUNTER_DMA_READ_TIMEOUTS);
    state_.happens({EXRNIC_EQE_TYPE_HOST_SILENT});
    generation_[tag] = (generation_[tag] + 1) % kGenerations;
    end_piece(tag);
  }
}

uint8_t DmaRead::free_tag() const {
  uint8_t tag = 0;
  while (in_flight_[tag].request) ++tag;
  return tag;
}

void DmaRead::run(CoreSink& sink) {
  end_late();
  while (!waiting_.empty() && in_flight_count_ < kTags && sink.can_read()) {
    const uint8_t tag = free_tag();
    const Piece& piece = in_flight_[tag] = std::move(waiting_.front());
    waiting_.pop_front();
    ++in_flight_count_;
    const auto bus_tag = static_cast<uint8_t>(generation_[tag] * kTags + tag);
    sink.read({bus_tag, piece.address, static_cast<uint16_t>(piece.length), true});
  }
}

}  // namespace exrnic::ref
