/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels: messages and reductions for processes (rtl-model/spec/channels.yaml). README.md says
 * how they work. Each file knows those below it:
 *
 *   channels.c                     opening, bells, what comes from other nodes, time: who is next
 *   sends.c, receives.c, reduce.c  messages on their way out, that come in; reductions and barriers
 *   channel.h, channel.c           one channel: its rings and its work
 *
 * For main.c, commands.c and requests.c.
 */
#ifndef EXRNIC_FW_CHANNELS_H
#define EXRNIC_FW_CHANNELS_H

#include "hal/devices.h"

void channels_start(void);
void channels_bells(void);            /* line BELL */
void channels_message(uint32_t node); /* the oldest in the punt queue is one of that node */
void channels_timer(void);            /* line TIMER */
void channels_work(void);             /* whatever can go on; before each rest */
enum exrnic_fw_status channel_open(const uint32_t* words);
enum exrnic_fw_status channel_close(uint32_t number);

#endif
