// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The Ethernet interface of one node: that it comes, lives and goes as it should. What goes over the network is for two
 * guests (tests/guest).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support.h"

#define MODULE "/lib/exrnic_eth.ko"
#define KERNEL_USER "/lib/exrnic_kernel_user.ko"
#define NETDEVS "/sys/bus/pci/drivers/exrnic/*/net/*"
#define DRIVER "/sys/bus/pci/drivers/exrnic"
#define MTU_MIN 68
#define MTU_MAX 9000
#define WAIT_US 10000
#define WAITS 500

/* The name of the interface, or none. */
static bool find_netdev(char *name)
{
	glob_t found;
	bool exists;

	exists = !glob(NETDEVS, 0, NULL, &found) && found.gl_pathc == 1;
	if (exists)
		snprintf(name, IFNAMSIZ, "%s", strrchr(found.gl_pathv[0], '/') + 1);
	globfree(&found);
	return exists;
}

void load_ethernet(char *name)
{
	if (access(MODULE, R_OK))
		skip("no " MODULE);
	unload_module("exrnic_eth");	/* of a test that has failed */
	if (load_module(MODULE, "") || !find_netdev(name))
		give_up(MODULE);
}

void unload_ethernet(void)
{
	char name[IFNAMSIZ];

	CHECK_ERR(unload_module("exrnic_eth"), 0);
	CHECK(!find_netdev(name));
}

/* An ioctl of the interface. */
static int ask(const char *name, unsigned long command, struct ifreq *request)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), result, error;

	if (fd < 0)
		give_up("socket");
	snprintf(request->ifr_name, IFNAMSIZ, "%s", name);
	result = ioctl(fd, command, request);
	error = errno;
	close(fd);
	errno = error;
	return result;
}

int set_interface_up(const char *name, bool up)
{
	struct ifreq request = { 0 };

	request.ifr_flags = up ? IFF_UP : 0;
	return ask(name, SIOCSIFFLAGS, &request);
}

static int set_mtu(const char *name, int mtu)
{
	struct ifreq request = { 0 };

	request.ifr_mtu = mtu;
	return ask(name, SIOCSIFMTU, &request);
}

/* A file of the interface in sysfs. */
static void read_attribute(const char *name, const char *file, char *text, size_t size)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", name, file);
	read_file(path, text, size);
}

/* As the device says, which need not have a line. */
static bool has_link(void)
{
	char path[PATH_MAX], text[8];

	sysfs_path(path, sizeof(path), "link");
	read_file(path, text, sizeof(text));
	return !strcmp(text, "up");
}

static bool has_right_carrier(const char *name)
{
	char text[8];

	read_attribute(name, "carrier", text, sizeof(text));
	return !strcmp(text, has_link() ? "1" : "0");
}

static int ethtool(const char *name, void *command)
{
	struct ifreq request = { 0 };

	request.ifr_data = command;
	return ask(name, SIOCETHTOOL, &request);
}

/* Of ethtool -S; gives up if there is none of that name. */
static uint64_t counter(const char *name, const char *counter)
{
	enum { MOST = 64 };
	struct ethtool_gstrings *strings =
		calloc(1, sizeof(*strings) + MOST * ETH_GSTRING_LEN);
	struct ethtool_stats *stats = calloc(1, sizeof(*stats) + MOST * sizeof(uint64_t));
	uint64_t value = 0;
	unsigned int i;

	strings->cmd = ETHTOOL_GSTRINGS;
	strings->string_set = ETH_SS_STATS;
	stats->cmd = ETHTOOL_GSTATS;
	if (ethtool(name, strings) || ethtool(name, stats))
		give_up("ETHTOOL_GSTATS");
	for (i = 0; i < strings->len; i++)
		if (!strncmp((char *)strings->data + i * ETH_GSTRING_LEN, counter, ETH_GSTRING_LEN))
			break;
	if (i == strings->len)
		give_up(counter);
	value = stats->data[i];
	free(strings);
	free(stats);
	return value;
}

