/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages on their way out. A short one goes in its SEND; for a longer one SEND asks, GRANT says
 * where, the bytes go there, and DONE tells. What is not answered is asked again: the receiver
 * knows by its id whether it has it. An answer counts only for the SEND sent last: so no bytes go
 * to a slot that was given to somebody else meanwhile.
 */
#include "app/sends.h"

#include "hal/devices.h"

static struct work* next_work(struct channel* channel, uint32_t id) {
  return &channel->works[id % EXRNIC_CHANNEL_WINDOW];
}

static int is_sending(const struct work* work) {
  return work->state == WORK_ASKING || work->state == WORK_ASKED || work->state == WORK_MOVING ||
         work->state == WORK_TOLD;
}

static int is_short(const struct work* work) { return work->length <= EXRNIC_CHANNEL_INLINE; }

/* The message before it to the same node that is under way, or 0. */
static struct work* before(struct channel* channel, const struct work* work) {
  uint32_t id = work->id;

  while (work->has_previous && work->previous - channel->done < id - channel->done) {
    struct work* other = next_work(channel, work->previous);

    if (is_sending(other)) return other;
    id = work->previous;
    work = other;
  }
  return 0;
}

/* Has all of it left before what goes now? */
static int has_left(const struct work* work) {
  return work->state == WORK_TOLD || (is_short(work) && work->state == WORK_ASKED);
}

static int was_sent_to(const struct channel* channel, uint32_t node) {
  return (channel->sent_to[node / 32] >> node % 32 & 1) != 0;
}

/* The work that an answer of a node is about, or 0. */
static struct work* work_of(struct channel* channel, uint32_t node, uint32_t id,
                            uint32_t incarnation) {
  struct work* work = next_work(channel, id);

  if (id - channel->done >= channel->begun - channel->done || !is_sending(work) ||
      work->target != node || incarnation != channel->at.incarnation)
    return 0;
  return work;
}

/* Until the first repetition to the node that this is for. */
static uint32_t first_retry_ns(const struct channel* channel, const struct work* work) {
  const uint32_t late_ns = (uint32_t)channel->late[work->target] << LATE_SHIFT;

  return late_ns > RETRY_NS ? late_ns : RETRY_NS;
}

static void note_sent(struct channel* channel, const struct work* work) {
  channel->sent[work->target] = work->id;
  channel->sent_to[work->target / 32] |= 1u << work->target % 32;
}

/* SEND has left, or found no room; or this core knows no such node. */
static void asked(struct channel* channel, struct work* work, uint32_t now,
                  enum exrnic_fw_direct_status status) {
  if (status == EXRNIC_FW_DIRECT_STATUS_OK) {
    work->state = WORK_ASKED;
    work->asked_at = now;
    repeat_later(work, now);
  } else if (status == EXRNIC_FW_DIRECT_STATUS_REFUSED) {
    work_fail(channel, work, EXRNIC_CHANNEL_EVENT_STATUS_MALFORMED);
  } else {
    work->state = WORK_ASKING;
    channel->starved = 1;
  }
}

static void ask(struct channel* channel, struct work* work, int oldest, uint32_t now) {
  const struct message_words words = {
      .head = message_head(EXRNIC_FW_MESSAGE_KIND_SEND, channel->number, ++work->attempt),
      .id = work->id,
      .incarnation = channel->at.incarnation,
      .argument = work->length | (oldest ? MESSAGE_OLDEST : 0),
      .high = work->previous,
      .data = work->data,
  };

  asked(channel, work, now, send_message(work->target, &words));
}

