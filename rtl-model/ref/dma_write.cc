// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/dma_write.h"

#include <utility>

#include "rtl-model/ref/cut.h"

namespace exrnic::ref {

void DmaWrite::write(uint64_t address, const uint8_t* data, size_t length) {
  for_each_cut(address, length, state_.config.max_payload, [&](size_t offset, size_t bytes) {
    const uint8_t* first = data + offset;
    const uint64_t end = address + offset + bytes;
    const bool more = offset + bytes < length && end % kCutBoundary != 0;
    queue_.push_back(
        {{PostedWrite::Kind::kMemory, address + offset, Bytes(first, first + bytes), more},
         nullptr});
  });
}

void DmaWrite::fire(uint32_t vector) {
  queue_.push_back({{PostedWrite::Kind::kMsix, vector, {}, false}, nullptr});
}

void DmaWrite::then(std::function<void()> action) { queue_.push_back({{}, std::move(action)}); }

void DmaWrite::run(CoreSink& sink) {
  while (!queue_.empty() && (queue_.front().action || sink.can_write())) {
    Item item = std::move(queue_.front());
    queue_.pop_front();
    if (item.action) {
      item.action();
      continue;
    }
    if (item.write.kind == PostedWrite::Kind::kMsix) state_.count(EXRNIC_COUNTER_MSIX);
    sink.write(std::move(item.write));
  }
}

}  // namespace exrnic::ref
