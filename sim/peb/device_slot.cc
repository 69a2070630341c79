// SPDX-License-Identifier: BSD-2-Clause
#include "sim/peb/device_slot.h"

#include <linux/pci_regs.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace exrnic::peb {
namespace {

constexpr size_t kMostAccess = sizeof(uint64_t);
constexpr size_t kDword = 4;

// The largest access of a CPU that begins there: a power of two, aligned.
size_t access_at(uint64_t offset, size_t left, size_t most) {
  size_t size = most;
  while (offset % size != 0 || size > left) size /= 2;
  return size;
}

uint64_t value_at(const Bytes& data, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value |= uint64_t{data[at + i]} << (8 * i);
  return value;
}

}  // namespace

DeviceSlot::DeviceSlot(PebModule& module, unsigned port, Scheduler& scheduler,
                       const PcieConfig& config, std::unique_ptr<PcieDevice> device)
    : module_(module),
      port_(port),
      device_(std::move(device)),
      description_(device_->description()),
      link_(scheduler, config, *device_) {
  device_->connect(link_);
  link_.connect_host(this);
  forget();
}

void DeviceSlot::assign(const std::optional<Peer>& peer) {
  module_.between_cycles([&](PebCore& peb) {
    peb.assign(port_, std::nullopt);
    peb.assign(port_, peer);
  });
}

void DeviceSlot::link(bool up) {
  up_ = up;
  if (up) return;
  serving_.clear();
  done_.clear();
  link_.reset();
  forget();
}

// As after a reset of the device.
void DeviceSlot::forget() {
  config_.assign(PCI_CFG_SPACE_SIZE, 0);
  bars_ = {};
  pending_.clear();
  table_.assign(size_t{description_.msix.vectors} * PCI_MSIX_ENTRY_SIZE, 0);
  for (unsigned vector = 0; vector < description_.msix.vectors; ++vector)
    table_[vector * PCI_MSIX_ENTRY_SIZE + PCI_MSIX_ENTRY_VECTOR_CTRL] = PCI_MSIX_ENTRY_CTRL_MASKBIT;
}

// ---- From the host

std::optional<DeviceSlot::Place> DeviceSlot::place_of(uint64_t address, size_t length) const {
  if ((written(PCI_COMMAND) & PCI_COMMAND_MEMORY) == 0) return std::nullopt;
  for (const PciDescription::Bar& bar : description_.bars) {
    const uint64_t offset = address - bar_address(bars_, bar);
    if (offset < bar.size && length <= bar.size - offset) return Place{bar.index, offset};
  }
  return std::nullopt;
}

void DeviceSlot::write(Write&& write) {
  const auto place = place_of(write.address, write.data.size());
  if (!place) {
    ++unsupported_;
    return;
  }
  note_table(*place, write.data);
  store(*place, write.data);
}

void DeviceSlot::store(const Place& place, const Bytes& data) {
  const size_t most = place.bar == kConfigSpace ? kDword : kMostAccess;
  for (size_t at = 0; at < data.size();) {
    const size_t size = access_at(place.offset + at, data.size() - at, most);
    link_.mmio_write(place.bar, place.offset + at, static_cast<unsigned>(size),
                     value_at(data, at, size));
    at += size;
  }
}

void DeviceSlot::request(uint64_t name, Request&& request) {
  if (request.kind == Request::Kind::kConfigRead) return config_read(name, request);
  if (request.kind == Request::Kind::kConfigWrite) return config_write(name, request);
  const auto place = place_of(request.address, request.length);
  if (!place) return refuse(name);
  load(name, *place, request.length);
}

void DeviceSlot::refuse(uint64_t name) {
  ++unsupported_;
  end(name, EXRNIC_COMPLETION_STATUS_UNSUPPORTED, {});
}

// Where a device has none of what its host knows, zeros are.
void DeviceSlot::config_read(uint64_t name, const Request& request) {
  if (request.address + request.length > description_.config_bytes)
    return end(name, EXRNIC_COMPLETION_STATUS_SUCCESSFUL, Bytes(request.length));
  load(name, {kConfigSpace, request.address}, request.length);
}

void DeviceSlot::config_write(uint64_t name, const Request& request) {
  if (request.address + request.data.size() <= description_.config_bytes) {
    note_config(request.address, request.data);
    store({kConfigSpace, request.address}, request.data);
  }
  end(name, EXRNIC_COMPLETION_STATUS_SUCCESSFUL, {});
}

void DeviceSlot::load(uint64_t name, const Place& place, size_t length) {
  const size_t most = place.bar == kConfigSpace ? kDword : kMostAccess;
  serving_[name] = {Bytes(length), length};
  for (size_t at = 0; at < length;) {
    const size_t size = access_at(place.offset + at, length - at, most);
    link_.mmio_read(place.bar, place.offset + at, static_cast<unsigned>(size),
                    [this, name, at, size](uint64_t value) { take_part(name, at, size, value); });
    at += size;
  }
}

