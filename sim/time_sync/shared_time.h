/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The clock that exrnic-sim and its guests share: one file, mapped by the simulator and by the
 * plugin in each QEMU. It is sealed memory, to which the path that users give is a link: nobody can
 * cut it short under those who have mapped it. C, because a plugin of QEMU is C; C++ includes it
 * too.
 *
 * Units: nanoseconds of simulated time; a guest's clock is the same number. Byte order: the host's.
 * Every word is accessed through __atomic builtins only, and a release store by its one writer
 * (named below) is what hands over all that it did before. `where` alone has two writers: the
 * guest, and the simulator while the guest waits; whoever may race uses compare-and-swap.
 *
 * The rules that make the order of events the same in each run (README.md says why they suffice):
 *   a guest runs no further than exrnic_time_limit();
 *   the simulator runs no further than the least exrnic_time_bound() of all guests.
 */
#ifndef EXRNIC_SHARED_TIME_H
#define EXRNIC_SHARED_TIME_H

#include <stdint.h>

#define EXRNIC_TIME_MAGIC 0x656d69745f78656eULL /* "nex_time" */
#define EXRNIC_TIME_VERSION 4
#define EXRNIC_TIME_MAX_GUESTS 16
#define EXRNIC_TIME_LINE_BYTES 8192 /* that a serial line holds */
#define EXRNIC_TIME_BYTE_NS 2500    /* on a serial line: 4 Mbit/s */
#define EXRNIC_TIME_NEVER (~0ULL >> 3)

/* What a guest does. In brackets: what its bound then means. */
enum exrnic_guest_state {
  EXRNIC_GUEST_ABSENT,  /* no QEMU is there, or it is gone [never] */
  EXRNIC_GUEST_JOINING, /* waits to be given its first moment [0] */
  EXRNIC_GUEST_RUNNING, /* executes [all accesses before were told] */
  EXRNIC_GUEST_STORING, /* stored to the device, waits for the simulator to take it [when; the
                           simulator makes it later while the bus is full, and so the guest's time]
                         */
  EXRNIC_GUEST_LOADING, /* waits for the device's answer [never: the horizon bounds it] */
  EXRNIC_GUEST_HALTED,  /* waits for an interrupt [its next timer] */
  EXRNIC_GUEST_STOPPED, /* halted with interrupts off: counts for nothing until it moves [never] */
};

struct exrnic_guest_time {
  /* State and bound in one word, see exrnic_where(). Written by the guest; by the simulator to
   * release STORING, to enter and leave LOADING, to wake HALTED, and when the guest is gone. */
  uint64_t where __attribute__((aligned(64)));
  uint32_t messages; /* guest: vfio-user messages that the store is made of */

  /* Written by the simulator. */
  uint32_t ask __attribute__((aligned(64))); /* a futex: counts questions for the clock of a guest
                                              * whose vCPU waits for a load */
  uint32_t replies;                          /* loads answered */
  uint64_t reply_ns;                         /* when the last one was */
  uint32_t interrupts;                       /* fired */
  uint32_t interrupts_taken; /* of these, how many QEMU has read from its eventfds */
  uint64_t deaf;             /* not 0: the device may not touch this host (no bus mastering) */

  /* Written by the guest's helper thread. */
  uint64_t answer_ns __attribute__((aligned(64)));
  uint32_t answer; /* the question that answer_ns is for */
};

/* The serial line towards a guest. */
struct exrnic_time_line {
  /* Written by the guest at its other end: bytes that were sent, ever. */
  uint64_t sent __attribute__((aligned(64)));
  /* Written by the guest that it leads to. */
  uint64_t taken __attribute__((aligned(64))); /* bytes of these */
  uint64_t deaf_until_ns;                      /* takes none before */
  /* In turn, the next one of number `sent`: when it arrives << 8 | the byte. */
  uint64_t byte[EXRNIC_TIME_LINE_BYTES] __attribute__((aligned(64)));
};

