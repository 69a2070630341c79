/* SPDX-License-Identifier: BSD-2-Clause */
#include "app/channels.h"

#include "app/channel.h"
#include "app/receives.h"
#include "app/reduce.h"
#include "app/sends.h"
#include "hal/devices.h"
#include "hal/fault.h"

#define TICK_CYCLES 12500u /* between looks at what waits */
#define SOON_CYCLES 200u   /* until another try where there was no room */
#define BELLS_AT_ONCE 16u
#define NO_CHANNEL EXRNIC_FW_CHANNELS
#define NO_SLOT 0xffu /* in slot_of: EXRNIC_CHANNEL_NO_SLOT */

/* Cleared when it is opened: boot need not do so, which takes time where the processor is
 * simulated. */
static struct channel channels[EXRNIC_FW_CHANNELS] __attribute__((section(".noinit")));
static struct channel* opened[NO_CHANNEL + 1]; /* NULL: not open */
static uint8_t of_page[EXRNIC_USER_PAGES];     /* number of its channel, or NO_CHANNEL */

/* The timer, which looks after what time alone moves on. */
static uint32_t busy;     /* channels that have such, a bit each */
static uint32_t looks_in; /* cycles that it was set to; 0: it does not run */

void channels_start(void) {
  uint32_t i;

  for (i = 0; i < EXRNIC_FW_CHANNELS; i++) opened[i] = 0;
  for (i = 0; i < EXRNIC_USER_PAGES; i++) of_page[i] = NO_CHANNEL;
  channels_stirred = busy = looks_in = 0;
  reduce_start();
}

static struct channel* channel_of(uint32_t number) {
  return number < EXRNIC_FW_CHANNELS ? opened[number] : 0;
}

static struct channel* channel_of_page(uint32_t page) { return opened[of_page[page]]; }

/* ---- Rings */

static void write_status(struct channel* channel) {
  const struct memory at = channel_memory(channel, channel->at.status, EXRNIC_ACCESS_LOCAL_WRITE);
  uint32_t i;

  direct_spin();
  memory_place(&at, sizeof(struct exrnic_channel_status));
  memory_word(0, channel->done);
  memory_word(1, channel->events);
  memory_word(2, channel->taken);
  memory_word(3, channel->epoch);
  memory_word(4, channel->bad_bells);
  for (i = 5; i < sizeof(struct exrnic_channel_status) / 4; i++) memory_word(i, 0);
  memory_post();
  channel->dirty = 0;
  channel->told = channel->done;
}

/* ---- Work */

/*
 * The next work: from a PIO block, or from the ring. NULL: the bell promised work that is not
 * there; the next bell will know better.
 */
static const uint32_t* fetch(struct channel* channel) {
  const uint32_t place = channel->begun % EXRNIC_CHANNEL_WINDOW;
  uint32_t* next = channel->next[place];
  struct memory at;

  if (channel->fetched & 1u << place && next[WORK_ID] == channel->begun) return next;
  at = channel_memory(channel,
                      channel->at.work + (channel->begun & ((1u << channel->at.log_work) - 1)) *
                                             sizeof(struct exrnic_channel_work),
                      0);
  if (memory_read_words(&at, next, WORK_WORDS) == EXRNIC_FW_DIRECT_STATUS_OK &&
      next[WORK_ID] == channel->begun) {
    channel->fetched |= 1u << place;
    return next;
  }
  channel->posted = channel->begun;
  channel->bad_bells++;
  channel->dirty = 1;
  return 0;
}

