// SPDX-License-Identifier: BSD-2-Clause
/*
 * Checks of exrnic_data_path.h and exrnic_post.h, compiled as C11 and as C++17. Barriers and stores
 * into the page are this file's, so it sees their order; nothing but the header is known to it.
 */
#ifndef EXRNIC_DATA_PATH_CHECKS_H
#define EXRNIC_DATA_PATH_CHECKS_H

static char order[64]; /* W, L, F: barriers; S: a store into the page */
static unsigned order_length;

static void note(char what) {
  if (order_length + 1 < sizeof(order)) order[order_length++] = what;
}

#define EXRNIC_DP_STORE_BARRIER() note('W')
#define EXRNIC_DP_LOAD_STORE_BARRIER() note('L')
#define EXRNIC_DP_FLUSH_BARRIER() note('F')
#define EXRNIC_DP_STORE_TO_PAGE(to, word) (note('S'), (void)(*(to) = (word)))
#define EXRNIC_DP_IOMEM
#include "exrnic_data_path.h"
#include "exrnic_driver.h"
#include "exrnic_post.h"

/* In a check: what does not hold ends it, and is its result. */
#define TEXT_OF(text) #text
#define LINE_OF(line) TEXT_OF(line)
#define HOLDS(condition) \
  if (!(condition)) return "line " LINE_OF(__LINE__) ": " #condition

static int order_is(const char* expected) {
  unsigned i;
  int same = 1;

  for (i = 0; i < order_length; i++) same = same && expected[i] == order[i];
  same = same && expected[order_length] == 0;
  order_length = 0;
  return same;
}

enum { WORDS = 4096 / 8, SLOTS = 8 };
static uint64_t page_words[WORDS];
static const struct exrnic_user_page page = {page_words, NULL, NULL};

static uint64_t word_of(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }

static const char* check_doorbell(void) {
  struct exrnic_wqe slots[SLOTS];
  const struct exrnic_ring ring = {slots, SLOTS, EXRNIC_DOORBELL_RQ, 0xffff};

  exrnic_ring_doorbell(&page, EXRNIC_DOORBELL_SRQ, 7, 0x1234);
  HOLDS(order_is("SF"));
  HOLDS(page_words[EXRNIC_DOORBELL_SRQ / 8] == word_of(7, 0x1234));
  exrnic_ring_announce(&ring, &page, 9);
  HOLDS(order_is("WSF"));
  HOLDS(page_words[EXRNIC_DOORBELL_RQ / 8] == word_of(9, 0xffff));
  return NULL;
}

static const char* check_block(void) {
  static struct exrnic_wqe wqe;
  uint32_t next = 0, i;

  wqe.remote_to = 0x1122334455667788;
  wqe.num_slots = 1;
  HOLDS(!exrnic_suits_block(&wqe));
  wqe.flags = EXRNIC_WQE_FLAGS_INLINE;
  HOLDS(exrnic_suits_block(&wqe));
  for (i = 0; i < EXRNIC_PIO_BLOCKS; i++) {
    const uint64_t* at = page_words + (EXRNIC_PIO_AREA + i * sizeof(wqe)) / 8;

    exrnic_send_block(&page, &next, &wqe, 40 + i, (uint16_t)i);
    HOLDS(order_is("WSSSSSSSSF"));
    HOLDS(at[1] == 0x1122334455667788);
    HOLDS(at[offsetof(struct exrnic_wqe, number) / 8] == word_of(40 + i, i));
  }
  HOLDS(next == 0);
  wqe.num_slots = 2;
  HOLDS(!exrnic_suits_block(&wqe));
  return NULL;
}

static const char* check_channel_block(void) {
  static struct exrnic_channel_work work;

  work.id = 5;
  exrnic_send_channel_block(&page, &work, 3, 6);
  HOLDS(order_is("WSSSSSSSSF"));
  HOLDS(page_words[(EXRNIC_PIO_FIRMWARE + offsetof(struct exrnic_channel_work, number)) / 8] ==
        word_of(3, 6));
  return NULL;
}

