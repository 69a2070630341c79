// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Management frames, as a fabric's manager on this host sends and gets them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

enum { PATIENCE_MS = 2000 };

static uint8_t *header_of(struct exrnic_management *management)
{
	return management->frame + EXRNIC_ETH_BYTES;
}

/* What the own agent is, under this name. */
static struct exrnic_management question(uint64_t transaction)
{
	struct exrnic_management ask = { 0 };

	exrnic_eth_set_dst(ask.frame, (uint64_t)EXRNIC_MAC_PREFIX << 16 | EXRNIC_NODE_NONE);
	exrnic_eth_set_ethertype(ask.frame, EXRNIC_MANAGEMENT_ETHERTYPE);
	exrnic_management_header_set_version(header_of(&ask), EXRNIC_MANAGEMENT_VERSION);
	exrnic_management_header_set_transaction(header_of(&ask), transaction);
	return ask;
}

static int receive(int fd, struct exrnic_management *answer)
{
	const struct timespec wait = { .tv_nsec = 1000000 };

	for (int ms = 0; ms < PATIENCE_MS; ms++) {
		if (!ioctl(fd, EXRNIC_IOCTL_RECEIVE_MANAGEMENT, answer))
			return 0;
		if (errno != EAGAIN)
			return -1;
		nanosleep(&wait, NULL);
	}
	return -1;
}

static void the_own_agent_answers(void)
{
	int fd = open_device();
	struct exrnic_management ask = question(0x1122334455667788), answer;
	struct exrnic_query q;

	CHECK_ERR(query(fd, &q), 0);
	CHECK_ERR(ioctl(fd, EXRNIC_IOCTL_RECEIVE_MANAGEMENT, &answer), EAGAIN);
	CHECK_ERR(ioctl(fd, EXRNIC_IOCTL_SEND_MANAGEMENT, &ask), 0);
	if (!CHECK_EQ(receive(fd, &answer), 0))
		return;
	CHECK_EQ(exrnic_management_header_transaction(header_of(&answer)), 0x1122334455667788);
	CHECK_EQ(exrnic_management_header_method(header_of(&answer)), EXRNIC_MANAGEMENT_METHOD_ANSWER);
	CHECK_EQ(exrnic_management_device_number(answer.frame + EXRNIC_MANAGEMENT_DATA_AT), q.node_id);
	CHECK_EQ(exrnic_management_device_nodes(answer.frame + EXRNIC_MANAGEMENT_DATA_AT), q.max_node);
	CHECK_ERR(ioctl(fd, EXRNIC_IOCTL_RECEIVE_MANAGEMENT, &answer), EAGAIN);
	close(fd);
}

static void one_manager(void)
{
	int fd = open_device(), other = open_device();
	struct exrnic_management ask = question(1), answer;

	CHECK_ERR(ioctl(fd, EXRNIC_IOCTL_SEND_MANAGEMENT, &ask), 0);
	CHECK_EQ(receive(fd, &answer), 0);
	CHECK_ERR(ioctl(fd, EXRNIC_IOCTL_SEND_MANAGEMENT, &ask), 0);
	CHECK_ERR(ioctl(other, EXRNIC_IOCTL_SEND_MANAGEMENT, &ask), EBUSY);
	CHECK_ERR(ioctl(other, EXRNIC_IOCTL_RECEIVE_MANAGEMENT, &answer), EBUSY);
	usleep(100000); /* until the answer waits */
	close(fd);
	/* What has come for the one before is nobody's. */
	CHECK_ERR(ioctl(other, EXRNIC_IOCTL_RECEIVE_MANAGEMENT, &answer), EAGAIN);
	ask = question(2);
	CHECK_ERR(ioctl(other, EXRNIC_IOCTL_SEND_MANAGEMENT, &ask), 0);
	if (CHECK_EQ(receive(other, &answer), 0))
		CHECK_EQ(exrnic_management_header_transaction(header_of(&answer)), 2);
	close(other);
}

/* Who had them does not know yet that the device is another one, and keeps nobody from it. */
static void a_reset_ends_it(void)
{
	int fd = open_device(), other;
	struct exrnic_management ask = question(1), answer;
	char name[64], path[PATH_MAX];

	CHECK_ERR(ioctl(fd, EXRNIC_IOCTL_SEND_MANAGEMENT, &ask), 0);
	pci_name(name, sizeof(name));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", name);
	write_file(path, "1");
	CHECK_ERR(ioctl(fd, EXRNIC_IOCTL_SEND_MANAGEMENT, &ask), ENODEV);
	other = open_device();
	ask = question(2);
	CHECK_ERR(ioctl(other, EXRNIC_IOCTL_SEND_MANAGEMENT, &ask), 0);
	if (CHECK_EQ(receive(other, &answer), 0))
		CHECK_EQ(exrnic_management_header_transaction(header_of(&answer)), 2);
	close(other);
	close(fd);
}

static void for_who_may(void)
{
	int fd = open_device();
	struct exrnic_management ask = question(1);

	become_nobody(64);
	CHECK_ERR(ioctl(fd, EXRNIC_IOCTL_SEND_MANAGEMENT, &ask), EPERM);
	CHECK_ERR(ioctl(fd, EXRNIC_IOCTL_RECEIVE_MANAGEMENT, &ask), EPERM);
	close(fd);
}

static void what_is_no_question_goes_nowhere(void)
{
	int fd = open_device();
	struct exrnic_management ask = question(1), answer;

	exrnic_eth_set_ethertype(ask.frame, 0x0800);
	CHECK_ERR(ioctl(fd, EXRNIC_IOCTL_SEND_MANAGEMENT, &ask), 0);
	ask = question(2);
	exrnic_management_header_set_method(header_of(&ask), EXRNIC_MANAGEMENT_METHOD_ANSWER);
	while (ioctl(fd, EXRNIC_IOCTL_SEND_MANAGEMENT, &ask))
		if (!CHECK_EQ(errno, EAGAIN))
			return;
	ask = question(3);
	while (ioctl(fd, EXRNIC_IOCTL_SEND_MANAGEMENT, &ask))
		if (!CHECK_EQ(errno, EAGAIN))
			return;
	if (CHECK_EQ(receive(fd, &answer), 0))
		CHECK_EQ(exrnic_management_header_transaction(header_of(&answer)), 3);
	close(fd);
}

const struct test management_tests[] = {
	{ "a host asks the agent of its own node", the_own_agent_answers, 0 },
	{ "management frames are for one file at a time, and begin anew with it", one_manager, 0 },
	{ "who had management frames before a reset does not keep others from them", a_reset_ends_it, 0 },
	{ "management frames are for CAP_NET_ADMIN", for_who_may, 0 },
	{ "what is no question goes nowhere", what_is_no_question_goes_nowhere, 0 },
	{ NULL, NULL, 0 },
};
