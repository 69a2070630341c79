// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Ports as files. What goes between two of them: libverbs-lite/test/guest/ntb_checks.cc. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { PORT = 2, PEER_PORT = 3 };	/* the other guest's test has not that one: no link */

/* The descriptor, or -1. */
static int open_port(int fd, uint32_t port, uint32_t node, uint32_t peer_port)
{
	struct exrnic_open_port open = { .port = port, .peer_node = node, .peer_port = peer_port };

	return ioctl(fd, EXRNIC_IOCTL_OPEN_PORT, &open) ? -1 : open.fd;
}

static int make_port(int fd)
{
	int port = open_port(fd, PORT, other_node(fd), PEER_PORT);

	if (port < 0)
		give_up("OPEN_PORT");
	return port;
}

static uint32_t own_node(int fd)
{
	struct exrnic_query q = { 0 };

	query(fd, &q);
	return q.node_id;
}

static void one_owner(void)
{
	int fd = open_device(), other = open_device(), port = make_port(fd);

	CHECK_ERR(open_port(fd, PORT, other_node(fd), PEER_PORT), EBUSY);
	CHECK_ERR(open_port(other, PORT, other_node(fd), PEER_PORT), EBUSY);
	close(port);
	close(make_port(other));
}

static void what_makes_no_sense_is_refused(void)
{
	struct exrnic_port_spad spad = { .index = EXRNIC_PORT_SPADS };
	int fd = open_device(), port;

	CHECK_ERR(open_port(fd, EXRNIC_PORTS, other_node(fd), 0), EINVAL);
	CHECK_ERR(open_port(fd, 0, other_node(fd), EXRNIC_PORTS), EINVAL);
	CHECK_ERR(open_port(fd, 0, EXRNIC_MAX_NODE, 0), EINVAL);
	CHECK_ERR(open_port(fd, 0, own_node(fd), 0), EINVAL);
	port = make_port(fd);
	CHECK_ERR(ioctl(port, EXRNIC_PORT_IOCTL_SET_SPAD, &spad), EINVAL);
	CHECK_ERR(ioctl(port, EXRNIC_PORT_IOCTL_GET_SPAD, &spad), EINVAL);
	CHECK_ERR(ioctl(port, EXRNIC_PORT_IOCTL_SET_OWN_SPAD, &spad), EINVAL);
	CHECK_ERR(ioctl(port, EXRNIC_PORT_IOCTL_GET_PEER_SPAD, &spad), EINVAL);
	CHECK_ERR(ioctl(port, EXRNIC_PORT_IOCTL_GET_PEER_SPAD, NULL), EFAULT);
	CHECK_ERR(ioctl(port, EXRNIC_PORT_IOCTL_RING, NULL), EFAULT);
	CHECK_ERR(ioctl(port, EXRNIC_IOCTL_OPEN_PORT, NULL), ENOTTY);
}

static void without_a_link(void)
{
	struct exrnic_port_spad spad = { .index = EXRNIC_PORT_SPADS - 1, .value = 1 };
	struct exrnic_port_event event;
	int fd = open_device(), port = make_port(fd);
	struct pollfd wait = { .fd = port, .events = POLLIN };
	uint32_t bits = 1;

	CHECK_ERR(ioctl(port, EXRNIC_PORT_IOCTL_RING, &bits), ENOTCONN);
	CHECK_ERR(ioctl(port, EXRNIC_PORT_IOCTL_SET_SPAD, &spad), ENOTCONN);
	CHECK_ERR(ioctl(port, EXRNIC_PORT_IOCTL_GET_SPAD, &spad), 0);
	CHECK_EQ(spad.value, 0);
	spad.value = 1;
	CHECK_ERR(ioctl(port, EXRNIC_PORT_IOCTL_SET_OWN_SPAD, &spad), ENOTCONN);
	CHECK_ERR(ioctl(port, EXRNIC_PORT_IOCTL_GET_PEER_SPAD, &spad), 0);
	CHECK_EQ(spad.value, 0);
	CHECK_ERR(ioctl(port, EXRNIC_PORT_IOCTL_MASK, &bits), 0);
	CHECK_EQ(poll(&wait, 1, 0), 0);
	CHECK_ERR(fcntl(port, F_SETFL, O_NONBLOCK), 0);
	CHECK_EQ(read(port, &event, sizeof(event)), -1);
	CHECK_EQ(errno, EAGAIN);
	CHECK_EQ(read(port, &event, sizeof(event) - 1), -1);
	CHECK_EQ(errno, EINVAL);
}

static void it_ends_with_its_file(void)
{
	struct exrnic_port_event event;
	int fd = open_device(), port = make_port(fd);
	struct pollfd wait = { .fd = port, .events = POLLIN };
	uint32_t bits = 1;

	close(fd);
	CHECK_EQ(poll(&wait, 1, 0), 1);
	CHECK(wait.revents & POLLHUP);
	CHECK_EQ(read(port, &event, sizeof(event)), -1);
	CHECK_EQ(errno, ENODEV);
	CHECK_ERR(ioctl(port, EXRNIC_PORT_IOCTL_RING, &bits), ENODEV);
	CHECK_ERR(ioctl(port, EXRNIC_PORT_IOCTL_MASK, &bits), ENODEV);
	fd = open_device();
	close(make_port(fd));
	close(port);
}

static void for_who_may(void)
{
	enum { PRIVILEGED = EXRNIC_PORTS - 1 };
	int fd = open_device();

	close(open_port(fd, PRIVILEGED, other_node(fd), PEER_PORT));
	become_nobody(64);
	CHECK_ERR(open_port(fd, PRIVILEGED, other_node(fd), PEER_PORT), EPERM);
	CHECK_ERR(open_port(fd, PRIVILEGED - 1, other_node(fd), PEER_PORT), EPERM);
	close(make_port(fd));
}

/* What one of them does, again and again, keeps no other from being killed. */
static void act(int port)
{
	struct exrnic_port_spad spad = { .index = 1 };
	struct pollfd wait = { .fd = port, .events = POLLIN };
	uint32_t bits = 0;

	for (;;) {
		ioctl(port, EXRNIC_PORT_IOCTL_GET_PEER_SPAD, &spad);
		ioctl(port, EXRNIC_PORT_IOCTL_MASK, &bits);
		poll(&wait, 1, 0);
	}
}

static void many_act_on_one(void)
{
	enum { PROCESSES = 8 };
	int fd = open_device(), port = make_port(fd), status;
	pid_t child[PROCESSES];

	for (int i = 0; i < PROCESSES; i++) {
		child[i] = fork();
		if (!child[i])
			act(port);
	}
	usleep(100000);
	for (int i = 0; i < PROCESSES; i++) {
		CHECK_EQ(kill(child[i], SIGKILL), 0);
		CHECK_EQ(waitpid(child[i], &status, 0), child[i]);
	}
	close(port);
	close(make_port(fd));
}

const struct test port_tests[] = {
	{ "a port has one owner", one_owner, 0 },
	{ "a port, or scratchpad, that is not there is refused", what_makes_no_sense_is_refused, 0 },
	{ "a port without a link tells nothing, and nobody", without_a_link, 0 },
	{ "a port ends with the device file that opened it", it_ends_with_its_file, 0 },
	{ "a port that is privileged is for CAP_NET_RAW", for_who_may, 0 },
	{ "processes that act on one port at the same time can be killed", many_act_on_one, 0 },
	{ NULL, NULL, 0 },
};
