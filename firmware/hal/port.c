/* SPDX-License-Identifier: BSD-2-Clause */
#include "hal/port.h"

#include "hal/devices.h"
#include "hal/fault.h"

#define READ_REQUEST_WORDS (EXRNIC_READ_REQUEST_BYTES / 4)

enum exrnic_fw_punt_kind punt_kind(const struct punt* punt) { return punt->request & 0xff; }

uint32_t punt_count(void) { return dev_read(EXRNIC_REG_DEV_PUNTS); }

static uint32_t punt_word(uint32_t word) { return dev_read(EXRNIC_REG_DEV_PUNT_WORDS + 4 * word); }

void punt_read(struct punt* punt, uint32_t words) {
  uint32_t i;

  FW_ASSERT(words <= PUNT_PAYLOAD_WORDS);
  punt->request = punt_word(EXRNIC_FW_PUNT_WORD_REQUEST);
  punt->msn = punt_word(EXRNIC_FW_PUNT_WORD_MSN);
  punt->pd = punt_word(EXRNIC_FW_PUNT_WORD_PD);
  for (i = 0; i < words; i++) punt->payload[i] = punt_word(EXRNIC_FW_PUNT_WORD_PAYLOAD + i);
}

void punt_pop(void) { dev_write(EXRNIC_REG_DEV_PUNT_POP, 0); }

static void operand(uint32_t word, uint32_t value) {
  dev_write(EXRNIC_REG_DEV_DIRECT_WORDS + 4 * word, value);
}

static uint32_t result(uint32_t word) { return dev_read(EXRNIC_REG_DEV_DIRECT_WORDS + 4 * word); }

static enum exrnic_fw_direct_status run(enum exrnic_fw_direct op) {
  uint32_t status;

  dev_write(EXRNIC_REG_DEV_DIRECT, op);
  do {
    status = dev_read(EXRNIC_REG_DEV_DIRECT_STATUS);
  } while (status == EXRNIC_FW_DIRECT_STATUS_BUSY);
  return status;
}

static void place(const struct memory* at, uint32_t length) {
  operand(EXRNIC_FW_MEMORY_WORD_REQUEST, at->request);
  operand(EXRNIC_FW_MEMORY_WORD_STAG, at->stag);
  operand(EXRNIC_FW_MEMORY_WORD_PD, at->pd);
  operand(EXRNIC_FW_MEMORY_WORD_ACCESS, at->access);
  operand(EXRNIC_FW_MEMORY_WORD_LENGTH, length);
  operand(EXRNIC_FW_MEMORY_WORD_TO_HIGH, (uint32_t)(at->to >> 32));
  operand(EXRNIC_FW_MEMORY_WORD_TO_LOW, (uint32_t)at->to);
}

enum exrnic_fw_direct_status memory_look_up(const struct memory* at, uint32_t length) {
  place(at, length);
  return run(EXRNIC_FW_DIRECT_LOOK_UP);
}

enum exrnic_fw_direct_status memory_read(const struct memory* at, uint64_t* value) {
  enum exrnic_fw_direct_status status;

  place(at, sizeof(*value));
  status = run(EXRNIC_FW_DIRECT_READ);
  *value =
      (uint64_t)result(EXRNIC_FW_MEMORY_WORD_DATA + 1) << 32 | result(EXRNIC_FW_MEMORY_WORD_DATA);
  return status;
}

enum exrnic_fw_direct_status memory_write(const struct memory* at, uint64_t value) {
  place(at, sizeof(value));
  operand(EXRNIC_FW_MEMORY_WORD_DATA, (uint32_t)value);
  operand(EXRNIC_FW_MEMORY_WORD_DATA + 1, (uint32_t)(value >> 32));
  return run(EXRNIC_FW_DIRECT_WRITE);
}

static void answer_to(const struct punt* punt) {
  operand(EXRNIC_FW_ANSWER_WORD_REQUEST, punt->request);
  operand(EXRNIC_FW_ANSWER_WORD_MSN, punt->msn);
}

static void quote(const struct punt* punt) {
  uint32_t i;

  answer_to(punt);
  for (i = 0; i < READ_REQUEST_WORDS; i++)
    operand(EXRNIC_FW_ANSWER_WORD_PAYLOAD + i, punt->payload[i]);
}

enum exrnic_fw_direct_status answer_read(const struct punt* punt) {
  quote(punt);
  return run(EXRNIC_FW_DIRECT_SEND_READ);
}

enum exrnic_fw_direct_status answer_atomic(const struct punt* punt, uint32_t request_id,
                                           uint64_t value) {
  answer_to(punt);
  operand(EXRNIC_FW_ANSWER_WORD_PAYLOAD, request_id);
  operand(EXRNIC_FW_ANSWER_WORD_PAYLOAD + 1, (uint32_t)(value >> 32));
  operand(EXRNIC_FW_ANSWER_WORD_PAYLOAD + 2, (uint32_t)value);
  return run(EXRNIC_FW_DIRECT_SEND_ATOMIC);
}

enum exrnic_fw_direct_status answer_refuse(const struct punt* punt, enum exrnic_term_code code) {
  quote(punt);
  operand(EXRNIC_FW_ANSWER_WORD_CODE, code);
  return run(EXRNIC_FW_DIRECT_REFUSE);
}
