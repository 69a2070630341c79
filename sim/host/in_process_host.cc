// SPDX-License-Identifier: BSD-2-Clause
#include "sim/host/in_process_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <optional>
#include <stdexcept>
#include <utility>

namespace exrnic {

InProcessHost::InProcessHost(Testbed& testbed, unsigned node)
    : testbed_(testbed), node_(testbed.node(node)) {
  node_.connect_host(this);
}

InProcessHost::~InProcessHost() { node_.connect_host(nullptr); }

void InProcessHost::grant(uint64_t address, uint64_t length, DmaRights rights) {
  assert(length > 0 && address + (length - 1) >= address);
  revoke(address, length);
  grants_[address] = {address + (length - 1), rights};
}

void InProcessHost::revoke(uint64_t address, uint64_t length) {
  assert(length > 0 && address + (length - 1) >= address);
  const uint64_t last = address + (length - 1);
  auto grant = grants_.upper_bound(address);
  if (grant != grants_.begin()) --grant;
  while (grant != grants_.end() && grant->first <= last) {
    const auto [first, old] = *grant;
    if (old.last < address) {
      ++grant;
      continue;
    }
    grant = grants_.erase(grant);
    if (first < address) grants_[first] = {address - 1, old.rights};
    if (old.last > last) grants_[last + 1] = old;
  }
}

// Bytes of neighbouring grants may be accessed at once, as with an IOMMU.
bool InProcessHost::allowed(uint64_t address, size_t length, DmaRights want) const {
  if (length == 0 || address + (length - 1) < address) return false;
  const uint64_t last = address + (length - 1);
  for (uint64_t next = address;;) {
    auto grant = grants_.upper_bound(next);
    if (grant == grants_.begin()) return false;
    --grant;
    const DmaRights rights = grant->second.rights;
    if (grant->second.last < next) return false;
    if (rights != want && rights != DmaRights::kReadWrite) return false;
    if (grant->second.last >= last) return true;
    next = grant->second.last + 1;
  }
}

Bytes InProcessHost::peek(uint64_t address, size_t length) const {
  Bytes data(length);
  for (size_t done = 0; done < length;) {
    const uint64_t at = address + done;
    const size_t part = std::min<size_t>(length - done, kPageSize - at % kPageSize);
    const auto page = pages_.find(at / kPageSize);
    if (page != pages_.end()) {
      std::copy_n(page->second.begin() + at % kPageSize, part, data.begin() + done);
    }
    done += part;
  }
  return data;
}

void InProcessHost::poke(uint64_t address, const Bytes& data) {
  for (size_t done = 0; done < data.size();) {
    const uint64_t at = address + done;
    const size_t part = std::min<size_t>(data.size() - done, kPageSize - at % kPageSize);
    Bytes& page = pages_[at / kPageSize];
    page.resize(kPageSize);
    std::copy_n(data.begin() + done, part, page.begin() + at % kPageSize);
    done += part;
  }
}

void InProcessHost::store(unsigned bar, uint64_t offset, unsigned size, uint64_t value) {
  node_.device().mmio_write(bar, offset, size, value);
}

void InProcessHost::store_block(unsigned bar, uint64_t offset, const uint8_t* data) {
  node_.device().mmio_write_block(bar, offset, data);
}

uint64_t InProcessHost::load(unsigned bar, uint64_t offset, unsigned size) {
  // Shared with the answer, which may come after this function has given up.
  const auto answer = std::make_shared<std::optional<uint64_t>>();
  node_.device().mmio_read(bar, offset, size, [answer](uint64_t value) { *answer = value; });
  const RunResult result = testbed_.run_until([&] { return answer->has_value(); }, kLoadLimitNs);
  if (result != RunResult::kDone) {
    throw std::runtime_error(
        fmt::format("load of {} bytes at BAR {} offset {:#x} of node {}: no answer within {} ns",
                    size, bar, offset, node_.id(), kLoadLimitNs));
  }
  return **answer;
}

void InProcessHost::clear_records() {
  writes_.clear();
  refused_writes_.clear();
  refused_read_addresses_.clear();
  interrupts_.clear();
}

void InProcessHost::slow_reads(uint64_t address, uint64_t length, uint64_t wait_ns) {
  slow_.push_back({address, length, wait_ns});
}

uint64_t InProcessHost::read_wait_ns(uint64_t address, size_t length) {
  const auto touched = [=](const Slow& slow) {
    return address < slow.address ? slow.address - address < length
                                  : address - slow.address < slow.length;
  };
  const auto last = std::find_if(slow_.rbegin(), slow_.rend(), touched);
  return last == slow_.rend() ? 0 : last->wait_ns;
}

bool InProcessHost::dma_read(uint64_t address, uint8_t* out, size_t length) {
  if (dma_peek(address, out, length)) return true;
  refused_read_addresses_.push_back(address);
  return false;
}

bool InProcessHost::dma_peek(uint64_t address, uint8_t* out, size_t length) {
  if (!allowed(address, length, DmaRights::kRead)) return false;
  const Bytes data = peek(address, length);
  std::copy(data.begin(), data.end(), out);
  return true;
}

bool InProcessHost::dma_write(uint64_t address, const uint8_t* data, size_t length) {
  DmaRecord record{address, Bytes(data, data + length)};
  if (!allowed(address, length, DmaRights::kWrite)) {
    refused_writes_.push_back(std::move(record));
    return false;
  }
  poke(address, record.data);
  writes_.push_back(std::move(record));
  return true;
}

}  // namespace exrnic
