/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Access to the registers of BAR 0, what the driver does with them outside the mailbox, and the ordering points
 * between driver and device, by purpose: README.md tells the whole story.
 */
#ifndef EXRNIC_REGS_H
#define EXRNIC_REGS_H

#include <asm/barrier.h>
#include <linux/io.h>

#include "device.h"

/* What a read returns when the device does not answer. */
#define EXRNIC_REG_ABSENT (~0u)

static inline u32 exrnic_read(struct exrnic_device *edev, u32 reg)
{
	return ioread32(edev->regs + reg);
}

static inline void exrnic_write(struct exrnic_device *edev, u32 reg, u32 value)
{
	iowrite32(value, edev->regs + reg);
}

static inline void exrnic_wmb_payload_before_command(void)
{
	/*
	 * The device reads PBLs as soon as it sees the command: what was stored to coherent
	 * memory, and the mailbox payload, must be visible before it.
	 */
	wmb();
}

static inline void exrnic_rmb_status_before_answer(void)
{
	/*
	 * The answer in MBOX_DATA is valid only behind a status other than BUSY. On the link,
	 * the completion of the status read also pushes every posted write that the device made
	 * before it: behind it, memory of an object that a command has destroyed is quiet.
	 */
	rmb();
}

static inline void exrnic_rmb_phase_before_event(void)
{
	/* The device has written an event before the phase that says so; nothing of it is read earlier. */
	dma_rmb();
}

/* A row of the generated EXRNIC_*_TABLEs. */
struct exrnic_value {
	u32 value;
	const char *name;
	const char *meaning;
};

/* As the data sheet calls it; "?": it has no such value. */
const char *exrnic_value_name(const struct exrnic_value *values, size_t count, u32 value);

/* Checks that this is a device that the driver knows, waits for its readiness, reads its limits. */
int exrnic_regs_identify(struct exrnic_device *edev);

void exrnic_regs_enable(struct exrnic_device *edev);
void exrnic_regs_disable(struct exrnic_device *edev);
/* Why what the driver has told the device is lost; NULL: it is not. */
const char *exrnic_regs_fault(struct exrnic_device *edev);

#endif
