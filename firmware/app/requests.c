/* SPDX-License-Identifier: BSD-2-Clause */
#include "app/requests.h"

#include "app/channels.h"
#include "app/read.h"
#include "hal/port.h"

/* The place in the queue of a request that is answered is free as soon as it is read. */
static __attribute__((noinline)) void answer(void) {
  struct punt punt;

  punt_read(&punt, READ_WORDS);
  punt_pop();
  read_serve(&punt);
}

void requests_serve(void) {
  const uint32_t request = punt_word(EXRNIC_FW_PUNT_WORD_REQUEST);
  const uint32_t kind = request & ((1u << EXRNIC_FW_REQUEST_NUMBER_SHIFT) - 1);

  if (kind != EXRNIC_FW_PUNT_KIND_MESSAGE) {
    answer();
    return;
  }
  channels_message(request >> EXRNIC_FW_REQUEST_NODE_SHIFT);
  punt_pop();
}
