/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages on their way out. */
#ifndef EXRNIC_FW_SENDS_H
#define EXRNIC_FW_SENDS_H

#include "app/channel.h"

/*
 * The straight way of the commonest: a short message by the oldest PIO block. What has to leave
 * leaves first, what is to be noted follows. Where something is in its way it does nothing and ends
 * in channel_take_block(). (It calls nothing else, so it has no registers to save.)
 */
void send_block(struct channel* channel);

/* `data`: INLINE_WORDS. 0: it cannot begin yet; the work before it has to end first. */
int send_begin(struct channel* channel, struct work* work, const uint32_t* data, uint32_t now);
/* For work that lacked room, whose bytes leave, or whose time has come to ask again. */
void send_go_on(struct channel* channel, struct work* work, uint32_t now);
void send_granted(struct channel* channel, const struct message* message);
void send_acknowledged(struct channel* channel, uint32_t node); /* by the oldest message */
void send_woken(struct channel* channel, uint32_t node);

#endif
