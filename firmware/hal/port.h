/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Firmware's way to the data path: requests of peers that the hardware hands over, and direct
 * commands to its modules (firmware_port of the RTL). Over devices.h, so tests that mock that have
 * it too.
 */
#ifndef EXRNIC_FW_PORT_H
#define EXRNIC_FW_PORT_H

#include "exrnic_hw.h"

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
uint32_t punt_count(void);

/* What the oldest one is. There must be one. */
enum exrnic_fw_punt_kind punt_oldest(void);
/* It, with `words` of its payload. */
void punt_read(struct punt* punt, uint32_t words);
void punt_pop(void);

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

/* 8 bytes at a multiple of 8, a little-endian number. */
enum exrnic_fw_direct_status memory_read(const struct memory* at, uint64_t* value);
enum exrnic_fw_direct_status memory_write(const struct memory* at, uint64_t value);

/* Up to 8 words, little-endian there, that do not cross a multiple of 32 bytes. */
enum exrnic_fw_direct_status memory_read_words(const struct memory* at, uint32_t* to,
                                               uint32_t words);
/* Likewise; on its way when it returns. Whatever is read or written later comes behind it. */
void memory_post_words(const struct memory* at, const uint32_t* from, uint32_t words);
/* Returns when all that was posted is out. */
void memory_finish(void);

/*
 * To another node, behind all that was sent there before. NO_ROOM: nothing was sent. Whether it
 * arrives nobody tells: it does, in order, unless that node or its firmware goes away.
 */
#define MESSAGE_WORDS (EXRNIC_FW_MESSAGE_BYTES / 4)
enum exrnic_fw_direct_status send_message(uint32_t node, const uint32_t* words);
/* `from` is of FW_PD, in one page; at most port_mtu() bytes. */
enum exrnic_fw_direct_status send_data(const struct memory* from, uint32_t length, uint32_t node,
                                       uint32_t stag, uint64_t to);

uint32_t port_node(void); /* ours */
uint32_t port_mtu(void);

/* The user page that has rung longest ago. 0: none. */
struct bell {
  uint32_t page;
  uint32_t number;
  uint32_t index;
};
int bell_take(struct bell* bell);

/*
 * Answers to a request. The hardware refuses one whose queue pair is gone meanwhile: then nobody
 * waits for it any more.
 */
enum exrnic_fw_direct_status answer_read(const struct punt* punt);
enum exrnic_fw_direct_status answer_atomic(const struct punt* punt, uint32_t request_id,
                                           uint64_t value);
enum exrnic_fw_direct_status answer_refuse(const struct punt* punt, enum exrnic_term_code code);

#endif
