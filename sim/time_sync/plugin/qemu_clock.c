/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "qemu_clock.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

enum { QEMU_CLOCK_VIRTUAL = 1, ALL_TIMERS = ~0 };

/* A request that asks a vCPU for nothing but to leave its block: harmless to set and reset. */
enum { CPU_INTERRUPT_EXITTB = 4 };

/* Even, because a sequence lock may lie near, and so small that no timer minds. */
enum { NUDGE_NS = 64 };

enum { CPU_WORDS = 4096 }; /* of the vCPU's object that are searched; it is larger than that */

typedef struct CPUState CPUState;
struct version {
  struct {
    int64_t major, minor, micro;
  }* qemu;
};

static struct {
  int64_t (*icount_get)(void);
  int64_t (*icount_get_raw)(void);
  int64_t (*icount_to_ns)(int64_t);
  void (*icount_update)(CPUState*);
  int64_t (*deadline)(int clock, int timers);
  bool (*run_timers)(int clock);
  void (*rcu_register_thread)(void);
  bool (*runs)(void);
  bool (*bql_locked)(void);
  void (*bql_lock)(const char* file, int line);
  void (*bql_unlock)(void);
  void (*cpu_exit)(CPUState*);
  void (*cpu_interrupt)(CPUState*, int);
  void (*cpu_reset_interrupt)(CPUState*, int);
  struct version* (*query_version)(void** error);
  int* use_icount;
  int64_t* timers_state;
} qemu;

static CPUState** current_cpu; /* of the vCPU's thread */
static CPUState* cpu;
static int64_t* bias;
static volatile uint32_t* interrupt_word;
static sem_t job_due, job_done;
static struct {
  void (*run)(void* argument);
  void* argument;
} job;

bool qemu_find(const char* name, void* to) {
  void* symbol = dlsym(RTLD_DEFAULT, name);
  memcpy(to, &symbol, sizeof symbol);
  return symbol != NULL;
}

static bool find_all(void) {
  return qemu_find("icount_get", &qemu.icount_get) &&
         qemu_find("icount_get_raw", &qemu.icount_get_raw) &&
         qemu_find("icount_to_ns", &qemu.icount_to_ns) &&
         qemu_find("icount_update", &qemu.icount_update) &&
         qemu_find("qemu_clock_deadline_ns_all", &qemu.deadline) &&
         qemu_find("qemu_clock_run_timers", &qemu.run_timers) &&
         qemu_find("rcu_register_thread", &qemu.rcu_register_thread) &&
         qemu_find("runstate_is_running", &qemu.runs) &&
         qemu_find("bql_locked", &qemu.bql_locked) && qemu_find("bql_lock_impl", &qemu.bql_lock) &&
         qemu_find("bql_unlock", &qemu.bql_unlock) && qemu_find("cpu_exit", &qemu.cpu_exit) &&
         qemu_find("cpu_interrupt", &qemu.cpu_interrupt) &&
         qemu_find("cpu_reset_interrupt", &qemu.cpu_reset_interrupt) &&
         qemu_find("use_icount", &qemu.use_icount) &&
         qemu_find("timers_state", &qemu.timers_state) && qemu_find("current_cpu", &current_cpu);
}

const char* qemu_version(void) {
  static char text[32] = "of an unknown version";
  void* error = NULL;
  if (qemu_find("qmp_query_version", &qemu.query_version)) {
    const struct version* version = qemu.query_version(&error);
    snprintf(text, sizeof text, "%d.%d.%d", (int)version->qemu->major, (int)version->qemu->minor,
             (int)version->qemu->micro);
  }
  return text;
}

bool qemu_has_userdata_callbacks(void) {
  int major = 0, minor = 0;
  if (sscanf(qemu_version(), "%d.%d", &major, &minor) != 2) return true;
  return major > 11 || (major == 11 && minor >= 1);
}

static size_t words_of_timers_state(void) {
  Dl_info info;
  const ElfW(Sym)* symbol = NULL;
  if (!dladdr1(qemu.timers_state, &info, (void**)&symbol, RTLD_DL_SYMENT) || symbol == NULL)
    return 0;
  return symbol->st_size / sizeof(int64_t);
}

/* Does this word move the clock, and not the count of instructions, by just what is added to it? */
static bool is_bias(int64_t* word) {
  const int64_t clock = qemu.icount_get();
  const int64_t count = qemu.icount_get_raw();
  __atomic_fetch_add(word, NUDGE_NS, __ATOMIC_SEQ_CST);
  const bool moved = qemu.icount_get() == clock + NUDGE_NS && qemu.icount_get_raw() == count;
  __atomic_fetch_sub(word, NUDGE_NS, __ATOMIC_SEQ_CST);
  return moved && qemu.icount_get() == clock;
}

