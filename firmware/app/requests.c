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
void requests_serve(void) {
  struct punt punt;
  uint32_t request;

  if (punt_count() == 0) return;
  request = punt_word(EXRNIC_FW_PUNT_WORD_REQUEST);
  switch (request & 0xff) {
    case EXRNIC_FW_PUNT_KIND_ATOMIC:
      punt_read(&punt, ATOMIC_WORDS);
      punt_pop();
      atomic_serve(&punt);
      break;
    case EXRNIC_FW_PUNT_KIND_MESSAGE:
      channels_message(request >> 16);
      punt_pop();
      break;
    default:
      punt_read(&punt, READ_WORDS);
      punt_pop();
      read_serve(&punt);
  }
}
