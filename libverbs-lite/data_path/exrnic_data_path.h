// SPDX-License-Identifier: BSD-2-Clause
/*
 * The data path of the device, in C11 and C++17: queues of work requests, doorbells, PIO blocks and
 * completion queues, each with the order that it needs. No system call, no read of a register, and
 * no copy of a message's bytes, but for those that a work request has inline.
 *
 * It needs exrnic_hw.h and nothing else: no library, no memory of its own. Whoever uses it
 * allocates rings and tables, tells the device of them by its control path, and locks. The words of
 * rings and pages are little-endian; numbers that these functions take and give are the
 * processor's. Indices run freely: of work queues modulo 2^16, of completion queues modulo 2^32, as
 * the device's do. A slot, or an entry, is the index modulo the size, a power of two.
 *
 * Threads: posting to a queue is one thread's at a time, and so is polling a completion queue; a
 * caller with several of either locks. Who posts and who polls need no lock between them. Of a user
 * page one thread at a time stores PIO blocks; doorbells are stores of their own, of any thread.
 *
 * In a kernel, or for another processor, the macros EXRNIC_DP_* are defined before it is included
 * (Linux: kmod/include/exrnic_kernel_path.h).
 */
#ifndef EXRNIC_DATA_PATH_H
#define EXRNIC_DATA_PATH_H

#include "exrnic_hw.h"
#ifndef __KERNEL__
#include <stdbool.h>
#endif

/* ---- What the surroundings provide */

/*
 * Rings are ordinary write-back memory that the device reads and writes by DMA; the user page is
 * write-combining device memory: stores to it may leave late, together, and out of order. So an
 * order is needed towards the device, not only between processors: on x86 stores are kept apart by
 * sfence, which also empties the write-combining buffers; on Arm it takes a barrier of the outer
 * shareable domain, or one that waits for the stores to have left.
 */
#ifndef EXRNIC_DP_STORE_BARRIER
#if defined(__x86_64__)
/* Stores before it, then stores behind it. */
#define EXRNIC_DP_STORE_BARRIER() __asm__ volatile("sfence" ::: "memory")
/* Loads before it, then stores behind it: an x86 processor keeps that; the compiler must be told.
 */
#define EXRNIC_DP_LOAD_STORE_BARRIER() __asm__ volatile("" ::: "memory")
/* What was stored to write-combining memory leaves the processor. */
#define EXRNIC_DP_FLUSH_BARRIER() __asm__ volatile("sfence" ::: "memory")
#elif defined(__aarch64__)
#define EXRNIC_DP_STORE_BARRIER() __asm__ volatile("dmb oshst" ::: "memory")
#define EXRNIC_DP_LOAD_STORE_BARRIER() __asm__ volatile("dmb oshld" ::: "memory")
#define EXRNIC_DP_FLUSH_BARRIER() __asm__ volatile("dsb st" ::: "memory")
#else
#error "define EXRNIC_DP_STORE_BARRIER, ..LOAD_STORE_BARRIER and ..FLUSH_BARRIER for this processor"
#endif
#endif

/*
 * Between processors: as smp_load_acquire(), smp_store_release(), READ_ONCE(), WRITE_ONCE(),
 * try_cmpxchg_release().
 */
#ifndef EXRNIC_DP_LOAD_ACQUIRE
#define EXRNIC_DP_LOAD_ACQUIRE(from) __atomic_load_n(from, __ATOMIC_ACQUIRE)
#define EXRNIC_DP_STORE_RELEASE(to, value) __atomic_store_n(to, value, __ATOMIC_RELEASE)
#define EXRNIC_DP_LOAD(from) __atomic_load_n(from, __ATOMIC_RELAXED)
#define EXRNIC_DP_STORE(to, value) __atomic_store_n(to, value, __ATOMIC_RELAXED)
#define EXRNIC_DP_EXCHANGE_IF(at, expected, value) \
  __atomic_compare_exchange_n(at, expected, value, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)
#endif

/*
 * One store of 8 bytes, as they lie in memory, to a page of the device: as __raw_writeq(). What is
 * said of such a page's addresses: as __iomem.
 */
