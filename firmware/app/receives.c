/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that come in. All nodes share the slots of the channel. Who finds no room is noted, and
 * woken when there is some; who asks for what it has been given, or has delivered, is told again.
 *
 * No node takes all, whatever it sends. What it was granted and does not fill is never the last
 * slot, nor more than a quarter of the events. And the last room goes round: while some of those
 * who were woken have not had theirs, it is for nobody else.
 */
#include "app/receives.h"

#include "hal/fault.h"

_Static_assert(EXRNIC_FW_CHANNELS* EXRNIC_CHANNEL_SLOTS_MAX <= EXRNIC_FW_GRANTS,
               "each slot may be granted");

/* Who was woken has so long to come: meanwhile he has asked again, if he is there. */
#define TURN_NS (2u * RETRY_NS)

/* No sender fills a slot so late: its work has long failed. */
#define GRANT_LIFE_NS (2u * 1000 * EXRNIC_CHANNEL_TIMEOUT_MAX_US)
_Static_assert(EXRNIC_CHANNEL_TIMEOUT_MAX_US <= 2000000, "GRANT_LIFE_NS has 32 bits");

static void answer(struct channel* channel, const struct message* to,
                   enum exrnic_fw_message_kind kind, uint32_t argument, uint64_t where) {
  const struct message_words words = {
      .head = message_head(kind, channel->number, to->words[MESSAGE_HEAD]),
      .id = to->words[MESSAGE_ID],
      .incarnation = to->words[MESSAGE_INCARNATION],
      .argument = argument,
      .high = (uint32_t)(where >> 32),
      .low = (uint32_t)where,
  };

  send_message(to->node, &words); /* without room it is lost: the peer asks again */
}

static void acknowledge(struct channel* channel, const struct message* to,
                        enum exrnic_channel_event_status status) {
  answer(channel, to, EXRNIC_FW_MESSAGE_KIND_ACK, status, 0);
}

static void point_to(struct channel* channel, const struct message* to, const struct grant* grant) {
  answer(channel, to, EXRNIC_FW_MESSAGE_KIND_GRANT, grant->name, 0);
}

/* Behind it no byte comes any more. */
static void release(struct channel* channel, struct grant* grant, int slot_too) {
  grant_end(grant->name);
  if (slot_too) channel->slots_free |= 1u << grant->slot;
  grant->used = 0;
  channel->grants_used--;
  channel_stir(channel);
}

void receive_close(struct channel* channel) {
  uint32_t i;

  for (i = 0; i < EXRNIC_CHANNEL_SLOTS_MAX; i++)
    if (channel->grants[i].used) release(channel, &channel->grants[i], 1);
}

static struct grant* grant_of(struct channel* channel, const struct message* message) {
  uint32_t i;

  if (channel->grants_used == 0) return 0;
  for (i = 0; i < EXRNIC_CHANNEL_SLOTS_MAX; i++) {
    struct grant* grant = &channel->grants[i];

    if (grant->used && grant->node == message->node && grant->id == message->words[MESSAGE_ID] &&
        grant->incarnation == message->words[MESSAGE_INCARNATION])
      return grant;
  }
  return 0;
}

/* The oldest message of a node says that those before it are given up. */
static void forget(struct channel* channel, const struct message* message) {
  uint32_t i;

  for (i = 0; i < EXRNIC_CHANNEL_SLOTS_MAX; i++) {
    struct grant* grant = &channel->grants[i];

    if (grant->used && grant->node == message->node &&
        (grant->incarnation != message->words[MESSAGE_INCARNATION] ||
         (int32_t)(grant->id - message->words[MESSAGE_ID]) < 0))
      release(channel, grant, 1);
  }
}

/* Its low bits are those of the slot; no other has had it for long. Never FW_STAG. */
static uint32_t new_name(const struct channel* channel, uint32_t slot) {
  static uint32_t names;
  const uint32_t place = channel->number * EXRNIC_CHANNEL_SLOTS_MAX + slot;

  return (++names * EXRNIC_FW_GRANTS & 0x7fffffff) | place;
}

static struct grant* grant_new(struct channel* channel, const struct message* message,
                               uint32_t length, uint32_t now) {
  struct grant* grant = channel->grants;
  struct memory at;
  uint8_t slot = 0;

  while (grant->used) grant++;
  while (!(channel->slots_free & 1u << slot)) slot++;
  channel->slots_free &= ~(1u << slot);
  channel->grants_used++;
  channel_stir(channel);
  grant->used = 1;
  grant->slot = slot;
  grant->node = (uint8_t)message->node;
  grant->id = message->words[MESSAGE_ID];
  grant->incarnation = message->words[MESSAGE_INCARNATION];
  grant->length = length;
  grant->since = now;
  grant->name = new_name(channel, slot);
  at = channel_memory(channel, channel->at.slots + slot * channel->at.slot_bytes, 0);
  FW_ASSERT(grant_begin(&at, length, message->node, grant->name) == EXRNIC_FW_DIRECT_STATUS_OK);
  return grant;
}

