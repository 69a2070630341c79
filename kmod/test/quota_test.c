// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What one user may have of what a device has, and what the rdma cgroup counts. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

#define PRIVILEGED_PORTS "/sys/module/exrnic_cdev/parameters/privileged_ports"
#define SHARE_OF_A_USER "/sys/module/exrnic/parameters/max_user_percent"

enum { MEMLOCK_PAGES = 64 };

/* The descriptor, or -1. */
static int open_port(int fd, uint32_t port)
{
	struct exrnic_open_port open = { .port = port, .peer_node = other_node(fd) };

	return ioctl(fd, EXRNIC_IOCTL_OPEN_PORT, &open) ? -1 : open.fd;
}

#define CHECK_OPENS(fd, port, want) CHECK_ERR(open_port(fd, port) < 0 ? -1 : 0, want)

static void ports(void)
{
	enum { SHARE = EXRNIC_PORTS / 2 };
	int fd, first;

	become_nobody(MEMLOCK_PAGES);
	fd = open_device();
	first = open_port(fd, 0);
	for (uint32_t i = 1; i < SHARE; i++)
		CHECK_OPENS(fd, i, 0);
	CHECK_OPENS(fd, SHARE, EDQUOT);
	CHECK_OPENS(open_device(), SHARE, EDQUOT);
	close(first);
	CHECK_OPENS(fd, 1, EBUSY);
	CHECK_OPENS(fd, SHARE, 0);
	CHECK_OPENS(fd, SHARE + 1, EDQUOT);
}

/* The administrator may have all, whoever else has some. */
static void ports_of_the_administrator(void)
{
	int fd = open_device();

	for (uint32_t i = 0; i < EXRNIC_PORTS; i++)
		CHECK_OPENS(fd, i, 0);
}

static void in_a_process(void (*run)(void))
{
	pid_t child = fork();
	int status;

	if (child < 0)
		give_up("fork");
	if (!child) {
		run();
		fflush(stdout);
		_exit(has_failed());
	}
	waitpid(child, &status, 0);
	CHECK_EQ(status, 0);
}

static void all_ports_of_nobody(void)
{
	become_nobody(MEMLOCK_PAGES);
	ports_of_the_administrator();
}

static void the_share_can_be_set(void)
{
	write_file(SHARE_OF_A_USER, "100");
	write_file(PRIVILEGED_PORTS, "0");
	in_a_process(all_ports_of_nobody);
	write_file(PRIVILEGED_PORTS, "0xc000");
	write_file(SHARE_OF_A_USER, "50");
	in_a_process(ports);
}

static int attach(const struct set *s, uint32_t group)
{
	struct exrnic_group attach = { .qpn = s->qpn, .group = group };

	return ioctl(s->fd, EXRNIC_IOCTL_ATTACH_GROUP, &attach);
}

static int detach(const struct set *s, uint32_t group)
{
	struct exrnic_group detach = { .qpn = s->qpn, .group = group };

	return ioctl(s->fd, EXRNIC_IOCTL_DETACH_GROUP, &detach);
}

static struct set make_datagram_set(void)
{
	struct set s = make_set();

	s.qp.service = EXRNIC_SERVICE_UD;
	if (create_qp_of(&s))
		give_up("CREATE_QP");
	return s;
}

static void attachments(void)
{
	enum { SHARE = EXRNIC_MAX_ATTACHED / 2 };
	struct set s;

	become_nobody(MEMLOCK_PAGES);
	s = make_datagram_set();
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < SHARE; i++)
			CHECK_ERR(attach(&s, i), 0);
		CHECK_ERR(attach(&s, 0), EEXIST);
		CHECK_ERR(attach(&s, SHARE), EDQUOT);
		CHECK_ERR(detach(&s, 0), 0);
		CHECK_ERR(attach(&s, SHARE), 0);
		CHECK_ERR(attach(&s, 0), EDQUOT);
		/* The end of a queue pair gives its attachments back. */
		CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, s.qpn), 0);
		CHECK_ERR(create_qp_of(&s), 0);
	}
}

static int create_window(const struct set *s, uint64_t length, uint32_t *window)
{
	struct exrnic_create_window create = {
		.length = length, .qpn = s->qpn, .access = EXRNIC_WINDOW_ACCESS_STORE,
	};
	int result = ioctl(s->fd, EXRNIC_IOCTL_CREATE_WINDOW, &create);

	*window = create.window;
	return result;
}

static void windows(void)
{
	struct exrnic_query q;
	uint32_t window, out;
	struct set s;

	become_nobody(MEMLOCK_PAGES);
	s = make_connected_set();
	CHECK_ERR(query(s.fd, &q), 0);
	CHECK_ERR(create_window(&s, q.max_window, &out), EDQUOT);
	CHECK_ERR(create_window(&s, q.max_window / 2, &window), 0);
	CHECK_ERR(create_window(&s, 1, &out), EDQUOT);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_WINDOW, window), 0);
	CHECK_ERR(create_window(&s, 1, &out), 0);
}

