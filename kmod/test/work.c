// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#define _GNU_SOURCE
#include "work.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LIMIT_MS = 20000, STEP_US = 1000 };

int create_channel(int fd)
{
	struct exrnic_create_channel create = { 0 };

	if (ioctl(fd, EXRNIC_IOCTL_CREATE_CHANNEL, &create))
		give_up("CREATE_CHANNEL");
	return create.fd;
}

static void make_queues(struct worker *w, const struct set *s)
{
	struct exrnic_create_qp qp = good_qp(s);

	w->ring = pages(1);
	w->sq = pages(1);
	w->cq.ring = (uintptr_t)w->ring;
	if (ioctl(w->fd, EXRNIC_IOCTL_CREATE_CQ, &w->cq))
		give_up("CREATE_CQ of a worker");
	qp.sq = (uintptr_t)w->sq;
	qp.rq = (uintptr_t)pages(1);
	qp.send_cqn = w->cq.cqn;
	qp.recv_cqn = w->cq.cqn;
	qp.cookie = w->cq.cookie + 1;
	if (ioctl(w->fd, EXRNIC_IOCTL_CREATE_QP, &qp))
		give_up("CREATE_QP of a worker");
	w->qpn = qp.qpn;
}

struct worker make_worker(const struct set *s, int channel_fd, uint64_t cookie,
			  uint32_t comp_vector)
{
	struct worker w = { .fd = s->fd, .pd = s->pd };

	w.cq = (struct exrnic_create_cq){
		.cookie = cookie,
		.entries = WORKER_ENTRIES,
		.comp_vector = comp_vector,
		.channel_fd = channel_fd,
	};
	w.page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (w.page == MAP_FAILED)
		give_up("mmap of the user page");
	make_queues(&w, s);
	start_worker(&w);
	return w;
}

void start_worker(struct worker *w)
{
	if (modify_qp(w->fd, w->qpn, EXRNIC_QP_STATE_INIT, 0, 0) ||
	    modify_qp(w->fd, w->qpn, EXRNIC_QP_STATE_RTR, ABSENT_NODE, 1) ||
	    modify_qp(w->fd, w->qpn, EXRNIC_QP_STATE_RTS, 0, 0))
		give_up("MODIFY_QP of a worker");
	w->posted = 0;
}

struct exrnic_destroy end_worker(const struct worker *w)
{
	struct exrnic_destroy destroy = { .handle = w->cq.cqn };

	CHECK_ERR(object_ioctl(w->fd, EXRNIC_IOCTL_DESTROY_QP, w->qpn), 0);
	CHECK_ERR(ioctl(w->fd, EXRNIC_IOCTL_DESTROY_CQ, &destroy), 0);
	return destroy;
}

/* What was stored to memory is there before the doorbell, which leaves at once. */
static void ring_doorbell(const struct worker *w, unsigned int offset, uint32_t number,
			  uint32_t index)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	w->page[offset / sizeof(*w->page)] = number | (uint64_t)index << 32;
	__builtin_ia32_sfence();
}

void arm(const struct worker *w, uint32_t consumed)
{
	ring_doorbell(w, EXRNIC_DOORBELL_CQ_ARM, w->cq.cqn, consumed);
}

static void post(struct worker *w, const struct exrnic_wqe *wqe)
{
	w->sq[w->posted++ % SLOTS] = *wqe;
	ring_doorbell(w, EXRNIC_DOORBELL_SQ, w->qpn, w->posted);
}

void post_invalidate(struct worker *w, uint32_t stag)
{
	const struct exrnic_wqe wqe = {
		.opcode = EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE,
		.flags = EXRNIC_WQE_FLAGS_SIGNALED,
		.num_slots = 1,
		.imm_data = stag,
	};

	post(w, &wqe);
}

void post_bind(struct worker *w, uint32_t window, uint32_t region, const void *address,
	       uint64_t length)
{
	const struct exrnic_wqe wqe = {
		.opcode = EXRNIC_WQE_OPCODE_BIND_MW,
		.flags = EXRNIC_WQE_FLAGS_SIGNALED,
		.num_slots = 1,
		.imm_data = window,
		.remote_to = (uintptr_t)address,
		.remote_stag = EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ |
			       EXRNIC_ACCESS_REMOTE_ATOMIC,
		.sge0_address = length,
		.sge0_stag = region,
	};

	post(w, &wqe);
}

void post_success(struct worker *w)
{
	uint32_t stag;

	if (reg_mr(w->fd, w->pd, pages(1), PAGE, 0, &stag))
		give_up("REG_MR of a worker");
	post_invalidate(w, stag);
}

void post_failure(struct worker *w)
{
	const struct exrnic_wqe nonsense = { .opcode = 0, .num_slots = 1 };

	post(w, &nonsense);
}

void post_to_nobody(struct worker *w)
{
	const struct exrnic_wqe push = {
		.opcode = EXRNIC_WQE_OPCODE_PUSH,
		.flags = EXRNIC_WQE_FLAGS_INLINE,
		.num_slots = 1,
		.length = 8,
	};

	post(w, &push);
}

void spin_for_completion(const struct worker *w, uint32_t index)
{
	while (!(w->ring[index].phase & 1))
		continue;
}

void wait_for_completion(const struct worker *w, uint32_t index)
{
	for (int waited = 0; waited < LIMIT_MS; waited += STEP_US / 1000) {
		if (w->ring[index].phase & 1)
			return;
		usleep(STEP_US);
	}
	errno = ETIMEDOUT;
	give_up("waiting for a completion");
}

void wait_for_input(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	errno = ETIMEDOUT;
	if (poll(&p, 1, LIMIT_MS) != 1 || !(p.revents & POLLIN))
		give_up("waiting for an event");
}

struct exrnic_event next_event(int fd)
{
	struct exrnic_event event = { 0 };

	wait_for_input(fd);
	if (read(fd, &event, sizeof(event)) != sizeof(event))
		give_up("reading an event");
	return event;
}

short poll_now(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (poll(&p, 1, 0) < 0)
		give_up("poll");
	return p.revents;
}

/* Numbers of a line "  24:   17   3   PCI-MSI ... exrnic-0000:00:01.0-comp0", one per CPU. */
static long long sum_of_counts(const char *line)
{
	const char *at = strchr(line, ':');
	long long sum = 0;
	char *end;

	while (at) {
		long long count = strtoll(++at, &end, 10);

		if (end == at)
			break;
		sum += count;
		at = *end == ' ' ? end : NULL;
	}
	return sum;
}

/* Of vectors with that in their name. */
static long long interrupts_of(const char *vectors)
{
	FILE *file = fopen("/proc/interrupts", "r");
	long long sum = 0;
	char line[4096];

	if (!file)
		give_up("/proc/interrupts");
	while (fgets(line, sizeof(line), file))
		if (strstr(line, "exrnic-") && strstr(line, vectors))
			sum += sum_of_counts(line);
	fclose(file);
	return sum;
}

long long completion_interrupts(void)
{
	return interrupts_of("-comp");
}

long long control_interrupts(void)
{
	return interrupts_of("-control");
}

uint64_t lost_completions(void)
{
	char path[256], text[32];

	sysfs_path(path, sizeof(path), "counters/cq_overruns");
	read_file(path, text, sizeof(text));
	return strtoull(text, NULL, 10);
}

void wait_for_interrupts(long long count)
{
	for (int waited = 0; waited < LIMIT_MS; waited += STEP_US / 1000) {
		if (completion_interrupts() >= count)
			return;
		usleep(STEP_US);
	}
	errno = ETIMEDOUT;
	give_up("waiting for interrupts");
}
