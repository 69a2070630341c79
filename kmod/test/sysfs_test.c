// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the driver shows in sysfs. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "work.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const counter_names[] = EXRNIC_COUNTER_NAMES;

static unsigned long long number_in(const char *file)
{
	char path[PATH_MAX], text[64], *end;
	unsigned long long value;

	sysfs_path(path, sizeof(path), file);
	read_file(path, text, sizeof(text));
	value = strtoull(text, &end, 10);
	CHECK(end != text && !*end);
	return value;
}

static unsigned long long counter(enum exrnic_counter index)
{
	char file[NAME_MAX];

	snprintf(file, sizeof(file), "counters/%s", counter_names[index]);
	return number_in(file);
}

static void each_counter_has_a_file(void)
{
	char path[PATH_MAX];
	struct dirent *entry;
	size_t files = 0;
	DIR *dir;

	for (size_t i = 0; i < COUNT(counter_names); i++)
		counter(i);
	sysfs_path(path, sizeof(path), "counters");
	dir = opendir(path);
	if (!dir)
		give_up(path);
	while ((entry = readdir(dir)))
		files += entry->d_name[0] != '.';
	closedir(dir);
	CHECK_EQ(files, COUNT(counter_names));
}

static void counters_count(void)
{
	struct set s = make_set();
	struct worker w = make_worker(&s, EXRNIC_NO_CHANNEL, 0, EXRNIC_ANY_VECTOR);
	unsigned long long wqes = counter(EXRNIC_COUNTER_WQES), cqes = counter(EXRNIC_COUNTER_CQES);
	unsigned long long errors = counter(EXRNIC_COUNTER_WQE_ERRORS);

	post_success(&w);
	post_success(&w);
	wait_for_completion(&w, 1);
	CHECK_EQ(counter(EXRNIC_COUNTER_WQES), wqes + 2);
	CHECK_EQ(counter(EXRNIC_COUNTER_CQES), cqes + 2);
	post_failure(&w);
	wait_for_completion(&w, 2);
	CHECK_EQ(counter(EXRNIC_COUNTER_WQE_ERRORS), errors + 1);
}

static void attributes_agree_with_query(void)
{
	int fd = open_device();
	char path[PATH_MAX], text[64], mac[64];
	struct exrnic_query q;

	CHECK_ERR(query(fd, &q), 0);
	CHECK_EQ(number_in("abi_version"), q.abi_version);
	CHECK_EQ(number_in("uapi_version"), q.uapi_version);
	CHECK_EQ(number_in("node_id"), q.node_id);
	CHECK_EQ(number_in("mtu"), q.mtu);
	CHECK_EQ(number_in("clock_khz"), q.clock_khz);
	CHECK_EQ(number_in("max_qp"), q.max_qp);
	CHECK_EQ(number_in("max_cq"), q.max_cq);
	CHECK_EQ(number_in("max_srq"), q.max_srq);
	CHECK_EQ(number_in("max_mr"), q.max_mr);
	CHECK_EQ(number_in("read_pool"), q.read_pool);
	CHECK_EQ(number_in("comp_vectors"), q.comp_vectors);
	sysfs_path(path, sizeof(path), "address");
	read_file(path, text, sizeof(text));
	snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", q.mac[0], q.mac[1], q.mac[2],
		 q.mac[3], q.mac[4], q.mac[5]);
	CHECK(!strcmp(text, mac));
	sysfs_path(path, sizeof(path), "link");
	read_file(path, text, sizeof(text));
	CHECK(!strcmp(text, "up") || !strcmp(text, "down"));
}

static void pinned_memory_is_shown(void)
{
	unsigned long long before = number_in("pinned_bytes");
	struct set s = make_set();

	CHECK_EQ(number_in("pinned_bytes"), before + (3 + BUFFER_PAGES) * PAGE);
	destroy_set(&s);
	CHECK_EQ(number_in("pinned_bytes"), before);
}

static void nothing_can_be_written(void)
{
	char path[PATH_MAX];

	become_nobody(1);
	sysfs_path(path, sizeof(path), "counters/frames_tx");
	CHECK_ERR(open(path, O_WRONLY), EACCES);
	sysfs_path(path, sizeof(path), "mtu");
	CHECK_ERR(open(path, O_WRONLY), EACCES);
	counter(EXRNIC_COUNTER_FRAMES_TX);
}

static unsigned int pkey_in(unsigned int index)
{
	char file[NAME_MAX], path[PATH_MAX], text[64];

	snprintf(file, sizeof(file), "pkeys/%u", index);
	sysfs_path(path, sizeof(path), file);
	read_file(path, text, sizeof(text));
	return strtoul(text, NULL, 0);
}

static int write_pkey(unsigned int index, const char *text)
{
	char file[NAME_MAX], path[PATH_MAX];
	int fd, result;

	snprintf(file, sizeof(file), "pkeys/%u", index);
	sysfs_path(path, sizeof(path), file);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return fd;
	result = write(fd, text, strlen(text)) < 0 ? -1 : 0;
	close(fd);
	return result;
}

/* All read it; what root writes, queue pairs find. */
static void table_of_pkeys(void)
{
	struct set s = make_set();
	struct exrnic_modify_qp modify = {
		.state = EXRNIC_QP_STATE_INIT,
		.attributes = EXRNIC_QP_ATTRIBUTES_QKEY | EXRNIC_QP_ATTRIBUTES_PKEY_INDEX,
		.pkey_index = 3,
	};
	struct exrnic_query_qp qp = { 0 };
	struct exrnic_query q;

	CHECK_EQ(pkey_in(0), EXRNIC_PKEY_DEFAULT);
	CHECK_EQ(pkey_in(EXRNIC_PKEYS - 1), 0);
	s.qp.service = EXRNIC_SERVICE_UD;
	CHECK_ERR(create_qp_of(&s), 0);
	modify.qpn = s.qpn;
	qp.qpn = s.qpn;
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &modify), EINVAL);
	CHECK_ERR(write_pkey(3, "0x8123"), 0);
	CHECK_ERR(write_pkey(3, "0x10000"), ERANGE);
	CHECK_ERR(write_pkey(3, "none"), EINVAL);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_MODIFY_QP, &modify), 0);
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_QUERY_QP, &qp), 0);
	CHECK_EQ(qp.pkey_index, 3);
	CHECK_ERR(query(s.fd, &q), 0);
	for (unsigned int i = 0; i < EXRNIC_PKEYS; i++)
		CHECK_EQ(pkey_in(i), q.pkeys[i]);
	CHECK_EQ(q.pkeys[3], 0x8123);
	CHECK_ERR(write_pkey(3, "0"), 0);
	become_nobody(1);
	CHECK_ERR(write_pkey(3, "0x8123"), EACCES);
	CHECK_EQ(pkey_in(3), 0);
}

const struct test sysfs_tests[] = {
	{ "each counter of the device has a file", each_counter_has_a_file, 0 },
	{ "the files of counters follow the device", counters_count, 0 },
	{ "attributes in sysfs agree with query", attributes_agree_with_query, 0 },
	{ "memory that is pinned for the device is shown", pinned_memory_is_shown, 0 },
	{ "anybody may read the counters, and nobody write them", nothing_can_be_written, 0 },
	{ "anybody may read the table of P_Keys, and root write it", table_of_pkeys, 0 },
	{ NULL, NULL, 0 },
};