static uint32_t taken_offset;
static uint64_t taken_words[8];
static size_t taken_count;
static void take(void* owner, uint32_t offset, const uint64_t* words, size_t count) {
  *(int*)owner += 1;
  taken_offset = offset;
  taken_count = count;
  for (; count > 0; count--) taken_words[count - 1] = words[count - 1];
}

static const char* check_page_by_a_call(void) {
  int calls = 0;
  const struct exrnic_user_page away = {NULL, take, &calls};
  static struct exrnic_wqe wqe;
  uint32_t next = EXRNIC_PIO_BLOCKS - 1;

  exrnic_ring_doorbell(&away, EXRNIC_DOORBELL_CQ, 1, 2);
  HOLDS(calls == 1 && taken_offset == EXRNIC_DOORBELL_CQ && taken_count == 1);
  HOLDS(taken_words[0] == word_of(1, 2));
  exrnic_send_block(&away, &next, &wqe, 1, 1);
  HOLDS(calls == 2 && taken_count == 8);
  HOLDS(taken_offset == EXRNIC_PIO_AREA + (EXRNIC_PIO_BLOCKS - 1) * sizeof(wqe));
  HOLDS(order_is("FWF"));
  return NULL;
}

static const char* check_room_of_work(void) {
  struct exrnic_work work;

  HOLDS(exrnic_slots_for_elements(0) == 1);
  HOLDS(exrnic_slots_for_elements(EXRNIC_WQE_SGES) == 1);
  HOLDS(exrnic_slots_for_elements(EXRNIC_WQE_SGES + 1) == 2);
  HOLDS(exrnic_slots_for_elements(EXRNIC_MAX_SGE) == EXRNIC_WQE_SLOTS_MAX);
  HOLDS(exrnic_slots_for_bytes(EXRNIC_WORK_ROOM(2)) == 2);
  HOLDS(exrnic_slots_for_bytes(EXRNIC_WORK_ROOM(2) + 1) == 3);
  HOLDS(exrnic_work_payload(&work) == (uint8_t*)&work.head.sge0_address);
  return NULL;
}

static const char* check_shapes(void) {
  struct exrnic_queue_shape shape;
  uint32_t wrs, elements, inline_bytes;

  for (wrs = 1; wrs < 200; wrs++)
    for (elements = 0; elements <= EXRNIC_MAX_SGE; elements++)
      for (inline_bytes = 0; inline_bytes <= EXRNIC_INLINE_MAX; inline_bytes++) {
        const struct exrnic_queue_shape asked = {wrs, elements, inline_bytes, 0};
        const uint32_t each = exrnic_shape_slots_each(&asked);
        const bool fits = wrs * each <= 256;

        shape = asked;
        HOLDS(exrnic_shape_grant(&shape, 256) == fits);
        if (!fits) continue;
        HOLDS(shape.wrs >= wrs && shape.wrs * each <= shape.slots && shape.slots <= 256);
        HOLDS((shape.slots & (shape.slots - 1)) == 0);
        HOLDS(shape.elements >= elements && shape.elements <= EXRNIC_MAX_SGE);
        HOLDS(shape.inline_bytes >= inline_bytes && shape.inline_bytes <= EXRNIC_INLINE_MAX);
        HOLDS(exrnic_shape_slots_each(&shape) == each);
      }
  shape.wrs = 0;
  HOLDS(!exrnic_shape_grant(&shape, 256));
  return NULL;
}

static struct exrnic_sge element_of(uint64_t address, uint32_t length) {
  const struct exrnic_sge element = {address, length, 7};

  return element;
}

