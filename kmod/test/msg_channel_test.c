// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Message channels: their memory, their owners, and firmware that is started again. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support.h"
#include "work.h"

enum { LENGTH = 8 * 4096, WORK = 4096, EVENTS = 2 * 4096, SLOTS_AT = 4 * 4096, LOG_RING = 4 };
enum { PATIENCE_MS = 10000 };
static const uint64_t wide_cookie = 0xfedcba9876543210;

struct owner {
	int fd;
	char *memory;
	volatile uint64_t *bell;
	uint32_t posted;
};

static struct exrnic_create_msg_channel good_channel(const struct owner *owner)
{
	return (struct exrnic_create_msg_channel){
		.address = (uintptr_t)owner->memory,
		.length = LENGTH,
		.number = 1,
		.work = WORK,
		.log_work = LOG_RING,
		.events = EVENTS,
		.log_events = LOG_RING,
		.slots = SLOTS_AT,
		.slot_bytes = 4096,
		.num_slots = 4,
		.channel_fd = EXRNIC_NO_CHANNEL,
	};
}

static struct owner make_owner(void)
{
	struct owner owner = { .fd = open_device(), .memory = pages(LENGTH / PAGE) };
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, owner.fd,
			  EXRNIC_MMAP_USER_PAGE);

	if (page == MAP_FAILED)
		give_up("the user page");
	owner.bell = (uint64_t *)(page + EXRNIC_DOORBELL_FIRMWARE);
	return owner;
}

static int create(const struct owner *owner, uint32_t number)
{
	struct exrnic_create_msg_channel channel = good_channel(owner);

	channel.number = number;
	return ioctl(owner->fd, EXRNIC_IOCTL_CREATE_MSG_CHANNEL, &channel);
}

static int destroy(const struct owner *owner, uint32_t number)
{
	return object_ioctl(owner->fd, EXRNIC_IOCTL_DESTROY_MSG_CHANNEL, number);
}

static const volatile struct exrnic_channel_status *status_of(const struct owner *owner)
{
	return (const void *)owner->memory;
}

/* A message to no node, which is refused: so no peer is needed, and nothing comes. */
static void post(struct owner *owner)
{
	struct exrnic_channel_work work = {
		.opcode = EXRNIC_CHANNEL_OPCODE_SEND,
		.id = owner->posted,
		.target = EXRNIC_CHANNEL_NODES,
		.offset = SLOTS_AT,
	};

	memcpy(owner->memory + WORK + owner->posted % (1 << LOG_RING) * sizeof(work), &work,
	       sizeof(work));
	owner->posted++;
}

static void ring_number(struct owner *owner, uint32_t number)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*owner->bell = (uint64_t)owner->posted << 32 | number;
	__builtin_ia32_sfence();
}

static void ring(struct owner *owner)
{
	ring_number(owner, status_of(owner)->events);
}

/*
 * Rings, and waits until so many events are there. All bells say so until then: one may be overwritten by the next
 * before firmware has seen it.
 */
static void ring_armed(struct owner *owner, uint32_t awaited)
{
	ring_number(owner, EXRNIC_CHANNEL_ARMED | awaited << EXRNIC_CHANNEL_TAKEN_BITS |
				   status_of(owner)->events);
}

static void wait_for_work(const struct owner *owner)
{
	for (unsigned int waited = 0; status_of(owner)->work_done != owner->posted; waited++) {
		if (waited >= PATIENCE_MS) {
			printf("# %u of %u done\n", status_of(owner)->work_done, owner->posted);
			CHECK(!"work of a channel ends");
			return;
		}
		usleep(1000);
	}
}

static void check_work(struct owner *owner)
{
	const struct exrnic_channel_event *event;

	post(owner);
	ring(owner);
	wait_for_work(owner);
	event = (const void *)(owner->memory + EVENTS +
			       (owner->posted - 1) % (1 << LOG_RING) * sizeof(*event));
	CHECK_EQ(event->serial, owner->posted);
	CHECK_EQ(event->id, owner->posted - 1);
	CHECK_EQ(event->kind, EXRNIC_CHANNEL_EVENT_KIND_FAILURE);
	CHECK_EQ(event->status, EXRNIC_CHANNEL_EVENT_STATUS_MALFORMED);
}