void DeviceSlot::take_part(uint64_t name, size_t at, size_t bytes, uint64_t value) {
  const auto found = serving_.find(name);
  if (found == serving_.end()) return;  // of an earlier life
  for (size_t i = 0; i < bytes; ++i)
    found->second.data[at + i] = static_cast<uint8_t>(value >> (8 * i));
  found->second.left -= bytes;
  if (found->second.left != 0) return;
  Bytes data = std::move(found->second.data);
  serving_.erase(found);
  module_.between_cycles(
      [&](PebCore&) { end(name, EXRNIC_COMPLETION_STATUS_SUCCESSFUL, std::move(data)); });
}

// The PEB hears of it in the next cycle: it may be in the middle of this one.
void DeviceSlot::end(uint64_t name, exrnic_completion_status status, Bytes&& data) {
  done_.push_back({name, status, std::move(data)});
}

void DeviceSlot::step(uint64_t /*time_ns*/) {
  for (const Done& done : std::exchange(done_, {}))
    module_.peb().complete(port_, done.name, done.status, done.data);
}

// ---- What is written to the device, as far as a bus has to know it

uint16_t DeviceSlot::written(size_t place) const {
  return static_cast<uint16_t>(config_[place] | config_[place + 1] << 8);
}

void DeviceSlot::note_config(size_t place, const Bytes& data) {
  for (size_t i = 0; i < data.size() && place + i < config_.size(); ++i)
    config_[place + i] = data[i];
  std::memcpy(bars_.data(), config_.data() + PCI_BASE_ADDRESS_0, sizeof bars_);
  interrupt_pending();
}

void DeviceSlot::note_table(const Place& place, const Bytes& data) {
  if (place.bar != description_.msix.bar || table_.empty()) return;
  for (size_t i = 0; i < data.size(); ++i) {
    const uint64_t at = place.offset + i - description_.msix.table_offset;
    if (at < table_.size()) table_[at] = data[i];
  }
  interrupt_pending();
}

// ---- From the device

bool DeviceSlot::may_master() const {
  return up_ && (written(PCI_COMMAND) & PCI_COMMAND_MASTER) != 0;
}

void DeviceSlot::dma_read_later(uint64_t address, size_t length, DmaDone done) {
  if (!may_master()) return done(nullptr);
  module_.between_cycles([&](PebCore& peb) {
    dmas_[++last_id_] = std::move(done);
    peb.request(port_,
                {last_id_, Request::Kind::kRead, address, static_cast<uint32_t>(length), {}});
  });
}

void DeviceSlot::answered(Answer&& answer) {
  const auto found = dmas_.find(answer.id);
  if (found == dmas_.end()) return;
  const DmaDone done = std::move(found->second);
  dmas_.erase(found);
  done(answer.status == EXRNIC_COMPLETION_STATUS_SUCCESSFUL ? answer.data.data() : nullptr);
}

bool DeviceSlot::dma_write(uint64_t address, const uint8_t* data, size_t length) {
  if (!may_master()) return false;
  module_.between_cycles(
      [&](PebCore& peb) { peb.write(port_, address, Bytes(data, data + length)); });
  return true;
}

uint16_t DeviceSlot::msix_control() const {
  return written(description_.msix.capability + PCI_MSIX_FLAGS);
}

bool DeviceSlot::has_interrupts() const {
  return may_master() && (msix_control() & PCI_MSIX_FLAGS_ENABLE) != 0;
}

bool DeviceSlot::is_masked(unsigned vector) const {
  const uint8_t mask = table_[vector * PCI_MSIX_ENTRY_SIZE + PCI_MSIX_ENTRY_VECTOR_CTRL];
  return (msix_control() & PCI_MSIX_FLAGS_MASKALL) != 0 ||
         (mask & PCI_MSIX_ENTRY_CTRL_MASKBIT) != 0;
}

void DeviceSlot::fire_msix(unsigned vector) {
  if (vector >= description_.msix.vectors || !has_interrupts()) return;
  if (is_masked(vector)) {
    pending_.insert(vector);
    return;
  }
  module_.between_cycles([&](PebCore&) { interrupt(vector); });
}

void DeviceSlot::interrupt(unsigned vector) {
  const size_t entry = size_t{vector} * PCI_MSIX_ENTRY_SIZE;
  const uint64_t address = value_at(table_, entry + PCI_MSIX_ENTRY_LOWER_ADDR, sizeof(uint64_t));
  const auto data = table_.begin() + static_cast<std::ptrdiff_t>(entry + PCI_MSIX_ENTRY_DATA);
  module_.peb().write(port_, address, Bytes(data, data + kDword));
}

void DeviceSlot::interrupt_pending() {
  if (!has_interrupts()) return;
  for (auto vector = pending_.begin(); vector != pending_.end();) {
    if (is_masked(*vector)) {
      ++vector;
      continue;
    }
    interrupt(*vector);
    vector = pending_.erase(vector);
  }
}

}  // namespace exrnic::peb
