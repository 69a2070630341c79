/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The data path of driver and libraries, on a device that writes what it likes: CQEs of any words,
 * in any state that a queue may be in. Indices are any number, and so may wrap. Rings are small.
 */
#include <string.h>

#define EXRNIC_DP_STORE_BARRIER() ((void)0)
#define EXRNIC_DP_LOAD_STORE_BARRIER() ((void)0)
#define EXRNIC_DP_FLUSH_BARRIER() ((void)0)
#define EXRNIC_DP_LOAD_ACQUIRE(from) (*(from))
#define EXRNIC_DP_STORE_RELEASE(to, value) ((void)(*(to) = (value)))
#define EXRNIC_DP_LOAD(from) (*(from))
#define EXRNIC_DP_STORE(to, value) ((void)(*(to) = (value)))
#define EXRNIC_DP_EXCHANGE_IF(at, expected, value) (*(at) = (value), 1)
#define EXRNIC_DP_COPY(to, from, bytes) memcpy(to, from, bytes)
#define __builtin_memset memset

#include "exrnic_data_path.h"
#include "exrnic_driver.h"
#include "exrnic_post.h"

#define SLOTS 16u
#define ENTRIES 4u
#define ELEMENTS 3u

uint16_t nondet_index(void);
uint32_t nondet_word(void);
uint64_t nondet_double_word(void);
struct exrnic_cqe nondet_cqe(void);

/* ---- Queues of work requests */

static struct exrnic_wqe slots[SLOTS];
static uint64_t wr_ids[SLOTS];

/* A send or receive queue with any work outstanding. */
static struct exrnic_work_queue any_queue(void) {
  struct exrnic_work_queue queue = {
      {slots, SLOTS, EXRNIC_DOORBELL_SQ, nondet_index()}, wr_ids, nondet_index()};

  __CPROVER_assume((uint16_t)(queue.ring.tail - queue.head) <= SLOTS);
  return queue;
}

void prove_complete(void) {
  struct exrnic_work_queue queue = any_queue();
  const uint16_t before = queue.head;
  const uint32_t index = nondet_word();
  uint64_t wr_id;
  bool known;

#ifndef WITHOUT_LOOKING
  known = exrnic_work_queue_complete(&queue, index, &wr_id);
#else
  wr_id = wr_ids[index % SLOTS];
  queue.head = (uint16_t)(index + 1);
  known = true;
#endif
  __CPROVER_assert((uint16_t)(queue.ring.tail - queue.head) <= (uint16_t)(queue.ring.tail - before),
                   "no more is outstanding than before");
  __CPROVER_assert(known == (queue.head != before), "a completion gives slots back, or is none");
  if (known) __CPROVER_assert(wr_id == wr_ids[index % SLOTS], "it has the number of its slot");
}

void prove_put(void) {
  struct exrnic_work_queue queue = any_queue();
  const uint32_t count = nondet_word(), byte = nondet_word();
  const uint16_t any = nondet_index(), tail = queue.ring.tail;
  struct exrnic_work work;
  uint64_t wr_id;
  uint8_t of_slot;

  __CPROVER_assume(count >= 1 && count <= EXRNIC_WQE_SLOTS_MAX && byte < sizeof(*slots));
  __CPROVER_assume((uint16_t)(any - queue.head) < (uint16_t)(tail - queue.head));
  wr_id = wr_ids[any % SLOTS];
  of_slot = ((const uint8_t*)&slots[any % SLOTS])[byte];
#ifndef WITHOUT_ROOM
  if (!exrnic_work_queue_has_room(&queue, count)) return;
#endif
  exrnic_work_queue_put(&queue, &work, count, nondet_double_word());
  __CPROVER_assert(wr_ids[any % SLOTS] == wr_id, "what is outstanding has its number");
  __CPROVER_assert(((const uint8_t*)&slots[any % SLOTS])[byte] == of_slot, "and its slot");
  __CPROVER_assert((uint16_t)(queue.ring.tail - tail) == count, "all of it was posted");
}

/* ---- Completion queues */

static struct exrnic_cqe entries[ENTRIES];
static struct exrnic_cqe more_entries[2 * ENTRIES];

static struct exrnic_cq_ring any_cq(void) {
  struct exrnic_cq_ring cq = {entries, ENTRIES, 0, nondet_word(), 0};
  uint32_t i;

  for (i = 0; i < ENTRIES; i++) entries[i] = nondet_cqe();
  return cq;
}

/* CQEs of all queue pairs but one, and the oldest of them. */
static uint32_t others_in(const struct exrnic_cq_ring* cq, uint32_t qpn, uint64_t* oldest) {
  const struct exrnic_cqe* cqe;
  uint32_t count = 0, index;

  for (index = cq->consumer; (cqe = exrnic_cq_at(cq, index)) != NULL; index++)
    if (cqe->qpn != qpn && count++ == 0) *oldest = cqe->timestamp;
  return count;
}

