/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Firmware of the on-chip processor. The data path needs none: whatever goes wrong here is told
 * in the log and leaves the device as it is.
 */
#ifndef EXRNIC_FIRMWARE_H
#define EXRNIC_FIRMWARE_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "exrnic_hw.h"

struct exrnic_device;
struct exrnic_event_source;
struct attribute_group;

struct exrnic_firmware {
	struct work_struct work;
	struct mutex lock;
	bool present;		/* there is a processor */
	bool running;		/* image runs, as far as the driver knows */
	bool silent;		/* stopped, as it did not answer; to be started again */
	u32 version;		/* as the image's head says */
	u32 restarts;		/* after failures, of this image */
	__le32 *image;		/* payload, kept to start it again */
	u32 bytes;
	/* Open ones, which are told to firmware whenever it starts. */
	const struct exrnic_channel_open *channels[EXRNIC_FW_CHANNELS];
	spinlock_t wake_lock;	/* also in interrupts */
	struct exrnic_event_source *messages[EXRNIC_FW_CHANNELS];	/* of these */
};

void exrnic_firmware_init(struct exrnic_device *edev);
void exrnic_firmware_free(struct exrnic_device *edev);
/* Runs the image that is kept, or the default one, if there are a processor and an image. Sleeps. */
void exrnic_firmware_start(struct exrnic_device *edev);
void exrnic_firmware_stop(struct exrnic_device *edev);
/*
 * After EXRNIC_INT_CAUSE_FIRMWARE, from its interrupt: wakes whom firmware wakes. If it has failed, a thread
 * of its own says why and starts it again, and no event of a queue waits for that. False: it wakes only who
 * has been told, or does not want to be, as it does for a process that rings without end.
 */
bool exrnic_firmware_notice(struct exrnic_device *edev);

/*
 * Opens channel open->channel (below EXRNIC_FW_CHANNELS), and again whenever firmware starts. -EBUSY: somebody
 * has it; -EOPNOTSUPP: no firmware runs; -EINVAL: firmware found a value bad; -EIO: it failed, or did not
 * answer in time, and is started again without the channel. *open stays as it is until the channel is closed; message: raised when firmware wakes its process.
 */
int exrnic_firmware_open_channel(struct exrnic_device *edev,
				 const struct exrnic_channel_open *open,
				 struct exrnic_event_source *message);
/* Behind this firmware knows nothing of it, or does not run, and nobody raises its event. */
void exrnic_firmware_close_channel(struct exrnic_device *edev,
				   const struct exrnic_channel_open *open);

extern const struct attribute_group exrnic_firmware_group;

#endif