int send_begin(struct channel* channel, struct work* work, const uint32_t* data, uint32_t now) {
  const struct memory from = channel_memory(channel, work->offset, 0);
  struct work* other;
  uint32_t i;

  if (work->target >= EXRNIC_CHANNEL_NODES || work->length > EXRNIC_CHANNEL_SLOT_MAX) {
    work_fail(channel, work, EXRNIC_CHANNEL_EVENT_STATUS_MALFORMED);
    return 1;
  }
  work->retry_ns = first_retry_ns(channel, work);
  work->has_previous = was_sent_to(channel, work->target);
  work->previous = channel->sent[work->target];
  /* A short one must not overtake the bytes of a long one. */
  other = before(channel, work);
  if (is_short(work) && other != 0 && !has_left(other)) return 0;
#pragma GCC unroll 8
  for (i = 0; i < INLINE_WORDS; i++) work->data[i] = is_short(work) ? data[i] : 0;
  if (!is_short(work) && memory_look_up(&from, work->length) != EXRNIC_FW_DIRECT_STATUS_OK) {
    work_fail(channel, work, EXRNIC_CHANNEL_EVENT_STATUS_MALFORMED);
    return 1;
  }
  note_sent(channel, work);
  ask(channel, work, other == 0, now);
  return 1;
}

/* What is to be noted of a message that send_block() has sent off; ends that. */
static __attribute__((noinline)) void block_sent(struct channel* channel) {
  const uint32_t now = dev_read(EXRNIC_REG_DEV_TIME_LO), id = channel->begun;
  struct work* work = next_work(channel, id);
  uint32_t i;

  channel->posted = channel->begun = id + 1;
  work->id = id;
  work->target = block_word(WORK_HEAD) >> 16;
  work->length = block_word(WORK_LENGTH);
  work->deadline = work_deadline(now, block_word(WORK_TIMEOUT));
  work->retry_ns = first_retry_ns(channel, work);
#pragma GCC unroll 8
  for (i = 0; i < INLINE_WORDS; i++) work->data[i] = block_word(WORK_DATA + i);
  work->has_previous = was_sent_to(channel, work->target);
  work->previous = channel->sent[work->target];
  note_sent(channel, work);
  channel_stir(channel);
  asked(channel, work, now, direct_wait());
  channel->resume |= channel->starved;
}

void send_block(struct channel* channel) {
  const uint32_t head = block_word(WORK_HEAD), id = block_word(WORK_ID);
  const uint32_t length = block_word(WORK_LENGTH), index = block_word(WORK_INDEX);
  const uint32_t target = head >> 16;
  const uint32_t no_room = channel_free_events(channel) == 0;
  uint32_t i;

  /*
   * It is next, rings for itself alone, and nothing is under way. In words, not branches: there is
   * no wait between a load and its use.
   */
  if (((id ^ channel->begun) | (id ^ channel->posted) | (id ^ channel->done) | (id + 1 - index) |
       ((head ^ EXRNIC_CHANNEL_OPCODE_SEND) & 0xff) | no_room) != 0 ||
      length > EXRNIC_CHANNEL_INLINE || target >= EXRNIC_CHANNEL_NODES) {
    channel_take_block(channel);
    return;
  }
  {
    const struct message_words words = {
        .head = message_head(EXRNIC_FW_MESSAGE_KIND_SEND, channel->number, 0), /* no GRANT comes */
        .id = id,
        .incarnation = channel->at.incarnation,
        .argument = length | MESSAGE_OLDEST,
    };
    direct_spin();
    message_place(target, &words);
  }
#pragma GCC unroll 8
  for (i = 0; i < INLINE_WORDS; i += 2) {
    const uint32_t a = block_word(WORK_DATA + i), b = block_word(WORK_DATA + i + 1);

    message_word(i, a);
    message_word(i + 1, b);
  }
  message_post();
  block_sent(channel);
}

