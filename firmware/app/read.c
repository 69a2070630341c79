/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PULL by firmware. The hardware has checked message number, offset and how many requests are under
 * way; what is asked for is checked here, as a whole and before the first byte leaves. Then the
 * transmit side takes over: segments, DMA and a look-up for each page.
 */
#include "app/read.h"

/* Words of read_request. */
enum { LENGTH = 3, SOURCE_STAG = 4, SOURCE_TO = 5 };

void read_serve(const struct punt* punt) {
  const uint32_t* words = punt->payload;
  const struct memory source = {
      .request = punt->request,
      .stag = words[SOURCE_STAG],
      .pd = punt->pd,
      .access = EXRNIC_ACCESS_REMOTE_READ,
      .to = (uint64_t)words[SOURCE_TO] << 32 | words[SOURCE_TO + 1],
  };
  const uint32_t length = words[LENGTH];
  enum exrnic_fw_direct_status status = EXRNIC_FW_DIRECT_STATUS_OK;

  /* Nothing is read for a request without bytes: it asks for no right. */
  if (length != 0) status = memory_look_up(&source, length);
  if (status == EXRNIC_FW_DIRECT_STATUS_OK) {
    answer_read(punt);
  } else {
    answer_refuse(punt, refusal_of(status));
  }
}
