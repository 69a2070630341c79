/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reductions and barriers: recursive doubling. Of n nodes the first p, a power of two, exchange
 * their values in log2 p steps; each of the others gives its value to one of the first before that,
 * and gets the result behind. Every node then has the result: it is the same everywhere, for the
 * operations do not depend on order.
 *
 *   step 0            node p + i  ->  node i
 *   step 1 .. log2 p  node i     <->  node i ^ 2^(step - 1)
 *   step log2 p + 1   node i      ->  node p + i
 *
 * What a node has sent in a round it keeps until the round after the next: who misses a part asks.
 *
 * A part carries the life (incarnation) of its sender's channel, and that of the receiver's which
 * the sender knows. It counts if the latter is the present one; else its sender is asked for it,
 * and so hears of the life. What is heard of a node comes in the order of its lives.
 */
#include "app/reduce.h"

#define GROUPS 8 /* of a channel, that this node remembers */
#define SET_WORDS (EXRNIC_CHANNEL_NODES / 32)
#define NOBODY 0xffffu

/* A round of a group: the even and the odd ones in turn. */
struct round {
  uint8_t valid;
  uint8_t begun; /* by this node */
  uint8_t ended;
  uint8_t step;        /* the one it is at */
  uint16_t sent, have; /* a bit for each step */
  uint16_t denied;     /* parts that a later life of their receiver does not get */
  uint32_t number;
  enum exrnic_channel_operation operation;
  struct work* work; /* begun and not ended: this node's */
  uint64_t value;
  uint64_t mine[EXRNIC_CHANNEL_STEPS];
  uint64_t got[EXRNIC_CHANNEL_STEPS];
  uint8_t from[EXRNIC_CHANNEL_STEPS];
};

struct group {
  uint8_t used;
  uint8_t joined; /* its set is known; else parts came before the work */
  uint8_t steps;
  uint32_t channel, number;
  uint32_t age;
  uint16_t send, wait; /* steps in which this node sends, or waits */
  uint16_t peer[EXRNIC_CHANNEL_STEPS];
  uint32_t life[EXRNIC_CHANNEL_STEPS]; /* of the peer's channel; 0: none is known */
  struct round rounds[2];
};

/* Each channel has its own: no process takes those of another. */
static struct group groups[EXRNIC_FW_CHANNELS][GROUPS];
static uint32_t age;

void reduce_start(void) {
  uint32_t i;

  for (i = 0; i < EXRNIC_FW_CHANNELS; i++) reduce_close(i);
}

void reduce_close(uint32_t channel) {
  uint32_t i;

  for (i = 0; i < GROUPS; i++) groups[channel][i].used = 0;
}

static struct group* group_of(uint32_t channel, uint32_t number) {
  struct group* group;

  for (group = groups[channel]; group != groups[channel] + GROUPS; group++)
    if (group->used && group->number == number) return group;
  return 0;
}

static int is_busy(const struct group* group) {
  return (group->rounds[0].begun && !group->rounds[0].ended) ||
         (group->rounds[1].begun && !group->rounds[1].ended);
}

/* Which one is given up first: groups that only others have named, then who rests longest. */
static int is_less(const struct group* a, const struct group* b) {
  return a->joined != b->joined ? !a->joined : (int32_t)(a->age - b->age) < 0;
}

/* A place that is free, else (for a group of our own) one that is given up. 0: there is none. */
static struct group* group_new(uint32_t channel, uint32_t number, int own) {
  struct group *group = 0, *place;

  for (place = groups[channel]; place != groups[channel] + GROUPS; place++) {
    if (!place->used) {
      group = place;
      break;
    }
    if (own && !is_busy(place) && (group == 0 || is_less(place, group))) group = place;
  }
  if (group == 0) return 0;
  group->used = 1;
  group->joined = 0;
  group->channel = channel;
  group->number = number;
  group->age = age++;
  group->rounds[0].valid = group->rounds[1].valid = 0;
  group->rounds[0].begun = group->rounds[1].begun = 0;
  return group;
}

/*
 * The place of a round; it is cleared for one that is new. 0: it is taken by one that goes on, or
 * by a later one. Our own work takes it from a round that only others have named: nobody can be so
 * far ahead.
 */
