// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The commands that change nothing: GET_STATUS, and FIND_PAGES of the file in debugfs. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include "exrnic_debug.h"
#include "support.h"

enum { COUNT_OF_PAGES = 1100 };	/* more than the driver looks up at once, twice */

/* Mounted for this process only. */
static int open_debug_file(void)
{
	int fd;

	if (unshare(CLONE_NEWNS) || mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL))
		skip("no debugfs");
	fd = open(EXRNIC_DEBUG_MEMORY, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		give_up(EXRNIC_DEBUG_MEMORY);
	return fd;
}

static int find_pages(int fd, const void *address, uint64_t length, uint64_t *buffer, uint32_t *room)
{
	struct exrnic_find_pages find = { .address = (uintptr_t)address, .length = length,
					  .buffer = (uintptr_t)buffer, .pages = *room };
	int result = ioctl(fd, EXRNIC_DEBUG_IOCTL_FIND_PAGES, &find);

	*room = find.pages;
	return result;
}

/* What the kernel itself says of a page of this process; for root. */
static uint64_t physical_address(const void *page)
{
	int fd = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry = 0;

	if (fd < 0 || pread(fd, &entry, sizeof(entry), (uintptr_t)page / PAGE * 8) != 8)
		give_up("/proc/self/pagemap");
	close(fd);
	return (entry & ((1ULL << 55) - 1)) * PAGE;
}

static void status_is_that_of_the_device(void)
{
	int fd = open_device();
	struct exrnic_get_status get;

	memset(&get, 0xff, sizeof(get));
	CHECK_ERR(ioctl(fd, EXRNIC_IOCTL_GET_STATUS, &get), 0);
	CHECK(get.status & EXRNIC_DEVICE_STATUS_READY);
	CHECK_EQ(get.rsvd, 0);
	CHECK_ERR(ioctl(fd, EXRNIC_IOCTL_GET_STATUS, NULL), EFAULT);
}

static void pages_are_where_the_kernel_says(void)
{
	static uint64_t found[COUNT_OF_PAGES + 1];
	uint32_t room = COUNT_OF_PAGES + 1;
	int fd = open_debug_file();
	char *memory = pages(COUNT_OF_PAGES);

	memset(memory, 1, COUNT_OF_PAGES * PAGE);
	found[COUNT_OF_PAGES] = 7;
	CHECK_ERR(find_pages(fd, memory, COUNT_OF_PAGES * PAGE, found, &room), 0);
	CHECK_EQ(room, COUNT_OF_PAGES);
	for (int i = 0; i < COUNT_OF_PAGES; i++)
		if (!CHECK_EQ(found[i], physical_address(memory + i * PAGE)))
			break;
	CHECK_EQ(found[COUNT_OF_PAGES], 7);

	/* Two bytes that touch two pages. */
	room = 2;
	CHECK_ERR(find_pages(fd, memory + PAGE - 1, 2, found, &room), 0);
	CHECK_EQ(room, 2);
	CHECK_EQ(found[1], physical_address(memory + PAGE));
}

static void only_memory_of_the_caller(void)
{
	uint64_t found[4];
	uint32_t room = 4;
	int fd = open_debug_file();
	char *memory = pages(4);

	CHECK_ERR(find_pages(fd, memory, 0, found, &room), EINVAL);
	CHECK_ERR(find_pages(fd, memory, 4 * PAGE + 1, found, &room), EINVAL);
	CHECK_ERR(find_pages(fd, memory, ~0ULL, found, &room), EINVAL);
	CHECK_ERR(find_pages(fd, (void *)~(PAGE - 1), PAGE, found, &room), EINVAL);
	CHECK_ERR(find_pages(fd, NULL, PAGE, found, &room), EFAULT);
	room = 4;
	CHECK_ERR(find_pages(fd, (void *)0xffff888000000000UL, PAGE, found, &room), EFAULT);
	room = 4;
	CHECK_ERR(find_pages(fd, memory, 4 * PAGE, NULL, &room), EFAULT);
	munmap(memory + 3 * PAGE, PAGE);
	room = 4;
	CHECK_ERR(find_pages(fd, memory, 4 * PAGE, found, &room), EFAULT);
	room = 4;
	CHECK_ERR(find_pages(fd, memory, 3 * PAGE, found, &room), 0);

	struct exrnic_find_pages reserved = { .address = (uintptr_t)memory, .length = PAGE,
					      .buffer = (uintptr_t)found, .pages = 4, .rsvd = 1 };
	CHECK_ERR(ioctl(fd, EXRNIC_DEBUG_IOCTL_FIND_PAGES, &reserved), EINVAL);
}

static void others_do_not_see_addresses(void)
{
	uint64_t found[2] = { 1, 1 };
	uint32_t room = 2;
	int fd = open_debug_file();
	char *memory = pages(2);

	become_nobody(16);
	CHECK_ERR(find_pages(fd, memory, 2 * PAGE, found, &room), 0);
	CHECK_EQ(found[0] | found[1], 0);
	CHECK(open(EXRNIC_DEBUG_MEMORY, O_RDWR) < 0);
}

const struct test lookup_tests[] = {
	{ "the status is that of the device", status_is_that_of_the_device, 0 },
	{ "pages are found where the kernel says they are", pages_are_where_the_kernel_says, 0 },
	{ "only memory of the caller is looked up", only_memory_of_the_caller, 0 },
	{ "where pages lie is told to CAP_SYS_ADMIN only", others_do_not_see_addresses, 0 },
	{ NULL, NULL, 0 },
};
