/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exrnic-time: the plugin that keeps a QEMU guest in the simulator's time.
 *
 *   -accel tcg,thread=single -icount shift=0,sleep=off -plugin libexrnic-time.so,clock=FILE,guest=N
 *
 * With line=ID:M, -chardev ringbuf,id=ID and -serial chardev:ID a serial port is joined to that of
 * guest M.
 *
 * What it adds to the guest's code: an addition and a comparison at the head of each block, and a
 * call where an instruction reaches a device, pauses or halts the vCPU. README.md has the whole.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../shared_time.h"
#include "exrnic_hw.h"
#include "guest.h"
#include "qemu_clock.h"
#include "qemu_plugin_api.h"
#include "repeat.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_NEWEST;

/* QEMU reads the above before it tells its own version, and refuses what is too new or too old for
 * it. */
__attribute__((constructor)) static void speak_as_qemu_does(void) {
  if (!qemu_has_userdata_callbacks()) qemu_plugin_version = QEMU_PLUGIN_OLDEST;
}

/* A block's callback is due when its counter reaches this; whoever sets the counter subtracts how
 * many instructions it is to wait. */
#define DUE (UINT64_C(1) << 32)

/* The longest time between two callbacks: then the others are told how far the guest is. */
enum { LONGEST_NS = 1 << 20 };

enum { LONGEST_MESSAGE = 8, X86_LONGEST = 15, X86_PAGE = 4096 };

/* What takes much longer than other instructions: PAUSE, about 140 cycles since Skylake (Intel's
 * optimization manual); an access to a port, and a load from a device that is not ours (a timer, an
 * interrupt controller), which cross slow buses. Loops that wait by them are as short as on such a
 * machine. */
enum { PAUSE_NS = 64, LEGACY_NS = 1024 };

/* Each PAUSE leaves QEMU's loop. One of a loop that has waited long, with so many instructions
 * between two of them at most, takes this part of the time that the loop has waited already: a loop
 * that waits for a time ends late by as much at most. Waits that follow each other with less than
 * that between them are one, and any of them may end late by that part of all. For what comes from
 * outside, a timer's interrupt, the device, another guest, it is never late. */
enum { LOOP_INSTRUCTIONS = 256, PART_OF_WAIT = 64 };

static qemu_plugin_u64 counter;
static bool joined;
static bool repeats;             /* at once */
static const char* line_chardev; /* NULL: there is no line */
static uint32_t line_other;

static void fail(const char* what, const char* why) {
  fprintf(stderr, "exrnic-time: %s: %s\n", what, why);
}

/* From here the counter is another, and tells no more what ran since it was last looked at. */
static void set_counter(unsigned vcpu, uint64_t value) {
  repeat_forget();
  qemu_plugin_u64_set(counter, vcpu, value);
}

static void run_until(unsigned vcpu, uint64_t now, uint64_t limit) {
  uint64_t ns = limit - now;
  if (ns > LONGEST_NS) ns = LONGEST_NS;
  const uint64_t instructions = ns / (uint64_t)qemu_clock_of(1);
  set_counter(vcpu, DUE - (instructions > 0 ? instructions : 1));
}

static void hold(unsigned vcpu, uint64_t now) { run_until(vcpu, now, guest_hold(now)); }

/* At the head of a block, which QEMU has counted already. */
static void on_due(unsigned vcpu, void* instructions) {
  hold(vcpu, (uint64_t)(qemu_clock_now() - qemu_clock_of((intptr_t)instructions)));
}

/* The regions that VFIO names after the BARs whose accesses take simulated time. */
static bool is_timed(const char* region) {
  const char* bar = region != NULL ? strstr(region, " BAR ") : NULL;
  if (bar == NULL || strncasecmp(region, "vfio", 4) != 0) return false;
  return atoi(bar + strlen(" BAR ")) != EXRNIC_BAR_MSIX;
}

/* The next block tells the others; a serial port may have got a byte. */
static void take_legacy_time(unsigned vcpu) {
  qemu_clock_add(LEGACY_NS);
  qemu_clock_moved();
  set_counter(vcpu, DUE);
}

