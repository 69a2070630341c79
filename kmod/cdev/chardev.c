// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "file.h"

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/slab.h>


#define EXRNIC_MINORS 256

static dev_t exrnic_first_devt;
static DEFINE_IDA(exrnic_minors);

static void exrnic_file_disassociate(struct exrnic_ucontext *uctx)
{
	struct exrnic_file *file = container_of(uctx, struct exrnic_file, uctx);

	exrnic_unmap(file);
	exrnic_channels_end(file);
}

static int exrnic_open(struct inode *inode, struct file *filp)
{
	struct exrnic_chardev *chardev = container_of(inode->i_cdev, struct exrnic_chardev, cdev);
	struct exrnic_file *file;
	int err;

	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		return -ENOMEM;
	kref_init(&file->ref);
	file->dev = get_device(&chardev->dev);
	mutex_init(&file->map_lock);
	mutex_init(&file->channels_lock);
	INIT_LIST_HEAD(&file->channels);
	INIT_LIST_HEAD(&file->ports);
	file->mapping = filp->f_mapping;
	err = exrnic_ucontext_init(&file->uctx, chardev, exrnic_file_disassociate);
	if (err) {
		exrnic_file_put(file);
		return err;
	}
	filp->private_data = file;
	return nonseekable_open(inode, filp);
}

static int exrnic_release(struct inode *inode, struct file *filp)
{
	struct exrnic_file *file = filp->private_data;

	exrnic_channels_end(file);
	exrnic_ucontext_destroy(&file->uctx);
	exrnic_file_put(file);
	return 0;
}

static ssize_t exrnic_read_events(struct file *filp, char __user *to, size_t room, loff_t *pos)
{
	struct exrnic_file *file = filp->private_data;

	return exrnic_queue_read(file->uctx.events, filp, to, room);
}

static __poll_t exrnic_poll_events(struct file *filp, poll_table *table)
{
	struct exrnic_file *file = filp->private_data;

	return exrnic_queue_poll(file->uctx.events, filp, table);
}

static const struct file_operations exrnic_fops = {
	.owner = THIS_MODULE,
	.open = exrnic_open,
	.release = exrnic_release,
	.read = exrnic_read_events,
	.poll = exrnic_poll_events,
	.unlocked_ioctl = exrnic_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = exrnic_mmap,
};

/* For everybody, as /dev/infiniband/uverbs: contexts are kept apart by the device. */
static char *exrnic_devnode(EXRNIC_DEVNODE_CONST struct device *dev, umode_t *mode)
{
	if (mode)
		*mode = 0666;
	return NULL;
}

static struct class exrnic_class = {
	.name = EXRNIC_NAME,
	.devnode = exrnic_devnode,
};

static void exrnic_chardev_release(struct device *dev)
{
	struct exrnic_chardev *chardev = container_of(dev, struct exrnic_chardev, dev);

	ida_free(&exrnic_minors, MINOR(dev->devt) - MINOR(exrnic_first_devt));
	exrnic_limits_fini(chardev);
	exrnic_device_put(chardev->edev);
	put_page(chardev->state_page);
	kfree(chardev);
}

/* ---- sysfs: what is of processes; the rest is the core's */

/* Its drvdata is the core's: see exrnic_attribute_group. */
static struct exrnic_chardev *exrnic_chardev_of_device(struct device *dev)
{
	return container_of(dev, struct exrnic_chardev, dev);
}

static ssize_t uapi_version_show(struct device *dev, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%u\n", EXRNIC_UAPI_VERSION);
}
static DEVICE_ATTR_RO(uapi_version);

static ssize_t pinned_bytes_show(struct device *dev, struct device_attribute *attr, char *text)
{
	s64 pages = atomic64_read(&exrnic_chardev_of_device(dev)->pinned);

	return sysfs_emit(text, "%lld\n", pages << PAGE_SHIFT);
}
static DEVICE_ATTR_RO(pinned_bytes);

static struct attribute *exrnic_chardev_attrs[] = {
	&dev_attr_uapi_version.attr,
	&dev_attr_pinned_bytes.attr,
	NULL
};

static const struct attribute_group exrnic_chardev_group = {
	.attrs = exrnic_chardev_attrs,
};

static const struct attribute_group *exrnic_chardev_groups[] = {
	&exrnic_chardev_group,
	&exrnic_attribute_group,
	&exrnic_counter_group,
	&exrnic_pkey_group,
	&exrnic_firmware_group,
	NULL
};

/* ---- The char device of a device */

static int exrnic_chardev_init_parts(struct exrnic_chardev *chardev)
{
	int minor;

	chardev->state_page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!chardev->state_page)
		return -ENOMEM;
	minor = ida_alloc_max(&exrnic_minors, EXRNIC_MINORS - 1, GFP_KERNEL);
	if (minor < 0) {
		put_page(chardev->state_page);
		return minor;
	}
	chardev->dev.devt = MKDEV(MAJOR(exrnic_first_devt), MINOR(exrnic_first_devt) + minor);
	mutex_init(&chardev->lock);
	INIT_LIST_HEAD(&chardev->ucontexts);
	return 0;
}

