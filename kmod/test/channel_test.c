// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Completion channels. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "work.h"

enum { COOKIE = 0x1234 };
static const uint64_t wide_cookie = 0xfedcba9876543210;

static struct exrnic_destroy destroy_cq(struct worker *w)
{
	struct exrnic_destroy destroy = { .handle = w->cq.cqn };

	CHECK_ERR(object_ioctl(w->fd, EXRNIC_IOCTL_DESTROY_QP, w->qpn), 0);
	CHECK_ERR(ioctl(w->fd, EXRNIC_IOCTL_DESTROY_CQ, &destroy), 0);
	return destroy;
}

static void check_completion(int channel, const struct worker *w)
{
	struct exrnic_event event = next_event(channel);

	CHECK_EQ(event.type, EXRNIC_EVENT_COMPLETION);
	CHECK_EQ(event.handle, w->cq.cqn);
	CHECK_EQ(event.cookie, w->cq.cookie);
}

static void an_armed_queue_fires_once(void)
{
	struct set s = make_set();
	int channel = create_channel(s.fd);
	struct worker w = make_worker(&s, channel, wide_cookie, EXRNIC_ANY_VECTOR);

	CHECK_EQ(poll_now(channel), 0);
	arm(&w, 0);
	post_success(&w);
	check_completion(channel, &w);
	CHECK_EQ(w.ring[0].phase & 1, 1);
	CHECK_EQ(w.ring[0].status, EXRNIC_CQE_STATUS_SUCCESS);
	CHECK_EQ(poll_now(channel), 0);
	post_success(&w);
	wait_for_completion(&w, 1);
	CHECK_EQ(poll_now(channel), 0);
	arm(&w, 1);
	check_completion(channel, &w);
	CHECK_EQ(destroy_cq(&w).comp_events, 2);
}

static void unread_events_of_a_queue_are_one(void)
{
	enum { TIMES = 5 };
	struct set s = make_set();
	int channel = create_channel(s.fd);
	struct worker w = make_worker(&s, channel, COOKIE, EXRNIC_ANY_VECTOR);
	long long before = completion_interrupts();

	post_success(&w);
	wait_for_completion(&w, 0);
	for (int i = 0; i < TIMES; i++) {
		arm(&w, 0);
		wait_for_interrupts(before + i + 1);
	}
	check_completion(channel, &w);
	CHECK_EQ(poll_now(channel), 0);
	CHECK_EQ(destroy_cq(&w).comp_events, 1);
}

static void no_event_after_the_end(void)
{
	struct set s = make_set();
	int channel = create_channel(s.fd);
	struct worker w = make_worker(&s, channel, COOKIE, EXRNIC_ANY_VECTOR);
	struct exrnic_event event;

	arm(&w, 0);
	post_success(&w);
	wait_for_input(channel);
	CHECK_EQ(destroy_cq(&w).comp_events, 0);
	CHECK_EQ(poll_now(channel), 0);
	fcntl(channel, F_SETFL, O_NONBLOCK);
	CHECK_ERR(read(channel, &event, sizeof(event)), EAGAIN);
}

static void vectors_keep_queues_apart(void)
{
	struct set s = make_set();
	int first_channel = create_channel(s.fd), second_channel = create_channel(s.fd);
	struct worker first = make_worker(&s, first_channel, 1, 0), second;
	struct exrnic_query q;

	CHECK_ERR(query(s.fd, &q), 0);
	CHECK(q.comp_vectors >= 1);
	if (q.comp_vectors == 1)
		skip("one vector for all completion queues");
	second = make_worker(&s, second_channel, 2, q.comp_vectors - 1);
	arm(&first, 0);
	arm(&second, 0);
	post_success(&second);
	check_completion(second_channel, &second);
	CHECK_EQ(poll_now(first_channel), 0);
	post_success(&first);
	check_completion(first_channel, &first);
	CHECK_EQ(poll_now(second_channel), 0);
}

/* Both on one channel and one vector: an event for either, whoever fired. */
static void a_channel_serves_several_queues(void)
{
	struct set s = make_set();
	int channel = create_channel(s.fd);
	struct worker w[2] = { make_worker(&s, channel, 10, 0), make_worker(&s, channel, 20, 0) };
	struct exrnic_event events[3] = { { 0 } };
	ssize_t got;

	arm(&w[0], 0);
	arm(&w[1], 0);
	post_success(&w[0]);
	post_success(&w[1]);
	wait_for_input(channel);
	got = read(channel, events, sizeof(events));
	CHECK_EQ(got, 2 * sizeof(*events));
	CHECK_EQ(events[0].cookie + events[1].cookie, 30);
}

static void reads_are_whole_events(void)
{
	struct set s = make_set();
	int channel = create_channel(s.fd);
	struct worker w = make_worker(&s, channel, COOKIE, EXRNIC_ANY_VECTOR);
	char room[sizeof(struct exrnic_event)];

	arm(&w, 0);
	post_success(&w);
	wait_for_input(channel);
	CHECK_ERR(read(channel, room, sizeof(room) - 1), EINVAL);
	CHECK_ERR(read(channel, room, 0), EINVAL);
	CHECK_ERR(read(channel, (void *)PAGE, sizeof(room)), EFAULT);
	CHECK_ERR(read(channel, (void *)0xffff888000000000UL, sizeof(room)), EFAULT);
	CHECK_ERR(write(channel, room, sizeof(room)), EBADF);
	check_completion(channel, &w);
}