/* Up and down, more often than files leave room for user pages that were not given back. */
static void it_gives_back_all_it_takes(void)
{
	enum { ROOM = 4 };
	int fds[EXRNIC_USER_PAGES + 1];
	unsigned int files = 0, times;
	char name[IFNAMSIZ];

	load_ethernet(name);
	while (files <= EXRNIC_USER_PAGES &&
	       (fds[files] = open(device_path(), O_RDWR | O_CLOEXEC)) >= 0)
		files++;
	CHECK_EQ(errno, ENOSPC);
	CHECK(files > ROOM);
	CHECK_ERR(set_interface_up(name, true), ENOSPC);
	for (times = 0; times < ROOM && files; times++)
		close(fds[--files]);
	for (times = 0; times < 4 * ROOM && !has_failed(); times++) {
		CHECK_ERR(set_interface_up(name, true), 0);
		CHECK_ERR(set_interface_up(name, false), 0);
	}
	while (files)
		close(fds[--files]);
	unload_ethernet();
}

static void it_goes_with_its_module_while_it_is_up(void)
{
	struct exrnic_query q;
	int fd = open_device();
	char name[IFNAMSIZ], text[32], wanted[32];
	unsigned int times;

	CHECK_ERR(query(fd, &q), 0);
	snprintf(wanted, sizeof(wanted), "02:45:58:52:%02x:%02x", q.node_id >> 8, q.node_id & 0xff);
	for (times = 0; times < 3; times++) {
		load_ethernet(name);
		read_attribute(name, "address", text, sizeof(text));
		CHECK(!strcmp(text, wanted));
		CHECK_ERR(set_interface_up(name, true), 0);
		CHECK(has_right_carrier(name));
		unload_ethernet();
	}
	/* Files of the device are none of its business. */
	CHECK_ERR(query(fd, &q), 0);
	close(fd);
}

static void its_mtu_has_bounds(void)
{
	char name[IFNAMSIZ];

	load_ethernet(name);
	CHECK_ERR(set_mtu(name, MTU_MIN), 0);
	CHECK_ERR(set_mtu(name, MTU_MAX), 0);
	CHECK_ERR(set_mtu(name, MTU_MIN - 1), EINVAL);
	CHECK_ERR(set_mtu(name, MTU_MAX + 1), EINVAL);
	unload_ethernet();
}

/* By a neighbour's announcement, say; to nobody who listens. */
static void what_it_sends_is_counted(void)
{
	char name[IFNAMSIZ];
	unsigned int waits;

	if (!has_link())
		skip("no line");
	load_ethernet(name);
	CHECK_ERR(set_interface_up(name, true), 0);
	for (waits = 0; waits < WAITS && !counter(name, "tx_packets"); waits++)
		usleep(WAIT_US);
	CHECK(counter(name, "tx_packets") != 0);
	CHECK(counter(name, "tx_datagrams") >= counter(name, "tx_packets"));
	CHECK_EQ(counter(name, "tx_errors"), 0);
	CHECK_EQ(counter(name, "rx_forged"), 0);
	unload_ethernet();
}

static void without_room_for_broadcasts_it_stays_down(void)
{
	struct set s = make_set();
	struct exrnic_group group = { .group = 1 };
	char name[IFNAMSIZ];

	s.qp.service = EXRNIC_SERVICE_UD;
	if (create_qp_of(&s))
		give_up("CREATE_QP");
	group.qpn = s.qpn;
	while (!ioctl(s.fd, EXRNIC_IOCTL_ATTACH_GROUP, &group))
		group.group++;
	CHECK_EQ(errno, ENOSPC);
	load_ethernet(name);
	CHECK_ERR(set_interface_up(name, true), ENOSPC);
	group.group = 1;
	CHECK_ERR(ioctl(s.fd, EXRNIC_IOCTL_DETACH_GROUP, &group), 0);
	CHECK_ERR(set_interface_up(name, true), 0);
	unload_ethernet();
}