static const char* check_elements(void) {
  static struct exrnic_work work;
  uint8_t bytes[EXRNIC_INLINE_MAX];
  struct exrnic_sge list[EXRNIC_MAX_SGE];
  uint32_t i, count;

  for (i = 0; i < EXRNIC_MAX_SGE; i++) list[i] = element_of(0x1000 + i, i % 3);
  for (count = 0; count <= EXRNIC_MAX_SGE; count++) {
    for (i = 0; i < sizeof(work); i++) ((uint8_t*)&work)[i] = 0xff; /* of one before */
    HOLDS(exrnic_work_put_elements(&work, list, count) == exrnic_slots_for_elements(count));
    HOLDS(work.head.num_sge == count && work.head.length == exrnic_elements_bytes(list, count));
    HOLDS(work.head.num_slots == exrnic_slots_for_elements(count));
    for (i = 0; i < count; i++)
      HOLDS(exrnic_element(exrnic_work_payload(&work), i).address == 0x1000 + i);
    /* Slots that it does not take are not its. */
    for (i = work.head.num_slots * (uint32_t)sizeof(work.head); i < sizeof(work); i++)
      HOLDS(((uint8_t*)&work)[i] == 0xff);
    if (count < EXRNIC_MAX_SGE && count > 2 && (count - 2) % EXRNIC_WQE_SLOT_SGES != 0)
      HOLDS(exrnic_element(exrnic_work_payload(&work), count).address == 0);
  }
  HOLDS(exrnic_elements_reads(list, 4) == 2 && exrnic_elements_reads(list, 0) == 1);
  list[0].length = EXRNIC_MESSAGE_MAX;
  HOLDS(exrnic_work_put_elements(&work, list, 1) == 1);
  HOLDS(exrnic_work_put_elements(&work, list, 2) == 0);

  for (i = 0; i < sizeof(bytes); i++) bytes[i] = (uint8_t)i;
  list[0] = element_of((uintptr_t)bytes, 30);
  list[1] = element_of(0, 0);
  list[2] = element_of((uintptr_t)(bytes + 30), 34);
  HOLDS(exrnic_work_put_inline(&work, list, 3, 63) == 0);
  HOLDS(exrnic_work_put_inline(&work, list, 3, 64) == 2);
  HOLDS(work.head.length == 64);
  for (i = 0; i < 64; i++) HOLDS(exrnic_work_payload(&work)[i] == i);
  exrnic_work_put_operands(&work, 5, 0x900000008);
  HOLDS(work.head.sge1_address == 5 && work.head.sge1_length == 8 && work.head.sge1_stag == 9);
  return NULL;
}

static const char* check_work_queue(void) {
  static struct exrnic_wqe slots[SLOTS];
  static uint64_t wr_ids[SLOTS];
  struct exrnic_work_queue queue = {{slots, SLOTS, EXRNIC_DOORBELL_SQ, 0}, wr_ids, 0};
  struct exrnic_work work;
  uint64_t wr_id = 0;
  uint32_t first, i;

  for (i = 0; i < sizeof(work); i++) ((uint8_t*)&work)[i] = (uint8_t)(i / 64 + 1);
  for (first = 0; first < 70000; first += 3) { /* around ring and index */
    HOLDS(exrnic_work_queue_has_room(&queue, SLOTS));
    exrnic_work_queue_put(&queue, &work, 3, first);
    HOLDS(exrnic_ring_posted(&queue.ring) == (uint16_t)(first + 3));
    for (i = 0; i < 3; i++) HOLDS(slots[(first + i) % SLOTS].opcode == i + 1);
    HOLDS(exrnic_work_queue_has_room(&queue, SLOTS - 3));
    HOLDS(!exrnic_work_queue_has_room(&queue, SLOTS - 2));
    HOLDS(!exrnic_work_queue_complete(&queue, (uint16_t)(first + 3), &wr_id));
    HOLDS(!exrnic_work_queue_complete(&queue, (uint16_t)(first - 1), &wr_id));
    HOLDS(!exrnic_work_queue_complete(&queue, 0x10000u + (uint16_t)(first + 2), &wr_id));
    HOLDS(exrnic_work_queue_complete(&queue, (uint16_t)(first + 2), &wr_id));
    HOLDS(wr_id == first);
    HOLDS(!exrnic_work_queue_complete(&queue, (uint16_t)(first + 2), &wr_id));
  }
  exrnic_work_queue_put(&queue, &work, 1, 1);
  exrnic_work_queue_take_back(&queue, (uint16_t)first);
  HOLDS(exrnic_work_queue_has_room(&queue, SLOTS));
  HOLDS(!exrnic_work_queue_complete(&queue, (uint16_t)first, &wr_id));
  exrnic_work_queue_put(&queue, &work, 1, 1);
  exrnic_work_queue_reset(&queue);
  HOLDS(exrnic_ring_posted(&queue.ring) == 0);
  HOLDS(exrnic_work_queue_has_room(&queue, SLOTS));
  HOLDS(!exrnic_work_queue_complete(&queue, 0, &wr_id));
  return NULL;
}

