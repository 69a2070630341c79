// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A device has one life after the other: what it knows begins with its registers, and ends with its removal, a
 * reset, or the system's sleep. Between two lives its mailbox is retired, and nothing is scheduled.
 *
 * It can vanish, or be reset, while nobody gives it a command: programs that only wait for completions would
 * wait for ever. So it is looked at now and then, as long as somebody waits.
 */
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/iommu.h>
#include <linux/jiffies.h>
#include <linux/slab.h>

#include "mbox.h"
#include "regs.h"

/* A cause that comes up between read and clear is seen by the next pass; no device needs more. */
#define EXRNIC_CAUSE_PASSES 8

#define EXRNIC_FIRMWARE_PAUSE 1	/* jiffies */

#define EXRNIC_WATCH_PERIOD msecs_to_jiffies(1000)

/* ---- Interrupts of vector 0 */

/* For a jiffy firmware wakes nobody: it has woken only who did not want it. */
static void exrnic_life_pause_firmware(struct exrnic_device *edev)
{
	exrnic_write(edev, EXRNIC_REG_INT_ENABLE, EXRNIC_CAUSES & ~EXRNIC_INT_CAUSE_FIRMWARE);
	schedule_delayed_work(&edev->firmware_pause, EXRNIC_FIRMWARE_PAUSE);
}

static void exrnic_life_pause_ends(struct work_struct *work)
{
	struct exrnic_device *edev =
		container_of(to_delayed_work(work), struct exrnic_device, firmware_pause);

	exrnic_write(edev, EXRNIC_REG_INT_ENABLE, EXRNIC_CAUSES);
}

static irqreturn_t exrnic_life_control(struct exrnic_device *edev)
{
	irqreturn_t handled = IRQ_NONE;
	unsigned int pass;
	u32 cause;

	if (exrnic_async_interrupt(edev))
		handled = IRQ_HANDLED;
	for (pass = 0; pass < EXRNIC_CAUSE_PASSES; pass++) {
		cause = exrnic_read(edev, EXRNIC_REG_INT_CAUSE);
		if (cause == EXRNIC_REG_ABSENT || !(cause & EXRNIC_CAUSES))
			break;
		exrnic_write(edev, EXRNIC_REG_INT_CAUSE, cause);
		handled = IRQ_HANDLED;
		if (cause & EXRNIC_INT_CAUSE_MBOX)
			exrnic_mbox_interrupt(&edev->mbox);
		if ((cause & EXRNIC_INT_CAUSE_FIRMWARE) && !exrnic_firmware_notice(edev))
			exrnic_life_pause_firmware(edev);
	}
	return handled;
}

static int exrnic_life_begin_interrupts(struct exrnic_device *edev)
{
	int err = exrnic_vectors_init(edev);

	if (err)
		return err;
	exrnic_write(edev, EXRNIC_REG_INT_CAUSE, EXRNIC_CAUSES);
	exrnic_write(edev, EXRNIC_REG_INT_ENABLE, EXRNIC_CAUSES);
	return 0;
}

/* What they schedule ends with them, as the mailbox has been retired. */
static void exrnic_life_end_interrupts(struct exrnic_device *edev)
{
	exrnic_write(edev, EXRNIC_REG_INT_ENABLE, 0);
	exrnic_vectors_fini(edev);
	cancel_delayed_work_sync(&edev->firmware_pause);
	exrnic_async_fini(edev);
	exrnic_write(edev, EXRNIC_REG_INT_ENABLE, 0);	/* which a pause may have ended */
}

/* With the mailbox, before anybody has an object. */
static int exrnic_life_begin_events(struct exrnic_device *edev)
{
	int err = exrnic_async_begin(edev);

	if (err)
		return err;
	err = exrnic_vectors_begin(edev);
	if (err)
		dev_err(&edev->pdev->dev, "no event queue: error %d\n", err);
	return err;
}

static void exrnic_life_end_events(struct exrnic_device *edev)
{
	exrnic_vectors_end(edev);
	exrnic_async_end(edev);
}

static void exrnic_life_fatal(struct exrnic_device *edev)
{
	exrnic_async_notice(edev, EXRNIC_NOTICE_FATAL);
	exrnic_clients_cut_off(edev);
}

/* ---- Watch */

static void exrnic_watch_work(struct work_struct *work)
{
	struct exrnic_device *edev =
		container_of(to_delayed_work(work), struct exrnic_device, watch);
	const char *fault = atomic_read(&edev->watchers) ? exrnic_regs_fault(edev) : NULL;

	if (fault) {
		exrnic_mbox_break(edev, fault);
		return;
	}
	schedule_delayed_work(&edev->watch, EXRNIC_WATCH_PERIOD);
}

void exrnic_device_watch(struct exrnic_device *edev)
{
	atomic_inc(&edev->watchers);
}
EXRNIC_EXPORT(exrnic_device_watch);

void exrnic_device_unwatch(struct exrnic_device *edev)
{
	atomic_dec(&edev->watchers);
}
EXRNIC_EXPORT(exrnic_device_unwatch);

/* ---- DMA */

/* Whether the device reaches this page, and not a copy of it. An IOMMU's driver may want to be asked in vain. */
static bool exrnic_dma_is_direct(struct device *dev, struct page *page, dma_addr_t bus)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	return !dma_need_sync(dev, bus) ||
	       (domain && iommu_iova_to_phys(domain, bus) == page_to_phys(page));
}

