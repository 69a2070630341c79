/* SPDX-License-Identifier: BSD-2-Clause */
#include "serial_line.h"

#include <stdlib.h>

#include "../shared_time.h"
#include "qemu_clock.h"

enum { READ_AT_ONCE = 512, BASE64 = 1 };

/* A port that takes no byte is asked again when it could have lost as many as it holds. */
enum { PORT_BYTES = 16, ASK_AGAIN_NS = PORT_BYTES * EXRNIC_TIME_BYTE_NS };

typedef struct Chardev Chardev;

static struct {
  Chardev* (*find)(const char* id);
  int (*can_write)(Chardev*);
  void (*write)(Chardev*, const uint8_t* bytes, int count);
  char* (*read)(const char* id, int64_t size, bool has_format, int format, void** error);
  uint8_t* (*decode)(char* text, size_t* length);
} qemu;

static const struct exrnic_shared_time* shared;
static struct exrnic_time_line *to_me, *from_me;
static uint32_t number;
static uint64_t shortest_ns; /* from one guest to another */
static uint64_t last_arrival;
static const char* chardev;
static Chardev* port;

const char* line_find(struct exrnic_shared_time* time, const char* id, uint32_t me,
                      uint32_t other) {
  if (!qemu_find("qemu_chr_find", &qemu.find) ||
      !qemu_find("qemu_chr_be_can_write", &qemu.can_write) ||
      !qemu_find("qemu_chr_be_write", &qemu.write) || !qemu_find("qmp_ringbuf_read", &qemu.read) ||
      !qemu_find("g_base64_decode_inplace", &qemu.decode)) {
    return "it lacks functions that a serial line needs";
  }
  port = qemu.find(id);
  if (port == NULL) return "there is no -chardev ringbuf of the name that line= gives";
  shared = time;
  number = me;
  to_me = &time->line[me];
  from_me = &time->line[other];
  shortest_ns = time->guest_to_guest_ns;
  chardev = id;
  return NULL;
}

static void send_byte(uint64_t now, uint8_t byte) {
  const uint64_t sent = from_me->sent;
  if (sent - exrnic_time_load(&from_me->taken) >= EXRNIC_TIME_LINE_BYTES) return; /* it is lost */
  const uint64_t start = last_arrival > now + shortest_ns ? last_arrival : now + shortest_ns;
  last_arrival = start + EXRNIC_TIME_BYTE_NS;
  exrnic_time_store(&from_me->byte[sent % EXRNIC_TIME_LINE_BYTES], last_arrival << 8 | byte);
  exrnic_time_store(&from_me->sent, sent + 1);
}

/* Bytes, of which there are *count, in memory to be freed. */
static uint8_t* read_said(size_t* count) {
  void* error = NULL;
  char* text = qemu.read(chardev, READ_AT_ONCE, true, BASE64, &error);
  *count = 0;
  return text != NULL && text[0] != '\0' ? qemu.decode(text, count) : (uint8_t*)text;
}

void line_send(uint64_t now) {
  if (port == NULL) return;
  size_t count;
  do {
    uint8_t* bytes = read_said(&count);
    for (size_t i = 0; i < count; ++i) send_byte(now, bytes[i]);
    free(bytes);
  } while (count == READ_AT_ONCE);
}

void line_open(uint64_t now) {
  if (port == NULL || to_me->deaf_until_ns != EXRNIC_TIME_NEVER) return;
  exrnic_time_store(&to_me->deaf_until_ns, now);
}

struct gift {
  uint8_t bytes[PORT_BYTES];
  int count;
};

static void put_into_port(void* argument) {
  struct gift* gift = argument;
  const int room = qemu.can_write(port);
  if (gift->count > room) gift->count = room;
  if (gift->count > 0) qemu.write(port, gift->bytes, gift->count);
}

static struct gift arrived(uint64_t now) {
  struct gift gift = {.count = 0};
  const uint64_t sent = exrnic_time_load(&to_me->sent);
  for (uint64_t i = to_me->taken; i != sent && gift.count < PORT_BYTES; ++i) {
    const uint64_t byte = exrnic_time_load(&to_me->byte[i % EXRNIC_TIME_LINE_BYTES]);
    if (byte >> 8 > now) break;
    gift.bytes[gift.count++] = (uint8_t)byte;
  }
  return gift;
}

uint64_t line_receive(uint64_t now) {
  if (port == NULL) return EXRNIC_TIME_NEVER;
  uint64_t next;
  while ((next = exrnic_time_next_byte(shared, number)) <= now) {
    struct gift gift = arrived(now);
    qemu_elsewhere(put_into_port, &gift);
    if (gift.count == 0) exrnic_time_store(&to_me->deaf_until_ns, now + ASK_AGAIN_NS);
    exrnic_time_store(&to_me->taken, to_me->taken + (uint64_t)gift.count);
  }
  return next;
}