static void firmware_serves_its_rings(void)
{
	struct owner owner = make_owner();

	skip_without_processor();
	CHECK_ERR(create(&owner, 0), 0);
	CHECK_EQ(status_of(&owner)->epoch, 1);
	for (int i = 0; i < 40; i++)
		check_work(&owner);
	CHECK_ERR(destroy(&owner, 0), 0);
	CHECK_ERR(destroy(&owner, 0), ENOENT);
}

/* Behind the end of a channel its memory is the process's alone. */
static void its_memory_is_quiet_behind_its_end(void)
{
	struct owner owner = make_owner();

	skip_without_processor();
	CHECK_ERR(create(&owner, 0), 0);
	for (int i = 0; i < 8; i++)
		post(&owner);
	ring(&owner);
	CHECK_ERR(destroy(&owner, 0), 0);
	memset(owner.memory, 0x5a, LENGTH);
	ring(&owner);
	usleep(20000);
	for (size_t i = 0; i < LENGTH; i++)
		if (!CHECK_EQ(owner.memory[i], 0x5a))
			break;
}

static void a_file_and_a_number_have_one(void)
{
	struct owner one = make_owner(), other = make_owner();

	skip_without_processor();
	CHECK_ERR(create(&one, 2), 0);
	CHECK_ERR(create(&one, 3), EBUSY);
	CHECK_ERR(create(&other, 2), EBUSY);
	CHECK_ERR(destroy(&other, 2), ENOENT);
	CHECK_ERR(destroy(&one, 3), ENOENT);
	CHECK_ERR(create(&other, 3), 0);
	check_work(&one);
	check_work(&other);
	close(one.fd);
	munmap((char *)one.bell - EXRNIC_DOORBELL_FIRMWARE, PAGE);
	CHECK_ERR(destroy(&other, 3), 0);
	memset(other.memory, 0, LENGTH);
	other.posted = 0;
	CHECK_ERR(create(&other, 2), 0);
	check_work(&other);
}

/* With channel number `number`, whose events come to the result. */
static int create_with_events(const struct owner *owner, uint32_t number, uint64_t cookie)
{
	struct exrnic_create_msg_channel channel = good_channel(owner);

	channel.number = number;
	channel.cookie = cookie;
	channel.channel_fd = create_channel(owner->fd);
	CHECK_ERR(ioctl(owner->fd, EXRNIC_IOCTL_CREATE_MSG_CHANNEL, &channel), 0);
	return channel.channel_fd;
}

static void check_told(int events, uint32_t number, uint64_t cookie)
{
	struct exrnic_event event = next_event(events);

	CHECK_EQ(event.type, EXRNIC_EVENT_MESSAGE);
	CHECK_EQ(event.handle, number);
	CHECK_EQ(event.cookie, cookie);
	CHECK_EQ(poll_now(events), 0);
}

static void who_waits_is_told_once(void)
{
	struct owner owner = make_owner();
	int events;

	skip_without_processor();
	events = create_with_events(&owner, 1, wide_cookie);
	check_work(&owner);
	usleep(20000);
	CHECK_EQ(poll_now(events), 0);
	for (uint32_t i = 1; i < 40; i++) {
		ring_armed(&owner, i + 1);
		CHECK_EQ(poll_now(events), 0);
		post(&owner);
		ring_armed(&owner, i + 1);
		check_told(events, 1, wide_cookie);
		CHECK_EQ(((const struct exrnic_channel_event *)(owner.memory + EVENTS))
				 [i % (1 << LOG_RING)].serial, i + 1);
		wait_for_work(&owner);
	}
	check_work(&owner);
	usleep(20000);
	CHECK_EQ(poll_now(events), 0);
	ring_armed(&owner, owner.posted);	/* they are there already */
	check_told(events, 1, wide_cookie);
	CHECK_ERR(destroy(&owner, 1), 0);
}