static void deliver(struct channel* channel, const struct message* message, uint32_t length,
                    uint32_t slot) {
  const struct event event = {
      .kind = EXRNIC_CHANNEL_EVENT_KIND_MESSAGE,
      .status = EXRNIC_CHANNEL_EVENT_STATUS_OK,
      .source = message->node,
      .length = length,
      .slot = slot,
      .incarnation = message->words[MESSAGE_INCARNATION],
      .id = message->words[MESSAGE_ID],
      .has_data = slot == EXRNIC_CHANNEL_NO_SLOT,
  };

  channel_event(channel, &event);
}

/* Is one that was sent before it under way? */
static int is_early(const struct channel* channel, const struct message* message) {
  uint32_t i;

  if (channel->grants_used == 0) return 0;
  for (i = 0; i < EXRNIC_CHANNEL_SLOTS_MAX; i++)
    if (channel->grants[i].used && channel->grants[i].node == message->node &&
        (int32_t)(channel->grants[i].id - message->words[MESSAGE_ID]) < 0)
      return 1;
  return 0;
}

/* ---- Room */

static int is_in(const uint32_t* nodes, uint32_t node) {
  return (nodes[node / 32] >> node % 32 & 1) != 0;
}

static int is_empty(const uint32_t* nodes) {
  uint32_t any = 0, i;

  for (i = 0; i < EXRNIC_CHANNEL_NODES / 32; i++) any |= nodes[i];
  return any == 0;
}

/* Those who have found no room since the one before began. */
static void next_turn(struct channel* channel) {
  uint32_t i;

  for (i = 0; i < EXRNIC_CHANNEL_NODES / 32; i++) {
    channel->turn[i] = channel->waiting[i];
    channel->waiting[i] = 0;
  }
  channel->turns = !is_empty(channel->turn);
  channel->turns_until = dev_read(EXRNIC_REG_DEV_TIME_LO) + TURN_NS;
  channel_stir(channel);
}

static int is_last_slot(const struct channel* channel) {
  return (channel->slots_free & (channel->slots_free - 1)) == 0;
}

/* Has it been granted all that one node may have? */
static int has_its_share(const struct channel* channel, uint32_t node) {
  const int last_slot = is_last_slot(channel);
  uint32_t count = 0, i;

  if (!last_slot && 4 * channel->grants_used < channel->num_events) return 0;
  for (i = 0; i < EXRNIC_CHANNEL_SLOTS_MAX; i++)
    count += channel->grants[i].used && channel->grants[i].node == node;
  return count != 0 && (last_slot || 4 * count >= channel->num_events);
}

static int has_room(const struct channel* channel, uint32_t node, int is_long) {
  const uint32_t events = channel_free_events(channel);

  if (events == 0 || (is_long && (channel->slots_free == 0 || channel->quiet))) return 0;
  return !channel->turns || is_in(channel->turn, node) ||
         !(events == 1 || (is_long && is_last_slot(channel)));
}

/* Is there room for a message of that node? If not it is noted. */
static int admit(struct channel* channel, uint32_t node, int is_long) {
  const int has_share = is_long && channel->grants_used != 0 && has_its_share(channel, node);
  const uint32_t bit = 1u << node % 32;

  if (has_share || has_room(channel, node, is_long)) {
    channel->turn[node / 32] &= ~bit;
    channel->turns = channel->turns && !is_empty(channel->turn);
    if (!has_share) return 1;
  } else {
    channel->waiting[node / 32] |= bit;
  }
  channel->refused[node / 32] |= bit;
  channel->refuses = 1;
  return 0;
}

static void receive_send(struct channel* channel, const struct message* message, uint32_t now) {
  struct last* last = &channel->last[message->node];
  const uint32_t id = message->words[MESSAGE_ID];
  const uint32_t length = message->words[MESSAGE_ARGUMENT] & ~MESSAGE_OLDEST;
  const int oldest = (message->words[MESSAGE_ARGUMENT] & MESSAGE_OLDEST) != 0;
  const int known = last->incarnation == message->words[MESSAGE_INCARNATION];
  const int is_long = length > EXRNIC_CHANNEL_INLINE;
  struct grant* grant;

  if (oldest && channel->grants_used != 0) forget(channel, message);
  if (known && (int32_t)(id - last->id) <= 0) {
    grant = grant_of(channel, message);
    if (grant != 0)
      point_to(channel, message, grant);
    else
      acknowledge(channel, message, EXRNIC_CHANNEL_EVENT_STATUS_OK);
    return;
  }
  /* In order: the one before it was accepted, or none before it is under way any more. */
  if (!oldest && !(known && last->id == message->words[MESSAGE_HIGH])) return;
  if (!is_long && is_early(channel, message)) return;
  if (length > channel->at.slot_bytes && is_long) {
    acknowledge(channel, message, EXRNIC_CHANNEL_EVENT_STATUS_TOO_LONG);
  } else if (!admit(channel, message->node, is_long)) {
    return;
  } else if (is_long) {
    point_to(channel, message, grant_new(channel, message, length, now));
  } else {
    deliver(channel, message, length, EXRNIC_CHANNEL_NO_SLOT);
    acknowledge(channel, message, EXRNIC_CHANNEL_EVENT_STATUS_OK);
  }
  last->incarnation = message->words[MESSAGE_INCARNATION];
  last->id = id;
}

