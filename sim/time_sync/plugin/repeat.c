/* SPDX-License-Identifier: BSD-2-Clause */
#include "repeat.h"

#include <string.h>

enum { REP = 0xf3, REX_W = 0x48, MOVSB = 0xa4, MOVS = 0xa5, STOSB = 0xaa, STOS = 0xab };

enum { SIZE = 0xf, MOVES = 0x10 }; /* of a repeat_kind */

enum { PAGE = 4096 };

/* Fewer iterations than this QEMU does as fast by itself. */
enum { WORTH = 24 };

/* Only 64-bit code reaches what lies above. Other code counts in parts of the registers. */
#define ABOVE_OTHER_CODE (UINT64_C(1) << 32)

/* What an iteration accessed, and the next one will. */
struct side {
  uint64_t address, physical;
};

static struct {
  repeat_kind kind;
  uint64_t executed;
  bool stored, loaded;
  struct side to, from;
} seen;
static uint64_t not_before; /* in executed instructions: until then it is not worth a look */

static struct qemu_plugin_register *rax, *rcx, *rsi, *rdi;
static GByteArray* word;  /* a register */
static GByteArray* piece; /* what is read of memory */
static uint8_t pattern[PAGE];

repeat_kind repeat_of(const uint8_t code[REPEAT_LONGEST_CODE]) {
  if (code[0] != REP) return 0;
  const bool wide = code[1] == REX_W;
  switch (code[wide ? 2 : 1]) {
    case STOSB:
      return 1;
    case STOS:
      return wide ? 8 : 4;
    case MOVSB:
      return 1 | MOVES;
    case MOVS:
      return (wide ? 8 : 4) | MOVES;
    default:
      return 0;
  }
}

static struct qemu_plugin_register* find(const GArray* all, const char* name) {
  const size_t size = g_array_get_element_size((GArray*)all);
  for (unsigned i = 0; i < all->len; ++i) {
    const qemu_plugin_reg_descriptor* one = (const void*)(all->data + i * size);
    if (strcmp(one->name, name) == 0) return one->handle;
  }
  return NULL;
}

bool repeat_start(void) {
  GArray* all = qemu_plugin_get_registers();
  rax = find(all, "rax");
  rcx = find(all, "rcx");
  rsi = find(all, "rsi");
  rdi = find(all, "rdi");
  g_array_free(all, true);
  word = g_byte_array_new();
  piece = g_byte_array_new();
  return rax != NULL && rcx != NULL && rsi != NULL && rdi != NULL;
}

static uint64_t get(struct qemu_plugin_register* from) {
  uint64_t value = 0;
  g_byte_array_set_size(word, 0);
  qemu_plugin_read_register(from, word);
  memcpy(&value, word->data, sizeof value);
  return value;
}

static void set(struct qemu_plugin_register* to, uint64_t value) {
  g_byte_array_set_size(word, sizeof value);
  memcpy(word->data, &value, sizeof value);
  qemu_plugin_write_register(to, word);
}

void repeat_forget(void) {
  seen.kind = 0;
  not_before = 0;
}

void repeat_saw(repeat_kind kind, bool store, uint64_t address, uint64_t physical,
                uint64_t executed) {
  /* On two pages: what follows is not behind `physical`. */
  if ((address & (PAGE - 1)) + (kind & SIZE) > PAGE) {
    seen.kind = 0;
    return;
  }
  if (seen.kind != kind || seen.executed != executed) seen.stored = seen.loaded = false;
  seen.kind = kind;
  seen.executed = executed;
  *(store ? &seen.stored : &seen.loaded) = true;
  *(store ? &seen.to : &seen.from) =
      (struct side){address + (kind & SIZE), physical + (kind & SIZE)};
}

/* Did the iteration that was seen run just before, in 64-bit code? */
static bool goes_on(repeat_kind kind, uint64_t executed) {
  return seen.kind == kind && seen.executed + 1 == executed && executed >= not_before &&
         seen.stored && (seen.loaded || (kind & MOVES) == 0) && seen.to.address >= ABOVE_OTHER_CODE;
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Iterations until the page's end. */
static uint64_t in_page(struct side side, uint64_t size) {
  return (-side.address & (PAGE - 1)) / size;
}

/* Bytes that an iteration stores and a later one loads make a pattern, which a copy does not. */
static bool overlap(uint64_t bytes) {
  return seen.to.physical < seen.from.physical + bytes &&
         seen.from.physical < seen.to.physical + bytes;
}

static void fill(uint64_t size, uint64_t count) {
  const uint64_t value = get(rax);
  for (uint64_t i = 0; i < count; ++i) memcpy(pattern + i * size, &value, size);
  GByteArray bytes = {pattern, (unsigned)(count * size)};
  qemu_plugin_write_memory_hwaddr(seen.to.physical, &bytes);
}

static void copy(uint64_t bytes) {
  qemu_plugin_read_memory_hwaddr(seen.from.physical, piece, bytes);
  qemu_plugin_write_memory_hwaddr(seen.to.physical, piece);
}

/* Behind the last iteration QEMU comes once more, and finds none. */
static uint64_t all_but_one(uint64_t left) { return left > 0 ? left - 1 : 0; }

/* Those that may be done at once; 0: none is. */
static uint64_t possible(repeat_kind kind) {
  const uint64_t size = kind & SIZE;
  const bool moves = (kind & MOVES) != 0;
  uint64_t count = in_page(seen.to, size);
  if (moves) count = least(count, in_page(seen.from, size));
  if (count >= WORTH) count = least(count, all_but_one(get(rcx)));
  /* RDI is elsewhere where it runs towards lower addresses. */
  const bool plain =
      count >= WORTH && get(rdi) == seen.to.address && !(moves && overlap(count * size));
  if (plain) return count;
  not_before = seen.executed + count;
  return 0;
}

uint64_t repeat_possible(repeat_kind kind, uint64_t executed) {
  return goes_on(kind, executed) ? possible(kind) : 0;
}

void repeat_at_once(repeat_kind kind, uint64_t count) {
  const uint64_t size = kind & SIZE;
  if ((kind & MOVES) != 0) {
    copy(count * size);
    set(rsi, seen.from.address + count * size);
  } else {
    fill(size, count);
  }
  set(rdi, seen.to.address + count * size);
  set(rcx, get(rcx) - count);
}
