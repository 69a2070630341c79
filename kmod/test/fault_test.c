// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Every allocation of every command fails once. Needs a kernel with CONFIG_FAILSLAB and
 * CONFIG_FAIL_PAGE_ALLOC, and debugfs; is skipped elsewhere. The kernel's own checkers (KASAN,
 * kmemleak, lockdep) then tell more than the checks here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "support.h"

enum { MAX_ALLOCATIONS = 200 };

static bool set_knob(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);
	bool done = fd >= 0 && write(fd, value, strlen(value)) > 0;

	if (fd >= 0)
		close(fd);
	return done;
}

static int open_fail_nth(void)
{
	int fd;

	if (!set_knob("/sys/kernel/debug/failslab/ignore-gfp-wait", "N") ||
	    !set_knob("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N") ||
	    !set_knob("/sys/kernel/debug/fail_page_alloc/min-order", "0"))
		skip("no fault injection in this kernel");
	fd = open("/proc/thread-self/fail-nth", O_RDWR);
	if (fd < 0)
		skip("no fail-nth in this kernel");
	return fd;
}

static void arm(int fail_nth, int n)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%d", n);

	if (pwrite(fail_nth, text, length, 0) != length)
		give_up("fail-nth");
}

/* Whether the command made as many allocations as were armed. */
static bool has_fired(int fail_nth)
{
	char text[16] = "";

	if (pread(fail_nth, text, sizeof(text) - 1, 0) < 0)
		give_up("fail-nth");
	arm(fail_nth, 0);
	return !strncmp(text, "0", 1);
}

/* A command that makes an object, and how to end what it made; 0: close the descriptor. */
struct making {
	unsigned long command;
	const void *arg;
	size_t handle_at;
	unsigned long end;
};

/* Runs a command with its first, second, ... allocation failing, until none is left to fail. */
static void fail_each(int fd, const struct making *m)
{
	long long pinned = pinned_pages();
	int fail_nth = open_fail_nth(), n = 0, result;
	uint32_t handle;
	char arg[64];
	bool fired;

	do {
		memcpy(arg, m->arg, _IOC_SIZE(m->command));
		arm(fail_nth, ++n);
		result = ioctl(fd, m->command, arg);
		fired = has_fired(fail_nth);
		/* The kernel may have found another way: then there is an object. */
		if (!result) {
			memcpy(&handle, arg + m->handle_at, sizeof(handle));
			CHECK_ERR(m->end ? object_ioctl(fd, m->end, handle) : close((int)handle), 0);
		}
		CHECK_EQ(pinned_pages(), pinned);
	} while (fired && n < MAX_ALLOCATIONS);
	CHECK(!fired);
	CHECK_ERR(result, 0);
	printf("# %d allocations failed in turn\n", n - 1);
	close(fail_nth);
}

static void alloc_pd_fails(void)
{
	const struct exrnic_object arg = { 0 };
	const struct making m = {
		EXRNIC_IOCTL_ALLOC_PD, &arg, offsetof(struct exrnic_object, handle),
		EXRNIC_IOCTL_DEALLOC_PD,
	};

	fail_each(open_device(), &m);
}

static void create_cq_fails(void)
{
	const struct exrnic_create_cq arg = {
		.ring = (uintptr_t)pages(2), .entries = 256, .channel_fd = EXRNIC_NO_CHANNEL,
	};
	const struct making m = {
		EXRNIC_IOCTL_CREATE_CQ, &arg, offsetof(struct exrnic_create_cq, cqn),
		EXRNIC_IOCTL_DESTROY_CQ,
	};

	fail_each(open_device(), &m);
}

static void create_qp_fails(void)
{
	struct set s = make_set();
	const struct exrnic_create_qp arg = good_qp(&s);
	const struct making m = {
		EXRNIC_IOCTL_CREATE_QP, &arg, offsetof(struct exrnic_create_qp, qpn),
		EXRNIC_IOCTL_DESTROY_QP,
	};

	fail_each(s.fd, &m);
}

static void create_srq_fails(void)
{
	struct set s = make_set();
	const struct exrnic_create_srq arg = {
		.ring = (uintptr_t)pages(1), .slots = SLOTS, .pd = s.pd,
	};
	const struct making m = {
		EXRNIC_IOCTL_CREATE_SRQ, &arg, offsetof(struct exrnic_create_srq, srqn),
		EXRNIC_IOCTL_DESTROY_SRQ,
	};

	fail_each(s.fd, &m);
}

static void reg_mr_fails(void)
{
	struct set s = make_set();
	const struct exrnic_reg_mr arg = {
		.address = (uintptr_t)s.buffer, .length = BUFFER_PAGES * PAGE, .pd = s.pd,
	};
	const struct making m = {
		EXRNIC_IOCTL_REG_MR, &arg, offsetof(struct exrnic_reg_mr, stag),
		EXRNIC_IOCTL_DEREG_MR,
	};

	fail_each(s.fd, &m);
}

static void create_channel_fails(void)
{
	const struct exrnic_create_channel arg = { 0 };
	const struct making m = {
		EXRNIC_IOCTL_CREATE_CHANNEL, &arg, offsetof(struct exrnic_create_channel, fd), 0,
	};

	fail_each(open_device(), &m);
}

/* The region goes on under its old name, or under its new one. */
static void rereg_mr_fails(void)
{
	struct set s = make_set();
	struct exrnic_rereg_mr arg = {
		.length = BUFFER_PAGES * PAGE,
		.stag = s.stag,
		.flags = EXRNIC_REREG_TRANSLATION,
	};
	void *memory[] = { s.buffer, pages(BUFFER_PAGES) };
	long long pinned = pinned_pages();
	int fail_nth = open_fail_nth(), n = 0, result;
	struct exrnic_get_pbl get;
	bool fired;

	do {
		arg.address = (uintptr_t)memory[n % 2];
		arm(fail_nth, ++n);
		result = ioctl(s.fd, EXRNIC_IOCTL_REREG_MR, &arg);
		fired = has_fired(fail_nth);
		CHECK_ERR(get_pbl(s.fd, arg.stag, NULL, 0, &get), 0);
		CHECK_EQ(pinned_pages(), pinned);
	} while (fired && n < MAX_ALLOCATIONS);
	CHECK(!fired);
	CHECK_ERR(result, 0);
	printf("# %d allocations failed in turn\n", n - 1);
	close(fail_nth);
	s.stag = arg.stag;
	destroy_set(&s);
}

static void open_fails(void)
{
	int fail_nth = open_fail_nth(), fd, n = 0;
	bool fired;

	do {
		arm(fail_nth, ++n);
		fd = open(device_path(), O_RDWR | O_CLOEXEC);
		fired = has_fired(fail_nth);
		if (fd >= 0)
			close(fd);
	} while (fired && n < MAX_ALLOCATIONS);
	CHECK(fd >= 0);
	printf("# %d allocations failed in turn\n", n - 1);
}

const struct test fault_tests[] = {
	{ "alloc_pd without memory leaves nothing behind", alloc_pd_fails, 0 },
	{ "create_cq without memory leaves nothing behind", create_cq_fails, 0 },
	{ "create_qp without memory leaves nothing behind", create_qp_fails, 0 },
	{ "create_srq without memory leaves nothing behind", create_srq_fails, 0 },
	{ "reg_mr without memory leaves nothing behind", reg_mr_fails, 0 },
	{ "create_channel without memory leaves nothing behind", create_channel_fails, 0 },
	{ "rereg_mr without memory leaves the region as it was", rereg_mr_fails, 0 },
	{ "open without memory leaves nothing behind", open_fails, 0 },
	{ NULL, NULL, 0 },
};
