// SPDX-License-Identifier: BSD-2-Clause
// The ordering points between this library and the device, each named for what it orders.
//
// The rings are ordinary write-back memory that the device reads and writes by DMA; the user page
// is write-combining device memory: stores to it may leave late, together, and out of order. So an
// order is needed towards the device, not only between processors: on x86 stores are kept apart by
// sfence, which also empties the write-combining buffers; on Arm it takes a barrier of the outer
// shareable domain, or one that waits for the stores to have left.
#ifndef EXRNIC_LIBVERBS_BARRIER_H
#define EXRNIC_LIBVERBS_BARRIER_H

#include <cstdint>

namespace exrnic {

// Stores before it, then stores behind it.
inline void StoreBarrier() {
#if defined(__x86_64__)
  asm volatile("sfence" ::: "memory");
#elif defined(__aarch64__)
  asm volatile("dmb oshst" ::: "memory");
#else
#error "name the barrier that orders stores to memory and to the device here"
#endif
}

// Loads before it, then stores behind it. An x86 processor keeps that order for every kind of
// memory; the compiler must be told.
inline void LoadStoreBarrier() {
#if defined(__x86_64__)
  asm volatile("" ::: "memory");
#elif defined(__aarch64__)
  asm volatile("dmb oshld" ::: "memory");
#else
#error "name the barrier that orders loads from memory and stores to the device here"
#endif
}

// What was stored to write-combining memory leaves the processor.
inline void FlushBarrier() {
#if defined(__x86_64__)
  asm volatile("sfence" ::: "memory");
#elif defined(__aarch64__)
  asm volatile("dsb st" ::: "memory");
#else
#error "name the barrier that empties the write-combining buffers here"
#endif
}

}  // namespace exrnic

// The bytes of a WQE are in memory before the doorbell or PIO block that speaks of it reaches the
// device: its read of the WQE (a PCIe read request caused by that store) must find them.
inline void vl_wmb_wqe_before_doorbell() { exrnic::StoreBarrier(); }

// A doorbell, or all of a PIO block, leaves for the device now, and before all stores to the user
// page behind this point.
inline void vl_wmb_flush_user_page() { exrnic::FlushBarrier(); }

// Stores into remote windows leave for the device now, and before all stores behind this point.
inline void vl_wmb_flush_windows() { exrnic::FlushBarrier(); }

// The CQEs have been read before the doorbell that gives their places back reaches the device: its
// next writes go there.
inline void vl_mb_cqe_read_before_doorbell() { exrnic::LoadStoreBarrier(); }

// The phase byte of a CQE has been read before the rest of it. The device writes it last, so who
// sees the new phase sees the whole CQE, and all data that it speaks of.
inline uint8_t vl_load_phase_before_cqe(const uint8_t* phase) {
  return __atomic_load_n(phase, __ATOMIC_ACQUIRE);
}

#endif  // EXRNIC_LIBVERBS_BARRIER_H