static uint64_t shared_wr_ids[EXRNIC_SHARED_INDICES];
static uint8_t shared_busy[EXRNIC_SHARED_INDICES];

static const char* check_shared_queue(void) {
  static struct exrnic_wqe slots[SLOTS];
  struct exrnic_shared_queue queue = {
      {slots, SLOTS, EXRNIC_DOORBELL_SRQ, 0}, shared_wr_ids, shared_busy, 0};
  static struct exrnic_work work;
  uint64_t wr_id = 0;
  uint32_t i;

  for (i = 0; i < 2 * SLOTS; i += 4) {
    exrnic_shared_queue_put(&queue, &work, 2, i);
    exrnic_shared_queue_put(&queue, &work, 2, i + 2);
    HOLDS(exrnic_shared_queue_has_room(&queue, 4));
    HOLDS(!exrnic_shared_queue_has_room(&queue, 5));
    /* The later one first, by its last slot; the earlier one by its first. */
    HOLDS(exrnic_shared_queue_complete(&queue, i + 3, &wr_id) && wr_id == i + 2);
    /* Which has taken the earlier one before. */
    HOLDS(exrnic_shared_queue_has_room(&queue, SLOTS));
    HOLDS(!exrnic_shared_queue_has_room(&queue, SLOTS + 1));
    HOLDS(!exrnic_shared_queue_complete(&queue, i + 3, &wr_id));
    HOLDS(!exrnic_shared_queue_complete(&queue, 0x10000u + i, &wr_id));
    HOLDS(exrnic_shared_queue_complete(&queue, i, &wr_id) && wr_id == i);
    HOLDS(exrnic_shared_queue_has_room(&queue, SLOTS));
  }
  return NULL;
}

/* As long as there are indices: those are 16 bits. */
static const char* check_long_message(void) {
  static struct exrnic_wqe slots[SLOTS];
  struct exrnic_shared_queue queue = {
      {slots, SLOTS, EXRNIC_DOORBELL_SRQ, 0}, shared_wr_ids, shared_busy, 0};
  static struct exrnic_work work;
  uint64_t wr_id = 0;
  uint32_t i;

  exrnic_shared_queue_put(&queue, &work, 2, 77);
  for (i = 2; i < EXRNIC_SHARED_INDICES; i += 2) {
    HOLDS(exrnic_shared_queue_has_room(&queue, 2));
    exrnic_shared_queue_put(&queue, &work, 2, i);
    HOLDS(exrnic_shared_queue_complete(&queue, i + 1, &wr_id) && wr_id == i);
    HOLDS(exrnic_shared_queue_has_room(&queue, i + SLOTS < EXRNIC_SHARED_INDICES ? SLOTS : 1) ==
          (i + 2 < EXRNIC_SHARED_INDICES));
  }
  HOLDS(exrnic_shared_queue_complete(&queue, 1, &wr_id) && wr_id == 77);
  HOLDS(queue.taken == 0); /* which says nothing new */
  HOLDS(exrnic_shared_queue_has_room(&queue, SLOTS));
  return NULL;
}

