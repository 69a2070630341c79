// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Regions whose memory, domain or rights change. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int rereg(int fd, uint32_t *stag, struct exrnic_rereg_mr attr)
{
	int result;

	attr.stag = *stag;
	result = ioctl(fd, EXRNIC_IOCTL_REREG_MR, &attr);
	if (!result)
		*stag = attr.stag;
	return result;
}

static struct exrnic_rereg_mr to_memory(const void *address, uint64_t length)
{
	return (struct exrnic_rereg_mr){
		.address = (uintptr_t)address,
		.length = length,
		.flags = EXRNIC_REREG_TRANSLATION,
	};
}

static struct exrnic_rereg_mr to_access(uint32_t access)
{
	return (struct exrnic_rereg_mr){ .access = access, .flags = EXRNIC_REREG_ACCESS };
}

static struct exrnic_rereg_mr to_pd(uint32_t pd)
{
	return (struct exrnic_rereg_mr){ .pd = pd, .flags = EXRNIC_REREG_PD };
}

/* The device's own view: it invalidates an STag for a queue pair of the same domain only. */
static uint8_t invalidate(struct worker *w, uint32_t stag)
{
	uint32_t index = w->posted;

	post_invalidate(w, stag);
	wait_for_completion(w, index);
	return w->ring[index].status;
}

static void memory_changes(void)
{
	struct set s = make_set();
	void *other = pages(7);
	long long before = pinned_pages();
	uint32_t stag = s.stag;
	struct exrnic_get_pbl get;

	CHECK_ERR(rereg(s.fd, &stag, to_memory(other, 7 * PAGE)), 0);
	CHECK(stag != s.stag);
	CHECK_EQ(pinned_pages(), before + 7 - BUFFER_PAGES);
	CHECK_ERR(get_pbl(s.fd, stag, NULL, 0, &get), 0);
	if (get.page_shift == EXRNIC_PAGE_SHIFT)
		CHECK_EQ(get.pages, 7);
	CHECK_ERR(get_pbl(s.fd, s.stag, NULL, 0, &get), ENOENT);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEREG_MR, s.stag), ENOENT);
	s.stag = stag;
	destroy_set(&s);
}

static void rights_change_without_new_pages(void)
{
	struct set s = make_set();
	long long before = pinned_pages();
	uint64_t old_bus[BUFFER_PAGES] = { 0 }, new_bus[BUFFER_PAGES] = { 0 };
	struct exrnic_get_pbl get;

	CHECK_ERR(get_pbl(s.fd, s.stag, old_bus, BUFFER_PAGES, &get), 0);
	CHECK_ERR(rereg(s.fd, &s.stag, to_access(0)), 0);
	CHECK_ERR(rereg(s.fd, &s.stag, to_access(EXRNIC_ACCESS_REMOTE_WRITE)), 0);
	CHECK_ERR(get_pbl(s.fd, s.stag, new_bus, BUFFER_PAGES, &get), 0);
	CHECK(!memcmp(old_bus, new_bus, sizeof(old_bus)));
	CHECK_EQ(pinned_pages(), before);
	destroy_set(&s);
}

static void the_device_knows_the_new_region_only(void)
{
	struct set s = make_set();
	struct worker w = make_worker(&s, EXRNIC_NO_CHANNEL, 0, EXRNIC_ANY_VECTOR);
	uint32_t stag = s.stag;

	CHECK_ERR(rereg(s.fd, &stag, to_access(0)), 0);
	CHECK_EQ(invalidate(&w, stag), EXRNIC_CQE_STATUS_SUCCESS);
	CHECK_EQ(invalidate(&w, s.stag), EXRNIC_CQE_STATUS_LOC_PROT_ERR);
}

static void the_domain_changes(void)
{
	struct set s = make_set();
	struct worker w = make_worker(&s, EXRNIC_NO_CHANNEL, 0, EXRNIC_ANY_VECTOR);
	uint32_t pd;

	CHECK_ERR(alloc_pd(s.fd, &pd), 0);
	CHECK_ERR(rereg(s.fd, &s.stag, to_pd(pd)), 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEALLOC_PD, pd), EBUSY);
	CHECK_EQ(invalidate(&w, s.stag), EXRNIC_CQE_STATUS_LOC_PROT_ERR);
	CHECK_ERR(rereg(s.fd, &s.stag, to_pd(s.pd)), 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEALLOC_PD, pd), 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, w.qpn), 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_CQ, w.cq.cqn), 0);
	munmap((void *)w.page, PAGE);
	destroy_set(&s);
}

static void all_at_once(void)
{
	struct set s = make_set();
	struct exrnic_rereg_mr all = to_memory(pages(2), 2 * PAGE);
	long long before = pinned_pages();

	CHECK_ERR(alloc_pd(s.fd, &all.pd), 0);
	all.flags = EXRNIC_REREG_ALL;
	all.access = EXRNIC_ACCESS_LOCAL_WRITE;
	CHECK_ERR(rereg(s.fd, &s.stag, all), 0);
	CHECK_EQ(pinned_pages(), before + 2 - BUFFER_PAGES);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEREG_MR, s.stag), 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEALLOC_PD, all.pd), 0);
}

static void *read_only_page(void)
{
	void *page = pages(1);

	mprotect(page, PAGE, PROT_READ);
	return page;
}

