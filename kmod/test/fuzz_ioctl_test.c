// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Commands that no honest program would give, and honest ones with some fields wrong. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { POOL_PAGES = 64, HANDLES = 32, ARG_WORDS = 64, LIMIT_FILES = 64 };

/* What a hostile process has. Output of commands goes to `arg`, the rest where they are told. */
struct hostile {
	struct fuzz *f;
	int fd;
	char *pool;		   /* memory that exists */
	char *gap;		   /* and some that does not, at its end */
	uint32_t handles[HANDLES]; /* words of answers: some are handles, channels, STags */
	uint32_t arg[ARG_WORDS];
};

static const unsigned long commands[] = {
	EXRNIC_IOCTL_QUERY,	  EXRNIC_IOCTL_ALLOC_PD,       EXRNIC_IOCTL_DEALLOC_PD,
	EXRNIC_IOCTL_CREATE_CQ,	  EXRNIC_IOCTL_DESTROY_CQ,     EXRNIC_IOCTL_CREATE_QP,
	EXRNIC_IOCTL_MODIFY_QP,	  EXRNIC_IOCTL_QUERY_QP,       EXRNIC_IOCTL_DESTROY_QP,
	EXRNIC_IOCTL_REG_MR,	  EXRNIC_IOCTL_DEREG_MR,       EXRNIC_IOCTL_GET_PBL,
	EXRNIC_IOCTL_CREATE_SRQ,  EXRNIC_IOCTL_MODIFY_SRQ,     EXRNIC_IOCTL_QUERY_SRQ,
	EXRNIC_IOCTL_DESTROY_SRQ, EXRNIC_IOCTL_CREATE_CHANNEL, EXRNIC_IOCTL_REREG_MR,
	EXRNIC_IOCTL_GET_STATUS,  EXRNIC_IOCTL_CREATE_WINDOW,
	EXRNIC_IOCTL_OPEN_PORT,	  EXRNIC_IOCTL_DESTROY_WINDOW, EXRNIC_IOCTL_CREATE_MSG_CHANNEL,
	EXRNIC_IOCTL_DESTROY_MSG_CHANNEL, EXRNIC_IOCTL_ATTACH_GROUP, EXRNIC_IOCTL_DETACH_GROUP,
	EXRNIC_IOCTL_RESIZE_CQ,	  EXRNIC_IOCTL_ALLOC_MW,   EXRNIC_IOCTL_DEALLOC_MW,
	EXRNIC_IOCTL_SEND_MANAGEMENT, EXRNIC_IOCTL_RECEIVE_MANAGEMENT,
};

static uint64_t draw_address(struct hostile *h)
{
	uint64_t place = (uintptr_t)h->pool + draw_below(h->f, POOL_PAGES) * PAGE;

	switch (draw_below(h->f, 8)) {
	case 0:
		return draw(h->f);
	case 1:
		return 0xffff888000000000 + draw_below(h->f, 1 << 30);
	case 2:
		return (uintptr_t)h->gap - draw_below(h->f, 2 * PAGE);
	case 3:
		return place + draw_below(h->f, PAGE);
	default:
		return place;
	}
}

static uint32_t draw_field(struct hostile *h)
{
	return draw_below(h->f, 2) ? h->handles[draw_below(h->f, HANDLES)] : draw_word(h->f);
}

/* A command that may well succeed. */
static void fill_honest(struct hostile *h, unsigned long command)
{
	uint64_t address = (uintptr_t)h->pool + draw_below(h->f, POOL_PAGES) * PAGE;
	union {
		struct exrnic_create_cq cq;
		struct exrnic_resize_cq resize;
		struct exrnic_create_qp qp;
		struct exrnic_create_srq srq;
		struct exrnic_reg_mr mr;
		struct exrnic_create_window window;
		struct exrnic_open_port port;
		struct exrnic_create_msg_channel messages;
		uint32_t words[ARG_WORDS];
	} a = { .words = { draw_field(h), draw_below(h->f, 6) } };

	if (command == EXRNIC_IOCTL_CREATE_CQ)
		a.cq = (struct exrnic_create_cq){
			.ring = address,
			.entries = 8U << draw_below(h->f, 5),
			.comp_vector = EXRNIC_ANY_VECTOR,
			.channel_fd = EXRNIC_NO_CHANNEL,
		};
	else if (command == EXRNIC_IOCTL_RESIZE_CQ)
		a.resize = (struct exrnic_resize_cq){
			.ring = address,
			.cqn = draw_field(h),
			.entries = 8U << draw_below(h->f, 5),
		};
	else if (command == EXRNIC_IOCTL_CREATE_QP)
		a.qp = (struct exrnic_create_qp){
			.sq = address,
			.rq = (uintptr_t)h->pool,
			.sq_slots = SLOTS,
			.rq_slots = SLOTS,
			.pd = draw_field(h),
			.send_cqn = draw_field(h),
			.recv_cqn = draw_field(h),
			.srqn = EXRNIC_NO_SRQ,
			.service = draw_below(h->f, EXRNIC_SERVICE_UD + 1),
			.flags = draw_below(h->f, 3),
		};
	else if (command == EXRNIC_IOCTL_CREATE_SRQ)
		a.srq = (struct exrnic_create_srq){
			.ring = address,
			.slots = SLOTS,
			.pd = draw_field(h),
		};
	else if (command == EXRNIC_IOCTL_REG_MR)
		a.mr = (struct exrnic_reg_mr){
			.address = address,
			.length = draw_below(h->f, 8 * PAGE),
			.pd = draw_field(h),
			.access = draw_below(h->f, 2 * EXRNIC_ACCESS_REMOTE_ATOMIC),
		};
	else if (command == EXRNIC_IOCTL_CREATE_WINDOW)
		a.window = (struct exrnic_create_window){
			.remote = address,
			.length = 1 + draw_below(h->f, 4 << EXRNIC_WINDOW_SHIFT_MIN),
			.qpn = draw_field(h),
			.stag = draw_field(h),
			.access = 1 + draw_below(h->f, 3),
		};
	else if (command == EXRNIC_IOCTL_OPEN_PORT)
		a.port = (struct exrnic_open_port){
			.port = draw_below(h->f, EXRNIC_PORTS),
			.peer_node = draw_below(h->f, 2),
			.peer_port = draw_below(h->f, EXRNIC_PORTS),
		};
	else if (command == EXRNIC_IOCTL_CREATE_MSG_CHANNEL)
		a.messages = (struct exrnic_create_msg_channel){
			.address = address,
			.length = draw_below(h->f, 8 * PAGE),
			.number = draw_below(h->f, EXRNIC_FW_CHANNELS),
			.work = 32 * draw_below(h->f, 256),
			.log_work = draw_below(h->f, EXRNIC_CHANNEL_RING_LOG_MAX + 2),
			.events = 64 * draw_below(h->f, 256),
			.log_events = draw_below(h->f, EXRNIC_CHANNEL_RING_LOG_MAX + 2),
			.slots = draw_below(h->f, 8 * PAGE),
			.slot_bytes = draw_below(h->f, 2 * EXRNIC_CHANNEL_SLOT_MIN),
			.num_slots = draw_below(h->f, EXRNIC_CHANNEL_SLOTS_MAX + 2),
			.channel_fd = EXRNIC_NO_CHANNEL,
		};
	memcpy(h->arg, a.words, sizeof(h->arg));
}

