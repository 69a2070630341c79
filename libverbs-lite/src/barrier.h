// SPDX-License-Identifier: BSD-2-Clause
// The ordering points between this library and the device, each named for what it orders.
//
// The rings are ordinary write-back memory that the device reads and writes by DMA; the user page
// is uncached device memory. So an order is needed towards the device, not only between processors:
// on x86 the processor keeps it for these kinds of memory and the compiler must be told; on Arm
// it takes a barrier of the outer shareable domain.
#ifndef EXRNIC_LIBVERBS_BARRIER_H
#define EXRNIC_LIBVERBS_BARRIER_H

#include <cstdint>

namespace exrnic {

inline void DeviceBarrier() {
#if defined(__x86_64__)
  asm volatile("" ::: "memory");
#elif defined(__aarch64__)
  asm volatile("dmb osh" ::: "memory");
#else
#error "name the barrier that orders memory and device accesses here"
#endif
}

}  // namespace exrnic

// The bytes of a WQE are in memory before the doorbell that speaks of it reaches the device: its
// read of the WQE (a PCIe read request caused by the doorbell) must find them.
inline void vl_wmb_wqe_before_doorbell() { exrnic::DeviceBarrier(); }

// The CQEs have been read before the doorbell that gives their places back reaches the device: its
// next writes go there.
inline void vl_mb_cqe_read_before_doorbell() { exrnic::DeviceBarrier(); }

// The phase byte of a CQE has been read before the rest of it. The device writes it last, so who
// sees the new phase sees the whole CQE, and all data that it speaks of.
inline uint8_t vl_load_phase_before_cqe(const uint8_t* phase) {
  return __atomic_load_n(phase, __ATOMIC_ACQUIRE);
}

#endif  // EXRNIC_LIBVERBS_BARRIER_H
