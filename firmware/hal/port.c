/* SPDX-License-Identifier: BSD-2-Clause */
#include "hal/port.h"

#include "hal/devices.h"
#include "hal/fault.h"

#define READ_REQUEST_WORDS (EXRNIC_READ_REQUEST_BYTES / 4)

void punt_read(struct punt* punt, uint32_t words) {
  uint32_t i;

  FW_ASSERT(words <= PUNT_PAYLOAD_WORDS);
  punt->request = punt_word(EXRNIC_FW_PUNT_WORD_REQUEST);
  punt->msn = punt_word(EXRNIC_FW_PUNT_WORD_MSN);
  punt->pd = punt_word(EXRNIC_FW_PUNT_WORD_PD);
  for (i = 0; i < words; i++) punt->payload[i] = punt_word(EXRNIC_FW_PUNT_WORD_PAYLOAD + i);
}

/* A function of its own, so that the profile of a trace tells what is spent on waiting. */
__attribute__((noinline)) enum exrnic_fw_direct_status direct_wait(void) {
  uint32_t status;

  do {
    status = dev_read(EXRNIC_REG_DEV_DIRECT_STATUS);
  } while (status == EXRNIC_FW_DIRECT_STATUS_BUSY);
  return status;
}

static void place(const struct memory* at, uint32_t length) {
  direct_ready();
  memory_place(at, length);
  direct_operand(EXRNIC_FW_MEMORY_WORD_REQUEST, at->request);
}

enum exrnic_fw_direct_status memory_look_up(const struct memory* at, uint32_t length) {
  place(at, length);
  return direct_run(EXRNIC_FW_DIRECT_LOOK_UP);
}

enum exrnic_fw_direct_status memory_read_words(const struct memory* at, uint32_t* to,
                                               uint32_t words) {
  enum exrnic_fw_direct_status status;
  uint32_t i;

  place(at, 4 * words);
  status = direct_run(EXRNIC_FW_DIRECT_READ);
  for (i = 0; i < words; i++) to[i] = direct_result(EXRNIC_FW_MEMORY_WORD_DATA + i);
  return status;
}

void memory_finish(void) { direct_wait(); }

enum exrnic_fw_direct_status send_data(const struct memory* from, uint32_t* length, uint32_t node,
                                       uint32_t stag, uint64_t to) {
  enum exrnic_fw_direct_status status;

  direct_ready();
  memory_place(from, *length);
  direct_operand(EXRNIC_FW_SEND_WORD_STAG, stag);
  direct_operand(EXRNIC_FW_SEND_WORD_TO_HIGH, (uint32_t)(to >> 32));
  direct_operand(EXRNIC_FW_SEND_WORD_TO_LOW, (uint32_t)to);
  direct_operand(EXRNIC_FW_SEND_WORD_NODE, node);
  status = direct_run(EXRNIC_FW_DIRECT_SEND_DATA);
  *length = direct_result(EXRNIC_FW_MEMORY_WORD_LENGTH);
  return status;
}

enum exrnic_fw_direct_status grant_begin(const struct memory* at, uint32_t length, uint32_t node,
                                         uint32_t name) {
  direct_ready();
  memory_place(at, length);
  direct_operand(EXRNIC_FW_SEND_WORD_STAG, name);
  direct_operand(EXRNIC_FW_SEND_WORD_NODE, node);
  return direct_run(EXRNIC_FW_DIRECT_GRANT);
}

void grant_end(uint32_t name) {
  direct_ready();
  direct_operand(EXRNIC_FW_SEND_WORD_STAG, name);
  direct_run(EXRNIC_FW_DIRECT_REVOKE);
}

static void answer_to(const struct punt* punt) {
  direct_wait();
  direct_operand(EXRNIC_FW_ANSWER_WORD_REQUEST, punt->request);
  direct_operand(EXRNIC_FW_ANSWER_WORD_MSN, punt->msn);
}

static void quote(const struct punt* punt) {
  uint32_t i;

  answer_to(punt);
  for (i = 0; i < READ_REQUEST_WORDS; i++)
    direct_operand(EXRNIC_FW_ANSWER_WORD_PAYLOAD + i, punt->payload[i]);
}

enum exrnic_fw_direct_status answer_read(const struct punt* punt) {
  quote(punt);
  return direct_run(EXRNIC_FW_DIRECT_SEND_READ);
}

enum exrnic_fw_direct_status answer_refuse(const struct punt* punt, enum exrnic_term_code code) {
  quote(punt);
  direct_operand(EXRNIC_FW_ANSWER_WORD_CODE, code);
  return direct_run(EXRNIC_FW_DIRECT_REFUSE);
}

enum exrnic_term_code refusal_of(enum exrnic_fw_direct_status status) {
  switch (status) {
    case EXRNIC_FW_DIRECT_STATUS_STAG:
      return EXRNIC_TERM_CODE_RDMAP_STAG;
    case EXRNIC_FW_DIRECT_STATUS_STREAM:
      return EXRNIC_TERM_CODE_RDMAP_STREAM;
    case EXRNIC_FW_DIRECT_STATUS_ACCESS:
      return EXRNIC_TERM_CODE_ACCESS;
    case EXRNIC_FW_DIRECT_STATUS_WRAP:
      return EXRNIC_TERM_CODE_RDMAP_WRAP;
    case EXRNIC_FW_DIRECT_STATUS_BOUNDS:
      return EXRNIC_TERM_CODE_RDMAP_BOUNDS;
    default:
      return EXRNIC_TERM_CODE_STREAM;
  }
}