/* Makes objects of one kind until that fails; how many of them there are with those of the set. */
static unsigned int count_objects(int (*make)(struct set *s), struct set *s)
{
	unsigned int count = 0;

	while (!make(s))
		count++;
	CHECK_EQ(errno, EDQUOT);
	return count;
}

static int make_pd(struct set *s)
{
	uint32_t pd;

	return alloc_pd(s->fd, &pd);
}

static int make_cq(struct set *s)
{
	uint32_t cqn;

	return create_cq(s->fd, s->ring, 8, &cqn);
}

static int make_srq(struct set *s)
{
	uint32_t srqn;

	return create_srq(s->fd, s->pd, s->rq, SLOTS, &srqn);
}

static int make_mr(struct set *s)
{
	uint32_t stag;

	return reg_mr(s->fd, s->pd, s->buffer, 1, 0, &stag);
}

/* In both directions, and as many as the device takes for a limit. */
static void places_for_pulls(void)
{
	enum { MANY = 512 };	/* pages that queue pairs pin */
	struct exrnic_query q;
	uint32_t first;
	struct set s;

	become_nobody(MANY);
	s = make_set();
	first = s.qpn;
	CHECK_ERR(query(s.fd, &q), 0);
	CHECK_EQ(count_objects(create_qp_of, &s) + 1, q.read_pool / 2 / SOME_READS);
	s.qp.max_reads_out = 0;
	CHECK_ERR(create_qp_of(&s), EDQUOT);
	s.qp.max_reads_out = 1;
	s.qp.max_reads_in = 0;
	CHECK_ERR(create_qp_of(&s), EDQUOT);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, first), 0);
	for (unsigned int i = 0; i < SOME_READS / EXRNIC_READ_SLICE; i++)
		CHECK_ERR(create_qp_of(&s), 0);
	CHECK_ERR(create_qp_of(&s), EDQUOT);
	s.qp.max_reads_out = 0;
	CHECK_ERR(create_qp_of(&s), 0);
	s.qp.max_reads_in = SOME_READS;
	CHECK_ERR(create_qp_of(&s), 0);
}

/* A user whose share has become less than it has: three queue pairs have more than a hundredth of the places. */
static void places_of_who_has_too_many(void)
{
	struct set s = make_set();

	CHECK_ERR(create_qp_of(&s), 0);
	CHECK_ERR(create_qp_of(&s), 0);
	become_nobody(4 * MEMLOCK_PAGES);
	CHECK_ERR(create_qp_of(&s), EDQUOT);
	s.qp.max_reads_out = 0;
	s.qp.max_reads_in = 0;
	CHECK_ERR(create_qp_of(&s), 0);
}

static void no_places_for_pulls(void)
{
	write_file(SHARE_OF_A_USER, "1");
	in_a_process(places_of_who_has_too_many);
	write_file(SHARE_OF_A_USER, "50");
}

/* A set has one of each but a shared receive queue. A hundredth, as there are thousands of regions. */
static void objects_of_nobody(void)
{
	struct exrnic_rereg_mr rereg = { .flags = EXRNIC_REREG_ACCESS };
	struct exrnic_query q;
	struct set s;

	become_nobody(4 * MEMLOCK_PAGES);
	s = make_set();
	CHECK_ERR(query(s.fd, &q), 0);
	CHECK_EQ(count_objects(make_pd, &s) + 1, EXRNIC_FW_PD / 100);
	CHECK_EQ(count_objects(make_cq, &s) + 1, q.max_cq / 100);
	CHECK_EQ(count_objects(make_srq, &s), q.max_srq / 100);
	s.qp.max_reads_out = 0;
	s.qp.max_reads_in = 0;
	CHECK_EQ(count_objects(create_qp_of, &s) + 1, q.max_qp / 100);
	CHECK_EQ(count_objects(make_mr, &s) + 1, q.max_mr / 100);
	rereg.stag = s.stag;
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_REREG_MR, &rereg), 0);
	CHECK_ERR(make_mr(&s), EDQUOT);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEREG_MR, rereg.stag), 0);
	CHECK_ERR(make_mr(&s), 0);
	CHECK_ERR(make_mr(&s), EDQUOT);
}

static void objects(void)
{
	write_file(SHARE_OF_A_USER, "1");
	in_a_process(objects_of_nobody);
	in_a_process(objects_of_nobody);
	write_file(SHARE_OF_A_USER, "50");
}

/* Opens files until that fails with this error; closes them. */
static unsigned int count_files(int want)
{
	int files[EXRNIC_USER_PAGES + 1];
	unsigned int count = 0, i;

	while (count <= EXRNIC_USER_PAGES) {
		files[count] = open(device_path(), O_RDWR | O_CLOEXEC);
		if (files[count] < 0)
			break;
		count++;
	}
	CHECK_EQ(errno, want);
	for (i = 0; i < count; i++)
		close(files[i]);
	return count;
}

