/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Firmware of the on-chip processor, by sysfs. */
#ifndef EXRNIC_KMOD_TEST_FIRMWARE_H
#define EXRNIC_KMOD_TEST_FIRMWARE_H

#define GOOD_FIRMWARE "exrnic/firmware.bin"
#define FAULTY_FIRMWARE "exrnic/faulty.bin"	/* asserts when it is queried */

void skip_without_processor(void);
/* Both: 0, or an errno. */
int load_firmware(const char *name);
int read_firmware_info(void);
/* Fails the test if it does not get there. */
void wait_for_firmware(const char *state);

#endif