#ifndef EXRNIC_DP_STORE_TO_PAGE
#define EXRNIC_DP_STORE_TO_PAGE(to, word) ((void)(*(to) = (word)))
#define EXRNIC_DP_IOMEM
#endif

/* A number as it lies in memory, and one that lies there: as cpu_to_le32(), le16_to_cpu(). */
#ifndef EXRNIC_DP_LE32
#define EXRNIC_DP_LE32(value) (value)
#define EXRNIC_DP_FROM_LE16(value) (value)
#endif

#ifndef EXRNIC_DP_COPY
#define EXRNIC_DP_COPY(to, from, bytes) __builtin_memcpy(to, from, bytes)
#endif

/* ---- Ordering points, each named for what it orders */

/*
 * The bytes of a work request are in memory before the doorbell or PIO block that speaks of it
 * reaches the device: its read of them (a PCIe read request caused by that store) must find them.
 */
static inline void exrnic_wmb_wqe_before_doorbell(void) { EXRNIC_DP_STORE_BARRIER(); }

/*
 * A doorbell, or all of a PIO block, leaves for the device now, and before all stores to the user
 * page behind this point.
 */
static inline void exrnic_wmb_flush_user_page(void) { EXRNIC_DP_FLUSH_BARRIER(); }

/* Stores into remote windows leave for the device now, and before all stores behind this point. */
static inline void exrnic_wmb_flush_windows(void) { EXRNIC_DP_FLUSH_BARRIER(); }

/*
 * The CQEs have been read before the doorbell that gives their places back reaches the device: its
 * next writes go there.
 */
static inline void exrnic_mb_cqe_read_before_doorbell(void) { EXRNIC_DP_LOAD_STORE_BARRIER(); }

/*
 * The phase byte of a CQE has been read before the rest of it. The device writes it last, so who
 * sees the new phase sees the whole CQE, and all data that it speaks of.
 */
static inline uint8_t exrnic_load_phase_before_cqe(const uint8_t* phase) {
  return EXRNIC_DP_LOAD_ACQUIRE(phase);
}

/* ---- The user page */

/*
 * Where the device takes doorbells and PIO blocks: mapped, or, where there is no device to map, by
 * a call that takes the stores: of 8 bytes each, at consecutive offsets (multiples of 8), in order.
 */
struct exrnic_user_page {
  volatile uint64_t EXRNIC_DP_IOMEM* mapped; /* else NULL */
  void (*store)(void* owner, uint32_t offset, const uint64_t* words, size_t count);
  void* owner;
};

static inline void exrnic_user_page_store(const struct exrnic_user_page* page, uint32_t offset,
                                          const uint64_t* words, size_t count) {
  volatile uint64_t EXRNIC_DP_IOMEM* to;
  size_t i;

  if (page->mapped == NULL) {
    page->store(page->owner, offset, words, count);
    return;
  }
  to = page->mapped + offset / sizeof(*to);
  for (i = 0; i < count; i++) EXRNIC_DP_STORE_TO_PAGE(to + i, words[i]);
}

/*
 * Rings EXRNIC_DOORBELL_*, in one store: two of 4 bytes would be two doorbells, both malformed. The
 * ordering point that fits goes before it. It has left the processor when this returns.
 */
static inline void exrnic_ring_doorbell(const struct exrnic_user_page* page, uint32_t doorbell,
                                        uint32_t number, uint32_t index) {
  const struct exrnic_doorbell value = {EXRNIC_DP_LE32(number), EXRNIC_DP_LE32(index)};
  uint64_t word;

  EXRNIC_ASSERT(sizeof(value) == sizeof(word));
  EXRNIC_DP_COPY(&word, &value, sizeof(word));
  exrnic_user_page_store(page, doorbell, &word, 1);
  exrnic_wmb_flush_user_page();
}

/*
 * Stores a PIO block: a work request of one slot, or a piece of a channel's work, of 64 bytes, that
 * also stands in its ring. The device takes one block of a page at a time.
 */
static inline void exrnic_store_block(const struct exrnic_user_page* page, uint32_t offset,
                                      const void* block) {
  uint64_t words[sizeof(struct exrnic_wqe) / sizeof(uint64_t)];

  EXRNIC_DP_COPY(words, block, sizeof(words));
  exrnic_wmb_wqe_before_doorbell();
  exrnic_user_page_store(page, offset, words, sizeof(words) / sizeof(words[0]));
  exrnic_wmb_flush_user_page();
}

