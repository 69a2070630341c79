// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Commands as they should not be used. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <syslog.h>
#include <unistd.h>

#include "support.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const unsigned long destroys[] = {
	EXRNIC_IOCTL_DEALLOC_PD, EXRNIC_IOCTL_DESTROY_CQ, EXRNIC_IOCTL_DESTROY_QP,
	EXRNIC_IOCTL_DEREG_MR,	 EXRNIC_IOCTL_DESTROY_SRQ, EXRNIC_IOCTL_DEALLOC_MW,
};

/* The answer cannot be written: what the command made must be undone. */
static void unwritable_answers(void)
{
	struct set s = make_set();
	struct exrnic_query q;
	char *page = pages(1);
	struct exrnic_create_cq cq = {
		.ring = (uintptr_t)pages(1), .entries = 8, .channel_fd = EXRNIC_NO_CHANNEL,
	};
	struct exrnic_create_srq srq = {
		.ring = (uintptr_t)pages(1), .slots = SLOTS, .pd = s.pd,
	};
	struct exrnic_reg_mr mr = { .address = (uintptr_t)s.buffer, .length = 1, .pd = s.pd };
	struct exrnic_alloc_mw mw = { .pd = s.pd };
	const struct {
		unsigned long command;
		const void *arg;
	} rows[] = {
		{ EXRNIC_IOCTL_CREATE_CQ, &cq },
		{ EXRNIC_IOCTL_REG_MR, &mr },
		{ EXRNIC_IOCTL_ALLOC_MW, &mw },
		{ EXRNIC_IOCTL_CREATE_QP, &s.qp },
		{ EXRNIC_IOCTL_CREATE_SRQ, &srq },
		{ EXRNIC_IOCTL_ALLOC_PD, &mr },
	};
	long long pinned = pinned_pages();

	CHECK_ERR(query(s.fd, &q), 0);
	for (size_t i = 0; i < COUNT(rows); i++) {
		mprotect(page, PAGE, PROT_READ | PROT_WRITE);
		memcpy(page, rows[i].arg, _IOC_SIZE(rows[i].command));
		mprotect(page, PAGE, PROT_READ);
		CHECK_ERR(ioctl(s.fd, rows[i].command, page), EFAULT);
	}
	CHECK_EQ(pinned_pages(), pinned);
	for (uint32_t i = 0; i < q.max_cq; i++)
		if (i != s.cqn)
			CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_CQ, i), ENOENT);
	for (uint32_t i = 0; i < q.max_srq; i++)
		CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_SRQ, i), ENOENT);
	destroy_set(&s);
}

static void reserved_fields(void)
{
	struct set s = make_set();
	struct exrnic_object object = { .handle = s.pd, .rsvd = 1 };
	struct exrnic_destroy destroy = { .handle = s.cqn, .rsvd = 1 };
	struct exrnic_create_channel channel = { .rsvd = 1 };
	struct exrnic_query_srq query_srq = { .rsvd = 1 };
	struct exrnic_query_qp query_qp = { .qpn = s.qpn, .rsvd = 1U << 15 };
	struct exrnic_reg_mr mr = {
		.address = (uintptr_t)s.buffer, .length = 1, .pd = s.pd, .rsvd = 1,
	};
	struct exrnic_get_pbl get = { .stag = s.stag, .rsvd = 1 };

	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_DEALLOC_PD, &object), EINVAL);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_DEREG_MR, &object), EINVAL);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_DEALLOC_MW, &object), EINVAL);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_DESTROY_CQ, &destroy), EINVAL);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, &destroy), EINVAL);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_DESTROY_SRQ, &destroy), EINVAL);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_CREATE_CHANNEL, &channel), EINVAL);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_QUERY_SRQ, &query_srq), EINVAL);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_QUERY_QP, &query_qp), EINVAL);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_REG_MR, &mr), EINVAL);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_GET_PBL, &get), EINVAL);
	destroy_set(&s);
}

