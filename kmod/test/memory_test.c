// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory: what is pinned, what is refused, where the device is told that it lies. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define HUGE ((size_t)1 << EXRNIC_HUGE_PAGE_SHIFT)

static const uint32_t bad_entries[] = {
	0, 1, 2, 3, 4, 5, 6, 7, 96, 0x7fffffff, 0x80000000, 0xffffffff,
};

static void *read_only_pages(size_t count)
{
	void *p = pages(count);

	mprotect(p, count * PAGE, PROT_READ);
	return p;
}

static void bad_completion_rings(void)
{
	int fd = open_device();
	char *ring = pages(2);
	uint32_t cqn;

	for (size_t i = 0; i < COUNT(bad_entries); i++)
		CHECK_ERR(create_cq(fd, ring, bad_entries[i], &cqn), EINVAL);
	CHECK_ERR(create_cq(fd, ring, 2U << EXRNIC_CQ_LOG_MAX, &cqn), EINVAL);
	CHECK_ERR(create_cq(fd, ring + 64, 8, &cqn), EINVAL);
	CHECK_ERR(create_cq(fd, ring + 1, 8, &cqn), EINVAL);
	CHECK_ERR(create_cq(fd, NULL, 8, &cqn), EFAULT);
	CHECK_ERR(create_cq(fd, (void *)0xffff888000000000UL, 8, &cqn), EFAULT);
	CHECK_ERR(create_cq(fd, (void *)~(PAGE - 1), 1024, &cqn), EINVAL);
	CHECK_ERR(create_cq(fd, read_only_pages(1), 8, &cqn), EFAULT);
	munmap(ring + PAGE, PAGE);
	CHECK_ERR(create_cq(fd, ring, 2 * PAGE / sizeof(struct exrnic_cqe), &cqn), EFAULT);
	CHECK_ERR(create_cq(fd, ring, PAGE / sizeof(struct exrnic_cqe), &cqn), 0);
}

static void check_bad_queue(struct set *s, __u64 *ring, __u32 *slots)
{
	for (size_t i = 0; i < COUNT(bad_entries); i++) {
		*slots = bad_entries[i];
		CHECK_ERR(create_qp_of(s), EINVAL);
	}
	*slots = 2U << EXRNIC_SQ_LOG_MAX;
	CHECK_ERR(create_qp_of(s), EINVAL);
	*slots = SLOTS;
	*ring += 64;
	CHECK_ERR(create_qp_of(s), EINVAL);
	*ring = 0;
	CHECK_ERR(create_qp_of(s), EFAULT);
	s->qp = good_qp(s);
}

static void bad_work_rings(void)
{
	struct set s = make_set();

	check_bad_queue(&s, &s.qp.sq, &s.qp.sq_slots);
	check_bad_queue(&s, &s.qp.rq, &s.qp.rq_slots);
	CHECK_ERR(create_qp_of(&s), 0);
}

static void rings_of_all_sizes(void)
{
	struct set s = make_set();
	const size_t largest = ((size_t)sizeof(struct exrnic_cqe) << EXRNIC_CQ_LOG_MAX) / PAGE;
	void *ring = pages(largest);
	long long before = pinned_pages();
	uint32_t cqn;

	for (uint32_t log = EXRNIC_RING_LOG_MIN; log <= EXRNIC_CQ_LOG_MAX; log++) {
		size_t bytes = sizeof(struct exrnic_cqe) << log;

		CHECK_ERR(create_cq(s.fd, ring, 1U << log, &cqn), 0);
		CHECK_EQ(pinned_pages() - before, (bytes + PAGE - 1) / PAGE);
		CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_CQ, cqn), 0);
	}
	s.qp.sq = (uintptr_t)ring;
	for (uint32_t log = EXRNIC_RING_LOG_MIN; log <= EXRNIC_SQ_LOG_MAX; log++) {
		s.qp.sq_slots = 1U << log;
		CHECK_ERR(create_qp_of(&s), 0);
		CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, s.qpn), 0);
	}
	CHECK_EQ(pinned_pages(), before);
}

