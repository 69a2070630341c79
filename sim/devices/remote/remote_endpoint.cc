// SPDX-License-Identifier: BSD-2-Clause
#include "sim/devices/remote/remote_endpoint.h"

#include <linux/pci_regs.h>
#include <linux/vfio.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "rtl-model/ref/cut.h"
#include "sim/pcie/host_port.h"
#include "sim/posix/unix_socket.h"

namespace exrnic {
namespace {

static_assert(kConfigSpace == VFIO_PCI_CONFIG_REGION_INDEX);

PciDescription describe(const vfio_user::RemoteDevice& device) {
  PciDescription description;
  for (const auto& bar : device.bars())
    description.bars.push_back({bar.index, bar.size, bar.is_64bit, bar.prefetchable});
  description.config_bytes = device.config_bytes();
  if (const auto msix = device.msix())
    description.msix = {msix->vectors, msix->bar, msix->table_offset, msix->pba_offset,
                        msix->capability};
  return description;
}

}  // namespace

RemoteEndpoint::RemoteEndpoint(Scheduler& scheduler, const std::string& path,
                               const PcieConfig& config, vfio_user::Log log, const Limits& limits)
    : scheduler_(scheduler),
      config_(config),
      log_(std::move(log)),
      path_(path),
      device_(std::make_unique<vfio_user::RemoteDevice>(
          connect_unix(path), static_cast<vfio_user::RemoteHost&>(*this), limits)),
      description_(describe(*device_)),
      retry_(scheduler.alarm([this] { pump(); })) {}

void RemoteEndpoint::meet(RemoteEndpoint& other) {
  if (device_->server_process() != other.device_->server_process()) return;
  siblings_.push_back(&other);
  other.siblings_.push_back(this);
}

bool RemoteEndpoint::holds_time() const {
  return device_->waiting() &&
         std::none_of(siblings_.begin(), siblings_.end(), [](const RemoteEndpoint* sibling) {
           return sibling->alive() && sibling->device_->waits_for_host();
         });
}

// ---- From the host

void RemoteEndpoint::mmio_write(const MmioAccess& access) {
  Bytes data(access.size);
  std::memcpy(data.data(), &access.data, access.size);
  device_->write(access.bar, access.offset, data);
}

void RemoteEndpoint::mmio_read(const MmioAccess& access) {
  const auto load = std::make_shared<Load>();
  loads_.push_back(load);
  device_->read(access.bar, access.offset, access.size,
                [this, weak = std::weak_ptr<Load>(load), size = access.size](const Bytes* data) {
                  const auto answered = weak.lock();
                  if (!answered) return;  // reset meanwhile
                  if (data != nullptr) {
                    answered->value = 0;
                    std::memcpy(&answered->value, data->data(), size);
                  }
                  loaded(answered);
                });
}

// A value does not pass what the device wrote before (PCIe 2.4.1); reads it may.
void RemoteEndpoint::loaded(std::shared_ptr<Load> load) {
  const bool behind_write = std::any_of(up_.begin(), up_.end(), [](const Upward& upward) {
    return std::holds_alternative<PostedWrite>(upward);
  });
  if (behind_write) return void(up_.emplace_back(Loaded{std::move(load)}));
  load->done = true;
  answer_loads();
}

void RemoteEndpoint::answer_loads() {
  for (; !loads_.empty() && loads_.front()->done; loads_.pop_front())
    pcie_->mmio_read_done(loads_.front()->value);
}

// All that the device has asked for is refused: else it would wait for ever.
void RemoteEndpoint::reset() {
  loads_.clear();
  retry_->cancel();
  const auto refuse = [](Piece& piece) {
    piece.gather->failed = true;
    end_piece(*piece.gather);
  };
  for (Upward& upward : std::exchange(up_, {})) {
    if (auto* read = std::get_if<Read>(&upward)) refuse(read->piece);
    if (auto* written = std::get_if<Written>(&upward)) written->done(false);
  }
  for (auto& tag : tags_) {
    if (tag) refuse(*tag);
    tag.reset();
  }
  device_->reset([](const Bytes*) {});
}

// ---- From the device

void RemoteEndpoint::service() {
  device_->service();
  if (alive() || std::exchange(told_end_, true)) return;
  log_("device " + path_ + ": " + device_->end_reason());
}

void RemoteEndpoint::dma_read(uint64_t address, size_t length, ReadDone done) {
  const auto gather = std::make_shared<Gather>();
  gather->data.resize(length);
  gather->done = std::move(done);
  ref::for_each_cut(address, length, config_.max_read, [&](size_t offset, size_t bytes) {
    ++gather->pieces;
    up_.emplace_back(Read{address + offset, bytes, {gather, offset, 0}});
  });
  pump();
}

void RemoteEndpoint::dma_write(uint64_t address, Bytes data, WriteDone done) {
  ref::for_each_cut(address, data.size(), config_.max_payload, [&](size_t offset, size_t bytes) {
    const auto first = data.begin() + static_cast<std::ptrdiff_t>(offset);
    PostedWrite write;
    write.address = address + offset;
    write.data.assign(first, first + static_cast<std::ptrdiff_t>(bytes));
    up_.emplace_back(std::move(write));
  });
  up_.emplace_back(Written{std::move(done)});
  pump();
}

void RemoteEndpoint::interrupt(unsigned vector) {
  PostedWrite write;
  write.kind = PostedWrite::Kind::kMsix;
  write.address = vector;
  up_.emplace_back(std::move(write));
  pump();
}

void RemoteEndpoint::read_completion(ReadCompletion&& completion) {
  auto& tag = tags_[completion.tag];
  assert(tag);
  Gather& gather = *tag->gather;
  gather.failed |= completion.error;
  std::copy(completion.data.begin(), completion.data.end(),
            gather.data.begin() + static_cast<std::ptrdiff_t>(tag->offset + tag->got));
  tag->got += completion.data.size();
  if (!completion.last) return;
  const auto whole = tag->gather;
  tag.reset();
  end_piece(*whole);
  pump();
}

void RemoteEndpoint::end_piece(Gather& gather) {
  if (--gather.pieces == 0) gather.done(gather.failed ? nullptr : &gather.data);
}

// ---- To the PCIe link

void RemoteEndpoint::pump() {
  while (!up_.empty() && give(up_.front())) up_.pop_front();
  if (!up_.empty()) retry_->set(next_try());
}

bool RemoteEndpoint::give(Upward& upward) {
  if (auto* write = std::get_if<PostedWrite>(&upward)) {
    if (!pcie_->can_write()) return false;
    pcie_->write(std::move(*write));
  } else if (auto* read = std::get_if<Read>(&upward)) {
    if (!pcie_->can_read() ||
        std::all_of(tags_.begin(), tags_.end(), [](auto& tag) { return tag.has_value(); }))
      return false;
    while (tags_[next_tag_ % kTags]) ++next_tag_;
    ReadRequest request;
    request.tag = static_cast<uint8_t>(next_tag_++ % kTags);
    request.address = read->address;
    request.length = static_cast<uint16_t>(read->length);
    request.whole = true;
    tags_[request.tag] = std::move(read->piece);
    pcie_->read(request);
  } else if (auto* written = std::get_if<Written>(&upward)) {
    written->done(true);
  } else {
    std::get<Loaded>(upward).load->done = true;
    answer_loads();
  }
  return true;
}

SimTime RemoteEndpoint::next_try() const {
  const bool writes = std::holds_alternative<PostedWrite>(up_.front());
  const SimTime busy = writes ? pcie_->writes_busy_until() : pcie_->reads_busy_until();
  return std::max(busy, scheduler_.now() + kRetry);
}

}  // namespace exrnic
