// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#define _GNU_SOURCE
#include "fuzz.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GUARD = 0xb5, DEFAULT_MS = 500, LATE_MS = 30000, STEP_US = 1000 };

static uint64_t given_seed;
static unsigned int time_ms = DEFAULT_MS;

void set_fuzz_seed(uint64_t seed)
{
	given_seed = seed;
}

void set_fuzz_time(unsigned int ms)
{
	time_ms = ms;
}

unsigned int fuzz_time(void)
{
	return time_ms;
}

long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static uint64_t new_seed(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec << 20 ^ (uint64_t)t.tv_nsec ^ (uint64_t)getpid() << 40;
}

struct fuzz fuzz_start(void)
{
	uint64_t seed = given_seed ? given_seed : new_seed();
	struct fuzz f = { .state = seed, .end_ms = now_ms() + time_ms };

	printf("# seed %llu (again: -s %llu)\n", (unsigned long long)seed,
	       (unsigned long long)seed);
	fflush(stdout);
	return f;
}

bool fuzz_goes_on(struct fuzz *f)
{
	f->inputs++;
	return now_ms() < f->end_ms;
}

void fuzz_end(const struct fuzz *f)
{
	printf("# %llu inputs\n", (unsigned long long)f->inputs);
	fflush(stdout);
}

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
uint64_t draw(struct fuzz *f)
{
	uint64_t z = f->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

uint32_t draw_below(struct fuzz *f, uint32_t limit)
{
	return (draw(f) >> 32) % limit;
}

uint32_t draw_word(struct fuzz *f)
{
	switch (draw_below(f, 4)) {
	case 0:
		return draw_below(f, 20);
	case 1:
		return ~0U - draw_below(f, 4);
	case 2:
		return 1U << draw_below(f, 32);
	default:
		return (uint32_t)draw(f);
	}
}

void draw_bytes(struct fuzz *f, void *to, size_t bytes)
{
	for (unsigned char *byte = to; bytes; bytes--)
		*byte++ = (unsigned char)draw(f);
}

struct bystander make_bystander(void)
{
	struct bystander b = { .s = make_set() };

	b.w = make_worker(&b.s, EXRNIC_NO_CHANNEL, 1, EXRNIC_ANY_VECTOR);
	memset(b.s.buffer, GUARD, BUFFER_PAGES * PAGE);
	return b;
}

void check_bystander(struct bystander *b)
{
	const unsigned char *byte = b->s.buffer;
	uint32_t state;

	for (size_t i = 0; i < BUFFER_PAGES * PAGE; i++)
		if (!CHECK_EQ(byte[i], GUARD))
			break;
	CHECK_ERR(query_qp_state(b->s.fd, b->w.qpn, &state), 0);
	CHECK_EQ(state, EXRNIC_QP_STATE_RTS);
	post_success(&b->w);
	wait_for_completion(&b->w, 0);
	/* All hear of a node that does not answer, and of nothing else. */
	while (poll_now(b->s.fd))
		if (!CHECK_EQ(next_event(b->s.fd).type, EXRNIC_EVENT_PEER_DEAD))
			break;
	munmap((void *)b->w.page, PAGE);
	CHECK_ERR(close(b->s.fd), 0);
}

/* The child's alarm() is not inherited: the parent's limit is for both. */
static void wait_for_end(pid_t child)
{
	long long limit = now_ms() + time_ms + LATE_MS;
	int status;

	while (now_ms() < limit) {
		if (waitpid(child, &status, WNOHANG) == child) {
			if (WIFSIGNALED(status))
				printf("# it has died of signal %d\n", WTERMSIG(status));
			return;
		}
		usleep(STEP_US);
	}
	kill(child, SIGKILL);
	errno = ETIMEDOUT;
	give_up("waiting for the end of a hostile process");
}

void run_hostile(void (*body)(struct fuzz *f, const struct bystander *b), const struct bystander *b)
{
	struct fuzz f = fuzz_start();
	pid_t child = fork();

	if (child < 0)
		give_up("fork");
	if (!child) {
		body(&f, b);
		fuzz_end(&f);
		_exit(0);
	}
	wait_for_end(child);
}