static struct round* round_of(struct group* group, uint32_t number, int own) {
  struct round* round = &group->rounds[number & 1];

  if (round->valid && round->number == number) return round;
  if (round->valid && round->begun && !round->ended) return 0;
  if (round->valid && (round->begun || !own) && (int32_t)(number - round->number) < 0) return 0;
  round->valid = 1;
  round->number = number;
  round->begun = round->ended = 0;
  round->step = 0;
  round->sent = round->have = round->denied = 0;
  return round;
}

/* ---- The plan of a group */

static int in_set(const uint32_t* set, uint32_t node) {
  return (set[node / 32] >> node % 32 & 1) != 0;
}

static uint32_t bits(uint32_t word) {
  uint32_t count = 0;

  for (; word != 0; word &= word - 1) count++;
  return count;
}

/* The node of that rank. */
static uint16_t member(const uint32_t* set, uint32_t rank) {
  uint32_t word = 0, count, node;

  while ((count = bits(set[word])) <= rank) {
    rank -= count;
    word++;
  }
  for (node = 32 * word;; node++) {
    if (!in_set(set, node)) continue;
    if (rank == 0) return (uint16_t)node;
    rank--;
  }
}

static uint32_t rank_of(const uint32_t* set, uint32_t node) {
  uint32_t rank = 0, i;

  for (i = 0; i < node / 32; i++) rank += bits(set[i]);
  return rank + bits(set[node / 32] & ((1u << node % 32) - 1));
}

static void plan(struct group* group, const uint32_t* set) {
  const uint32_t rank = rank_of(set, port_node());
  uint32_t n = 0, power = 1, exchanges = 0, i, last;

  for (i = 0; i < SET_WORDS; i++) n += bits(set[i]);
  for (; 2 * power <= n; power *= 2) exchanges++;
  last = exchanges + 1;
  group->steps = (uint8_t)(last + 1);
  group->send = group->wait = 0;
  for (i = 0; i < EXRNIC_CHANNEL_STEPS; i++) {
    group->peer[i] = NOBODY;
    group->life[i] = 0;
  }
  if (rank >= power) {
    group->peer[0] = group->peer[last] = member(set, rank - power);
    group->send = 1;
    group->wait = (uint16_t)(1u << last);
    return;
  }
  if (rank + power < n) {
    group->peer[0] = group->peer[last] = member(set, rank + power);
    group->wait = 1;
    group->send = (uint16_t)(1u << last);
  }
  for (i = 1; i <= exchanges; i++) {
    group->peer[i] = member(set, rank ^ 1u << (i - 1));
    group->send |= (uint16_t)(1u << i);
    group->wait |= (uint16_t)(1u << i);
  }
}

/* ---- Steps */

static uint64_t combine(enum exrnic_channel_operation operation, uint64_t a, uint64_t b) {
  switch (operation) {
    case EXRNIC_CHANNEL_OPERATION_SUM:
      return a + b;
    case EXRNIC_CHANNEL_OPERATION_LEAST:
      return a < b ? a : b;
    case EXRNIC_CHANNEL_OPERATION_MOST:
      return a > b ? a : b;
    case EXRNIC_CHANNEL_OPERATION_BOTH:
      return a & b;
    case EXRNIC_CHANNEL_OPERATION_ANY:
      return a | b;
    case EXRNIC_CHANNEL_OPERATION_ODD:
      return a ^ b;
    default:
      return 0;
  }
}

static enum exrnic_fw_direct_status say_part(const struct channel* channel,
                                             const struct group* group, const struct round* round,
                                             uint32_t step) {
  const struct message_words words = {
      .head = message_head(EXRNIC_FW_MESSAGE_KIND_PART, channel->number, group->number),
      .id = round->number,
      .incarnation = channel->at.incarnation,
      .argument = step << 8 | (uint32_t)round->operation,
      .high = (uint32_t)(round->mine[step] >> 32),
      .low = (uint32_t)round->mine[step],
  };
  uint32_t i;

  direct_ready();
  message_place(group->peer[step], &words);
  message_word(0, group->life[step]);
#pragma GCC unroll 8
  for (i = 1; i < MESSAGE_DATA_WORDS; i++) message_word(i, 0);
  message_post();
  return direct_wait();
}

