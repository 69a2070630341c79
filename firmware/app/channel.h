/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A channel: what is known of it, its rings, its work, and how the messages of firmware look. All
 * who serve channels stand on this (channels.h).
 */
#ifndef EXRNIC_FW_CHANNEL_H
#define EXRNIC_FW_CHANNEL_H

#include <stddef.h>

#include "hal/port.h"

#define INLINE_WORDS (EXRNIC_CHANNEL_INLINE / 4)
/* The bell behind them means nothing in a ring. */
#define WORK_WORDS (offsetof(struct exrnic_channel_work, number) / 4)
#define RETRY_NS 100000u /* until the first repetition, at least; doubles with each */
#define RETRY_FIRST_MAX_NS (16u * RETRY_NS)
#define RETRY_MAX_NS 6400000u
#define LATE_SHIFT 14 /* of `late` in ns */
#define QUIET_NS (2u * EXRNIC_CHANNEL_MOVE_NS)

/* Words of channel_work; behind them those of the bell of a PIO block. */
enum {
  WORK_HEAD,
  WORK_ID,
  WORK_OFFSET,
  WORK_LENGTH,
  WORK_VALUE,
  WORK_ROUND = 6,
  WORK_TIMEOUT,
  WORK_DATA,
  WORK_INDEX = 15
};

enum work_state {
  WORK_NONE,   /* no such work */
  WORK_ASKING, /* SEND could not leave yet */
  WORK_ASKED,  /* SEND left: GRANT or ACK is awaited */
  WORK_MOVING, /* its bytes leave */
  WORK_TOLD,   /* DONE left: ACK is awaited */
  WORK_REDUCING,
  WORK_ENDED
};

/* Work of a channel that has begun. Times are device time in ns, modulo 2^32. */
struct work {
  enum work_state state;
  uint32_t id;
  uint32_t target; /* node, or group */
  uint32_t offset;
  uint32_t length;
  uint32_t deadline;
  uint32_t retry_at, retry_ns;
  uint32_t asked_at;
  uint32_t attempt;
  uint8_t waits;        /* to move, for the bytes of the one before */
  uint8_t has_previous; /* since the channel was opened */
  uint32_t previous;    /* id of the message before to that node */
  uint32_t moved;       /* bytes */
  uint32_t stag;        /* where they go: name of the grant there, and offset */
  uint64_t to;
  uint32_t data[INLINE_WORDS];
};

/* A slot that a sender may fill: the hardware lets that node write it, under that name. */
struct grant {
  uint32_t name;
  uint8_t used;
  uint8_t slot;
  uint8_t node;
  uint32_t id;
  uint32_t incarnation;
  uint32_t length;
  uint32_t since;
};

/* The last message that was accepted of a node. */
struct last {
  uint32_t incarnation; /* 0: none is known */
  uint32_t id;
};

struct channel {
  uint8_t number;
  uint8_t dirty;   /* its status is to be written */
  uint8_t resume;  /* work that has begun may go on, but for what only time moves */
  uint8_t starved; /* work found no room at the port */
  uint8_t refuses; /* somebody is in `refused` */
  uint8_t turns;   /* somebody is in `turn`, until: */
  uint8_t quiet;   /* grants no slot, until: */
  uint32_t turns_until, quiet_until;
  struct exrnic_channel_open_words {
    uint32_t channel, page, stag, incarnation, base_low, base_high, status, work, log_work, events,
        log_events, slots, slot_bytes, num_slots;
  } at;
  uint32_t num_events;
  uint32_t posted, begun, done;                     /* work, free-running */
  uint32_t told;                                    /* done, as its status says */
  uint32_t next[EXRNIC_CHANNEL_WINDOW][WORK_WORDS]; /* that may begin; id modulo its size */
  uint32_t fetched;                                 /* which of these are here, a bit each */
  uint32_t events, taken;                           /* likewise */
  uint32_t awaited;                                 /* events for which its process is woken */
  uint32_t epoch, bad_bells;
  uint32_t slots_free; /* a bit each */
  uint32_t grants_used;
  struct work works[EXRNIC_CHANNEL_WINDOW]; /* id modulo its size */
  struct grant grants[EXRNIC_CHANNEL_SLOTS_MAX];
  uint8_t slot_of[1 << EXRNIC_CHANNEL_RING_LOG_MAX]; /* of the events not taken */
  struct last last[EXRNIC_CHANNEL_NODES];
  uint8_t late[EXRNIC_CHANNEL_NODES];  /* twice what a GRANT of each node takes, if it is known */
  uint32_t sent[EXRNIC_CHANNEL_NODES]; /* id of the last message to each node */
  uint32_t sent_to[EXRNIC_CHANNEL_NODES / 32]; /* nodes of which that is known */
  uint32_t refused[EXRNIC_CHANNEL_NODES / 32]; /* nodes that found no room */
  uint32_t waiting[EXRNIC_CHANNEL_NODES / 32]; /* those of them that have not had their share */
  uint32_t turn[EXRNIC_CHANNEL_NODES / 32];    /* those who waited, and were woken */
};

