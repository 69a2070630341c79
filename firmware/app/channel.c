/* SPDX-License-Identifier: BSD-2-Clause */
#include "app/channel.h"

uint32_t channels_stirred;

void channel_event(struct channel* channel, const struct event* event) {
  direct_ready();
  event_write(channel, event);
  if (channel_is_awaited(channel)) channel_raise(channel);
}

void work_end(struct channel* channel, struct work* work) {
  work->state = WORK_ENDED;
  channel_stir(channel);
  while (channel->done != channel->begun) {
    struct work* oldest = &channel->works[channel->done % EXRNIC_CHANNEL_WINDOW];

    if (oldest->state != WORK_ENDED) break;
    oldest->state = WORK_NONE;
    channel->done++;
    channel->dirty = 1;
  }
}

void work_fail(struct channel* channel, struct work* work,
               enum exrnic_channel_event_status status) {
  const struct event event = {
      .kind = EXRNIC_CHANNEL_EVENT_KIND_FAILURE,
      .status = status,
      .source = work->target,
      .slot = EXRNIC_CHANNEL_NO_SLOT,
      .id = work->id,
  };

  work_end(channel, work);
  channel_event(channel, &event);
}

void channel_take_block(struct channel* channel) {
  const uint32_t id = block_word(WORK_ID), place = id % EXRNIC_CHANNEL_WINDOW;
  uint32_t* next = channel->next[place];
  uint32_t i;

  if (id - channel->begun >= EXRNIC_CHANNEL_WINDOW) return;
#pragma GCC unroll 16
  for (i = 0; i < WORK_WORDS; i += 2) {
    const uint32_t a = block_word(i), b = block_word(i + 1); /* no wait between load and use */

    next[i] = a;
    next[i + 1] = b;
  }
  channel->fetched |= 1u << place;
}
