// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a driver on top of exrnic.ko, with queues in memory of the kernel, can do: exrnic_kernel_user.c does it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

#define MODULE "/lib/exrnic_kernel_user.ko"

/* Whether the kernel has memory mapped that this function has asked for. */
static bool has_mapping_of(const char *function)
{
	FILE *file = fopen("/proc/vmallocinfo", "r");
	char *line = NULL;
	size_t size = 0;
	bool found = false;

	if (!file)
		give_up("/proc/vmallocinfo");
	while (!found && getline(&line, &size, file) > 0)
		found = strstr(line, function);
	free(line);
	fclose(file);
	return found;
}

static void a_kernel_user_has_all_it_needs(void)
{
	if (access(MODULE, R_OK))
		skip("no " MODULE);
	CHECK(!has_mapping_of("exrnic_page_map"));
	if (CHECK_ERR(load_module(MODULE, ""), 0))
		CHECK_ERR(unload_module("exrnic_kernel_user"), 0);
	CHECK(!has_mapping_of("exrnic_page_map"));
}

const struct test kernel_user_tests[] = {
	{ "a user within the kernel maps a page, rings, hears of failures, and gives all back", a_kernel_user_has_all_it_needs, 0 },
	{ NULL, NULL, 0 },
};