/* Every use of a handle that fd must not have. Handles of s belong to another file. */
static void check_foreign(int fd, const struct set *s)
{
	struct exrnic_get_pbl get;
	struct set own = { .fd = fd, .qp = s->qp };
	uint32_t state, stag;

	CHECK_ERR(object_ioctl(fd, EXRNIC_IOCTL_DEALLOC_PD, s->pd), ENOENT);
	CHECK_ERR(object_ioctl(fd, EXRNIC_IOCTL_DESTROY_CQ, s->cqn), ENOENT);
	CHECK_ERR(object_ioctl(fd, EXRNIC_IOCTL_DESTROY_QP, s->qpn), ENOENT);
	CHECK_ERR(object_ioctl(fd, EXRNIC_IOCTL_DEREG_MR, s->stag), ENOENT);
	CHECK_ERR(modify_qp(fd, s->qpn, EXRNIC_QP_STATE_INIT, 0, 0), ENOENT);
	CHECK_ERR(query_qp_state(fd, s->qpn, &state), ENOENT);
	CHECK_ERR(get_pbl(fd, s->stag, NULL, 0, &get), ENOENT);
	CHECK_ERR(reg_mr(fd, s->pd, s->buffer, PAGE, 0, &stag), ENOENT);
	CHECK_ERR(create_qp_of(&own), ENOENT);
}

static void handles_of_another_file(void)
{
	struct set s = make_set();
	int fd = open_device();
	uint32_t state;

	check_foreign(fd, &s);
	close(fd);
	CHECK_ERR(query_qp_state(s.fd, s.qpn, &state), 0);
	CHECK_EQ(state, EXRNIC_QP_STATE_RESET);
	destroy_set(&s);
}

static void each_part_of_a_qp_must_be_own(void)
{
	struct set s = make_set(), other = make_set();

	s.qp.pd = other.pd;
	CHECK_ERR(create_qp_of(&s), ENOENT);
	s.qp = good_qp(&other);
	s.qp.send_cqn = other.cqn;
	s.qp.recv_cqn = s.cqn;
	s.qp.pd = s.pd;
	CHECK_ERR(create_qp_of(&s), ENOENT);
	s.qp.send_cqn = s.cqn;
	s.qp.recv_cqn = other.cqn;
	CHECK_ERR(create_qp_of(&s), ENOENT);
}

static void handles_that_are_no_more(void)
{
	struct set s = make_set();

	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, s.qpn), 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEREG_MR, s.stag), 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_CQ, s.cqn), 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEALLOC_PD, s.pd), 0);
	check_foreign(s.fd, &s);
}

static void handles_that_never_were(void)
{
	static const uint32_t odd[] = { 0, 0x7fffffff, 0x80000000, 0xffffffff };
	int fd = open_device();

	for (size_t i = 0; i < COUNT(destroys); i++)
		for (size_t j = 0; j < COUNT(odd); j++)
			CHECK_ERR(object_ioctl(fd, destroys[i], odd[j]), ENOENT);
}

/* The STag of a region with another key is not its handle. */
static void the_key_is_part_of_the_handle(void)
{
	struct set s = make_set();

	for (uint32_t bit = 0; bit < EXRNIC_STAG_INDEX_SHIFT; bit++)
		CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEREG_MR, s.stag ^ 1U << bit), ENOENT);
	destroy_set(&s);
}

static void bad_states(void)
{
	struct set s = make_set();
	struct exrnic_query q;
	uint32_t state;

	CHECK_ERR(query(s.fd, &q), 0);
	CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_SQD + 1, 0, 0), EINVAL);
	CHECK_ERR(modify_qp(s.fd, s.qpn, 0xffffffff, 0, 0), EINVAL);
	CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_INIT, 1, 0), EPERM);
	CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_INIT, 0, 1), EPERM);
	CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_RTR, 1, 1), EPERM);
	CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_RTS, 0, 0), EPERM);
	CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_INIT, 0, 0), 0);
	CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_RTS, 0, 0), EPERM);
	CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_RTR, EXRNIC_MAX_NODE, 1), EINVAL);
	CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_RTR, other_node(s.fd),
			    EXRNIC_MAX_QP), EINVAL);
	CHECK_ERR(query_qp_state(s.fd, s.qpn, &state), 0);
	CHECK_EQ(state, EXRNIC_QP_STATE_INIT);
	destroy_set(&s);
}

static void bad_services(void)
{
	struct set s = make_set();

	s.qp.service = EXRNIC_SERVICE_UD + 1;
	CHECK_ERR(create_qp_of(&s), EINVAL);
	s.qp.service = 0xffffffff;
	CHECK_ERR(create_qp_of(&s), EINVAL);
	s.qp.service = EXRNIC_SERVICE_UC;
	CHECK_ERR(create_qp_of(&s), 0);
}

static int change_group(int fd, unsigned long command, uint32_t qpn, uint32_t group)
{
	struct exrnic_group change = { .qpn = qpn, .group = group };

	return ioctl(fd, command, &change);
}

static int attach(int fd, uint32_t qpn, uint32_t group)
{
	return change_group(fd, EXRNIC_IOCTL_ATTACH_GROUP, qpn, group);
}

