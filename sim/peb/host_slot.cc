// SPDX-License-Identifier: BSD-2-Clause
#include "sim/peb/host_slot.h"

#include <linux/pci_regs.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "rtl-model/ref/cut.h"
#include "sim/pcie/host_port.h"
#include "sim/pcie/msi.h"

namespace exrnic::peb {
namespace {

Bytes little_endian(uint64_t value, size_t size) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(value >> (8 * i));
  return bytes;
}

uint64_t value_of(const Bytes& bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size() && i < sizeof value; ++i)
    value |= uint64_t{bytes[i]} << (8 * i);
  return value;
}

bool is_good(const Answer& answer) { return answer.status == EXRNIC_COMPLETION_STATUS_SUCCESSFUL; }

}  // namespace

HostSlot::HostSlot(PebModule& module, unsigned port, Scheduler& scheduler, const PcieConfig& config)
    : module_(module), port_(port), scheduler_(scheduler), config_(config) {}

// ---- Who is there

void HostSlot::assign(const std::optional<Peer>& peer) {
  module_.between_cycles([&](PebCore& peb) {
    peb.assign(port_, std::nullopt);
    peb.assign(port_, peer);
    assigned();
  });
}

void HostSlot::assigned() {
  if (peer() || state_ != State::kComing) return;
  state_ = State::kDown;  // nobody comes any more
  found(std::nullopt);
}

void HostSlot::reset() {
  module_.between_cycles([&](PebCore& peb) {
    forget();
    accesses_.clear();
    loads_.clear();
    up_.clear();
    tags_ = {};
    free_tags_ = kTags;
    config_write_.reset();
    const std::optional<Peer> peer = peb.peer(port_);
    if (!peer) return;
    const auto description = description_;
    const uint64_t changes = changes_;
    peb.assign(port_, std::nullopt);  // the link goes down
    description_ = description;
    changes_ = changes;
    state_ = State::kComing;
    patient_until_ns_ = scheduler_.now() / kPsPerNs + kPatienceNs;
    peb.assign(port_, peer);
  });
}

// What the host's memory has not answered yet is answered to nobody, and keeps its tag so long;
// what waits for the link still goes, as it was said before.
void HostSlot::forget() {
  gathers_.clear();
  std::deque<Upward> left;
  for (Upward& upward : std::exchange(up_, {})) {
    if (const auto* read = std::get_if<ReadRequest>(&upward)) {
      free_tag(read->tag);
    } else {
      left.push_back(std::move(upward));
    }
  }
  up_ = std::move(left);
  for (auto& tag : tags_)
    if (tag) tag->name.reset();
}

void HostSlot::free_tag(unsigned tag) {
  tags_[tag].reset();
  ++free_tags_;
}

void HostSlot::link(bool up) {
  forget();
  config_write_.reset();
  if (up) return discover();
  state_ = State::kDown;
  found(std::nullopt);
}

void HostSlot::discover() {
  state_ = State::kDiscovering;
  discovery_ = {};
  first_discovery_id_ = last_id_ + 1;
  for (const Discovery::Access& access : Discovery::script()) {
    const auto kind = access.is_write ? Request::Kind::kConfigWrite : Request::Kind::kConfigRead;
    const Bytes data = access.is_write ? little_endian(access.value, 4) : Bytes();
    module_.peb().request(port_, {++last_id_, kind, access.place, 4, data});
  }
}

void HostSlot::discovered(const Answer& answer) {
  const size_t index = answer.id - first_discovery_id_;
  if (index >= Discovery::script().size() || Discovery::script()[index].is_write) return;
  discovery_.answer(is_good(answer) ? std::optional(static_cast<uint32_t>(value_of(answer.data)))
                                    : std::nullopt);
  if (!discovery_.done()) return;
  found(discovery_.result());
  state_ = description_ ? State::kReady : State::kDown;
  if (description_) write_bars();
}

void HostSlot::found(std::optional<PciDescription> description) {
  if (!description && !description_) return;
  description_ = std::move(description);
  ++changes_;
}