/* The way for all. */
static __attribute__((noinline)) void hear_send(struct channel* channel, uint32_t node) {
  const uint32_t now = dev_read(EXRNIC_REG_DEV_TIME_LO);
  struct message message;

  message_take(&message, node);
  receive_send(channel, &message, now);
}

void receive_short(struct channel* channel, uint32_t node) {
  struct last* last = &channel->last[node];
  const uint32_t id = message_word_of(MESSAGE_ID);
  const uint32_t incarnation = message_word_of(MESSAGE_INCARNATION);
  const uint32_t argument = message_word_of(MESSAGE_ARGUMENT);
  const uint32_t length = argument & ~MESSAGE_OLDEST;
  const uint32_t age = id - last->id;
  const uint32_t no_room = channel_free_events(channel) <= 1; /* the last one is not for all */
  uint32_t i;

  /* In words, not branches: there is no wait between a load and its use. */
  if ((channel->grants_used | (incarnation ^ last->incarnation) | no_room) != 0 ||
      length > EXRNIC_CHANNEL_INLINE || (int32_t)age <= 0 ||
      !(argument & MESSAGE_OLDEST || message_word_of(MESSAGE_HIGH) == last->id)) {
    hear_send(channel, node);
    return;
  }
  {
    const struct event event = {
        .kind = EXRNIC_CHANNEL_EVENT_KIND_MESSAGE,
        .status = EXRNIC_CHANNEL_EVENT_STATUS_OK,
        .source = node,
        .length = length,
        .slot = EXRNIC_CHANNEL_NO_SLOT,
        .incarnation = incarnation,
        .id = id,
        .has_data = 1,
    };
    direct_spin();
    event_write(channel, &event);
  }
  last->id = id;
  {
    const struct message_words words = {
        .head = message_head(EXRNIC_FW_MESSAGE_KIND_ACK, channel->number,
                             message_word_of(MESSAGE_HEAD)),
        .id = id,
        .incarnation = incarnation,
        .argument = EXRNIC_CHANNEL_EVENT_STATUS_OK,
    };
    direct_spin();
    message_place(node, &words);
#pragma GCC unroll 8
    for (i = 0; i < MESSAGE_DATA_WORDS; i++) message_word(i, 0);
    message_post(); /* without room it is lost: the peer asks again */
  }
  if (channel_is_awaited(channel)) channel_raise(channel);
}

void receive_done(struct channel* channel, const struct message* message) {
  struct grant* grant = grant_of(channel, message);

  if (grant == 0 || is_early(channel, message)) return;
  release(channel, grant, 0); /* first: what is delivered does not change any more */
  deliver(channel, message, grant->length, grant->slot);
  acknowledge(channel, message, EXRNIC_CHANNEL_EVENT_STATUS_OK);
}

void receive_wake(struct channel* channel) {
  const struct message_words words = {
      .head = message_head(EXRNIC_FW_MESSAGE_KIND_WAKE, channel->number, 0)};
  uint32_t i, node;

  if (!channel->refuses) return;
  channel->refuses = 0;
  if (!channel->turns) next_turn(channel);
  for (i = 0; i < EXRNIC_CHANNEL_NODES / 32; i++)
    for (node = 32 * i; channel->refused[i] != 0; node++) {
      if (!(channel->refused[i] & 1u << node % 32)) continue;
      channel->refused[i] &= ~(1u << node % 32);
      send_message(node, &words);
    }
}

void receive_expire(struct channel* channel, uint32_t now) {
  uint32_t i;

  if (channel->turns && is_due(now, channel->turns_until)) {
    channel->turns = 0;
    receive_wake(channel);
  }
  if (channel->grants_used == 0) return;
  for (i = 0; i < EXRNIC_CHANNEL_SLOTS_MAX; i++)
    if (channel->grants[i].used && now - channel->grants[i].since > GRANT_LIFE_NS)
      release(channel, &channel->grants[i], 1);
}
