// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Everything that can be wrong with a command, tried out by table and at random. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const unsigned long commands[] = {
	EXRNIC_IOCTL_QUERY,	  EXRNIC_IOCTL_ALLOC_PD,   EXRNIC_IOCTL_DEALLOC_PD,
	EXRNIC_IOCTL_CREATE_CQ,	  EXRNIC_IOCTL_DESTROY_CQ, EXRNIC_IOCTL_CREATE_QP,
	EXRNIC_IOCTL_MODIFY_QP,	  EXRNIC_IOCTL_QUERY_QP,   EXRNIC_IOCTL_DESTROY_QP,
	EXRNIC_IOCTL_REG_MR,	  EXRNIC_IOCTL_DEREG_MR,   EXRNIC_IOCTL_GET_PBL,
	EXRNIC_IOCTL_CREATE_SRQ,  EXRNIC_IOCTL_MODIFY_SRQ, EXRNIC_IOCTL_QUERY_SRQ,
	EXRNIC_IOCTL_DESTROY_SRQ, EXRNIC_IOCTL_CREATE_CHANNEL, EXRNIC_IOCTL_REREG_MR,
	EXRNIC_IOCTL_GET_STATUS,  EXRNIC_IOCTL_CREATE_WINDOW,
	EXRNIC_IOCTL_DESTROY_WINDOW, EXRNIC_IOCTL_OPEN_PORT,  EXRNIC_IOCTL_CREATE_MSG_CHANNEL,
	EXRNIC_IOCTL_DESTROY_MSG_CHANNEL, EXRNIC_IOCTL_ATTACH_GROUP, EXRNIC_IOCTL_DETACH_GROUP,
	EXRNIC_IOCTL_RESIZE_CQ,	  EXRNIC_IOCTL_ALLOC_MW,   EXRNIC_IOCTL_DEALLOC_MW,
	EXRNIC_IOCTL_SEND_MANAGEMENT, EXRNIC_IOCTL_RECEIVE_MANAGEMENT,
};

enum { MAX_SIZE = 256 };	/* of a structure */

static bool is_number(unsigned int nr)
{
	for (size_t i = 0; i < COUNT(commands); i++)
		if (nr == _IOC_NR(commands[i]))
			return true;
	return false;
}

static void unknown_commands(void)
{
	static const unsigned int sizes[] = { 8, 16, 24, 32, 40, 56, 64, 0x3fff };
	int fd = open_device();
	uint64_t room[0x4000 / 8] = { 0 };

	for (unsigned int nr = 0; nr < 256; nr++) {
		for (size_t i = 0; i < COUNT(sizes); i++) {
			unsigned int command =
				_IOC(_IOC_READ | _IOC_WRITE, EXRNIC_IOCTL_MAGIC, nr, sizes[i]);

			if (!is_number(nr))
				CHECK_ERR(ioctl(fd, command, room), ENOTTY);
		}
	}
	CHECK_ERR(ioctl(fd, 0, room), ENOTTY);
	CHECK_ERR(ioctl(fd, ~0U, room), ENOTTY);
}

enum { FIRST_QUERY = 64, FIRST_MODIFY_QP = 32, FIRST_QUERY_QP = 32 };	/* sizes */

/* Of the first version of its structure. */
static unsigned int first_size(unsigned long command)
{
	switch (command) {
	case EXRNIC_IOCTL_QUERY:
		return FIRST_QUERY;
	case EXRNIC_IOCTL_MODIFY_QP:
		return FIRST_MODIFY_QP;
	case EXRNIC_IOCTL_QUERY_QP:
		return FIRST_QUERY_QP;
	default:
		return _IOC_SIZE(command);
	}
}

