// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The life of a device: from probe until the last context lets go of it. */
#include <linux/gfp.h>
#include <linux/slab.h>

#include "exrnic_core.h"
#include "exrnic_mbox.h"

struct exrnic_device *exrnic_device_alloc(struct pci_dev *pdev)
{
	struct exrnic_device *edev = kzalloc(sizeof(*edev), GFP_KERNEL);

	if (!edev)
		return NULL;
	edev->state_page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!edev->state_page) {
		kfree(edev);
		return NULL;
	}
	kref_init(&edev->ref);
	edev->pdev = pci_dev_get(pdev);
	exrnic_mbox_init(&edev->mbox);
	exrnic_async_init(edev);
	exrnic_watch_init(edev);
	exrnic_firmware_init(edev);
	ida_init(&edev->pages);
	ida_init(&edev->pds);
	xa_init_flags(&edev->cqs, XA_FLAGS_ALLOC);
	xa_init_flags(&edev->srqs, XA_FLAGS_ALLOC);
	xa_init_flags(&edev->qps, XA_FLAGS_ALLOC);
	mutex_init(&edev->counters_lock);
	mutex_init(&edev->stags.lock);
	mutex_init(&edev->windows_lock);
	spin_lock_init(&edev->ports_lock);
	mutex_init(&edev->lock);
	INIT_LIST_HEAD(&edev->ucontexts);
	exrnic_limits_init(edev);
	return edev;
}

/* Contexts of the life before keep the state page that says so. */
int exrnic_device_renew(struct exrnic_device *edev)
{
	const struct exrnic_state_page *state = page_address(edev->state_page);
	struct page *page;

	if (!state->gone)
		return 0;
	page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!page)
		return -ENOMEM;
	put_page(edev->state_page);
	edev->state_page = page;
	return 0;
}

/* The tables whose sizes the device has told. All its lives have the same. */
int exrnic_device_init_tables(struct exrnic_device *edev)
{
	if (edev->stags.size == edev->limits.stag)
		return 0;
	if (edev->stags.size) {
		dev_err(&edev->pdev->dev, "the device had %u STags before, and has %u: bind the driver anew\n",
			edev->stags.size, edev->limits.stag);
		return -ENODEV;
	}
	return exrnic_stags_init(&edev->stags, edev->limits.stag);
}

static void exrnic_device_free(struct kref *ref)
{
	struct exrnic_device *edev = container_of(ref, struct exrnic_device, ref);

	exrnic_limits_fini(edev);
	exrnic_firmware_free(edev);
	exrnic_stags_fini(&edev->stags);
	xa_destroy(&edev->qps);
	xa_destroy(&edev->srqs);
	xa_destroy(&edev->cqs);
	ida_destroy(&edev->pds);
	ida_destroy(&edev->pages);
	pci_dev_put(edev->pdev);
	put_page(edev->state_page);
	kfree(edev);
}

void exrnic_device_put(struct exrnic_device *edev)
{
	kref_put(&edev->ref, exrnic_device_free);
}

/* Reserves the lowest that is free, below limit. */
int exrnic_number_alloc(struct xarray *table, u32 limit, u32 *number)
{
	int err = xa_alloc(table, number, NULL, XA_LIMIT(0, limit - 1), GFP_KERNEL);

	return err == -EBUSY ? -ENOSPC : err;
}

void exrnic_device_gone(struct exrnic_device *edev)
{
	struct exrnic_state_page *state = page_address(edev->state_page);

	WRITE_ONCE(state->gone, 1);
}

void exrnic_device_associate(struct exrnic_device *edev)
{
	mutex_lock(&edev->lock);
	edev->removed = false;
	mutex_unlock(&edev->lock);
}

/*
 * Takes all objects from all contexts, while the driver may still talk to the device and map
 * DMA for it. The contexts live on, empty and dead, until their faces destroy them.
 */
void exrnic_device_disassociate(struct exrnic_device *edev)
{
	struct exrnic_ucontext *uctx;

	exrnic_device_gone(edev);
	mutex_lock(&edev->lock);
	edev->removed = true;
	list_for_each_entry(uctx, &edev->ucontexts, entry)
		exrnic_ucontext_disassociate(uctx);
	mutex_unlock(&edev->lock);
}