static int detach(int fd, uint32_t qpn, uint32_t group)
{
	return change_group(fd, EXRNIC_IOCTL_DETACH_GROUP, qpn, group);
}

/* What a queue pair of datagrams needs with INIT. */
#define KEYS (EXRNIC_QP_ATTRIBUTES_QKEY | EXRNIC_QP_ATTRIBUTES_PKEY_INDEX)

static int give_qkey(struct set *s, uint32_t qkey)
{
	struct exrnic_modify_qp modify = {
		.state = EXRNIC_QP_STATE_INIT, .attributes = KEYS, .qkey = qkey,
	};

	s->qp.service = EXRNIC_SERVICE_UD;
	CHECK_ERR(create_qp_of(s), 0);
	modify.qpn = s->qpn;
	return ioctl(s->fd, EXRNIC_IOCTL_MODIFY_QP, &modify);
}

static void controlled_qkeys(void)
{
	struct set s = make_set();

	CHECK_ERR(give_qkey(&s, EXRNIC_QKEY_CONTROLLED), 0);
	close(s.fd);
	become_nobody(64);
	s = make_set();
	CHECK_ERR(give_qkey(&s, EXRNIC_QKEY_CONTROLLED), EPERM);
	CHECK_ERR(give_qkey(&s, ~0U), EPERM);
	CHECK_ERR(give_qkey(&s, EXRNIC_QKEY_CONTROLLED - 1), 0);
	close(s.fd);
}

static void keys_and_groups_of_datagrams(void)
{
	static const uint32_t bad_indices[] = { EXRNIC_PKEYS - 1, EXRNIC_PKEYS, ~0U };
	struct set s = make_set();
	uint32_t connected = s.qpn;
	int other = open_device();
	struct exrnic_modify_qp modify = { .state = EXRNIC_QP_STATE_INIT, .attributes = KEYS };

	modify.qpn = connected;
	modify.qkey = 1;
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &modify), EPERM);
	s.qp.flags = EXRNIC_QP_FLAGS_GRH;
	CHECK_ERR(create_qp_of(&s), EINVAL);
	s.qp.service = EXRNIC_SERVICE_UD;
	s.qp.flags = EXRNIC_QP_FLAGS_GRH | 1U << 31;
	CHECK_ERR(create_qp_of(&s), EINVAL);
	s.qp.flags = EXRNIC_QP_FLAGS_GRH;
	s.qp.rsvd = 1;
	CHECK_ERR(create_qp_of(&s), EINVAL);
	s.qp.rsvd = 0;
	CHECK_ERR(create_qp_of(&s), 0);
	modify.qpn = s.qpn;
	for (size_t i = 0; i < COUNT(bad_indices); i++) {
		modify.pkey_index = bad_indices[i];
		CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &modify), EINVAL);
	}
	modify.pkey_index = 0;
	modify.attributes = EXRNIC_QP_ATTRIBUTES_PKEY_INDEX;
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &modify), EINVAL);
	modify.attributes = KEYS;
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &modify), 0);
	CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_RTR, other_node(s.fd), 1), EPERM);
	modify.state = EXRNIC_QP_STATE_RTR;
	modify.attributes = 0;
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &modify), 0);
	CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_RTS, 0, 0), 0);

	CHECK_ERR(attach(s.fd, EXRNIC_MAX_QP, 1), ENOENT);
	CHECK_ERR(attach(other, s.qpn, 1), ENOENT);
	CHECK_ERR(attach(s.fd, connected, 1), EINVAL);
	CHECK_ERR(attach(s.fd, s.qpn, EXRNIC_GROUP_MAX + 1), EINVAL);
	CHECK_ERR(detach(s.fd, s.qpn, 1), ENOENT);
	for (uint32_t i = 0; i < EXRNIC_MAX_ATTACHED; i++)
		CHECK_ERR(attach(s.fd, s.qpn, i), 0);
	CHECK_ERR(attach(s.fd, s.qpn, 1), EEXIST);
	CHECK_ERR(attach(s.fd, s.qpn, EXRNIC_GROUP_MAX), ENOSPC);
	CHECK_ERR(detach(s.fd, s.qpn, 1), 0);
	CHECK_ERR(detach(s.fd, s.qpn, 1), ENOENT);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, s.qpn), 0);
	CHECK_ERR(create_qp_of(&s), 0);
	CHECK_ERR(attach(s.fd, s.qpn, EXRNIC_GROUP_MAX), 0);
	close(other);
	close(s.fd);
}

