/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXRNIC_FW_ATOMIC_H
#define EXRNIC_FW_ATOMIC_H

#include "hal/port.h"

/* FetchAdd and CmpSwap (RFC 7306, 5). */
#define ATOMIC_WORDS (EXRNIC_ATOMIC_REQUEST_BYTES / 4)
void atomic_serve(const struct punt* punt);

#endif
