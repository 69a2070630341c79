/* SPDX-License-Identifier: BSD-2-Clause */
#include "app/channels.h"

#include "hal/devices.h"
#include "hal/fault.h"

#define TICK_CYCLES 12500u /* between looks at what waits */
#define SOON_CYCLES 200u   /* until another try where there was no room */
#define NO_SLOT 0xffu      /* in slot_of: EXRNIC_CHANNEL_NO_SLOT */
#define EVENT_WORDS (sizeof(struct exrnic_channel_event) / 4)

static struct channel channels[EXRNIC_FW_CHANNELS];
static uint32_t channels_open;

void channels_start(void) {
  uint32_t i;

  for (i = 0; i < EXRNIC_FW_CHANNELS; i++) channels[i].open = 0;
  channels_open = 0;
  reduce_start();
}

struct channel* channel_of(uint32_t number) {
  return number < EXRNIC_FW_CHANNELS && channels[number].open ? &channels[number] : 0;
}

static struct channel* channel_of_page(uint32_t page) {
  uint32_t i;

  for (i = 0; i < EXRNIC_FW_CHANNELS; i++)
    if (channels[i].open && channels[i].at.page == page) return &channels[i];
  return 0;
}

struct memory channel_memory(const struct channel* channel, uint32_t offset, uint32_t access) {
  const struct memory memory = {
      .stag = channel->at.stag,
      .pd = EXRNIC_FW_PD,
      .access = access,
      .to = ((uint64_t)channel->at.base_high << 32 | channel->at.base_low) + offset,
  };

  return memory;
}

/* ---- Rings */

/* Work that has begun ends with an event, or may; so does a slot that is granted. */
uint32_t channel_free_events(const struct channel* channel) {
  return (1u << channel->at.log_events) - (channel->events - channel->taken) -
         (channel->begun - channel->done) - channel->grants_used;
}

void channel_event(struct channel* channel, const struct event* event) {
  const uint32_t index = channel->events & ((1u << channel->at.log_events) - 1);
  const uint32_t offset = channel->at.events + index * sizeof(struct exrnic_channel_event);
  struct memory at = channel_memory(channel, offset, EXRNIC_ACCESS_LOCAL_WRITE);
  const uint32_t head[] = {
      (uint32_t)event->kind | (uint32_t)event->status << 8 | event->source << 16,
      event->length,
      event->slot,
      event->incarnation,
      (uint32_t)event->value,
      (uint32_t)(event->value >> 32),
      event->id,
      channel->events + 1,
  };

  if (event->data != 0) memory_post_words(&at, event->data, INLINE_WORDS);
  at.to += EVENT_WORDS / 2 * 4;
  memory_post_words(&at, head, EVENT_WORDS / 2);
  channel->slot_of[index] = (uint8_t)event->slot;
  channel->events++;
}

static void write_status(struct channel* channel) {
  const struct memory at = channel_memory(channel, channel->at.status, EXRNIC_ACCESS_LOCAL_WRITE);
  const uint32_t words[] = {
      channel->done, channel->events, channel->taken, channel->epoch, channel->bad_bells, 0, 0, 0};

  memory_post_words(&at, words, 8);
  channel->dirty = 0;
}

/* ---- Work */

