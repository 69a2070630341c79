/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Random input: seeds that are printed and can be given again, values that hit edges, a time limit.
 */
#ifndef EXRNIC_KMOD_TEST_FUZZ_H
#define EXRNIC_KMOD_TEST_FUZZ_H

#include "work.h"

/* Of all random tests: options -s SEED and -t MILLISECONDS of the program. Seed 0: another each
 * time. */
void set_fuzz_seed(uint64_t seed);
void set_fuzz_time(unsigned int ms);
unsigned int fuzz_time(void);

struct fuzz {
	uint64_t state;
	long long end_ms; /* CLOCK_MONOTONIC */
	uint64_t inputs;  /* drawn so far */
};

/* Prints the seed with which -s repeats the test. */
struct fuzz fuzz_start(void);
/* Whether to go on. */
bool fuzz_goes_on(struct fuzz *f);
void fuzz_end(const struct fuzz *f);

uint64_t draw(struct fuzz *f);
uint32_t draw_below(struct fuzz *f, uint32_t limit);
/* Small, at the end of the range, a single bit, or anything. */
uint32_t draw_word(struct fuzz *f);
void draw_bytes(struct fuzz *f, void *to, size_t bytes);

long long now_ms(void);

/* Somebody else on the same device, whom nothing of it may reach. */
struct bystander {
	struct set s;
	struct worker w;
};
struct bystander make_bystander(void);
/* Its memory, its queue pair and its completions are as they should be; ends it. */
void check_bystander(struct bystander *b);

/* Runs body in a process of its own, which may die of what it does to itself, but not be stuck. */
void run_hostile(void (*body)(struct fuzz *f, const struct bystander *b),
		 const struct bystander *b);

#endif