// Addresses for hosts that give none.
void HostSlot::write_bars() {
  bars_ = Discovery::addresses(*description_);
  for (unsigned i = 0; i < bars_.size(); ++i)
    module_.peb().request(port_, {++last_id_, Request::Kind::kConfigWrite,
                                  PCI_BASE_ADDRESS_0 + 4 * i, 4, little_endian(bars_[i], 4)});
  config_write_ = last_id_;
}

// ---- From the host's CPU

void HostSlot::access_later(const Access& access) {
  module_.between_cycles([&](PebCore&) { accesses_.push_back(access); });
}

void HostSlot::step(uint64_t time_ns) {
  if (state_ == State::kComing && time_ns >= patient_until_ns_) {
    state_ = State::kDown;
    found(std::nullopt);
  }
  make_accesses();
  flush();
}

// A CPU waits for its accesses to the configuration space.
void HostSlot::make_accesses() {
  while (!accesses_.empty() && !config_write_ &&
         (state_ == State::kReady || state_ == State::kDown) && make(accesses_.front()))
    accesses_.pop_front();
}

// False: there is no room for it yet.
bool HostSlot::make(const Access& access) {
  const MmioAccess& what = access.access;
  const bool is_down = state_ == State::kDown;
  if (!module_.peb().has_room(port_, access.is_write ? kPosted : kNonPosted)) return false;
  if (what.bar == kConfigSpace && !is_down) return make_config_access(access);
  const auto address = is_down ? std::nullopt : address_of(what);
  if (access.is_write) {
    if (address) module_.peb().write(port_, *address, little_endian(what.data, what.size));
    return true;
  }
  loads_.push_back({++last_id_, false, 0});
  if (address) {
    module_.peb().request(port_, {last_id_, Request::Kind::kRead, *address, what.size, {}});
  } else {
    finish_load(last_id_, kAllOnes);
  }
  return true;
}

bool HostSlot::make_config_access(const Access& access) {
  const MmioAccess& what = access.access;
  if (!module_.peb().has_room(port_, kNonPosted)) return false;
  const uint64_t id = ++last_id_;
  if (!access.is_write) {
    loads_.push_back({id, false, 0});
    module_.peb().request(port_, {id, Request::Kind::kConfigRead, what.offset, what.size, {}});
    return true;
  }
  note_bar(what);
  config_write_ = id;
  module_.peb().request(port_, {id, Request::Kind::kConfigWrite, what.offset, what.size,
                                little_endian(what.data, what.size)});
  return true;
}

void HostSlot::note_bar(const MmioAccess& access) {
  constexpr uint32_t kEnd = PCI_BASE_ADDRESS_0 + sizeof(BarRegisters);
  for (uint32_t i = 0; i < access.size; ++i) {
    const uint32_t place = access.offset + i;
    if (place < PCI_BASE_ADDRESS_0 || place >= kEnd) continue;
    const unsigned shift = 8 * (place % 4);
    uint32_t& bar = bars_[(place - PCI_BASE_ADDRESS_0) / 4];
    bar &= ~(uint32_t{0xff} << shift);
    bar |= static_cast<uint32_t>(access.data >> (8 * i) & 0xff) << shift;
  }
}

std::optional<uint64_t> HostSlot::address_of(const MmioAccess& access) const {
  for (const PciDescription::Bar& bar : description_->bars)
    if (bar.index == access.bar && access.offset < bar.size)
      return bar_address(bars_, bar) + access.offset;
  return std::nullopt;
}

void HostSlot::answered(Answer&& answer) {
  if (config_write_ == answer.id) config_write_.reset();
  if (state_ == State::kDiscovering) return discovered(answer);
  finish_load(answer.id, is_good(answer) ? value_of(answer.data) : kAllOnes);
}

// The host hears of them in order, each behind what the device wrote before it answered.
void HostSlot::finish_load(uint64_t id, uint64_t value) {
  const auto load =
      std::find_if(loads_.begin(), loads_.end(), [&](const Load& each) { return each.id == id; });
  if (load == loads_.end()) return;
  load->value = value;
  up_.emplace_back(Loaded{id});
}

