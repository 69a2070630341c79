// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Loading firmware through sysfs, from /lib/firmware/exrnic of the guest. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

#define FOLDER "/lib/firmware/exrnic/"
#define BAD_NAME "exrnic/made-by-a-test.bin"

enum { RESTARTS = 3, PATIENCE_MS = 10000 };

struct image {
	struct exrnic_fw_image head;
	uint8_t payload[EXRNIC_FW_MEMORY_BYTES + 4];
};

static void read_sysfs(const char *file, char *text, size_t size)
{
	char path[PATH_MAX];

	sysfs_path(path, sizeof(path), file);
	read_file(path, text, size);
}

static bool state_is(const char *state)
{
	char text[32];

	read_sysfs("firmware/state", text, sizeof(text));
	return !strcmp(text, state);
}

void skip_without_processor(void)
{
	if (state_is("none"))
		skip("no on-chip processor");
	if (access(FOLDER "firmware.bin", R_OK))
		skip("no firmware in this guest");
}

int load_firmware(const char *name)
{
	char path[PATH_MAX];
	int fd, err;

	sysfs_path(path, sizeof(path), "firmware/load");
	fd = open(path, O_WRONLY);
	if (fd < 0)
		give_up(path);
	err = write(fd, name, strlen(name)) < 0 ? errno : 0;
	close(fd);
	return err;
}

int read_firmware_info(void)
{
	char path[PATH_MAX], text[256];
	int fd, err;

	sysfs_path(path, sizeof(path), "firmware/info");
	fd = open(path, O_RDONLY);
	if (fd < 0)
		give_up(path);
	err = read(fd, text, sizeof(text)) < 0 ? errno : 0;
	close(fd);
	return err;
}

void wait_for_firmware(const char *state)
{
	unsigned int waited;

	for (waited = 0; !state_is(state); waited += 10) {
		if (waited >= PATIENCE_MS) {
			printf("# firmware is not %s after %u ms\n", state, waited);
			CHECK(!"the state of firmware");
			return;
		}
		usleep(10000);
	}
}

static size_t read_image(struct image *image)
{
	int fd = open(FOLDER "firmware.bin", O_RDONLY);
	ssize_t size = fd < 0 ? -1 : read(fd, image, sizeof(*image));

	if (size < (ssize_t)sizeof(image->head))
		give_up(FOLDER "firmware.bin");
	close(fd);
	return size;
}

