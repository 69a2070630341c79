/* SPDX-License-Identifier: BSD-2-Clause */
/* How firmware ends when it cannot go on: the driver's log gets the place, and can start it again.
 */
#ifndef EXRNIC_FW_FAULT_H
#define EXRNIC_FW_FAULT_H

#include "exrnic_hw.h"

/* What must hold, or firmware is wrong. Bad input from outside is answered, not asserted. */
#define FW_ASSERT(condition)                                       \
  do {                                                             \
    if (!(condition)) fw_assertion_fault(__FILE_NAME__, __LINE__); \
  } while (0)

__attribute__((noreturn)) void fw_assertion_fault(const char* file, uint32_t line);
/* Called by boot/start.S. */
__attribute__((noreturn)) void fw_exception_fault(uint32_t cause, uint32_t epc);

#endif