/* Only words that hold what the bias must hold are tried: locks and pointers there do not. */
static bool find_bias(void) {
  const int64_t value = qemu.icount_get() - qemu.icount_to_ns(qemu.icount_get_raw());
  unsigned found = 0;
  for (size_t i = 0, words = words_of_timers_state(); i < words; ++i) {
    int64_t* word = &qemu.timers_state[i];
    if (*word != value || !is_bias(word)) continue;
    bias = word;
    ++found;
  }
  return found == 1;
}

static void lock_main_loop(void) { qemu.bql_lock(__FILE__, __LINE__); }

static bool find_interrupt_word(void) {
  static uint32_t before[CPU_WORDS], during[CPU_WORDS];
  const size_t size = sizeof before;
  lock_main_loop();
  memcpy(before, cpu, size);
  qemu.cpu_interrupt(cpu, CPU_INTERRUPT_EXITTB);
  memcpy(during, cpu, size);
  qemu.cpu_reset_interrupt(cpu, CPU_INTERRUPT_EXITTB);
  const volatile uint32_t* after = (const volatile uint32_t*)cpu;
  unsigned found = 0;
  for (size_t i = 0; i < CPU_WORDS; ++i) {
    if ((before[i] & CPU_INTERRUPT_EXITTB) != 0 || after[i] != before[i] ||
        during[i] != (before[i] | CPU_INTERRUPT_EXITTB)) {
      continue;
    }
    interrupt_word = (volatile uint32_t*)cpu + i;
    ++found;
  }
  qemu.bql_unlock();
  return found == 1;
}

static bool start_worker(void);

const char* qemu_clock_find(void) {
  if (!find_all() || (cpu = *current_cpu) == NULL) return "it lacks functions that are needed";
  if (*qemu.use_icount == 0)
    return "start it with -accel tcg,thread=single -icount shift=0,sleep=off";
  if (qemu.bql_locked()) return "it translates under its main lock";
  if (!find_bias()) return "the bias of its instruction clock is not where it can be found";
  if (!find_interrupt_word()) return "the vCPU's interrupts are not where they can be found";
  return start_worker() ? NULL : "no thread for its timers can be started";
}

/* QEMU refuses to read the clock within a block, unless it is asked from outside the vCPU. What has
 * run is accounted for first, so that the answer is exact. */
static CPUState* step_outside(void) {
  qemu.icount_update(cpu);
  CPUState* self = *current_cpu;
  *current_cpu = NULL;
  return self;
}

int64_t qemu_clock_now(void) {
  CPUState* self = step_outside();
  const int64_t now = qemu.icount_get();
  *current_cpu = self;
  return now;
}

int64_t qemu_clock_now_elsewhere(void) {
  qemu.icount_update(cpu);
  return qemu.icount_get();
}

int64_t qemu_clock_of(int64_t instructions) { return qemu.icount_to_ns(instructions); }

void qemu_clock_add(int64_t ns) { __atomic_fetch_add(bias, ns, __ATOMIC_SEQ_CST); }

void qemu_clock_move_to(int64_t ns) {
  const int64_t now = qemu_clock_now();
  if (ns > now) qemu_clock_add(ns - now);
}

void qemu_clock_moved(void) { qemu.cpu_exit(cpu); }

static int64_t until_next_timer(void) {
  CPUState* self = step_outside();
  const int64_t deadline = qemu.deadline(QEMU_CLOCK_VIRTUAL, ALL_TIMERS);
  *current_cpu = self;
  return deadline;
}

int64_t qemu_next_timer(void) {
  const int64_t deadline = until_next_timer();
  return deadline < 0 ? QEMU_NO_TIMER : qemu_clock_now() + deadline;
}

static void* work(void* unused) {
  (void)unused;
  qemu.rcu_register_thread();
  for (;;) {
    sem_wait(&job_due);
    lock_main_loop();
    job.run(job.argument);
    qemu.bql_unlock();
    sem_post(&job_done);
  }
  return NULL;
}

static bool start_worker(void) {
  pthread_t thread;
  sem_init(&job_due, 0, 0);
  sem_init(&job_done, 0, 0);
  if (pthread_create(&thread, NULL, work, NULL) != 0) return false;
  pthread_detach(thread);
  return true;
}

void qemu_elsewhere(void (*run)(void* argument), void* argument) {
  job.run = run;
  job.argument = argument;
  sem_post(&job_due);
  while (sem_wait(&job_done) != 0) {
  }
}

static void run_timers(void* unused) {
  (void)unused;
  qemu.run_timers(QEMU_CLOCK_VIRTUAL);
}

/* QEMU runs these on the vCPU's thread, between blocks. */
bool qemu_run_timers(void) {
  qemu_elsewhere(run_timers, NULL);
  return until_next_timer() != 0;
}

void qemu_main_loop_barrier(void) {
  lock_main_loop();
  qemu.bql_unlock();
}

bool qemu_interrupt_pending(void) { return *interrupt_word != 0; }

bool qemu_machine_runs(void) { return qemu.runs(); }
