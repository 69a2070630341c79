/* SPDX-License-Identifier: BSD-2-Clause */
#include "hal/memory.h"

/* boot/firmware.ld; boot/start.S has painted the stack. */
extern uint32_t fw_bss_end[], fw_stack_bottom[], fw_stack_top[];
extern char _start[];

#define PAINT 0x5a5a5a5au

uint32_t memory_used(void) { return (uint32_t)((const char*)fw_bss_end - _start); }

uint32_t memory_stack_used(void) {
  const uint32_t* place = fw_stack_bottom;

  while (place < fw_stack_top && *place == PAINT) place++;
  return (uint32_t)((const char*)fw_stack_top - (const char*)place);
}
