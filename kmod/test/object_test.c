// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Objects as they should be used: making, using, ending them. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "support.h"

static void query_reports_the_device(void)
{
	struct exrnic_query q;
	int fd = open_device();

	memset(&q, 0xff, sizeof(q));
	CHECK_ERR(query(fd, &q), 0);
	CHECK_EQ(q.uapi_version, EXRNIC_UAPI_VERSION);
	CHECK_EQ(q.abi_version, EXRNIC_ABI_VERSION);
	CHECK(q.max_qp >= 2 && q.max_qp <= EXRNIC_MAX_QP);
	CHECK(q.max_cq >= 2 && q.max_cq <= EXRNIC_MAX_CQ);
	CHECK(q.max_srq >= 2 && q.max_srq <= EXRNIC_MAX_SRQ);
	CHECK(q.read_pool >= 2 && q.read_pool <= EXRNIC_READ_POOL);
	CHECK(q.max_mr >= 2 && q.max_mr <= EXRNIC_MAX_STAG);
	CHECK_EQ(q.max_sq_slots, 1 << EXRNIC_SQ_LOG_MAX);
	CHECK_EQ(q.max_cq_entries, 1 << EXRNIC_CQ_LOG_MAX);
	CHECK(q.mtu >= EXRNIC_MTU_MIN && q.mtu <= EXRNIC_MTU_MAX);
	CHECK(q.clock_khz > 0);
	for (size_t i = 0; i < sizeof(q.rsvd); i++)
		CHECK_EQ(q.rsvd[i], 0);
	CHECK(q.max_node > q.node_id && q.max_node <= EXRNIC_MAX_NODE);
}

static void query_reports_the_mac_of_the_node(void)
{
	struct exrnic_query q;
	int fd = open_device();

	CHECK_ERR(query(fd, &q), 0);
	CHECK_EQ((uint32_t)q.mac[0] << 24 | q.mac[1] << 16 | q.mac[2] << 8 | q.mac[3],
		 EXRNIC_MAC_PREFIX);
	CHECK_EQ(q.mac[4] << 8 | q.mac[5], q.node_id);
}

static void objects_come_and_go(void)
{
	for (int i = 0; i < 3; i++) {
		struct set s = make_set();

		destroy_set(&s);
	}
}

static void a_qp_goes_through_its_states(void)
{
	static const uint32_t way[] = {
		EXRNIC_QP_STATE_INIT, EXRNIC_QP_STATE_RTR, EXRNIC_QP_STATE_RTS,
		EXRNIC_QP_STATE_ERROR, EXRNIC_QP_STATE_RESET, EXRNIC_QP_STATE_INIT,
		EXRNIC_QP_STATE_RESET,
	};
	struct set s = make_set();
	uint32_t peer = other_node(s.fd);
	uint32_t state;

	CHECK_ERR(query_qp_state(s.fd, s.qpn, &state), 0);
	CHECK_EQ(state, EXRNIC_QP_STATE_RESET);
	for (size_t i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
		bool rtr = way[i] == EXRNIC_QP_STATE_RTR;

		CHECK_ERR(modify_qp(s.fd, s.qpn, way[i], rtr ? peer : 0, rtr ? 2 : 0), 0);
		CHECK_ERR(query_qp_state(s.fd, s.qpn, &state), 0);
		CHECK_EQ(state, way[i]);
	}
	destroy_set(&s);
}

static void reserved_fields_are_checked(void)
{
	struct set s = make_set();
	struct exrnic_modify_qp modify = { .qpn = s.qpn, .state = EXRNIC_QP_STATE_INIT, .rsvd = 1 };

	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &modify), EINVAL);
	modify.rsvd = 0;
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &modify), 0);
	destroy_set(&s);
}

