/* SPDX-License-Identifier: BSD-2-Clause */
/* Firmware that fails as it is told: boot and hardware layer are the real ones. */
#include "hal/devices.h"
#include "hal/fault.h"
#include "hal/port.h"
#include "test/faulty.h"

void fw_main(void);

static uint32_t wild_count;

/* On behalf of the oldest request in the punt queue. */
static void wild(uint32_t op, uint32_t access, uint32_t length, const uint32_t* where) {
  const uint32_t words[] = {where[0],
                            where[1],
                            access,
                            length,
                            where[2],
                            where[3],
                            dev_read(EXRNIC_REG_DEV_PUNT_WORDS) ^ where[4]};
  uint32_t i, status;

  for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
    dev_write(EXRNIC_REG_DEV_DIRECT_WORDS + 4 * i, words[i]);
  dev_write(EXRNIC_REG_DEV_DIRECT, op);
  do {
    status = dev_read(EXRNIC_REG_DEV_DIRECT_STATUS);
  } while (status == EXRNIC_FW_DIRECT_STATUS_BUSY);
  dev_write(EXRNIC_REG_DEV_WORDS + 4 * wild_count++, status);
}

static void go_wild(void) {
  uint32_t here[5] = {0}, i;

  for (i = 0; i < 4; i++) here[i] = dev_read(EXRNIC_REG_DEV_WORDS + 4 * i);
  {
    const uint32_t nowhere[] = {here[0] ^ 1, here[1], here[2], here[3], 0};
    const uint32_t zero[] = {0, here[1], 0, 0, 0};
    const uint32_t nobody[] = {here[0], here[1], here[2], here[3], 0x100};
    const uint32_t across[] = {here[0], here[1], here[2], here[3] | (EXRNIC_FW_DIRECT_BYTES - 1),
                               0};
    const uint32_t other[] = {here[0], here[1] + 1, here[2], here[3], 0};
    const uint32_t behind[] = {here[0], here[1], here[2] + 1, here[3], 0};

    wild_count = 0;
    wild(EXRNIC_FW_DIRECT_READ, 0, 8, nowhere);
    wild(EXRNIC_FW_DIRECT_WRITE, EXRNIC_ACCESS_LOCAL_WRITE, 8, zero);
    wild(EXRNIC_FW_DIRECT_WRITE, EXRNIC_ACCESS_REMOTE_WRITE, 8, here);
    wild(EXRNIC_FW_DIRECT_WRITE, 0, 8, here);
    wild(EXRNIC_FW_DIRECT_READ, 0, EXRNIC_FW_DIRECT_BYTES + 1, here);
    wild(EXRNIC_FW_DIRECT_READ, 0, 2, across);
    wild(EXRNIC_FW_DIRECT_READ, 0, 8, other);
    wild(EXRNIC_FW_DIRECT_READ, 0, 8, behind);
    wild(0xff, 0, 8, here);
    wild(EXRNIC_FW_DIRECT_SEND_READ, 0, 8, zero);
    wild(EXRNIC_FW_DIRECT_READ, 0, 8, nobody);
  }
}

static void fail_as_told(uint32_t how) {
  volatile uint32_t* nowhere = (volatile uint32_t*)0x9fff0000u;
  void (*outside)(void) = (void (*)(void))0x80010000u;
  uint32_t i;

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
    case FAULTY_WILD:
      go_wild();
      break;
    case FAULTY_RAISE:
      for (i = dev_read(EXRNIC_REG_DEV_WORDS); i != 0; i--) dev_write(EXRNIC_REG_DEV_RAISE, ~0u);
      break;
    case FAULTY_HOARD:
      dev_write(EXRNIC_REG_DEV_WATCHDOG, 0);
      break;
  }
}

void fw_main(void) {
  dev_write(EXRNIC_REG_DEV_WATCHDOG, FAULTY_WATCHDOG_CYCLES);
  dev_write(EXRNIC_REG_DEV_STATE, EXRNIC_FW_STATE_READY);
  for (;;) {
    dev_write(EXRNIC_REG_DEV_DOZE, 0);
    if (!(dev_read(EXRNIC_REG_DEV_LINES) & 1u << EXRNIC_FW_LINE_COMMAND)) continue;
    fail_as_told(dev_read(EXRNIC_REG_DEV_COMMAND));
    dev_write(EXRNIC_REG_DEV_COMMAND_STATUS, EXRNIC_FW_STATUS_OK);
  }
}
