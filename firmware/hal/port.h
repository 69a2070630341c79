/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Firmware's way to the data path: requests of peers that the hardware hands over, and direct
 * commands to its modules (firmware_port of the RTL). Over devices.h, so tests that mock that have
 * it too.
 */
#ifndef EXRNIC_FW_PORT_H
#define EXRNIC_FW_PORT_H

#include "hal/devices.h"

/* Payload words: as many as the longest request has. */
#define PUNT_PAYLOAD_WORDS (EXRNIC_FW_PUNT_WORD_PD - EXRNIC_FW_PUNT_WORD_PAYLOAD)

/* A request of a peer. It stays the oldest one until punt_pop(). */
struct punt {
  uint32_t request; /* names it; goes into the answer */
  uint32_t msn;
  uint32_t pd;
  uint32_t payload[PUNT_PAYLOAD_WORDS]; /* big-endian words of the wire, as numbers */
};

/* How many wait. */
static inline uint32_t punt_count(void) { return dev_read(EXRNIC_REG_DEV_PUNTS); }

/* A word of the oldest one: enum exrnic_fw_punt_word. There must be one. */
static inline uint32_t punt_word(uint32_t word) {
  return dev_read(EXRNIC_REG_DEV_PUNT_WORDS + 4 * word);
}
/* All of it, with `words` of its payload. */
void punt_read(struct punt* punt, uint32_t words);
static inline void punt_pop(void) { dev_write(EXRNIC_REG_DEV_PUNT_POP, 0); }

/* ---- Direct commands: operands, the command, how it ends. One at a time. */

/* How the command in hand has ended: its operands are in use until then. */
enum exrnic_fw_direct_status direct_wait(void);
static inline void direct_ready(void) {
  if (dev_read(EXRNIC_REG_DEV_DIRECT_STATUS) == EXRNIC_FW_DIRECT_STATUS_BUSY) direct_wait();
}
/* The same without a call, where each instruction counts. */
static inline void direct_spin(void) {
  while (dev_read(EXRNIC_REG_DEV_DIRECT_STATUS) == EXRNIC_FW_DIRECT_STATUS_BUSY) continue;
}
static inline void direct_operand(uint32_t word, uint32_t value) {
  dev_write(EXRNIC_REG_DEV_DIRECT_WORDS + 4 * word, value);
}
static inline uint32_t direct_result(uint32_t word) {
  return dev_read(EXRNIC_REG_DEV_DIRECT_WORDS + 4 * word);
}
static inline void direct_start(enum exrnic_fw_direct op) { dev_write(EXRNIC_REG_DEV_DIRECT, op); }
static inline enum exrnic_fw_direct_status direct_run(enum exrnic_fw_direct op) {
  direct_start(op);
  return direct_wait();
}

/* Memory of the host, as a region grants it, on behalf of an open request. */
struct memory {
  uint32_t request;
  uint32_t stag;
  uint32_t pd;
  uint32_t access; /* flags access that the region must have */
  uint64_t to;
};

/* May `length` bytes be accessed? Any length above 0. */
enum exrnic_fw_direct_status memory_look_up(const struct memory* at, uint32_t length);

/* Up to 16 words, little-endian there, that do not cross a multiple of 64 bytes. */
enum exrnic_fw_direct_status memory_read_words(const struct memory* at, uint32_t* to,
                                               uint32_t words);
/*
 * Likewise to be written, in parts, when no command is in hand: the place, each word, off. On its
 * way when it returns. Whatever is read or written later comes behind it. `at` has no request: it
 * is of FW_PD.
 */
static inline void memory_place(const struct memory* at, uint32_t length) {
  direct_operand(EXRNIC_FW_MEMORY_WORD_STAG, at->stag);
  direct_operand(EXRNIC_FW_MEMORY_WORD_PD, at->pd);
  direct_operand(EXRNIC_FW_MEMORY_WORD_ACCESS, at->access);
  direct_operand(EXRNIC_FW_MEMORY_WORD_LENGTH, length);
  direct_operand(EXRNIC_FW_MEMORY_WORD_TO_HIGH, (uint32_t)(at->to >> 32));
  direct_operand(EXRNIC_FW_MEMORY_WORD_TO_LOW, (uint32_t)at->to);
}
static inline void memory_word(uint32_t word, uint32_t value) {
  direct_operand(EXRNIC_FW_MEMORY_WORD_DATA + word, value);
}
static inline void memory_post(void) { direct_start(EXRNIC_FW_DIRECT_WRITE); }
/* Returns when all that was posted is out. */
void memory_finish(void);

/*
 * To another node, behind all that was sent there before. NO_ROOM: nothing was sent. Whether it
 * arrives nobody tells: it does, in order, unless that node or its firmware goes away.
 */
