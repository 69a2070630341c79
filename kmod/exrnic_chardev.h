/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The face to user space: /dev/exrnicN, see uapi/exrnic.h. */
#ifndef EXRNIC_CHARDEV_H
#define EXRNIC_CHARDEV_H

#include <linux/fs.h>
#include <linux/mutex.h>

#include "exrnic_core.h"

/* One open file. */
struct exrnic_file {
	struct exrnic_ucontext uctx;
	struct address_space *mapping;
	struct mutex map_lock;	/* innermost of all: taken in page faults */
	bool unmapped;		/* the device was removed: no page of it is mapped any more */
};

int exrnic_chardev_init(void);
void exrnic_chardev_exit(void);

struct exrnic_chardev *exrnic_chardev_add(struct exrnic_device *edev);
/* No file is opened afterwards; open ones live on. */
void exrnic_chardev_remove(struct exrnic_chardev *chardev);

/* exrnic_ioctl.c */
long exrnic_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);

/* exrnic_mmap.c */
int exrnic_mmap(struct file *filp, struct vm_area_struct *vma);
void exrnic_unmap(struct exrnic_file *file);

#endif
