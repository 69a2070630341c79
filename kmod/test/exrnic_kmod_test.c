// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tests of exrnic.ko through its uapi, on whatever device is there. Runs as root in a guest.
 *
 *	exrnic-kmod-test [-d DEVICE] [-l TIMES] [-p PART/PARTS] [-s SEED] [-t MILLISECONDS] [-w WORD]
 *			 [WORD]
 *
 * Prints TAP, and the seconds of a test that took one or more; with WORD only tests whose name contains
 * it are run, with -w WORD only the others. Exit status 0 if none failed, and one passed at least.
 * PART/PARTS, such as 0/2 and 1/2: every second test, so that two machines share them.
 * With the WORD suspension it suspends the system to memory, and a clock must wake it up.
 * With the WORD wait-for-the-end it runs no test, but has objects until the device is gone.
 * TIMES, of a slow machine: the limit of each test is so many times as long.
 * SEED repeats a random test, which prints it; each takes so many milliseconds (500).
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"
#include "support.h"

enum { DEFAULT_SECONDS = 60 };

struct run {
	const char *word;
	const char *without;
	unsigned int part;
	unsigned int parts;
	unsigned int times;
	unsigned int seen;
	unsigned int count;
	unsigned int failures;
	unsigned int skipped;
};

static int run_in_child(const struct test *test, unsigned int times)
{
	unsigned int seconds = times * (test->seconds ? test->seconds : DEFAULT_SECONDS);
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child < 0)
		give_up("fork");
	if (!child) {
		alarm(seconds + fuzz_time() / 1000);
		test->run();
		fflush(stdout);
		_exit(has_failed());
	}
	if (waitpid(child, &status, 0) != child)
		give_up("waitpid");
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (WTERMSIG(status) == SIGALRM)
		printf("# not done after %u s\n", seconds);
	else
		printf("# killed by %s\n", strsignal(WTERMSIG(status)));
	return 1;
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

static void run_test(struct run *run, const struct test *test)
{
	long long pinned = pinned_pages();
	double begun = seconds_now();
	int status = run_in_child(test, run->times);
	double seconds = seconds_now() - begun;
	long long left = pinned_pages() - pinned;
	bool bad = (status && status != SKIPPED) || left;

	if (seconds >= 1)
		printf("# %.1f s\n", seconds);
	if (left)
		printf("# %lld pages stayed pinned\n", left);
	run->count++;
	run->failures += bad;
	run->skipped += !bad && status == SKIPPED;
	printf("%sok %u - %s%s\n", bad ? "not " : "", run->count, test->name,
	       status == SKIPPED ? " # SKIP" : "");
}

static void run_tests(struct run *run, const struct test *tests)
{
	for (; tests->name; tests++) {
		if (run->word && !strstr(tests->name, run->word))
			continue;
		if (run->without && strstr(tests->name, run->without))
			continue;
		if (run->seen++ % run->parts == run->part)
			run_test(run, tests);
	}
}

static void usage(const char *program)
{
	fprintf(stderr, "usage: %s [-d DEVICE] [-l TIMES] [-p PART/PARTS] [-s SEED] [-t MILLISECONDS] [-w WORD] [WORD]\n",
		program);
	exit(2);
}

static uint64_t parse_number(const char *program, const char *text)
{
	char *end;
	uint64_t number = strtoull(text, &end, 0);

	if (end == text || *end) {
		fprintf(stderr, "%s: \"%s\" is no number\n", program, text);
		usage(program);
	}
	return number;
}

static void parse_part(struct run *run, const char *program, const char *text)
{
	char rest;

	if (sscanf(text, "%u/%u%c", &run->part, &run->parts, &rest) != 2 ||
	    run->part >= run->parts) {
		fprintf(stderr, "%s: \"%s\" is no part: write 0/2 or 1/2\n", program, text);
		usage(program);
	}
}

static void parse(struct run *run, int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "d:l:p:s:t:w:")) != -1) {
		if (option == 'd')
			set_device_path(optarg);
		else if (option == 'l')
			run->times = (unsigned int)parse_number(argv[0], optarg);
		else if (option == 'p')
			parse_part(run, argv[0], optarg);
		else if (option == 's')
			set_fuzz_seed(parse_number(argv[0], optarg));
		else if (option == 't')
			set_fuzz_time(parse_number(argv[0], optarg));
		else if (option == 'w')
			run->without = optarg;
		else
			usage(argv[0]);
	}
	if (optind < argc)
		run->word = argv[optind];
}

int main(int argc, char **argv)
{
	struct run run = { .parts = 1, .times = 1 };

	parse(&run, argc, argv);
	if (run.word && !strcmp(run.word, "wait-for-the-end"))
		return wait_for_the_end();

	puts("TAP version 13");
	run_tests(&run, object_tests);
	run_tests(&run, srq_tests);
	run_tests(&run, resize_tests);
	run_tests(&run, channel_tests);
	run_tests(&run, event_tests);
	run_tests(&run, sweep_tests);
	run_tests(&run, error_tests);
	run_tests(&run, memory_tests);
	run_tests(&run, region_tests);
	run_tests(&run, rereg_tests);
	run_tests(&run, stag_tests);
	run_tests(&run, memory_window_tests);
	run_tests(&run, limit_tests);
	run_tests(&run, quota_tests);
	run_tests(&run, sysfs_tests);
	run_tests(&run, firmware_tests);
	run_tests(&run, msg_channel_tests);
	run_tests(&run, lookup_tests);
	run_tests(&run, management_tests);
	run_tests(&run, neighbour_tests);
	run_tests(&run, mmap_tests);
	run_tests(&run, fault_tests);
	run_tests(&run, life_tests);
	run_tests(&run, waiting_tests);
	run_tests(&run, window_tests);
	run_tests(&run, port_tests);
	run_tests(&run, kernel_user_tests);
	run_tests(&run, verbs_tests);
	run_tests(&run, eth_tests);
	run_tests(&run, death_tests);
	run_tests(&run, fuzz_ioctl_tests);
	run_tests(&run, fuzz_uverbs_tests);
	run_tests(&run, fuzz_rings_tests);
	run_tests(&run, fuzz_registers_tests);
	run_tests(&run, removal_tests);
	run_tests(&run, reset_tests);
	if (run.word && !strcmp(run.word, "suspension"))
		run_tests(&run, suspension_tests);
	printf("1..%u\n", run.count);
	printf("# %u passed, %u failed, %u skipped\n",
	       run.count - run.failures - run.skipped, run.failures, run.skipped);
	return run.failures || run.count == run.skipped;
}
