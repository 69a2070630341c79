// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Limits that the administrator sets: module parameters. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "support.h"

#define PARAMETERS "/sys/module/exrnic_cdev/parameters/"
#define MIB ((size_t)1 << 20)

static void set_limit(const char *parameter, unsigned int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	write_file(parameter, text);
}

static void objects_of_a_file(void)
{
	enum { OBJECTS = 4 };	/* of a set */
	struct set s = make_set(), other;
	struct exrnic_rereg_mr rereg = { .stag = s.stag, .flags = EXRNIC_REREG_ACCESS };
	uint32_t out;

	set_limit(PARAMETERS "max_objects", OBJECTS);
	CHECK_ERR(alloc_pd(s.fd, &out), EDQUOT);
	CHECK_ERR(create_cq(s.fd, pages(1), 8, &out), EDQUOT);
	CHECK_ERR(create_srq(s.fd, s.pd, pages(1), SLOTS, &out), EDQUOT);
	CHECK_ERR(reg_mr(s.fd, s.pd, s.buffer, PAGE, 0, &out), EDQUOT);
	CHECK_ERR(create_qp_of(&s), EDQUOT);
	s.qpn = s.qp.qpn;
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_REREG_MR, &rereg), 0);
	s.stag = rereg.stag;
	other = make_set();
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEREG_MR, s.stag), 0);
	CHECK_ERR(alloc_pd(s.fd, &out), 0);
	CHECK_ERR(alloc_pd(s.fd, &out), EDQUOT);
	set_limit(PARAMETERS "max_objects", 0);
	CHECK_ERR(alloc_pd(s.fd, &out), 0);
	destroy_set(&other);
}

static void ports_and_attachments_of_a_file(void)
{
	enum { OBJECTS = 5 };	/* of a set, and a queue pair */
	struct exrnic_open_port port = { .port = 0 };
	struct exrnic_group group = { .group = 1 };
	struct set s = make_set();
	uint32_t out;

	port.peer_node = other_node(s.fd);
	s.qp.service = EXRNIC_SERVICE_UD;
	if (create_qp_of(&s))
		give_up("CREATE_QP");
	group.qpn = s.qpn;
	set_limit(PARAMETERS "max_objects", OBJECTS);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_OPEN_PORT, &port), EDQUOT);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_ATTACH_GROUP, &group), EDQUOT);
	set_limit(PARAMETERS "max_objects", OBJECTS + 2);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_OPEN_PORT, &port), 0);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_ATTACH_GROUP, &group), 0);
	CHECK_ERR(alloc_pd(s.fd, &out), EDQUOT);
	CHECK_ERR(close(port.fd), 0);
	CHECK_ERR(alloc_pd(s.fd, &out), 0);
	CHECK_ERR(alloc_pd(s.fd, &out), EDQUOT);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_DETACH_GROUP, &group), 0);
	CHECK_ERR(alloc_pd(s.fd, &out), 0);
	set_limit(PARAMETERS "max_objects", 0);
}

/* A set pins a few pages, too. */
static void memory_of_a_file(void)
{
	struct set s = make_set(), other = make_set();
	char *memory = pages(2 * MIB / PAGE);
	uint32_t stag, cqn;

	set_limit(PARAMETERS "max_pinned_mib", 1);
	CHECK_ERR(reg_mr(s.fd, s.pd, memory, MIB, 0, &stag), EDQUOT);
	CHECK_ERR(reg_mr(s.fd, s.pd, memory, MIB - 7 * PAGE, 0, &stag), 0);
	CHECK_ERR(create_cq(s.fd, memory, 8, &cqn), EDQUOT);
	CHECK_ERR(reg_mr(other.fd, other.pd, memory, MIB - 7 * PAGE, 0, &stag), 0);
	set_limit(PARAMETERS "max_pinned_mib", 0);
	CHECK_ERR(reg_mr(s.fd, s.pd, memory, 2 * MIB, 0, &stag), 0);
}

static void memory_of_the_device(void)
{
	struct set s = make_set(), other = make_set();
	char *memory = pages(MIB / PAGE);
	uint32_t stag;

	set_limit(PARAMETERS "max_device_pinned_mib", 1);
	CHECK_ERR(reg_mr(s.fd, s.pd, memory, MIB / 2, 0, &s.stag), 0);
	CHECK_ERR(reg_mr(other.fd, other.pd, memory, MIB / 2, 0, &stag), EDQUOT);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEREG_MR, s.stag), 0);
	CHECK_ERR(reg_mr(other.fd, other.pd, memory, MIB / 2, 0, &stag), 0);
	set_limit(PARAMETERS "max_device_pinned_mib", 0);
}

const struct test limit_tests[] = {
	{ "the objects of a file have a limit", objects_of_a_file, 0 },
	{ "ports and attachments to groups are objects of their file",
	  ports_and_attachments_of_a_file, 0 },
	{ "the memory that a file pins has a limit, to the page", memory_of_a_file, 0 },
	{ "the memory that is pinned for a device has a limit", memory_of_the_device, 0 },
	{ NULL, NULL, 0 },
};
