/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * REP STOS and REP MOVS at once. When QEMU counts instructions, each of their iterations is a
 * block, behind which it returns to its main loop: a boot has 20 million of them. Here one
 * iteration runs as QEMU runs it, and those that follow it in the same pages of memory are done in
 * one piece. Nothing else of the guest tells the difference: the time that they take is the same.
 */
#ifndef EXRNIC_REPEAT_H
#define EXRNIC_REPEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "qemu_plugin_api.h"

/* An instruction that can be done at once, in a word that is 0 for all others. */
typedef uintptr_t repeat_kind;

enum { REPEAT_LONGEST_CODE = 4 };

repeat_kind repeat_of(const uint8_t code[REPEAT_LONGEST_CODE]);

/* On the vCPU's thread. False: its registers cannot be reached, and nothing is done at once. */
bool repeat_start(void);

/* An iteration accessed memory, which is no device. `executed`: all instructions up to this one. */
void repeat_saw(repeat_kind kind, bool store, uint64_t address, uint64_t physical,
                uint64_t executed);

/* `executed` is counted from elsewhere. */
void repeat_forget(void);

/* In front of an iteration, `executed` with it: how many can be done at once. Never the last one,
 * which is left to QEMU. */
uint64_t repeat_possible(repeat_kind kind, uint64_t executed);

/* Then: does `count` of these. */
void repeat_at_once(repeat_kind kind, uint64_t count);

#endif