static void attributes_are_set_by_name_and_queried(void)
{
	struct set s = make_set();
	struct exrnic_modify_qp modify = {
		.qpn = s.qpn,
		.state = EXRNIC_QP_STATE_INIT,
		.attributes = EXRNIC_QP_ATTRIBUTES_ACCESS,
		.access = EXRNIC_ACCESS_REMOTE_READ,
		.dest_node = other_node(s.fd),
		.dest_qpn = 2,
		.path_mtu = 512,
		.min_rnr_timer = 3,
		.rnr_retry = 2,
		.timeout = 14,
		.retry_count = 7,
	};
	struct exrnic_query_qp q = { .qpn = s.qpn };

	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &modify), 0);
	modify.state = EXRNIC_QP_STATE_RTR;
	modify.attributes = EXRNIC_QP_ATTRIBUTES_PATH_MTU;
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &modify), EINVAL);
	modify.attributes |= EXRNIC_QP_ATTRIBUTES_DEST | EXRNIC_QP_ATTRIBUTES_MIN_RNR_TIMER;
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &modify), 0);
	modify.state = EXRNIC_QP_STATE_RTS;
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &modify), EPERM);
	modify.attributes = EXRNIC_QP_ATTRIBUTES_RNR_RETRY | EXRNIC_QP_ATTRIBUTES_TIMEOUT |
			    EXRNIC_QP_ATTRIBUTES_RETRY_COUNT;
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &modify), 0);
	modify.attributes = EXRNIC_QP_ATTRIBUTES_RNR_RETRY;
	modify.rnr_retry = EXRNIC_RNR_RETRY_ENDLESS + 1;
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &modify), EINVAL);
	modify.attributes = 0x80000000;
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &modify), EINVAL);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_QUERY_QP, &q), 0);
	CHECK_EQ(q.dest_qpn, 2);
	CHECK_EQ(q.access, EXRNIC_ACCESS_REMOTE_READ);
	CHECK_EQ(q.path_mtu, 512);
	CHECK_EQ(q.min_rnr_timer, 3);
	CHECK_EQ(q.rnr_retry, 2);
	CHECK_EQ(q.timeout, 14);
	CHECK_EQ(q.retry_count, 7);
	CHECK_EQ(q.sq_draining, 0);
	destroy_set(&s);
}

/* Its pause would else begin anew, and its retries with it; and no key is judged that is not given. */
static void a_change_leaves_what_it_does_not_name(void)
{
	struct set s = make_set();
	struct exrnic_modify_qp modify = { .qpn = s.qpn, .state = EXRNIC_QP_STATE_INIT };
	struct exrnic_query_qp q = { .qpn = s.qpn };

	modify.qkey = EXRNIC_QKEY_CONTROLLED;
	modify.pkey_index = EXRNIC_PKEYS;
	modify.dest_node = EXRNIC_MAX_NODE;
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &modify), 0);
	CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_RTR, other_node(s.fd), 2), 0);
	modify.state = EXRNIC_QP_STATE_RTS;
	modify.attributes = EXRNIC_QP_ATTRIBUTES_RNR_RETRY;
	modify.rnr_retry = 5;
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &modify), 0);
	modify.attributes = 0;
	modify.rnr_retry = 1;
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &modify), 0);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_QUERY_QP, &q), 0);
	CHECK_EQ(q.rnr_retry, 5);
	destroy_set(&s);
}

/* RESET stops a queue pair first: one with an attribute, which no RESET has, is refused before. */
static void a_reset_that_is_refused_changes_nothing(void)
{
	struct set s = make_set();
	struct exrnic_modify_qp modify = {
		.qpn = s.qpn,
		.state = EXRNIC_QP_STATE_RESET,
		.attributes = EXRNIC_QP_ATTRIBUTES_ACCESS,
	};
	uint32_t state;

	CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_INIT, 0, 0), 0);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &modify), EPERM);
	CHECK_ERR(query_qp_state(s.fd, s.qpn, &state), 0);
	CHECK_EQ(state, EXRNIC_QP_STATE_INIT);
	destroy_set(&s);
}

static void query_qp_names_the_peer(void)
{
	struct set s = make_set();
	struct exrnic_query_qp q = { .qpn = s.qpn };
	uint32_t peer = other_node(s.fd);

	CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_INIT, 0, 0), 0);
	CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_RTR, peer, 5), 0);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_QUERY_QP, &q), 0);
	CHECK_EQ(q.dest_node, peer);
	CHECK_EQ(q.dest_qpn, 5);
	CHECK_EQ(q.sq_producer, 0);
	CHECK_EQ(q.sq_consumer, 0);
	destroy_set(&s);
}

static void what_is_in_use_stays(void)
{
	struct set s = make_set();

	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_CQ, s.cqn), EBUSY);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEALLOC_PD, s.pd), EBUSY);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, s.qpn), 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEALLOC_PD, s.pd), EBUSY);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_CQ, s.cqn), 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEREG_MR, s.stag), 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEALLOC_PD, s.pd), 0);
}

