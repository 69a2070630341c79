// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The device forgets what it was told: by a reset that the kernel announces to the driver, by one that it
 * does not, and while the system is suspended.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/pci_regs.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tenant.h"

enum { RESET_US = 100000 };	/* PCI Express Base Specification 5.0, 6.6.2: at most, after the order */

/* Programs hear of it; new ones find a device that works, without a hand of the administrator's. */
static void an_announced_reset(void)
{
	long long before = pinned_pages();
	char name[64], path[PATH_MAX];
	struct tenant tenant;

	pci_name(name, sizeof(name));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", name);
	for (int i = 0; i < 3; i++) {
		move_in(&tenant);
		write_file(path, "1");
		CHECK_EQ(pinned_pages(), before);
		check_evicted(&tenant);
		check_life_goes_on();
		move_out(&tenant);
	}
}

static int open_config(void)
{
	char name[64], path[PATH_MAX];
	int fd;

	pci_name(name, sizeof(name));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/config", name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		give_up(path);
	return fd;
}

static uint16_t get_config(int config, int at)
{
	uint16_t value;

	if (pread(config, &value, sizeof(value), at) != sizeof(value))
		give_up("reading configuration space");
	return value;
}

static void set_config(int config, int at, uint16_t value)
{
	if (pwrite(config, &value, sizeof(value), at) != sizeof(value))
		give_up("writing configuration space");
}

static int find_express(int config)
{
	int at = get_config(config, PCI_CAPABILITY_LIST) & 0xff;

	while (at && (get_config(config, at) & 0xff) != PCI_CAP_ID_EXP)
		at = get_config(config, at) >> 8;
	if (!at)
		give_up("no PCI Express capability");
	return at;
}

/* Past the kernel; it is mapped and masters the bus as before, so it looks as if nothing had been. */
static void reset_in_silence(void)
{
	int config = open_config();
	int control = find_express(config) + PCI_EXP_DEVCTL;
	uint16_t command = get_config(config, PCI_COMMAND);

	set_config(config, control, get_config(config, control) | PCI_EXP_DEVCTL_BCR_FLR);
	usleep(RESET_US);
	set_config(config, PCI_COMMAND, command);
	close(config);
}

static void bind_anew(void)
{
	char name[64];

	pci_name(name, sizeof(name));
	write_file(DRIVER "/unbind", name);
	write_file(DRIVER "/bind", name);
	check_life_goes_on();
}

static void a_command_finds_it_out(void)
{
	long long before = pinned_pages();
	const volatile struct exrnic_state_page *state;
	struct set s = make_set();
	uint32_t out;

	state = map_state_page(s.fd);
	reset_in_silence();
	CHECK_ERR(reg_mr(s.fd, s.pd, s.buffer, PAGE, 0, &out), EIO);
	CHECK_EQ(next_event(s.fd).type, EXRNIC_EVENT_DEVICE_FATAL);
	CHECK_EQ(poll_now(s.fd), 0);
	CHECK_EQ(state->gone, 1);
	CHECK_ERR(query_qp_state(s.fd, s.qpn, &out), EIO);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, s.qpn), EIO);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, s.qpn), ENOENT);
	CHECK_ERR(close(s.fd), 0);
	munmap((void *)state, PAGE);
	CHECK_EQ(pinned_pages(), before);
	bind_anew();
}

static void who_only_waits_hears_of_it(void)
{
	struct set s = make_set();
	const volatile struct exrnic_state_page *state = map_state_page(s.fd);

	reset_in_silence();
	CHECK_EQ(next_event(s.fd).type, EXRNIC_EVENT_DEVICE_FATAL);
	CHECK_EQ(state->gone, 1);
	CHECK_ERR(close(s.fd), 0);
	munmap((void *)state, PAGE);
	bind_anew();
}

/* A file of a device that is cut off can be opened; nobody waits there for what never comes. */
static void who_comes_late_hears_of_it(void)
{
	const volatile struct exrnic_state_page *state;
	struct set s = make_set();
	int late;

	reset_in_silence();
	CHECK_EQ(next_event(s.fd).type, EXRNIC_EVENT_DEVICE_FATAL);
	late = open_device();
	state = map_state_page(late);
	CHECK_EQ(state->gone, 1);
	CHECK_EQ(next_event(late).type, EXRNIC_EVENT_DEVICE_FATAL);
	CHECK_EQ(poll_now(late), 0);
	CHECK_ERR(close(late), 0);
	CHECK_ERR(close(s.fd), 0);
	munmap((void *)state, PAGE);
	bind_anew();
}

/* QEMU's firmware does not give the bridge back where its power management is: power would stay on. */
#define BRIDGE "/sys/bus/pci/devices/0000:00:1f.0/config"
enum { BRIDGE_PM = 0x40, BRIDGE_PM_BYTES = 8 };

static void suspend_to_memory(void)
{
	unsigned char pm[BRIDGE_PM_BYTES];
	int bridge = open(BRIDGE, O_RDWR | O_CLOEXEC);

	if (bridge < 0 || pread(bridge, pm, sizeof(pm), BRIDGE_PM) != sizeof(pm))
		give_up(BRIDGE);
	write_file("/sys/class/rtc/rtc0/wakealarm", "+2");
	write_file("/sys/power/state", "mem");
	for (int i = 0; i < BRIDGE_PM_BYTES; i += 4)
		if (pwrite(bridge, pm + i, 4, BRIDGE_PM + i) != 4)
			give_up(BRIDGE);
	close(bridge);
}

static void suspended(void)
{
	long long before = pinned_pages();
	struct tenant tenant;

	for (int i = 0; i < 2; i++) {
		move_in(&tenant);
		suspend_to_memory();
		CHECK_EQ(pinned_pages(), before);
		check_evicted(&tenant);
		check_life_goes_on();
		move_out(&tenant);
	}
}

const struct test reset_tests[] = {
	{ "a reset of the device ends everything and spares the process, and new files work at once",
	  an_announced_reset, 0 },
	{ "a reset that nobody announced is found out by the next command", a_command_finds_it_out, 0 },
	{ "a reset that nobody announced is told to who only waits", who_only_waits_hears_of_it, 0 },
	{ "a reset that nobody announced is told to who opens the device behind it",
	  who_comes_late_hears_of_it, 0 },
	{ NULL, NULL, 0 },
};

const struct test suspension_tests[] = {
	{ "suspension to memory ends everything and spares the process, and new files work at once",
	  suspended, 0 },
	{ NULL, NULL, 0 },
};
