// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Shared receive queues. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "support.h"
#include "work.h"

enum { LIMIT_MAX = EXRNIC_SRQ_LIMIT_MAX };

static struct exrnic_query_srq query_srq(int fd, uint32_t srqn)
{
	struct exrnic_query_srq q = { .srqn = srqn };

	CHECK_ERR(ioctl(fd, EXRNIC_IOCTL_QUERY_SRQ, &q), 0);
	return q;
}

static void a_new_queue_is_empty(void)
{
	struct set s = make_set();
	struct exrnic_create_srq srq = {
		.ring = (uintptr_t)pages(1), .slots = SLOTS, .pd = s.pd, .limit = 7,
	};
	struct exrnic_query_srq q;

	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_CREATE_SRQ, &srq), 0);
	q = query_srq(s.fd, srq.srqn);
	CHECK_EQ(q.limit, 7);
	CHECK_EQ(q.producer, 0);
	CHECK_EQ(q.consumer, 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_SRQ, srq.srqn), 0);
	destroy_set(&s);
}

static void the_limit_can_be_set_and_taken_back(void)
{
	static const uint32_t limits[] = { 1, LIMIT_MAX, 0, 9 };
	struct set s = make_set();
	uint32_t srqn;

	CHECK_ERR(create_srq(s.fd, s.pd, pages(1), SLOTS, &srqn), 0);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		CHECK_ERR(modify_srq(s.fd, srqn, limits[i]), 0);
		CHECK_EQ(query_srq(s.fd, srqn).limit, limits[i]);
	}
	CHECK_ERR(modify_srq(s.fd, srqn, LIMIT_MAX + 1), EINVAL);
	CHECK_EQ(query_srq(s.fd, srqn).limit, 9);
}

static void queue_pairs_share_it(void)
{
	struct set s = make_set();
	uint32_t srqn, first, second;

	CHECK_ERR(create_srq(s.fd, s.pd, pages(1), SLOTS, &srqn), 0);
	s.qp = srq_qp(&s, srqn);
	CHECK_ERR(create_qp_of(&s), 0);
	first = s.qpn;
	s.qp.sq = (uintptr_t)pages(1);
	CHECK_ERR(create_qp_of(&s), 0);
	second = s.qpn;
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_SRQ, srqn), EBUSY);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, first), 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_SRQ, srqn), EBUSY);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, second), 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_SRQ, srqn), 0);
}

static void it_holds_its_domain(void)
{
	int fd = open_device();
	uint32_t pd, srqn;

	CHECK_ERR(alloc_pd(fd, &pd), 0);
	CHECK_ERR(create_srq(fd, pd, pages(1), SLOTS, &srqn), 0);
	CHECK_ERR(object_ioctl(fd, EXRNIC_IOCTL_DEALLOC_PD, pd), EBUSY);
	CHECK_ERR(object_ioctl(fd, EXRNIC_IOCTL_DESTROY_SRQ, srqn), 0);
	CHECK_ERR(object_ioctl(fd, EXRNIC_IOCTL_DEALLOC_PD, pd), 0);
}

static void a_qp_has_one_receive_queue(void)
{
	struct set s = make_set();
	struct exrnic_create_qp good;
	uint32_t srqn;

	CHECK_ERR(create_srq(s.fd, s.pd, pages(1), SLOTS, &srqn), 0);
	good = srq_qp(&s, srqn);
	s.qp = good;
	s.qp.rq = (uintptr_t)s.rq;
	CHECK_ERR(create_qp_of(&s), EINVAL);
	s.qp = good;
	s.qp.rq_slots = SLOTS;
	CHECK_ERR(create_qp_of(&s), EINVAL);
	s.qp = good;
	CHECK_ERR(create_qp_of(&s), 0);
}

static void it_must_be_of_the_same_domain(void)
{
	struct set s = make_set();
	uint32_t pd, srqn;

	CHECK_ERR(alloc_pd(s.fd, &pd), 0);
	CHECK_ERR(create_srq(s.fd, pd, pages(1), SLOTS, &srqn), 0);
	s.qp = srq_qp(&s, srqn);
	CHECK_ERR(create_qp_of(&s), EINVAL);
	s.qp.srqn = srqn + 1;
	CHECK_ERR(create_qp_of(&s), ENOENT);
}

