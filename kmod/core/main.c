// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The PCI function, and what starts and ends with it: the device's lives, and its auxiliary devices. */
#include <linux/auxiliary_bus.h>
#include <linux/idr.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "mbox.h"

static DEFINE_IDA(exrnic_ids);	/* of auxiliary devices */

static int exrnic_check_bar(struct pci_dev *pdev, int bar, resource_size_t least,
			    resource_size_t most)
{
	if ((pci_resource_flags(pdev, bar) & IORESOURCE_MEM) &&
	    pci_resource_len(pdev, bar) >= least && pci_resource_len(pdev, bar) <= most)
		return 0;
	dev_err(&pdev->dev, "BAR %d is no memory of %llu to %llu bytes: %pR\n", bar, (u64)least,
		(u64)most, &pdev->resource[bar]);
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

	err = exrnic_check_bar(pdev, EXRNIC_BAR_REGISTERS, EXRNIC_BAR0_SIZE, EXRNIC_BAR0_SIZE);
	if (err)
		return err;
	err = exrnic_check_bar(pdev, EXRNIC_BAR_USER, EXRNIC_BAR2_SIZE, EXRNIC_BAR2_SIZE);
	if (err)
		return err;
	/* How much it is, the device says, too: see exrnic_regs_identify(). */
	err = exrnic_check_bar(pdev, EXRNIC_BAR_WINDOW,
			       (resource_size_t)EXRNIC_MAX_WINDOWS << EXRNIC_WINDOW_SHIFT_MIN,
			       (resource_size_t)EXRNIC_MAX_WINDOWS << EXRNIC_WINDOW_SHIFT_MAX);
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

/* ---- The auxiliary bus, where the drivers on top of this one find the device */

static void exrnic_auxiliary_release(struct device *dev)
{
	struct exrnic_auxiliary *aux =
		container_of(to_auxiliary_dev(dev), struct exrnic_auxiliary, adev);

	ida_free(&exrnic_ids, aux->adev.id);
	exrnic_device_put(aux->edev);
	kfree(aux);
}

static struct exrnic_auxiliary *exrnic_auxiliary_alloc(struct exrnic_device *edev, const char *name)
{
	struct exrnic_auxiliary *aux = kzalloc(sizeof(*aux), GFP_KERNEL);
	int id, err;

	if (!aux)
		return ERR_PTR(-ENOMEM);
	id = ida_alloc(&exrnic_ids, GFP_KERNEL);
	if (id < 0) {
		kfree(aux);
		return ERR_PTR(id);
	}
	exrnic_device_get(edev);
	aux->edev = edev;
	aux->adev.id = id;
	aux->adev.name = name;
	aux->adev.dev.parent = &edev->pdev->dev;
	aux->adev.dev.release = exrnic_auxiliary_release;
	err = auxiliary_device_init(&aux->adev);
	if (!err)
		return aux;
	ida_free(&exrnic_ids, id);
	exrnic_device_put(edev);
	kfree(aux);
	return ERR_PTR(err);
}

/* A driver that is there binds to it at once. */
static struct exrnic_auxiliary *exrnic_auxiliary_add(struct exrnic_device *edev, const char *name)
{
	struct exrnic_auxiliary *aux = exrnic_auxiliary_alloc(edev, name);
	int err;

	if (IS_ERR(aux))
		return aux;
	err = auxiliary_device_add(&aux->adev);
	if (!err)
		return aux;
	auxiliary_device_uninit(&aux->adev);
	return ERR_PTR(err);
}

static void exrnic_auxiliary_remove(struct exrnic_auxiliary *aux)
{
	auxiliary_device_delete(&aux->adev);
	auxiliary_device_uninit(&aux->adev);
}

static void exrnic_auxiliaries_remove(struct exrnic_device *edev, unsigned int count)
{
	while (count--)
		exrnic_auxiliary_remove(edev->auxiliaries[count]);
}

static int exrnic_auxiliaries_add(struct exrnic_device *edev)
{
	static const char *const names[EXRNIC_AUXILIARIES] = { "cdev", "eth", "ib", "ntb" };
	struct exrnic_auxiliary *aux;
	unsigned int i;

	for (i = 0; i < EXRNIC_AUXILIARIES; i++) {
		aux = exrnic_auxiliary_add(edev, names[i]);
		if (IS_ERR(aux)) {
			exrnic_auxiliaries_remove(edev, i);
			return PTR_ERR(aux);
		}
		edev->auxiliaries[i] = aux;
	}
	return 0;
}

/* ---- The PCI function */

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
	err = exrnic_life_begin(edev);
	if (err)
		goto err_bars;
	pci_set_drvdata(pdev, edev);
	err = exrnic_auxiliaries_add(edev);
	if (err)
		goto err_life;
	return 0;

err_life:
	exrnic_life_end(edev);
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

	exrnic_auxiliaries_remove(edev, EXRNIC_AUXILIARIES);
	exrnic_life_end(edev);
	exrnic_unmap_bars(edev);
	pci_disable_device(pdev);
	exrnic_device_put(edev);
}

static int exrnic_live_again(struct exrnic_device *edev)
{
	int err = exrnic_life_begin(edev);

	if (err)
		dev_err(&edev->pdev->dev, "the device does not come back: error %d; bind the driver anew\n",
			err);
	return err;
}

/* Before another kernel starts: memory that is pinned now will be its own. */
static void exrnic_shutdown(struct pci_dev *pdev)
{
	exrnic_mbox_shutdown(pci_get_drvdata(pdev));
}

static void exrnic_reset_prepare(struct pci_dev *pdev)
{
	exrnic_life_end(pci_get_drvdata(pdev));
}

static void exrnic_reset_done(struct pci_dev *pdev)
{
	exrnic_live_again(pci_get_drvdata(pdev));
}

static int exrnic_suspend(struct device *dev)
{
	exrnic_life_end(dev_get_drvdata(dev));
	return 0;
}

/* It may have kept its power, and so what an image of hibernation, say, has left in it. */
static int exrnic_resume(struct device *dev)
{
	int err = exrnic_reset(to_pci_dev(dev));

	return err ? err : exrnic_live_again(dev_get_drvdata(dev));
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
	exrnic_sysfs_init();
	return pci_register_driver(&exrnic_pci_driver);
}

static void __exit exrnic_exit(void)
{
	pci_unregister_driver(&exrnic_pci_driver);
	ida_destroy(&exrnic_ids);
}

module_init(exrnic_init);
module_exit(exrnic_exit);

MODULE_DESCRIPTION("exrnic RDMA NIC: PCI function and objects");
MODULE_AUTHOR("The exrnic authors");
MODULE_LICENSE("Dual BSD/GPL");
