// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Remote windows in the address space of a process. What goes by them:
 * libverbs-lite/test/guest/ntb_checks.cc
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support.h"

/* Of the device: BAR 4 has 64 MiB or more. */
static uint64_t size_of_all(const struct set *s)
{
	struct exrnic_query q;

	CHECK_ERR(query(s->fd, &q), 0);
	CHECK(q.max_window >= (uint64_t)EXRNIC_MAX_WINDOWS << EXRNIC_WINDOW_SHIFT_MIN);
	CHECK(q.max_window <= (uint64_t)EXRNIC_MAX_WINDOWS << EXRNIC_WINDOW_SHIFT_MAX);
	return q.max_window;
}

static uint64_t size_of_one(const struct set *s)
{
	return size_of_all(s) / EXRNIC_MAX_WINDOWS;
}

/* Three windows of the device. */
static uint64_t size_of_three(const struct set *s)
{
	return 2 * size_of_one(s) + 16;
}

/* Its loads are refused at once, with all ones: nothing is asked of the peer. */
static struct exrnic_create_window store_window(const struct set *s)
{
	return (struct exrnic_create_window){
		.length = size_of_three(s),
		.qpn = s->qpn,
		.access = EXRNIC_WINDOW_ACCESS_STORE,
	};
}

static int create(int fd, struct exrnic_create_window *window)
{
	return ioctl(fd, EXRNIC_IOCTL_CREATE_WINDOW, window);
}

static struct exrnic_create_window make_window(const struct set *s)
{
	struct exrnic_create_window window = store_window(s);

	if (create(s->fd, &window))
		give_up("CREATE_WINDOW");
	return window;
}

static int destroy(int fd, const struct exrnic_create_window *window)
{
	return object_ioctl(fd, EXRNIC_IOCTL_DESTROY_WINDOW, window->window);
}

static volatile uint64_t *map(int fd, size_t length, uint64_t offset)
{
	void *p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

	return p == MAP_FAILED ? NULL : p;
}

static sigjmp_buf behind_fault;

static void on_sigbus(int signal)
{
	(void)signal;
	siglongjmp(behind_fault, 1);
}

static bool load_faults(volatile uint64_t *word)
{
	signal(SIGBUS, on_sigbus);
	if (sigsetjmp(behind_fault, 1))
		return true;
	(void)*word;
	return false;
}

static void it_can_be_mapped_while_it_exists(void)
{
	struct set s = make_connected_set(), other = make_connected_set();
	struct exrnic_create_window window = make_window(&s), next;
	const uint64_t one = size_of_one(&s), three = size_of_three(&s);
	volatile uint64_t *all = map(s.fd, three, window.offset);
	volatile uint64_t *last = map(s.fd, PAGE, window.offset + 2 * one);
	volatile uint64_t *unused = map(s.fd, PAGE, window.offset);

	if (!CHECK(all && last && unused))
		return;
	CHECK_EQ(all[0], ~0ULL);
	CHECK_EQ(all[three / 8 - 1], ~0ULL);
	CHECK_EQ(last[0], ~0ULL);
	CHECK(!map(other.fd, PAGE, window.offset) && errno == EINVAL);
	CHECK(!map(s.fd, three, window.offset + one) && errno == EINVAL);
	CHECK(!map(s.fd, PAGE, window.offset + 3 * one) && errno == EINVAL);
	CHECK(!map(s.fd, 2 * PAGE, window.offset - PAGE) && errno == EINVAL);

	CHECK_ERR(destroy(other.fd, &window), ENOENT);
	CHECK_ERR(destroy(s.fd, &window), 0);
	CHECK_ERR(destroy(s.fd, &window), ENOENT);
	CHECK(load_faults(all) && load_faults(last) && load_faults(unused));
	CHECK(!map(s.fd, PAGE, window.offset) && errno == EINVAL);

	next = make_window(&other);
	CHECK_EQ(next.offset, window.offset);
	CHECK(load_faults(all));
}

static void it_combines_writes(void)
{
	struct set s = make_connected_set();
	struct exrnic_create_window window = make_window(&s);
	volatile uint64_t *words = map(s.fd, size_of_three(&s), window.offset);

	if (!CHECK(words))
		return;
	CHECK_EQ(words[0], ~0ULL);
	CHECK_EQ(memory_type_of(words), MEMORY_WRITE_COMBINING);
}

static void its_queue_pair_stays(void)
{
	struct set s = make_connected_set();
	struct exrnic_create_window window = make_window(&s);
	struct exrnic_destroy qp = { .handle = s.qpn };

	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, &qp), EBUSY);
	CHECK_ERR(destroy(s.fd, &window), 0);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, &qp), 0);
}

#define CHECK_REFUSED(set, field, value, error) do { \
	struct exrnic_create_window bad = store_window(set); \
	bad.field = (value); \
	CHECK_ERR(create((set)->fd, &bad), (error)); \
} while (0)

static void what_makes_no_sense_is_refused(void)
{
	struct set s = make_connected_set(), unconnected = make_set();

	CHECK_REFUSED(&s, length, 0, EINVAL);
	CHECK_REFUSED(&s, length, size_of_all(&s) + 1, EINVAL);
	CHECK_REFUSED(&s, access, 0, EINVAL);
	CHECK_REFUSED(&s, access, 4, EINVAL);
	CHECK_REFUSED(&s, remote, ~0ULL, EINVAL);
	CHECK_REFUSED(&s, qpn, unconnected.qpn, ENOENT);
	CHECK_REFUSED(&unconnected, length, 8, EINVAL);
	CHECK_ERR(destroy(s.fd, &(struct exrnic_create_window){ .window = ~0U }), ENOENT);
}

/* Whoever dies gives back all: the next one finds them. */
static void all_can_be_had_again_and_again(void)
{
	for (int i = 0; i < 3; i++) {
		struct set s = make_connected_set();
		struct exrnic_create_window window = store_window(&s);

		window.length = size_of_all(&s);
		CHECK_ERR(create(s.fd, &window), 0);
		CHECK_REFUSED(&s, length, 1, ENOSPC);
		close(s.fd);
	}
}

const struct test window_tests[] = {
	{ "a window can be mapped by its file while it exists; behind that, an access gets SIGBUS",
	  it_can_be_mapped_while_it_exists, 0 },
	{ "the page table says write-combining of a window", it_combines_writes, 0 },
	{ "a queue pair cannot be destroyed before its windows", its_queue_pair_stays, 0 },
	{ "a window that makes no sense is refused", what_makes_no_sense_is_refused, 0 },
	{ "a file that is closed gives back all its windows", all_can_be_had_again_and_again, 0 },
	{ NULL, NULL, 0 },
};