static void read_limits_beyond_the_device(void)
{
	struct set s = make_set();

	s.qp.max_reads_out = EXRNIC_MAX_READS + 1;
	CHECK_ERR(create_qp_of(&s), EINVAL);
	s.qp = good_qp(&s);
	s.qp.max_reads_in = 0xffffffff;
	CHECK_ERR(create_qp_of(&s), EINVAL);
	s.qp.max_reads_in = 0;
	s.qp.max_reads_out = 0;
	CHECK_ERR(create_qp_of(&s), 0);
}

static void moderation_out_of_range(void)
{
	struct exrnic_create_cq cq = {
		.ring = (uintptr_t)pages(1),
		.entries = 8,
		.channel_fd = EXRNIC_NO_CHANNEL,
		.moderation_count = EXRNIC_MODERATION_COUNT_MAX + 1,
	};
	int fd = open_device();

	CHECK_ERR(ioctl(fd, EXRNIC_IOCTL_CREATE_CQ, &cq), EINVAL);
	cq.moderation_count = EXRNIC_MODERATION_COUNT_MAX;
	cq.moderation_ns = EXRNIC_MODERATION_NS_MAX + 1;
	CHECK_ERR(ioctl(fd, EXRNIC_IOCTL_CREATE_CQ, &cq), EINVAL);
	cq.moderation_ns--;
	CHECK_ERR(ioctl(fd, EXRNIC_IOCTL_CREATE_CQ, &cq), 0);
}

static void check_no_error_in(int log)
{
	unsigned int priority;
	char line[1024];
	ssize_t length;

	while ((length = read(log, line, sizeof(line) - 1)) > 0) {
		line[length] = 0;
		if (sscanf(line, "%u,", &priority) == 1 && LOG_PRI(priority) <= LOG_ERR &&
		    !CHECK(!strstr(line, "exrnic")))
			printf("# %s", line);
	}
}

/* A P_Key of an entry that names no partition: the device refuses it, as only it knows. */
static int init_without_partition(void)
{
	struct exrnic_modify_qp init = {
		.state = EXRNIC_QP_STATE_INIT,
		.attributes = KEYS,
		.pkey_index = EXRNIC_PKEYS - 1,
	};
	struct set s = make_set();

	s.qp.service = EXRNIC_SERVICE_UD;
	CHECK_ERR(create_qp_of(&s), 0);
	init.qpn = s.qpn;
	return ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &init);
}

static void mistakes_are_not_logged(void)
{
	struct set s = make_set();
	int log = open_log();

	CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_RTS, 0, 0), EPERM);
	CHECK_ERR(modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_INIT, 0, 0), 0);
	CHECK_ERR(init_without_partition(), EINVAL);
	check_no_error_in(log);
	close(log);
}

#define DEBUG_CONTROL "/proc/dynamic_debug/control"

static void the_log_names_commands(void)
{
	int log = open_log();

	if (access(DEBUG_CONTROL, W_OK))
		skip("no dynamic debugging");
	write_file(DEBUG_CONTROL, "module exrnic +p");
	CHECK_ERR(init_without_partition(), EINVAL);
	write_file(DEBUG_CONTROL, "module exrnic -p");
	CHECK(log_has(log, "mailbox command MODIFY_QP refused: BAD_PARAMETER (5)"));
	close(log);
}

const struct test error_tests[] = {
	{ "an answer that cannot be written leaves nothing behind", unwritable_answers, 0 },
	{ "a reserved field that is not zero gives EINVAL", reserved_fields, 0 },
	{ "handles of another file give ENOENT and do it no harm", handles_of_another_file, 0 },
	{ "each part of a queue pair must belong to its file", each_part_of_a_qp_must_be_own, 0 },
	{ "handles of ended objects give ENOENT", handles_that_are_no_more, 0 },
	{ "handles that never were give ENOENT", handles_that_never_were, 0 },
	{ "the key of an STag is part of the handle", the_key_is_part_of_the_handle, 0 },
	{ "states and transitions that do not exist are refused", bad_states, 0 },
	{ "services that do not exist are refused", bad_services, 0 },
	{ "keys are for datagrams, and groups too, as many as there is room for",
	  keys_and_groups_of_datagrams, 0 },
	{ "a controlled Q_Key is for CAP_NET_RAW", controlled_qkeys, 0 },
	{ "read limits beyond the device's are refused", read_limits_beyond_the_device, 0 },
	{ "the log names a command that the device refuses, and why", the_log_names_commands, 0 },
	{ "what a process does wrong is no error in the system's log", mistakes_are_not_logged, 0 },
	{ "moderation out of its range is refused", moderation_out_of_range, 0 },
	{ NULL, NULL, 0 },
};