static void bad_regions(void)
{
	struct set s = make_set();
	char *buffer = s.buffer;
	uint32_t stag;

	CHECK_ERR(reg_mr(s.fd, s.pd, buffer, 0, 0, &stag), EINVAL);
	CHECK_ERR(reg_mr(s.fd, s.pd, buffer, ~0ULL, 0, &stag), EINVAL);
	CHECK_ERR(reg_mr(s.fd, s.pd, (void *)~0UL, 2, 0, &stag), EINVAL);
	CHECK_ERR(reg_mr(s.fd, s.pd, buffer, PAGE, 32, &stag), EINVAL);
	CHECK_ERR(reg_mr(s.fd, s.pd, buffer, PAGE, 0xffffffff, &stag), EINVAL);
	CHECK_ERR(reg_mr(s.fd, s.pd, NULL, PAGE, 0, &stag), EFAULT);
	CHECK_ERR(reg_mr(s.fd, s.pd, (void *)~0UL, 1, 0, &stag), EINVAL);
	CHECK_ERR(reg_mr(s.fd, s.pd, (void *)~(PAGE - 1), PAGE - 1, 0, &stag), EINVAL);
	CHECK_ERR(reg_mr(s.fd, s.pd, (void *)0xffff888000000000UL, PAGE, 0, &stag), EFAULT);
	CHECK_ERR(reg_mr(s.fd, s.pd, NULL, 1ULL << 46, 0, &stag), ENOMEM);
	munmap(buffer + 2 * PAGE, PAGE);
	CHECK_ERR(reg_mr(s.fd, s.pd, buffer, 4 * PAGE, 0, &stag), EFAULT);
	CHECK_ERR(reg_mr(s.fd, s.pd, buffer, 2 * PAGE + 1, 0, &stag), EFAULT);
	CHECK_ERR(reg_mr(s.fd, s.pd, buffer, 2 * PAGE, 0, &stag), 0);
}

static void read_only_regions(void)
{
	struct set s = make_set();
	void *memory = read_only_pages(2);
	uint32_t stag;

	CHECK_ERR(reg_mr(s.fd, s.pd, memory, PAGE, EXRNIC_ACCESS_LOCAL_WRITE, &stag), EFAULT);
	CHECK_ERR(reg_mr(s.fd, s.pd, memory, PAGE, EXRNIC_ACCESS_REMOTE_WRITE, &stag), EFAULT);
	CHECK_ERR(reg_mr(s.fd, s.pd, memory, PAGE, EXRNIC_ACCESS_REMOTE_READ, &stag), 0);
	CHECK_ERR(reg_mr(s.fd, s.pd, memory, PAGE, 0, &stag), 0);
}

static void regions_pin_what_they_touch(void)
{
	static const struct {
		size_t offset, length, pages;
	} rows[] = {
		{ 0, 1, 1 }, { PAGE - 1, 1, 1 }, { PAGE - 1, 2, 2 }, { 1, PAGE, 2 },
		{ 0, PAGE, 1 }, { 0, PAGE + 1, 2 }, { PAGE / 2, 3 * PAGE, 4 },
	};
	struct set s = make_set();
	long long before = pinned_pages();
	struct exrnic_get_pbl get;
	uint32_t stag;

	for (size_t i = 0; i < COUNT(rows); i++) {
		char *start = (char *)s.buffer + rows[i].offset;

		CHECK_ERR(reg_mr(s.fd, s.pd, start, rows[i].length, 0, &stag), 0);
		CHECK_EQ(pinned_pages() - before, rows[i].pages);
		CHECK_ERR(get_pbl(s.fd, stag, NULL, 0, &get), 0);
		if (get.page_shift == EXRNIC_PAGE_SHIFT)
			CHECK_EQ(get.pages, rows[i].pages);
		CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEREG_MR, stag), 0);
	}
	CHECK_EQ(pinned_pages(), before);
}

static void a_large_region(void)
{
	enum { MIB_PAGES = 256, SIZE = 64 * MIB_PAGES };
	struct set s = make_set();
	char *memory = pages(SIZE);
	long long before = pinned_pages();
	struct exrnic_get_pbl get;
	uint32_t stag;

	CHECK_ERR(reg_mr(s.fd, s.pd, memory + 100, SIZE * PAGE - 100, EXRNIC_ACCESS_LOCAL_WRITE,
			 &stag),
		  0);
	CHECK_EQ(pinned_pages() - before, SIZE);
	CHECK_ERR(get_pbl(s.fd, stag, NULL, 0, &get), 0);
	if (get.page_shift == EXRNIC_PAGE_SHIFT)
		CHECK_EQ(get.pages, SIZE);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEREG_MR, stag), 0);
}

