/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Firmware of the on-chip processor. The data path needs none: whatever goes wrong here is told
 * in the log and leaves the device as it is.
 */
#ifndef EXRNIC_FIRMWARE_H
#define EXRNIC_FIRMWARE_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct exrnic_device;
struct attribute_group;

struct exrnic_firmware {
	struct work_struct work;
	struct mutex lock;
	bool present;		/* there is a processor */
	bool running;		/* image runs, as far as the driver knows */
	u32 version;		/* as the image's head says */
	u32 restarts;		/* after failures, of this image */
	__le32 *image;		/* payload, kept to start it again */
	u32 bytes;
};

void exrnic_firmware_init(struct exrnic_device *edev);
void exrnic_firmware_free(struct exrnic_device *edev);
/* Loads the default image, if there are a processor and an image. Sleeps. */
void exrnic_firmware_start(struct exrnic_device *edev);
void exrnic_firmware_stop(struct exrnic_device *edev);
/*
 * After EXRNIC_INT_CAUSE_FIRMWARE, from its interrupt: if firmware has failed, a thread of its own says
 * why and starts it again, and no event of a queue waits for that.
 */
void exrnic_firmware_notice(struct exrnic_device *edev);

extern const struct attribute_group exrnic_firmware_group;

#endif
