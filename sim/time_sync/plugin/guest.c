/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../shared_time.h"
#include "qemu_clock.h"
#include "serial_line.h"

/* Waiting: first at once, then with the processor given to others, then asleep. */
enum { SPINS = 64, YIELDS = 20000, SLEEP_US = 50, LOOKS_BETWEEN_CHECKS = 2000 };

static struct exrnic_shared_time* shared;
static struct exrnic_guest_time* self;
static uint32_t number, guests, attached;
static uint32_t interrupts_seen, replies_seen;
static bool alone; /* the simulator is gone: nobody is waited for any more */

struct wait {
  unsigned looks;
};

static void check_simulator(void) {
  if (alone || kill(shared->simulator_pid, 0) == 0 || errno != ESRCH) return;
  alone = true;
  fprintf(stderr, "exrnic-time: exrnic-sim is gone; guest %u runs on without it\n", number);
}

/* False: do not wait any longer. */
static bool look_again(struct wait* wait) {
  ++wait->looks;
  if (wait->looks < SPINS) {
    __builtin_ia32_pause();
  } else if (wait->looks < YIELDS) {
    sched_yield();
  } else {
    usleep(SLEEP_US);
  }
  if (wait->looks % LOOKS_BETWEEN_CHECKS == 0) check_simulator();
  return !alone && qemu_machine_runs();
}

static void publish(enum exrnic_guest_state state, uint64_t bound) {
  exrnic_time_store(&self->where, exrnic_where(state, bound));
}

/* The simulator asks for the time of a load, during which the vCPU's thread cannot answer. */
static void* answer_questions(void* unused) {
  (void)unused;
  uint32_t answered = 0;
  for (;;) {
    const uint32_t ask = __atomic_load_n(&self->ask, __ATOMIC_ACQUIRE);
    if (ask == answered) {
      syscall(SYS_futex, &self->ask, FUTEX_WAIT, ask, NULL, NULL, 0);
      continue;
    }
    exrnic_time_store(&self->answer_ns, (uint64_t)qemu_clock_now_elsewhere());
    __atomic_store_n(&self->answer, ask, __ATOMIC_RELEASE);
    answered = ask;
  }
  return NULL;
}

static const char* check_shared(void) {
  if (shared->magic != EXRNIC_TIME_MAGIC || shared->version != EXRNIC_TIME_VERSION) {
    return "the file is no clock of this version of exrnic-sim";
  }
  guests = shared->guests;
  attached = shared->attached;
  if (guests > EXRNIC_TIME_MAX_GUESTS || attached > guests || number >= attached) {
    return "the simulator has no guest of this number";
  }
  return NULL;
}

const char* guest_attach(const char* path, uint32_t guest) {
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return "the clock cannot be opened; start exrnic-sim --time sync:FILE first";
  struct stat status;
  if (fstat(file, &status) != 0 || (uint64_t)status.st_size < sizeof *shared) {
    close(file);
    return "the file is too short for a clock";
  }
  void* memory = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return "the clock cannot be mapped";
  shared = memory;
  number = guest;
  const char* wrong = check_shared();
  if (wrong != NULL) return wrong;
  self = &shared->guest[guest];
  struct exrnic_time_line* line = &shared->line[guest];
  exrnic_time_store(&line->deaf_until_ns, EXRNIC_TIME_NEVER);
  exrnic_time_store(&line->taken, exrnic_time_load(&line->sent));
  replies_seen = __atomic_load_n(&self->replies, __ATOMIC_ACQUIRE);
  interrupts_seen = __atomic_load_n(&self->interrupts, __ATOMIC_ACQUIRE);
  return NULL;
}

bool guest_is_other(uint32_t guest) { return guest < attached && guest != number; }

const char* guest_join_line(const char* chardev, uint32_t other) {
  return line_find(shared, chardev, number, other);
}

uint32_t guest_instruction_ns(void) { return shared->instruction_ns; }

void guest_join(void) {
  pthread_t helper;
  if (pthread_create(&helper, NULL, answer_questions, NULL) != 0) {
    fputs("exrnic-time: no thread for the helper\n", stderr);
    exit(1);
  }
  pthread_detach(helper);
  publish(EXRNIC_GUEST_JOINING, 0);
  struct wait wait = {0};
  uint64_t where;
  while (exrnic_state_of(where = exrnic_time_load(&self->where)) == EXRNIC_GUEST_JOINING) {
    if (!look_again(&wait)) return;
  }
  qemu_clock_move_to((int64_t)exrnic_bound_of(where));
}