static void read_only_memory_gets_no_write_rights(void)
{
	struct set s = make_set();
	char *memory = pages(1);
	uint32_t stag;

	mprotect(memory, PAGE, PROT_READ);
	CHECK_ERR(reg_mr(s.fd, s.pd, memory, PAGE, 0, &stag), 0);
	CHECK_ERR(rereg(s.fd, &stag, to_access(EXRNIC_ACCESS_LOCAL_WRITE)), EFAULT);
	CHECK_ERR(rereg(s.fd, &stag, to_access(EXRNIC_ACCESS_REMOTE_READ)), 0);
	mprotect(memory, PAGE, PROT_READ | PROT_WRITE);
	CHECK_ERR(rereg(s.fd, &stag, to_access(EXRNIC_ACCESS_LOCAL_WRITE)), 0);
	CHECK_ERR(rereg(s.fd, &s.stag, to_memory(read_only_page(), PAGE)), EFAULT);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEREG_MR, stag), 0);
	destroy_set(&s);
}

/* Pinned for reading, the region would become memory of the child. */
static void another_process_cannot_widen_rights(void)
{
	struct set s = make_set();
	uint32_t stag;
	pid_t child;
	int status;

	CHECK_ERR(reg_mr(s.fd, s.pd, s.buffer, PAGE, 0, &stag), 0);
	child = fork();
	if (!child) {
		CHECK_ERR(rereg(s.fd, &stag, to_access(EXRNIC_ACCESS_LOCAL_WRITE)), EFAULT);
		_exit(has_failed());
	}
	waitpid(child, &status, 0);
	CHECK_EQ(status, 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEREG_MR, stag), 0);
}

static void bad_changes_leave_the_region(void)
{
	struct set s = make_set(), other = make_set();
	const struct {
		struct exrnic_rereg_mr attr;
		int error;
	} rows[] = {
		{ { 0 }, EINVAL },
		{ { .flags = EXRNIC_REREG_ALL + 1 }, EINVAL },
		{ { .flags = 0x80000000 }, EINVAL },
		{ { .flags = EXRNIC_REREG_ACCESS, .access = 32 }, EINVAL },
		{ { .flags = EXRNIC_REREG_ACCESS, .access = ~0U }, EINVAL },
		{ { .flags = EXRNIC_REREG_ACCESS, .pd = s.pd }, EINVAL },
		{ { .flags = EXRNIC_REREG_ACCESS, .length = 1 }, EINVAL },
		{ { .flags = EXRNIC_REREG_ACCESS, .address = PAGE }, EINVAL },
		{ { .flags = EXRNIC_REREG_PD, .pd = s.pd, .access = 1 }, EINVAL },
		{ to_pd(other.pd), ENOENT },
		{ to_pd(0), ENOENT },
		{ to_pd(~0U), ENOENT },
		{ to_memory(s.buffer, 0), EINVAL },
		{ to_memory(s.buffer, ~0ULL), EINVAL },
		{ to_memory((void *)~0UL, 2), EINVAL },
		{ to_memory(NULL, PAGE), EFAULT },
		{ to_memory(NULL, 1ULL << 46), ENOMEM },
		{ to_memory((void *)0xffff888000000000UL, PAGE), EFAULT },
	};
	long long before = pinned_pages();
	uint32_t stag = s.stag;

	for (size_t i = 0; i < COUNT(rows); i++)
		CHECK_ERR(rereg(s.fd, &stag, rows[i].attr), rows[i].error);
	CHECK_EQ(stag, s.stag);
	CHECK_ERR(rereg(s.fd, &other.stag, to_access(0)), ENOENT);
	CHECK_EQ(pinned_pages(), before);
	destroy_set(&s);
	destroy_set(&other);
}

static void both_memories_count(void)
{
	enum { LIMIT = 8 };
	int fd = open_device();
	char *memory = pages(2 * LIMIT);
	uint32_t pd, stag;

	CHECK_ERR(alloc_pd(fd, &pd), 0);
	become_nobody(LIMIT);
	CHECK_ERR(reg_mr(fd, pd, memory, 4 * PAGE, 0, &stag), 0);
	CHECK_ERR(rereg(fd, &stag, to_memory(memory + 4 * PAGE, 5 * PAGE)), ENOMEM);
	CHECK_ERR(rereg(fd, &stag, to_memory(memory + 4 * PAGE, 4 * PAGE)), 0);
	CHECK_ERR(rereg(fd, &stag, to_memory(memory, 4 * PAGE)), 0);
}

/* Documented: the region is no more, since nobody could be told its new name. */
static void an_answer_that_cannot_be_written(void)
{
	struct set s = make_set();
	struct exrnic_rereg_mr *attr = pages(1);
	long long before = pinned_pages();

	*attr = to_access(0);
	attr->stag = s.stag;
	mprotect(attr, PAGE, PROT_READ);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_REREG_MR, attr), EFAULT);
	CHECK_EQ(pinned_pages(), before - BUFFER_PAGES);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEREG_MR, s.stag), ENOENT);
}

const struct test rereg_tests[] = {
	{ "a region can move to other memory", memory_changes, 0 },
	{ "a region can change its rights on the same pages", rights_change_without_new_pages, 0 },
	{ "the device knows a re-registered region by its new STag only",
	  the_device_knows_the_new_region_only, 0 },
	{ "a region can change its domain", the_domain_changes, 0 },
	{ "a region can change in all respects at once", all_at_once, 0 },
	{ "a region of read-only memory gets no right to write", read_only_memory_gets_no_write_rights,
	  0 },
	{ "another process cannot widen the rights of a region", another_process_cannot_widen_rights,
	  0 },
	{ "a change that is refused leaves the region as it was", bad_changes_leave_the_region, 0 },
	{ "while a region moves, both memories count", both_memories_count, 0 },
	{ "a change that cannot be told ends the region", an_answer_that_cannot_be_written, 0 },
	{ NULL, NULL, 0 },
};
