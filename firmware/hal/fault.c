/* SPDX-License-Identifier: BSD-2-Clause */
#include "hal/fault.h"

#include "hal/devices.h"

#define EXCEPTION_CODE(cause) ((cause) >> 2 & 0x1f)

/* FAILED stops the processor: the loop is for the cycles until then. */
__attribute__((noreturn)) static void fail(enum exrnic_fw_fault fault, uint32_t detail, uint32_t pc,
                                           uint32_t file) {
  dev_write(EXRNIC_REG_DEV_FAULT, (uint32_t)fault << 16 | (detail & 0xffff));
  dev_write(EXRNIC_REG_DEV_FAULT_PC, pc);
  dev_write(EXRNIC_REG_DEV_FAULT_FILE, file);
  dev_write(EXRNIC_REG_DEV_STATE, EXRNIC_FW_STATE_FAILED);
  for (;;);
}

void fw_assertion_fault(const char* file, uint32_t line) {
  fail(EXRNIC_FW_FAULT_ASSERTION, line, (uint32_t)__builtin_return_address(0), (uint32_t)file);
}

void fw_exception_fault(uint32_t cause, uint32_t epc) {
  fail(EXRNIC_FW_FAULT_EXCEPTION, EXCEPTION_CODE(cause), epc, 0);
}
