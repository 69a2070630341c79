/* SPDX-License-Identifier: BSD-2-Clause */
/* An RDMA Read Request of any words gets its answer. */
#include "app/read.h"
#include "hal/port.h"
#include "hardware.h"

#ifndef WITHOUT_ROOM
#define MORE 0
#else
#define MORE PUNT_PAYLOAD_WORDS
#endif

void prove_read(void) {
  struct punt punt;

  punt_read(&punt, READ_WORDS + MORE);
  read_serve(&punt);
  __CPROVER_assert(started == EXRNIC_FW_DIRECT_SEND_READ || started == EXRNIC_FW_DIRECT_REFUSE,
                   "it is answered");
}