static void another_file_cannot_reach_it(void)
{
	struct set s = make_set(), other = make_set();
	struct exrnic_query_srq q = { 0 };
	uint32_t srqn;

	CHECK_ERR(create_srq(s.fd, s.pd, pages(1), SLOTS, &srqn), 0);
	q.srqn = srqn;
	CHECK_ERR(ioctl(other.fd, EXRNIC_IOCTL_QUERY_SRQ, &q), ENOENT);
	CHECK_ERR(modify_srq(other.fd, srqn, 1), ENOENT);
	CHECK_ERR(object_ioctl(other.fd, EXRNIC_IOCTL_DESTROY_SRQ, srqn), ENOENT);
	other.qp = srq_qp(&other, srqn);
	CHECK_ERR(create_qp_of(&other), ENOENT);
	CHECK_ERR(create_srq(other.fd, s.pd, pages(1), SLOTS, &q.srqn), ENOENT);
	CHECK_EQ(query_srq(s.fd, srqn).limit, 0);
}

static void bad_rings(void)
{
	static const uint32_t bad_slots[] = {
		0, 1, 4, 7, 96, 2U << EXRNIC_SQ_LOG_MAX, 0x80000000, 0xffffffff,
	};
	struct set s = make_set();
	char *ring = pages(1);
	uint32_t srqn;

	for (size_t i = 0; i < sizeof(bad_slots) / sizeof(bad_slots[0]); i++)
		CHECK_ERR(create_srq(s.fd, s.pd, ring, bad_slots[i], &srqn), EINVAL);
	CHECK_ERR(create_srq(s.fd, s.pd, ring + 64, SLOTS, &srqn), EINVAL);
	CHECK_ERR(create_srq(s.fd, s.pd, NULL, SLOTS, &srqn), EFAULT);
	CHECK_ERR(create_srq(s.fd, s.pd, ring, SLOTS, &srqn), 0);
}

static void they_run_out(void)
{
	struct set s = make_set();
	struct exrnic_query q;
	uint32_t srqn, made = 0;

	CHECK_ERR(query(s.fd, &q), 0);
	while (made <= q.max_srq && !create_srq(s.fd, s.pd, pages(1), 8, &srqn))
		made++;
	CHECK_EQ(errno, ENOSPC);
	CHECK_EQ(made, q.max_srq);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_SRQ, q.max_srq - 1), 0);
	CHECK_ERR(create_srq(s.fd, s.pd, pages(1), 8, &srqn), 0);
	CHECK_EQ(srqn, q.max_srq - 1);
}

static void close_ends_it_behind_its_queue_pairs(void)
{
	long long before = pinned_pages();
	struct set s = make_set();
	uint32_t srqn;

	CHECK_ERR(create_srq(s.fd, s.pd, pages(1), SLOTS, &srqn), 0);
	s.qp = srq_qp(&s, srqn);
	CHECK_ERR(create_qp_of(&s), 0);
	CHECK_ERR(close(s.fd), 0);
	CHECK_EQ(pinned_pages(), before);
	s = make_set();
	CHECK_ERR(create_srq(s.fd, s.pd, pages(1), SLOTS, &srqn), 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_SRQ, srqn), 0);
	destroy_set(&s);
}

/* Also when the process has taken it to ERROR; and not when it ends. */
static void the_last_receive_is_told(void)
{
	struct set s = make_set();
	struct exrnic_event event;
	uint32_t srqn;

	CHECK_ERR(create_srq(s.fd, s.pd, pages(1), SLOTS, &srqn), 0);
	s.qp = srq_qp(&s, srqn);
	CHECK_ERR(create_qp_of(&s), 0);
	CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_ERROR, 0, 0), 0);
	event = next_event(s.fd);
	CHECK_EQ(event.type, EXRNIC_EVENT_LAST_WQE);
	CHECK_EQ(event.handle, s.qpn);
	CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_RESET, 0, 0), 0);
	CHECK_EQ(poll_now(s.fd), 0);
}

const struct test srq_tests[] = {
	{ "a new shared receive queue is empty and has its limit", a_new_queue_is_empty, 0 },
	{ "the limit of a shared receive queue can be set and taken back",
	  the_limit_can_be_set_and_taken_back, 0 },
	{ "queue pairs share a receive queue, which then cannot be ended", queue_pairs_share_it, 0 },
	{ "a shared receive queue holds its domain", it_holds_its_domain, 0 },
	{ "a queue pair has either a receive queue or a shared one", a_qp_has_one_receive_queue, 0 },
	{ "a shared receive queue serves queue pairs of its domain only",
	  it_must_be_of_the_same_domain, 0 },
	{ "another file cannot reach a shared receive queue", another_file_cannot_reach_it, 0 },
	{ "bad rings of shared receive queues are refused", bad_rings, 0 },
	{ "shared receive queues run out with ENOSPC and come back", they_run_out, 120 },
	{ "close ends a shared receive queue behind its queue pairs",
	  close_ends_it_behind_its_queue_pairs, 0 },
	{ "a queue pair in ERROR says that it holds no receive of the queue", the_last_receive_is_told, 0 },
	{ NULL, NULL, 0 },
};
