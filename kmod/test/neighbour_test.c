// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What one process does to its queues, and what others notice of it: nothing. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "work.h"

enum { FAILING = 4, HEALTHY = 40, REGISTRATIONS = 10 };
enum { LIMIT_S = 30, STEP_US = 1000, HEAD_START_US = 300000 };

/* Until it is killed. */
static void fail_without_end(void)
{
	struct set s = make_set();
	struct worker workers[FAILING];

	for (int i = 0; i < FAILING; i++)
		workers[i] = make_worker(&s, EXRNIC_NO_CHANNEL, i + 1, EXRNIC_ANY_VECTOR);
	for (;;) {
		for (int i = 0; i < FAILING; i++)
			post_failure(&workers[i]);
		for (int i = 0; i < FAILING; i++) {
			if (modify_qp(s.fd, workers[i].qpn, EXRNIC_QP_STATE_RESET, 0, 0))
				give_up("MODIFY_QP to RESET");
			start_worker(&workers[i]);
		}
	}
}

/* With many queue pairs in RTS, each of which may fail. */
static struct set make_many_healthy(void)
{
	struct set s = make_set();

	for (int i = 0; i < HEALTHY; i++)
		make_worker(&s, EXRNIC_NO_CHANNEL, i + 1, EXRNIC_ANY_VECTOR);
	return s;
}

static void register_and_deregister(const struct set *s)
{
	uint32_t stag;

	if (reg_mr(s->fd, s->pd, s->buffer, PAGE, 0, &stag) ||
	    object_ioctl(s->fd, EXRNIC_IOCTL_DEREG_MR, stag))
		give_up("REG_MR and DEREG_MR");
}

/* Pipes: a byte says that the healthy process is ready, and that it may go on. */
static int ready[2], go[2];

static void say(int to[2])
{
	if (write(to[1], "", 1) != 1)
		give_up("write");
}

static void hear(int from[2])
{
	char byte;

	if (read(from[0], &byte, 1) != 1)
		give_up("read");
}

static void register_some(void)
{
	struct set s = make_many_healthy();

	say(ready);
	hear(go);
	for (int i = 0; i < REGISTRATIONS; i++)
		register_and_deregister(&s);
}

static void register_without_end(void)
{
	struct set s = make_many_healthy();

	say(ready);
	hear(go);
	for (;;)
		register_and_deregister(&s);
}