static int load_changed(const struct image *image, size_t size)
{
	int fd = open(FOLDER "made-by-a-test.bin", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	int err;

	if (fd < 0 || write(fd, image, size) != (ssize_t)size)
		give_up(FOLDER "made-by-a-test.bin");
	close(fd);
	err = load_firmware(BAD_NAME);
	unlink(FOLDER "made-by-a-test.bin");
	return err;
}

static uint32_t crc_of(const uint8_t *bytes, size_t size)
{
	uint32_t crc = ~0u;

	while (size--) {
		crc ^= *bytes++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static void starts_and_answers(void)
{
	char version[32];

	skip_without_processor();
	CHECK_EQ(load_firmware(GOOD_FIRMWARE), 0);
	CHECK(state_is("ready"));
	read_sysfs("firmware/version", version, sizeof(version));
	CHECK(strchr(version, '.'));
	CHECK_EQ(read_firmware_info(), 0);
}

static void refuses_bad_images(void)
{
	struct image good, bad;
	size_t size;

	skip_without_processor();
	size = read_image(&good);
	CHECK_EQ(load_firmware(GOOD_FIRMWARE), 0);
	CHECK_EQ(load_firmware("exrnic/nowhere.bin"), ENOENT);
	CHECK_EQ(load_changed(&good, 0), EINVAL);
	CHECK_EQ(load_changed(&good, sizeof(good.head) - 1), EINVAL);
	CHECK_EQ(load_changed(&good, sizeof(good.head)), EINVAL);
	CHECK_EQ(load_changed(&good, size - 1), EINVAL);
	CHECK_EQ(load_changed(&good, size + 4), EINVAL);
	bad = good;
	bad.head.magic ^= 1;
	CHECK_EQ(load_changed(&bad, size), EINVAL);
	bad = good;
	bad.head.abi_version++;
	CHECK_EQ(load_changed(&bad, size), EINVAL);
	bad = good;
	bad.payload[5] ^= 0x10;
	CHECK_EQ(load_changed(&bad, size), EINVAL);
	bad = good;
	bad.head.length = EXRNIC_FW_MEMORY_BYTES + 4;
	bad.head.crc = crc_of(bad.payload, bad.head.length);
	CHECK_EQ(load_changed(&bad, sizeof(bad.head) + bad.head.length), EINVAL);
	/* None of them disturbed what ran. */
	CHECK(state_is("ready"));
	CHECK_EQ(read_firmware_info(), 0);
}

/* Some bits, a field of the head that is checked, or where it ends. */
static size_t change_at_random(struct fuzz *f, struct image *image, size_t size)
{
	uint32_t *fields[] = {
		&image->head.magic, &image->head.abi_version, &image->head.length, &image->head.crc,
	};
	uint8_t *bytes = (uint8_t *)image;

	switch (draw_below(f, 4)) {
	case 0:
		*fields[draw_below(f, 4)] = draw_word(f);
		return size;
	case 1:
		return draw_below(f, size + 8);
	case 2:
		image->head.length = draw_below(f, 2 * size);
		image->head.crc = crc_of(image->payload, size - sizeof(image->head));
		return size;
	default:
		for (int i = draw_below(f, 8); i >= 0; i--)
			bytes[draw_below(f, size)] ^= 1 << draw_below(f, 8);
		return size;
	}
}

/* What is neither checked nor told of firmware: its version, and what is reserved. */
static bool is_still_good(const struct image *image, const struct image *good, size_t size)
{
	return image->head.magic == good->head.magic &&
	       image->head.abi_version == good->head.abi_version &&
	       image->head.length == good->head.length && image->head.crc == good->head.crc &&
	       size == sizeof(good->head) + good->head.length &&
	       !memcmp(image->payload, good->payload, good->head.length);
}

static void refuses_random_images(void)
{
	struct image good, image;
	size_t size, changed;
	struct fuzz f;

	skip_without_processor();
	memset(&good, 0, sizeof(good));
	size = read_image(&good);
	CHECK_EQ(load_firmware(GOOD_FIRMWARE), 0);
	f = fuzz_start();
	while (fuzz_goes_on(&f) && !has_failed()) {
		image = good;
		changed = change_at_random(&f, &image, size);
		CHECK_EQ(load_changed(&image, changed),
			 is_still_good(&image, &good, changed) ? 0 : EINVAL);
	}
	fuzz_end(&f);
	/* None of them disturbed what ran. */
	CHECK(state_is("ready"));
	CHECK_EQ(read_firmware_info(), 0);
}

static void survives_garbage(void)
{
	struct image image;
	size_t size;

	skip_without_processor();
	size = read_image(&image);
	for (unsigned int seed = 1; seed <= 3; seed++) {
		srandom(seed);
		for (size_t i = 0; i < image.head.length; i++)
			image.payload[i] = random();
		image.head.crc = crc_of(image.payload, image.head.length);
		CHECK_EQ(load_changed(&image, size), EIO);
		CHECK(state_is("stopped"));
		CHECK_EQ(read_firmware_info(), ENODEV);
	}
	CHECK_EQ(load_firmware(GOOD_FIRMWARE), 0);
	CHECK_EQ(read_firmware_info(), 0);
}

static void is_started_again(void)
{
	char restarts[32];

	skip_without_processor();
	CHECK_EQ(load_firmware(FAULTY_FIRMWARE), 0);
	for (int i = 1; i <= RESTARTS; i++) {
		CHECK_EQ(read_firmware_info(), EIO);
		for (int waited = 0; waited < PATIENCE_MS; waited += 10) {
			read_sysfs("firmware/restarts", restarts, sizeof(restarts));
			if (atoi(restarts) == i)
				break;
			usleep(10000);
		}
		CHECK_EQ(atoi(restarts), i);
		wait_for_firmware("ready");
	}
	CHECK_EQ(read_firmware_info(), EIO);
	wait_for_firmware("stopped");
	CHECK_EQ(load_firmware(GOOD_FIRMWARE), 0);
	CHECK_EQ(read_firmware_info(), 0);
}

const struct test firmware_tests[] = {
	{ "firmware starts, tells its version, and answers", starts_and_answers, 0 },
	{ "an image that is missing, short, long, damaged or for another device is refused",
	  refuses_bad_images, 0 },
	{ "an image changed at random is refused, and what ran goes on", refuses_random_images, 0 },
	{ "firmware that never gets ready is an error, and the next image runs",
	  survives_garbage, 0 },
	{ "firmware that fails is started again, three times", is_started_again, 0 },
	{}
};
