// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Event queues as files: completion channels, and what read() and poll() do to any of them. */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "file.h"

/* A completion channel: of one open device file, which it may outlive. */
struct exrnic_channel {
	struct exrnic_event_queue *queue;
	struct exrnic_file *file;
	struct list_head entry;	/* of file->channels */
};

/* -ENODEV: no event will come. */
static int exrnic_queue_wait(struct exrnic_event_queue *queue, bool nonblock)
{
	int err;

	if (exrnic_event_is_pending(queue))
		return 0;
	if (exrnic_event_is_over(queue))
		return -ENODEV;
	if (nonblock)
		return -EAGAIN;
	err = wait_event_interruptible(queue->wait, exrnic_event_is_pending(queue) ||
							    exrnic_event_is_over(queue));
	return err;
}

/*
 * As many as there are and fit; 0: another reader was faster. An event is taken once it has been written:
 * one that cannot be stays unread. What comes meanwhile is read, too, but a signal ends that.
 */
static ssize_t exrnic_queue_copy(struct exrnic_event_queue *queue, char __user *to, size_t room)
{
	struct exrnic_event event;
	size_t done = 0;

	while (room - done >= sizeof(event) && exrnic_event_peek(queue, &event) &&
	       !(done && signal_pending(current))) {
		if (copy_to_user(to + done, &event, sizeof(event)))
			return done ? done : -EFAULT;
		if (exrnic_event_take(queue, &event))
			done += sizeof(event);
	}
	return done;
}

ssize_t exrnic_queue_read(struct exrnic_event_queue *queue, struct file *filp, char __user *to,
			  size_t room)
{
	ssize_t done;
	int err;

	if (room < sizeof(struct exrnic_event))
		return -EINVAL;
	do {
		err = exrnic_queue_wait(queue, filp->f_flags & O_NONBLOCK);
		if (err)
			return err;
		done = exrnic_queue_copy(queue, to, room);
	} while (!done);
	return done;
}

__poll_t exrnic_queue_poll(struct exrnic_event_queue *queue, struct file *filp, poll_table *table)
{
	__poll_t mask = 0;

	poll_wait(filp, &queue->wait, table);
	if (exrnic_event_is_pending(queue))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (exrnic_event_is_over(queue))
		mask |= EPOLLHUP;
	return mask;
}

static ssize_t exrnic_channel_read(struct file *filp, char __user *to, size_t room, loff_t *pos)
{
	struct exrnic_channel *channel = filp->private_data;

	return exrnic_queue_read(channel->queue, filp, to, room);
}

static __poll_t exrnic_channel_poll(struct file *filp, poll_table *table)
{
	struct exrnic_channel *channel = filp->private_data;

	return exrnic_queue_poll(channel->queue, filp, table);
}

static void exrnic_channel_free(struct exrnic_channel *channel)
{
	exrnic_event_queue_put(channel->queue);
	kfree(channel);
}

/* Queues that still report to it keep the event queue; nobody reads it any more. */
static int exrnic_channel_release(struct inode *inode, struct file *filp)
{
	struct exrnic_channel *channel = filp->private_data;
	struct exrnic_file *file = channel->file;

	mutex_lock(&file->channels_lock);
	list_del(&channel->entry);
	mutex_unlock(&file->channels_lock);
	exrnic_event_queue_end(channel->queue);
	exrnic_channel_free(channel);
	exrnic_file_put(file);
	return 0;
}

static const struct file_operations exrnic_channel_fops = {
	.owner = THIS_MODULE,
	.read = exrnic_channel_read,
	.poll = exrnic_channel_poll,
	.release = exrnic_channel_release,
	.llseek = noop_llseek,
};

static struct exrnic_channel *exrnic_channel_alloc(void)
{
	struct exrnic_channel *channel = kzalloc(sizeof(*channel), GFP_KERNEL_ACCOUNT);

	if (!channel)
		return NULL;
	channel->queue = exrnic_event_queue_alloc();
	if (channel->queue)
		return channel;
	kfree(channel);
	return NULL;
}

struct file *exrnic_channel_create(struct exrnic_file *file)
{
	struct exrnic_channel *channel = exrnic_channel_alloc();
	struct file *filp;

	if (!channel)
		return ERR_PTR(-ENOMEM);
	filp = anon_inode_getfile("[exrnic-channel]", &exrnic_channel_fops, channel,
				  O_RDONLY | O_CLOEXEC);
	if (IS_ERR(filp)) {
		exrnic_channel_free(channel);
		return filp;
	}
	exrnic_file_get(file);
	channel->file = file;
	mutex_lock(&file->channels_lock);
	list_add_tail(&channel->entry, &file->channels);
	if (file->channels_ended)
		exrnic_event_queue_end(channel->queue);
	mutex_unlock(&file->channels_lock);
	return filp;
}

struct exrnic_event_queue *exrnic_channel_queue(struct exrnic_file *file, int fd)
{
	struct exrnic_event_queue *queue = ERR_PTR(-EINVAL);
	struct file *filp = fget(fd);
	struct exrnic_channel *channel;

	if (!filp)
		return ERR_PTR(-EBADF);
	if (filp->f_op == &exrnic_channel_fops) {
		channel = filp->private_data;
		if (channel->file == file)
			queue = exrnic_event_queue_get(channel->queue);
	}
	fput(filp);
	return queue;
}

void exrnic_channels_end(struct exrnic_file *file)
{
	struct exrnic_channel *channel;

	mutex_lock(&file->channels_lock);
	file->channels_ended = true;
	list_for_each_entry(channel, &file->channels, entry)
		exrnic_event_queue_end(channel->queue);
	exrnic_ports_end(file);
	mutex_unlock(&file->channels_lock);
}
