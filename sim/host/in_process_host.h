// SPDX-License-Identifier: BSD-2-Clause
// A host without a guest, for tests: memory that the RNIC may touch only where it was granted, a
// record of everything that the RNIC did, and CPU accesses that run the simulation until they are
// answered.
//
// Memory is sparse and reads as zero until written; peek() and poke() are the CPU's own accesses
// and need no grant.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "rtl-model/systemc/core.h"
#include "sim/pcie/host_port.h"
#include "sim/testbed.h"

namespace exrnic {

enum class DmaRights : uint8_t { kRead, kWrite, kReadWrite };

class InProcessHost final : public HostPort {
 public:
  struct DmaRecord {
    uint64_t address = 0;
    Bytes data;  // what was written; with a refusal: what would have been
  };

  // Plugs itself into a node. The testbed must outlive the host.
  InProcessHost(Testbed& testbed, unsigned node);
  ~InProcessHost() override;

  // Grants [address, address + length) to the RNIC, in addition to what it has. A later grant of
  // the same bytes replaces the rights of an earlier one.
  void grant(uint64_t address, uint64_t length, DmaRights rights);

  // From now on reads of [address, address + length) see memory, and are answered, so much later;
  // kNever: they are not answered. What was said last of a byte counts.
  void slow_reads(uint64_t address, uint64_t length, uint64_t wait_ns);

  // Takes back whatever of [address, address + length) is granted.
  void revoke(uint64_t address, uint64_t length);

  Bytes peek(uint64_t address, size_t length) const;
  void poke(uint64_t address, const Bytes& data);

  // A posted store.
  void store(unsigned bar, uint64_t offset, unsigned size, uint64_t value);

  // The same for a block of DevicePort::kBlockBytes, aligned, in one packet.
  void store_block(unsigned bar, uint64_t offset, const uint8_t* data);

  // A load. Throws std::runtime_error when no answer comes within kLoadLimitNs of simulated time.
  uint64_t load(unsigned bar, uint64_t offset, unsigned size);
  static constexpr uint64_t kLoadLimitNs = 1'000'000;

  // What the RNIC did, in order.
  const std::vector<DmaRecord>& writes() const { return writes_; }
  const std::vector<DmaRecord>& refused_writes() const { return refused_writes_; }
  uint64_t refused_reads() const { return refused_read_addresses_.size(); }
  const std::vector<uint64_t>& refused_read_addresses() const { return refused_read_addresses_; }
  const std::vector<unsigned>& interrupts() const { return interrupts_; }
  void clear_records();

  uint64_t read_wait_ns(uint64_t address, size_t length) override;
  bool dma_read(uint64_t address, uint8_t* out, size_t length) override;
  bool dma_peek(uint64_t address, uint8_t* out, size_t length) override;
  bool dma_write(uint64_t address, const uint8_t* data, size_t length) override;
  void fire_msix(unsigned vector) override { interrupts_.push_back(vector); }

 private:
  static constexpr uint64_t kPageSize = 4096;

  struct Grant {
    uint64_t last = 0;  // address of the last byte: a grant may end at 2^64 - 1
    DmaRights rights = DmaRights::kReadWrite;
  };

  struct Slow {
    uint64_t address = 0;
    uint64_t length = 0;
    uint64_t wait_ns = 0;
  };

  bool allowed(uint64_t address, size_t length, DmaRights want) const;

  Testbed& testbed_;
  Node& node_;
  std::map<uint64_t, Grant> grants_;  // by first byte; they do not overlap
  std::unordered_map<uint64_t, Bytes> pages_;
  std::vector<Slow> slow_;  // what was said last comes last
  std::vector<DmaRecord> writes_;
  std::vector<DmaRecord> refused_writes_;
  std::vector<uint64_t> refused_read_addresses_;
  std::vector<unsigned> interrupts_;
};

}  // namespace exrnic
