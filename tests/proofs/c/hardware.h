/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hardware of firmware for a proof: whatever firmware reads is any number, but that a direct
 * command ends, and that a grant is taken (each slot has a place). And a channel in any state that
 * its invariant allows.
 */
#ifndef EXRNIC_PROOF_HARDWARE_H
#define EXRNIC_PROOF_HARDWARE_H

#include "app/channel.h"
#include "hal/fault.h"

uint32_t nondet_word(void);
struct channel nondet_channel(void);

static uint32_t started; /* the last direct command */

uint32_t dev_read(uint32_t reg) {
  uint32_t value = nondet_word();

  if (reg == EXRNIC_REG_DEV_DIRECT_STATUS) {
    __CPROVER_assume(value != EXRNIC_FW_DIRECT_STATUS_BUSY);
    if (started == EXRNIC_FW_DIRECT_GRANT) value = EXRNIC_FW_DIRECT_STATUS_OK;
  }
  return value;
}

void dev_write(uint32_t reg, uint32_t value) {
  __CPROVER_assert(reg % 4 == 0, "a register is a word");
  if (reg == EXRNIC_REG_DEV_DIRECT) started = value;
}

__attribute__((noreturn)) void fw_assertion_fault(const char* file, uint32_t line) {
  __CPROVER_assert(0, "firmware's own assertions hold");
  __CPROVER_assume(0);
}

static int used_grants(const struct channel* channel) {
  int count = 0;
  uint32_t i;

  for (i = 0; i < EXRNIC_CHANNEL_SLOTS_MAX; i++) count += channel->grants[i].used != 0;
  return count;
}

/* A slot is of a grant, or free, or in an event; never two of the first two. */
static int grants_are_good(const struct channel* channel) {
  uint32_t seen = 0, i;

  if ((int)channel->grants_used != used_grants(channel)) return 0;
  for (i = 0; i < EXRNIC_CHANNEL_SLOTS_MAX; i++) {
    const struct grant* grant = &channel->grants[i];

    if (!grant->used) continue;
    if (grant->slot >= channel->at.num_slots || (seen | channel->slots_free) >> grant->slot & 1)
      return 0;
    seen |= 1u << grant->slot;
  }
  return 1;
}

/* Each event that something under way will need has its place. */
static int has_places(const struct channel* channel) {
  return channel->begun - channel->done <= EXRNIC_CHANNEL_WINDOW &&
         channel->grants_used <= EXRNIC_CHANNEL_SLOTS_MAX &&
         channel->events - channel->taken <= channel->num_events &&
         channel->events - channel->taken + (channel->begun - channel->done) +
                 channel->grants_used <=
             channel->num_events;
}

static int is_good(const struct channel* channel) {
  return channel->number < EXRNIC_FW_CHANNELS && channel->at.channel == channel->number &&
         channel->at.page < EXRNIC_USER_PAGES && channel->at.num_slots >= 1 &&
         channel->at.num_slots <= EXRNIC_CHANNEL_SLOTS_MAX &&
         channel->at.slot_bytes >= EXRNIC_CHANNEL_SLOT_MIN &&
         channel->at.slot_bytes <= EXRNIC_CHANNEL_SLOT_MAX &&
         channel->at.log_events >= EXRNIC_CHANNEL_RING_LOG_MIN &&
         channel->at.log_events <= EXRNIC_CHANNEL_RING_LOG_MAX &&
         channel->num_events == 1u << channel->at.log_events && has_places(channel) &&
         channel->slots_free >> channel->at.num_slots == 0;
}

static struct channel channel;

/* A part is assumed where a handler needs it, and shown where a handler changes it. */
static void begin(int (*part_is_good)(const struct channel*)) {
  channel = nondet_channel();
#ifndef WITHOUT_GOOD_STATE
  __CPROVER_assume(is_good(&channel) && part_is_good(&channel));
#endif
}

static void end(int (*part_is_good)(const struct channel*)) {
  __CPROVER_assert(is_good(&channel), "the channel is good again");
  __CPROVER_assert(part_is_good(&channel), "and so is its part");
}

#endif