static void ask(const struct channel* channel, uint32_t node, uint32_t group, uint32_t round,
                uint32_t step) {
  const struct message_words words = {
      .head = message_head(EXRNIC_FW_MESSAGE_KIND_ASK, channel->number, group),
      .id = round,
      .incarnation = channel->at.incarnation,
      .argument = step << 8,
  };

  send_message(node, &words);
}

/*
 * A node of the group is of another life than it was known to be. Of a round that took a part of an
 * earlier one the later one gets none; where that part was not used yet, it counts no more.
 */
static __attribute__((noinline)) void meet(struct group* group, uint32_t node, uint32_t life) {
  uint32_t step, i, bits = 0, known = 0;

  for (step = 0; step < group->steps; step++) {
    if (group->peer[step] != node) continue;
    bits |= 1u << step;
    known = group->life[step];
    group->life[step] = life;
  }
  if (known == 0) return;
  for (i = 0; i < 2; i++) {
    struct round* round = &group->rounds[i];

    if (round->ended || (bits & group->wait & ((1u << round->step) - 1)) != 0)
      round->denied |= (uint16_t)bits;
    else
      round->have &= (uint16_t)~bits;
  }
}

/* As far as it goes. Where there is no room, it is tried again. */
enum progress { PROGRESS_WAITS, PROGRESS_ENDS, PROGRESS_FAILS /* this core knows no such node */ };

static enum progress advance(struct channel* channel, struct group* group, struct round* round) {
  for (; round->step < group->steps; round->step++) {
    const uint32_t step = round->step, bit = 1u << step;

    if (group->send & bit && !(round->sent & bit)) {
      enum exrnic_fw_direct_status status;

      round->mine[step] = round->value;
      status =
          round->denied & bit ? EXRNIC_FW_DIRECT_STATUS_OK : say_part(channel, group, round, step);
      if (status == EXRNIC_FW_DIRECT_STATUS_REFUSED) return PROGRESS_FAILS;
      if (status != EXRNIC_FW_DIRECT_STATUS_OK) {
        channel->starved = 1;
        return PROGRESS_WAITS;
      }
      round->sent |= (uint16_t)bit;
    }
    if (!(group->wait & bit)) continue;
    if (!(round->have & bit) || round->from[step] != group->peer[step]) return PROGRESS_WAITS;
    round->value = step == group->steps - 1u
                       ? round->got[step]
                       : combine(round->operation, round->value, round->got[step]);
  }
  return PROGRESS_ENDS;
}

static void reduce_end(struct channel* channel, struct work* work, struct group* group,
                       struct round* round) {
  const struct event event = {
      .kind = EXRNIC_CHANNEL_EVENT_KIND_REDUCTION,
      .status = EXRNIC_CHANNEL_EVENT_STATUS_OK,
      .source = group->number,
      .slot = EXRNIC_CHANNEL_NO_SLOT,
      .id = round->number,
      .value = round->operation == EXRNIC_CHANNEL_OPERATION_NOTHING ? 0 : round->value,
  };

  round->ended = 1;
  channel_event(channel, &event);
  work_end(channel, work);
}

/* Whether it has ended, one way or the other. */
static int go_round(struct channel* channel, struct work* work, struct group* group,
                    struct round* round) {
  switch (advance(channel, group, round)) {
    case PROGRESS_WAITS:
      return 0;
    case PROGRESS_ENDS:
      reduce_end(channel, work, group, round);
      return 1;
    default:
      round->ended = 1;
      work_fail(channel, work, EXRNIC_CHANNEL_EVENT_STATUS_MALFORMED);
      return 1;
  }
}

/* Work's length and previous are free here: they say which round of the group it is. */
static struct round* round_of_work(const struct channel* channel, const struct work* work,
                                   struct group** group) {
  *group = group_of(channel->number, work->target);
  return *group == 0 ? 0 : round_of(*group, work->previous, 1);
}