static struct exrnic_chardev *exrnic_chardev_alloc(struct exrnic_device *edev)
{
	struct exrnic_chardev *chardev;
	int err;

	chardev = kzalloc(sizeof(*chardev), GFP_KERNEL);
	if (!chardev)
		return ERR_PTR(-ENOMEM);
	err = exrnic_chardev_init_parts(chardev);
	if (err) {
		kfree(chardev);
		return ERR_PTR(err);
	}
	exrnic_device_get(edev);
	chardev->edev = edev;
	chardev->client.ops = &exrnic_ucontexts_client;
	device_initialize(&chardev->dev);
	chardev->dev.class = &exrnic_class;
	chardev->dev.parent = exrnic_device_dma(edev);
	chardev->dev.groups = exrnic_chardev_groups;
	chardev->dev.release = exrnic_chardev_release;
	dev_set_drvdata(&chardev->dev, edev);
	return chardev;
}

/* A file may be opened as soon as the device is there: it is alive before. */
static struct exrnic_chardev *exrnic_chardev_add(struct exrnic_device *edev)
{
	struct exrnic_chardev *chardev = exrnic_chardev_alloc(edev);
	int err;

	if (IS_ERR(chardev))
		return chardev;
	err = dev_set_name(&chardev->dev, EXRNIC_NAME "%u",
			   MINOR(chardev->dev.devt) - MINOR(exrnic_first_devt));
	if (err)
		goto err_put;
	err = exrnic_limits_publish(chardev, dev_name(&chardev->dev));
	if (err)
		goto err_put;
	exrnic_client_register(edev, &chardev->client);
	cdev_init(&chardev->cdev, &exrnic_fops);
	chardev->cdev.owner = THIS_MODULE;
	err = cdev_device_add(&chardev->cdev, &chardev->dev);
	if (err)
		goto err_client;
	dev_info(exrnic_device_dma(edev), "/dev/%s\n", dev_name(&chardev->dev));
	return chardev;

err_client:
	exrnic_client_unregister(&chardev->client);
err_put:
	put_device(&chardev->dev);
	return ERR_PTR(err);
}

/* No file is opened afterwards; open ones live on. */
static void exrnic_chardev_remove(struct exrnic_chardev *chardev)
{
	cdev_device_del(&chardev->cdev, &chardev->dev);
	exrnic_client_unregister(&chardev->client);
	put_device(&chardev->dev);
}

/* ---- The auxiliary driver */

static int exrnic_cdev_probe(struct auxiliary_device *adev, const struct auxiliary_device_id *id)
{
	struct exrnic_chardev *chardev = exrnic_chardev_add(exrnic_device_of(adev));

	if (IS_ERR(chardev))
		return PTR_ERR(chardev);
	auxiliary_set_drvdata(adev, chardev);
	return 0;
}

static void exrnic_cdev_remove(struct auxiliary_device *adev)
{
	exrnic_chardev_remove(auxiliary_get_drvdata(adev));
}

static const struct auxiliary_device_id exrnic_cdev_ids[] = {
	{ .name = EXRNIC_AUX_CDEV },
	{}
};
MODULE_DEVICE_TABLE(auxiliary, exrnic_cdev_ids);

static struct auxiliary_driver exrnic_cdev_driver = {
	.name = "cdev",
	.id_table = exrnic_cdev_ids,
	.probe = exrnic_cdev_probe,
	.remove = exrnic_cdev_remove,
};

static int __init exrnic_cdev_init(void)
{
	int err;

	err = alloc_chrdev_region(&exrnic_first_devt, 0, EXRNIC_MINORS, EXRNIC_NAME);
	if (err)
		return err;
	err = class_register(&exrnic_class);
	if (err)
		goto err_region;
	exrnic_debugfs_init();
	err = auxiliary_driver_register(&exrnic_cdev_driver);
	if (err)
		goto err_class;
	return 0;

err_class:
	exrnic_debugfs_exit();
	class_unregister(&exrnic_class);
err_region:
	unregister_chrdev_region(exrnic_first_devt, EXRNIC_MINORS);
	return err;
}

static void __exit exrnic_cdev_exit(void)
{
	auxiliary_driver_unregister(&exrnic_cdev_driver);
	exrnic_debugfs_exit();
	class_unregister(&exrnic_class);
	unregister_chrdev_region(exrnic_first_devt, EXRNIC_MINORS);
	ida_destroy(&exrnic_minors);
}

module_init(exrnic_cdev_init);
module_exit(exrnic_cdev_exit);

MODULE_DESCRIPTION("exrnic RDMA NIC: char device for processes");
MODULE_AUTHOR("The exrnic authors");
MODULE_LICENSE("Dual BSD/GPL");
EXRNIC_IMPORT;
