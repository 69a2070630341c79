/* SPDX-License-Identifier: BSD-2-Clause */
#include "hal/memory.h"

/* Addresses that boot/firmware.ld gives; boot/start.S has painted the stack. */
extern uint32_t _start[], fw_data_end[], fw_stack_bottom[], fw_stack_top[];

#define PAINT 0x5a5a5a5au

uint32_t memory_used(void) { return (uint32_t)fw_data_end - (uint32_t)_start; }

uint32_t memory_stack_used(void) {
  uint32_t untouched = 0;
  const uint32_t size = (uint32_t)fw_stack_top - (uint32_t)fw_stack_bottom;

  while (untouched < size && fw_stack_bottom[untouched / 4] == PAINT) untouched += 4;
  return size - untouched;
}
