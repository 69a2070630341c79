/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QEMU's instruction clock (QEMU_CLOCK_VIRTUAL under -icount), and what of QEMU goes with it.
 *
 * None of this is in the plugin interface. Every function used is found by name in the running
 * QEMU, and the two places that have no function, the clock's bias and the vCPU's interrupt word,
 * are found by what they do and proven before they are used: QEMU stays as it is, and one that
 * differs is refused.
 *
 * Threads: the vCPU's, in a callback, unless a function says otherwise.
 */
#ifndef EXRNIC_QEMU_CLOCK_H
#define EXRNIC_QEMU_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define QEMU_NO_TIMER INT64_MAX

/* Finds all of it; call it while a block is being translated. NULL, or what is missing, as a
 * sentence. */
const char* qemu_clock_find(void);

/* "11.1.3", for messages. */
const char* qemu_version(void);

/* Its plugin interface is of version 7 or later: QEMU 11.1. */
bool qemu_has_userdata_callbacks(void);

/* The clock, in ns, after the block that runs: QEMU counts a block when it starts. */
int64_t qemu_clock_now(void);

/* The same, from another thread while the vCPU waits in a device access. */
int64_t qemu_clock_now_elsewhere(void);

/* Instructions to ns. */
int64_t qemu_clock_of(int64_t instructions);

/* Moves the clock on by `ns`. */
void qemu_clock_add(int64_t ns);

/* Moves the clock on to `ns`, if it is not there yet. */
void qemu_clock_move_to(int64_t ns);

/* Has the vCPU leave the running block chain, so that QEMU looks at its timers. */
void qemu_clock_moved(void);

/* When the next timer is due, or QEMU_NO_TIMER. */
int64_t qemu_next_timer(void);

/* Runs the timers that are due. False: some are left, which only QEMU itself can run. */
bool qemu_run_timers(void);

/* Runs job(argument) on a thread of its own, under QEMU's main lock, and waits for its end. Within
 * a block an interrupt that the vCPU's thread raises would be an error there. */
void qemu_elsewhere(void (*job)(void* argument), void* argument);

/* A function or variable of QEMU, by name, to the pointer at `to`. False: there is none. */
bool qemu_find(const char* name, void* to);

/* Returns when QEMU's main loop is through with what it was doing. */
void qemu_main_loop_barrier(void);

/* An interrupt waits to be taken by the vCPU. */
bool qemu_interrupt_pending(void);

/* False: QEMU is about to stop the machine and waits for the vCPU. */
bool qemu_machine_runs(void);

#endif
