/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processor's own registers (DEV_* of rtl-model/spec/processor.yaml). On the processor these
 * are loads and stores; tests on the host put a mock in their place.
 */
#ifndef EXRNIC_FW_DEVICES_H
#define EXRNIC_FW_DEVICES_H

#include "exrnic_hw.h"

/* `reg`: an EXRNIC_REG_DEV_*, or EXRNIC_REG_DEV_WORDS + 4 * n. */
#ifdef __mips__
/* kseg1: as on any MIPS, where devices are. */
#define DEV_UNCACHED 0xa0000000u

static inline volatile uint32_t* dev_register(uint32_t reg) {
  return (volatile uint32_t*)((DEV_UNCACHED | EXRNIC_FW_DEVICES) + reg);
}
static inline uint32_t dev_read(uint32_t reg) { return *dev_register(reg); }
static inline void dev_write(uint32_t reg, uint32_t value) { *dev_register(reg) = value; }
#else
uint32_t dev_read(uint32_t reg);
void dev_write(uint32_t reg, uint32_t value);
#endif

/* Device time, ns. */
static inline uint64_t dev_time_ns(void) {
  uint32_t low = dev_read(EXRNIC_REG_DEV_TIME_LO);

  return (uint64_t)dev_read(EXRNIC_REG_DEV_TIME_HI) << 32 | low;
}

#endif