/* After the access. */
static void on_access(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void* kind) {
  const struct qemu_plugin_hwaddr* place = qemu_plugin_get_hwaddr(info, address);
  if (place == NULL) return;
  if (!qemu_plugin_hwaddr_is_io(place)) {
    if (kind == NULL) return;
    repeat_saw((repeat_kind)kind, qemu_plugin_mem_is_store(info), address,
               qemu_plugin_hwaddr_phys_addr(place), qemu_plugin_u64_get(counter, vcpu));
    return;
  }
  if (!is_timed(qemu_plugin_hwaddr_device_name(place))) {
    if (!qemu_plugin_mem_is_store(info)) take_legacy_time(vcpu);
    return;
  }
  if (qemu_plugin_mem_is_store(info)) {
    const uint32_t bytes = UINT32_C(1) << qemu_plugin_mem_size_shift(info);
    guest_stored((uint64_t)qemu_clock_now(), bytes > LONGEST_MESSAGE ? bytes / LONGEST_MESSAGE : 1);
  } else {
    guest_loaded();
  }
  const uint64_t now = (uint64_t)qemu_clock_now();
  guest_may_hear(now);
  hold(vcpu, now);
}

/* No further than to the guest's limit and its next timer. */
static uint64_t pause_ns(uint64_t now, uint64_t waited, uint64_t until_limit) {
  const uint64_t wish = waited / PART_OF_WAIT;
  if (wish <= PAUSE_NS) return PAUSE_NS;
  const uint64_t timer = (uint64_t)qemu_next_timer();
  const uint64_t until_timer = timer > now ? timer - now : 0;
  uint64_t ns = wish < until_limit ? wish : until_limit;
  if (until_timer < ns) ns = until_timer;
  return ns > PAUSE_NS ? ns / PAUSE_NS * PAUSE_NS : PAUSE_NS;
}

static void on_pause(unsigned vcpu, void* unused) {
  (void)unused;
  static uint64_t began, ended; /* the loop's first PAUSE, and its last one */
  const uint64_t now = (uint64_t)qemu_clock_now();
  const uint64_t one = (uint64_t)qemu_clock_of(1);
  if (now - ended > LOOP_INSTRUCTIONS * one) began = now;
  const uint64_t count = qemu_plugin_u64_get(counter, vcpu);
  const uint64_t ns = pause_ns(now, now - began, count < DUE ? (DUE - count) * one : 0);
  qemu_clock_add((int64_t)ns);
  repeat_forget();
  qemu_plugin_u64_add(counter, vcpu, ns / one);
  ended = now + ns;
}

/* Instructions that fit between this one, the guest's limit and its next timer. */
static uint64_t room(uint64_t count, uint64_t now) {
  const uint64_t one = (uint64_t)qemu_clock_of(1);
  const uint64_t timer = (uint64_t)qemu_next_timer();
  const uint64_t until_timer = timer > now + one ? (timer - now - one) / one : 0;
  const uint64_t until_due = count < DUE ? DUE - count - 1 : 0;
  return until_due < until_timer ? until_due : until_timer;
}

/* Before an iteration. Behind it QEMU sees that its clock was moved. */
static void on_repeat(unsigned vcpu, void* kind) {
  const uint64_t count = qemu_plugin_u64_get(counter, vcpu);
  const uint64_t possible = repeat_possible((repeat_kind)kind, count);
  if (possible == 0) return;
  const uint64_t fit = room(count, (uint64_t)qemu_clock_now());
  const uint64_t done = possible < fit ? possible : fit;
  if (done == 0) return;
  repeat_at_once((repeat_kind)kind, done);
  qemu_clock_add(qemu_clock_of((int64_t)done));
  qemu_clock_moved();
  qemu_plugin_u64_add(counter, vcpu, done);
}

/* Before the access. */
static void on_port(unsigned vcpu, void* unused) {
  (void)unused;
  take_legacy_time(vcpu);
}

static void on_halt(unsigned vcpu, void* interrupts_on) {
  if (interrupts_on == NULL) {
    guest_stop();
    set_counter(vcpu, DUE); /* should it move again */
    return;
  }
  guest_halt();
  hold(vcpu, (uint64_t)qemu_clock_now());
}

/* ---- x86 ---- */

enum { NOP = 0x90, HLT = 0xf4, STI = 0xfb, CALL = 0xe8, RET = 0xc3, OPERAND_16 = 0x66, REP = 0xf3 };
enum { JMP = 0xe9, JMP_SHORT = 0xeb, JCC_SHORT = 0x70, TWO_BYTES = 0x0f, JCC = 0x80 };