/* Whether this work request may go as a block: one slot, its bytes inline. */
static inline bool exrnic_suits_block(const struct exrnic_wqe* head) {
  return head->num_slots == 1 && (head->flags & EXRNIC_WQE_FLAGS_INLINE) != 0;
}

/*
 * Where the next block of a page goes. *next: 0 at first. In turn, so that no two share a
 * write-combining buffer.
 */
static inline uint32_t exrnic_next_block(uint32_t* next) {
  const uint32_t offset = EXRNIC_PIO_AREA + *next * (uint32_t)sizeof(struct exrnic_wqe);

  *next = (*next + 1) % EXRNIC_PIO_BLOCKS;
  return offset;
}

/*
 * The block of a work request of that queue pair; `index`: slots posted with it. *next: as of
 * exrnic_next_block().
 */
static inline void exrnic_send_block(const struct exrnic_user_page* page, uint32_t* next,
                                     const struct exrnic_wqe* wqe, uint32_t number,
                                     uint16_t index) {
  struct exrnic_wqe block = *wqe;

  block.number = EXRNIC_DP_LE32(number);
  block.index = EXRNIC_DP_LE32(index);
  exrnic_store_block(page, exrnic_next_block(next), &block);
}

/* Likewise of the message channel of that page; number and index: those of its doorbell. */
static inline void exrnic_send_channel_block(const struct exrnic_user_page* page,
                                             const struct exrnic_channel_work* work,
                                             uint32_t number, uint32_t index) {
  struct exrnic_channel_work block = *work;

  EXRNIC_ASSERT(sizeof(block) == sizeof(struct exrnic_wqe));
  block.number = EXRNIC_DP_LE32(number);
  block.index = EXRNIC_DP_LE32(index);
  exrnic_store_block(page, EXRNIC_PIO_FIRMWARE, &block);
}

/* ---- Work requests */

/*
 * One, through as many slots as it needs: its header, then elements or inline data, which begin at
 * sge0_address. What is not used of a slot is zero.
 */
struct exrnic_work {
  struct exrnic_wqe head;
  struct exrnic_sge more[(EXRNIC_WQE_SLOTS_MAX - 1) * EXRNIC_WQE_SLOT_SGES];
};
EXRNIC_ASSERT(sizeof(struct exrnic_work) == EXRNIC_WQE_SLOTS_MAX * sizeof(struct exrnic_wqe));

static inline uint8_t* exrnic_work_payload(struct exrnic_work* work) {
  return (uint8_t*)work + offsetof(struct exrnic_wqe, sge0_address);
}

/* Bytes of elements or inline data that a work request of so many slots has room for. */
#define EXRNIC_WORK_ROOM(slots)                            \
  (EXRNIC_WQE_SGES * (uint32_t)sizeof(struct exrnic_sge) + \
   ((slots) - 1) * (uint32_t)sizeof(struct exrnic_wqe))

/* Slots of a work request with so many of them. */
static inline uint32_t exrnic_slots_for_bytes(uint32_t bytes) {
  uint32_t slots = 1;

  while (EXRNIC_WORK_ROOM(slots) < bytes) slots++;
  return slots;
}
static inline uint32_t exrnic_slots_for_elements(uint32_t elements) {
  return exrnic_slots_for_bytes(elements * (uint32_t)sizeof(struct exrnic_sge));
}
EXRNIC_ASSERT(EXRNIC_WORK_ROOM(EXRNIC_WQE_SLOTS_MAX) >= EXRNIC_MAX_SGE * sizeof(struct exrnic_sge));

/* ---- Shapes of queues */

/* What a queue of work requests is asked for, and then grants: all that its slots have room for. */
struct exrnic_queue_shape {
  uint32_t wrs;
  uint32_t elements;     /* of each, at most EXRNIC_MAX_SGE */
  uint32_t inline_bytes; /* likewise, at most EXRNIC_INLINE_MAX */
  uint32_t slots;        /* of its ring; a power of two */
};