/* A message of another node, the oldest in the punt queue: words of fw_message. */
struct message {
  uint32_t node;
  uint32_t words[MESSAGE_DATA];
};
static inline uint32_t message_word_of(enum message_word word) {
  return punt_word(EXRNIC_FW_PUNT_WORD_PAYLOAD + word);
}
static inline uint32_t message_data(uint32_t word) {
  return punt_word(EXRNIC_FW_PUNT_WORD_PAYLOAD + MESSAGE_DATA + word);
}
static inline void message_take(struct message* message, uint32_t node) {
  uint32_t i;

  message->node = node;
#pragma GCC unroll 8
  for (i = 0; i < MESSAGE_DATA; i++) message->words[i] = message_word_of((enum message_word)i);
}
#define MESSAGE_OLDEST 0x80000000u
static inline uint32_t message_head(enum exrnic_fw_message_kind kind, uint32_t channel,
                                    uint32_t attempt) {
  return (uint32_t)kind << 24 | channel << 16 | (attempt & 0xffff);
}

/* ---- Rings and work */
static inline struct memory channel_memory(const struct channel* channel, uint32_t offset,
                                           uint32_t access) {
  const struct memory memory = {
      .request = 0,
      .stag = channel->at.stag,
      .pd = EXRNIC_FW_PD,
      .access = access,
      .to = ((uint64_t)channel->at.base_high << 32 | channel->at.base_low) + offset,
  };

  return memory;
}
/* Work that has begun ends with an event, or may; so does a slot that is granted. */
static inline uint32_t channel_free_events(const struct channel* channel) {
  return channel->num_events - (channel->events - channel->taken) -
         (channel->begun - channel->done) - channel->grants_used;
}
/* May work begin? */
static inline int channel_has_room(const struct channel* channel) {
  return channel->begun - channel->done < EXRNIC_CHANNEL_WINDOW &&
         channel_free_events(channel) != 0;
}
/* It gets a turn before the processor rests. */
extern uint32_t channels_stirred; /* a bit each */
static inline void channel_stir(const struct channel* channel) {
  channels_stirred |= 1u << channel->number;
}
struct event {
  enum exrnic_channel_event_kind kind;
  enum exrnic_channel_event_status status;
  uint32_t source, length, slot, incarnation, id;
  uint64_t value;
  uint8_t has_data; /* MESSAGE: its bytes are the event's */
};
/* The next event, when no command is in hand; for a caller that knows most of it, in place. */
static inline void event_write(struct channel* channel, const struct event* event) {
  enum { HEAD = offsetof(struct exrnic_channel_event, kind) / 4 }; /* before it are bytes */
  const uint32_t index = channel->events & (channel->num_events - 1);
  const uint32_t offset = channel->at.events + index * sizeof(struct exrnic_channel_event);
  struct memory at = channel_memory(channel, offset, EXRNIC_ACCESS_LOCAL_WRITE);
  uint32_t head = 0, i;

  if (event->has_data) {
    memory_place(&at, sizeof(struct exrnic_channel_event));
#pragma GCC unroll 8
    for (i = 0; i < INLINE_WORDS; i += 2) {
      const uint32_t a = message_data(i), b = message_data(i + 1); /* no wait for a load */

      memory_word(i, a);
      memory_word(i + 1, b);
    }
#pragma GCC unroll 8
    for (; i < HEAD; i++) memory_word(i, 0);
    head = HEAD;
  } else {
    at.to += 4 * HEAD;
    memory_place(&at, sizeof(struct exrnic_channel_event) - 4 * HEAD);
  }
  memory_word(head, (uint32_t)event->kind | (uint32_t)event->status << 8 | event->source << 16);
  memory_word(head + 1, event->length);
  memory_word(head + 2, event->slot);
  memory_word(head + 3, event->incarnation);
  memory_word(head + 4, (uint32_t)event->value);
  memory_word(head + 5, (uint32_t)(event->value >> 32));
  memory_word(head + 6, event->id);
  memory_word(head + 7, channel->events + 1);
  memory_post();
  channel->slot_of[index] = (uint8_t)event->slot;
  channel->events++;
}
void channel_event(struct channel* channel, const struct event* event);
/* Behind an event: does its process wait for it? Then it is woken. */
static inline int channel_is_awaited(const struct channel* channel) {
  return channel->events == channel->awaited;
}
/* What its process is woken for is with the host before the interrupt. */
static inline void channel_raise(const struct channel* channel) {
  memory_finish();
  dev_write(EXRNIC_REG_DEV_RAISE, 1u << channel->number);
}
/* The oldest block is a copy of work, which need not be read from the ring then. */
void channel_take_block(struct channel* channel);
void work_end(struct channel* channel, struct work* work);
void work_fail(struct channel* channel, struct work* work, enum exrnic_channel_event_status status);
/* Is `now` at or past `then`? */
static inline int is_due(uint32_t now, uint32_t then) { return (int32_t)(now - then) >= 0; }

static inline void repeat_later(struct work* work, uint32_t now) {
  work->retry_at = now + work->retry_ns;
  work->retry_ns = work->retry_ns < RETRY_MAX_NS / 2 ? 2 * work->retry_ns : RETRY_MAX_NS;
}

/* When work fails that begins now. */
static inline uint32_t work_deadline(uint32_t now, uint32_t timeout_us) {
  if (timeout_us == 0 || timeout_us > EXRNIC_CHANNEL_TIMEOUT_MAX_US)
    timeout_us = EXRNIC_CHANNEL_TIMEOUT_MAX_US;
  return now + 1000 * timeout_us;
}

#endif
