/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of peers that the hardware hands over: one handler for each kind. See README.md. */
#ifndef EXRNIC_FW_REQUESTS_H
#define EXRNIC_FW_REQUESTS_H

#include "hal/port.h"

/* Line PUNT is up: serves the oldest request in the punt queue. */
void requests_serve(void);

/* The code with which a request is refused whose memory is not granted. */
enum exrnic_term_code refusal_of(enum exrnic_fw_direct_status status);

/* PULL (RFC 5040, 5.2): the bytes that an RDMA Read Request asks for go to the peer. */
#define READ_WORDS (EXRNIC_READ_REQUEST_BYTES / 4)
void read_serve(const struct punt* punt);

/* FetchAdd and CmpSwap (RFC 7306, 5). */
#define ATOMIC_WORDS (EXRNIC_ATOMIC_REQUEST_BYTES / 4)
void atomic_serve(const struct punt* punt);

#endif
