// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What one context, and all of them together, may hold: beyond what the tables of the device and
 * RLIMIT_MEMLOCK allow, as the administrator says. New limits hold for what comes after them.
 */
#include <linux/err.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "exrnic_core.h"

#define EXRNIC_PAGES_PER_MIB (1UL << (20 - PAGE_SHIFT))

static unsigned int max_objects;
module_param(max_objects, uint, 0644);
MODULE_PARM_DESC(max_objects, "Most objects of an open file; 0: as many as the device has");

static unsigned int max_pinned_mib;
module_param(max_pinned_mib, uint, 0644);
MODULE_PARM_DESC(max_pinned_mib, "Most memory that an open file may pin, MiB; 0: no limit");

static unsigned int max_device_pinned_mib;
module_param(max_device_pinned_mib, uint, 0644);
MODULE_PARM_DESC(max_device_pinned_mib, "Most memory pinned for a device, MiB; 0: no limit");

void *exrnic_object_alloc(struct exrnic_ucontext *uctx, size_t bytes)
{
	unsigned int limit = READ_ONCE(max_objects);
	void *object;

	if (limit && uctx->objects >= limit)
		return ERR_PTR(-EDQUOT);
	object = kzalloc(bytes, GFP_KERNEL_ACCOUNT);
	if (!object)
		return ERR_PTR(-ENOMEM);
	uctx->objects++;
	return object;
}

void exrnic_object_free(struct exrnic_ucontext *uctx, void *object)
{
	uctx->objects--;
	kfree(object);
}

static bool exrnic_limits_exceeded(u64 pages, unsigned int mib)
{
	return mib && pages > (u64)mib * EXRNIC_PAGES_PER_MIB;
}

int exrnic_limits_charge_pages(struct exrnic_ucontext *uctx, unsigned long pages)
{
	u64 total;

	if (exrnic_limits_exceeded(uctx->pinned + pages, READ_ONCE(max_pinned_mib)))
		return -EDQUOT;
	total = atomic64_add_return(pages, &uctx->edev->pinned);
	if (exrnic_limits_exceeded(total, READ_ONCE(max_device_pinned_mib))) {
		atomic64_sub(pages, &uctx->edev->pinned);
		return -EDQUOT;
	}
	uctx->pinned += pages;
	return 0;
}

void exrnic_limits_uncharge_pages(struct exrnic_ucontext *uctx, unsigned long pages)
{
	uctx->pinned -= pages;
	atomic64_sub(pages, &uctx->edev->pinned);
}
