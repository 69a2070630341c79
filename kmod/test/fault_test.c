// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Every allocation of a probe, of open and of every command that makes something fails once. Needs
 * a kernel with CONFIG_FAILSLAB and CONFIG_FAIL_PAGE_ALLOC, and debugfs; is skipped elsewhere. The
 * kernel's own checkers (KASAN, kmemleak, lockdep) then tell more than the checks here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support.h"

#define DRIVER "/sys/bus/pci/drivers/exrnic"

enum { MAX_ALLOCATIONS = 200, MAX_OF_PROBE = 3000 };

static bool set_knob(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);
	bool done = fd >= 0 && write(fd, value, strlen(value)) > 0;

	if (fd >= 0)
		close(fd);
	return done;
}

/* Tells of each failure in one line, not with a stack. */
static void say_little(void)
{
	set_knob("/sys/kernel/debug/failslab/verbose", "1");
	set_knob("/sys/kernel/debug/fail_page_alloc/verbose", "1");
	set_knob("/sys/kernel/debug/fail_usercopy/verbose", "1");
}

static int open_fail_nth(void)
{
	int fd;

	say_little();
	if (!set_knob("/sys/kernel/debug/failslab/ignore-gfp-wait", "N") ||
	    !set_knob("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N") ||
	    !set_knob("/sys/kernel/debug/fail_page_alloc/min-order", "0"))
		skip("no fault injection in this kernel");
	fd = open("/proc/thread-self/fail-nth", O_RDWR);
	if (fd < 0)
		skip("no fail-nth in this kernel");
	return fd;
}

/* Copies from and to user space count as allocations do: writing can be what fails, once. */
static void arm(int fail_nth, int n)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%d", n);

	if (pwrite(fail_nth, text, length, 0) != length &&
	    (errno != EFAULT || pwrite(fail_nth, text, length, 0) != length))
		give_up("fail-nth");
}

/* Whether the command came as far as was armed, and not just the question about it. */
static bool has_fired(int fail_nth)
{
	char text[16] = "";
	ssize_t bytes = pread(fail_nth, text, sizeof(text) - 1, 0);

	if (bytes < 0 && errno != EFAULT)
		give_up("fail-nth");
	arm(fail_nth, 0);
	return bytes > 0 && !strncmp(text, "0", 1);
}

