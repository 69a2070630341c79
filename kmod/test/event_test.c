// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Asynchronous events: what read() of the device file tells. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "work.h"

enum { COOKIE = 0x77 };

static void check_qp_error(int fd, const struct worker *w)
{
	struct exrnic_event event = next_event(fd);

	CHECK_EQ(event.type, EXRNIC_EVENT_QP_ERROR);
	CHECK_EQ(event.handle, w->qpn);
	CHECK_EQ(event.cookie, w->cq.cookie + 1);
}

static void an_error_of_a_queue_pair_is_told(void)
{
	struct set s = make_set();
	struct worker w = make_worker(&s, EXRNIC_NO_CHANNEL, COOKIE, EXRNIC_ANY_VECTOR);
	struct exrnic_destroy destroy = { .handle = w.qpn };
	uint32_t state;

	CHECK_EQ(poll_now(s.fd), 0);
	post_failure(&w);
	check_qp_error(s.fd, &w);
	CHECK_ERR(query_qp_state(s.fd, w.qpn, &state), 0);
	CHECK_EQ(state, EXRNIC_QP_STATE_ERROR);
	CHECK_EQ(poll_now(s.fd), 0);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, &destroy), 0);
	CHECK_EQ(destroy.async_events, 1);
	CHECK_EQ(destroy.comp_events, 0);
}

static void the_error_of_an_ended_queue_pair_is_not(void)
{
	struct set s = make_set();
	struct worker w = make_worker(&s, EXRNIC_NO_CHANNEL, COOKIE, EXRNIC_ANY_VECTOR);
	struct exrnic_destroy destroy = { .handle = w.qpn };

	post_failure(&w);
	wait_for_input(s.fd);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, &destroy), 0);
	CHECK_EQ(destroy.async_events, 0);
	CHECK_EQ(poll_now(s.fd), 0);
}

/* The second error shows that what the first modification might have raised has had its time. */
static void what_the_process_does_is_no_event(void)
{
	struct set s = make_set();
	struct worker quiet = make_worker(&s, EXRNIC_NO_CHANNEL, 1, EXRNIC_ANY_VECTOR);
	struct worker w = make_worker(&s, EXRNIC_NO_CHANNEL, COOKIE, EXRNIC_ANY_VECTOR);

	CHECK_ERR(modify_qp(s.fd, quiet.qpn, EXRNIC_QP_STATE_ERROR, 0, 0), 0);
	post_failure(&w);
	check_qp_error(s.fd, &w);
	CHECK_EQ(poll_now(s.fd), 0);
}

static void a_queue_pair_can_fail_again(void)
{
	struct set s = make_set();
	struct worker w = make_worker(&s, EXRNIC_NO_CHANNEL, COOKIE, EXRNIC_ANY_VECTOR);

	post_failure(&w);
	check_qp_error(s.fd, &w);
	CHECK_ERR(modify_qp(s.fd, w.qpn, EXRNIC_QP_STATE_RESET, 0, 0), 0);
	start_worker(&w);
	post_failure(&w);
	check_qp_error(s.fd, &w);
}

/* Threads of the driver run only when this process sleeps; at least where there is one processor. */
static void outrun_the_driver(void)
{
	const struct sched_param before_others = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &before_others))
		give_up("sched_setscheduler");
}

static void fail_and_modify_at_once(uint32_t state)
{
	struct set s = make_set();
	struct worker w = make_worker(&s, EXRNIC_NO_CHANNEL, COOKIE, EXRNIC_ANY_VECTOR);

	outrun_the_driver();
	for (int i = 0; i < WORKER_ENTRIES; i++) {
		post_failure(&w);
		spin_for_completion(&w, i);
		CHECK_ERR(modify_qp(s.fd, w.qpn, state, 0, 0), 0);
		check_qp_error(s.fd, &w);
		CHECK_EQ(poll_now(s.fd), 0);
		CHECK_ERR(modify_qp(s.fd, w.qpn, EXRNIC_QP_STATE_RESET, 0, 0), 0);
		start_worker(&w);
	}
}

