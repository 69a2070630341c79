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

enum exrnic_fw_punt_kind punt_kind(const struct punt* punt);

/* How many wait. */
uint32_t punt_count(void);

/* The oldest one; `words` of its payload. There must be one. */
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

/*
 * Answers to a request. The hardware refuses one whose queue pair is gone meanwhile: then nobody
 * waits for it any more.
 */
enum exrnic_fw_direct_status answer_read(const struct punt* punt);
enum exrnic_fw_direct_status answer_atomic(const struct punt* punt, uint32_t request_id,
                                           uint64_t value);
enum exrnic_fw_direct_status answer_refuse(const struct punt* punt, enum exrnic_term_code code);

#endif
