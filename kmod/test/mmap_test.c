// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The user page in the address space of its process. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

static int try_map(int fd, size_t length, int prot, int flags, off_t offset)
{
	void *p = mmap(NULL, length, prot, flags, fd, offset);

	if (p == MAP_FAILED)
		return -1;
	munmap(p, length);
	return 0;
}

static void only_the_own_page(void)
{
	const int rw = PROT_READ | PROT_WRITE;
	int fd = open_device();

	CHECK_ERR(try_map(fd, PAGE, rw, MAP_SHARED, 0), 0);
	CHECK_ERR(try_map(fd, PAGE, PROT_WRITE, MAP_SHARED, 0), 0);
	CHECK_ERR(try_map(fd, 1, rw, MAP_SHARED, 0), 0);
	CHECK_ERR(try_map(fd, 2 * PAGE, rw, MAP_SHARED, 0), EINVAL);
	CHECK_ERR(try_map(fd, EXRNIC_BAR2_SIZE, rw, MAP_SHARED, 0), EINVAL);
	CHECK_ERR(try_map(fd, PAGE, rw, MAP_SHARED, PAGE), EINVAL);
	CHECK_ERR(try_map(fd, PAGE, rw, MAP_SHARED, (off_t)1 << 40), EINVAL);
	CHECK_ERR(try_map(fd, PAGE, rw, MAP_PRIVATE, 0), EINVAL);
	CHECK_ERR(try_map(fd, PAGE, PROT_READ, MAP_SHARED, 0), EINVAL);
	CHECK_ERR(try_map(fd, PAGE, PROT_NONE, MAP_SHARED, 0), EINVAL);
	CHECK_ERR(try_map(fd, PAGE, rw | PROT_EXEC, MAP_SHARED, 0), EINVAL);
}

static void the_state_can_be_read_only(void)
{
	const int rw = PROT_READ | PROT_WRITE;
	const off_t at = EXRNIC_MMAP_STATE_PAGE;
	int fd = open_device();
	void *page;

	CHECK_ERR(try_map(fd, PAGE, PROT_READ, MAP_SHARED, at), 0);
	CHECK_ERR(try_map(fd, PAGE, rw, MAP_SHARED, at), EINVAL);
	CHECK_ERR(try_map(fd, PAGE, PROT_READ, MAP_PRIVATE, at), EINVAL);
	CHECK_ERR(try_map(fd, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, at), EINVAL);
	CHECK_ERR(try_map(fd, 2 * PAGE, PROT_READ, MAP_SHARED, at), EINVAL);
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, at);
	CHECK_ERR(mprotect(page, PAGE, rw), EACCES);
	CHECK_ERR(mprotect(page, PAGE, PROT_READ | PROT_EXEC), EACCES);
	CHECK_EQ(*(const uint32_t *)page, 0);
}

static volatile uint64_t *map_page(int fd)
{
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		give_up("mmap of the user page");
	return p;
}

static void it_does_not_grow(void)
{
	int fd = open_device();
	void *page = (void *)map_page(fd);

	CHECK(mremap(page, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
	CHECK_ERR(mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC), EACCES);
	page = mremap(page, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, pages(1));
	CHECK(page != MAP_FAILED);
	*(volatile uint64_t *)page = 0;
}

/* Nothing of this file exists, so every doorbell is refused; but the stores must be harmless. */
static void doorbells_of_nobody(void)
{
	int fd = open_device();
	volatile uint64_t *page = map_page(fd);
	struct exrnic_query q;

	for (uint64_t number = 0; number < 4; number++) {
		page[EXRNIC_DOORBELL_SQ / 8] = number;
		page[EXRNIC_DOORBELL_RQ / 8] = number | 1ULL << 32;
		page[EXRNIC_DOORBELL_CQ / 8] = number;
		page[EXRNIC_DOORBELL_CQ_ARM / 8] = number;
	}
	page[PAGE / 8 - 1] = ~0ULL;
	*(volatile uint32_t *)page = 1;
	CHECK_ERR(query(fd, &q), 0);
}

static void it_is_usable_after_fork_and_close(void)
{
	int fd = open_device(), status;
	volatile uint64_t *page = map_page(fd);
	pid_t child;

	close(fd);
	child = fork();
	page[0] = 0;
	if (!child)
		_exit(0);
	waitpid(child, &status, 0);
	CHECK_EQ(status, 0);
}

static void it_is_no_memory_to_pin(void)
{
	struct set s = make_set();
	void *page = (void *)map_page(s.fd);
	uint32_t stag;

	CHECK_ERR(reg_mr(s.fd, s.pd, page, PAGE, 0, &stag), EFAULT);
	*(volatile uint64_t *)page = 0;
	CHECK_ERR(reg_mr(s.fd, s.pd, page, PAGE, 0, &stag), EFAULT);
}

static void it_combines_writes(void)
{
	volatile uint64_t *page = map_page(open_device());
	volatile char *memory = pages(1);

	*memory = 0;
	CHECK_EQ(memory_type_of(memory), MEMORY_WRITE_BACK);
	page[0] = 0;
	CHECK_EQ(memory_type_of(page), MEMORY_WRITE_COMBINING);
}

const struct test mmap_tests[] = {
	{ "the state of the device can be read, and not written", the_state_can_be_read_only, 0 },
	{ "mmap gives the own user page and nothing else", only_the_own_page, 0 },
	{ "a mapped user page cannot grow or become executable", it_does_not_grow, 0 },
	{ "doorbells of queues that do not exist are harmless", doorbells_of_nobody, 0 },
	{ "a mapped user page outlives close and fork", it_is_usable_after_fork_and_close, 0 },
	{ "the page table says write-combining of a user page", it_combines_writes, 0 },
	{ "a user page cannot be registered as memory", it_is_no_memory_to_pin, 0 },
	{ NULL, NULL, 0 },
};
