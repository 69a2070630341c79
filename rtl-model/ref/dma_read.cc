// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/dma_read.h"

#include <algorithm>
#include <utility>

#include "rtl-model/ref/cut.h"

namespace exrnic::ref {

void DmaRead::read(uint64_t address, size_t length, Done done) {
  auto request = std::make_shared<Request>();
  request->data.resize(length);
  request->missing = length;
  request->done = std::move(done);
  for_each_cut(address, length, state_.config.max_read, [&](size_t offset, size_t bytes) {
    waiting_.push_back({request, address + offset, offset, bytes});
  });
}

void DmaRead::complete(const ReadCompletion& completion) {
  if (completion.tag >= kTags || !in_flight_[completion.tag].request) return;
  Piece& piece = in_flight_[completion.tag];
  const auto request = piece.request;
  const size_t bytes = std::min(piece.length, completion.data.size());
  std::copy_n(completion.data.begin(), bytes, request->data.begin() + piece.offset);
  piece.offset += bytes;
  piece.length -= bytes;
  request->missing -= bytes;
  if (completion.last || completion.error) {
    if (piece.length > 0) {  // refused, or cut short
      state_.count(EXRNIC_COUNTER_DMA_READ_ERRORS);
      request->good = false;
      request->missing -= piece.length;
    }
    piece = {};
    --in_flight_count_;
  }
  if (request->missing == 0)
    std::exchange(request->done, [](bool, Bytes&&) {})(request->good, std::move(request->data));
}

uint8_t DmaRead::free_tag() const {
  uint8_t tag = 0;
  while (in_flight_[tag].request) ++tag;
  return tag;
}

void DmaRead::run(CoreSink& sink) {
  while (!waiting_.empty() && in_flight_count_ < kTags && sink.can_read()) {
    const uint8_t tag = free_tag();
    const Piece& piece = in_flight_[tag] = std::move(waiting_.front());
    waiting_.pop_front();
    ++in_flight_count_;
    sink.read({tag, piece.address, static_cast<uint16_t>(piece.length), true});
  }
}

}  // namespace exrnic::ref
