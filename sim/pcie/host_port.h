// SPDX-License-Identifier: BSD-2-Clause
// The boundary between a host and the PCIe link of its RNIC. Behind HostPort stands a QEMU guest
// (vfio-user), a user-space driver on the same socket, or the in-process host of the tests.
//
// Threads: none of its own; one calls at a time, see "Several threads" in sim/README.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

namespace exrnic {

// The host as the device sees it. Addresses are bus addresses as the host's driver programmed
// them; they are untrusted: an access to memory that the host never granted, or that it took
// back, fails and touches nothing.
class HostPort {
 public:
  virtual ~HostPort() = default;

  // Reads `length` bytes at `address` into `out`. False: not (wholly) granted memory.
  virtual bool dma_read(uint64_t address, uint8_t* out, size_t length) = 0;

  // Reads several places, one behind the other into `out`. A host that is far away is asked for
  // more of them before it has answered for the first.
  struct DmaPlace {
    uint64_t address;
    size_t length;
  };
  virtual bool dma_read_all(const std::vector<DmaPlace>& places, uint8_t* out) {
    for (const DmaPlace& place : places) {
      if (!dma_read(place.address, out, place.length)) return false;
      out += place.length;
    }
    return true;
  }

  // Memory that is slow: how many ns pass from the arrival of a read until it sees the memory and
  // is answered; kNever: it is not answered at all. Reads behind it go on.
  static constexpr uint64_t kNever = ~uint64_t{0};
  virtual uint64_t read_wait_ns(uint64_t /*address*/, size_t /*length*/) { return 0; }

  // A host that is a bus itself answers reads when it can: it is asked by this instead of by
  // dma_read(). `done` is called once, in simulated time; nullptr: refused.
  virtual bool answers_later() const { return false; }
  using DmaDone = std::function<void(const uint8_t* data)>;
  virtual void dma_read_later(uint64_t /*address*/, size_t /*length*/, DmaDone done) {
    done(nullptr);
  }

  // Whether it takes more writes, or reads, now.
  virtual bool can_take_write() { return true; }
  virtual bool can_take_read() { return true; }

  // What dma_read() would give now, outside of simulated time. A host that keeps records of reads
  // keeps none of these.
  virtual bool dma_peek(uint64_t address, uint8_t* out, size_t length) {
    return dma_read(address, out, length);
  }

  // Writes in ascending address order, so that whoever polls the last byte finds all before it
  // in place. False: not (wholly) granted for writing; nothing was written.
  virtual bool dma_write(uint64_t address, const uint8_t* data, size_t length) = 0;

  // Fires an MSI-X vector. A masked one stays pending until it is unmasked; one that is not set up
  // is dropped.
  virtual void fire_msix(unsigned vector) = 0;
};

// The configuration space of a device that has one of its own, among its BARs. Accesses to it are
// of 1, 2 or 4 bytes.
constexpr unsigned kConfigSpace = 7;

// The device as a host sees it.
class DevicePort {
 public:
  virtual ~DevicePort() = default;

  // A posted store of 1, 2, 4 or 8 bytes, naturally aligned.
  virtual void mmio_write(unsigned bar, uint64_t offset, unsigned size, uint64_t value) = 0;

  // A posted store of a whole block of 64 bytes, aligned, as a write-combining buffer leaves a CPU:
  // one packet. The device gets it in stores of 8 bytes, in address order.
  static constexpr unsigned kBlockBytes = 64;
  virtual void mmio_write_block(unsigned bar, uint64_t offset, const uint8_t* data) {
    for (unsigned at = 0; at < kBlockBytes; at += sizeof(uint64_t)) {
      uint64_t value;
      std::memcpy(&value, data + at, sizeof value);
      mmio_write(bar, offset + at, sizeof value, value);
    }
  }

  // A load; `done` gets the value, in simulated time, later. Reads answer in order.
  using ReadDone = std::function<void(uint64_t value)>;
  virtual void mmio_read(unsigned bar, uint64_t offset, unsigned size, ReadDone done) = 0;

  // Accesses that wait to leave the host. Who feeds the device from a socket stops reading while
  // they are many.
  virtual size_t backlog() { return 0; }

  // Function-level reset: whatever is in flight is dropped; pending loads answer all ones.
  virtual void reset() = 0;
};

}  // namespace exrnic
