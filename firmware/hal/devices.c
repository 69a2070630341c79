/* SPDX-License-Identifier: BSD-2-Clause */
#include "hal/devices.h"

/* kseg1: as on any MIPS, where devices are. */
#define UNCACHED 0xa0000000u

static volatile uint32_t* place(uint32_t reg) {
  return (volatile uint32_t*)(UNCACHED | EXRNIC_FW_DEVICES | reg);
}

uint32_t dev_read(uint32_t reg) { return *place(reg); }

void dev_write(uint32_t reg, uint32_t value) { *place(reg) = value; }