/* Slots of its largest work request. */
static inline uint32_t exrnic_shape_slots_each(const struct exrnic_queue_shape* shape) {
  const uint32_t elements = exrnic_slots_for_elements(shape->elements);
  const uint32_t inline_bytes = exrnic_slots_for_bytes(shape->inline_bytes);

  return elements > inline_bytes ? elements : inline_bytes;
}

/* The least size of a ring, of slots or of CQEs, that holds so many. */
static inline uint32_t exrnic_ring_size(uint32_t count) {
  uint32_t size = 1u << EXRNIC_RING_LOG_MIN;

  while (size < count) size *= 2;
  return size;
}

/*
 * Rounds up to whole slots and a ring of the device. False: wrs is not 1 to most_slots /
 * exrnic_shape_slots_each().
 */
static inline bool exrnic_shape_grant(struct exrnic_queue_shape* shape, uint32_t most_slots) {
  const uint32_t each = exrnic_shape_slots_each(shape);
  const uint32_t room = EXRNIC_WORK_ROOM(each);
  const uint32_t elements = room / (uint32_t)sizeof(struct exrnic_sge);

  if (shape->wrs == 0 || shape->wrs > most_slots / each) return false;
  shape->slots = exrnic_ring_size(shape->wrs * each);
  shape->wrs = shape->slots / each;
  shape->elements = elements < EXRNIC_MAX_SGE ? elements : EXRNIC_MAX_SGE;
  shape->inline_bytes = room < EXRNIC_INLINE_MAX ? room : EXRNIC_INLINE_MAX;
  return true;
}

/* ---- Queues of work requests */

/* What all have: a ring of slots that the device reads, and the place of the next one. */
struct exrnic_ring {
  struct exrnic_wqe* slots;
  uint32_t num_slots; /* a power of two */
  uint32_t doorbell;  /* EXRNIC_DOORBELL_* */
  uint16_t tail;      /* slots posted */
};

static inline uint32_t exrnic_ring_slot(const struct exrnic_ring* ring, uint16_t index) {
  return index & (ring->num_slots - 1);
}

static inline uint16_t exrnic_ring_posted(const struct exrnic_ring* ring) {
  return EXRNIC_DP_LOAD(&ring->tail);
}

static inline void exrnic_ring_write(struct exrnic_ring* ring, uint16_t tail,
                                     const struct exrnic_work* work, uint32_t count) {
  const uint8_t* from = (const uint8_t*)work;
  uint32_t i;

  for (i = 0; i < count; i++)
    EXRNIC_DP_COPY(ring->slots + exrnic_ring_slot(ring, (uint16_t)(tail + i)),
                   from + i * sizeof(*ring->slots), sizeof(*ring->slots));
}

/* Tells the device of all that was put. number: of the queue that the doorbell speaks of. */
static inline void exrnic_ring_announce(const struct exrnic_ring* ring,
                                        const struct exrnic_user_page* page, uint32_t number) {
  exrnic_wmb_wqe_before_doorbell();
  exrnic_ring_doorbell(page, ring->doorbell, number, exrnic_ring_posted(ring));
}

/*
 * The send or the receive queue of a queue pair: its work ends in order. Completing only moves the
 * head, which posting only reads.
 */
struct exrnic_work_queue {
  struct exrnic_ring ring;
  uint64_t* wr_ids; /* by slot */
  uint16_t head;    /* oldest slot not known to have ended */
};

static inline bool exrnic_work_queue_has_room(const struct exrnic_work_queue* queue,
                                              uint32_t count) {
  const uint16_t outstanding =
      (uint16_t)(exrnic_ring_posted(&queue->ring) - EXRNIC_DP_LOAD_ACQUIRE(&queue->head));

  return outstanding + count <= queue->ring.num_slots;
}

/*
 * Writes a work request of `count` slots into the next ones. There is room. The device does not
 * look before it is told.
 */
static inline void exrnic_work_queue_put(struct exrnic_work_queue* queue,
                                         const struct exrnic_work* work, uint32_t count,
                                         uint64_t wr_id) {
  const uint16_t tail = exrnic_ring_posted(&queue->ring);
  uint32_t i;

  exrnic_ring_write(&queue->ring, tail, work, count);
  /* In each slot: one whose ring cannot be read ends with its first slot. */
  for (i = 0; i < count; i++)
    queue->wr_ids[exrnic_ring_slot(&queue->ring, (uint16_t)(tail + i))] = wr_id;
  /* Release: who polls the completion of this work request finds its wr_id. */
  EXRNIC_DP_STORE_RELEASE(&queue->ring.tail, (uint16_t)(tail + count));
}

