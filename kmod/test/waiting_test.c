// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Commands that wait for memory which their process does not provide (userfaultfd): who else waits?
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fuzz.h"

#define DRIVER "/sys/bus/pci/drivers/exrnic"

enum { LIMIT_MS = 20000, STEP_MS = 1, REMOVAL_MS = 10000 };

/* A page at which a thread of the kernel waits until release_page(). */
struct withheld {
	int fd;
	void *page;
	uint64_t mode; /* UFFDIO_REGISTER_MODE_* */
};

static void watch(struct withheld *w)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP };
	struct uffdio_register area = { .range = { (uintptr_t)w->page, PAGE }, .mode = w->mode };

	w->fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (w->fd < 0 || ioctl(w->fd, UFFDIO_API, &api) || ioctl(w->fd, UFFDIO_REGISTER, &area))
		skip("no userfaultfd in this kernel");
}

/* Can be read, but not be written. */
static struct withheld withhold_writing(const void *content, size_t size)
{
	struct withheld w = { .page = pages(1), .mode = UFFDIO_REGISTER_MODE_WP };
	struct uffdio_writeprotect protect = {
		.range = { (uintptr_t)w.page, PAGE },
		.mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};

	memset(w.page, 0, PAGE);
	memcpy(w.page, content, size);
	watch(&w);
	if (ioctl(w.fd, UFFDIO_WRITEPROTECT, &protect))
		give_up("UFFDIO_WRITEPROTECT");
	return w;
}

/* Is not there at all. */
static struct withheld withhold_page(void)
{
	struct withheld w = { .page = pages(1), .mode = UFFDIO_REGISTER_MODE_MISSING };

	watch(&w);
	return w;
}

static void release_page(const struct withheld *w)
{
	struct uffdio_writeprotect protect = { .range = { (uintptr_t)w->page, PAGE } };
	struct uffdio_zeropage zero = { .range = { (uintptr_t)w->page, PAGE } };

	if (w->mode == UFFDIO_REGISTER_MODE_WP)
		CHECK_ERR(ioctl(w->fd, UFFDIO_WRITEPROTECT, &protect), 0);
	else
		CHECK_ERR(ioctl(w->fd, UFFDIO_ZEROPAGE, &zero), 0);
}

/* A command in a thread of its own. */
struct command {
	int fd;
	unsigned long number;	/* 0: read() of an event */
	void *arg;
	pthread_t thread;
	atomic_bool done;
	int error;
};

static void *run(void *data)
{
	struct command *c = data;

	if (c->number)
		c->error = ioctl(c->fd, c->number, c->arg) ? errno : 0;
	else
		c->error = read(c->fd, c->arg, sizeof(struct exrnic_event)) < 0 ? errno : 0;
	atomic_store(&c->done, true);
	return NULL;
}

static void start(struct command *c)
{
	if (pthread_create(&c->thread, NULL, run, c))
		give_up("pthread_create");
}

/* False: it has ended without that page. */
static bool waits_for(const struct command *c, const struct withheld *w)
{
	struct pollfd p = { .fd = w->fd, .events = POLLIN };

	for (int waited = 0; waited < LIMIT_MS; waited += STEP_MS) {
		if (poll(&p, 1, STEP_MS) == 1)
			return true;
		if (atomic_load(&c->done))
			return false;
	}
	errno = ETIMEDOUT;
	give_up("waiting for a command to touch its memory");
}

static int finish(struct command *c)
{
	pthread_join(c->thread, NULL);
	return c->error;
}

static void check_events_arrive(const struct set *s)
{
	struct worker w = make_worker(s, EXRNIC_NO_CHANNEL, 7, EXRNIC_ANY_VECTOR);
	struct exrnic_event event;

	post_failure(&w);
	/* A node that another test has sent to may be given up now: all hear of it. */
	do
		event = next_event(s->fd);
	while (event.type == EXRNIC_EVENT_PEER_DEAD);
	CHECK_EQ(event.type, EXRNIC_EVENT_QP_ERROR);
}

static void an_answer_that_cannot_be_told(void)
{
	const struct exrnic_object object = { 0 };
	struct withheld w = withhold_writing(&object, sizeof(object));
	struct set own = make_set(), other = make_set();
	struct command c = { .fd = own.fd, .number = EXRNIC_IOCTL_ALLOC_PD, .arg = w.page };
	uint32_t pd;

	start(&c);
	CHECK(waits_for(&c, &w));
	CHECK_ERR(alloc_pd(own.fd, &pd), 0);
	check_events_arrive(&own);
	check_events_arrive(&other);
	release_page(&w);
	CHECK_EQ(finish(&c), 0);
	CHECK_ERR(object_ioctl(own.fd, EXRNIC_IOCTL_DEALLOC_PD,
			       ((struct exrnic_object *)w.page)->handle),
		  0);
}