/* All directions but the right one, and sizes too small, of all commands; and other drivers' commands. */
static void smaller_sizes_and_other_directions(void)
{
	int fd = open_device();
	uint64_t room[MAX_SIZE / 4] = { 0 };

	for (size_t i = 0; i < COUNT(commands); i++) {
		unsigned int nr = _IOC_NR(commands[i]);

		for (unsigned int size = 0; size <= 2 * MAX_SIZE; size++) {
			for (unsigned int dir = 0; dir < 4; dir++) {
				unsigned int command = _IOC(dir, EXRNIC_IOCTL_MAGIC, nr, size);

				if (dir != _IOC_DIR(commands[i]) || size < first_size(commands[i]))
					CHECK_ERR(ioctl(fd, command, room), ENOTTY);
			}
		}
		CHECK_ERR(ioctl(fd, commands[i] ^ 1U << _IOC_TYPESHIFT, room), ENOTTY);
	}
}

/* As it would be of a later header. */
static unsigned long grown(unsigned long command, unsigned int bytes)
{
	return command + ((unsigned long)bytes << _IOC_SIZESHIFT);
}

static void older_programs_are_told_what_they_know(void)
{
	const unsigned long command =
		_IOC(_IOC_DIR(EXRNIC_IOCTL_QUERY), EXRNIC_IOCTL_MAGIC,
		     _IOC_NR(EXRNIC_IOCTL_QUERY), FIRST_QUERY);
	struct exrnic_query q, older;
	int fd = open_device();

	CHECK_ERR(query(fd, &q), 0);
	memset(&older, 0xff, sizeof(older));
	CHECK_ERR(ioctl(fd, command, &older), 0);
	CHECK(!memcmp(&older, &q, FIRST_QUERY));
	CHECK_EQ(older.read_pool, ~0U);
}

static void what_drivers_do_not_know_must_be_zero(void)
{
	struct set s = make_set();
	struct {
		struct exrnic_reg_mr reg;
		uint64_t later[512];
	} arg = { .reg = { .address = (uintptr_t)s.buffer, .length = PAGE, .pd = s.pd } };
	const unsigned long command = grown(EXRNIC_IOCTL_REG_MR, sizeof(arg.later));
	long long pinned = pinned_pages();

	for (size_t i = 0; i < COUNT(arg.later); i += COUNT(arg.later) - 1) {
		arg.later[i] = 1;
		CHECK_ERR(ioctl(s.fd, command, &arg), E2BIG);
		arg.later[i] = 0;
	}
	CHECK_EQ(pinned_pages(), pinned);
	CHECK_ERR(ioctl(s.fd, command, &arg), 0);
	CHECK(arg.reg.stag);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEREG_MR, arg.reg.stag), 0);
	destroy_set(&s);
}

static void what_drivers_do_not_know_reads_as_zero(void)
{
	int fd = open_device();
	struct {
		struct exrnic_query query;
		uint64_t later[8];
	} answer;
	struct exrnic_query q;
	char *two = pages(2);

	memset(&answer, 0xff, sizeof(answer));
	CHECK_ERR(query(fd, &q), 0);
	CHECK_ERR(ioctl(fd, grown(EXRNIC_IOCTL_QUERY, sizeof(answer.later)), &answer), 0);
	CHECK(!memcmp(&answer.query, &q, sizeof(q)));
	for (size_t i = 0; i < COUNT(answer.later); i++)
		CHECK_EQ(answer.later[i], 0);
	munmap(two + PAGE, PAGE);
	CHECK_ERR(ioctl(fd, grown(EXRNIC_IOCTL_QUERY, 8), two + PAGE - sizeof(q)), EFAULT);
}

static void bad_pointers(void)
{
	int fd = open_device();
	char *two = pages(2);

	munmap(two + PAGE, PAGE);
	for (size_t i = 0; i < COUNT(commands); i++) {
		/* There is nothing that it could tell. */
		if (commands[i] == EXRNIC_IOCTL_RECEIVE_MANAGEMENT)
			continue;
		CHECK_ERR(ioctl(fd, commands[i], NULL), EFAULT);
		CHECK_ERR(ioctl(fd, commands[i], (void *)1), EFAULT);
		CHECK_ERR(ioctl(fd, commands[i], (void *)~0UL), EFAULT);
		CHECK_ERR(ioctl(fd, commands[i], (void *)0xffff888000000000UL), EFAULT);
		for (size_t there = 0; there < _IOC_SIZE(commands[i]); there++)
			CHECK_ERR(ioctl(fd, commands[i], two + PAGE - there), EFAULT);
	}
}

