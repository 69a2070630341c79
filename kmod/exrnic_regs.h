/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Access to the registers of BAR 0, and what the driver does with them outside the mailbox. */
#ifndef EXRNIC_REGS_H
#define EXRNIC_REGS_H

#include <linux/io.h>

#include "exrnic_core.h"

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
/* Six bytes, in the order of the wire. */
void exrnic_regs_mac(struct exrnic_device *edev, u8 *mac);
/* One of enum exrnic_counter; sleeps. */
u64 exrnic_regs_counter(struct exrnic_device *edev, unsigned int index);
/* -ENODEV: the device does not answer. */
int exrnic_regs_query(struct exrnic_device *edev, struct exrnic_query *query);

#endif
