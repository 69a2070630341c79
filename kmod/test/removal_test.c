// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The device or the module goes away while processes use it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tenant.h"
#include "work.h"

static void removal_with_everything_alive(void)
{
	long long before = pinned_pages();
	struct tenant tenant;
	char name[64];

	pci_name(name, sizeof(name));
	move_in(&tenant);
	write_file(DRIVER "/unbind", name);
	CHECK_EQ(pinned_pages(), before);
	check_evicted(&tenant);
	CHECK(open(device_path(), O_RDWR) < 0);
	move_out(&tenant);
	/* The file held its number until now; the device comes back under the same one. */
	write_file(DRIVER "/bind", name);
	check_life_goes_on();
}

/* Makes and ends objects until the device says that it is gone. */
static void *use_until_the_end(void *data)
{
	int fd = *(int *)data;
	uint32_t pd, stag;
	void *memory = pages(1);
	int error = 0;

	while (!error) {
		if (alloc_pd(fd, &pd) || reg_mr(fd, pd, memory, PAGE, 0, &stag) ||
		    object_ioctl(fd, EXRNIC_IOCTL_DEREG_MR, stag) ||
		    object_ioctl(fd, EXRNIC_IOCTL_DEALLOC_PD, pd))
			error = errno;
	}
	return (void *)(intptr_t)error;
}

static void removal_in_the_middle_of_work(void)
{
	enum { USERS = 4, DELAY_US = 100000 };
	long long before = pinned_pages();
	pthread_t threads[USERS];
	int files[USERS];
	char name[64];
	void *error;

	pci_name(name, sizeof(name));
	for (int i = 0; i < USERS; i++) {
		files[i] = open_device();
		if (pthread_create(&threads[i], NULL, use_until_the_end, &files[i]))
			give_up("pthread_create");
	}
	usleep(DELAY_US);
	write_file(DRIVER "/unbind", name);
	for (int i = 0; i < USERS; i++) {
		pthread_join(threads[i], &error);
		CHECK_EQ((intptr_t)error, ENODEV);
		CHECK_ERR(close(files[i]), 0);
	}
	CHECK_EQ(pinned_pages(), before);
	write_file(DRIVER "/bind", name);
	check_life_goes_on();
}

/* What hot-plug does, but for the slot: the function is taken off the bus, and found again. */
static void the_function_leaves_the_bus(void)
{
	long long before = pinned_pages();
	char name[64], path[PATH_MAX];
	struct tenant tenant;

	pci_name(name, sizeof(name));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/remove", name);
	move_in(&tenant);
	write_file(path, "1");
	CHECK_EQ(pinned_pages(), before);
	CHECK(access(path, F_OK) < 0);
	check_evicted(&tenant);
	move_out(&tenant);
	write_file("/sys/bus/pci/rescan", "1");
	check_life_goes_on();
}

/* A port may outlive its file, and the function its driver: nothing else gets their name meanwhile. */
static void a_port_keeps_the_name(void)
{
	int fd = open_device();
	struct exrnic_open_port open = { .peer_node = other_node(fd) };
	char name[64];

	pci_name(name, sizeof(name));
	CHECK_ERR(ioctl(fd, EXRNIC_IOCTL_OPEN_PORT, &open), 0);
	close(fd);
	write_file(DRIVER "/unbind", name);
	write_file(DRIVER "/bind", name);
	CHECK(access(device_path(), F_OK) < 0);
	close(open.fd);
	write_file(DRIVER "/unbind", name);
	write_file(DRIVER "/bind", name);
	check_life_goes_on();
}

static int unload(void)
{
	return unload_module("exrnic_cdev") || unload_module("exrnic") ? -1 : 0;
}

/* Where the image of the guests has them; other systems keep their modules. */
#define CORE "/lib/exrnic.ko"
#define CDEV "/lib/exrnic_cdev.ko"

static void load_one(const char *path, const char *parameters)
{
	if (load_module(path, parameters))
		give_up(path);
}

static void load(const char *parameters)
{
	load_one(CORE, parameters);
	load_one(CDEV, "");
}

static void skip_without_modules(void)
{
	if (access(CORE, R_OK) || access(CDEV, R_OK))
		skip("no " CORE " or " CDEV " to load again");
}

static void a_busy_module_stays(void)
{
	int fd, channel;
	void *page;

	skip_without_modules();
	fd = open_device();
	CHECK_ERR(unload(), EWOULDBLOCK);
	channel = create_channel(fd);
	close(fd);
	CHECK_ERR(unload(), EWOULDBLOCK);
	close(channel);
	page = map_user_page(fd = open_device());
	close(fd);
	CHECK_ERR(unload(), EWOULDBLOCK);
	munmap(page, PAGE);
	CHECK_ERR(unload(), 0);
	CHECK(access(device_path(), F_OK) < 0);
	load("");
	check_life_goes_on();
}

static void the_module_comes_and_goes(void)
{
	enum { TIMES = 5 };

	skip_without_modules();
	for (int i = 0; i < TIMES; i++) {
		check_life_goes_on();
		if (!CHECK_ERR(unload(), 0))
			return;
		load("");
	}
}

/* The device keeps its driver, which has no user; the char device comes back to it as it went. */
static void the_char_device_comes_and_goes(void)
{
	enum { TIMES = 5 };

	skip_without_modules();
	for (int i = 0; i < TIMES; i++) {
		check_life_goes_on();
		CHECK_ERR(unload_module("exrnic"), EWOULDBLOCK);
		if (!CHECK_ERR(unload_module("exrnic_cdev"), 0))
			return;
		CHECK(access(device_path(), F_OK) < 0);
		CHECK(!access("/sys/module/exrnic", F_OK));
		load_one(CDEV, "");
	}
	check_life_goes_on();
}