/* A good argument of a command, and where in it a handle stands. */
struct place {
	unsigned long command;
	const void *arg;
	size_t at;
	uint32_t foreign;	/* a handle of this kind that another file has */
};

static int call_with(int fd, const struct place *p, uint32_t handle)
{
	char arg[MAX_SIZE];

	memcpy(arg, p->arg, _IOC_SIZE(p->command));
	memcpy(arg + p->at, &handle, sizeof(handle));
	return ioctl(fd, p->command, arg);
}

static void check_handles(int fd, const struct place *places, size_t count)
{
	for (const struct place *p = places; p < places + count; p++) {
		CHECK_ERR(call_with(fd, p, p->foreign), ENOENT);
		CHECK_ERR(call_with(fd, p, 0x7fffffff), ENOENT);
		CHECK_ERR(call_with(fd, p, 0x80000000), ENOENT);
		CHECK_ERR(call_with(fd, p, 0xfffffffe), ENOENT);
	}
}

#define PLACE(name, arg, field, foreign) \
	{ EXRNIC_IOCTL_##name, &(arg), offsetof(__typeof__(arg), field), foreign }

static void foreign_handles_in_every_place(void)
{
	struct set s = make_set(), other = make_set();
	struct exrnic_destroy destroy = { 0 };
	struct exrnic_object object = { 0 };
	struct exrnic_create_qp qp = good_qp(&s);
	struct exrnic_create_srq srq = { .ring = (uintptr_t)pages(1), .slots = SLOTS };
	struct exrnic_resize_cq resize = { .ring = (uintptr_t)pages(1), .entries = CQ_ENTRIES };
	struct exrnic_modify_qp modify = { .state = EXRNIC_QP_STATE_INIT };
	struct exrnic_query_qp query_qp = { 0 };
	struct exrnic_modify_srq modify_srq = { 0 };
	struct exrnic_query_srq query_srq = { 0 };
	struct exrnic_reg_mr reg = { .address = (uintptr_t)s.buffer, .length = PAGE };
	struct exrnic_rereg_mr rereg = { .flags = EXRNIC_REREG_ACCESS };
	struct exrnic_rereg_mr rereg_pd = { .stag = s.stag, .flags = EXRNIC_REREG_PD };
	struct exrnic_get_pbl get = { 0 };
	struct exrnic_alloc_mw mw = { 0 };
	uint32_t srqn, other_mw;

	CHECK_ERR(create_srq(other.fd, other.pd, pages(1), SLOTS, &srqn), 0);
	CHECK_ERR(alloc_mw(other.fd, other.pd, &other_mw), 0);

	struct exrnic_create_qp with_srq = srq_qp(&s, srqn);
	const struct place places[] = {
		PLACE(DEALLOC_PD, object, handle, other.pd),
		PLACE(DEREG_MR, object, handle, other.stag),
		PLACE(ALLOC_MW, mw, pd, other.pd),
		PLACE(DEALLOC_MW, object, handle, other_mw),
		PLACE(DESTROY_CQ, destroy, handle, other.cqn),
		PLACE(RESIZE_CQ, resize, cqn, other.cqn),
		PLACE(DESTROY_QP, destroy, handle, other.qpn),
		PLACE(DESTROY_SRQ, destroy, handle, srqn),
		PLACE(CREATE_QP, qp, pd, other.pd),
		PLACE(CREATE_QP, qp, send_cqn, other.cqn),
		PLACE(CREATE_QP, qp, recv_cqn, other.cqn),
		PLACE(CREATE_QP, with_srq, srqn, srqn),
		PLACE(CREATE_SRQ, srq, pd, other.pd),
		PLACE(MODIFY_QP, modify, qpn, other.qpn),
		PLACE(QUERY_QP, query_qp, qpn, other.qpn),
		PLACE(MODIFY_SRQ, modify_srq, srqn, srqn),
		PLACE(QUERY_SRQ, query_srq, srqn, srqn),
		PLACE(REG_MR, reg, pd, other.pd),
		PLACE(REREG_MR, rereg, stag, other.stag),
		PLACE(REREG_MR, rereg_pd, pd, other.pd),
		PLACE(GET_PBL, get, stag, other.stag),
	};
	long long pinned = pinned_pages();

	check_handles(s.fd, places, COUNT(places));
	CHECK_EQ(pinned_pages(), pinned);
	destroy_set(&s);
	CHECK_ERR(object_ioctl(other.fd, EXRNIC_IOCTL_DESTROY_SRQ, srqn), 0);
	CHECK_ERR(object_ioctl(other.fd, EXRNIC_IOCTL_DEALLOC_MW, other_mw), 0);
	destroy_set(&other);
}

static int call_with_ring(int fd, const struct place *p, uint64_t ring)
{
	char arg[MAX_SIZE];

	memcpy(arg, p->arg, _IOC_SIZE(p->command));
	memcpy(arg + p->at, &ring, sizeof(ring));
	return ioctl(fd, p->command, arg);
}

/* Rings of two pages, so that the second can be missing. */
static void rings_that_are_not_the_callers(void)
{
	struct set s = make_set();
	char *hole = pages(2);
	struct exrnic_create_cq cq = {
		.entries = 2 * PAGE / sizeof(struct exrnic_cqe), .channel_fd = EXRNIC_NO_CHANNEL,
	};
	struct exrnic_resize_cq resize = { .cqn = s.cqn, .entries = cq.entries };
	struct exrnic_create_srq srq = { .slots = 2 * PAGE / sizeof(struct exrnic_wqe), .pd = s.pd };
	struct exrnic_create_qp sq = good_qp(&s), rq = good_qp(&s);
	const struct place places[] = {
		PLACE(CREATE_CQ, cq, ring, 0), PLACE(RESIZE_CQ, resize, ring, 0),
		PLACE(CREATE_SRQ, srq, ring, 0), PLACE(CREATE_QP, sq, sq, 0),
		PLACE(CREATE_QP, rq, rq, 0),
	};
	void *user_page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, s.fd, 0);
	long long pinned = pinned_pages();

	sq.sq_slots = srq.slots;
	rq.rq_slots = srq.slots;
	munmap(hole + PAGE, PAGE);
	for (const struct place *p = places; p < places + COUNT(places); p++) {
		CHECK_ERR(call_with_ring(s.fd, p, 0), EFAULT);
		CHECK_ERR(call_with_ring(s.fd, p, (uintptr_t)hole), EFAULT);
		CHECK_ERR(call_with_ring(s.fd, p, (uintptr_t)user_page), EFAULT);
		CHECK_ERR(call_with_ring(s.fd, p, 0xffff888000000000), EFAULT);
		CHECK_ERR(call_with_ring(s.fd, p, 0x8000000000000000), EFAULT);
		CHECK_ERR(call_with_ring(s.fd, p, -PAGE), EINVAL);
		CHECK_ERR(call_with_ring(s.fd, p, -2 * PAGE), EINVAL);
		CHECK_ERR(call_with_ring(s.fd, p, (uintptr_t)hole + 8), EINVAL);
	}
	CHECK_EQ(pinned_pages(), pinned);
	munmap(user_page, PAGE);
	destroy_set(&s);
}