static void wait_for_carrier(const char *name)
{
	unsigned int waits;

	for (waits = 0; waits < WAITS && !has_right_carrier(name); waits++)
		usleep(WAIT_US);
	CHECK(has_right_carrier(name));
}

static void it_outlives_a_reset(void)
{
	char name[IFNAMSIZ], again[IFNAMSIZ], function[64], path[PATH_MAX];
	unsigned int times;

	load_ethernet(name);
	CHECK_ERR(set_interface_up(name, true), 0);
	pci_name(function, sizeof(function));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", function);
	for (times = 0; times < 3; times++) {
		write_file(path, "1");
		CHECK(find_netdev(again) && !strcmp(again, name));
		wait_for_carrier(name);
	}
	unload_ethernet();
}

static void it_goes_with_its_device(void)
{
	char name[IFNAMSIZ], function[64];

	load_ethernet(name);
	CHECK_ERR(set_interface_up(name, true), 0);
	pci_name(function, sizeof(function));
	write_file(DRIVER "/unbind", function);
	CHECK(!find_netdev(name));
	write_file(DRIVER "/bind", function);
	CHECK(find_netdev(name));
	CHECK_ERR(set_interface_up(name, true), 0);
	wait_for_carrier(name);
	unload_ethernet();
}

/* What its receives are flushed with is no error of theirs. */
static void it_begins_anew_when_its_queue_pair_fails(void)
{
	char name[IFNAMSIZ];
	unsigned int waits, times;

	if (access(KERNEL_USER, R_OK))
		skip("no " KERNEL_USER);
	load_ethernet(name);
	CHECK_ERR(set_interface_up(name, true), 0);
	for (times = 1; times <= 3 && !has_failed(); times++) {
		if (CHECK_ERR(load_module(KERNEL_USER, "check=ethernet"), 0))
			CHECK_ERR(unload_module("exrnic_kernel_user"), 0);
		for (waits = 0; waits < WAITS && counter(name, "restarts") < times; waits++)
			usleep(WAIT_US);
		CHECK_EQ(counter(name, "restarts"), times);
	}
	CHECK_EQ(counter(name, "rx_errors"), 0);
	wait_for_carrier(name);
	unload_ethernet();
}

static void others_in_the_kernel_find_it(void)
{
	char name[IFNAMSIZ];

	if (access(KERNEL_USER, R_OK))
		skip("no " KERNEL_USER);
	load_ethernet(name);
	CHECK_ERR(set_interface_up(name, true), 0);
	if (CHECK_ERR(load_module(KERNEL_USER, ""), 0))
		CHECK_ERR(unload_module("exrnic_kernel_user"), 0);
	unload_ethernet();
}

const struct test eth_tests[] = {
	{ "an Ethernet interface goes with its module while it is up",
	  it_goes_with_its_module_while_it_is_up, 0 },
	{ "an Ethernet interface gives back all it takes", it_gives_back_all_it_takes, 0 },
	{ "an Ethernet interface's MTU has bounds", its_mtu_has_bounds, 0 },
	{ "what an Ethernet interface sends is counted", what_it_sends_is_counted, 0 },
	{ "an Ethernet interface without room for broadcasts stays down",
	  without_room_for_broadcasts_it_stays_down, 0 },
	{ "an Ethernet interface outlives a reset", it_outlives_a_reset, 0 },
	{ "an Ethernet interface goes with its device", it_goes_with_its_device, 0 },
	{ "an Ethernet interface begins anew when its queue pair fails",
	  it_begins_anew_when_its_queue_pair_fails, 0 },
	{ "an Ethernet interface is found by others in the kernel", others_in_the_kernel_find_it, 0 },
	{ NULL, NULL, 0 },
};