/* As above, with the device's driver alone for a while. */
static void the_core_comes_and_goes_alone(void)
{
	skip_without_modules();
	CHECK_ERR(unload(), 0);
	load_one(CORE, "");
	CHECK(access(device_path(), F_OK) < 0);
	CHECK_ERR(unload_module("exrnic"), 0);
	load("");
	check_life_goes_on();
}

/* Its files are open, so that the module stays; but the device can be taken from it. */
static void the_char_device_loses_the_device(void)
{
	long long before = pinned_pages();
	struct tenant tenant;
	char name[NAME_MAX + 1];

	auxiliary_name(name, sizeof(name));
	move_in(&tenant);
	CHECK_ERR(unload_module("exrnic_cdev"), EWOULDBLOCK);
	write_file(AUXILIARY "/unbind", name);
	CHECK_EQ(pinned_pages(), before);
	check_evicted(&tenant);
	move_out(&tenant);
	write_file(AUXILIARY "/bind", name);
	check_life_goes_on();
}

static void the_char_device_loses_the_device_in_the_middle_of_work(void)
{
	enum { USERS = 4, DELAY_US = 50000, TIMES = 3 };
	long long before = pinned_pages();
	pthread_t threads[USERS];
	int files[USERS];
	char name[NAME_MAX + 1];
	void *error;

	auxiliary_name(name, sizeof(name));
	for (int t = 0; t < TIMES; t++) {
		for (int i = 0; i < USERS; i++) {
			files[i] = open_device();
			if (pthread_create(&threads[i], NULL, use_until_the_end, &files[i]))
				give_up("pthread_create");
		}
		usleep(DELAY_US);
		write_file(AUXILIARY "/unbind", name);
		for (int i = 0; i < USERS; i++) {
			pthread_join(threads[i], &error);
			CHECK_EQ((intptr_t)error, ENODEV);
			CHECK_ERR(close(files[i]), 0);
		}
		CHECK_EQ(pinned_pages(), before);
		write_file(AUXILIARY "/bind", name);
	}
	check_life_goes_on();
}

static void check_vectors(const char *parameters, uint32_t comp_vectors)
{
	struct exrnic_query q;
	struct worker w;
	struct set s;
	int channel;

	CHECK_ERR(unload(), 0);
	load(parameters);
	s = make_set();
	channel = create_channel(s.fd);
	CHECK_ERR(query(s.fd, &q), 0);
	CHECK_EQ(q.comp_vectors, comp_vectors);
	w = make_worker(&s, channel, 1, comp_vectors - 1);
	arm(&w, 0);
	post_success(&w);
	CHECK_EQ(next_event(channel).handle, w.cq.cqn);
	post_failure(&w);
	CHECK_EQ(next_event(s.fd).type, EXRNIC_EVENT_QP_ERROR);
	munmap((void *)w.page, PAGE);
	close(channel);
	close(s.fd);
}

static void it_works_with_few_vectors(void)
{
	skip_without_modules();
	check_vectors("max_vectors=1", 1);
	check_vectors("max_vectors=2", 1);
	check_vectors("max_vectors=3", 2);
	check_vectors("max_vectors=0", 1);
	CHECK_ERR(unload(), 0);
	load("");
}

/* As the link is now: an event stands for all that has happened. */
static void tell_of_the_link(int fd)
{
	struct exrnic_get_status get;

	if (!CHECK_ERR(ioctl(fd, EXRNIC_IOCTL_GET_STATUS, &get), 0))
		return;
	printf("@link-%s\n", get.status & EXRNIC_DEVICE_STATUS_LINK_UP ? "up" : "down");
	fflush(stdout);
}

int wait_for_the_end(void)
{
	const volatile struct exrnic_state_page *state;
	struct exrnic_event event = { 0 };
	struct set s = make_set();
	uint32_t pd;

	state = map_state_page(s.fd);
	/* Peers may die before. */
	while (event.type != EXRNIC_EVENT_DEVICE_FATAL) {
		if (!CHECK_EQ(read(s.fd, &event, sizeof(event)), sizeof(event)))
			break;
		if (event.type == EXRNIC_EVENT_LINK)
			tell_of_the_link(s.fd);
	}
	CHECK_EQ(state->gone, 1);
	CHECK(alloc_pd(s.fd, &pd) < 0 || query_qp_state(s.fd, s.qpn, &pd) < 0);
	CHECK_ERR(close(s.fd), 0);
	munmap((void *)state, PAGE);
	return has_failed();
}

const struct test removal_tests[] = {
	{ "unbinding the device ends everything and spares the process",
	  removal_with_everything_alive, 0 },
	{ "the device can be unbound in the middle of commands", removal_in_the_middle_of_work, 0 },
	{ "taking the device off the bus ends everything and spares the process",
	  the_function_leaves_the_bus, 0 },
	{ "no other device gets the name of one of which a port is open", a_port_keeps_the_name, 0 },
	{ "a module in use cannot be unloaded", a_busy_module_stays, 0 },
	{ "completions and events arrive with one vector for all, and with few",
	  it_works_with_few_vectors, 0 },
	{ "the char device can be unloaded and loaded again and again, and the device keeps its driver",
	  the_char_device_comes_and_goes, 0 },
	{ "the driver of the device can be loaded and unloaded without a char device",
	  the_core_comes_and_goes_alone, 0 },
	{ "taking the device from the char device ends everything and spares the process",
	  the_char_device_loses_the_device, 0 },
	{ "the device can be taken from the char device in the middle of commands",
	  the_char_device_loses_the_device_in_the_middle_of_work, 0 },
	{ "the modules can be unloaded and loaded again and again", the_module_comes_and_goes, 0 },
	{ NULL, NULL, 0 },
};
