// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Kinds of memory that can be registered: huge pages, read-only and shared mappings. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support.h"

#define HUGE ((size_t)1 << EXRNIC_HUGE_PAGE_SHIFT)
#define HUGE_PAGES_PARAMETER "/sys/module/exrnic/parameters/huge_pages"

/* Whole huge pages from the system's pool, which grows for that; at a place, or anywhere. */
static char *huge_pages_at(void *place, size_t count)
{
	const int fixed = place ? MAP_FIXED : 0;
	char *p;

	if (access("/proc/sys/vm/nr_hugepages", W_OK))
		skip("no huge pages in this kernel");
	write_file("/proc/sys/vm/nr_hugepages", "8");
	p = mmap(place, count * HUGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | fixed, -1, 0);
	if (p == MAP_FAILED)
		skip("no memory for huge pages");
	return p;
}

static struct exrnic_get_pbl register_and_get(const struct set *s, char *address, size_t length,
					      uint64_t *bus, uint32_t room)
{
	struct exrnic_get_pbl get;
	uint32_t stag;

	CHECK_ERR(reg_mr(s->fd, s->pd, address, length, EXRNIC_ACCESS_LOCAL_WRITE, &stag), 0);
	CHECK_ERR(get_pbl(s->fd, stag, bus, room, &get), 0);
	return get;
}

/* Wherever the region begins and ends in its huge pages. */
static void huge_pages_are_used_as_such(void)
{
	struct set s = make_set();
	char *memory = huge_pages_at(NULL, 3);
	uint64_t bus[3] = { 0 };
	struct exrnic_get_pbl get = register_and_get(&s, memory, 3 * HUGE, bus, 3);

	CHECK_EQ(get.page_shift, EXRNIC_HUGE_PAGE_SHIFT);
	CHECK_EQ(get.pages, 3);
	for (size_t i = 0; i < 3; i++)
		CHECK_EQ(bus[i] % HUGE, 0);
	CHECK(bus[0] != bus[1] && bus[1] != bus[2] && bus[0] != bus[2]);
	if (has_iommu())
		return;
	get = register_and_get(&s, memory + HUGE - 100, HUGE + 200, bus, 3);
	CHECK_EQ(get.page_shift, EXRNIC_HUGE_PAGE_SHIFT);
	CHECK_EQ(get.pages, 3);
	get = register_and_get(&s, memory + PAGE, 2 * PAGE, bus, 3);
	CHECK_EQ(get.page_shift, EXRNIC_HUGE_PAGE_SHIFT);
	CHECK_EQ(get.pages, 1);
}

/* One small page among huge ones makes all entries small. */
static void mixed_pages_are_small(void)
{
	struct set s = make_set();
	uintptr_t around = (uintptr_t)pages(3 * HUGE / PAGE);
	char *huge = huge_pages_at((void *)((around + HUGE - 1) & ~(HUGE - 1)), 1);
	struct exrnic_get_pbl get;

	get = register_and_get(&s, huge, HUGE + PAGE, NULL, 0);
	CHECK(get.page_shift == EXRNIC_PAGE_SHIFT ? get.pages == HUGE / PAGE + 1 : get.pages == 2);
}

static void huge_pages_can_be_switched_off(void)
{
	struct set s = make_set();
	char *memory = huge_pages_at(NULL, 1);
	struct exrnic_get_pbl get;

	write_file(HUGE_PAGES_PARAMETER, "0");
	get = register_and_get(&s, memory, HUGE, NULL, 0);
	write_file(HUGE_PAGES_PARAMETER, "1");
	CHECK_EQ(get.page_shift, EXRNIC_PAGE_SHIFT);
	CHECK_EQ(get.pages, HUGE / PAGE);
}

static void check_read_only(const struct set *s, const void *memory)
{
	uint32_t stag;

	CHECK_ERR(reg_mr(s->fd, s->pd, memory, PAGE, EXRNIC_ACCESS_LOCAL_WRITE, &stag), EFAULT);
	CHECK_ERR(reg_mr(s->fd, s->pd, memory, PAGE, EXRNIC_ACCESS_REMOTE_WRITE, &stag), EFAULT);
	CHECK_ERR(reg_mr(s->fd, s->pd, memory, PAGE, EXRNIC_ACCESS_REMOTE_READ, &stag), 0);
	CHECK_ERR(object_ioctl(s->fd, EXRNIC_IOCTL_DEREG_MR, stag), 0);
}

static void *map_memfd(int fd, int protection)
{
	void *p = mmap(NULL, PAGE, protection, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		give_up("mmap of a memfd");
	return p;
}

static void read_only_shared_memory(void)
{
	struct set s = make_set();
	int fd = memfd_create("shared", MFD_CLOEXEC);
	uint32_t stag;

	if (fd < 0 || ftruncate(fd, PAGE))
		give_up("memfd_create");
	check_read_only(&s, map_memfd(fd, PROT_READ));
	CHECK_ERR(reg_mr(s.fd, s.pd, map_memfd(fd, PROT_READ | PROT_WRITE), PAGE,
			 EXRNIC_ACCESS_LOCAL_WRITE, &stag),
		  0);
}

/* Registered for reading, it must not be written: neither by the device nor by pinning it. */
static void read_only_private_memory(void)
{
	struct set s = make_set();
	char *memory = pages(1);

	memset(memory, 7, PAGE);
	mprotect(memory, PAGE, PROT_READ);
	check_read_only(&s, memory);
	CHECK_EQ(memory[PAGE - 1], 7);
}

static void memory_without_access(void)
{
	struct set s = make_set();
	char *memory = pages(1);
	uint32_t stag;

	mprotect(memory, PAGE, PROT_NONE);
	CHECK_ERR(reg_mr(s.fd, s.pd, memory, PAGE, 0, &stag), EFAULT);
	CHECK_ERR(reg_mr(s.fd, s.pd, memory, PAGE, EXRNIC_ACCESS_LOCAL_WRITE, &stag), EFAULT);
}

const struct test region_tests[] = {
	{ "a region in huge pages has an entry for each", huge_pages_are_used_as_such, 0 },
	{ "a region of huge and small pages has small ones", mixed_pages_are_small, 0 },
	{ "huge pages can be switched off", huge_pages_can_be_switched_off, 0 },
	{ "read-only shared memory can be registered for reading only", read_only_shared_memory, 0 },
	{ "read-only private memory stays as it is", read_only_private_memory, 0 },
	{ "memory that its process cannot read cannot be registered", memory_without_access, 0 },
	{ NULL, NULL, 0 },
};