static void a_qp_uses_two_cqs(void)
{
	struct set s = make_set();
	uint32_t other;

	CHECK_ERR(create_cq(s.fd, pages(1), CQ_ENTRIES, &other), 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, s.qpn), 0);
	s.qp.recv_cqn = other;
	CHECK_ERR(create_qp_of(&s), 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_CQ, other), EBUSY);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_CQ, s.cqn), EBUSY);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, s.qpn), 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_CQ, other), 0);
}

static void reserved_qpns_are_never_given(void)
{
	struct set s = make_set();
	struct exrnic_query q;

	CHECK_ERR(query(s.fd, &q), 0);
	for (uint32_t i = 0; i < q.max_qp + 2; i++) {
		uint32_t last = s.qpn;

		CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, s.qpn), 0);
		CHECK_ERR(create_qp_of(&s), 0);
		CHECK(s.qpn > 1 && s.qpn != last && s.qpn < q.max_qp);
	}
	destroy_set(&s);
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Indexes of 32 regions in a row: a counter would leave only steps of one. */
static void stags_cannot_be_guessed(void)
{
	enum { COUNT = 32 };
	uint32_t stags[COUNT], pd, steps = 0, same_keys = 0;
	int fd = open_device();

	CHECK_ERR(alloc_pd(fd, &pd), 0);
	for (int i = 0; i < COUNT; i++)
		CHECK_ERR(reg_mr(fd, pd, pages(1), PAGE, 0, &stags[i]), 0);
	for (int i = 1; i < COUNT; i++) {
		steps += (stags[i] >> EXRNIC_STAG_INDEX_SHIFT) -
				 (stags[i - 1] >> EXRNIC_STAG_INDEX_SHIFT) == 1;
		same_keys += (uint8_t)stags[i] == (uint8_t)stags[i - 1];
	}
	CHECK(steps < COUNT / 2);
	CHECK(same_keys < COUNT / 2);
	qsort(stags, COUNT, sizeof(stags[0]), compare);
	for (int i = 1; i < COUNT; i++)
		CHECK(stags[i] >> EXRNIC_STAG_INDEX_SHIFT !=
		      stags[i - 1] >> EXRNIC_STAG_INDEX_SHIFT);
	CHECK(stags[0] >> EXRNIC_STAG_INDEX_SHIFT != 0);
}

static void a_stag_does_not_return_at_once(void)
{
	int fd = open_device();
	void *buffer = pages(1);
	uint32_t pd, stag, last = 0;

	CHECK_ERR(alloc_pd(fd, &pd), 0);
	for (int i = 0; i < 300; i++) {
		CHECK_ERR(reg_mr(fd, pd, buffer, PAGE, 0, &stag), 0);
		CHECK(stag != last);
		CHECK_ERR(object_ioctl(fd, EXRNIC_IOCTL_DEREG_MR, stag), 0);
		last = stag;
	}
}

static void domains_of_two_files_differ(void)
{
	int a = open_device(), b = open_device();
	uint32_t pd_a, pd_b;

	CHECK_ERR(alloc_pd(a, &pd_a), 0);
	CHECK_ERR(alloc_pd(b, &pd_b), 0);
	CHECK(pd_a != pd_b);
}

const struct test object_tests[] = {
	{ "query reports the device", query_reports_the_device, 0 },
	{ "query reports the MAC address of the node", query_reports_the_mac_of_the_node, 0 },
	{ "objects can be made and ended again and again", objects_come_and_go, 0 },
	{ "a queue pair goes through its states", a_qp_goes_through_its_states, 0 },
	{ "pauses and retries of messages without a receive are checked",
	  reserved_fields_are_checked, 0 },
	{ "a change of a queue pair leaves what it does not name",
	  a_change_leaves_what_it_does_not_name, 0 },
	{ "a reset that is refused changes nothing",
	  a_reset_that_is_refused_changes_nothing, 0 },
	{ "attributes that are named are set, and queried; others are refused",
	  attributes_are_set_by_name_and_queried, 0 },
	{ "query of a queue pair names its peer", query_qp_names_the_peer, 0 },
	{ "a domain or completion queue in use cannot be ended", what_is_in_use_stays, 0 },
	{ "a queue pair may use two completion queues", a_qp_uses_two_cqs, 0 },
	{ "queue pair numbers go round and leave out those of management", reserved_qpns_are_never_given, 0 },
	{ "STags cannot be guessed from others", stags_cannot_be_guessed, 0 },
	{ "an STag does not return at once", a_stag_does_not_return_at_once, 0 },
	{ "domains of two files differ", domains_of_two_files_differ, 0 },
	{ NULL, NULL, 0 },
};
