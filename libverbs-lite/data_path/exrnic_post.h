// SPDX-License-Identifier: BSD-2-Clause
/*
 * How a process makes a work request of what its verbs give it: elements, inline data, operands.
 * For user space, where numbers lie in memory as the device reads them. C11, C++17.
 *
 * Verbs have elements in a structure of their own, of the layout of struct exrnic_sge: hence
 * `const void* elements`. The caller has checked how many there are, and fills the head.
 */
#ifndef EXRNIC_POST_H
#define EXRNIC_POST_H

#include "exrnic_data_path.h"

static inline struct exrnic_sge exrnic_element(const void* elements, uint32_t index) {
  struct exrnic_sge element;

  EXRNIC_DP_COPY(&element, (const uint8_t*)elements + index * sizeof(element), sizeof(element));
  return element;
}

/* Bytes of so many elements: more than 32 bits may hold. */
static inline uint64_t exrnic_elements_bytes(const void* elements, uint32_t count) {
  uint64_t bytes = 0;
  uint32_t i;

  for (i = 0; i < count; i++) bytes += exrnic_element(elements, i).length;
  return bytes;
}

/* Read requests that a PULL takes: one for each element with bytes, or a single one. */
static inline uint32_t exrnic_elements_reads(const void* elements, uint32_t count) {
  uint32_t reads = 0, i;

  for (i = 0; i < count; i++) reads += exrnic_element(elements, i).length != 0;
  return reads > 0 ? reads : 1;
}

/*
 * Takes the slots for so many bytes of elements or inline data: notes how many, and clears those
 * behind the first.
 */
static inline uint32_t exrnic_work_take_slots(struct exrnic_work* work, uint32_t payload_bytes) {
  const uint32_t slots = exrnic_slots_for_bytes(payload_bytes);

  work->head.num_slots = (uint8_t)slots;
  __builtin_memset(work->more, 0, (slots - 1) * sizeof(work->head));
  return slots;
}

/*
 * Puts elements, at most EXRNIC_MAX_SGE, into a work request. Returns its slots, or 0: they have
 * more than EXRNIC_MESSAGE_MAX bytes.
 */
static inline uint32_t exrnic_work_put_elements(struct exrnic_work* work, const void* elements,
                                                uint32_t count) {
  const uint64_t length = exrnic_elements_bytes(elements, count);
  const uint32_t bytes = count * (uint32_t)sizeof(struct exrnic_sge);
  uint32_t slots;

  if (length > EXRNIC_MESSAGE_MAX) return 0;
  slots = exrnic_work_take_slots(work, bytes);
  if (count > 0) EXRNIC_DP_COPY(exrnic_work_payload(work), elements, bytes);
  work->head.num_sge = (uint8_t)count;
  work->head.length = (uint32_t)length;
  return slots;
}

/*
 * Copies the bytes that elements name to `to`, which has room for `most`. False: there are more.
 * *bytes: how many. Elements of no bytes may name nothing.
 */
static inline bool exrnic_gather(uint8_t* to, uint32_t most, const void* elements, uint32_t count,
                                 uint32_t* bytes) {
  const uint64_t length = exrnic_elements_bytes(elements, count);
  uint32_t i;

  if (length > most) return false;
  for (i = 0; i < count; i++) {
    const struct exrnic_sge element = exrnic_element(elements, i);

    if (element.length == 0) continue;
    EXRNIC_DP_COPY(to, (const void*)(uintptr_t)element.address, element.length);
    to += element.length;
  }
  *bytes = (uint32_t)length;
  return true;
}

/*
 * Puts the bytes that elements name into a work request of flag INLINE: at most `most`, no more
 * than EXRNIC_INLINE_MAX. Returns its slots, or 0: there are more.
 */
static inline uint32_t exrnic_work_put_inline(struct exrnic_work* work, const void* elements,
                                              uint32_t count, uint32_t most) {
  const uint64_t length = exrnic_elements_bytes(elements, count);
  uint32_t slots;

  if (length > most) return 0;
  slots = exrnic_work_take_slots(work, (uint32_t)length);
  exrnic_gather(exrnic_work_payload(work), most, elements, count, &work->head.length);
  return slots;
}

/* The operands of an atomic, which stand where a second element would. compare: 0 of FETCH_ADD. */
static inline void exrnic_work_put_operands(struct exrnic_work* work, uint64_t data,
                                            uint64_t compare) {
  work->head.sge1_address = data;
  work->head.sge1_length = (uint32_t)compare;
  work->head.sge1_stag = (uint32_t)(compare >> 32);
}

#endif
