/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Causes of the control interrupt become calls of those whom they concern. */
#ifndef EXRNIC_ASYNC_H
#define EXRNIC_ASYNC_H

#include "device.h"

#define EXRNIC_CAUSES_QUEUES \
	(EXRNIC_INT_CAUSE_QP_ERROR | EXRNIC_INT_CAUSE_CQ_ERROR | EXRNIC_INT_CAUSE_SRQ_LIMIT)
/* What exrnic_async_notice() takes. */
#define EXRNIC_CAUSES_ASYNC	(EXRNIC_CAUSES_QUEUES | EXRNIC_INT_CAUSE_LINK)
#define EXRNIC_ASYNC_FATAL	BIT(30)
/* What interrupts at all. */
#define EXRNIC_CAUSES \
	(EXRNIC_CAUSES_ASYNC | EXRNIC_INT_CAUSE_MBOX | EXRNIC_INT_CAUSE_FIRMWARE | \
	 EXRNIC_INT_CAUSE_HOST_SILENT)

enum exrnic_async_what {
	EXRNIC_ASYNC_QP_FAILED,
	EXRNIC_ASYNC_CQ_OVERRUN,
	EXRNIC_ASYNC_SRQ_LOW,
};

void exrnic_async_init(struct exrnic_device *edev);
void exrnic_async_cancel(struct exrnic_device *edev);
/*
 * A queue, whose number is reserved in that table of the device, from now on hears of itself; and no
 * longer: it exists on the device no more, and what has happened to it is forgotten.
 */
void exrnic_async_publish(struct exrnic_device *edev, struct xarray *table, u32 number,
			  void *object);
void exrnic_async_withdraw(struct exrnic_device *edev, struct xarray *table, u32 number,
			   enum exrnic_async_what what);
/* These causes do not interrupt again before a thread has dealt with them. Also from interrupts. */
void exrnic_async_notice(struct exrnic_device *edev, u32 causes);

#endif