static void a_reset_hides_no_error(void)
{
	fail_and_modify_at_once(EXRNIC_QP_STATE_RESET);
}

static void an_error_of_the_process_hides_no_other(void)
{
	fail_and_modify_at_once(EXRNIC_QP_STATE_ERROR);
}

static void events_stay_with_their_file(void)
{
	struct set s = make_set(), other = make_set();
	struct worker w = make_worker(&s, EXRNIC_NO_CHANNEL, COOKIE, EXRNIC_ANY_VECTOR);

	post_failure(&w);
	check_qp_error(s.fd, &w);
	CHECK_EQ(poll_now(other.fd), 0);
}

static unsigned int types_of(int fd, unsigned int events, uint32_t handles[])
{
	unsigned int types = 0;

	for (unsigned int i = 0; i < events; i++) {
		struct exrnic_event event = next_event(fd);

		types |= 1U << event.type;
		handles[event.type] = event.handle;
	}
	return types;
}

static void a_lost_completion_is_told(void)
{
	struct set s = make_set();
	struct worker w = make_worker(&s, EXRNIC_NO_CHANNEL, COOKIE, EXRNIC_ANY_VECTOR);
	struct exrnic_destroy destroy = { .handle = w.cq.cqn };
	uint32_t handles[EXRNIC_EVENT_DEVICE_FATAL + 1] = { 0 };

	for (int i = 0; i <= WORKER_ENTRIES; i++)
		post_success(&w);
	CHECK_EQ(types_of(s.fd, 2, handles), 1U << EXRNIC_EVENT_QP_ERROR | 1U << EXRNIC_EVENT_CQ_ERROR);
	CHECK_EQ(handles[EXRNIC_EVENT_QP_ERROR], w.qpn);
	CHECK_EQ(handles[EXRNIC_EVENT_CQ_ERROR], w.cq.cqn);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, w.qpn), 0);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_DESTROY_CQ, &destroy), 0);
	CHECK_EQ(destroy.async_events, 1);
}

/* Of a worker that has completed nothing yet. The process does not sleep once it is lost. */
static void lose_a_completion(struct worker *w)
{
	const uint64_t before = lost_completions();

	for (int i = 0; i <= WORKER_ENTRIES; i++)
		post_success(w);
	while (lost_completions() == before)
		continue;
}

static void a_reset_hides_no_lost_completion(void)
{
	struct set s = make_set();
	struct worker w = make_worker(&s, EXRNIC_NO_CHANNEL, COOKIE, EXRNIC_ANY_VECTOR);
	uint32_t handles[EXRNIC_EVENT_DEVICE_FATAL + 1] = { 0 };

	outrun_the_driver();
	lose_a_completion(&w);
	CHECK_ERR(modify_qp(s.fd, w.qpn, EXRNIC_QP_STATE_RESET, 0, 0), 0);
	CHECK_EQ(types_of(s.fd, 2, handles), 1U << EXRNIC_EVENT_QP_ERROR | 1U << EXRNIC_EVENT_CQ_ERROR);
	CHECK_EQ(handles[EXRNIC_EVENT_CQ_ERROR], w.cq.cqn);
	CHECK_EQ(poll_now(s.fd), 0);
}

static void an_end_hides_no_lost_completion(void)
{
	struct set s = make_set();
	struct worker w = make_worker(&s, EXRNIC_NO_CHANNEL, COOKIE, EXRNIC_ANY_VECTOR);
	uint32_t handles[EXRNIC_EVENT_DEVICE_FATAL + 1] = { 0 };

	outrun_the_driver();
	lose_a_completion(&w);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, w.qpn), 0);
	CHECK_EQ(types_of(s.fd, 1, handles), 1U << EXRNIC_EVENT_CQ_ERROR);
	CHECK_EQ(handles[EXRNIC_EVENT_CQ_ERROR], w.cq.cqn);
	CHECK_EQ(poll_now(s.fd), 0);
}