struct exrnic_shared_time {
  uint64_t magic;
  uint32_t version;
  uint32_t guests;   /* whose bounds count: of ranks, one more stands for those of the others */
  uint32_t attached; /* of these, which a QEMU may be: the first ones */
  int32_t simulator_pid;
  uint32_t instruction_ns;    /* what one instruction takes: a power of two */
  uint64_t guest_to_guest_ns; /* no guest can affect another in less */
  /* Written by the simulator: until then it will touch no guest. */
  uint64_t horizon_ns __attribute__((aligned(64)));
  struct exrnic_guest_time guest[EXRNIC_TIME_MAX_GUESTS];
  struct exrnic_time_line line[EXRNIC_TIME_MAX_GUESTS];
};

static inline uint64_t exrnic_where(enum exrnic_guest_state state, uint64_t bound_ns) {
  return bound_ns << 3 | (uint64_t)state;
}

static inline enum exrnic_guest_state exrnic_state_of(uint64_t where) {
  return (enum exrnic_guest_state)(where & 7);
}

static inline uint64_t exrnic_bound_of(uint64_t where) { return where >> 3; }

static inline uint64_t exrnic_time_load(const uint64_t* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void exrnic_time_store(uint64_t* word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* When guest `guest` takes the next byte of its serial line. */
static inline uint64_t exrnic_time_next_byte(const struct exrnic_shared_time* time,
                                             uint32_t guest) {
  const struct exrnic_time_line* line = &time->line[guest];
  const uint64_t taken = exrnic_time_load(&line->taken);
  if (exrnic_time_load(&line->sent) == taken) return EXRNIC_TIME_NEVER;
  const uint64_t arrives = exrnic_time_load(&line->byte[taken % EXRNIC_TIME_LINE_BYTES]) >> 8;
  const uint64_t deaf_until = exrnic_time_load(&line->deaf_until_ns);
  return arrives > deaf_until ? arrives : deaf_until;
}

/* Guest `guest` does nothing to its device before this moment: a byte may wake one that is halted.
 */
static inline uint64_t exrnic_time_bound(const struct exrnic_shared_time* time, uint32_t guest) {
  const uint64_t where = exrnic_time_load(&time->guest[guest].where);
  const uint64_t bound = exrnic_bound_of(where);
  if (exrnic_state_of(where) != EXRNIC_GUEST_HALTED) return bound;
  const uint64_t byte = exrnic_time_next_byte(time, guest);
  return byte < bound ? byte : bound;
}

/* The least of all `guests` beside `beside`. The number is the caller's own: of what is in the file
 * nobody makes an index. Twice, because a byte that a guest sent before its
 * bound moved on may be for one that was looked at before. */
static inline uint64_t exrnic_time_least_bound(const struct exrnic_shared_time* time,
                                               uint32_t guests, uint32_t beside) {
  uint64_t least = EXRNIC_TIME_NEVER;
  for (uint32_t look = 0; look < 2 * guests; ++look) {
    const uint32_t i = look % guests;
    const uint64_t bound = i == beside ? EXRNIC_TIME_NEVER : exrnic_time_bound(time, i);
    if (bound < least) least = bound;
  }
  return least;
}

/*
 * How far guest `me` may run: to where the simulator touches it next, or another guest could have
 * it touched; a guest that is booting, and lets nothing touch it, waits for nobody. The other
 * guests are read first: one that moves on does so after the simulator has drawn the horizon that
 * its last access asks for. And the horizon is read before them, too: one that an interrupt wakes
 * falls behind what it said, no later than the horizon of then, before the next one is drawn.
 */
static inline uint64_t exrnic_time_limit(const struct exrnic_shared_time* time, uint32_t guests,
                                         uint32_t me) {
  if (exrnic_time_load(&time->guest[me].deaf) != 0) return EXRNIC_TIME_NEVER;
  const uint64_t before = exrnic_time_load(&time->horizon_ns);
  uint64_t least = exrnic_time_least_bound(time, guests, me);
  if (least < EXRNIC_TIME_NEVER - time->guest_to_guest_ns) least += time->guest_to_guest_ns;
  const uint64_t after = exrnic_time_load(&time->horizon_ns);
  const uint64_t horizon = before < after ? before : after;
  return horizon < least ? horizon : least;
}

#endif
