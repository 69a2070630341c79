// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The PCI function, and what starts and ends with it. */
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "exrnic_chardev.h"
#include "exrnic_core.h"
#include "exrnic_mbox.h"
#include "exrnic_regs.h"

static int exrnic_check_bar(struct pci_dev *pdev, int bar, resource_size_t bytes)
{
	if ((pci_resource_flags(pdev, bar) & IORESOURCE_MEM) &&
	    pci_resource_len(pdev, bar) == bytes)
		return 0;
	dev_err(&pdev->dev, "BAR %d is no memory of %llu bytes: %pR\n", bar, (u64)bytes,
		&pdev->resource[bar]);
	return -ENODEV;
}

/*
 * On x86 what vmf_insert_pfn() maps has the memory type that is reserved for the range, and without
 * a reservation UC-, whatever the mapping asks for. Until the device is unbound.
 */
static void exrnic_combine_writes(struct pci_dev *pdev, int bar)
{
	int err = devm_arch_io_reserve_memtype_wc(&pdev->dev, pci_resource_start(pdev, bar),
						  pci_resource_len(pdev, bar));

	if (err)
		dev_warn(&pdev->dev, "BAR %d is not write-combining (error %d): its stores leave one by one\n",
			 bar, err);
}

static int exrnic_map_bars(struct exrnic_device *edev)
{
	struct pci_dev *pdev = edev->pdev;
	int err;

	err = exrnic_check_bar(pdev, EXRNIC_BAR_REGISTERS, EXRNIC_BAR0_SIZE);
	if (err)
		return err;
	err = exrnic_check_bar(pdev, EXRNIC_BAR_USER, EXRNIC_BAR2_SIZE);
	if (err)
		return err;
	err = exrnic_check_bar(pdev, EXRNIC_BAR_WINDOW, EXRNIC_BAR4_SIZE);
	if (err)
		return err;
	err = pci_request_regions(pdev, EXRNIC_NAME);
	if (err)
		return err;
	exrnic_combine_writes(pdev, EXRNIC_BAR_USER);
	exrnic_combine_writes(pdev, EXRNIC_BAR_WINDOW);
	edev->user_base = pci_resource_start(pdev, EXRNIC_BAR_USER);
	edev->window_base = pci_resource_start(pdev, EXRNIC_BAR_WINDOW);
	edev->regs = pci_iomap(pdev, EXRNIC_BAR_REGISTERS, EXRNIC_BAR0_SIZE);
	if (edev->regs)
		return 0;
	pci_release_regions(pdev);
	return -ENOMEM;
}

static void exrnic_unmap_bars(struct exrnic_device *edev)
{
	pci_iounmap(edev->pdev, edev->regs);
	pci_release_regions(edev->pdev);
}

/* Forgets what an earlier driver, say of a crashed kernel, left behind. Optional for a device. */
static int exrnic_reset(struct pci_dev *pdev)
{
	int err;

	/* The wait for an absent device to come out of its reset would take a minute. */
	if (!pci_device_is_present(pdev)) {
		dev_err(&pdev->dev, "the device does not answer\n");
		return -ENODEV;
	}
	pci_save_state(pdev);
	err = pcie_reset_flr(pdev, PCI_RESET_DO_RESET);
	pci_restore_state(pdev);
	if (err)
		dev_dbg(&pdev->dev, "no function level reset: error %d\n", err);
	return 0;
}

static int exrnic_init_dma(struct exrnic_device *edev)
{
	struct pci_dev *pdev = edev->pdev;
	int err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));

	if (err) {
		dev_err(&pdev->dev, "no 64-bit DMA: error %d\n", err);
		return err;
	}
	/* The device sees pages, not segments. */
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	dma_set_seg_boundary(&pdev->dev, ULONG_MAX);
	pci_set_master(pdev);
	return exrnic_umem_check_dma(edev);
}

/* From registers that can be read to a device that serves doorbells. */
static int exrnic_start(struct exrnic_device *edev)
{
	int err;

	err = exrnic_device_renew(edev);
	if (err)
		return err;
	err = exrnic_regs_identify(edev);
	if (err)
		return err;
	err = exrnic_device_init_tables(edev);
	if (err)
		return err;
	exrnic_mbox_renew(edev);
	err = exrnic_init_dma(edev);
	if (err)
		goto err_master;
	err = exrnic_irq_init(edev);
	if (err)
		goto err_master;
	err = exrnic_mbox_nop(edev);
	if (err) {
		dev_err(&edev->pdev->dev, "the mailbox does not work: error %d\n", err);
		goto err_irq;
	}
	exrnic_regs_enable(edev);
	exrnic_firmware_start(edev);
	exrnic_watch_start(edev);
	edev->started = true;
	return 0;

err_irq:
	exrnic_mbox_retire(edev);
	exrnic_irq_fini(edev);
	exrnic_async_cancel(edev);
	exrnic_firmware_stop(edev);
err_master:
	exrnic_mbox_retire(edev);
	pci_clear_master(edev->pdev);
	return err;
}

static void exrnic_stop(struct exrnic_device *edev)
{
	if (!edev->started)
		return;
	edev->started = false;
	exrnic_watch_stop(edev);
	exrnic_regs_disable(edev);
	exrnic_mbox_retire(edev);
	exrnic_irq_fini(edev);
	exrnic_async_cancel(edev);
	exrnic_firmware_stop(edev);
	pci_clear_master(edev->pdev);
}