static pid_t begin(void (*run)(void))
{
	pid_t child = fork();

	if (child < 0)
		give_up("fork");
	if (!child) {
		run();
		_exit(has_failed());
	}
	return child;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Its wait status, or -1: it is not done in time. */
static int wait_for(pid_t child, int seconds)
{
	const double limit = now() + seconds;
	int status;

	do {
		if (waitpid(child, &status, WNOHANG) == child)
			return status;
		usleep(STEP_US);
	} while (now() < limit);
	return -1;
}

/* The process, with all that it needs, beside one whose queue pairs fail already. */
static pid_t begin_beside_failures(void (*run)(void), pid_t *failing)
{
	pid_t healthy;

	if (pipe(ready) || pipe(go))
		give_up("pipe");
	healthy = begin(run);
	hear(ready);
	*failing = begin(fail_without_end);
	usleep(HEAD_START_US);
	say(go);
	return healthy;
}

static void check_end(pid_t failing, pid_t healthy, int status)
{
	CHECK_EQ(waitpid(failing, NULL, WNOHANG), 0);
	end(failing);
	if (status < 0)
		end(healthy);
}

static void failures_hold_nobody_up(void)
{
	pid_t failing, healthy = begin_beside_failures(register_some, &failing);
	int status = wait_for(healthy, LIMIT_S);

	CHECK_EQ(status, 0);
	check_end(failing, healthy, status);
}

static void failures_do_not_keep_a_process_alive(void)
{
	pid_t failing, healthy = begin_beside_failures(register_without_end, &failing);
	int status;

	usleep(HEAD_START_US);
	kill(healthy, SIGKILL);
	status = wait_for(healthy, LIMIT_S);
	CHECK(status >= 0 && WIFSIGNALED(status));
	check_end(failing, healthy, status);
}

/* Its first completions find no room, and none is read. */
static void overrun(struct worker *w)
{
	for (int i = 0; i <= WORKER_ENTRIES; i++)
		post_success(w);
}

/* All that there is, of types that have the handles of one worker. */
static void check_lost_completion(int fd, const struct worker *w)
{
	struct exrnic_event events[] = { next_event(fd), next_event(fd) };
	int errors = events[1].type == EXRNIC_EVENT_CQ_ERROR;

	CHECK_EQ(events[errors].type, EXRNIC_EVENT_CQ_ERROR);
	CHECK_EQ(events[errors].handle, w->cq.cqn);
	CHECK_EQ(events[!errors].type, EXRNIC_EVENT_QP_ERROR);
	CHECK_EQ(events[!errors].handle, w->qpn);
}

enum { NEIGHBOURS = 8, OVERRUN_COOKIE = 1, FIRST_COOKIE = 3 };

/* Of the completion queue; that of the queue pair is the next one. */
static uint64_t cookie_of(int neighbour)
{
	return FIRST_COOKIE + 2 * neighbour;
}

/* In any order: queue pairs that fail together are told by their numbers, which go round. */
static void check_each_failed(int fd)
{
	unsigned int told = 0;

	for (int i = 0; i < NEIGHBOURS; i++) {
		struct exrnic_event event = next_event(fd);

		CHECK_EQ(event.type, EXRNIC_EVENT_QP_ERROR);
		told |= 1U << (event.cookie - cookie_of(0)) / 2;
	}
	CHECK_EQ(told, (1U << NEIGHBOURS) - 1);
}

/* Queue pairs fail beside one whose completion is lost: each is told of what is its own. */
static void an_overrun_accuses_nobody_else(const struct set *s, const struct set *other)
{
	struct worker w = make_worker(s, EXRNIC_NO_CHANNEL, OVERRUN_COOKIE, EXRNIC_ANY_VECTOR);
	struct worker neighbours[NEIGHBOURS];

	for (int i = 0; i < NEIGHBOURS; i++)
		neighbours[i] = make_worker(other, EXRNIC_NO_CHANNEL, cookie_of(i), EXRNIC_ANY_VECTOR);
	overrun(&w);
	check_lost_completion(s->fd, &w);
	/* Again, while the others fail. */
	CHECK_ERR(modify_qp(s->fd, w.qpn, EXRNIC_QP_STATE_RESET, 0, 0), 0);
	start_worker(&w);
	post_success(&w);
	for (int i = 0; i < NEIGHBOURS; i++)
		post_failure(&neighbours[i]);
	if (s->fd == other->fd)
		return;
	check_lost_completion(s->fd, &w);
	check_each_failed(other->fd);
}

static void an_overrun_accuses_no_other_process(void)
{
	struct set s = make_set(), other = make_set();

	an_overrun_accuses_nobody_else(&s, &other);
	CHECK_EQ(poll_now(s.fd), 0);
	CHECK_EQ(poll_now(other.fd), 0);
}

static void an_overrun_accuses_no_other_queue(void)
{
	struct set s = make_set();
	int cq_errors = 0;

	an_overrun_accuses_nobody_else(&s, &s);
	for (int i = 0; i < NEIGHBOURS + 2; i++) {
		struct exrnic_event event = next_event(s.fd);

		if (event.type != EXRNIC_EVENT_CQ_ERROR)
			continue;
		cq_errors++;
		CHECK_EQ(event.cookie, OVERRUN_COOKIE);
	}
	CHECK_EQ(cq_errors, 1);
	CHECK_EQ(poll_now(s.fd), 0);
}

enum { LOST = 1000, BATCH = 16, INTERRUPTS_A_SECOND = 1100 };

/*
 * Work that is flushed into a full completion queue loses a completion for each store to the user
 * page: the driver does not hear of it. The interrupts of a second are those of a thread that
 * pauses for a jiffy, of which no kernel has more than 1000.
 */
static void lost_completions_do_not_flood(void)
{
	struct set s = make_set();
	struct worker w = make_worker(&s, EXRNIC_NO_CHANNEL, 1, EXRNIC_ANY_VECTOR);
	long long interrupts;
	uint64_t lost;
	double time;

	overrun(&w);
	check_lost_completion(s.fd, &w);
	interrupts = control_interrupts();
	lost = lost_completions();
	time = now();
	while (lost_completions() - lost < LOST)
		for (int i = 0; i < BATCH; i++)
			post_failure(&w);
	time = now() - time;
	interrupts = control_interrupts() - interrupts;
	printf("# %lld interrupts in %.3f s, %d lost\n", interrupts, time, LOST);
	CHECK(interrupts < 10 + INTERRUPTS_A_SECOND * time);
}

enum { ARMS = 1000, SETTLE_US = 20000 };

/*
 * A queue that has completions fires whenever it is armed, by a store to the user page. The first
 * interrupt tells the owner; of those that find that it has been told some come in a jiffy, and then none.
 */
static void arming_does_not_flood(void)
{
	struct set s = make_set();
	int channel = create_channel(s.fd);
	struct worker w = make_worker(&s, channel, 1, EXRNIC_ANY_VECTOR);
	long long interrupts = completion_interrupts();
	uint32_t state;
	double time;

	post_success(&w);
	wait_for_completion(&w, 0);
	time = now();
	for (int i = 0; i < ARMS; i++)
		arm(&w, 0);
	CHECK_ERR(query_qp_state(s.fd, w.qpn, &state), 0);
	usleep(SETTLE_US);
	time = now() - time;
	interrupts = completion_interrupts() - interrupts;
	printf("# %lld interrupts in %.3f s, armed %d times\n", interrupts, time, ARMS);
	CHECK(interrupts >= 1 && interrupts < 40 + 20 * INTERRUPTS_A_SECOND * time);
	/* Whoever reads hears of what comes later. */
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(next_event(channel).handle, w.cq.cqn);
		arm(&w, 0);
	}
}

const struct test neighbour_tests[] = {
	{ "queue pairs of a process that fail without end hold no other process up",
	  failures_hold_nobody_up, 0 },
	{ "queue pairs of a process that fail without end do not keep another one alive",
	  failures_do_not_keep_a_process_alive, 0 },
	{ "a completion queue that overruns accuses none of another process",
	  an_overrun_accuses_no_other_process, 0 },
	{ "a completion queue that overruns accuses no other of its process",
	  an_overrun_accuses_no_other_queue, 0 },
	{ "completions that are lost without end do not flood the driver with interrupts",
	  lost_completions_do_not_flood, 0 },
	{ "a queue that is armed without end does not flood the driver with interrupts",
	  arming_does_not_flood, 0 },
	{ NULL, NULL, 0 },
};
