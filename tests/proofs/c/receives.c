/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DONE of any words, of any node below CHANNEL_NODES (channels_message() drops the others), in any
 * state of the channel; and its end.
 */
#include "app/receives.h"

#include "hardware.h"

static uint32_t any_node(void) {
  const uint32_t node = nondet_word();

  __CPROVER_assume(node < EXRNIC_CHANNEL_NODES);
  return node;
}

void prove_done(void) {
  struct message message;

  begin(grants_are_good);
  message_take(&message, any_node());
  receive_done(&channel, &message);
  end(grants_are_good);
}

void prove_close(void) {
  begin(grants_are_good);
  receive_close(&channel);
  end(grants_are_good);
}