static void files(void)
{
	unsigned int all = count_files(ENOSPC);

	become_nobody(MEMLOCK_PAGES);
	CHECK_EQ(count_files(EDQUOT), all / 2);
	CHECK_EQ(count_files(EDQUOT), all / 2);
}

/* ---- The rdma cgroup */

#define HIERARCHY "/sys/fs/cgroup"

static void in_cgroup(char *path, const char *file)
{
	snprintf(path, PATH_MAX, HIERARCHY "/exrnic-tested/%s", file);
}

/* "max" for a number: no limit. */
static void set_limits(const char *handles, const char *objects)
{
	char path[PATH_MAX], text[128];

	snprintf(text, sizeof(text), "%s hca_handle=%s hca_object=%s",
		 strrchr(device_path(), '/') + 1, handles, objects);
	in_cgroup(path, "rdma.max");
	write_file(path, text);
}

/* Where nobody has mounted the hierarchy, it stays mounted. */
static void make_cgroup(void)
{
	char path[PATH_MAX], text[256];

	if (access(HIERARCHY "/cgroup.controllers", R_OK) &&
	    mount("none", HIERARCHY, "cgroup2", 0, NULL))
		skip("no cgroups in this kernel");
	read_file(HIERARCHY "/cgroup.controllers", text, sizeof(text));
	if (!strstr(text, "rdma"))
		skip("no rdma cgroup in this kernel");
	write_file(HIERARCHY "/cgroup.subtree_control", "+rdma");
	in_cgroup(path, "");
	if (mkdir(path, 0700))
		give_up(path);
}

/* Linux 6.1 remembers the limits of a group that is no more, in memory that it has freed. */
static void end_cgroup(void)
{
	char path[PATH_MAX];

	set_limits("max", "max");
	in_cgroup(path, "");
	CHECK_ERR(rmdir(path), 0);
}

/* Of this device, and no other. */
static void check_counted(unsigned int handles, unsigned int objects)
{
	char path[PATH_MAX], text[256], want[128];
	const char *device = strrchr(device_path(), '/') + 1;

	in_cgroup(path, "rdma.current");
	read_file(path, text, sizeof(text));
	snprintf(want, sizeof(want), "%s hca_handle=%u hca_object=%u", device, handles, objects);
	if (!CHECK(strstr(text, want)))
		printf("# \"%s\" is not in \"%s\"\n", want, text);
}

/* Two contexts, nine objects: one of each kind that needs no firmware. */
static void live_in_the_cgroup(void)
{
	struct exrnic_rereg_mr rereg = { .flags = EXRNIC_REREG_ACCESS };
	uint32_t pd, out;
	char path[PATH_MAX];
	struct set s;
	int port;

	in_cgroup(path, "cgroup.procs");
	write_file(path, "0");
	s = make_datagram_set();	/* a domain, a completion queue, a region, two queue pairs */
	check_counted(1, 5);
	open_device();
	CHECK(open(device_path(), O_RDWR) < 0 && errno == EDQUOT);
	check_counted(2, 5);
	CHECK_ERR(attach(&s, 1), 0);
	port = open_port(s.fd, 0);
	CHECK(port >= 0);
	CHECK_ERR(create_srq(s.fd, s.pd, pages(1), SLOTS, &out), 0);
	CHECK_ERR(alloc_pd(s.fd, &pd), 0);
	check_counted(2, 9);
	CHECK_ERR(alloc_pd(s.fd, &out), EDQUOT);
	CHECK_ERR(attach(&s, 2), EDQUOT);
	CHECK_OPENS(s.fd, 1, EDQUOT);
	rereg.stag = s.stag;
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_REREG_MR, &rereg), 0);
	check_counted(2, 9);
	CHECK_ERR(close(port), 0);
	CHECK_ERR(detach(&s, 1), 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEALLOC_PD, pd), 0);
	check_counted(2, 6);
	CHECK_ERR(attach(&s, 2), 0);
}

static void the_rdma_cgroup_counts(void)
{
	make_cgroup();
	set_limits("2", "9");
	in_a_process(live_in_the_cgroup);
	check_counted(0, 0);
	end_cgroup();
}

const struct test quota_tests[] = {
	{ "one user leaves ports to others", ports, 0 },
	{ "the administrator may have all ports", ports_of_the_administrator, 0 },
	{ "the administrator says what share of a device one user may have", the_share_can_be_set, 0 },
	{ "one user leaves attachments to groups to others", attachments, 0 },
	{ "one user leaves windows to others", windows, 0 },
	{ "one user leaves user pages to others", files, 0 },
	{ "one user leaves places for PULLs under way to others", places_for_pulls, 0 },
	{ "a queue pair that never PULLs is made, however many places for PULLs its user has",
	  no_places_for_pulls, 0 },
	{ "one user leaves objects of each kind to others", objects, 0 },
	{ "the rdma cgroup counts contexts and objects, and sets their limits",
	  the_rdma_cgroup_counts, 0 },
	{ NULL, NULL, 0 },
};
