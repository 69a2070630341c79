/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Atomics (RFC 7306, 5). This processor is the only one that executes them, one after the other, so
 * each is atomic towards all others of this device; not towards the host's CPUs, nor PUSHes. A
 * request comes exactly once: EFE drops duplicates before it.
 */
#include "app/atomic.h"

/* Words of atomic_request. */
enum {
  OPERATION = 0,
  REQUEST_ID = 1,
  STAG = 2,
  TO = 3,
  DATA = 5,
  MASK = 7,
  COMPARE = 9,
  COMPARE_MASK = 11
};

static uint64_t wide(const uint32_t* words) { return (uint64_t)words[0] << 32 | words[1]; }

/*
 * A sum that no carry leaves from a bit that is set in `mask` (RFC 7306, 5.1.1): fields add apart.
 * The highest bits of fields are added without carry, all others as usual.
 */
static uint64_t fetch_add(uint64_t old, uint64_t data, uint64_t mask) {
  return ((old & ~mask) + (data & ~mask)) ^ ((old ^ data) & mask);
}

static uint64_t compare_swap(uint64_t old, const uint32_t* words) {
  const uint64_t mask = wide(words + MASK);

  if (((old ^ wide(words + COMPARE)) & wide(words + COMPARE_MASK)) != 0) return old;
  return (old & ~mask) | (wide(words + DATA) & mask);
}

void atomic_serve(const struct punt* punt) {
  const uint32_t* words = punt->payload;
  const uint32_t operation = words[OPERATION] & 0xf;
  const struct memory at = {
      .request = punt->request,
      .stag = words[STAG],
      .pd = punt->pd,
      .access = EXRNIC_ACCESS_REMOTE_ATOMIC,
      .to = wide(words + TO),
  };
  enum exrnic_fw_direct_status status;
  uint64_t old, new;

  if (operation != EXRNIC_ATOMIC_OPERATION_FETCH_ADD &&
      operation != EXRNIC_ATOMIC_OPERATION_COMPARE_SWAP) {
    answer_refuse(punt, EXRNIC_TERM_CODE_OPCODE);
    return;
  }
  if (at.to % EXRNIC_ATOMIC_BYTES != 0) {
    answer_refuse(punt, EXRNIC_TERM_CODE_STREAM);
    return;
  }
  status = memory_read(&at, &old);
  if (status == EXRNIC_FW_DIRECT_STATUS_OK) {
    new = operation == EXRNIC_ATOMIC_OPERATION_FETCH_ADD
              ? fetch_add(old, wide(words + DATA), wide(words + MASK))
              : compare_swap(old, words);
    /* What did not change is not written. */
    if (new != old) status = memory_write(&at, new);
  }
  if (status == EXRNIC_FW_DIRECT_STATUS_OK) {
    answer_atomic(punt, words[REQUEST_ID], old);
  } else {
    answer_refuse(punt, refusal_of(status));
  }
}
