// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A device can vanish, or be reset, while nobody gives it a command: programs that only wait for completions
 * would wait for ever. So it is looked at now and then, as long as somebody has it open.
 */
#include <linux/jiffies.h>

#include "exrnic_core.h"
#include "exrnic_mbox.h"
#include "exrnic_regs.h"

#define EXRNIC_WATCH_PERIOD msecs_to_jiffies(1000)

static void exrnic_watch_work(struct work_struct *work)
{
	struct exrnic_device *edev =
		container_of(to_delayed_work(work), struct exrnic_device, watch);

	const char *fault = list_empty(&edev->ucontexts) ? NULL : exrnic_regs_fault(edev);

	if (fault) {
		exrnic_mbox_break(edev, fault);
		return;
	}
	schedule_delayed_work(&edev->watch, EXRNIC_WATCH_PERIOD);
}

void exrnic_watch_init(struct exrnic_device *edev)
{
	INIT_DELAYED_WORK(&edev->watch, exrnic_watch_work);
}

void exrnic_watch_start(struct exrnic_device *edev)
{
	schedule_delayed_work(&edev->watch, EXRNIC_WATCH_PERIOD);
}

void exrnic_watch_stop(struct exrnic_device *edev)
{
	cancel_delayed_work_sync(&edev->watch);
}
