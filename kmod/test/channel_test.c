// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Completion channels. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "work.h"

enum { COOKIE = 0x1234 };
static const uint64_t wide_cookie = 0xfedcba9876543210;

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
	CHECK_EQ(end_worker(&w).comp_events, 2);
}

static void unread_events_of_a_queue_are_one(void)
{
	enum { TIMES = 2 };	/* the next one would not interrupt before the event is read */
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
	CHECK_EQ(end_worker(&w).comp_events, 1);
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
	CHECK_EQ(end_worker(&w).comp_events, 0);
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

static void queues_are_spread_over_vectors(void)
{
	enum { QUEUES = 4 };
	struct set s = make_set();
	struct worker workers[QUEUES];
	int channels[QUEUES];
	struct exrnic_query q;

	CHECK_ERR(query(s.fd, &q), 0);
	if (q.comp_vectors < QUEUES)
		skip("few vectors");
	for (int i = 0; i < QUEUES; i++) {
		channels[i] = create_channel(s.fd);
		workers[i] = make_worker(&s, channels[i], i, EXRNIC_ANY_VECTOR);
	}
	for (int i = 0; i < QUEUES; i++) {
		arm(&workers[i], 0);
		post_success(&workers[i]);
		check_completion(channels[i], &workers[i]);
		for (int j = 0; j < QUEUES; j++)
			CHECK_EQ(poll_now(channels[j]), 0);
	}
}

/* Both on one channel and one vector: an event for each that has fired. */
static void a_channel_serves_several_queues(void)
{
	struct set s = make_set();
	int channel = create_channel(s.fd);
	struct worker w[2] = { make_worker(&s, channel, 10, 0), make_worker(&s, channel, 20, 0) };
	struct exrnic_event events[3] = { { 0 } };
	ssize_t got;

	arm(&w[0], 0);
	arm(&w[1], 0);
	post_success(&w[1]);
	wait_for_input(channel);
	got = read(channel, events, sizeof(events));
	CHECK_EQ(got, sizeof(*events));
	CHECK_EQ(events[0].cookie, 20);
	post_success(&w[0]);
	wait_for_input(channel);
	CHECK_EQ(read(channel, events, sizeof(events)), sizeof(*events));
	CHECK_EQ(events[0].cookie, 10);
}

/* More than an interrupt tells: a thread tells the others. */
static void all_queues_of_a_vector_are_told(void)
{
	enum { QUEUES = 40 };
	struct set s = make_set();
	int channel = create_channel(s.fd);
	struct worker w[QUEUES];
	uint64_t told = 0;

	for (int i = 0; i < QUEUES; i++)
		w[i] = make_worker(&s, channel, i, 0);
	for (int i = 0; i < QUEUES; i++)
		arm(&w[i], 0);
	for (int i = 0; i < QUEUES; i++)
		post_success(&w[i]);
	for (int i = 0; i < QUEUES; i++)
		told |= 1ULL << next_event(channel).cookie;
	CHECK_EQ(told, (1ULL << QUEUES) - 1);
	CHECK_EQ(poll_now(channel), 0);
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

/* A buffer that ends before what it was said to hold: at the end of the writable memory. */
static void what_does_not_fit_stays(void)
{
	struct set s = make_set();
	int channel = create_channel(s.fd);
	struct worker w[2] = { make_worker(&s, channel, 10, 0), make_worker(&s, channel, 20, 0) };
	char *memory = pages(2);
	struct exrnic_event *last = (struct exrnic_event *)(memory + PAGE) - 1, rest = { 0 };

	CHECK_ERR(mprotect(memory + PAGE, PAGE, PROT_NONE), 0);
	for (int i = 0; i < 2; i++) {
		arm(&w[i], 0);
		post_success(&w[i]);
		wait_for_completion(&w[i], 0);
	}
	wait_for_input(channel);
	CHECK_EQ(read(channel, last, 2 * sizeof(*last)), sizeof(*last));
	wait_for_input(channel);
	CHECK_EQ(read(channel, &rest, sizeof(rest)), sizeof(rest));
	CHECK_EQ(last->cookie + rest.cookie, 30);
	CHECK_EQ(poll_now(channel), 0);
	CHECK_EQ(end_worker(&w[0]).comp_events, 1);
	CHECK_EQ(end_worker(&w[1]).comp_events, 1);
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

enum { SLOW_US = 5000 };

/* What a reader has been given, by cookie, while queues with these cookies come and go. */
struct tally {
	int channel;
	unsigned int read[256];
};

static void *count_events(void *data)
{
	struct tally *tally = data;
	struct exrnic_event events[4];
	ssize_t got;

	while ((got = read(tally->channel, events, sizeof(events))) > 0) {
		for (size_t i = 0; i < (size_t)got / sizeof(*events); i++)
			tally->read[events[i].cookie]++;
		/* So that some queues end before their event is read. */
		usleep(SLOW_US);
	}
	return NULL;
}

/* Half of the queues end while their event is on its way. */
static void events_and_ends_may_race(void)
{
	enum { QUEUES = 120 };
	struct set s = make_set();
	struct tally tally = { .channel = create_channel(s.fd) };
	unsigned int told[QUEUES], sum = 0;
	pthread_t reader;

	if (pthread_create(&reader, NULL, count_events, &tally))
		give_up("pthread_create");
	for (unsigned int i = 0; i < QUEUES; i++) {
		struct worker w = make_worker(&s, tally.channel, i, EXRNIC_ANY_VECTOR);

		arm(&w, 0);
		post_success(&w);
		if (i % 2)
			wait_for_completion(&w, 0);
		told[i] = end_worker(&w).comp_events;
		munmap((void *)w.page, PAGE);
		sum += told[i];
	}
	close(s.fd);
	pthread_join(reader, NULL);
	for (unsigned int i = 0; i < QUEUES; i++)
		CHECK_EQ(tally.read[i], told[i]);
	printf("# %u of %d events were read in time\n", sum, QUEUES);
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

static void descriptors_run_out(void)
{
	enum { DESCRIPTORS = 16 };
	struct rlimit limit = { DESCRIPTORS, DESCRIPTORS };
	struct exrnic_create_channel create = { 0 };
	int fd = open_device(), last = -1;

	CHECK_ERR(setrlimit(RLIMIT_NOFILE, &limit), 0);
	while (!ioctl(fd, EXRNIC_IOCTL_CREATE_CHANNEL, &create))
		last = create.fd;
	CHECK_EQ(errno, EMFILE);
	CHECK_EQ(last, DESCRIPTORS - 1);
	CHECK_EQ(fcntl(last, F_GETFD), FD_CLOEXEC);
	close(last);
	CHECK_EQ(create_channel(fd), last);
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
	CHECK_EQ(end_worker(&w).comp_events, 0);
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
	{ "queues that leave the choice are spread over vectors", queues_are_spread_over_vectors, 0 },
	{ "a channel serves several queues", a_channel_serves_several_queues, 0 },
	{ "all queues of a vector are told, however many they are", all_queues_of_a_vector_are_told, 0 },
	{ "a read gives whole events, and a failed one loses none", reads_are_whole_events, 0 },
	{ "a read loses no event for which its buffer is too short", what_does_not_fit_stays, 0 },
	{ "a reader that waits for a completion is woken", a_waiting_reader_wakes, 0 },
	{ "epoll works on a channel", epoll_works, 0 },
	{ "events and ends of queues may race, and agree on what was read", events_and_ends_may_race,
	  120 },
	{ "a queue takes channels of its file and vectors of its device only",
	  only_own_channels_and_vectors, 0 },
	{ "channels run out with the descriptors", descriptors_run_out, 0 },
	{ "a queue outlives its channel", a_queue_outlives_its_channel, 0 },
	{ "a channel outlives its file, and says so", a_channel_outlives_its_file, 0 },
	{ NULL, NULL, 0 },
};
