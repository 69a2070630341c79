// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#define _GNU_SOURCE
#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool failed;
static const char *path = "/dev/exrnic0";

static void report(const char *file, int line)
{
	const char *base = strrchr(file, '/');

	failed = true;
	printf("# %s:%d: ", base ? base + 1 : file, line);
}

bool check(bool condition, const char *text, const char *file, int line)
{
	if (!condition) {
		report(file, line);
		printf("not true: %s\n", text);
	}
	return condition;
}

bool check_eq(long long got, long long want, const char *text, const char *file, int line)
{
	if (got != want) {
		report(file, line);
		printf("%s is %lld, not %lld\n", text, got, want);
	}
	return got == want;
}

bool check_err(int result, int want, const char *text, const char *file, int line)
{
	int got = result < 0 ? errno : 0;

	if (got != want) {
		report(file, line);
		printf("%s: %s, not %s\n", text, strerrorname_np(got), strerrorname_np(want));
	}
	return got == want;
}

bool has_failed(void)
{
	return failed;
}

void skip(const char *why)
{
	printf("# skipped: %s\n", why);
	fflush(stdout);
	_exit(SKIPPED);
}

void give_up(const char *what)
{
	printf("# cannot go on: %s: %s\n", what, strerror(errno));
	fflush(stdout);
	_exit(1);
}

const char *device_path(void)
{
	return path;
}

void set_device_path(const char *new_path)
{
	path = new_path;
}

int open_device(void)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		give_up(path);
	return fd;
}

void *pages(size_t count)
{
	void *p = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	if (p == MAP_FAILED)
		give_up("mmap");
	return p;
}

int query(int fd, struct exrnic_query *q)
{
	return ioctl(fd, EXRNIC_IOCTL_QUERY, q);
}

uint32_t other_node(int fd)
{
	struct exrnic_query q = { 0 };

	query(fd, &q);
	return q.node_id ? 0 : 1;
}

int alloc_pd(int fd, uint32_t *pd)
{
	struct exrnic_object object = { 0 };
	int result = ioctl(fd, EXRNIC_IOCTL_ALLOC_PD, &object);

	*pd = object.handle;
	return result;
}

int create_cq(int fd, void *ring, uint32_t entries, uint32_t *cqn)
{
	struct exrnic_create_cq cq = {
		.ring = (uintptr_t)ring,
		.entries = entries,
		.comp_vector = EXRNIC_ANY_VECTOR,
		.channel_fd = EXRNIC_NO_CHANNEL,
	};
	int result = ioctl(fd, EXRNIC_IOCTL_CREATE_CQ, &cq);

	*cqn = cq.cqn;
	return result;
}

int create_srq(int fd, uint32_t pd, void *ring, uint32_t slots, uint32_t *srqn)
{
	struct exrnic_create_srq srq = { .ring = (uintptr_t)ring, .slots = slots, .pd = pd };
	int result = ioctl(fd, EXRNIC_IOCTL_CREATE_SRQ, &srq);

	*srqn = srq.srqn;
	return result;
}

int modify_srq(int fd, uint32_t srqn, uint32_t limit)
{
	struct exrnic_modify_srq modify = { .srqn = srqn, .limit = limit };

	return ioctl(fd, EXRNIC_IOCTL_MODIFY_SRQ, &modify);
}

int reg_mr(int fd, uint32_t pd, const void *address, uint64_t length, uint32_t access,
	   uint32_t *stag)
{
	struct exrnic_reg_mr mr = {
		.address = (uintptr_t)address, .length = length, .pd = pd, .access = access,
	};
	int result = ioctl(fd, EXRNIC_IOCTL_REG_MR, &mr);

	*stag = mr.stag;
	return result;
}

int alloc_mw(int fd, uint32_t pd, uint32_t *stag)
{
	struct exrnic_alloc_mw mw = { .pd = pd };
	int result = ioctl(fd, EXRNIC_IOCTL_ALLOC_MW, &mw);

	*stag = mw.stag;
	return result;
}

