// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "exrnic_chardev.h"

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "exrnic_compat.h"

#define EXRNIC_MINORS 256

/* Lives until the last open file is closed, and what was made by it: files pin dev, dev pins edev. */
struct exrnic_chardev {
	struct device dev;
	struct cdev cdev;
	struct exrnic_device *edev;
};

static dev_t exrnic_first_devt;
static DEFINE_IDA(exrnic_minors);

void exrnic_file_get(struct exrnic_file *file)
{
	kref_get(&file->ref);
}

static void exrnic_file_free(struct kref *ref)
{
	struct exrnic_file *file = container_of(ref, struct exrnic_file, ref);

	if (file->sink)
		__free_page(file->sink);
	put_device(file->dev);
	kfree(file);
}

void exrnic_file_put(struct exrnic_file *file)
{
	kref_put(&file->ref, exrnic_file_free);
}

static void exrnic_file_disassociate(struct exrnic_ucontext *uctx)
{
	struct exrnic_file *file = container_of(uctx, struct exrnic_file, uctx);

	exrnic_unmap(file);
	exrnic_channels_end(file);
}

static const struct exrnic_face_ops exrnic_file_face = {
	.disassociate = exrnic_file_disassociate,
};

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
	err = exrnic_ucontext_init(&file->uctx, chardev->edev, &exrnic_file_face);
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
	exrnic_device_put(chardev->edev);
	kfree(chardev);
}

static struct exrnic_chardev *exrnic_chardev_alloc(struct exrnic_device *edev)
{
	struct exrnic_chardev *chardev;
	int minor;

	chardev = kzalloc(sizeof(*chardev), GFP_KERNEL);
	if (!chardev)
		return ERR_PTR(-ENOMEM);
	minor = ida_alloc_max(&exrnic_minors, EXRNIC_MINORS - 1, GFP_KERNEL);
	if (minor < 0) {
		kfree(chardev);
		return ERR_PTR(minor);
	}
	kref_get(&edev->ref);
	chardev->edev = edev;
	device_initialize(&chardev->dev);
	chardev->dev.devt = MKDEV(MAJOR(exrnic_first_devt), MINOR(exrnic_first_devt) + minor);
	chardev->dev.class = &exrnic_class;
	chardev->dev.parent = &edev->pdev->dev;
	chardev->dev.groups = exrnic_sysfs_groups;
	chardev->dev.release = exrnic_chardev_release;
	dev_set_drvdata(&chardev->dev, edev);
	return chardev;
}

struct exrnic_chardev *exrnic_chardev_add(struct exrnic_device *edev)
{
	struct exrnic_chardev *chardev = exrnic_chardev_alloc(edev);
	int err;

	if (IS_ERR(chardev))
		return chardev;
	err = dev_set_name(&chardev->dev, EXRNIC_NAME "%u",
			   MINOR(chardev->dev.devt) - MINOR(exrnic_first_devt));
	if (err)
		goto err_put;
	err = exrnic_limits_publish(edev, dev_name(&chardev->dev));
	if (err)
		goto err_put;
	cdev_init(&chardev->cdev, &exrnic_fops);
	chardev->cdev.owner = THIS_MODULE;
	err = cdev_device_add(&chardev->cdev, &chardev->dev);
	if (err)
		goto err_put;
	dev_info(&edev->pdev->dev, "/dev/%s\n", dev_name(&chardev->dev));
	return chardev;

err_put:
	put_device(&chardev->dev);
	return ERR_PTR(err);
}

void exrnic_chardev_remove(struct exrnic_chardev *chardev)
{
	cdev_device_del(&chardev->cdev, &chardev->dev);
	put_device(&chardev->dev);
}

int __init exrnic_chardev_init(void)
{
	int err;

	err = alloc_chrdev_region(&exrnic_first_devt, 0, EXRNIC_MINORS, EXRNIC_NAME);
	if (err)
		return err;
	err = class_register(&exrnic_class);
	if (err)
		unregister_chrdev_region(exrnic_first_devt, EXRNIC_MINORS);
	return err;
}

void exrnic_chardev_exit(void)
{
	class_unregister(&exrnic_class);
	unregister_chrdev_region(exrnic_first_devt, EXRNIC_MINORS);
	ida_destroy(&exrnic_minors);
}
