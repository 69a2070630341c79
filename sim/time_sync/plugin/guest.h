/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One guest's side of the shared clock: tells what it does, and waits where it must.
 *
 * Times are those of the guest's own clock. Threads: the vCPU's.
 */
#ifndef EXRNIC_TIME_GUEST_H
#define EXRNIC_TIME_GUEST_H

#include <stdbool.h>
#include <stdint.h>

/* Maps the shared clock `path`, as guest number `guest`. NULL, or why not, as a sentence. */
const char* guest_attach(const char* path, uint32_t guest);

/* There is a guest of this number beside this one. */
bool guest_is_other(uint32_t guest);

/* Its serial port, by the identifier of its -chardev, is joined to that of guest `other`. NULL, or
 * why not, as a sentence. */
const char* guest_join_line(const char* chardev, uint32_t other);

/* Joins the others, whose time it may be; the clock is moved to theirs. */
void guest_join(void);

/* What one instruction takes, as the simulator wants it. */
uint32_t guest_instruction_ns(void);

/* All before `now` is done. Waits until the guest may run on. Returns how far, later than `now`. */
uint64_t guest_hold(uint64_t now);

/* A store to the device is done, `messages` of them for vfio-user. Returns when it has been taken.
 */
void guest_stored(uint64_t now, uint32_t messages);

/* The device has been accessed: bytes of the serial line may arrive, if it may touch the guest. */
void guest_may_hear(uint64_t now);

/* A load from the device is done: the clock is moved to when its answer came. */
void guest_loaded(void);

/* The vCPU is about to halt. Returns when an interrupt waits for it, the clock moved to then. */
void guest_halt(void);

/* The vCPU is about to halt, and no interrupt will wake it. */
void guest_stop(void);

#endif