struct x86_code {
  uint8_t bytes[X86_LONGEST];
};

static struct x86_code code_of(const struct qemu_plugin_insn* insn) {
  struct x86_code code = {{0}};
  qemu_plugin_insn_data(insn, code.bytes, sizeof code.bytes);
  return code;
}

static uint8_t first_byte(const struct qemu_plugin_insn* insn) { return code_of(insn).bytes[0]; }

static bool is_pause(struct x86_code code) { return code.bytes[0] == REP && code.bytes[1] == NOP; }

/* IN and OUT; INS and OUTS, which drivers of such devices use for data in bulk, are left alone. */
static bool is_port_access(struct x86_code code) {
  const uint8_t byte = code.bytes[0] == OPERAND_16 ? code.bytes[1] : code.bytes[0];
  return (byte >= 0xe4 && byte <= 0xe7) || (byte >= 0xec && byte <= 0xef);
}

/* JMP, Jcc and CALL with a distance, RET, HLT: they touch at most the stack. */
static bool but_jumps(struct x86_code code) {
  const uint8_t byte = code.bytes[0];
  return byte == CALL || byte == RET || byte == HLT || byte == JMP || byte == JMP_SHORT ||
         (byte >= JCC_SHORT && byte < JCC_SHORT + 16) ||
         (byte == TWO_BYTES && code.bytes[1] >= JCC && code.bytes[1] < JCC + 16);
}

/* Under -icount QEMU lets an instruction reach a device only as the last of its block; any other it
 * runs again in a block of its own. So the last one alone needs to be watched, and not where it but
 * jumps. */
static bool may_reach_device(const struct qemu_plugin_insn* last) {
  return !but_jumps(code_of(last));
}

/* Systems wait with STI; HLT, which lets no interrupt pass in between; one that is done for halts
 * with interrupts off. */
static bool follows_sti(const struct qemu_plugin_insn* insn) {
  const uint8_t* bytes = qemu_plugin_insn_haddr(insn);
  return bytes != NULL && ((uintptr_t)bytes & (X86_PAGE - 1)) != 0 && bytes[-1] == STI;
}

/* Both are the last of their block. */
static void watch_slow(struct qemu_plugin_insn* last) {
  const struct x86_code code = code_of(last);
  if (!is_pause(code) && !is_port_access(code)) return;
  qemu_plugin_register_vcpu_insn_exec_cb(last, is_pause(code) ? on_pause : on_port,
                                         QEMU_PLUGIN_CB_NO_REGS, NULL);
}

static void watch_repeat(struct qemu_plugin_insn* last, repeat_kind kind) {
  if (kind == 0) return;
  qemu_plugin_register_vcpu_insn_exec_cb(last, on_repeat, QEMU_PLUGIN_CB_RW_REGS, (void*)kind);
}

static void watch_halt(struct qemu_plugin_insn* last) {
  if (first_byte(last) != HLT) return;
  const bool interrupts_on = follows_sti(last);
  qemu_plugin_register_vcpu_insn_exec_cb(last, on_halt, QEMU_PLUGIN_CB_NO_REGS,
                                         (void*)(intptr_t)interrupts_on);
}

static void refuse(const char* why) {
  fprintf(stderr, "exrnic-time: synchronised time does not work with this QEMU, %s: %s\n",
          qemu_version(), why);
  exit(1);
}

/* Here QEMU's clock can be read for the first time. */
static void join(void) {
  joined = true;
  const char* missing = qemu_clock_find();
  if (missing == NULL && line_chardev != NULL) missing = guest_join_line(line_chardev, line_other);
  if (missing != NULL) refuse(missing);
  if (qemu_clock_of(1) != guest_instruction_ns()) {
    fprintf(stderr,
            "exrnic-time: -icount shift makes an instruction %" PRId64
            " ns long; the simulator's profile says %" PRIu32 "\n",
            qemu_clock_of(1), guest_instruction_ns());
    exit(1);
  }
  guest_join();
  repeats = repeat_start();
  qemu_plugin_u64_set(counter, 0, DUE);
}