void work_end(struct channel* channel, struct work* work) {
  work->state = WORK_ENDED;
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

/* Words of channel_work. */
enum { WORK_HEAD, WORK_ID, WORK_OFFSET, WORK_LENGTH, WORK_VALUE, WORK_ROUND = 6, WORK_TIMEOUT };

/* The next work, from the ring. 0: the bell promised work that is not there; the next bell will
 * know better. */
static int fetch(struct channel* channel) {
  const uint32_t index = channel->begun & ((1u << channel->at.log_work) - 1);
  const struct memory at =
      channel_memory(channel, channel->at.work + index * sizeof(struct exrnic_channel_work), 0);

  if (memory_read_words(&at, channel->next, WORK_WORDS) == EXRNIC_FW_DIRECT_STATUS_OK &&
      channel->next[WORK_ID] == channel->begun)
    return 1;
  channel->posted = channel->begun;
  channel->bad_bells++;
  channel->dirty = 1;
  return 0;
}

/* 0: nothing more can begin now. */
static int begin(struct channel* channel, uint32_t now) {
  struct work* work = &channel->works[channel->begun % EXRNIC_CHANNEL_WINDOW];
  const uint32_t* words = channel->next;
  uint32_t timeout;
  int begun;

  if (!channel->fetched && !fetch(channel)) return 0;
  channel->fetched = 1;
  timeout = words[WORK_TIMEOUT];
  if (timeout == 0 || timeout > EXRNIC_CHANNEL_TIMEOUT_MAX_US)
    timeout = EXRNIC_CHANNEL_TIMEOUT_MAX_US;
  work->id = words[WORK_ID];
  work->target = words[WORK_HEAD] >> 16;
  work->offset = words[WORK_OFFSET];
  work->length = words[WORK_LENGTH];
  work->deadline = now + 1000 * timeout;
  work->retry_at = now;
  work->retry_ns = RETRY_NS;
  channel->begun++;
  switch (words[WORK_HEAD] & 0xff) {
    case EXRNIC_CHANNEL_OPCODE_SEND:
      begun = send_begin(channel, work);
      break;
    case EXRNIC_CHANNEL_OPCODE_REDUCE:
      begun = reduce_begin(
          channel, work, (enum exrnic_channel_operation)(words[WORK_HEAD] >> 8 & 0xff),
          words[WORK_ROUND], (uint64_t)words[WORK_VALUE + 1] << 32 | words[WORK_VALUE]);
      break;
    default:
      work_fail(channel, work, EXRNIC_CHANNEL_EVENT_STATUS_MALFORMED);
      begun = 1;
  }
  if (begun)
    channel->fetched = 0;
  else
    channel->begun--;
  return begun;
}

static int has_room(const struct channel* channel) {
  return channel->begun - channel->done < EXRNIC_CHANNEL_WINDOW &&
         channel_free_events(channel) != 0;
}

/* With work from `id` on. */
static void go_on(struct channel* channel, uint32_t id, uint32_t now) {
  for (; id != channel->begun; id++) {
    struct work* work = &channel->works[id % EXRNIC_CHANNEL_WINDOW];

    if (work->state == WORK_NONE || work->state == WORK_ENDED) continue;
    if (is_due(now, work->deadline)) {
      if (work->state == WORK_REDUCING) reduce_abandon(channel, work);
      work_fail(channel, work, EXRNIC_CHANNEL_EVENT_STATUS_TIMEOUT);
    } else if (work->state == WORK_REDUCING) {
      reduce_go_on(channel, work, now);
    } else if (work->state == WORK_ASKING || work->state == WORK_MOVING ||
               is_due(now, work->retry_at)) {
      send_go_on(channel, work, now);
    }
  }
}

/* Is there anything that time alone moves on? Soon, if it only lacked room. */
static uint32_t next_look(void) {
  uint32_t i, id, cycles = 0;

  for (i = 0; i < EXRNIC_FW_CHANNELS; i++) {
    const struct channel* channel = &channels[i];

    if (!channel->open) continue;
    if (channel->grants_used != 0 || channel->quiet) cycles = TICK_CYCLES;
    for (id = channel->done; id != channel->begun; id++) {
      const struct work* work = &channel->works[id % EXRNIC_CHANNEL_WINDOW];

      if (work->state == WORK_ASKING || (work->state == WORK_MOVING && !work->waits))
        return SOON_CYCLES;
      cycles = TICK_CYCLES;
    }
  }
  return cycles;
}

void channels_work(void) {
  uint32_t i, now, begun;

  if (channels_open == 0) return;
  now = dev_read(EXRNIC_REG_DEV_TIME_LO);
  for (i = 0; i < EXRNIC_FW_CHANNELS; i++) {
    struct channel* channel = &channels[i];

    if (!channel->open) continue;
    go_on(channel, channel->done, now);
    begun = channel->begun;
    while (channel->begun != channel->posted && has_room(channel))
      if (!begin(channel, now)) break;
    if (channel->begun != begun) go_on(channel, begun, now);
    if (channel->dirty) write_status(channel);
  }
  dev_write(EXRNIC_REG_DEV_TIMER, next_look());
}

void channels_timer(void) {
  const uint32_t now = dev_read(EXRNIC_REG_DEV_TIME_LO);
  uint32_t i;

  dev_write(EXRNIC_REG_DEV_TIMER, 0);
  for (i = 0; i < EXRNIC_FW_CHANNELS; i++) {
    struct channel* channel = &channels[i];

    if (!channel->open) continue;
    receive_expire(channel, now);
    if (!channel->quiet || !is_due(now, channel->quiet_until)) continue;
    channel->quiet = 0;
    receive_wake(channel);
  }
}

/* ---- Bells */

/* Both numbers only go forward, and not past what is there. */
static void ring(struct channel* channel, uint32_t taken, uint32_t posted) {
  const uint32_t fresh = posted - channel->posted;
  uint32_t index;

  if (posted - channel->done > 1u << channel->at.log_work || fresh > 1u << channel->at.log_work ||
      taken - channel->taken > channel->events - channel->taken) {
    channel->bad_bells++;
    channel->dirty = 1;
    return;
  }
  channel->posted = posted;
  if (taken == channel->taken) return;
  for (; channel->taken != taken; channel->taken++) {
    index = channel->taken & ((1u << channel->at.log_events) - 1);
    if (channel->slot_of[index] != NO_SLOT) channel->slots_free |= 1u << channel->slot_of[index];
  }
  receive_wake(channel);
}

void channels_bells(void) {
  struct channel* channel;
  struct bell bell;

  while (bell_take(&bell)) {
    channel = channel_of_page(bell.page);
    if (channel != 0) ring(channel, bell.number, bell.index);
  }
}

/* ---- Of other nodes */

void channels_message(const struct punt* punt) {
  const uint32_t now = dev_read(EXRNIC_REG_DEV_TIME_LO);
  const struct message message = {.node = punt->request >> 16, .words = punt->payload};
  struct channel* channel;

  channel = channel_of(message.words[MESSAGE_HEAD] >> 16 & 0xff);
  if (channel == 0) return;
  switch (message.words[MESSAGE_HEAD] >> 24) {
    case EXRNIC_FW_MESSAGE_KIND_SEND:
      receive_send(channel, &message, now);
      break;
    case EXRNIC_FW_MESSAGE_KIND_GRANT:
      send_granted(channel, &message);
      break;
    case EXRNIC_FW_MESSAGE_KIND_DONE:
      receive_done(channel, &message);
      break;
    case EXRNIC_FW_MESSAGE_KIND_ACK:
      send_acknowledged(channel, &message);
      break;
    case EXRNIC_FW_MESSAGE_KIND_WAKE:
      send_woken(channel, message.node);
      break;
    case EXRNIC_FW_MESSAGE_KIND_PART:
      reduce_part(channel, &message);
      break;
    case EXRNIC_FW_MESSAGE_KIND_ASK:
      reduce_ask(channel, &message);
      break;
    default:
      break; /* of a later version */
  }
}

/* ---- Opening */

static int in_range(uint32_t value, uint32_t least, uint32_t most) {
  return value >= least && value <= most;
}

static int is_sane(const struct exrnic_channel_open_words* at) {
  return at->channel < EXRNIC_FW_CHANNELS && at->page < EXRNIC_USER_PAGES && at->incarnation != 0 &&
         at->base_low % 64 == 0 && at->status % 32 == 0 && at->work % 32 == 0 &&
         at->events % 64 == 0 &&
         in_range(at->log_work, EXRNIC_CHANNEL_RING_LOG_MIN, EXRNIC_CHANNEL_RING_LOG_MAX) &&
         in_range(at->log_events, EXRNIC_CHANNEL_RING_LOG_MIN, EXRNIC_CHANNEL_RING_LOG_MAX) &&
         in_range(at->slot_bytes, EXRNIC_CHANNEL_SLOT_MIN, EXRNIC_CHANNEL_SLOT_MAX) &&
         in_range(at->num_slots, 1, EXRNIC_CHANNEL_SLOTS_MAX);
}

static int is_granted(const struct channel* channel) {
  const struct exrnic_channel_open_words* at = &channel->at;
  const struct memory status = channel_memory(channel, at->status, EXRNIC_ACCESS_LOCAL_WRITE);
  const struct memory work = channel_memory(channel, at->work, 0);
  const struct memory events = channel_memory(channel, at->events, EXRNIC_ACCESS_LOCAL_WRITE);
  const struct memory slots = channel_memory(channel, at->slots, EXRNIC_ACCESS_REMOTE_WRITE);

  return memory_look_up(&status, sizeof(struct exrnic_channel_status)) ==
             EXRNIC_FW_DIRECT_STATUS_OK &&
         memory_look_up(&work, sizeof(struct exrnic_channel_work) << at->log_work) ==
             EXRNIC_FW_DIRECT_STATUS_OK &&
         memory_look_up(&events, sizeof(struct exrnic_channel_event) << at->log_events) ==
             EXRNIC_FW_DIRECT_STATUS_OK &&
         memory_look_up(&slots, at->slot_bytes * at->num_slots) == EXRNIC_FW_DIRECT_STATUS_OK;
}

/*
 * What firmware before this one has left: how far work had come, and the events. Of them it learns
 * which slots are not its own, and what was delivered last of each node.
 */
static int recall(struct channel* channel) {
  const struct memory status = channel_memory(channel, channel->at.status, 0);
  const uint32_t size = 1u << channel->at.log_events;
  uint32_t words[8], i;

  if (memory_read_words(&status, words, 8) != EXRNIC_FW_DIRECT_STATUS_OK) return 0;
  channel->done = channel->begun = channel->posted = words[0];
  channel->events = words[1];
  channel->taken = words[2];
  channel->epoch = words[3] + 1;
  channel->quiet = words[3] != 0;
  channel->quiet_until = dev_read(EXRNIC_REG_DEV_TIME_LO) + QUIET_NS;
  channel->bad_bells = words[4];
  channel->slots_free = (1u << channel->at.num_slots) - 1;
  if (words[3] == 0) return 1; /* there was none before */
  for (i = 0; i < size; i++) {
    const uint32_t number = words[1] - size + i; /* the older half of a round, then the younger */
    uint32_t index = number & (size - 1), head[8];
    const struct memory at = channel_memory(
        channel, channel->at.events + index * sizeof(struct exrnic_channel_event) + 32, 0);

    if (memory_read_words(&at, head, 8) != EXRNIC_FW_DIRECT_STATUS_OK) return 0;
    if (head[7] != number + 1 && head[7] != number + size + 1) continue;
    if (head[7] == number + size + 1) channel->events = head[7]; /* behind the status */
    channel->slot_of[index] = head[2] < EXRNIC_CHANNEL_SLOTS_MAX ? (uint8_t)head[2] : NO_SLOT;
    if ((head[0] & 0xff) != EXRNIC_CHANNEL_EVENT_KIND_MESSAGE) continue;
    {
      struct last* last = &channel->last[head[0] >> 16 & (EXRNIC_MAX_NODE - 1)];

      if (last->incarnation != head[3] || (int32_t)(head[6] - last->id) > 0) {
        last->incarnation = head[3];
        last->id = head[6];
      }
    }
  }
  if (channel->events - channel->taken > size) channel->taken = channel->events - size;
  /* The process may have written the events: a slot has one owner whatever they say. */
  for (i = channel->taken; i != channel->events; i++) {
    uint8_t* slot = &channel->slot_of[i & (size - 1)];

    if (*slot < channel->at.num_slots && channel->slots_free & 1u << *slot)
      channel->slots_free &= ~(1u << *slot);
    else
      *slot = NO_SLOT;
  }
  return 1;
}

enum exrnic_fw_status channel_open(const uint32_t* words) {
  struct exrnic_channel_open_words at;
  struct channel* channel;
  uint32_t i;

  for (i = 0; i < sizeof(at) / 4; i++) ((uint32_t*)&at)[i] = words[i];
  if (!is_sane(&at)) return EXRNIC_FW_STATUS_BAD_PARAMETER;
  if (channel_of(at.channel) != 0 || channel_of_page(at.page) != 0)
    return EXRNIC_FW_STATUS_BAD_STATE;
  channel = &channels[at.channel];
  for (i = 0; i < sizeof(*channel) / 4; i++) ((uint32_t*)channel)[i] = 0;
  channel->at = at;
  channel->number = (uint8_t)at.channel;
  if (!is_granted(channel) || !recall(channel)) return EXRNIC_FW_STATUS_BAD_PARAMETER;
  channel->open = 1;
  channels_open++;
  write_status(channel);
  return EXRNIC_FW_STATUS_OK;
}

enum exrnic_fw_status channel_close(uint32_t number) {
  struct channel* channel = channel_of(number);

  if (channel == 0) return EXRNIC_FW_STATUS_BAD_STATE;
  channel->open = 0;
  channels_open--;
  reduce_close(number);
  memory_finish();
  return EXRNIC_FW_STATUS_OK;
}