static void only_its_owner_is_told(void)
{
	struct owner one = make_owner(), other = make_owner();
	int of_one, of_other;

	skip_without_processor();
	of_one = create_with_events(&one, 2, 1);
	of_other = create_with_events(&other, 3, 2);
	ring_armed(&one, 1);
	ring_armed(&other, 1);
	post(&one);
	ring_armed(&one, 1);
	check_told(of_one, 2, 1);
	CHECK_EQ(poll_now(of_other), 0);
	post(&other);
	ring_armed(&other, 1);
	check_told(of_other, 3, 2);
	CHECK_EQ(poll_now(of_one), 0);
	/* What has not been read goes with the channel, and its number to somebody else. */
	wait_for_work(&one);
	ring_armed(&one, 2);
	post(&one);
	ring_armed(&one, 2);
	wait_for_input(of_one);
	ring_armed(&one, 3);
	CHECK_ERR(destroy(&one, 2), 0);
	CHECK_EQ(poll_now(of_one), 0);
	CHECK_ERR(destroy(&other, 3), 0);
	memset(other.memory, 0, LENGTH);
	other.posted = 0;
	close(of_other);
	of_other = create_with_events(&other, 2, 3);
	check_work(&other);
	usleep(20000);
	CHECK_EQ(poll_now(of_other), 0);
	ring_armed(&other, 2);
	post(&other);
	ring_armed(&other, 2);
	check_told(of_other, 2, 3);
	/* Its file descriptor may go first. */
	close(of_other);
	wait_for_work(&other);
	ring_armed(&other, 3);
	check_work(&other);
	close(one.fd);
	munmap((char *)one.bell - EXRNIC_DOORBELL_FIRMWARE, PAGE);
	CHECK_EQ(poll_now(of_one), POLLHUP);
}

enum { BELLS = 4000, AWAITED = 13 };