/* The same of a work request of one slot. */
static inline void exrnic_work_queue_put_slot(struct exrnic_work_queue* queue,
                                              const struct exrnic_wqe* wqe, uint64_t wr_id) {
  const uint16_t tail = exrnic_ring_posted(&queue->ring);
  const uint32_t slot = exrnic_ring_slot(&queue->ring, tail);

  EXRNIC_DP_COPY(queue->ring.slots + slot, wqe, sizeof(*wqe));
  queue->wr_ids[slot] = wr_id;
  EXRNIC_DP_STORE_RELEASE(&queue->ring.tail, (uint16_t)(tail + 1));
}

/*
 * The device has ended the work request whose last slot is wqe_index, and all before it: gives
 * their slots back. False: no such slot is outstanding.
 */
static inline bool exrnic_work_queue_complete(struct exrnic_work_queue* queue, uint32_t wqe_index,
                                              uint64_t* wr_id) {
  const uint16_t head = EXRNIC_DP_LOAD(&queue->head);
  const uint16_t outstanding = (uint16_t)(EXRNIC_DP_LOAD_ACQUIRE(&queue->ring.tail) - head);
  const uint16_t index = (uint16_t)wqe_index;

  if (wqe_index != index || (uint16_t)(index - head) >= outstanding) return false;
  *wr_id = queue->wr_ids[exrnic_ring_slot(&queue->ring, index)];
  /* Release: the slots and the wr_id may be overwritten from here on. */
  EXRNIC_DP_STORE_RELEASE(&queue->head, (uint16_t)(index + 1));
  return true;
}

/*
 * Forgets what was put since `tail` slots were posted: the device was not told of it. No completion
 * can name it.
 */
static inline void exrnic_work_queue_take_back(struct exrnic_work_queue* queue, uint16_t tail) {
  EXRNIC_DP_STORE(&queue->ring.tail, tail);
}

/* Forgets everything: the queue pair has gone to RESET, where the device's indices start at 0. */
static inline void exrnic_work_queue_reset(struct exrnic_work_queue* queue) {
  EXRNIC_DP_STORE(&queue->ring.tail, (uint16_t)0);
  EXRNIC_DP_STORE_RELEASE(&queue->head, (uint16_t)0);
}

/*
 * A shared receive queue: its receives end in any order, and on several completion queues at once.
 * The device takes them in turn, and keeps one on chip until it ends: so its slots are free from
 * when a later one has ended, and a long message holds nobody up. What is known of a receive stands
 * by its free-running index. Completing needs no lock.
 */
#define EXRNIC_SHARED_INDICES 0x10000u
#define EXRNIC_SHARED_BEFORE 0xff
struct exrnic_shared_queue {
  struct exrnic_ring ring;
  uint64_t* wr_ids; /* both by index, EXRNIC_SHARED_INDICES of them */
  /* Slots of the receive whose last one this is; EXRNIC_SHARED_BEFORE: one of its others; 0: it has
   * ended. Zeroed at first. */
  uint8_t* busy;
  uint16_t taken; /* slots of which it is known that the device does not read them any more */
};

static inline bool exrnic_shared_queue_has_room(const struct exrnic_shared_queue* queue,
                                                uint32_t count) {
  const uint16_t tail = exrnic_ring_posted(&queue->ring);
  const uint16_t unread = (uint16_t)(tail - EXRNIC_DP_LOAD_ACQUIRE(&queue->taken));
  uint32_t i;

  if (unread + count > queue->ring.num_slots) return false;
  /* Acquire: the wr_id may be overwritten from here on. */
  for (i = 0; i < count; i++)
    if (EXRNIC_DP_LOAD_ACQUIRE(&queue->busy[(uint16_t)(tail + i)]) != 0) return false;
  return true;
}