static bool is_transition(uint32_t from, uint32_t to)
{
	if (to == from)
		return to != EXRNIC_QP_STATE_RTR;
	if (to == EXRNIC_QP_STATE_SQD)
		return from == EXRNIC_QP_STATE_RTS;
	if (to == EXRNIC_QP_STATE_RTS && from == EXRNIC_QP_STATE_SQD)
		return true;
	return to == EXRNIC_QP_STATE_RESET || to == EXRNIC_QP_STATE_ERROR ||
	       (from < EXRNIC_QP_STATE_RTS && to == from + 1);
}

static int move_to(const struct set *s, uint32_t state)
{
	bool rtr = state == EXRNIC_QP_STATE_RTR;

	return modify_qp(s->fd, s->qpn, state, rtr ? other_node(s->fd) : 0, rtr ? 1 : 0);
}

static void every_transition(void)
{
	struct set s = make_set();

	for (uint32_t from = EXRNIC_QP_STATE_RESET; from <= EXRNIC_QP_STATE_SQD; from++) {
		for (uint32_t to = EXRNIC_QP_STATE_RESET; to <= EXRNIC_QP_STATE_SQD; to++) {
			uint32_t now;

			CHECK_ERR(move_to(&s, EXRNIC_QP_STATE_RESET), 0);
			for (uint32_t step = 1; step <= from && step <= EXRNIC_QP_STATE_RTS; step++)
				CHECK_ERR(move_to(&s, step), 0);
			if (from > EXRNIC_QP_STATE_RTS)
				CHECK_ERR(move_to(&s, from), 0);
			CHECK_ERR(move_to(&s, to), is_transition(from, to) ? 0 : EPERM);
			CHECK_ERR(query_qp_state(s.fd, s.qpn, &now), 0);
			CHECK_EQ(now, is_transition(from, to) ? to : from);
		}
	}
	destroy_set(&s);
}

