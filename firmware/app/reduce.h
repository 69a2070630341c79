/* SPDX-License-Identifier: BSD-2-Clause */
/* Reductions and barriers. */
#ifndef EXRNIC_FW_REDUCE_H
#define EXRNIC_FW_REDUCE_H

#include "app/channel.h"

void reduce_start(void);
void reduce_close(uint32_t channel);
int reduce_begin(struct channel* channel, struct work* work,
                 enum exrnic_channel_operation operation, uint32_t round, uint64_t value);
void reduce_go_on(struct channel* channel, struct work* work, uint32_t now);
void reduce_abandon(struct channel* channel, struct work* work);
void reduce_part(struct channel* channel, uint32_t node); /* the oldest message is one */
void reduce_ask(struct channel* channel, const struct message* message);

#endif
