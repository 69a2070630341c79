// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Ends of all kinds: close, death, full tables, races. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

static void close_ends_everything(void)
{
	long long before = pinned_pages();
	struct set s = make_set();

	CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_INIT, 0, 0), 0);
	CHECK(pinned_pages() > before);
	close(s.fd);
	CHECK_EQ(pinned_pages(), before);
}

static void death_ends_everything(void)
{
	long long before = pinned_pages();
	pid_t child = fork();
	int status;

	if (!child) {
		make_set();
		kill(getpid(), SIGKILL);
	}
	waitpid(child, &status, 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK_EQ(pinned_pages(), before);
}

static void a_child_shares_the_context(void)
{
	struct set s = make_set();
	pid_t child = fork();
	uint32_t state;
	int status;

	if (!child) {
		CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_INIT, 0, 0), 0);
		_exit(has_failed());
	}
	waitpid(child, &status, 0);
	CHECK_EQ(status, 0);
	CHECK_ERR(query_qp_state(s.fd, s.qpn, &state), 0);
	CHECK_EQ(state, EXRNIC_QP_STATE_INIT);
	destroy_set(&s);
}

static void completion_queues_run_out(void)
{
	int fd = open_device();
	struct exrnic_query q;
	uint32_t cqn, made = 0;

	CHECK_ERR(query(fd, &q), 0);
	while (made <= q.max_cq && !create_cq(fd, pages(1), 8, &cqn))
		made++;
	CHECK_EQ(errno, ENOSPC);
	CHECK_EQ(made, q.max_cq);
	CHECK_ERR(object_ioctl(fd, EXRNIC_IOCTL_DESTROY_CQ, q.max_cq - 1), 0);
	CHECK_ERR(create_cq(fd, pages(1), 8, &cqn), 0);
	CHECK_EQ(cqn, q.max_cq - 1);
}

static void queue_pairs_run_out(void)
{
	struct set s = make_set();
	struct exrnic_query q;
	uint32_t made = 1;

	CHECK_ERR(query(s.fd, &q), 0);
	s.qp.max_reads_out = 0;
	s.qp.max_reads_in = 0;
	do {
		s.qp.sq = (uintptr_t)pages(1);
		s.qp.rq = (uintptr_t)pages(1);
	} while (!create_qp_of(&s) && made++ <= q.max_qp);
	CHECK_EQ(errno, ENOSPC);
	CHECK_EQ(made, q.max_qp - 2);
}

static void places_for_pulls_run_out(void)
{
	struct set s = make_set();
	struct exrnic_query q;
	uint32_t first = s.qpn, made = 1;

	CHECK_ERR(query(s.fd, &q), 0);
	while (!create_qp_of(&s) && made++ <= q.max_qp)
		;
	CHECK_EQ(errno, ENOSPC);
	CHECK_EQ(made, q.read_pool / SOME_READS);
	s.qp.max_reads_out = 0;
	CHECK_ERR(create_qp_of(&s), ENOSPC);
	s.qp.max_reads_in = 0;
	CHECK_ERR(create_qp_of(&s), 0);
	s.qp.max_reads_in = SOME_READS;
	CHECK_ERR(create_qp_of(&s), ENOSPC);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, first), 0);
	CHECK_ERR(create_qp_of(&s), 0);
}

static void protection_domains_run_out(void)
{
	int fd = open_device();
	uint32_t first, pd, made = 1;

	CHECK_ERR(alloc_pd(fd, &first), 0);
	while (made < EXRNIC_FW_PD && !alloc_pd(fd, &pd))
		made++;
	CHECK_EQ(errno, ENOSPC);
	CHECK_EQ(made, EXRNIC_FW_PD - 1);
	CHECK_ERR(object_ioctl(fd, EXRNIC_IOCTL_DEALLOC_PD, first), 0);
	CHECK_ERR(alloc_pd(fd, &pd), 0);
}

static void stags_run_out(void)
{
	struct set s = make_set();
	struct exrnic_rereg_mr rereg = { .stag = s.stag, .flags = EXRNIC_REREG_ACCESS };
	uint32_t first, stag, made = 2;
	struct exrnic_query q;

	CHECK_ERR(query(s.fd, &q), 0);
	CHECK_ERR(reg_mr(s.fd, s.pd, s.buffer, PAGE, 0, &first), 0);
	while (made < q.max_mr && !reg_mr(s.fd, s.pd, s.buffer, PAGE, 0, &stag))
		made++;
	CHECK_EQ(errno, ENOSPC);
	CHECK_EQ(made, q.max_mr - 1);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_REREG_MR, &rereg), ENOSPC);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEREG_MR, first), 0);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_REREG_MR, &rereg), 0);
	CHECK_ERR(reg_mr(s.fd, s.pd, s.buffer, PAGE, 0, &stag), 0);
}