void HostSlot::answer_load(uint64_t id) {
  for (Load& load : loads_) load.done |= load.id == id;
  for (; !loads_.empty() && loads_.front().done; loads_.pop_front())
    pcie_->mmio_read_done(loads_.front().value);
}

// ---- From the device

void HostSlot::write(Write&& write) {
  if (is_interrupt(write.address)) {
    PostedWrite interrupt;
    interrupt.kind = PostedWrite::Kind::kMsix;
    interrupt.address = value_of(write.data);
    up_.emplace_back(std::move(interrupt));
    return;
  }
  ref::for_each_cut(write.address, write.data.size(), config_.max_payload,
                    [&](size_t offset, size_t bytes) {
                      const auto first = write.data.begin() + static_cast<std::ptrdiff_t>(offset);
                      PostedWrite part;
                      part.address = write.address + offset;
                      part.data.assign(first, first + static_cast<std::ptrdiff_t>(bytes));
                      up_.emplace_back(std::move(part));
                    });
}

// Tags are reserved for all pieces at once, so that no write waits behind a read for one.
bool HostSlot::can_request() { return up_.size() < kMostUp && free_tags_ >= kMostPieces; }

void HostSlot::request(uint64_t name, Request&& request) {
  Gather& gather = gathers_[name] = {Bytes(request.length), 0, false};
  ref::for_each_cut(request.address, request.length, config_.max_read,
                    [&](size_t offset, size_t bytes) {
                      while (tags_[next_tag_ % kTags]) ++next_tag_;
                      const auto tag = static_cast<uint8_t>(next_tag_++ % kTags);
                      tags_[tag] = {name, offset, 0};
                      --free_tags_;
                      ++gather.pieces;
                      ReadRequest piece;
                      piece.tag = tag;
                      piece.address = request.address + offset;
                      piece.length = static_cast<uint16_t>(bytes);
                      piece.whole = true;
                      up_.emplace_back(piece);
                    });
}

void HostSlot::read_completion(ReadCompletion&& completion) {
  module_.between_cycles([&](PebCore&) {
    auto& tag = tags_[completion.tag];
    assert(tag);
    const auto gather = tag->name ? gathers_.find(*tag->name) : gathers_.end();
    if (gather != gathers_.end()) take(*tag, gather->second, completion);
    if (!completion.last) return;
    free_tag(completion.tag);
    if (gather != gathers_.end()) finish_gather(gather);
  });
}

void HostSlot::take(Piece& piece, Gather& gather, const ReadCompletion& completion) {
  gather.failed |= completion.error;
  std::copy(completion.data.begin(), completion.data.end(),
            gather.data.begin() + static_cast<std::ptrdiff_t>(piece.offset + piece.got));
  piece.got += completion.data.size();
}

void HostSlot::finish_gather(Gathers::iterator gather) {
  if (--gather->second.pieces != 0) return;
  const bool failed = gather->second.failed;
  module_.peb().complete(
      port_, gather->first,
      failed ? EXRNIC_COMPLETION_STATUS_UNSUPPORTED : EXRNIC_COMPLETION_STATUS_SUCCESSFUL,
      failed ? Bytes() : gather->second.data);
  gathers_.erase(gather);
}

// ---- To the PCIe link, in the order in which it was said

void HostSlot::flush() {
  while (!up_.empty() && give(up_.front())) up_.pop_front();
}

bool HostSlot::give(Upward& upward) {
  if (auto* write = std::get_if<PostedWrite>(&upward)) {
    if (!pcie_->can_write()) return false;
    pcie_->write(std::move(*write));
  } else if (auto* read = std::get_if<ReadRequest>(&upward)) {
    if (!pcie_->can_read()) return false;
    pcie_->read(*read);
  } else {
    answer_load(std::get<Loaded>(upward).id);
  }
  return true;
}

bool HostSlot::idle() const {
  const bool may_go = state_ == State::kReady || state_ == State::kDown;
  return up_.empty() && (accesses_.empty() || config_write_ || !may_go);
}

uint64_t HostSlot::wakes_at_ns() const {
  return state_ == State::kComing ? patient_until_ns_ : Core::kNever;
}

}  // namespace exrnic::peb