/* Three regions in one huge page and across two, where the system gives huge pages. */
static void a_region_in_huge_pages(void)
{
	struct set s = make_set();
	uint64_t bus[3];
	char *memory = pages(3 * HUGE / PAGE);
	char *aligned = (char *)(((uintptr_t)memory + HUGE - 1) & ~(HUGE - 1));
	struct exrnic_get_pbl get;
	uint32_t stag;

	madvise(aligned, 2 * HUGE, MADV_HUGEPAGE);
	memset(aligned, 1, 2 * HUGE);
	CHECK_ERR(reg_mr(s.fd, s.pd, aligned + PAGE, 2 * HUGE - 2 * PAGE, 0, &stag), 0);
	CHECK_ERR(get_pbl(s.fd, stag, bus, 3, &get), 0);
	if (get.page_shift != EXRNIC_HUGE_PAGE_SHIFT) {
		CHECK_EQ(get.pages, 2 * HUGE / PAGE - 2);
		return;
	}
	CHECK_EQ(get.pages, 2);
	CHECK_EQ(bus[0] % HUGE, 0);
	CHECK_EQ(bus[1] % HUGE, 0);
	CHECK(bus[0] != bus[1]);
}

static void get_pbl_fills_the_room_it_has(void)
{
	struct set s = make_set();
	uint64_t bus[BUFFER_PAGES + 1];
	struct exrnic_get_pbl get;

	for (uint32_t room = 0; room <= BUFFER_PAGES + 1; room++) {
		memset(bus, 0xff, sizeof(bus));
		CHECK_ERR(get_pbl(s.fd, s.stag, bus, room, &get), 0);
		if (get.page_shift != EXRNIC_PAGE_SHIFT)
			return;
		CHECK_EQ(get.pages, BUFFER_PAGES);
		for (uint32_t i = 0; i < COUNT(bus); i++) {
			if (i < room && i < BUFFER_PAGES)
				CHECK(bus[i] != 0 && bus[i] % PAGE == 0);
			else
				CHECK_EQ(bus[i], -1);
		}
	}
	CHECK_ERR(get_pbl(s.fd, s.stag, NULL, 1, &get), EFAULT);
	CHECK_ERR(get_pbl(s.fd, s.stag, (uint64_t *)read_only_pages(1), 1, &get), EFAULT);
}

static void bus_addresses_are_secret(void)
{
	struct set s = make_set();
	uint64_t bus[BUFFER_PAGES];
	struct exrnic_get_pbl get;

	become_nobody(64);
	memset(bus, 0xff, sizeof(bus));
	CHECK_ERR(get_pbl(s.fd, s.stag, bus, BUFFER_PAGES, &get), 0);
	for (uint32_t i = 0; i < get.pages; i++)
		CHECK_EQ(bus[i], 0);
	CHECK_ERR(get_pbl(s.fd, s.stag, NULL, 1, &get), EFAULT);
}

static uint64_t physical(const void *address)
{
	const uint64_t frame_mask = (1ULL << 55) - 1;	/* Documentation: admin-guide/mm/pagemap */
	int fd = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry;

	if (fd < 0 || pread(fd, &entry, sizeof(entry), (uintptr_t)address / PAGE * sizeof(entry)) !=
			      sizeof(entry))
		give_up("/proc/self/pagemap");
	close(fd);
	return (entry & frame_mask) * PAGE;
}

/* The device and the process must look at the same pages, whatever the process does. */
static void check_same_pages(const struct set *s)
{
	uint64_t bus[BUFFER_PAGES];
	struct exrnic_get_pbl get;

	CHECK_ERR(get_pbl(s->fd, s->stag, bus, BUFFER_PAGES, &get), 0);
	if (has_iommu() || get.page_shift != EXRNIC_PAGE_SHIFT)
		return;
	for (size_t i = 0; i < BUFFER_PAGES; i++)
		CHECK_EQ(bus[i], physical((char *)s->buffer + i * PAGE));
}