int object_ioctl(int fd, unsigned long command, uint32_t handle)
{
	union {
		struct exrnic_object object;
		struct exrnic_destroy destroy;
	} end = { .destroy = { .handle = handle } };

	return ioctl(fd, command, &end);
}

int modify_qp(int fd, uint32_t qpn, uint32_t state, uint32_t dest_node, uint32_t dest_qpn)
{
	struct exrnic_modify_qp modify = {
		.qpn = qpn, .state = state, .dest_node = dest_node, .dest_qpn = dest_qpn,
	};

	if (state == EXRNIC_QP_STATE_RTR || dest_node || dest_qpn)
		modify.attributes = EXRNIC_QP_ATTRIBUTES_DEST;
	return ioctl(fd, EXRNIC_IOCTL_MODIFY_QP, &modify);
}

int query_qp_state(int fd, uint32_t qpn, uint32_t *state)
{
	struct exrnic_query_qp q = { .qpn = qpn };
	int result = ioctl(fd, EXRNIC_IOCTL_QUERY_QP, &q);

	*state = q.state;
	return result;
}

int get_pbl(int fd, uint32_t stag, uint64_t *buffer, uint32_t room, struct exrnic_get_pbl *out)
{
	*out = (struct exrnic_get_pbl){
		.buffer = (uintptr_t)buffer, .stag = stag, .pages = room,
	};
	return ioctl(fd, EXRNIC_IOCTL_GET_PBL, out);
}

struct exrnic_create_qp good_qp(const struct set *s)
{
	return (struct exrnic_create_qp){
		.sq = (uintptr_t)s->sq,
		.rq = (uintptr_t)s->rq,
		.sq_slots = SLOTS,
		.rq_slots = SLOTS,
		.pd = s->pd,
		.send_cqn = s->cqn,
		.recv_cqn = s->cqn,
		.service = EXRNIC_SERVICE_RC,
		.srqn = EXRNIC_NO_SRQ,
		.max_reads_out = SOME_READS,
		.max_reads_in = SOME_READS,
	};
}

struct exrnic_create_qp srq_qp(const struct set *s, uint32_t srqn)
{
	struct exrnic_create_qp qp = good_qp(s);

	qp.rq = 0;
	qp.rq_slots = 0;
	qp.srqn = srqn;
	return qp;
}

int create_qp_of(struct set *s)
{
	int result = ioctl(s->fd, EXRNIC_IOCTL_CREATE_QP, &s->qp);

	s->qpn = s->qp.qpn;
	return result;
}

struct set make_set(void)
{
	const uint32_t access =
		EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ;
	struct set s = { .fd = open_device() };

	s.ring = pages(1);
	s.sq = pages(1);
	s.rq = pages(1);
	s.buffer = pages(BUFFER_PAGES);
	if (alloc_pd(s.fd, &s.pd))
		give_up("ALLOC_PD");
	if (create_cq(s.fd, s.ring, CQ_ENTRIES, &s.cqn))
		give_up("CREATE_CQ");
	if (reg_mr(s.fd, s.pd, s.buffer, BUFFER_PAGES * PAGE, access, &s.stag))
		give_up("REG_MR");
	s.qp = good_qp(&s);
	if (create_qp_of(&s))
		give_up("CREATE_QP");
	return s;
}

struct set make_connected_set(void)
{
	struct set s = make_set();

	if (modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_INIT, 0, 0) ||
	    modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_RTR, other_node(s.fd), 1) ||
	    modify_qp(s.fd, s.qpn, EXRNIC_QP_STATE_RTS, 0, 0))
		give_up("MODIFY_QP");
	return s;
}

