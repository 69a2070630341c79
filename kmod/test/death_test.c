// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Processes that are killed at any moment of their life with the device: while they make objects,
 * while work is under way, while they end. What they leave is poisoned: a device that still wrote
 * there would be seen. Their work is local, or reads for a peer that is not there; those that a
 * peer writes to die in libverbs-lite/test/guest/kill_checks.cc.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

enum { LONGEST_US = 15000, POISON_PAGES = 512, POISON = 0xc7, MIN_DEATHS = 50 };

/* Completions into its ring, reads of its memory for a peer that is not there, objects that come
 * and go. */
static void live(void)
{
	for (;;) {
		struct set s = make_set();
		struct worker w = make_worker(&s, EXRNIC_NO_CHANNEL, 1, EXRNIC_ANY_VECTOR);

		for (int i = 0; i < WORKER_ENTRIES - 1; i++)
			post_success(&w);
		wait_for_completion(&w, WORKER_ENTRIES - 2);
		post_to_nobody(&w);
		munmap((void *)w.page, PAGE);
		close(s.fd);
	}
}

static void kill_after(useconds_t delay)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		give_up("fork");
	if (!child)
		live();
	usleep(delay);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* The pages that the dead one gave back are the next that the system gives out. */
static unsigned char *take_poisoned(void)
{
	unsigned char *memory = pages(POISON_PAGES);

	memset(memory, POISON, POISON_PAGES * PAGE);
	return memory;
}

static void check_poison(unsigned char *memory)
{
	for (size_t i = 0; i < POISON_PAGES * PAGE; i++)
		if (!CHECK_EQ(memory[i], POISON))
			break;
	munmap(memory, POISON_PAGES * PAGE);
}

static void death_at_any_moment(void)
{
	long long before = pinned_pages();
	struct fuzz f = fuzz_start();
	unsigned int deaths = 0;

	while (fuzz_goes_on(&f) || deaths < MIN_DEATHS) {
		unsigned char *poisoned;

		kill_after(draw_below(&f, LONGEST_US));
		deaths++;
		poisoned = take_poisoned();
		CHECK_EQ(pinned_pages(), before);
		check_poison(poisoned);
		if (has_failed())
			break;
	}
	printf("# %u deaths\n", deaths);
}

const struct test death_tests[] = {
	{ "a process may be killed at any moment: no page stays pinned, none is written later",
	  death_at_any_moment, 3600 },
	{ NULL, NULL, 0 },
};