/* At each index: 16 bits of them, and those that are 3 apart come by all. */
static const char* check_late_end(void) {
  static struct exrnic_wqe slots[SLOTS];
  struct exrnic_shared_queue queue = {
      {slots, SLOTS, EXRNIC_DOORBELL_SRQ, 0}, shared_wr_ids, shared_busy, 0};
  static struct exrnic_work work;
  uint64_t wr_id = 0;
  uint32_t i, j;

  for (i = 0; i < 3 * EXRNIC_SHARED_INDICES; i += 3) {
    for (j = 0; j < 3; j++) exrnic_shared_queue_put(&queue, &work, 1, j);
    HOLDS(exrnic_shared_queue_complete(&queue, (uint16_t)(i + 1), &wr_id) && wr_id == 1);
    HOLDS(exrnic_shared_queue_complete(&queue, (uint16_t)i, &wr_id) && wr_id == 0);
    HOLDS(queue.taken == (uint16_t)(i + 2));
    HOLDS(exrnic_shared_queue_complete(&queue, (uint16_t)(i + 2), &wr_id) && wr_id == 2);
    HOLDS(queue.taken == (uint16_t)(i + 3));
  }
  return NULL;
}

static const char* check_completion_queue(void) {
  static struct exrnic_cqe entries[SLOTS];
  struct exrnic_cq_ring cq = {entries, SLOTS, 3, 0, 0};
  uint32_t round, i;

  HOLDS(exrnic_cq_capacity(SLOTS) == 7);
  for (i = 1; i < 1000; i++)
    HOLDS(exrnic_cq_capacity(exrnic_cq_ring_for(i)) >= i &&
          (exrnic_cq_ring_for(i) == SLOTS || exrnic_cq_capacity(exrnic_cq_ring_for(i) / 2) < i));
  for (round = 0; round < 3; round++) {
    HOLDS(exrnic_cq_at(&cq, cq.consumer) == NULL);
    for (i = 0; i < SLOTS; i++) { /* as the device: all there is room for */
      entries[i].qpn = i;
      entries[i].phase = (uint8_t)((round + 1) & 1);
    }
    for (i = 0; i < SLOTS; i++) HOLDS(exrnic_cq_at(&cq, cq.consumer + i)->qpn == i);
    HOLDS(exrnic_cq_at(&cq, cq.consumer + SLOTS) == NULL);
    exrnic_cq_move(&cq, cq.consumer + 1, cq.consumer + 2);
    HOLDS(exrnic_cq_at(&cq, cq.consumer + 2)->qpn == 1);
    cq.consumer += 1;
    exrnic_cq_report_if_due(&cq, &page, cq.num_entries);
    HOLDS(order_is(""));
    cq.consumer += 1;
    exrnic_cq_report_if_due(&cq, &page, cq.num_entries);
    HOLDS(order_is("LSF"));
    HOLDS(page_words[EXRNIC_DOORBELL_CQ / 8] == word_of(3, cq.consumer));
    HOLDS(cq.reported == cq.consumer);
    cq.consumer += SLOTS - 2;
    exrnic_cq_report(&cq, &page, EXRNIC_DOORBELL_CQ_ARM);
    HOLDS(order_is("LSF"));
    HOLDS(page_words[EXRNIC_DOORBELL_CQ_ARM / 8] == word_of(3, cq.consumer));
  }
  return NULL;
}