static void user_pages_run_out(void)
{
	int fd, count = 0;

	while (count <= (int)EXRNIC_USER_PAGES &&
	       (fd = open(device_path(), O_RDWR | O_CLOEXEC)) >= 0)
		count++;
	CHECK_EQ(errno, ENOSPC);
	CHECK(count > 0 && count <= (int)EXRNIC_USER_PAGES);
	close(fd = count + 2);
	CHECK_EQ(open_device(), fd);
}

/* Threads of one process fight over the handles of one file. */
struct fight {
	int fd;
	unsigned int seed;
};

enum { FIGHTERS = 4, ROUNDS = 150 };

static void fight_for_qp(struct fight *f, uint32_t pd, uint32_t cqn)
{
	struct exrnic_create_qp qp = {
		.sq = (uintptr_t)pages(1),
		.rq = (uintptr_t)pages(1),
		.sq_slots = SLOTS,
		.rq_slots = SLOTS,
		.pd = pd,
		.send_cqn = cqn,
		.recv_cqn = cqn,
		.srqn = EXRNIC_NO_SRQ,
	};

	ioctl(f->fd, EXRNIC_IOCTL_CREATE_QP, &qp);
}

static void fight_round(struct fight *f)
{
	static const unsigned long destroys[] = {
		EXRNIC_IOCTL_DEALLOC_PD, EXRNIC_IOCTL_DESTROY_CQ, EXRNIC_IOCTL_DESTROY_QP,
		EXRNIC_IOCTL_DESTROY_SRQ,
	};
	uint32_t a = rand_r(&f->seed) % 8, b = rand_r(&f->seed) % 8, out;

	switch (rand_r(&f->seed) % 7) {
	case 0:
		alloc_pd(f->fd, &out);
		break;
	case 1:
		create_cq(f->fd, pages(1), CQ_ENTRIES, &out);
		break;
	case 2:
		fight_for_qp(f, a, b);
		break;
	case 3:
		if (!reg_mr(f->fd, a, pages(1), PAGE, 0, &out) && b % 2)
			object_ioctl(f->fd, EXRNIC_IOCTL_DEREG_MR, out);
		break;
	case 4:
		modify_qp(f->fd, a, EXRNIC_QP_STATE_INIT, 0, 0);
		break;
	case 5:
		create_srq(f->fd, a, pages(1), SLOTS, &out);
		break;
	default:
		object_ioctl(f->fd, destroys[b % 4], a);
	}
}

static void *fight(void *data)
{
	for (int i = 0; i < ROUNDS; i++)
		fight_round(data);
	return NULL;
}

static void threads_may_race(void)
{
	unsigned int seed = (unsigned int)time(NULL);
	struct fight fights[FIGHTERS];
	pthread_t threads[FIGHTERS];
	int shared = open_device();
	struct exrnic_query q;

	printf("# seed %u\n", seed);
	for (int i = 0; i < FIGHTERS; i++) {
		fights[i] = (struct fight){ i ? shared : open_device(), seed + i };
		if (pthread_create(&threads[i], NULL, fight, &fights[i]))
			give_up("pthread_create");
	}
	for (int i = 0; i < FIGHTERS; i++)
		pthread_join(threads[i], NULL);
	CHECK_ERR(query(shared, &q), 0);
}

const struct test life_tests[] = {
	{ "close ends everything that is alive", close_ends_everything, 0 },
	{ "death of a process ends everything that is alive", death_ends_everything, 0 },
	{ "a child shares the context of its parent", a_child_shares_the_context, 0 },
	{ "completion queues run out with ENOSPC and come back", completion_queues_run_out, 120 },
	{ "queue pairs run out with ENOSPC", queue_pairs_run_out, 120 },
	{ "places for PULLs run out with ENOSPC, and queue pairs without PULLs need none",
	  places_for_pulls_run_out, 120 },
	{ "protection domains run out with ENOSPC and come back", protection_domains_run_out, 120 },
	{ "STags run out with ENOSPC, also for a region that is registered anew, and come back",
	  stags_run_out, 120 },
	{ "user pages run out with ENOSPC and come back", user_pages_run_out, 0 },
	{ "threads may race for the objects of a file", threads_may_race, 120 },
	{ NULL, NULL, 0 },
};
