// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Ends of all kinds: close, death, full tables, races, removal of the device. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
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
	do {
		s.qp.sq = (uintptr_t)pages(1);
		s.qp.rq = (uintptr_t)pages(1);
	} while (!create_qp_of(&s) && made++ <= q.max_qp);
	CHECK_EQ(errno, ENOSPC);
	CHECK_EQ(made, q.max_qp - 1);
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

/* The name of the PCI function under the device file, such as 0000:00:01.0. */
static void pci_name(char *name, size_t size)
{
	char link[PATH_MAX], target[PATH_MAX], node[64];
	ssize_t length;

	snprintf(node, sizeof(node), "%s", strrchr(device_path(), '/') + 1);
	snprintf(link, sizeof(link), "/sys/class/exrnic/%s/device", node);
	length = readlink(link, target, sizeof(target) - 1);
	if (length < 0)
		give_up(link);
	target[length] = 0;
	snprintf(name, size, "%s", basename(target));
}

static void write_sysfs(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		give_up(path);
	close(fd);
}

static sigjmp_buf after_bus_error;

static void on_bus_error(int signal)
{
	(void)signal;
	siglongjmp(after_bus_error, 1);
}

static bool store_faults(volatile uint64_t *page)
{
	signal(SIGBUS, on_bus_error);
	if (sigsetjmp(after_bus_error, 1))
		return true;
	page[0] = 0;
	return false;
}

static void check_all_gone(const struct set *s)
{
	struct exrnic_query q;
	uint32_t out;

	CHECK_ERR(query(s->fd, &q), ENODEV);
	CHECK_ERR(alloc_pd(s->fd, &out), ENODEV);
	CHECK_ERR(query_qp_state(s->fd, s->qpn, &out), ENODEV);
	CHECK_ERR(object_ioctl(s->fd, EXRNIC_IOCTL_DESTROY_QP, s->qpn), ENODEV);
	CHECK_ERR(create_cq(s->fd, s->ring, 8, &out), ENODEV);
}

static void removal_with_everything_alive(void)
{
	long long before = pinned_pages();
	struct set s = make_set();
	volatile uint64_t *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, s.fd, 0);
	volatile uint64_t *untouched =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, s.fd, 0);
	char name[64];

	page[0] = 0;
	pci_name(name, sizeof(name));
	write_sysfs("/sys/bus/pci/drivers/exrnic/unbind", name);
	CHECK_EQ(pinned_pages(), before);
	check_all_gone(&s);
	CHECK(store_faults(page));
	CHECK(store_faults(untouched));
	CHECK(open(device_path(), O_RDWR) < 0);
	/* The old file still holds its number, so the device may come back under another. */
	CHECK_ERR(close(s.fd), 0);
	munmap((void *)page, PAGE);
	munmap((void *)untouched, PAGE);
	write_sysfs("/sys/bus/pci/drivers/exrnic/bind", name);
	s = make_set();
	destroy_set(&s);
}

/* As an administrator would do it in /sys; the driver has to notice. */
static void reset_with_everything_alive(void)
{
	long long before = pinned_pages();
	struct set s = make_set();
	char name[64], path[PATH_MAX];
	uint32_t out;

	pci_name(name, sizeof(name));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", name);
	write_sysfs(path, "1");
	CHECK_ERR(query_qp_state(s.fd, s.qpn, &out), EIO);
	CHECK_ERR(reg_mr(s.fd, s.pd, s.buffer, PAGE, 0, &out), EIO);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, s.qpn), EIO);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, s.qpn), ENOENT);
	CHECK_ERR(close(s.fd), 0);
	CHECK_EQ(pinned_pages(), before);
	write_sysfs("/sys/bus/pci/drivers/exrnic/unbind", name);
	write_sysfs("/sys/bus/pci/drivers/exrnic/bind", name);
	s = make_set();
	destroy_set(&s);
}

const struct test life_tests[] = {
	{ "close ends everything that is alive", close_ends_everything, 0 },
	{ "death of a process ends everything that is alive", death_ends_everything, 0 },
	{ "a child shares the context of its parent", a_child_shares_the_context, 0 },
	{ "completion queues run out with ENOSPC and come back", completion_queues_run_out, 120 },
	{ "queue pairs run out with ENOSPC", queue_pairs_run_out, 120 },
	{ "user pages run out with ENOSPC and come back", user_pages_run_out, 0 },
	{ "threads may race for the objects of a file", threads_may_race, 120 },
	{ "removal of the device ends everything and spares the process",
	  removal_with_everything_alive, 0 },
	{ "after a reset of the device commands fail and memory is given back",
	  reset_with_everything_alive, 0 },
	{ NULL, NULL, 0 },
};