void destroy_set(struct set *s)
{
	CHECK_ERR(object_ioctl(s->fd, EXRNIC_IOCTL_DESTROY_QP, s->qpn), 0);
	CHECK_ERR(object_ioctl(s->fd, EXRNIC_IOCTL_DEREG_MR, s->stag), 0);
	CHECK_ERR(object_ioctl(s->fd, EXRNIC_IOCTL_DESTROY_CQ, s->cqn), 0);
	CHECK_ERR(object_ioctl(s->fd, EXRNIC_IOCTL_DEALLOC_PD, s->pd), 0);
	CHECK_ERR(close(s->fd), 0);
}

static long long vmstat(FILE *file, const char *name)
{
	char key[64];
	long long value;

	rewind(file);
	while (fscanf(file, "%63s %lld", key, &value) == 2)
		if (!strcmp(key, name))
			return value;
	give_up("/proc/vmstat does not count pinned pages");
}

long long pinned_pages(void)
{
	/* The counters are per CPU; opening this file for reading folds them. */
	int refresh = open("/proc/sys/vm/stat_refresh", O_RDONLY);
	FILE *file = fopen("/proc/vmstat", "r");
	long long count;
	char byte;

	if (refresh < 0 || read(refresh, &byte, 1) < 0)
		give_up("/proc/sys/vm/stat_refresh");
	if (!file)
		give_up("/proc/vmstat");
	count = vmstat(file, "nr_foll_pin_acquired") - vmstat(file, "nr_foll_pin_released");
	fclose(file);
	close(refresh);
	return count;
}

void sysfs_path(char *text, size_t size, const char *file)
{
	snprintf(text, size, "/sys/class/exrnic/%s/%s", strrchr(path, '/') + 1, file);
}

void pci_name(char *name, size_t size)
{
	char link[PATH_MAX], target[PATH_MAX];
	ssize_t length;

	sysfs_path(link, sizeof(link), "device");
	length = readlink(link, target, sizeof(target) - 1);
	if (length < 0)
		give_up(link);
	target[length] = 0;
	snprintf(name, size, "%s", strrchr(target, '/') + 1);
}

void auxiliary_name(char *name, size_t size)
{
	DIR *folder = opendir("/sys/bus/auxiliary/devices");
	struct dirent *entry;

	*name = 0;
	while (folder && (entry = readdir(folder)))
		if (!strncmp(entry->d_name, "exrnic.cdev.", 12))
			snprintf(name, size, "%s", entry->d_name);
	if (!*name)
		give_up("/sys/bus/auxiliary/devices");
	closedir(folder);
}

void write_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		give_up(name);
	close(fd);
}

void read_file(const char *name, char *text, size_t size)
{
	int fd = open(name, O_RDONLY);
	ssize_t length = read(fd, text, size - 1);

	if (fd < 0 || length < 0)
		give_up(name);
	close(fd);
	while (length && text[length - 1] == '\n')
		length--;
	text[length] = 0;
}

int open_log(void)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (log < 0 || lseek(log, 0, SEEK_END) < 0)
		give_up("/dev/kmsg");
	return log;
}

bool log_has(int log, const char *text)
{
	char line[1024];
	ssize_t length;

	while ((length = read(log, line, sizeof(line) - 1)) > 0) {
		line[length] = 0;
		if (strstr(line, text))
			return true;
	}
	return false;
}

int load_module(const char *path, const char *parameters)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int result = fd < 0 ? -1 : (int)syscall(SYS_finit_module, fd, parameters, 0);
	int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return result;
}

int unload_module(const char *name)
{
	return (int)syscall(SYS_delete_module, name, O_NONBLOCK);
}

bool has_iommu(void)
{
	DIR *dir = opendir("/sys/class/iommu");
	bool found = false;
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		found |= entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return found;
}

void become_nobody(size_t memlock_pages)
{
	const struct rlimit limit = { memlock_pages * PAGE, memlock_pages * PAGE };

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setresgid(65534, 65534, 65534) ||
	    setresuid(65534, 65534, 65534))
		give_up("becoming nobody");
}