static double seconds(clockid_t clock, int (*get)(clockid_t, struct timespec *))
{
	struct timespec t;

	get(clock, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/*
 * Each bell asks for another number of events that are there, and so firmware wakes the process each
 * time. Who has been told is not told anew: then the driver pauses for a jiffy, the unit of the coarse clock.
 */
static void bells_do_not_flood(void)
{
	const double jiffy = seconds(CLOCK_MONOTONIC_COARSE, clock_getres);
	struct owner owner = make_owner();
	long long interrupts;
	double time;
	int events;

	skip_without_processor();
	events = create_with_events(&owner, 1, wide_cookie);
	for (int i = 0; i < AWAITED; i++)
		check_work(&owner);
	interrupts = control_interrupts();
	time = seconds(CLOCK_MONOTONIC, clock_gettime);
	for (uint32_t i = 0; i < BELLS; i++) {
		ring_armed(&owner, 1 + i % AWAITED);
		usleep(100);
	}
	time = seconds(CLOCK_MONOTONIC, clock_gettime) - time;
	interrupts = control_interrupts() - interrupts;
	printf("# %lld interrupts in %.3f s, of %.3f jiffies\n", interrupts, time, time / jiffy);
	CHECK(interrupts >= 1 && interrupts < 10 + 1.2 * time / jiffy);
	CHECK_EQ(next_event(events).cookie, wide_cookie);
	/* Whoever waits is told, in spite of all that. */
	ring_armed(&owner, owner.posted + 1);
	usleep(20000);
	while (poll_now(events))
		next_event(events);
	check_work(&owner);
	check_told(events, 1, wide_cookie);
}

static void a_process_that_sleeps_may_die(void)
{
	struct owner owner;
	int status;
	pid_t pid;

	skip_without_processor();
	for (int i = 0; i < 10; i++) {
		pid = fork();
		if (pid == 0) {
			owner = make_owner();
			create_with_events(&owner, 1, 7);
			ring_armed(&owner, 1);
			for (int n = 0; n < 8; n++)
				post(&owner);
			ring_armed(&owner, 1);
			_exit(has_failed());
		}
		waitpid(pid, &status, 0);
		CHECK_EQ(status, 0);
	}
	owner = make_owner();
	CHECK_EQ(poll_now(create_with_events(&owner, 1, 8)), 0);
	check_work(&owner);
}

#define CHECK_REFUSED(field, value, want) do { \
	struct exrnic_create_msg_channel bad = good_channel(&owner); \
\
	bad.field = (value); \
	CHECK_ERR(ioctl(owner.fd, EXRNIC_IOCTL_CREATE_MSG_CHANNEL, &bad), want); \
} while (0)

static void what_makes_no_sense_is_refused(void)
{
	struct owner owner = make_owner();
	char *gone = pages(LENGTH / PAGE);

	skip_without_processor();
	munmap(gone + PAGE, PAGE);
	CHECK_REFUSED(address, (uintptr_t)owner.memory + 64, EINVAL);
	CHECK_REFUSED(address, (uintptr_t)gone, EFAULT);
	CHECK_REFUSED(length, 0, EINVAL);
	CHECK_REFUSED(length, ~0ULL, EINVAL);
	CHECK_REFUSED(length, PAGE, EINVAL);
	CHECK_REFUSED(number, EXRNIC_FW_CHANNELS, EINVAL);
	CHECK_REFUSED(number, ~0U, EINVAL);
	CHECK_REFUSED(status, 8, EINVAL);
	CHECK_REFUSED(work, WORK + 4, EINVAL);
	CHECK_REFUSED(work, LENGTH, EINVAL);
	CHECK_REFUSED(log_work, EXRNIC_CHANNEL_RING_LOG_MIN - 1, EINVAL);
	CHECK_REFUSED(log_work, EXRNIC_CHANNEL_RING_LOG_MAX + 1, EINVAL);
	CHECK_REFUSED(log_work, ~0U, EINVAL);
	CHECK_REFUSED(events, EVENTS + 32, EINVAL);
	CHECK_REFUSED(events, ~0U - 63, EINVAL);
	CHECK_REFUSED(log_events, EXRNIC_CHANNEL_RING_LOG_MAX + 1, EINVAL);
	CHECK_REFUSED(slots, LENGTH, EINVAL);
	CHECK_REFUSED(slot_bytes, EXRNIC_CHANNEL_SLOT_MIN - 1, EINVAL);
	CHECK_REFUSED(slot_bytes, EXRNIC_CHANNEL_SLOT_MAX + 1, EINVAL);
	CHECK_REFUSED(num_slots, 0, EINVAL);
	CHECK_REFUSED(num_slots, EXRNIC_CHANNEL_SLOTS_MAX + 1, EINVAL);
	CHECK_REFUSED(channel_fd, -2, EBADF);
	CHECK_REFUSED(channel_fd, owner.fd, EINVAL);
	CHECK_REFUSED(channel_fd, create_channel(open_device()), EINVAL);
	CHECK_ERR(create(&owner, 1), 0);
	check_work(&owner);
}

static void goes_on_when_firmware_is_started_again(void)
{
	struct owner owner = make_owner();

	skip_without_processor();
	CHECK_ERR(create(&owner, 1), 0);
	check_work(&owner);
	post(&owner);
	CHECK_EQ(load_firmware(GOOD_FIRMWARE), 0);
	CHECK_EQ(status_of(&owner)->epoch, 2);
	ring(&owner);
	wait_for_work(&owner);
	check_work(&owner);
	/* It fails, and the driver starts it again. */
	CHECK_EQ(load_firmware(FAULTY_FIRMWARE), 0);
	CHECK_EQ(read_firmware_info(), EIO);
	wait_for_firmware("ready");
	CHECK_EQ(load_firmware(GOOD_FIRMWARE), 0);
	check_work(&owner);
	CHECK_ERR(destroy(&owner, 1), 0);
}

static void firmware_that_is_started_again_tells(void)
{
	struct owner owner = make_owner();
	int events;

	skip_without_processor();
	events = create_with_events(&owner, 1, 5);
	ring_armed(&owner, 1);
	CHECK_EQ(load_firmware(GOOD_FIRMWARE), 0);
	check_told(events, 1, 5);
	CHECK_EQ(status_of(&owner)->epoch, 2);
	ring_armed(&owner, 1);
	usleep(20000);
	CHECK_EQ(poll_now(events), 0);
	post(&owner);
	ring_armed(&owner, 1);
	check_told(events, 1, 5);
	CHECK_ERR(destroy(&owner, 1), 0);
}

static void needs_firmware(void)
{
	struct owner owner = make_owner(), late = make_owner();

	skip_without_processor();
	CHECK_EQ(load_firmware(GOOD_FIRMWARE), 0);
	CHECK_ERR(create(&owner, 1), 0);
	CHECK_EQ(load_firmware(FAULTY_FIRMWARE), 0);
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(read_firmware_info(), EIO);
		wait_for_firmware(i < 3 ? "ready" : "stopped");
	}
	CHECK_ERR(create(&late, 2), EOPNOTSUPP);
	CHECK_ERR(destroy(&owner, 1), 0);
	CHECK_EQ(load_firmware(GOOD_FIRMWARE), 0);
	CHECK_ERR(create(&late, 2), 0);
	check_work(&late);
}

