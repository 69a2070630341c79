/* SPDX-License-Identifier: BSD-2-Clause */
#include "hal/port.h"

#include "hal/devices.h"
#include "hal/fault.h"

#define READ_REQUEST_WORDS (EXRNIC_READ_REQUEST_BYTES / 4)

uint32_t punt_count(void) { return dev_read(EXRNIC_REG_DEV_PUNTS); }

static uint32_t punt_word(uint32_t word) { return dev_read(EXRNIC_REG_DEV_PUNT_WORDS + 4 * word); }

enum exrnic_fw_punt_kind punt_oldest(void) { return punt_word(EXRNIC_FW_PUNT_WORD_REQUEST) & 0xff; }

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

/*
 * How the command in hand has ended: its operands are in use until then. A function of its own, so
 * that the profile of a trace tells what is spent on waiting.
 */
static __attribute__((noinline)) enum exrnic_fw_direct_status direct_wait(void) {
  uint32_t status;

  do {
    status = dev_read(EXRNIC_REG_DEV_DIRECT_STATUS);
  } while (status == EXRNIC_FW_DIRECT_STATUS_BUSY);
  return status;
}

static void start(enum exrnic_fw_direct op) { dev_write(EXRNIC_REG_DEV_DIRECT, op); }

static enum exrnic_fw_direct_status run(enum exrnic_fw_direct op) {
  start(op);
  return direct_wait();
}

static void place(const struct memory* at, uint32_t length) {
  direct_wait();
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

enum exrnic_fw_direct_status memory_read_words(const struct memory* at, uint32_t* to,
                                               uint32_t words) {
  enum exrnic_fw_direct_status status;
  uint32_t i;

  place(at, 4 * words);
  status = run(EXRNIC_FW_DIRECT_READ);
  for (i = 0; i < words; i++) to[i] = result(EXRNIC_FW_MEMORY_WORD_DATA + i);
  return status;
}

void memory_post_words(const struct memory* at, const uint32_t* from, uint32_t words) {
  uint32_t i;

  place(at, 4 * words);
  for (i = 0; i < words; i++) operand(EXRNIC_FW_MEMORY_WORD_DATA + i, from[i]);
  start(EXRNIC_FW_DIRECT_WRITE);
}

void memory_finish(void) { direct_wait(); }

enum exrnic_fw_direct_status send_message(uint32_t node, const uint32_t* words) {
  uint32_t i;

  direct_wait();
  for (i = 0; i < MESSAGE_WORDS; i++) operand(EXRNIC_FW_SEND_WORD_MESSAGE + i, words[i]);
  operand(EXRNIC_FW_SEND_WORD_NODE, node);
  return run(EXRNIC_FW_DIRECT_SEND_MESSAGE);
}

enum exrnic_fw_direct_status send_data(const struct memory* from, uint32_t length, uint32_t node,
                                       uint32_t stag, uint64_t to) {
  place(from, length);
  operand(EXRNIC_FW_SEND_WORD_STAG, stag);
  operand(EXRNIC_FW_SEND_WORD_TO_HIGH, (uint32_t)(to >> 32));
  operand(EXRNIC_FW_SEND_WORD_TO_LOW, (uint32_t)to);
  operand(EXRNIC_FW_SEND_WORD_NODE, node);
  return run(EXRNIC_FW_DIRECT_SEND_DATA);
}

uint32_t port_node(void) { return dev_read(EXRNIC_REG_DEV_NODE) >> 16; }

uint32_t port_mtu(void) { return dev_read(EXRNIC_REG_DEV_NODE) & 0xffff; }

int bell_take(struct bell* bell) {
  bell->page = dev_read(EXRNIC_REG_DEV_BELL);
  if (bell->page == ~0u) return 0;
  bell->number = dev_read(EXRNIC_REG_DEV_BELL_NUMBER);
  bell->index = dev_read(EXRNIC_REG_DEV_BELL_INDEX);
  return 1;
}

static void answer_to(const struct punt* punt) {
  direct_wait();
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
