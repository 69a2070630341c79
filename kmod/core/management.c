// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Management frames of a fabric's manager on this host: what the device's agent sends and gets. */
#include <asm/byteorder.h>
#include <linux/string.h>

#include "exrnic_driver.h"
#include "regs.h"

#define EXRNIC_MANAGEMENT_WORDS (EXRNIC_MANAGEMENT_FRAME_BYTES / sizeof(u32))

/* What has come for the owner before is nobody's. */
static void exrnic_management_drop(struct exrnic_device *edev)
{
	unsigned int i;

	for (i = 0; i < EXRNIC_MANAGEMENT_WAITING; i++)
		exrnic_write(edev, EXRNIC_REG_MANAGEMENT_TAKEN, 1);
}

int exrnic_management_begin(struct exrnic_device *edev, const void *owner)
{
	int err = 0;

	mutex_lock(&edev->management_lock);
	if (!edev->manager) {
		edev->manager = owner;
		exrnic_management_drop(edev);
	}
	if (edev->manager != owner)
		err = -EBUSY;
	mutex_unlock(&edev->management_lock);
	return err;
}
EXRNIC_EXPORT(exrnic_management_begin);

void exrnic_management_end(struct exrnic_device *edev, const void *owner)
{
	mutex_lock(&edev->management_lock);
	if (edev->manager == owner)
		edev->manager = NULL;
	mutex_unlock(&edev->management_lock);
}
EXRNIC_EXPORT(exrnic_management_end);

static int exrnic_management_status(struct exrnic_device *edev, u32 *status)
{
	*status = exrnic_read(edev, EXRNIC_REG_MANAGEMENT_STATUS);
	return *status == EXRNIC_REG_ABSENT ? -ENODEV : 0;
}

int exrnic_management_send(struct exrnic_device *edev, const u8 *frame)
{
	unsigned int i;
	__le32 word;
	u32 status;
	int err;

	mutex_lock(&edev->management_lock);
	err = exrnic_management_status(edev, &status);
	if (!err && (status & EXRNIC_MANAGEMENT_STATUS_BITS_SENDING))
		err = -EAGAIN;
	for (i = 0; !err && i < EXRNIC_MANAGEMENT_WORDS; i++) {
		memcpy(&word, frame + i * sizeof(word), sizeof(word));
		exrnic_write(edev, EXRNIC_REG_MANAGEMENT_OUT + i * sizeof(word), le32_to_cpu(word));
	}
	if (!err)
		exrnic_write(edev, EXRNIC_REG_MANAGEMENT_SEND, 1);
	mutex_unlock(&edev->management_lock);
	return err;
}
EXRNIC_EXPORT(exrnic_management_send);

int exrnic_management_receive(struct exrnic_device *edev, u8 *frame)
{
	unsigned int i;
	__le32 word;
	u32 status;
	int err;

	mutex_lock(&edev->management_lock);
	err = exrnic_management_status(edev, &status);
	if (!err && !(status & EXRNIC_MANAGEMENT_STATUS_BITS_WAITING))
		err = -EAGAIN;
	for (i = 0; !err && i < EXRNIC_MANAGEMENT_WORDS; i++) {
		word = 0;
		if (exrnic_management_word_counts(frame, i))
			word = cpu_to_le32(exrnic_read(edev, EXRNIC_REG_MANAGEMENT_IN + i * sizeof(word)));
		memcpy(frame + i * sizeof(word), &word, sizeof(word));
	}
	if (!err)
		exrnic_write(edev, EXRNIC_REG_MANAGEMENT_TAKEN, 1);
	mutex_unlock(&edev->management_lock);
	return err;
}
EXRNIC_EXPORT(exrnic_management_receive);
