// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the RDMA subsystem, and users of it within the kernel, find in the device: exrnic_ib.ko. In a guest with the modules
 * of that subsystem (sim/launch --world).
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tenant.h"

#define NAME "exrnic_verbs_user"

static void skip_without_verbs(void)
{
	if (access("/sys/class/infiniband/exrnic_0", F_OK))
		skip("no RDMA device");
}

/* Where the guest's own image is: what runs in a distribution has another root. */
static const char *module_path(void)
{
	static const char *const places[] = { "/lib/" NAME ".ko", "/proc/1/root/lib/" NAME ".ko" };

	for (unsigned int i = 0; i < 2; i++)
		if (!access(places[i], R_OK))
			return places[i];
	skip("no " NAME ".ko");
	return NULL;
}

static void check_in_kernel(const char *check)
{
	char parameters[64];

	skip_without_verbs();
	snprintf(parameters, sizeof(parameters), "check=%s", check);
	if (CHECK_ERR(load_module(module_path(), parameters), 0))
		CHECK_ERR(unload_module(NAME), 0);
}

static long long forged_mads(void)
{
	char text[32];

	skip_without_verbs();
	read_file("/sys/class/infiniband/exrnic_0/hw_counters/forged_mads", text, sizeof(text));
	return atoll(text);
}

static void forgeries(void)
{
	const long long before = forged_mads();

	check_in_kernel("mads");
	CHECK_EQ(forged_mads() - before, 2);
}

static void services_stay(void)
{
	check_in_kernel("services");
}

static void numbers(void)
{
	check_in_kernel("numbers");
}

static void bind_anew(void)
{
	char name[64];

	pci_name(name, sizeof(name));
	write_file(DRIVER "/unbind", name);
	write_file(DRIVER "/bind", name);
}

static void death_flushes(void)
{
	check_in_kernel("death");
	bind_anew();
}

const struct test verbs_tests[] = {
	{ "verbs: what is too short for a MAD, or a request to connect in another node's name, is blanked and counted, and nothing else",
	  forgeries, 0 },
	{ "verbs: the general services go on behind a MAD that cannot be read", services_stay, 0 },
	{ "verbs: a queue pair is known as long as it is, also if it has the number of one that ends",
	  numbers, 120 },
	{ "verbs: what kernel users have posted is flushed when the device dies, and what they post then",
	  death_flushes, 0 },
	{ NULL, NULL, 0 },
};