void prove_drop(void) {
  struct exrnic_cq_ring cq = any_cq();
  const uint32_t qpn = nondet_word();
  uint64_t oldest = 0, oldest_left = 0;
  const uint32_t count = others_in(&cq, qpn, &oldest);
  const struct exrnic_cqe* cqe;
  uint32_t index;

#ifndef WITHOUT_DROPPING
  exrnic_cq_drop(&cq, qpn, NULL);
#endif
  __CPROVER_assert(others_in(&cq, qpn, &oldest_left) == count, "all of the others are there");
  __CPROVER_assert(oldest_left == oldest, "and come as they came");
  for (index = cq.consumer; (cqe = exrnic_cq_at(&cq, index)) != NULL; index++)
    __CPROVER_assert(cqe->qpn != qpn, "none of that queue pair is");
}

void prove_change_ring(void) {
  struct exrnic_cq_ring cq = any_cq();
  const uint32_t nobody = UINT32_MAX, producer = nondet_word();
  uint64_t oldest = 0, oldest_left = 0;
  uint32_t written, kept, i;

  for (i = 0; i < ENTRIES; i++) __CPROVER_assume(entries[i].qpn != nobody);
  written = others_in(&cq, nobody, &oldest);
  kept = producer - cq.consumer < written ? producer - cq.consumer : written;
  for (i = 0; i < 2 * ENTRIES; i++) more_entries[i] = nondet_cqe();
#ifndef WITHOUT_CLEARING
  exrnic_cq_clear(more_entries, 2 * ENTRIES);
#endif
  exrnic_cq_change_ring(&cq, more_entries, 2 * ENTRIES, producer);
  __CPROVER_assert(others_in(&cq, nobody, &oldest_left) == kept,
                   "what was not polled, and no more");
  __CPROVER_assert(kept == 0 || oldest_left == oldest, "and it comes as it came");
}

/* ---- What a program asks for */

static uint8_t source[EXRNIC_INLINE_MAX];

void prove_inline(void) {
  struct exrnic_sge elements[ELEMENTS];
  struct exrnic_work work;
  const uint32_t most = nondet_word();
  uint32_t i, used;

#ifndef WITHOUT_LIMIT
  __CPROVER_assume(most <= EXRNIC_INLINE_MAX);
#endif
  for (i = 0; i < ELEMENTS; i++) {
    elements[i].address = (uint64_t)(uintptr_t)source;
    elements[i].length = nondet_word();
  }
  used = exrnic_work_put_inline(&work, elements, ELEMENTS, most);
  if (used == 0) return;
  __CPROVER_assert(work.head.length <= most, "no more than may be");
  __CPROVER_assert(used <= EXRNIC_WQE_SLOTS_MAX && EXRNIC_WORK_ROOM(used) >= work.head.length,
                   "it is in its slots");
}

void prove_shape(void) {
  const uint32_t most = 1u << EXRNIC_SQ_LOG_MAX;
  struct exrnic_queue_shape shape = {nondet_word(), nondet_word(), nondet_word(), nondet_word()};
  const struct exrnic_queue_shape asked = shape;

  __CPROVER_assume(shape.elements <= EXRNIC_MAX_SGE && shape.inline_bytes <= EXRNIC_INLINE_MAX);
#ifndef WITHOUT_GRANT
  if (!exrnic_shape_grant(&shape, most)) return;
#endif
  __CPROVER_assert(shape.wrs >= asked.wrs && shape.elements >= asked.elements &&
                       shape.inline_bytes >= asked.inline_bytes,
                   "no less than was asked for");
  __CPROVER_assert(shape.slots <= most && (shape.slots & (shape.slots - 1)) == 0,
                   "its ring is one of the device");
  __CPROVER_assert(shape.wrs <= shape.slots / exrnic_shape_slots_each(&shape), "all have slots");
}

void prove_capacity(void) {
  const uint32_t capacity = nondet_word();
  uint32_t size;

  __CPROVER_assume(capacity <= 1u << 30); /* libraries and driver have a lower limit, CQ_LOG_MAX */
#ifndef WITHOUT_REPORTS
  size = exrnic_cq_ring_for(capacity);
#else
  size = exrnic_ring_size(capacity);
#endif
  __CPROVER_assert(exrnic_cq_capacity(size) >= capacity, "as many find a place as are asked for");
}

/* ---- What comes by the network */

void prove_management(void) {
#ifndef WITHOUT_HEADER
  uint8_t frame[EXRNIC_MANAGEMENT_PATH_AT]; /* all that is looked at */
#else
  uint8_t frame[EXRNIC_ETH_BYTES];
#endif
  const unsigned int word = nondet_word();
  int counts;

  __CPROVER_assume(word < EXRNIC_MANAGEMENT_FRAME_BYTES / 4);
  counts = exrnic_management_word_counts(frame, word);
  if (word < EXRNIC_MANAGEMENT_PATH_AT / 4) __CPROVER_assert(counts, "the header counts");
}