/* Of one queue pair, whose receives are of a shared queue, among those of another. */
static const char* check_drop(void) {
  static struct exrnic_cqe entries[SLOTS];
  static struct exrnic_wqe slots[SLOTS];
  static struct exrnic_work work;
  uint32_t first, which, i, left;

  for (first = (uint32_t)-2 * SLOTS; first != 2 * SLOTS; first++)
    for (which = 0; which < 64; which++) { /* bit i: entry i is of the one that goes */
      struct exrnic_cq_ring cq = {entries, SLOTS, 3, first, first};
      struct exrnic_shared_queue shared = {
          {slots, SLOTS, EXRNIC_DOORBELL_SRQ, 0}, shared_wr_ids, shared_busy, 0};

      for (i = 0; i < 16; i++) shared_busy[i] = 0;
      for (i = 0, left = 0; i < SLOTS; i++) {
        struct exrnic_cqe* cqe = exrnic_cq_place(&cq, first + i);
        const bool written = i < 6;

        cqe->qpn = which >> i & 1 ? 5 : 6;
        cqe->opcode = EXRNIC_WQE_OPCODE_RECV;
        cqe->wqe_index = (uint16_t)i;
        cqe->phase = (uint8_t)(exrnic_cq_phase(&cq, first + i) ^ !written);
        if (!written) continue;
        exrnic_shared_queue_put(&shared, &work, 1, i);
        left += cqe->qpn == 6;
      }
      exrnic_cq_drop(&cq, 5, &shared);
      HOLDS(cq.consumer == first + 6 - left);
      for (i = 0; i < 6; i++) {
        HOLDS((shared_busy[i] != 0) == !(which >> i & 1));
        if (which >> i & 1) continue;
        HOLDS(exrnic_cq_at(&cq, cq.consumer) != NULL);
        HOLDS(exrnic_cq_at(&cq, cq.consumer)->wqe_index == i);
        cq.consumer++;
      }
      HOLDS(exrnic_cq_at(&cq, cq.consumer) == NULL);
    }
  for (i = 0; i < 16; i++) shared_busy[i] = 0;
  return NULL;
}

/* As the device: writes CQE `index`, which says so. */
static void write_cqe(const struct exrnic_cq_ring* cq, uint32_t index) {
  exrnic_cq_place(cq, index)->qpn = index;
  exrnic_cq_place(cq, index)->phase = exrnic_cq_phase(cq, index);
}

/* From each index around the ends of a round, and of all indices. */
static const char* check_change_of_ring(void) {
  static struct exrnic_cqe before[2 * SLOTS], after[4 * SLOTS];
  static const uint32_t sizes[] = {SLOTS, 2 * SLOTS, 4 * SLOTS};
  uint32_t size, first, unread, i;

  for (size = 0; size < 3; size++) {
    for (first = (uint32_t)-5 * SLOTS; first != 5 * SLOTS; first++) {
      for (unread = 0; unread <= SLOTS; unread++) {
        struct exrnic_cq_ring cq = {before, 2 * SLOTS, 3, first, first};
        const uint32_t producer = first + unread;

        for (i = 0; i < 2 * SLOTS; i++) write_cqe(&cq, first - 2 * SLOTS + i);
        for (i = first; i != producer; i++) write_cqe(&cq, i);
        exrnic_cq_clear(after, sizes[size]);
        exrnic_cq_change_ring(&cq, after, sizes[size], producer);
        for (i = first; i != producer; i++)
          HOLDS(exrnic_cq_at(&cq, i) && exrnic_cq_at(&cq, i)->qpn == i);
        HOLDS(exrnic_cq_at(&cq, producer) == NULL);
        HOLDS(cq.consumer == first && cq.reported == first && cq.number == 3);
        for (i = unread; i < sizes[size]; i++) write_cqe(&cq, first + i);
        for (i = 0; i < sizes[size]; i++) HOLDS(exrnic_cq_at(&cq, first + i)->qpn == first + i);
        HOLDS(exrnic_cq_at(&cq, first + sizes[size]) == NULL);
      }
    }
  }
  return NULL;
}