/* What the driver tells at once with it has its time. */
static void check_only_qp_error(int fd, const struct worker *w)
{
	check_qp_error(fd, w);
	usleep(20000);
	CHECK_EQ(poll_now(fd), 0);
}

/* Neither to a context that came later, nor when another queue pair fails. */
static void a_lost_completion_is_told_once(void)
{
	struct set s = make_set(), other;
	struct worker w = make_worker(&s, EXRNIC_NO_CHANNEL, COOKIE, EXRNIC_ANY_VECTOR), later;
	uint32_t handles[EXRNIC_EVENT_DEVICE_FATAL + 1] = { 0 };

	lose_a_completion(&w);
	types_of(s.fd, 2, handles);
	other = make_set();
	later = make_worker(&other, EXRNIC_NO_CHANNEL, COOKIE, EXRNIC_ANY_VECTOR);
	post_failure(&later);
	check_only_qp_error(other.fd, &later);
	later = make_worker(&s, EXRNIC_NO_CHANNEL, COOKIE, EXRNIC_ANY_VECTOR);
	post_failure(&later);
	check_only_qp_error(s.fd, &later);
}

static void a_dead_peer_is_told_to_all(void)
{
	struct set s = make_set(), other = make_set();
	struct worker w = make_worker(&s, EXRNIC_NO_CHANNEL, COOKIE, EXRNIC_ANY_VECTOR);
	uint32_t handles[EXRNIC_EVENT_DEVICE_FATAL + 1] = { 0 };

	post_to_nobody(&w);
	wait_for_completion(&w, 0);
	CHECK_EQ(w.ring[0].status, EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
	CHECK_EQ(types_of(s.fd, 2, handles), 1U << EXRNIC_EVENT_QP_ERROR | 1U << EXRNIC_EVENT_PEER_DEAD);
	CHECK_EQ(next_event(other.fd).type, EXRNIC_EVENT_PEER_DEAD);
	CHECK_EQ(poll_now(other.fd), 0);
}

static void reading_without_events(void)
{
	int fd = open(device_path(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
	struct exrnic_event event = { 0 };

	CHECK_ERR(read(fd, &event, sizeof(event)), EAGAIN);
	CHECK_ERR(read(fd, &event, sizeof(event) - 1), EINVAL);
	CHECK_ERR(write(fd, &event, sizeof(event)), EINVAL);
}

const struct test event_tests[] = {
	{ "a queue pair that fails is told of, once", an_error_of_a_queue_pair_is_told, 0 },
	{ "a queue pair that has ended is not told of", the_error_of_an_ended_queue_pair_is_not, 0 },
	{ "a queue pair that its process takes to ERROR is not told of",
	  what_the_process_does_is_no_event, 0 },
	{ "a queue pair can fail again after a reset", a_queue_pair_can_fail_again, 0 },
	{ "a queue pair that fails is told of, even if it is reset at once", a_reset_hides_no_error, 0 },
	{ "a queue pair that fails is told of, even if its process takes it to ERROR at once",
	  an_error_of_the_process_hides_no_other, 0 },
	{ "events stay with their file", events_stay_with_their_file, 0 },
	{ "a completion queue that overruns is told of", a_lost_completion_is_told, 0 },
	{ "a completion queue that overruns is told of, even if the queue pair is reset at once",
	  a_reset_hides_no_lost_completion, 0 },
	{ "a completion queue that overruns is told of, even if the queue pair ends at once",
	  an_end_hides_no_lost_completion, 0 },
	{ "a completion queue that overruns is told of once", a_lost_completion_is_told_once, 0 },
	{ "a peer that is given up is told to all", a_dead_peer_is_told_to_all, 0 },
	{ "reading without events gives EAGAIN, or what is wrong", reading_without_events, 0 },
	{ NULL, NULL, 0 },
};