/* -EOPNOTSUPP: the device would reach copies only. */
static int exrnic_dma_check(struct device *dev)
{
	struct page *page = alloc_page(GFP_KERNEL);
	int err = -ENOMEM;
	dma_addr_t bus;

	if (!page)
		return -ENOMEM;
	bus = dma_map_page_attrs(dev, page, 0, PAGE_SIZE, DMA_BIDIRECTIONAL, DMA_ATTR_SKIP_CPU_SYNC);
	if (!dma_mapping_error(dev, bus)) {
		err = exrnic_dma_is_direct(dev, page, bus) ? 0 : -EOPNOTSUPP;
		dma_unmap_page_attrs(dev, bus, PAGE_SIZE, DMA_BIDIRECTIONAL, DMA_ATTR_SKIP_CPU_SYNC);
	}
	__free_page(page);
	if (err == -EOPNOTSUPP)
		dev_err(dev, "DMA goes through bounce buffers (swiotlb=force, or memory is encrypted): the device must reach the memory of processes itself; use an IOMMU, or boot without that\n");
	return err;
}

static int exrnic_dma_init(struct pci_dev *pdev)
{
	int err = dma_set_mask_and_coherent(&pdev->dev, exrnic_pbl_bus_mask(&pdev->dev));

	if (err) {
		dev_err(&pdev->dev, "no 64-bit DMA: error %d\n", err);
		return err;
	}
	/* The device sees pages, not segments. */
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	dma_set_seg_boundary(&pdev->dev, ULONG_MAX);
	pci_set_master(pdev);
	return exrnic_dma_check(&pdev->dev);
}

/* ---- Lives */

/* The tables whose sizes the device has told. All its lives have the same. */
static int exrnic_life_init_tables(struct exrnic_device *edev)
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

static int exrnic_life_start(struct exrnic_device *edev)
{
	int err;

	err = exrnic_regs_identify(edev);
	if (err)
		return err;
	err = exrnic_life_init_tables(edev);
	if (err)
		return err;
	exrnic_mbox_renew(edev);
	err = exrnic_dma_init(edev->pdev);
	if (err)
		goto err_master;
	err = exrnic_life_begin_interrupts(edev);
	if (err)
		goto err_master;
	err = exrnic_mbox_nop(edev);
	if (err) {
		dev_err(&edev->pdev->dev, "the mailbox does not work: error %d\n", err);
		goto err_interrupts;
	}
	err = exrnic_life_begin_events(edev);
	if (err)
		goto err_events;
	exrnic_regs_enable(edev);
	exrnic_firmware_start(edev);
	schedule_delayed_work(&edev->watch, EXRNIC_WATCH_PERIOD);
	edev->started = true;
	return 0;

err_events:
	exrnic_life_end_events(edev);
err_interrupts:
	exrnic_mbox_retire(edev);
	exrnic_life_end_interrupts(edev);
	exrnic_firmware_stop(edev);
err_master:
	exrnic_mbox_retire(edev);
	pci_clear_master(edev->pdev);
	return err;
}

static void exrnic_life_stop(struct exrnic_device *edev)
{
	if (!edev->started)
		return;
	edev->started = false;
	cancel_delayed_work_sync(&edev->watch);
	exrnic_regs_disable(edev);
	exrnic_life_end_events(edev);
	exrnic_mbox_retire(edev);
	exrnic_life_end_interrupts(edev);
	exrnic_firmware_stop(edev);
	pci_clear_master(edev->pdev);
}

int exrnic_life_begin(struct exrnic_device *edev)
{
	int err = exrnic_life_start(edev);

	if (!err)
		exrnic_clients_begin(edev);
	return err;
}

void exrnic_life_end(struct exrnic_device *edev)
{
	exrnic_clients_end(edev);
	exrnic_life_stop(edev);
}

struct exrnic_device *exrnic_device_alloc(struct pci_dev *pdev)
{
	struct exrnic_device *edev = kzalloc(sizeof(*edev), GFP_KERNEL);

	if (!edev)
		return NULL;
	kref_init(&edev->ref);
	edev->pdev = pci_dev_get(pdev);
	edev->control = exrnic_life_control;
	exrnic_mbox_init(&edev->mbox, exrnic_life_fatal);
	exrnic_async_init(edev);
	edev->async.firmware_failed = exrnic_firmware_failed;
	INIT_DELAYED_WORK(&edev->firmware_pause, exrnic_life_pause_ends);
	exrnic_firmware_init(edev);
	exrnic_numbers_init(edev);
	INIT_DELAYED_WORK(&edev->watch, exrnic_watch_work);
	mutex_init(&edev->counters_lock);
	mutex_init(&edev->pkeys_lock);
	edev->pkeys[0] = EXRNIC_PKEY_DEFAULT;
	mutex_init(&edev->windows_lock);
	spin_lock_init(&edev->ports_lock);
	mutex_init(&edev->management_lock);
	mutex_init(&edev->users_lock);
	INIT_LIST_HEAD(&edev->users);
	mutex_init(&edev->clients_lock);
	spin_lock_init(&edev->clients_list_lock);
	INIT_LIST_HEAD(&edev->clients);
	spin_lock_init(&edev->netdev_lock);
	return edev;
}

static void exrnic_device_free(struct kref *ref)
{
	struct exrnic_device *edev = container_of(ref, struct exrnic_device, ref);

	exrnic_firmware_free(edev);
	exrnic_numbers_fini(edev);
	pci_dev_put(edev->pdev);
	kfree(edev);
}

void exrnic_device_get(struct exrnic_device *edev)
{
	kref_get(&edev->ref);
}
EXRNIC_EXPORT(exrnic_device_get);

void exrnic_device_put(struct exrnic_device *edev)
{
	kref_put(&edev->ref, exrnic_device_free);
}
EXRNIC_EXPORT(exrnic_device_put);
