// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#define _GNU_SOURCE
#include "tenant.h"

#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_all_gone(const struct set *s)
{
	struct exrnic_query q;
	uint32_t out;

	CHECK_ERR(query(s->fd, &q), ENODEV);
	CHECK_ERR(alloc_pd(s->fd, &out), ENODEV);
	CHECK_ERR(query_qp_state(s->fd, s->qpn, &out), ENODEV);
	CHECK_ERR(object_ioctl(s->fd, EXRNIC_IOCTL_DESTROY_QP, s->qpn), ENODEV);
	CHECK_ERR(create_cq(s->fd, s->ring, 8, &out), ENODEV);
}

/* The last event, and then the end of all events. */
static void check_last_event(int fd)
{
	struct exrnic_event event;

	CHECK_EQ(next_event(fd).type, EXRNIC_EVENT_DEVICE_FATAL);
	CHECK_EQ(poll_now(fd), POLLHUP);
	CHECK_ERR(read(fd, &event, sizeof(event)), ENODEV);
}

static void check_channel_is_over(int channel)
{
	struct exrnic_event event;

	CHECK_EQ(poll_now(channel), POLLHUP);
	CHECK_ERR(read(channel, &event, sizeof(event)), ENODEV);
}

static void *read_until_the_end(void *data)
{
	struct exrnic_event event;
	int channel = *(int *)data;

	return (void *)(intptr_t)(read(channel, &event, sizeof(event)) < 0 ? errno : 0);
}

void *map_user_page(int fd)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		give_up("mmap of the user page");
	return page;
}

const void *map_state_page(int fd)
{
	void *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, EXRNIC_MMAP_STATE_PAGE);

	if (page == MAP_FAILED)
		give_up("mmap of the state page");
	return page;
}

void move_in(struct tenant *t)
{
	t->s = make_set();
	t->channel = create_channel(t->s.fd);
	t->worker = make_worker(&t->s, t->channel, 1, EXRNIC_ANY_VECTOR);
	t->untouched = map_user_page(t->s.fd);
	t->worker.page[0] = 0;
	t->state = map_state_page(t->s.fd);
	CHECK_EQ(t->state->gone, 0);
	if (pthread_create(&t->reader, NULL, read_until_the_end, &t->channel))
		give_up("pthread_create");
}

void check_evicted(struct tenant *t)
{
	void *error;

	check_all_gone(&t->s);
	check_last_event(t->s.fd);
	pthread_join(t->reader, &error);
	CHECK_EQ((intptr_t)error, ENODEV);
	check_channel_is_over(t->channel);
	CHECK_EQ(t->state->gone, 1);
	t->worker.page[0] = 1;
	t->untouched[1] = 2;
}

void move_out(struct tenant *t)
{
	CHECK_ERR(close(t->channel), 0);
	CHECK_ERR(close(t->s.fd), 0);
	munmap((void *)t->worker.page, PAGE);
	munmap((void *)t->untouched, PAGE);
	munmap((void *)t->state, PAGE);
}

void check_life_goes_on(void)
{
	struct set s = make_set();
	const volatile struct exrnic_state_page *state = map_state_page(s.fd);
	int channel = create_channel(s.fd);
	struct worker w = make_worker(&s, channel, 1, EXRNIC_ANY_VECTOR);

	CHECK_EQ(state->gone, 0);
	arm(&w, 0);
	post_success(&w);
	CHECK_EQ(next_event(channel).handle, w.cq.cqn);
	CHECK_ERR(close(channel), 0);
	munmap((void *)w.page, PAGE);
	munmap((void *)state, PAGE);
	CHECK_ERR(close(s.fd), 0);
}