/* As exrnic_work_queue_put(). */
static inline void exrnic_shared_queue_put(struct exrnic_shared_queue* queue,
                                           const struct exrnic_work* work, uint32_t count,
                                           uint64_t wr_id) {
  const uint16_t tail = exrnic_ring_posted(&queue->ring);
  const uint16_t last = (uint16_t)(tail + count - 1);
  uint16_t index;

  exrnic_ring_write(&queue->ring, tail, work, count);
  for (index = tail; index != last; index++)
    EXRNIC_DP_STORE(&queue->busy[index], (uint8_t)EXRNIC_SHARED_BEFORE);
  queue->wr_ids[last] = wr_id;
  /* Release: who polls the completion of this receive finds its wr_id. */
  EXRNIC_DP_STORE_RELEASE(&queue->busy[last], (uint8_t)count);
  EXRNIC_DP_STORE(&queue->ring.tail, (uint16_t)(tail + count));
}

/* All before `end` has been taken; others may say so of more, at the same time, or have said it
 * before. */
static inline void exrnic_shared_queue_take(struct exrnic_shared_queue* queue, uint16_t end) {
  uint16_t taken;

  /* Acquire: what is posted is read behind that, and so is no less. */
  do taken = EXRNIC_DP_LOAD_ACQUIRE(&queue->taken);
  while ((uint16_t)(end - taken - 1) < (uint16_t)(exrnic_ring_posted(&queue->ring) - taken) &&
         !EXRNIC_DP_EXCHANGE_IF(&queue->taken, &taken, end));
}

/*
 * The receive whose last slot is wqe_index has ended. One that the device
 * could not read ends by its first slot. False: no such receive is outstanding.
 */
static inline bool exrnic_shared_queue_complete(struct exrnic_shared_queue* queue,
                                                uint32_t wqe_index, uint64_t* wr_id) {
  uint16_t last = (uint16_t)wqe_index, index;
  uint8_t count;
  uint32_t i;

  for (i = 1; i < EXRNIC_WQE_SLOTS_MAX; i++, last++)
    if (EXRNIC_DP_LOAD_ACQUIRE(&queue->busy[last]) != EXRNIC_SHARED_BEFORE) break;
  count = EXRNIC_DP_LOAD_ACQUIRE(&queue->busy[last]);
  if (count == 0 || count == EXRNIC_SHARED_BEFORE) return false;
  if (wqe_index > 0xffff || (uint16_t)(last - wqe_index) >= count) return false;
  *wr_id = queue->wr_ids[last];
  /* Of one that it could not read the device goes on with the next slot. While it is busy nobody
   * posts to its index. */
  exrnic_shared_queue_take(queue, (uint16_t)(wqe_index + 1));
  for (index = (uint16_t)(last + 1 - count); index != (uint16_t)(last + 1); index++)
    EXRNIC_DP_STORE_RELEASE(&queue->busy[index], (uint8_t)0);
  return true;
}

/* ---- Completion queues */

struct exrnic_cq_ring {
  struct exrnic_cqe* entries; /* zeroed at first; see exrnic_cq_clear */
  uint32_t num_entries;       /* a power of two */
  uint32_t number;
  uint32_t consumer; /* CQEs taken */
  uint32_t reported; /* of which the device knows */
};

/*
 * The device is told of taken CQEs only each quarter of the ring, to spare stores that cost a bus
 * write. Those not yet told are lost to the ring: it holds so many fewer.
 */
static inline uint32_t exrnic_cq_report_step(uint32_t num_entries) { return num_entries / 4; }
static inline uint32_t exrnic_cq_capacity(uint32_t num_entries) {
  return num_entries - (exrnic_cq_report_step(num_entries) - 1);
}

/* The size of the ring that has this capacity. */
static inline uint32_t exrnic_cq_ring_for(uint32_t capacity) {
  const uint32_t size = exrnic_ring_size(capacity);

  return exrnic_cq_capacity(size) < capacity ? 2 * size : size;
}

static inline struct exrnic_cqe* exrnic_cq_place(const struct exrnic_cq_ring* cq, uint32_t index) {
  return &cq->entries[index & (cq->num_entries - 1)];
}
/* Of an entry that is new: the parity of its round, which starts at 1. */
static inline uint8_t exrnic_cq_phase(const struct exrnic_cq_ring* cq, uint32_t index) {
  return (uint8_t)((index / cq->num_entries + 1) & 1);
}