static void on_translation(struct qemu_plugin_tb* tb) {
  if (!joined) join();
  const size_t count = qemu_plugin_tb_n_insns(tb);
  qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, on_due, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_COND_GE,
                                            counter, DUE, (void*)(intptr_t)count);
  qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_PLUGIN_INLINE_ADD_U64, counter, count);
  struct qemu_plugin_insn* last = qemu_plugin_tb_get_insn(tb, count - 1);
  watch_halt(last);
  watch_slow(last);
  const repeat_kind kind = repeats ? repeat_of(code_of(last).bytes) : 0;
  watch_repeat(last, kind);
  if (may_reach_device(last)) {
    qemu_plugin_register_vcpu_mem_cb(last, on_access, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                     (void*)kind);
  }
}

static void on_translation_before_7(qemu_plugin_id_t plugin, struct qemu_plugin_tb* tb) {
  (void)plugin;
  on_translation(tb);
}

static void on_translation_since_7(struct qemu_plugin_tb* tb, void* unused) {
  (void)unused;
  on_translation(tb);
}

/* ---- start ---- */

static const char* check(const qemu_info_t* info) {
  if (!info->system_emulation || strcmp(info->target_name, "x86_64") != 0) {
    return "synchronised time is for guests of qemu-system-x86_64";
  }
  if (info->system.max_vcpus != 1) return "a guest in synchronised time has one vCPU; use -smp 1";
  if (info->version.cur < QEMU_PLUGIN_OLDEST || info->version.min > QEMU_PLUGIN_NEWEST) {
    return "this QEMU's plugin interface is none of QEMU 10.1 to 11.1; use one of these";
  }
  return NULL;
}

struct arguments {
  const char* clock;
  const char* guest;
  const char* line;
};

static bool parse(int argc, char** argv, struct arguments* to) {
  static const char* const keys[] = {"clock=", "guest=", "line="};
  const char** const values[] = {&to->clock, &to->guest, &to->line};
  for (int i = 0; i < argc; ++i) {
    size_t key = 0;
    while (key < 3 && strncmp(argv[i], keys[key], strlen(keys[key])) != 0) ++key;
    if (key == 3) {
      fail(argv[i], "no such argument; there are clock=FILE, guest=N and line=ID:N");
      return false;
    }
    if (*values[key] != NULL) {
      fail(argv[i], "it is given before, too; give it once");
      return false;
    }
    *values[key] = argv[i] + strlen(keys[key]);
  }
  return true;
}

/* Digits and nothing else; of a number that no guest has, EXRNIC_TIME_MAX_GUESTS. */
static bool number_of(const char* text, uint32_t* number) {
  char* end;
  if (*text < '0' || *text > '9') return false;
  const unsigned long value = strtoul(text, &end, 10);
  *number = value < EXRNIC_TIME_MAX_GUESTS ? (uint32_t)value : EXRNIC_TIME_MAX_GUESTS;
  return *end == '\0';
}

/* QEMU has made its character devices when the first block is translated, not yet now. */
static const char* set_line(const char* text) {
  if (text == NULL) return NULL;
  const char* colon = strchr(text, ':');
  if (colon == NULL || !number_of(colon + 1, &line_other)) {
    return "write line=ID:N, ID of a -chardev ringbuf and N of a guest";
  }
  line_chardev = strndup(text, (size_t)(colon - text));
  return NULL;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc,
                                           char** argv) {
  struct arguments arguments = {NULL, NULL, NULL};
  uint32_t guest = 0;
  if (!parse(argc, argv, &arguments)) return -1;
  const char* wrong = check(info);
  if (wrong == NULL && (arguments.clock == NULL || arguments.guest == NULL))
    wrong = "give it clock=FILE and guest=N";
  if (wrong == NULL) wrong = set_line(arguments.line);
  if (wrong == NULL)
    wrong = number_of(arguments.guest, &guest) ? guest_attach(arguments.clock, guest)
                                               : "write guest=N, a whole number";
  if (wrong == NULL && line_chardev != NULL && !guest_is_other(line_other))
    wrong = "line= names no other guest";
  if (wrong != NULL) {
    fail(arguments.clock != NULL ? arguments.clock : "start", wrong);
    return -1;
  }
  counter.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
  counter.offset = 0;
  void* callback = info->version.cur < QEMU_PLUGIN_USERDATA ? (void*)on_translation_before_7
                                                            : (void*)on_translation_since_7;
  qemu_plugin_register_vcpu_tb_trans_cb(id, callback, NULL);
  return 0;
}
