/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest's serial port whose bytes travel in simulated time. QEMU keeps what the guest says in a
 * ring buffer (-chardev ringbuf); what it hears is put into the port when it has arrived.
 *
 * Times are those of the guest's own clock. Threads: the vCPU's.
 */
#ifndef EXRNIC_TIME_SERIAL_LINE_H
#define EXRNIC_TIME_SERIAL_LINE_H

#include <stddef.h>
#include <stdint.h>

struct exrnic_shared_time;

/* The port whose -chardev has this identifier; guest `other` is at the line's other end. NULL, or
 * what is missing, as a sentence. Until then, and without it, the functions below do nothing. */
const char* line_find(struct exrnic_shared_time* time, const char* id, uint32_t me, uint32_t other);

/* Sends what the guest said before `now`. Before the guest's bound moves on to `now`. */
void line_send(uint64_t now);

/* From `now` on the guest hears: from here on all that arrived is there. */
void line_open(uint64_t now);

/* Puts what has arrived into the port. Returns when the next byte does, later than `now`, as far as
 * it was sent. */
uint64_t line_receive(uint64_t now);

#endif
