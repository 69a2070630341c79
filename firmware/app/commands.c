/* SPDX-License-Identifier: BSD-2-Clause */
#include "app/commands.h"

#include "app/channels.h"
#include "hal/devices.h"
#include "hal/fault.h"
#include "hal/memory.h"

static uint64_t started_ns;
static uint32_t served;

static void answer(const uint32_t* words, uint32_t count) {
  uint32_t i;

  FW_ASSERT(count <= EXRNIC_FW_COMMAND_WORDS);
  for (i = 0; i < count; i++) dev_write(EXRNIC_REG_DEV_WORDS + 4 * i, words[i]);
}

static enum exrnic_fw_status query(void) {
  uint64_t uptime_ns = dev_time_ns() - started_ns;
  const uint32_t info[] = {
      FW_VERSION,          served, (uint32_t)uptime_ns, (uint32_t)(uptime_ns >> 32), memory_used(),
      memory_stack_used(),
  };

  answer(info, sizeof(info) / sizeof(info[0]));
  return EXRNIC_FW_STATUS_OK;
}

static void words_of_command(uint32_t* words) {
  uint32_t i;

  for (i = 0; i < EXRNIC_FW_COMMAND_WORDS; i++) words[i] = dev_read(EXRNIC_REG_DEV_WORDS + 4 * i);
}

static enum exrnic_fw_status serve(uint32_t op) {
  uint32_t words[EXRNIC_FW_COMMAND_WORDS];

  switch (op) {
    case EXRNIC_FW_OP_QUERY:
      return query();
    case EXRNIC_FW_OP_CHANNEL_OPEN:
      words_of_command(words);
      return channel_open(words);
    case EXRNIC_FW_OP_CHANNEL_CLOSE:
      words_of_command(words);
      return channel_close(words[0]);
    default:
      return EXRNIC_FW_STATUS_BAD_OPCODE;
  }
}

void commands_start(void) {
  started_ns = dev_time_ns();
  served = 0;
}

void commands_serve(void) {
  enum exrnic_fw_status status = serve(dev_read(EXRNIC_REG_DEV_COMMAND));

  served++;
  dev_write(EXRNIC_REG_DEV_COMMAND_STATUS, status);
}