static void unbind_and_bind(struct command *c, struct withheld *w, int fd)
{
	long long before = now_ms();
	struct exrnic_query q;
	char name[64];

	pci_name(name, sizeof(name));
	write_file(DRIVER "/unbind", name);
	CHECK(now_ms() - before < REMOVAL_MS);
	CHECK(!atomic_load(&c->done));
	CHECK_ERR(query(fd, &q), ENODEV);
	release_page(w);
	finish(c);
	close(fd);
	write_file(DRIVER "/bind", name);
}

static void removal_while_an_answer_waits(void)
{
	const struct exrnic_object object = { 0 };
	struct withheld w = withhold_writing(&object, sizeof(object));
	struct command c = {
		.fd = open_device(),
		.number = EXRNIC_IOCTL_ALLOC_PD,
		.arg = w.page,
	};

	start(&c);
	CHECK(waits_for(&c, &w));
	unbind_and_bind(&c, &w, c.fd);
	CHECK_EQ(c.error, 0);
}

static void removal_while_a_list_waits(void)
{
	struct set s = make_set();
	struct withheld w = withhold_writing("", 1);
	struct exrnic_get_pbl get = {
		.buffer = (uintptr_t)w.page,
		.stag = s.stag,
		.pages = BUFFER_PAGES,
	};
	struct command c = { .fd = s.fd, .number = EXRNIC_IOCTL_GET_PBL, .arg = &get };

	start(&c);
	CHECK(waits_for(&c, &w));
	unbind_and_bind(&c, &w, s.fd);
	CHECK_EQ(c.error, 0);
}

/* Kernels that cannot wait there refuse the memory at once. */
static void removal_while_pages_are_pinned(void)
{
	struct set s = make_set();
	struct withheld w = withhold_page();
	struct exrnic_reg_mr reg = {
		.address = (uintptr_t)w.page,
		.length = PAGE,
		.pd = s.pd,
		.access = EXRNIC_ACCESS_LOCAL_WRITE,
	};
	struct command c = { .fd = s.fd, .number = EXRNIC_IOCTL_REG_MR, .arg = &reg };

	start(&c);
	if (!waits_for(&c, &w)) {
		CHECK_EQ(finish(&c), EFAULT);
		skip("this kernel does not wait for memory that it pins");
	}
	unbind_and_bind(&c, &w, s.fd);
	CHECK_EQ(c.error, ENODEV);
}

/* Two queues that do not wake each other, and a reader that waits to write the event of the first. */
struct slow_reading {
	struct set s;
	int channel;
	struct worker first, second;
	struct withheld w;
	struct command c;
};

static void fire(struct worker *w)
{
	arm(w, 0);
	post_success(w);
	wait_for_input(w->cq.channel_fd);
}

static void start_reading(struct slow_reading *r)
{
	struct exrnic_query q;

	r->s = make_set();
	r->channel = create_channel(r->s.fd);
	CHECK_ERR(query(r->s.fd, &q), 0);
	if (q.comp_vectors == 1)
		skip("one vector for all completion queues");
	r->first = make_worker(&r->s, r->channel, 1, 0);
	r->second = make_worker(&r->s, r->channel, 2, q.comp_vectors - 1);
	r->w = withhold_writing("", 1);
	r->c = (struct command){ .fd = r->channel, .arg = r->w.page };
	fire(&r->first);
	start(&r->c);
	CHECK(waits_for(&r->c, &r->w));
}

/* It is given the event of the second queue, once, and no other. */
static void check_reads_the_second(struct slow_reading *r)
{
	fire(&r->second);
	release_page(&r->w);
	CHECK_EQ(finish(&r->c), 0);
	CHECK_EQ(((struct exrnic_event *)r->w.page)->cookie, 2);
	CHECK_EQ(poll_now(r->channel), 0);
	CHECK_EQ(end_worker(&r->second).comp_events, 1);
}

static void a_queue_ends_while_its_event_is_read(void)
{
	struct slow_reading r;

	start_reading(&r);
	CHECK_EQ(end_worker(&r.first).comp_events, 0);
	check_reads_the_second(&r);
}

static void another_reader_is_faster(void)
{
	struct slow_reading r;

	start_reading(&r);
	CHECK_EQ(next_event(r.channel).cookie, 1);
	check_reads_the_second(&r);
	CHECK_EQ(end_worker(&r.first).comp_events, 1);
}

const struct test waiting_tests[] = {
	{ "nobody waits for a command that waits to tell its answer", an_answer_that_cannot_be_told,
	  0 },
	{ "the device can be unbound while an answer waits for memory",
	  removal_while_an_answer_waits, 0 },
	{ "the device can be unbound while a list of pages waits for memory",
	  removal_while_a_list_waits, 0 },
	{ "the device can be unbound while memory that is to be pinned does not come",
	  removal_while_pages_are_pinned, 0 },
	{ "an event whose queue ends before it could be written is not delivered",
	  a_queue_ends_while_its_event_is_read, 0 },
	{ "an event that could not be written yet is another reader's", another_reader_is_faster, 0 },
	{ NULL, NULL, 0 },
};