int reduce_begin(struct channel* channel, struct work* work,
                 enum exrnic_channel_operation operation, uint32_t number, uint64_t value) {
  const struct memory at = channel_memory(channel, work->offset, 0);
  struct group* group = group_of(channel->number, work->target);
  struct round* round;
  uint32_t set[SET_WORDS];

  if (group != 0 && is_busy(group)) return 0; /* one round behind the other */
  if (group == 0 || !group->joined) {
    if (operation > EXRNIC_CHANNEL_OPERATION_ODD ||
        memory_read_words(&at, set, SET_WORDS) != EXRNIC_FW_DIRECT_STATUS_OK ||
        !in_set(set, port_node())) {
      work_fail(channel, work, EXRNIC_CHANNEL_EVENT_STATUS_MALFORMED);
      return 1;
    }
    if (group == 0) group = group_new(channel->number, work->target, 1);
    if (group == 0) return 0; /* all are at work */
    plan(group, set);
    group->joined = 1;
  }
  round = round_of(group, number, 1);
  if (round == 0 || operation > EXRNIC_CHANNEL_OPERATION_ODD) {
    work_fail(channel, work, EXRNIC_CHANNEL_EVENT_STATUS_MALFORMED);
    return 1;
  }
  group->age = age++;
  round->begun = 1;
  round->ended = 0;
  round->work = work;
  round->operation = operation;
  round->step = 0;
  round->value = value;
  work->previous = number;
  work->state = WORK_REDUCING;
  work->retry_at += RETRY_NS;
  go_round(channel, work, group, round);
  return 1;
}

void reduce_go_on(struct channel* channel, struct work* work, uint32_t now) {
  struct group* group;
  struct round* round = round_of_work(channel, work, &group);

  if (round == 0) return;
  if (!go_round(channel, work, group, round) && is_due(now, work->retry_at)) {
    if (group->wait & 1u << round->step)
      ask(channel, group->peer[round->step], group->number, round->number, round->step);
    repeat_later(work, now);
  }
}

void reduce_abandon(struct channel* channel, struct work* work) {
  struct group* group;
  struct round* round = round_of_work(channel, work, &group);

  if (round != 0) round->ended = 1;
}

/* The step that a message names, or EXRNIC_CHANNEL_STEPS. */
static uint32_t step_of(uint32_t argument) {
  const uint32_t step = argument >> 8;

  return step < EXRNIC_CHANNEL_STEPS ? step : EXRNIC_CHANNEL_STEPS;
}

void reduce_part(struct channel* channel, uint32_t node) {
  const uint32_t number = message_word_of(MESSAGE_HEAD) & 0xffff;
  const uint32_t step = step_of(message_word_of(MESSAGE_ARGUMENT));
  const uint32_t id = message_word_of(MESSAGE_ID);
  struct group* group = group_of(channel->number, number);
  struct round* round;

  if (step == EXRNIC_CHANNEL_STEPS) return;
  if (group != 0 && group->joined) {
    const uint32_t life = message_word_of(MESSAGE_INCARNATION);

    if (group->peer[step] != node) return;
    if (group->life[step] != life) meet(group, node, life);
  }
  if (message_data(0) != channel->at.incarnation) {
    ask(channel, node, number, id, step);
    return;
  }
  if (group == 0) group = group_new(channel->number, number, 0);
  if (group == 0) return;
  round = round_of(group, id, 0);
  if (round == 0) return;
  round->have |= (uint16_t)(1u << step);
  round->from[step] = (uint8_t)node;
  round->got[step] = (uint64_t)message_word_of(MESSAGE_HIGH) << 32 | message_word_of(MESSAGE_LOW);
  if (!round->begun || round->ended || round->step != step) return;
  if (!go_round(channel, round->work, group, round) && channel->starved) {
    channel->resume = 1;
    channel_stir(channel);
  }
}

void reduce_ask(struct channel* channel, const struct message* message) {
  const uint32_t step = step_of(message->words[MESSAGE_ARGUMENT]);
  struct group* group = group_of(channel->number, message->words[MESSAGE_HEAD] & 0xffff);
  struct round* round;

  if (step == EXRNIC_CHANNEL_STEPS || group == 0 || !group->joined ||
      group->peer[step] != message->node)
    return;
  if (group->life[step] != message->words[MESSAGE_INCARNATION])
    meet(group, message->node, message->words[MESSAGE_INCARNATION]);
  round = &group->rounds[message->words[MESSAGE_ID] & 1];
  if (round->valid && round->number == message->words[MESSAGE_ID] &&
      round->sent & ~round->denied & 1u << step)
    say_part(channel, group, round, step);
}