/* Whatever waits at the port goes first: the other side does the same, so both go on. */
static void move(struct channel* channel, struct work* work, uint32_t now) {
  const struct message_words words = {
      .head = message_head(EXRNIC_FW_MESSAGE_KIND_DONE, channel->number, work->attempt),
      .id = work->id,
      .incarnation = channel->at.incarnation,
  };
  enum exrnic_fw_direct_status status;
  uint32_t piece, left;

  while (work->moved != work->length) {
    const struct memory from = channel_memory(channel, work->offset + work->moved, 0);
    const uint32_t page_left =
        (1u << EXRNIC_PAGE_SHIFT) - ((uint32_t)from.to & ((1u << EXRNIC_PAGE_SHIFT) - 1));

    piece = work->length - work->moved;
    if (piece > page_left) piece = page_left;
    left = piece;
    status = send_data(&from, &left, work->target, work->stag, work->to + work->moved);
    work->moved += piece - left;
    switch (status) {
      case EXRNIC_FW_DIRECT_STATUS_OK:
        break;
      case EXRNIC_FW_DIRECT_STATUS_NO_ROOM:
        channel->starved = 1;
        return;
      default: /* the region is gone */
        work_fail(channel, work, EXRNIC_CHANNEL_EVENT_STATUS_MALFORMED);
        return;
    }
    if (punt_count() != 0) {
      channel->resume = 1;
      channel_stir(channel);
      return;
    }
  }
  if (send_message(work->target, &words) != EXRNIC_FW_DIRECT_STATUS_OK) {
    channel->starved = 1;
    return;
  }
  work->state = WORK_TOLD;
  work->retry_ns = first_retry_ns(channel, work);
  repeat_later(work, now);
}

void send_go_on(struct channel* channel, struct work* work, uint32_t now) {
  const struct work* other;

  if (work->state != WORK_MOVING) {
    ask(channel, work, before(channel, work) == 0, now);
    return;
  }
  if (now - work->asked_at > EXRNIC_CHANNEL_MOVE_NS) {
    work->state = WORK_ASKING;
    channel->starved = 1;
    return;
  }
  other = before(channel, work);
  work->waits = other != 0 && !has_left(other); /* so DONEs are in order */
  if (!work->waits) move(channel, work, now);
}

/*
 * On a slow line a SEND queues behind the bytes of others. Asked again before its GRANT can be
 * there, it would get none that counts. A node that answers late on purpose delays repetitions to
 * itself alone.
 */
static void learn(struct channel* channel, uint32_t node, uint32_t took) {
  const uint32_t late = channel->late[node];
  uint32_t wanted = (2 * took + (1u << LATE_SHIFT) - 1) >> LATE_SHIFT;

  if (wanted > RETRY_FIRST_MAX_NS >> LATE_SHIFT) wanted = RETRY_FIRST_MAX_NS >> LATE_SHIFT;
  if (wanted < late) wanted = late - (late - wanted + 7) / 8;
  channel->late[node] = (uint8_t)wanted;
}

void send_granted(struct channel* channel, const struct message* message) {
  struct work* work = work_of(channel, message->node, message->words[MESSAGE_ID],
                              message->words[MESSAGE_INCARNATION]);

  if (work == 0 || work->state != WORK_ASKED || is_short(work) ||
      (message->words[MESSAGE_HEAD] & 0xffff) != (work->attempt & 0xffff))
    return;
  learn(channel, work->target, dev_read(EXRNIC_REG_DEV_TIME_LO) - work->asked_at);
  work->stag = message->words[MESSAGE_ARGUMENT];
  work->to = (uint64_t)message->words[MESSAGE_HIGH] << 32 | message->words[MESSAGE_LOW];
  work->moved = 0;
  work->state = WORK_MOVING;
  channel->resume = 1;
  channel_stir(channel);
}

void send_acknowledged(struct channel* channel, uint32_t node) {
  struct work* work =
      work_of(channel, node, message_word_of(MESSAGE_ID), message_word_of(MESSAGE_INCARNATION));

  if (work == 0) return;
  if (message_word_of(MESSAGE_ARGUMENT) == EXRNIC_CHANNEL_EVENT_STATUS_OK)
    work_end(channel, work);
  else
    work_fail(channel, work, EXRNIC_CHANNEL_EVENT_STATUS_TOO_LONG);
}

void send_woken(struct channel* channel, uint32_t node) {
  uint32_t id;

  for (id = channel->done; id != channel->begun; id++) {
    struct work* work = next_work(channel, id);

    if (work->state != WORK_ASKED || work->target != node) continue;
    work->state = WORK_ASKING;
    work->retry_ns = first_retry_ns(channel, work);
    channel->resume = 1;
    channel_stir(channel);
  }
}
