// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Message channels: their memory, their owners, and firmware that is started again. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "firmware.h"
#include "support.h"

enum { LENGTH = 8 * 4096, WORK = 4096, EVENTS = 2 * 4096, SLOTS_AT = 4 * 4096, LOG_RING = 4 };
enum { PATIENCE_MS = 10000 };

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

/* A message to the node itself, which is refused: so no peer is needed. */
static void post(struct owner *owner)
{
	struct exrnic_channel_work work = {
		.opcode = EXRNIC_CHANNEL_OPCODE_SEND,
		.id = owner->posted,
		.offset = SLOTS_AT,
	};
	struct exrnic_query q;

	if (query(owner->fd, &q))
		give_up("QUERY");
	work.target = q.node_id;
	memcpy(owner->memory + WORK + owner->posted % (1 << LOG_RING) * sizeof(work), &work,
	       sizeof(work));
	owner->posted++;
}

static void ring(struct owner *owner)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*owner->bell = (uint64_t)owner->posted << 32 | status_of(owner)->events;
	__builtin_ia32_sfence();
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
	CHECK_REFUSED(rsvd, 1, EINVAL);
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

const struct test msg_channel_tests[] = {
	{ "firmware serves the rings of a message channel", firmware_serves_its_rings, 0 },
	{ "behind the end of a message channel nobody writes to its memory",
	  its_memory_is_quiet_behind_its_end, 0 },
	{ "a file has one message channel, and a message channel one file",
	  a_file_and_a_number_have_one, 0 },
	{ "a message channel that makes no sense is refused", what_makes_no_sense_is_refused, 0 },
	{ "a message channel goes on when firmware is started again",
	  goes_on_when_firmware_is_started_again, 0 },
	{ "a message channel needs firmware", needs_firmware, 0 },
	{ NULL, NULL, 0 },
};