/* Values that get past one check and into the next. */
static uint32_t odd_word(unsigned int *seed, const struct set *s)
{
	const uint32_t words[] = {
		0, 1, 2, 7, 8, 64, 128, 4096, 4097, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
		s->pd, s->cqn, s->qpn, s->stag, (uint32_t)(uintptr_t)s->buffer,
		(uint32_t)((uintptr_t)s->buffer >> 32), (uint32_t)(uintptr_t)s->ring,
	};
	unsigned int pick = (unsigned int)rand_r(seed) % (COUNT(words) + 1);

	return pick < COUNT(words) ? words[pick] : (uint32_t)rand_r(seed);
}

/* What uapi/exrnic.h names for bad arguments; a device that broke would give EIO or ETIMEDOUT. */
static bool is_documented(int error)
{
	static const int errors[] = {
		EFAULT, EINVAL, ENOENT, EBUSY, ENOSPC, ENOMEM, EPERM, EBADF, EAGAIN,
	};

	for (size_t i = 0; i < COUNT(errors); i++)
		if (error == errors[i])
			return true;
	return false;
}

static void random_arguments(void)
{
	enum { CALLS = 4000 };
	unsigned int seed = (unsigned int)time(NULL);
	struct set s = make_set(), bystander = make_set();
	uint32_t state, arg[MAX_SIZE / 4];

	printf("# seed %u\n", seed);
	for (int i = 0; i < CALLS; i++) {
		unsigned long command = commands[(unsigned int)rand_r(&seed) % COUNT(commands)];

		for (size_t word = 0; word < COUNT(arg); word++)
			arg[word] = odd_word(&seed, &s);
		if (ioctl(s.fd, command, arg) && !is_documented(errno))
			CHECK_EQ(errno, 0);
	}
	CHECK_ERR(query_qp_state(bystander.fd, bystander.qpn, &state), 0);
	CHECK_EQ(state, EXRNIC_QP_STATE_RESET);
	destroy_set(&bystander);
}

const struct test sweep_tests[] = {
	{ "an unknown command gives ENOTTY", unknown_commands, 0 },
	{ "a command of a smaller size or another direction gives ENOTTY",
	  smaller_sizes_and_other_directions, 0 },
	{ "an older program is told what it knows", older_programs_are_told_what_they_know, 0 },
	{ "what a driver does not know of a command's structure must be zero, or gives E2BIG",
	  what_drivers_do_not_know_must_be_zero, 0 },
	{ "what a driver does not know of an answer's structure reads as zero",
	  what_drivers_do_not_know_reads_as_zero, 0 },
	{ "a bad pointer gives EFAULT in every command", bad_pointers, 0 },
	{ "a foreign handle gives ENOENT in every place, and leaves nothing pinned",
	  foreign_handles_in_every_place, 0 },
	{ "a ring that is not the caller's memory is refused", rings_that_are_not_the_callers, 0 },
	{ "a queue pair makes the transitions of its states, and no other", every_transition, 0 },
	{ "random arguments give documented errors and harm nobody", random_arguments, 120 },
	{ NULL, NULL, 0 },
};
