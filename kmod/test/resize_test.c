// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Completion queues that get another ring while they are in use. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support.h"
#include "work.h"

#define PARAMETERS "/sys/module/exrnic_cdev/parameters/"
#define MIB ((size_t)1 << 20)

enum { ENTRIES_PER_PAGE = 4096 / sizeof(struct exrnic_cqe) };

/* Of entries that nobody has written. */
static struct exrnic_cqe *fresh_ring(uint32_t entries)
{
	struct exrnic_cqe *ring = pages((entries * sizeof(*ring) + PAGE - 1) / PAGE);

	for (uint32_t i = 0; i < entries; i++)
		ring[i].phase = EXRNIC_CQE_PHASE_NONE;
	return ring;
}

static int resize(int fd, uint32_t cqn, const void *ring, uint32_t entries, uint32_t *producer)
{
	struct exrnic_resize_cq arg = {
		.ring = (uintptr_t)ring, .cqn = cqn, .entries = entries, .producer = ~0U,
	};
	int result = ioctl(fd, EXRNIC_IOCTL_RESIZE_CQ, &arg);

	*producer = arg.producer;
	return result;
}

/* In a ring of `entries` entries; gives up if it does not come. */
static void wait_in(const volatile struct exrnic_cqe *ring, uint32_t entries, uint32_t index)
{
	const uint8_t phase = !(index / entries & 1);

	for (int i = 0; i < 20000; i++) {
		if (ring[index % entries].phase == phase)
			return;
		usleep(1000);
	}
	errno = ETIMEDOUT;
	give_up("waiting for a completion");
}

static void completions_go_on(void)
{
	enum { LARGER = 2 * WORKER_ENTRIES };
	struct set s = make_set();
	struct worker w = make_worker(&s, EXRNIC_NO_CHANNEL, 1, EXRNIC_ANY_VECTOR);
	struct exrnic_cqe *larger = fresh_ring(LARGER), *smaller = fresh_ring(WORKER_ENTRIES);
	uint32_t producer, index = 0;

	for (; index < 5; index++)
		post_success(&w);
	wait_for_completion(&w, 4);
	CHECK_ERR(resize(s.fd, w.cq.cqn, larger, LARGER, &producer), 0);
	CHECK_EQ(producer, 5);
	for (; index < 10; index++)
		post_success(&w);
	for (uint32_t i = 5; i < 10; i++)
		wait_in(larger, LARGER, i);
	for (uint32_t i = 0; i < 5; i++)
		CHECK_EQ(larger[i].phase, EXRNIC_CQE_PHASE_NONE);
	for (uint32_t i = 5; i < WORKER_ENTRIES; i++)
		CHECK_EQ(w.ring[i].phase, 0);
	/* Ten are unread, as far as the device knows. */
	CHECK_ERR(resize(s.fd, w.cq.cqn, smaller, WORKER_ENTRIES, &producer), ENOSPC);
	arm(&w, 10);
	CHECK_ERR(resize(s.fd, w.cq.cqn, smaller, WORKER_ENTRIES, &producer), 0);
	CHECK_EQ(producer, 10);
	for (; index < 18; index++)
		post_success(&w);
	for (uint32_t i = 10; i < 18; i++)
		wait_in(smaller, WORKER_ENTRIES, i);
	for (uint32_t i = 10; i < LARGER; i++)
		CHECK_EQ(larger[i].phase, EXRNIC_CQE_PHASE_NONE);
	end_worker(&w);
}

static void an_armed_queue_stays_armed(void)
{
	struct set s = make_set();
	int channel = create_channel(s.fd);
	struct worker w = make_worker(&s, channel, 77, EXRNIC_ANY_VECTOR);
	struct exrnic_cqe *ring = fresh_ring(64);
	struct exrnic_event event;
	uint32_t producer;

	arm(&w, 0);
	CHECK_ERR(resize(s.fd, w.cq.cqn, ring, 64, &producer), 0);
	CHECK_EQ(producer, 0);
	CHECK_EQ(poll_now(channel), 0);
	post_success(&w);
	wait_for_input(channel);
	event = next_event(channel);
	CHECK_EQ(event.cookie, 77);
	CHECK_EQ(event.type, EXRNIC_EVENT_COMPLETION);
	CHECK_EQ(ring[0].phase, 1);
	CHECK_EQ(end_worker(&w).comp_events, 1);
}

static void the_new_ring_is_pinned_in_place_of_the_old_one(void)
{
	struct set s = make_set();
	const long long pinned = pinned_pages();
	void *two = fresh_ring(2 * ENTRIES_PER_PAGE), *one = fresh_ring(8);
	uint32_t producer;

	CHECK_ERR(resize(s.fd, s.cqn, two, 2 * ENTRIES_PER_PAGE, &producer), 0);
	CHECK_EQ(pinned_pages(), pinned + 1);
	CHECK_ERR(resize(s.fd, s.cqn, one, 8, &producer), 0);
	CHECK_EQ(pinned_pages(), pinned);
	CHECK_ERR(resize(s.fd, s.cqn, one, ENTRIES_PER_PAGE, &producer), 0);
	CHECK_EQ(pinned_pages(), pinned);
	destroy_set(&s);
}

