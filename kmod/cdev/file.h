/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files of a context: /dev/exrnicN, its channels and its ports; see uapi/exrnic.h. */
#ifndef EXRNIC_FILE_H
#define EXRNIC_FILE_H

#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "ucontext.h"

/* One open file. Its channels and ports keep its memory and the device's name, not the context. */
struct exrnic_file {
	struct kref ref;
	struct device *dev;	/* of the char device, which keeps the struct exrnic_device */
	struct exrnic_ucontext uctx;
	struct address_space *mapping;
	struct mutex map_lock;	/* innermost of all: taken in page faults */
	DECLARE_BITMAP(windows, EXRNIC_MAX_WINDOWS);	/* of the device, that may be mapped */
	bool unmapped;		/* the device was removed: no page of it is mapped any more */
	struct page *sink;	/* in its place; made when somebody stores there */
	struct mutex channels_lock;
	struct list_head channels;
	struct list_head ports;
	bool channels_ended;
};

static inline void exrnic_file_get(struct exrnic_file *file)
{
	kref_get(&file->ref);
}

static inline void exrnic_file_free(struct kref *ref)
{
	struct exrnic_file *file = container_of(ref, struct exrnic_file, ref);

	if (file->sink)
		__free_page(file->sink);
	put_device(file->dev);
	kfree(file);
}

static inline void exrnic_file_put(struct exrnic_file *file)
{
	kref_put(&file->ref, exrnic_file_free);
}

/* ioctl.c */
long exrnic_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);

/* channel.c */
ssize_t exrnic_queue_read(struct exrnic_event_queue *queue, struct file *filp, char __user *to,
			  size_t room);
__poll_t exrnic_queue_poll(struct exrnic_event_queue *queue, struct file *filp, poll_table *table);
/* A file that no descriptor names yet. */
struct file *exrnic_channel_create(struct exrnic_file *file);
/* Of a channel of this file, with a reference; -EBADF, -EINVAL. */
struct exrnic_event_queue *exrnic_channel_queue(struct exrnic_file *file, int fd);
void exrnic_channels_end(struct exrnic_file *file);

/* port_file.c: a file that no descriptor names yet. */
struct file *exrnic_port_file_create(struct exrnic_file *file, const struct exrnic_open_port *attr);
void exrnic_ports_end(struct exrnic_file *file);

/* mmap.c */
u64 exrnic_window_offset(const struct exrnic_file *file, u32 first);
void exrnic_map_window(struct exrnic_file *file, const struct exrnic_window *window);
void exrnic_unmap_window(struct exrnic_file *file, const struct exrnic_window *window);
int exrnic_mmap(struct file *filp, struct vm_area_struct *vma);
void exrnic_unmap(struct exrnic_file *file);

/* debugfs.c: for benchmarks, below debugfs/exrnic. */
void exrnic_debugfs_init(void);
void exrnic_debugfs_exit(void);

#endif
