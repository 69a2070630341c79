/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXRNIC_FW_READ_H
#define EXRNIC_FW_READ_H

#include "hal/port.h"

/* PULL (RFC 5040, 5.2): the bytes that an RDMA Read Request asks for go to the peer. */
#define READ_WORDS (EXRNIC_READ_REQUEST_BYTES / 4)
void read_serve(const struct punt* punt);

#endif