/* Some fields, or pairs of them that may be an address. */
static void spoil(struct hostile *h, size_t words)
{
	for (uint32_t times = draw_below(h->f, 4); times; times--) {
		size_t at = draw_below(h->f, words);
		uint64_t address = draw_address(h);

		if (draw_below(h->f, 3))
			h->arg[at] = draw_field(h);
		else
			memcpy(&h->arg[at & ~(size_t)1], &address, sizeof(address));
	}
}

static void learn(struct hostile *h, size_t words)
{
	h->handles[draw_below(h->f, HANDLES)] = h->arg[draw_below(h->f, words)];
}

/* Channels that were made, or handles taken for one: no descriptor but these is closed. */
static void close_some(struct hostile *h)
{
	int fd = h->fd + 1 + (int)draw_below(h->f, LIMIT_FILES);

	if (!draw_below(h->f, 4))
		close(fd);
}

static void structured(struct hostile *h)
{
	unsigned long command = commands[draw_below(h->f, COUNT(commands))];
	size_t words = _IOC_SIZE(command) / sizeof(uint32_t);

	fill_honest(h, command);
	spoil(h, words);
	if (!ioctl(h->fd, command, h->arg))
		learn(h, words);
	if (command == EXRNIC_IOCTL_CREATE_CHANNEL || command == EXRNIC_IOCTL_OPEN_PORT)
		close_some(h);
}

/* Any number, size and direction; any address of the argument. */
static void unstructured(struct hostile *h)
{
	unsigned long command = draw_word(h->f);

	if (draw_below(h->f, 2))
		command = _IOC(draw_below(h->f, 4), EXRNIC_IOCTL_MAGIC, draw_below(h->f, 0x24),
			       draw_below(h->f, 128));
	if (draw_below(h->f, 2))
		command = commands[draw_below(h->f, COUNT(commands))];
	draw_bytes(h->f, h->arg, sizeof(h->arg));
	ioctl(h->fd, command, draw_below(h->f, 2) ? (uint64_t)(uintptr_t)h->arg : draw_address(h));
}

/* The file, too, comes and goes. */
static void open_again(struct hostile *h)
{
	int fd = open(device_path(), O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	dup2(fd, h->fd);
	close(fd);
}

static struct hostile make_hostile(struct fuzz *f)
{
	struct hostile h = { .f = f, .fd = open_device(), .pool = pages(POOL_PAGES + 1) };

	h.gap = h.pool + POOL_PAGES * PAGE;
	munmap(h.gap, PAGE);
	return h;
}

static void random_commands(struct fuzz *f, const struct bystander *b)
{
	struct hostile h = make_hostile(f);

	(void)b;
	become_nobody(4 * POOL_PAGES);
	while (fuzz_goes_on(f))
		unstructured(&h);
}

static void random_fields(struct fuzz *f, const struct bystander *b)
{
	struct hostile h = make_hostile(f);

	h.handles[0] = b->s.pd;
	h.handles[1] = b->s.cqn;
	h.handles[2] = b->s.qpn;
	h.handles[3] = b->s.stag;
	become_nobody(4 * POOL_PAGES);
	while (fuzz_goes_on(f)) {
		structured(&h);
		if (!draw_below(f, 200))
			open_again(&h);
	}
}

static void random_commands_do_no_harm(void)
{
	struct bystander b = make_bystander();

	run_hostile(random_commands, &b);
	check_bystander(&b);
}

static void random_fields_do_no_harm(void)
{
	struct bystander b = make_bystander();

	run_hostile(random_fields, &b);
	check_bystander(&b);
}

const struct test fuzz_ioctl_tests[] = {
	{ "random commands do no harm", random_commands_do_no_harm, 0 },
	{ "commands with some wrong fields do no harm", random_fields_do_no_harm, 0 },
	{ NULL, NULL, 0 },
};
