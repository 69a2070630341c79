/* SPDX-License-Identifier: BSD-2-Clause */
#include "app/requests.h"

#include "app/channels.h"

enum exrnic_term_code refusal_of(enum exrnic_fw_direct_status status) {
  switch (status) {
    case EXRNIC_FW_DIRECT_STATUS_STAG:
      return EXRNIC_TERM_CODE_RDMAP_STAG;
    case EXRNIC_FW_DIRECT_STATUS_STREAM:
      return EXRNIC_TERM_CODE_RDMAP_STREAM;
    case EXRNIC_FW_DIRECT_STATUS_ACCESS:
      return EXRNIC_TERM_CODE_ACCESS;
    case EXRNIC_FW_DIRECT_STATUS_WRAP:
      return EXRNIC_TERM_CODE_RDMAP_WRAP;
    case EXRNIC_FW_DIRECT_STATUS_BOUNDS:
      return EXRNIC_TERM_CODE_RDMAP_BOUNDS;
    default:
      return EXRNIC_TERM_CODE_STREAM;
  }
}

/* The place in the queue of a request that is answered is free as soon as it is read. */
static __attribute__((noinline)) void answer(uint32_t kind) {
  struct punt punt;

  if (kind == EXRNIC_FW_PUNT_KIND_ATOMIC) {
    punt_read(&punt, ATOMIC_WORDS);
    punt_pop();
    atomic_serve(&punt);
  } else {
    punt_read(&punt, READ_WORDS);
    punt_pop();
    read_serve(&punt);
  }
}

void requests_serve(void) {
  const uint32_t request = punt_word(EXRNIC_FW_PUNT_WORD_REQUEST);
  const uint32_t kind = request & ((1u << EXRNIC_FW_REQUEST_NUMBER_SHIFT) - 1);

  if (kind != EXRNIC_FW_PUNT_KIND_MESSAGE) {
    answer(kind);
    return;
  }
  channels_message(request >> EXRNIC_FW_REQUEST_NUMBER_SHIFT &
                   ((1u << EXRNIC_FW_REQUEST_NUMBER_BITS) - 1));
  punt_pop();
}
