// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/wqe_fetch.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

namespace exrnic::ref {
namespace {

constexpr size_t kHeader = offsetof(exrnic_wqe, sge0_address);

}  // namespace

void WqeFetch::fetch(const Ring& ring, Done done) {
  begin(ring, std::move(done));
  read_slot();
}

void WqeFetch::take(const Ring& ring, const exrnic_wqe& wqe, Done done) {
  begin(ring, std::move(done));
  const auto* bytes = reinterpret_cast<const uint8_t*>(&wqe);
  take_slot(Bytes(bytes, bytes + sizeof wqe));
}

void WqeFetch::begin(const Ring& ring, Done done) {
  ring_ = ring;
  done_ = std::move(done);
  work_ = {};
  slots_.clear();
}

void WqeFetch::read_slot() {
  const uint64_t index = ring_.consumer + slots_.size() / sizeof(exrnic_wqe);
  const uint64_t slot = index % (1u << ring_.log_slots);
  xlate_.ring(ring_.pbl, slot * sizeof(exrnic_wqe), sizeof(exrnic_wqe), [this](const Place& place) {
    if (place.verdict != Verdict::kOk) return unreadable();
    dma_read_.read(place.address, sizeof(exrnic_wqe),
                   [this](bool good, const Bytes& slot) { good ? take_slot(slot) : unreadable(); });
  });
}

void WqeFetch::unreadable() { done_(work_); }

void WqeFetch::take_slot(const Bytes& slot) {
  if (slots_.empty()) {
    std::memcpy(&work_.head, slot.data(), sizeof work_.head);
    const auto posted = static_cast<uint16_t>(ring_.producer - ring_.consumer);
    const uint8_t slots = work_.head.num_slots;
    if (slots == 0 || slots > EXRNIC_WQE_SLOTS_MAX || slots > posted) return unreadable();
    work_.slots = slots;
  }
  slots_.insert(slots_.end(), slot.begin(), slot.end());
  slots_.size() == work_.slots * sizeof(exrnic_wqe) ? finish() : read_slot();
}

void WqeFetch::finish() {
  work_.readable = true;
  const uint8_t* body = slots_.data() + kHeader;
  const size_t bytes = slots_.size() - kHeader;
  work_.elements.resize(std::min<size_t>(work_.head.num_sge, bytes / sizeof(exrnic_sge)));
  if (!work_.elements.empty())
    std::memcpy(work_.elements.data(), body, work_.elements.size() * sizeof(exrnic_sge));
  if (work_.is_inline())
    work_.inline_data.assign(body, body + std::min<size_t>(work_.head.length, bytes));
  done_(work_);
}

}  // namespace exrnic::ref