/* An interrupt that was fired before the guest may run on reaches it before it does: QEMU has read
 * the eventfd, and its main loop is through with the handler. */
static void take_interrupts(void) {
  const uint32_t fired = __atomic_load_n(&self->interrupts, __ATOMIC_ACQUIRE);
  if (fired == interrupts_seen) return;
  struct wait wait = {0};
  while (__atomic_load_n(&self->interrupts_taken, __ATOMIC_ACQUIRE) != fired) {
    if (!look_again(&wait)) return;
  }
  qemu_main_loop_barrier();
  interrupts_seen = fired;
}

uint64_t guest_hold(uint64_t now) {
  struct wait wait = {0};
  line_send(now);
  publish(EXRNIC_GUEST_RUNNING, now);
  uint64_t limit;
  while ((limit = exrnic_time_limit(shared, guests, number)) <= now) {
    if (!look_again(&wait)) return EXRNIC_TIME_NEVER;
  }
  take_interrupts();
  const uint64_t next_byte = line_receive(now);
  return next_byte < limit ? next_byte : limit;
}

void guest_stored(uint64_t now, uint32_t messages) {
  __atomic_store_n(&self->messages, messages, __ATOMIC_RELAXED);
  exrnic_time_store(&self->where, exrnic_where(EXRNIC_GUEST_STORING, now));
  struct wait wait = {0};
  uint64_t where;
  while (exrnic_state_of(where = exrnic_time_load(&self->where)) == EXRNIC_GUEST_STORING) {
    if (!look_again(&wait)) return;
  }
  if (exrnic_state_of(where) != EXRNIC_GUEST_RUNNING || exrnic_bound_of(where) <= now) return;
  qemu_clock_move_to((int64_t)exrnic_bound_of(where)); /* the bus was full */
  qemu_clock_moved();
}

/* Only where the guest looks at its device it is certain that all before has been settled. */
void guest_may_hear(uint64_t now) {
  if (exrnic_time_load(&self->deaf) == 0) line_open(now);
}

void guest_loaded(void) {
  const uint32_t replies = __atomic_load_n(&self->replies, __ATOMIC_ACQUIRE);
  if (replies == replies_seen) return; /* refused, or answered outside of time */
  replies_seen = replies;
  qemu_clock_move_to((int64_t)exrnic_time_load(&self->reply_ns));
  qemu_clock_moved();
}

/* An interrupt from outside of simulated time, a byte on the console: it comes as soon as the
 * others allow, who may be ahead. */
static uint64_t now_for_outside(uint64_t timer) {
  const uint64_t limit = exrnic_time_limit(shared, guests, number);
  const uint64_t now = (uint64_t)qemu_clock_now();
  return limit < timer && limit > now ? limit : now;
}

/* Until the clock's next timer, a byte, or until an interrupt waits. Returns when that is. */
static uint64_t halt_until(uint64_t timer) {
  uint64_t halted = exrnic_where(EXRNIC_GUEST_HALTED, timer);
  exrnic_time_store(&self->where, halted);
  struct wait wait = {0};
  while (exrnic_time_load(&self->where) == halted) {
    const uint64_t limit = exrnic_time_limit(shared, guests, number);
    const uint64_t byte = exrnic_time_next_byte(shared, number);
    const uint64_t next = byte < timer ? byte : timer;
    const bool due = next < EXRNIC_TIME_NEVER && limit >= next;
    if (!due && !qemu_interrupt_pending() && look_again(&wait)) continue;
    const uint64_t moment = due ? next : now_for_outside(next);
    const uint64_t awake = exrnic_where(EXRNIC_GUEST_RUNNING, moment);
    if (__atomic_compare_exchange_n(&self->where, &halted, awake, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      return moment;
    }
  }
  return exrnic_bound_of(exrnic_time_load(&self->where)); /* the simulator woke us */
}

void guest_halt(void) {
  line_send((uint64_t)qemu_clock_now());
  while (!qemu_interrupt_pending() && qemu_machine_runs() && !alone) {
    const int64_t next = qemu_next_timer();
    const uint64_t timer = next == QEMU_NO_TIMER ? EXRNIC_TIME_NEVER : (uint64_t)next;
    const uint64_t moment = halt_until(timer);
    qemu_clock_move_to((int64_t)moment);
    take_interrupts();
    line_receive(moment);
    if (moment == timer && !qemu_run_timers()) return;
  }
}

void guest_stop(void) { publish(EXRNIC_GUEST_STOPPED, EXRNIC_TIME_NEVER); }