static void check_region_follows(uint32_t access)
{
	struct set s = make_set();
	pid_t child;

	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEREG_MR, s.stag), 0);
	s.buffer = pages(BUFFER_PAGES);
	CHECK_ERR(reg_mr(s.fd, s.pd, s.buffer, BUFFER_PAGES * PAGE, access, &s.stag), 0);
	memset(s.buffer, 1, BUFFER_PAGES * PAGE);
	check_same_pages(&s);

	child = fork();
	if (!child) {
		memset(s.buffer, 3, BUFFER_PAGES * PAGE);
		_exit(0);
	}
	memset(s.buffer, 2, BUFFER_PAGES * PAGE);
	waitpid(child, NULL, 0);
	check_same_pages(&s);
	CHECK_EQ(*(char *)s.buffer, 2);
	destroy_set(&s);
}

static void pages_stay_the_same(void)
{
	check_region_follows(EXRNIC_ACCESS_LOCAL_WRITE);
	check_region_follows(0);
}

static void memlock_is_the_limit(void)
{
	enum { LIMIT = 8 };
	int fd = open_device();
	char *memory = pages(LIMIT + 1);
	uint32_t pd, stag, cqn;

	CHECK_ERR(alloc_pd(fd, &pd), 0);
	become_nobody(LIMIT);
	CHECK_ERR(reg_mr(fd, pd, memory, (LIMIT + 1) * PAGE, 0, &stag), ENOMEM);
	CHECK_ERR(reg_mr(fd, pd, memory + PAGE - 1, (LIMIT - 1) * PAGE + 2, 0, &stag), ENOMEM);
	CHECK_ERR(reg_mr(fd, pd, memory, LIMIT * PAGE, 0, &stag), 0);
	CHECK_ERR(create_cq(fd, memory, 8, &cqn), ENOMEM);
	CHECK_ERR(object_ioctl(fd, EXRNIC_IOCTL_DEREG_MR, stag), 0);
	CHECK_ERR(create_cq(fd, memory, 8, &cqn), 0);
	CHECK_ERR(reg_mr(fd, pd, memory, LIMIT * PAGE, 0, &stag), ENOMEM);
	CHECK_ERR(reg_mr(fd, pd, memory, (LIMIT - 1) * PAGE, 0, &stag), 0);
}

/* A refused region must not stay charged. */
static void failures_are_not_charged(void)
{
	enum { LIMIT = 8 };
	int fd = open_device();
	char *memory = pages(LIMIT);
	uint32_t pd, stag;

	CHECK_ERR(alloc_pd(fd, &pd), 0);
	become_nobody(LIMIT);
	munmap(memory + (LIMIT - 1) * PAGE, PAGE);
	for (int i = 0; i < LIMIT + 1; i++)
		CHECK_ERR(reg_mr(fd, pd, memory, LIMIT * PAGE, 0, &stag), EFAULT);
	CHECK_ERR(reg_mr(fd, pd, memory, (LIMIT - 1) * PAGE, 0, &stag), 0);
}

const struct test memory_tests[] = {
	{ "a completion ring must be a power of two, aligned, writable and there",
	  bad_completion_rings, 0 },
	{ "a work ring must be a power of two, aligned and there", bad_work_rings, 0 },
	{ "rings of all sizes pin just their pages", rings_of_all_sizes, 0 },
	{ "a region must have a length, known rights and memory", bad_regions, 0 },
	{ "read-only memory can be registered for reading only", read_only_regions, 0 },
	{ "a region pins just the pages that it touches", regions_pin_what_they_touch, 0 },
	{ "a region of 64 MiB can be registered", a_large_region, 0 },
	{ "a region in huge pages has entries of that size", a_region_in_huge_pages, 0 },
	{ "get_pbl fills the room that it is given", get_pbl_fills_the_room_it_has, 0 },
	{ "bus addresses are told to CAP_SYS_ADMIN only", bus_addresses_are_secret, 0 },
	{ "device and process see the same pages after stores and fork", pages_stay_the_same, 0 },
	{ "RLIMIT_MEMLOCK holds to the page", memlock_is_the_limit, 0 },
	{ "a region that was refused is not charged", failures_are_not_charged, 0 },
	{ NULL, NULL, 0 },
};