static const char* check_stags(void) {
  uint32_t last, random;

  for (last = 0; last < 256; last++) {
    unsigned char seen[256] = {0};

    for (random = 0; random < 255; random++) {
      const uint32_t stag = exrnic_next_stag(3, (uint8_t)last, random);

      HOLDS(stag >> EXRNIC_STAG_INDEX_SHIFT == 3);
      seen[stag & 0xff] = 1;
    }
    for (random = 0; random < 256; random++) HOLDS(seen[random] == (random != last));
  }
  return NULL;
}

static const char* check_refusals(void) {
  HOLDS(exrnic_mbox_status_errno(EXRNIC_MBOX_OP_NOP, EXRNIC_MBOX_STATUS_OK) == 0);
  HOLDS(exrnic_mbox_status_errno(EXRNIC_MBOX_OP_CREATE_QP, EXRNIC_MBOX_STATUS_BAD_PARAMETER) ==
        EINVAL);
  HOLDS(exrnic_mbox_status_errno(EXRNIC_MBOX_OP_CREATE_QP, EXRNIC_MBOX_STATUS_NO_ROOM) == ENOSPC);
  HOLDS(exrnic_mbox_status_errno(EXRNIC_MBOX_OP_MODIFY_QP, EXRNIC_MBOX_STATUS_BAD_STATE) == EPERM);
  HOLDS(exrnic_mbox_status_errno(EXRNIC_MBOX_OP_MODIFY_QP, EXRNIC_MBOX_STATUS_BAD_INDEX) == EIO);
  HOLDS(exrnic_mbox_status_errno(EXRNIC_MBOX_OP_DESTROY_QP, EXRNIC_MBOX_STATUS_BAD_STATE) == EIO);
  HOLDS(exrnic_mbox_status_errno(EXRNIC_MBOX_OP_ATTACH_GROUP, EXRNIC_MBOX_STATUS_BAD_INDEX) ==
        ENOSPC);
  HOLDS(exrnic_mbox_status_errno(EXRNIC_MBOX_OP_ATTACH_GROUP, 99) == EIO);
  HOLDS(exrnic_mbox_status_errno(EXRNIC_MBOX_OP_RESIZE_CQ, EXRNIC_MBOX_STATUS_BAD_STATE) == ENOSPC);
  return NULL;
}

/* The first check that fails, as a sentence and where; or NULL. */
static const char* run_checks(const char** what) {
  static const struct {
    const char* what;
    const char* (*run)(void);
  } checks[] = {
      {"a doorbell is one store, behind what it speaks of, and leaves at once", check_doorbell},
      {"blocks go in turn, whole, with the doorbell that they are", check_block},
      {"the block of a channel is its doorbell", check_channel_block},
      {"a page that is not mapped takes the same stores by a call", check_page_by_a_call},
      {"a work request takes the slots that its elements or bytes need", check_room_of_work},
      {"a queue grants no less than it is asked for, and what its slots have room for",
       check_shapes},
      {"elements and inline bytes take their slots, and leave nothing of what was there before",
       check_elements},
      {"work ends in order, and gives its slots back, around the index", check_work_queue},
      {"shared receives end in any order, each as a whole", check_shared_queue},
      {"a shared receive that does not end holds none of the others up", check_long_message},
      {"a shared receive that ends late takes nothing back", check_late_end},
      {"a CQE is new by its phase, and its place is given back", check_completion_queue},
      {"completions of a queue pair that goes are gone, and those of others close up", check_drop},
      {"a queue that gets another ring takes along what is new, to its place in that one",
       check_change_of_ring},
      {"an STag has any key but the last one of its index", check_stags},
      {"a refusal of the device is an errno, which the command has a part in", check_refusals}};
  size_t i;

  for (i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
    const char* wrong = checks[i].run();

    *what = checks[i].what;
    if (wrong != NULL) return wrong;
  }
  return NULL;
}

#endif