/* Firmware may have opened it, or may do so yet: whoever gets the number next must not find it open. */
static void firmware_that_does_not_answer(void)
{
	const char *timeout = "/sys/module/exrnic/parameters/firmware_timeout_ms";
	struct owner owner = make_owner(), other = make_owner(), late = make_owner();
	int log = open_log();

	skip_without_processor();
	CHECK_EQ(load_firmware(GOOD_FIRMWARE), 0);
	CHECK_ERR(create(&other, 2), 0);
	write_file(timeout, "0");
	CHECK_ERR(create(&owner, 1), EIO);
	CHECK(log_has(log, "no answer to command CHANNEL_OPEN in 0 ms"));
	close(log);
	write_file(timeout, "10000");
	wait_for_firmware("ready");
	CHECK_ERR(create(&owner, 1), 0);
	check_work(&owner);
	/* What was open is so again, for others. */
	CHECK_EQ(status_of(&other)->epoch, 2);
	check_work(&other);
	/* Nor when its end is not confirmed. */
	write_file(timeout, "0");
	CHECK_ERR(destroy(&owner, 1), 0);
	write_file(timeout, "10000");
	wait_for_firmware("ready");
	CHECK_ERR(create(&late, 1), 0);
	check_work(&late);
	CHECK_EQ(load_firmware(GOOD_FIRMWARE), 0);
}

static void one_user_leaves_some_to_others(void)
{
	enum { SHARE = EXRNIC_FW_CHANNELS / 2 };
	struct owner owners[SHARE + 1];
	uint32_t i;

	skip_without_processor();
	become_nobody(2 * (SHARE + 1) * LENGTH / PAGE);
	for (i = 0; i <= SHARE; i++) {
		owners[i] = make_owner();
		CHECK_ERR(create(&owners[i], i), i < SHARE ? 0 : EDQUOT);
	}
	CHECK_ERR(destroy(&owners[0], 0), 0);
	CHECK_ERR(create(&owners[SHARE], 0), 0);
}

const struct test msg_channel_tests[] = {
	{ "firmware serves the rings of a message channel", firmware_serves_its_rings, 0 },
	{ "behind the end of a message channel nobody writes to its memory",
	  its_memory_is_quiet_behind_its_end, 0 },
	{ "a file has one message channel, and a message channel one file",
	  a_file_and_a_number_have_one, 0 },
	{ "who waits for a message channel is told of its next event, once", who_waits_is_told_once, 0 },
	{ "only the owner of a message channel is told of its events", only_its_owner_is_told, 0 },
	{ "a process that waits for a message channel may die", a_process_that_sleeps_may_die, 0 },
	{ "bells of a message channel do not flood the driver with interrupts", bells_do_not_flood, 0 },
	{ "firmware that is started again tells who waits for a message channel",
	  firmware_that_is_started_again_tells, 0 },
	{ "a message channel that makes no sense is refused", what_makes_no_sense_is_refused, 0 },
	{ "a message channel goes on when firmware is started again",
	  goes_on_when_firmware_is_started_again, 0 },
	{ "a message channel needs firmware", needs_firmware, 0 },
	{ "firmware that does not answer in time leaves no message channel open",
	  firmware_that_does_not_answer, 0 },
	{ "one user leaves message channels to others", one_user_leaves_some_to_others, 0 },
	{ NULL, NULL, 0 },
};
