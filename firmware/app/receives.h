/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that come in. */
#ifndef EXRNIC_FW_RECEIVES_H
#define EXRNIC_FW_RECEIVES_H

#include "app/channel.h"

/*
 * The straight way of the commonest: a short message in the oldest SEND. What has to leave leaves
 * first, what is to be noted follows. Where something is in its way it does nothing and ends in the
 * way for all. (It calls nothing else, so it has no registers to save.)
 */
void receive_short(struct channel* channel, uint32_t node);

void receive_done(struct channel* channel, const struct message* message);
void receive_wake(struct channel* channel); /* there may be room again */
void receive_expire(struct channel* channel, uint32_t now);
void receive_close(struct channel* channel); /* nobody may write its slots any more */

#endif