/* A command, and how to end the object that it made; 0: close the descriptor, NOTHING_TO_END: it makes none. */
#define NOTHING_TO_END (~0UL)
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
	char arg[128];
	bool fired;

	do {
		memcpy(arg, m->arg, _IOC_SIZE(m->command));
		arm(fail_nth, ++n);
		result = ioctl(fd, m->command, arg);
		fired = has_fired(fail_nth);
		/* The kernel may have found another way: then there is an object. */
		if (!result && m->end != NOTHING_TO_END) {
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

static void resize_cq_fails(void)
{
	struct set s = make_set();
	const struct exrnic_resize_cq arg = {
		.ring = (uintptr_t)pages(1), .cqn = s.cqn, .entries = CQ_ENTRIES,
	};
	const struct making m = { EXRNIC_IOCTL_RESIZE_CQ, &arg, 0, NOTHING_TO_END };

	fail_each(s.fd, &m);
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

static void create_window_fails(void)
{
	struct set s = make_connected_set();
	const struct exrnic_create_window arg = {
		.length = 2 << EXRNIC_WINDOW_SHIFT_MIN, .qpn = s.qpn, .access = EXRNIC_WINDOW_ACCESS_STORE,
	};
	const struct making m = {
		EXRNIC_IOCTL_CREATE_WINDOW, &arg, offsetof(struct exrnic_create_window, window),
		EXRNIC_IOCTL_DESTROY_WINDOW,
	};

	fail_each(s.fd, &m);
}

static void open_port_fails(void)
{
	int fd = open_device();
	const struct exrnic_open_port arg = { .peer_node = other_node(fd) };
	const struct making m = {
		EXRNIC_IOCTL_OPEN_PORT, &arg, offsetof(struct exrnic_open_port, fd), 0,
	};

	fail_each(fd, &m);
}

static void create_msg_channel_fails(void)
{
	const struct exrnic_create_msg_channel arg = {
		.address = (uintptr_t)pages(8),
		.length = 8 * PAGE,
		.number = 1,
		.work = PAGE,
		.log_work = 4,
		.events = 2 * PAGE,
		.log_events = 4,
		.slots = 4 * PAGE,
		.slot_bytes = PAGE,
		.num_slots = 4,
		.channel_fd = EXRNIC_NO_CHANNEL,
	};
	const struct making m = {
		EXRNIC_IOCTL_CREATE_MSG_CHANNEL, &arg,
		offsetof(struct exrnic_create_msg_channel, number),
		EXRNIC_IOCTL_DESTROY_MSG_CHANNEL,
	};

	skip_without_processor();
	fail_each(open_device(), &m);
}

/* The region goes on under its old name, or under its new one. It is no more if the answer could not be written. */
static void rereg_mr_fails(void)
{
	struct set s = make_set();
	void *memory[] = { s.buffer, pages(BUFFER_PAGES) };
	struct exrnic_rereg_mr arg = { .length = BUFFER_PAGES * PAGE, .stag = s.stag };
	long long pinned = pinned_pages();
	int fail_nth = open_fail_nth(), n = 0, error;
	struct exrnic_get_pbl get;
	bool fired;

	arg.flags = EXRNIC_REREG_TRANSLATION;
	do {
		arg.address = (uintptr_t)memory[n % 2];
		arm(fail_nth, ++n);
		error = ioctl(s.fd, EXRNIC_IOCTL_REREG_MR, &arg) ? errno : 0;
		fired = has_fired(fail_nth);
		if (error == EFAULT && get_pbl(s.fd, arg.stag, NULL, 0, &get))
			CHECK_ERR(reg_mr(s.fd, s.pd, s.buffer, arg.length, 0, &arg.stag), 0);
		CHECK_ERR(get_pbl(s.fd, arg.stag, NULL, 0, &get), 0);
		CHECK_EQ(pinned_pages(), pinned);
	} while (fired && n < MAX_ALLOCATIONS);
	CHECK(!fired);
	CHECK_EQ(error, 0);
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

static void mmap_fails(void)
{
	int fd = open_device(), fail_nth = open_fail_nth(), n = 0;
	void *page;
	bool fired;

	do {
		arm(fail_nth, ++n);
		page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			    EXRNIC_MMAP_USER_PAGE);
		fired = has_fired(fail_nth);
		if (page != MAP_FAILED)
			CHECK_ERR(munmap(page, PAGE), 0);
	} while (fired && n < MAX_ALLOCATIONS);
	CHECK(page != MAP_FAILED);
	printf("# %d allocations failed in turn\n", n - 1);
}

static bool is_bound(void)
{
	return !access(device_path(), F_OK);
}

/* The kernel may have found another way: then the device works, with fewer vectors, say. */
static void check_probe(bool bound)
{
	struct set s;

	CHECK_EQ(is_bound(), bound);
	if (!bound || !is_bound())
		return;
	s = make_set();
	destroy_set(&s);
}

/* A device is bound though a part of it found no memory for its driver: that part is tried again. */
static void bind_char_device(bool fired)
{
	char name[NAME_MAX + 1];

	CHECK(fired);
	auxiliary_name(name, sizeof(name));
	write_file(AUXILIARY "/bind", name);
}

static void probe_fails(void)
{
	int fail_nth = open_fail_nth(), n = 0, bind = open(DRIVER "/bind", O_WRONLY);
	long long pinned = pinned_pages();
	bool fired, bound = is_bound();
	char name[64];

	if (bind < 0)
		give_up(DRIVER "/bind");
	pci_name(name, sizeof(name));
	do {
		if (bound)
			write_file(DRIVER "/unbind", name);
		arm(fail_nth, ++n);
		bound = pwrite(bind, name, strlen(name), 0) > 0;
		fired = has_fired(fail_nth);
		if (bound && !is_bound())
			bind_char_device(fired);
		check_probe(bound);
		CHECK_EQ(pinned_pages(), pinned);
	} while (fired && n < MAX_OF_PROBE && !has_failed());
	CHECK(!fired);
	CHECK(bound);
	printf("# %d allocations failed in turn\n", n - 1);
	close(bind);
	close(fail_nth);
}

/* What else hears of an interface may also lack memory, and say nothing. */
static void ethernet_fails(void)
{
	int fail_nth = open_fail_nth(), n = 0, error;
	char name[IFNAMSIZ];
	bool fired;

	load_ethernet(name);
	do {
		arm(fail_nth, ++n);
		error = set_interface_up(name, true) ? errno : 0;
		fired = has_fired(fail_nth);
		CHECK(!error || (fired && (error == ENOMEM || error == ENOBUFS || error == EFAULT)));
		CHECK_ERR(set_interface_up(name, false), 0);
	} while (fired && n < MAX_OF_PROBE && !has_failed());
	CHECK(!fired);
	printf("# %d allocations failed in turn\n", n - 1);
	unload_ethernet();
	close(fail_nth);
}

const struct test fault_tests[] = {
	{ "alloc_pd without memory leaves nothing behind", alloc_pd_fails, 0 },
	{ "create_cq without memory leaves nothing behind", create_cq_fails, 0 },
	{ "resize_cq without memory leaves the queue its ring, and nothing behind", resize_cq_fails, 0 },
	{ "create_qp without memory leaves nothing behind", create_qp_fails, 0 },
	{ "create_srq without memory leaves nothing behind", create_srq_fails, 0 },
	{ "reg_mr without memory leaves nothing behind", reg_mr_fails, 0 },
	{ "create_channel without memory leaves nothing behind", create_channel_fails, 0 },
	{ "create_window without memory leaves nothing behind", create_window_fails, 0 },
	{ "open_port without memory leaves nothing behind", open_port_fails, 0 },
	{ "create_msg_channel without memory leaves nothing behind", create_msg_channel_fails, 0 },
	{ "rereg_mr without memory leaves the region as it was", rereg_mr_fails, 0 },
	{ "open without memory leaves nothing behind", open_fails, 0 },
	{ "mmap of the user page without memory leaves nothing behind", mmap_fails, 0 },
	{ "a probe without memory leaves nothing behind, and another one works", probe_fails, 600 },
	{ "an Ethernet interface without memory stays down, and comes up later", ethernet_fails, 600 },
	{ NULL, NULL, 0 },
};