static void *read_one(void *data)
{
	static struct exrnic_event event;
	int channel = *(int *)data;

	return read(channel, &event, sizeof(event)) == sizeof(event) ? &event : NULL;
}

static void a_waiting_reader_wakes(void)
{
	struct set s = make_set();
	int channel = create_channel(s.fd);
	struct worker w = make_worker(&s, channel, COOKIE, EXRNIC_ANY_VECTOR);
	pthread_t reader;
	void *event;

	if (pthread_create(&reader, NULL, read_one, &channel))
		give_up("pthread_create");
	arm(&w, 0);
	post_success(&w);
	pthread_join(reader, &event);
	CHECK(event && ((struct exrnic_event *)event)->cookie == COOKIE);
}

static void epoll_works(void)
{
	struct set s = make_set();
	int channel = create_channel(s.fd), epoll = epoll_create1(EPOLL_CLOEXEC);
	struct worker w = make_worker(&s, channel, COOKIE, EXRNIC_ANY_VECTOR);
	struct epoll_event event = { .events = EPOLLIN };

	CHECK_ERR(epoll_ctl(epoll, EPOLL_CTL_ADD, channel, &event), 0);
	CHECK_EQ(epoll_wait(epoll, &event, 1, 0), 0);
	arm(&w, 0);
	post_success(&w);
	CHECK_EQ(epoll_wait(epoll, &event, 1, 20000), 1);
	check_completion(channel, &w);
	CHECK_EQ(epoll_wait(epoll, &event, 1, 0), 0);
}

static int create_cq_with(int fd, int channel_fd, uint32_t comp_vector)
{
	struct exrnic_create_cq cq = {
		.ring = (uintptr_t)pages(1),
		.entries = WORKER_ENTRIES,
		.channel_fd = channel_fd,
		.comp_vector = comp_vector,
	};

	return ioctl(fd, EXRNIC_IOCTL_CREATE_CQ, &cq);
}

static void only_own_channels_and_vectors(void)
{
	int fd = open_device(), other = open_device();
	int channel = create_channel(other), null = open("/dev/null", O_RDONLY);
	struct exrnic_query q;

	CHECK_ERR(query(fd, &q), 0);
	CHECK_ERR(create_cq_with(fd, channel, 0), EINVAL);
	CHECK_ERR(create_cq_with(fd, null, 0), EINVAL);
	CHECK_ERR(create_cq_with(fd, fd, 0), EINVAL);
	CHECK_ERR(create_cq_with(fd, 1 << 20, 0), EBADF);
	CHECK_ERR(create_cq_with(fd, -2, 0), EBADF);
	CHECK_ERR(create_cq_with(fd, EXRNIC_NO_CHANNEL, q.comp_vectors), EINVAL);
	CHECK_ERR(create_cq_with(fd, EXRNIC_NO_CHANNEL, EXRNIC_ANY_VECTOR - 1), EINVAL);
	CHECK_ERR(create_cq_with(other, channel, q.comp_vectors - 1), 0);
	close(other);
	/* Memory of the file that is no more must not pass for another's. */
	other = open_device();
	CHECK_ERR(create_cq_with(other, channel, 0), EINVAL);
}

static void a_queue_outlives_its_channel(void)
{
	struct set s = make_set();
	int channel = create_channel(s.fd);
	struct worker w = make_worker(&s, channel, COOKIE, EXRNIC_ANY_VECTOR);
	long long before = completion_interrupts();

	close(channel);
	arm(&w, 0);
	post_success(&w);
	wait_for_interrupts(before + 1);
	CHECK_EQ(destroy_cq(&w).comp_events, 0);
}

static void a_channel_outlives_its_file(void)
{
	struct set s = make_set();
	int channel = create_channel(s.fd);
	struct worker w = make_worker(&s, channel, COOKIE, EXRNIC_ANY_VECTOR);
	struct exrnic_event event;

	arm(&w, 0);
	post_success(&w);
	wait_for_input(channel);
	munmap((void *)w.page, PAGE);
	close(s.fd);
	CHECK_EQ(poll_now(channel), POLLHUP);
	CHECK_ERR(read(channel, &event, sizeof(event)), ENODEV);
	close(channel);
}

const struct test channel_tests[] = {
	{ "a queue that was armed makes its channel readable, once", an_armed_queue_fires_once, 0 },
	{ "unread events of a queue are one", unread_events_of_a_queue_are_one, 0 },
	{ "no event of a queue comes after its end", no_event_after_the_end, 0 },
	{ "queues on different vectors do not wake each other", vectors_keep_queues_apart, 0 },
	{ "a channel serves several queues", a_channel_serves_several_queues, 0 },
	{ "a read gives whole events, and a failed one loses none", reads_are_whole_events, 0 },
	{ "a reader that waits for a completion is woken", a_waiting_reader_wakes, 0 },
	{ "epoll works on a channel", epoll_works, 0 },
	{ "a queue takes channels of its file and vectors of its device only",
	  only_own_channels_and_vectors, 0 },
	{ "a queue outlives its channel", a_queue_outlives_its_channel, 0 },
	{ "a channel outlives its file, and says so", a_channel_outlives_its_file, 0 },
	{ NULL, NULL, 0 },
};