/*
 * The device is about to lose what it knows: all that contexts have ends, as with its removal, and programs
 * hear of it. Files that are open stay dead; those that are opened behind exrnic_begin_life() are alive.
 */
static void exrnic_end_life(struct exrnic_device *edev)
{
	exrnic_device_disassociate(edev);
	exrnic_stop(edev);
}

static int exrnic_begin_life(struct exrnic_device *edev)
{
	int err = exrnic_start(edev);

	if (err)
		dev_err(&edev->pdev->dev, "the device does not come back: error %d; bind the driver anew\n",
			err);
	else
		exrnic_device_associate(edev);
	return err;
}

static int exrnic_add_faces(struct exrnic_device *edev)
{
	edev->chardev = exrnic_chardev_add(edev);
	return PTR_ERR_OR_ZERO(edev->chardev);
}

static void exrnic_remove_faces(struct exrnic_device *edev)
{
	exrnic_chardev_remove(edev->chardev);
}

static int exrnic_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct exrnic_device *edev;
	int err;

	edev = exrnic_device_alloc(pdev);
	if (!edev)
		return -ENOMEM;
	err = pci_enable_device_mem(pdev);
	if (err)
		goto err_device;
	err = exrnic_reset(pdev);
	if (err)
		goto err_enable;
	err = exrnic_map_bars(edev);
	if (err)
		goto err_enable;
	err = exrnic_start(edev);
	if (err)
		goto err_bars;
	pci_set_drvdata(pdev, edev);
	err = exrnic_add_faces(edev);
	if (err)
		goto err_start;
	return 0;

err_start:
	exrnic_stop(edev);
err_bars:
	exrnic_unmap_bars(edev);
err_enable:
	pci_disable_device(pdev);
err_device:
	exrnic_device_put(edev);
	return err;
}

static void exrnic_remove(struct pci_dev *pdev)
{
	struct exrnic_device *edev = pci_get_drvdata(pdev);

	exrnic_remove_faces(edev);
	exrnic_device_disassociate(edev);
	exrnic_stop(edev);
	exrnic_unmap_bars(edev);
	pci_disable_device(pdev);
	exrnic_device_put(edev);
}

/* Before another kernel starts: memory that is pinned now will be its own. */
static void exrnic_shutdown(struct pci_dev *pdev)
{
	exrnic_mbox_shutdown(pci_get_drvdata(pdev));
}

static void exrnic_reset_prepare(struct pci_dev *pdev)
{
	exrnic_end_life(pci_get_drvdata(pdev));
}

static void exrnic_reset_done(struct pci_dev *pdev)
{
	exrnic_begin_life(pci_get_drvdata(pdev));
}

static int exrnic_suspend(struct device *dev)
{
	exrnic_end_life(dev_get_drvdata(dev));
	return 0;
}

/* It may have kept its power, and so what an image of hibernation, say, has left in it. */
static int exrnic_resume(struct device *dev)
{
	int err = exrnic_reset(to_pci_dev(dev));

	return err ? err : exrnic_begin_life(dev_get_drvdata(dev));
}

static DEFINE_SIMPLE_DEV_PM_OPS(exrnic_pm_ops, exrnic_suspend, exrnic_resume);

static pci_ers_result_t exrnic_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	exrnic_mbox_break(pci_get_drvdata(pdev), "an error on the PCIe link");
	return PCI_ERS_RESULT_DISCONNECT;
}

/* What goes wrong on the link may have taken anything: the device is cut off until it is bound anew. */
static const struct pci_error_handlers exrnic_error_handlers = {
	.error_detected = exrnic_error_detected,
	.reset_prepare = exrnic_reset_prepare,
	.reset_done = exrnic_reset_done,
};

static const struct pci_device_id exrnic_pci_ids[] = {
	{ PCI_DEVICE(EXRNIC_PCI_VENDOR_ID, EXRNIC_PCI_DEVICE_ID) },
	{}
};
MODULE_DEVICE_TABLE(pci, exrnic_pci_ids);

static struct pci_driver exrnic_pci_driver = {
	.name = EXRNIC_NAME,
	.id_table = exrnic_pci_ids,
	.probe = exrnic_probe,
	.remove = exrnic_remove,
	.shutdown = exrnic_shutdown,
	.driver.pm = pm_sleep_ptr(&exrnic_pm_ops),
	.err_handler = &exrnic_error_handlers,
};

static int __init exrnic_init(void)
{
	int err;

	exrnic_sysfs_init();
	err = exrnic_chardev_init();
	if (err)
		return err;
	err = pci_register_driver(&exrnic_pci_driver);
	if (err)
		exrnic_chardev_exit();
	return err;
}

static void __exit exrnic_exit(void)
{
	pci_unregister_driver(&exrnic_pci_driver);
	exrnic_chardev_exit();
}

module_init(exrnic_init);
module_exit(exrnic_exit);

MODULE_DESCRIPTION("exrnic RDMA NIC");
MODULE_AUTHOR("The exrnic authors");
MODULE_LICENSE("Dual BSD/GPL");
