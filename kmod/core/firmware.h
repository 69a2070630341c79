/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Firmware of the on-chip processor. The data path needs none: whatever goes wrong here is told
 * in the log and leaves the device as it is.
 */
#ifndef EXRNIC_FIRMWARE_H
#define EXRNIC_FIRMWARE_H

#include "device.h"

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

#endif