/* 0: nothing more can begin now. */
static int begin(struct channel* channel, uint32_t now) {
  struct work* work = &channel->works[channel->begun % EXRNIC_CHANNEL_WINDOW];
  const uint32_t* words = fetch(channel);
  int begun;

  if (words == 0) return 0;
  work->id = words[WORK_ID];
  work->target = words[WORK_HEAD] >> 16;
  work->offset = words[WORK_OFFSET];
  work->length = words[WORK_LENGTH];
  work->deadline = work_deadline(now, words[WORK_TIMEOUT]);
  work->retry_at = now;
  work->retry_ns = RETRY_NS;
  channel->begun++;
  switch (words[WORK_HEAD] & 0xff) {
    case EXRNIC_CHANNEL_OPCODE_SEND:
      begun = send_begin(channel, work, words + WORK_DATA, now);
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
    channel->fetched &= ~(1u << work->id % EXRNIC_CHANNEL_WINDOW);
  else
    channel->begun--;
  return begun;
}

/* With work that can, or whose time has come. */
static void go_on(struct channel* channel, uint32_t now) {
  uint32_t id;

  for (id = channel->done; id != channel->begun; id++) {
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

/* Is there anything that time alone moves on? */
static int is_busy(const struct channel* channel) {
  return channel->done != channel->posted || channel->grants_used != 0 || channel->quiet ||
         channel->turns;
}

static __attribute__((noinline)) void proceed(struct channel* channel) {
  const uint32_t now = dev_read(EXRNIC_REG_DEV_TIME_LO);

  if (channel->resume) {
    channel->resume = 0;
    go_on(channel, now);
  }
  while (channel->begun != channel->posted && channel_has_room(channel))
    if (!begin(channel, now)) break;
}

static void work_on(struct channel* channel) {
  channel->starved = 0;
  if (channel->resume || channel->begun != channel->posted) proceed(channel);
  if (is_busy(channel))
    busy |= 1u << channel->number;
  else
    busy &= ~(1u << channel->number);
  /* Peers do not wait for it, and the process does not for each step. */
  if (!channel->dirty) return;
  if (punt_count() == 0 || channel->done - channel->told >= EXRNIC_CHANNEL_WINDOW / 4)
    write_status(channel);
  else
    channel_stir(channel);
}

static void look_in(uint32_t cycles) {
  dev_write(EXRNIC_REG_DEV_TIMER, cycles);
  looks_in = cycles;
}

void channels_work(void) {
  uint32_t stirred = channels_stirred, cycles, i;

  if (stirred == 0) return;
  channels_stirred = 0;
  cycles = 0;
  for (i = 0; stirred != 0; i++, stirred >>= 1) {
    struct channel* channel = opened[i];

    if (!(stirred & 1) || channel == 0) continue;
    work_on(channel);
    if (channel->starved) cycles = SOON_CYCLES;
  }
  if (cycles == 0 && busy != 0) cycles = looks_in != 0 ? looks_in : TICK_CYCLES;
  if (cycles != looks_in) look_in(cycles);
}

void channels_timer(void) {
  const uint32_t now = dev_read(EXRNIC_REG_DEV_TIME_LO);
  uint32_t i;

  look_in(0);
  for (i = 0; i < EXRNIC_FW_CHANNELS; i++) {
    struct channel* channel = opened[i];

    if (channel == 0) continue;
    channel->resume = 1;
    channel_stir(channel);
    receive_expire(channel, now);
    if (!channel->quiet || !is_due(now, channel->quiet_until)) continue;
    channel->quiet = 0;
    receive_wake(channel);
  }
}

/* ---- Bells */

/* The number next to `known` that has these lowest bits. */
static uint32_t next_to(uint32_t known, uint32_t value, uint32_t bits) {
  return known + (uint32_t)((int32_t)((value - known) << (32 - bits)) >> (32 - bits));
}

/* It waits until so many events are written. Each bell says so again until the next time. */
static void await(struct channel* channel, uint32_t awaited) {
  if (awaited == channel->awaited) return;
  channel->awaited = awaited;
  if ((int32_t)(channel->events - awaited) >= 0) channel_raise(channel);
}

/* Numbers only go forward, and not past what is there; events are waited for as many as find room.
 */
static void ring(struct channel* channel, uint32_t number, uint32_t posted) {
  const uint32_t fresh = posted - channel->posted;
  const uint32_t taken = next_to(channel->taken, number, EXRNIC_CHANNEL_TAKEN_BITS);
  const uint32_t awaited =
      next_to(channel->events, number >> EXRNIC_CHANNEL_TAKEN_BITS, EXRNIC_CHANNEL_AWAITED_BITS);
  const int armed = (number & EXRNIC_CHANNEL_ARMED) != 0;
  uint32_t index;

  if (posted - channel->done > 1u << channel->at.log_work || fresh > 1u << channel->at.log_work ||
      taken - channel->taken > channel->events - channel->taken ||
      (armed && (int32_t)(awaited - channel->events) > (int32_t)channel->num_events)) {
    channel->bad_bells++;
    channel->dirty = 1;
    channel_stir(channel);
    return;
  }
  channel->posted = posted;
  if (channel->begun != posted) channel_stir(channel);
  if (armed) await(channel, awaited);
  if (taken == channel->taken) return;
  for (; channel->taken != taken; channel->taken++) {
    index = channel->taken & (channel->num_events - 1);
    if (channel->slot_of[index] != NO_SLOT) channel->slots_free |= 1u << channel->slot_of[index];
  }
  receive_wake(channel);
}

static __attribute__((noinline)) void take_blocks(void) {
  struct channel* channel;
  uint32_t page, i;

  for (i = 1; i < EXRNIC_FW_BLOCKS && block_any(&page); i++) {
    channel = channel_of_page(page);
    if (channel != 0) send_block(channel);
    block_pop();
  }
}

static __attribute__((noinline)) void take_bells(void) {
  struct channel* channel;
  struct bell bell;
  uint32_t i;

  for (i = 0; i < BELLS_AT_ONCE && bell_take(&bell); i++) {
    channel = channel_of_page(bell.page);
    if (channel != 0) ring(channel, bell.number, bell.index);
  }
}

/* Not without end, however fast they are rung: the others have their turn, and line BELL stays up.
 */
void channels_bells(void) {
  struct channel* channel;
  uint32_t page;

  if (block_any(&page)) { /* the first one is not made to wait for what the others need */
    channel = channel_of_page(page);
    if (channel != 0) send_block(channel);
    block_pop();
    take_blocks();
  }
  take_bells();
}

/* ---- Of other nodes */

static void hear(struct channel* channel, uint32_t node) {
  struct message message;

  message_take(&message, node);
  switch (message.words[MESSAGE_HEAD] >> 24) {
    case EXRNIC_FW_MESSAGE_KIND_GRANT:
      send_granted(channel, &message);
      break;
    case EXRNIC_FW_MESSAGE_KIND_DONE:
      receive_done(channel, &message);
      break;
    case EXRNIC_FW_MESSAGE_KIND_WAKE:
      send_woken(channel, message.node);
      break;
    case EXRNIC_FW_MESSAGE_KIND_ASK:
      reduce_ask(channel, &message);
      break;
    default:
      break; /* of a later version */
  }
}

void channels_message(uint32_t node) {
  const uint32_t head = message_word_of(MESSAGE_HEAD);
  struct channel* channel = channel_of(head >> 16 & 0xff);

  if (channel == 0 || node >= EXRNIC_CHANNEL_NODES) return;
  if (head >> 24 == EXRNIC_FW_MESSAGE_KIND_SEND)
    receive_short(channel, node);
  else if (head >> 24 == EXRNIC_FW_MESSAGE_KIND_PART)
    reduce_part(channel, node);
  else if (head >> 24 == EXRNIC_FW_MESSAGE_KIND_ACK)
    send_acknowledged(channel, node);
  else
    hear(channel, node);
}

/* ---- Opening */

static int in_range(uint32_t value, uint32_t least, uint32_t most) {
  return value >= least && value <= most;
}

static int is_sane(const struct exrnic_channel_open_words* at) {
  return port_node() < EXRNIC_CHANNEL_NODES && at->channel < EXRNIC_FW_CHANNELS &&
         at->page < EXRNIC_USER_PAGES && at->incarnation != 0 && at->base_low % 64 == 0 &&
         at->status % 32 == 0 && at->work % 64 == 0 && at->events % 64 == 0 &&
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
 * how many there were (the status says it only now and then), which slots are not its own, and what
 * was delivered last of each node.
 */
static int recall(struct channel* channel) {
  const struct memory status = channel_memory(channel, channel->at.status, 0);
  const uint32_t size = channel->num_events;
  uint32_t words[8], i;
  int any = 0;

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
    const struct memory at = channel_memory(
        channel, channel->at.events + i * sizeof(struct exrnic_channel_event) + 32, 0);
    uint32_t head[8];

    if (memory_read_words(&at, head, 8) != EXRNIC_FW_DIRECT_STATUS_OK) return 0;
    if (((head[7] - 1) & (size - 1)) != i) continue;
    if (!any || (int32_t)(head[7] - channel->events) > 0) channel->events = head[7];
    any = 1;
    channel->slot_of[i] = head[2] < EXRNIC_CHANNEL_SLOTS_MAX ? (uint8_t)head[2] : NO_SLOT;
    if ((head[0] & 0xff) != EXRNIC_CHANNEL_EVENT_KIND_MESSAGE) continue;
    {
      struct last* last = &channel->last[head[0] >> 16 & (EXRNIC_CHANNEL_NODES - 1)];

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
  /* What a process has rung that had the page before is not the new one's. Each page waits once. */
  for (i = 0; i <= EXRNIC_USER_PAGES / BELLS_AT_ONCE; i++) channels_bells();
  block_drop(at.page);
  if (channel_of(at.channel) != 0 || channel_of_page(at.page) != 0)
    return EXRNIC_FW_STATUS_BAD_STATE;
  channel = &channels[at.channel];
  for (i = 0; i < sizeof(*channel) / 4; i++) ((uint32_t*)channel)[i] = 0;
  channel->at = at;
  channel->number = (uint8_t)at.channel;
  channel->num_events = 1u << at.log_events;
  if (!is_granted(channel) || !recall(channel)) return EXRNIC_FW_STATUS_BAD_PARAMETER;
  opened[at.channel] = channel;
  of_page[at.page] = (uint8_t)at.channel;
  channel_stir(channel);
  write_status(channel);
  if (channel->epoch != 1) channel_raise(channel); /* what it waited for nobody knows any more */
  return EXRNIC_FW_STATUS_OK;
}

enum exrnic_fw_status channel_close(uint32_t number) {
  struct channel* channel = channel_of(number);

  if (channel == 0) return EXRNIC_FW_STATUS_BAD_STATE;
  opened[number] = 0;
  of_page[channel->at.page] = NO_CHANNEL;
  busy &= ~(1u << number);
  reduce_close(number);
  receive_close(channel);
  memory_finish();
  return EXRNIC_FW_STATUS_OK;
}