#define MESSAGE_WORDS (EXRNIC_FW_MESSAGE_BYTES / 4)
#define MESSAGE_DATA_WORDS (MESSAGE_WORDS - MESSAGE_DATA)
enum message_word {
  MESSAGE_HEAD,
  MESSAGE_ID,
  MESSAGE_INCARNATION,
  MESSAGE_ARGUMENT,
  MESSAGE_HIGH,
  MESSAGE_LOW,
  MESSAGE_DATA
};
struct message_words {
  uint32_t head, id, incarnation, argument, high, low;
  const uint32_t* data; /* MESSAGE_DATA_WORDS; NULL: zeros */
};
/*
 * In parts, when no command is in hand: all but the data, each word of that, off. direct_wait()
 * tells how it ends.
 */
static inline void message_place(uint32_t node, const struct message_words* words) {
  direct_operand(EXRNIC_FW_SEND_WORD_NODE, node);
  direct_operand(EXRNIC_FW_SEND_WORD_MESSAGE + MESSAGE_HEAD, words->head);
  direct_operand(EXRNIC_FW_SEND_WORD_MESSAGE + MESSAGE_ID, words->id);
  direct_operand(EXRNIC_FW_SEND_WORD_MESSAGE + MESSAGE_INCARNATION, words->incarnation);
  direct_operand(EXRNIC_FW_SEND_WORD_MESSAGE + MESSAGE_ARGUMENT, words->argument);
  direct_operand(EXRNIC_FW_SEND_WORD_MESSAGE + MESSAGE_HIGH, words->high);
  direct_operand(EXRNIC_FW_SEND_WORD_MESSAGE + MESSAGE_LOW, words->low);
}
static inline void message_word(uint32_t word, uint32_t value) {
  direct_operand(EXRNIC_FW_SEND_WORD_MESSAGE + MESSAGE_DATA + word, value);
}
static inline void message_post(void) { direct_start(EXRNIC_FW_DIRECT_SEND_MESSAGE); }
static inline enum exrnic_fw_direct_status send_message(uint32_t node,
                                                        const struct message_words* words) {
  uint32_t i;

  direct_ready();
  message_place(node, words);
#pragma GCC unroll 8
  for (i = 0; i < MESSAGE_DATA_WORDS; i++) message_word(i, words->data ? words->data[i] : 0);
  message_post();
  return direct_wait();
}
/* `from` is of FW_PD, in one page. *length: in the end, what has not left for want of room. */
enum exrnic_fw_direct_status send_data(const struct memory* from, uint32_t* length, uint32_t node,
                                       uint32_t stag, uint64_t to);

/*
 * From now on that node may write `length` bytes there, of a region of FW_PD, under that name; and
 * that has ended. What is let in under a grant is placed when the end returns.
 */
enum exrnic_fw_direct_status grant_begin(const struct memory* at, uint32_t length, uint32_t node,
                                         uint32_t name);
void grant_end(uint32_t name);

/* Ours. */
static inline uint32_t port_node(void) { return dev_read(EXRNIC_REG_DEV_NODE) >> 16; }

/* The user page that has rung longest ago. 0: none. */
struct bell {
  uint32_t page;
  uint32_t number;
  uint32_t index;
};
static inline int bell_take(struct bell* bell) {
  bell->page = dev_read(EXRNIC_REG_DEV_BELL);
  if (bell->page == ~0u) return 0;
  bell->number = dev_read(EXRNIC_REG_DEV_BELL_NUMBER);
  bell->index = dev_read(EXRNIC_REG_DEV_BELL_INDEX);
  return 1;
}

/* The oldest PIO block: of that user page. 0: none. Its bell rings, too, but not before. */
static inline int block_any(uint32_t* page) {
  *page = dev_read(EXRNIC_REG_DEV_BLOCK);
  return *page != ~0u;
}
static inline uint32_t block_word(uint32_t word) {
  return dev_read(EXRNIC_REG_DEV_BLOCK_WORDS + 4 * word);
}
static inline void block_pop(void) { dev_write(EXRNIC_REG_DEV_BLOCK_POP, 0); }
/* What that page has stored so far of a block is forgotten. */
static inline void block_drop(uint32_t page) { dev_write(EXRNIC_REG_DEV_BLOCK_DROP, page); }

/*
 * Answers to a request. The hardware refuses one whose queue pair is gone meanwhile: then nobody
 * waits for it any more.
 */
enum exrnic_fw_direct_status answer_read(const struct punt* punt);
enum exrnic_fw_direct_status answer_refuse(const struct punt* punt, enum exrnic_term_code code);
/* The code with which a request is refused whose memory is not granted. */
enum exrnic_term_code refusal_of(enum exrnic_fw_direct_status status);

#endif
