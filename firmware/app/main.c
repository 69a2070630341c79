/* SPDX-License-Identifier: BSD-2-Clause */
/* The firmware's loop: rest until a line is raised, serve it. Nothing interrupts a handler. */
#include "app/channels.h"
#include "app/commands.h"
#include "app/requests.h"
#include "hal/devices.h"

/* Cycles of work until the watch-dog takes a handler for lost. */
#define WATCHDOG_CYCLES 10000000

void fw_main(void);

void fw_main(void) {
  uint32_t lines;

  dev_write(EXRNIC_REG_DEV_WATCHDOG, WATCHDOG_CYCLES);
  dev_write(EXRNIC_REG_DEV_VERSION, FW_VERSION);
  commands_start();
  channels_start();
  dev_write(EXRNIC_REG_DEV_STATE, EXRNIC_FW_STATE_READY);
  for (;;) {
    dev_write(EXRNIC_REG_DEV_DOZE, 0);
    dev_write(EXRNIC_REG_DEV_WATCHDOG, WATCHDOG_CYCLES);
    lines = dev_read(EXRNIC_REG_DEV_LINES);
    if (lines & 1u << EXRNIC_FW_LINE_PUNT) requests_serve();
    if (lines & 1u << EXRNIC_FW_LINE_BELL) channels_bells();
    if (lines & 1u << EXRNIC_FW_LINE_TIMER) channels_timer();
    if (lines & 1u << EXRNIC_FW_LINE_COMMAND) commands_serve();
    channels_work();
  }
}