static void bad_sizes_and_rings(void)
{
	static const uint32_t sizes[] = { 0, 1, 4, 7, 9, 3 << 10, 1U << 31, ~0U };
	struct set s = make_set();
	const long long pinned = pinned_pages();
	char *ring = (char *)fresh_ring(64);
	struct exrnic_resize_cq arg = {
		.ring = (uintptr_t)ring, .cqn = s.cqn, .entries = 64, .rsvd = 1,
	};
	struct exrnic_query q;
	uint32_t producer;

	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_RESIZE_CQ, &arg), EINVAL);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		CHECK_ERR(resize(s.fd, s.cqn, ring, sizes[i], &producer), EINVAL);
	CHECK_ERR(query(s.fd, &q), 0);
	CHECK_ERR(resize(s.fd, s.cqn, ring, 2 * q.max_cq_entries, &producer), EINVAL);
	CHECK_ERR(resize(s.fd, s.cqn, ring + 64, 64, &producer), EINVAL);
	CHECK_ERR(mprotect(ring, PAGE, PROT_READ), 0);
	CHECK_ERR(resize(s.fd, s.cqn, ring, 64, &producer), EFAULT);
	CHECK_EQ(pinned_pages(), pinned);
	destroy_set(&s);
}

/* Both rings count while it is not known which of them stays. */
static void a_new_ring_counts_against_limits(void)
{
	struct set s = make_set();
	char *memory = pages(2 * MIB / PAGE);
	const long long pinned = pinned_pages();
	uint32_t producer;

	write_file(PARAMETERS "max_pinned_mib", "1");
	CHECK_ERR(resize(s.fd, s.cqn, memory, MIB / sizeof(struct exrnic_cqe), &producer), EDQUOT);
	CHECK_ERR(resize(s.fd, s.cqn, memory, MIB / 2 / sizeof(struct exrnic_cqe), &producer), 0);
	CHECK_ERR(resize(s.fd, s.cqn, memory + MIB, MIB / 2 / sizeof(struct exrnic_cqe), &producer),
		  EDQUOT);
	CHECK_ERR(resize(s.fd, s.cqn, memory + MIB, 8, &producer), 0);
	write_file(PARAMETERS "max_pinned_mib", "0");
	CHECK_EQ(pinned_pages(), pinned);
	destroy_set(&s);
}

static void a_new_ring_counts_against_memlock(void)
{
	struct set s = make_set();
	char *memory = pages(64);
	uint32_t producer;

	/* Seven pages are pinned. */
	become_nobody(12);
	CHECK_ERR(resize(s.fd, s.cqn, memory, 8 * ENTRIES_PER_PAGE, &producer), ENOMEM);
	CHECK_ERR(resize(s.fd, s.cqn, memory, 4 * ENTRIES_PER_PAGE, &producer), 0);
	CHECK_ERR(resize(s.fd, s.cqn, memory + 8 * PAGE, 4 * ENTRIES_PER_PAGE, &producer), ENOMEM);
	CHECK_ERR(resize(s.fd, s.cqn, memory + 8 * PAGE, 8, &producer), 0);
	CHECK_ERR(resize(s.fd, s.cqn, memory, 4 * ENTRIES_PER_PAGE, &producer), 0);
	destroy_set(&s);
}

static void an_answer_that_cannot_be_written(void)
{
	struct set s = make_set();
	const long long pinned = pinned_pages();
	struct exrnic_resize_cq *arg = pages(1);
	uint32_t producer;

	arg->ring = (uintptr_t)fresh_ring(2 * ENTRIES_PER_PAGE);
	arg->entries = 2 * ENTRIES_PER_PAGE;
	arg->cqn = s.cqn;
	CHECK_ERR(mprotect(arg, PAGE, PROT_READ), 0);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_RESIZE_CQ, arg), EFAULT);
	CHECK_EQ(pinned_pages(), pinned + 1);
	CHECK_ERR(resize(s.fd, s.cqn, fresh_ring(8), 8, &producer), 0);
	CHECK_EQ(pinned_pages(), pinned);
	destroy_set(&s);
}

const struct test resize_tests[] = {
	{ "completions go on in a larger ring and a smaller one, each in its place",
	  completions_go_on, 0 },
	{ "a completion queue that is armed stays so when it gets another ring",
	  an_armed_queue_stays_armed, 0 },
	{ "the new ring of a completion queue is pinned in the place of the old one",
	  the_new_ring_is_pinned_in_place_of_the_old_one, 0 },
	{ "a new ring of a bad size or place is refused, and nothing is pinned for it",
	  bad_sizes_and_rings, 0 },
	{ "the new ring of a completion queue counts against the limits of its file",
	  a_new_ring_counts_against_limits, 0 },
	{ "the new ring of a completion queue counts against RLIMIT_MEMLOCK",
	  a_new_ring_counts_against_memlock, 0 },
	{ "a completion queue has its new ring when that cannot be told",
	  an_answer_that_cannot_be_written, 0 },
	{ NULL, NULL, 0 },
};
