/* SPDX-License-Identifier: BSD-2-Clause */
/* Firmware that fails as it is told: boot and hardware layer are the real ones. */
#include "hal/devices.h"
#include "hal/fault.h"
#include "test/faulty.h"

void fw_main(void);

static void fail_as_told(uint32_t how) {
  volatile uint32_t* nowhere = (volatile uint32_t*)0x9fff0000u;
  void (*outside)(void) = (void (*)(void))0x80010000u;

  switch (how) {
    case FAULTY_ASSERT:
      FW_ASSERT(how == 0);
      break;
    case FAULTY_LOAD_NOWHERE:
      (void)*nowhere;
      break;
    case FAULTY_STORE_UNALIGNED:
      __asm__ volatile("sw $0, 1($0)");
      break;
    case FAULTY_JUMP_OUTSIDE:
      outside();
      break;
    case FAULTY_SPIN:
      for (;;);
    case FAULTY_READ_WRITE_ONLY:
      (void)dev_read(EXRNIC_REG_DEV_STATE);
      break;
  }
}

void fw_main(void) {
  dev_write(EXRNIC_REG_DEV_WATCHDOG, FAULTY_WATCHDOG_CYCLES);
  dev_write(EXRNIC_REG_DEV_STATE, EXRNIC_FW_STATE_READY);
  for (;;) {
    dev_write(EXRNIC_REG_DEV_DOZE, 0);
    fail_as_told(dev_read(EXRNIC_REG_DEV_COMMAND));
    dev_write(EXRNIC_REG_DEV_COMMAND_STATUS, EXRNIC_FW_STATUS_OK);
  }
}