/*
 * The CQE at that index, if the device has written it; else NULL. A full ring ends here: the entry
 * behind the last one is the first again, whose phase is old.
 */
static inline const struct exrnic_cqe* exrnic_cq_at(const struct exrnic_cq_ring* cq,
                                                    uint32_t index) {
  const struct exrnic_cqe* cqe = exrnic_cq_place(cq, index);
  const uint8_t phase = exrnic_load_phase_before_cqe(&cqe->phase);

  return phase == exrnic_cq_phase(cq, index) ? cqe : NULL;
}

/* Entries for a ring that a queue gets in the middle of a round: none is new in any round. */
static inline void exrnic_cq_clear(struct exrnic_cqe* entries, uint32_t num_entries) {
  uint32_t i;

  for (i = 0; i < num_entries; i++) entries[i].phase = EXRNIC_CQE_PHASE_NONE;
}

/*
 * The device has given the queue this ring in the place of another: CQEs before `producer` stand in
 * the old one. Those that were not taken come along.
 */
static inline void exrnic_cq_change_ring(struct exrnic_cq_ring* cq, struct exrnic_cqe* entries,
                                         uint32_t num_entries, uint32_t producer) {
  const struct exrnic_cq_ring old = *cq;
  uint32_t index;

  cq->entries = entries;
  cq->num_entries = num_entries;
  for (index = cq->consumer; index != producer && exrnic_cq_at(&old, index); index++) {
    *exrnic_cq_place(cq, index) = *exrnic_cq_place(&old, index);
    exrnic_cq_place(cq, index)->phase = exrnic_cq_phase(cq, index);
  }
}

/* Moves one that it has written to the place of another. */
static inline void exrnic_cq_move(struct exrnic_cq_ring* cq, uint32_t from, uint32_t to) {
  if (from == to) return;
  *exrnic_cq_place(cq, to) = *exrnic_cq_place(cq, from);
  exrnic_cq_place(cq, to)->phase = exrnic_cq_phase(cq, to);
}

/*
 * Takes the CQEs of a queue pair that are still in the queue out of it (its number may come back
 * for another one); those of others close up. Receives of a shared queue (else NULL) have their
 * slots given back. Nobody polls meanwhile, and the device writes no more of them. Then it is told
 * of the places as of those that are polled: the other queue pairs may need them at once.
 */
static inline void exrnic_cq_drop(struct exrnic_cq_ring* cq, uint32_t qpn,
                                  struct exrnic_shared_queue* shared) {
  uint32_t end = cq->consumer, from, to;
  const struct exrnic_cqe* cqe;
  uint64_t wr_id;

  while (exrnic_cq_at(cq, end) != NULL) end++;
  /* From the newest on, to where the device writes next: so the places come free at the old end. */
  to = end;
  for (from = end; from != cq->consumer;) {
    cqe = exrnic_cq_place(cq, --from);
    if (cqe->qpn != EXRNIC_DP_LE32(qpn))
      exrnic_cq_move(cq, from, --to);
    else if (shared != NULL && cqe->opcode == EXRNIC_WQE_OPCODE_RECV)
      exrnic_shared_queue_complete(shared, EXRNIC_DP_FROM_LE16(cqe->wqe_index), &wr_id);
  }
  cq->consumer = to;
}

/* Tells the device of all that was taken. doorbell: EXRNIC_DOORBELL_CQ*. */
static inline void exrnic_cq_report(struct exrnic_cq_ring* cq, const struct exrnic_user_page* page,
                                    uint32_t doorbell) {
  exrnic_mb_cqe_read_before_doorbell();
  exrnic_ring_doorbell(page, doorbell, cq->number, cq->consumer);
  cq->reported = cq->consumer;
}

/* Likewise, where that is due for a ring of this size: its own, or a smaller one that it is to get.
 */
static inline void exrnic_cq_report_if_due(struct exrnic_cq_ring* cq,
                                           const struct exrnic_user_page* page,
                                           uint32_t num_entries) {
  if (cq->consumer - cq->reported >= exrnic_cq_report_step(num_entries))
    exrnic_cq_report(cq, page, EXRNIC_DOORBELL_CQ);
}

#endif
