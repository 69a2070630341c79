// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A port as a file: see struct exrnic_open_port. Of one open device file, which it may outlive. */
#include <linux/anon_inodes.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "file.h"

struct exrnic_port_file {
	struct exrnic_port port;
	wait_queue_head_t wait;
	struct mutex lock;	/* of what acts on the port: interrupts are off meanwhile, and a peer may be slow */
	struct exrnic_file *file;
	struct list_head entry;	/* of file->ports */
};

/* Also in an interrupt. */
static void exrnic_port_file_wake(struct exrnic_port *port)
{
	wake_up_interruptible(&container_of(port, struct exrnic_port_file, port)->wait);
}

static int exrnic_port_file_tell(const struct exrnic_port_news *news, char __user *to)
{
	const struct exrnic_port_event event = {
		.bells = news->bells,
		.events = news->events,
		.link_up = news->link_up,
	};

	return copy_to_user(to, &event, sizeof(event)) ? -EFAULT : 0;
}

/* -EINTR: the process is killed. */
static int exrnic_port_file_peek(struct exrnic_port_file *pfile, struct exrnic_port_news *news)
{
	int err = mutex_lock_killable(&pfile->lock);
	bool any;

	if (err)
		return err;
	any = exrnic_port_peek(&pfile->port, news);
	mutex_unlock(&pfile->lock);
	return any;
}

static int exrnic_port_file_take(struct exrnic_port_file *pfile, const struct exrnic_port_news *news)
{
	int err = mutex_lock_killable(&pfile->lock);
	bool taken;

	if (err)
		return err;
	taken = exrnic_port_take(&pfile->port, news);
	mutex_unlock(&pfile->lock);
	return taken;
}

/* What cannot be written stays to be told. */
static ssize_t exrnic_port_file_read(struct file *filp, char __user *to, size_t room, loff_t *pos)
{
	struct exrnic_port_file *pfile = filp->private_data;
	struct exrnic_port *port = &pfile->port;
	struct exrnic_port_news news;
	int err, any;

	if (room < sizeof(struct exrnic_port_event))
		return -EINVAL;
	for (;;) {
		any = exrnic_port_file_peek(pfile, &news);
		if (any > 0) {
			err = exrnic_port_file_tell(&news, to);
			if (err)
				return err;
			any = exrnic_port_file_take(pfile, &news);
			if (any > 0)
				return sizeof(struct exrnic_port_event);
			if (!any)
				continue;
		}
		if (any < 0)
			return any;
		if (exrnic_port_is_closed(port))
			return -ENODEV;
		if (filp->f_flags & O_NONBLOCK)
			return -EAGAIN;
		err = wait_event_interruptible(pfile->wait, exrnic_port_may_tell(port));
		if (err)
			return err;
	}
}

static __poll_t exrnic_port_file_poll(struct file *filp, poll_table *table)
{
	struct exrnic_port_file *pfile = filp->private_data;
	struct exrnic_port *port = &pfile->port;
	struct exrnic_port_news unused;

	poll_wait(filp, &pfile->wait, table);
	if (exrnic_port_is_closed(port))
		return EPOLLHUP;
	if (!exrnic_port_may_tell(port))
		return 0;
	return exrnic_port_file_peek(pfile, &unused) > 0 ? EPOLLIN | EPOLLRDNORM : 0;
}

static int exrnic_port_file_bits(struct exrnic_port_file *pfile, unsigned int cmd, u32 bits)
{
	int err = mutex_lock_killable(&pfile->lock);

	if (err)
		return err;
	err = cmd == EXRNIC_PORT_IOCTL_RING ? exrnic_port_ring(&pfile->port, bits)
					    : exrnic_port_set_mask(&pfile->port, bits);
	mutex_unlock(&pfile->lock);
	return err;
}

static int exrnic_port_file_access(struct exrnic_port_file *pfile, unsigned int cmd, struct exrnic_port_spad *spad)
{
	const bool of_peer = cmd == EXRNIC_PORT_IOCTL_SET_SPAD ||
			     cmd == EXRNIC_PORT_IOCTL_GET_PEER_SPAD;
	int err = mutex_lock_killable(&pfile->lock);

	if (err)
		return err;
	err = _IOC_DIR(cmd) & _IOC_READ ? exrnic_port_get_spad(&pfile->port, of_peer, spad->index, &spad->value)
					: exrnic_port_set_spad(&pfile->port, of_peer, spad->index, spad->value);
	mutex_unlock(&pfile->lock);
	return err;
}

static long exrnic_port_file_spad(struct exrnic_port_file *pfile, unsigned int cmd, void __user *user)
{
	struct exrnic_port_spad spad;
	int err;

	if (copy_from_user(&spad, user, sizeof(spad)))
		return -EFAULT;
	err = exrnic_port_file_access(pfile, cmd, &spad);
	if (err || !(_IOC_DIR(cmd) & _IOC_READ))
		return err;
	return copy_to_user(user, &spad, sizeof(spad)) ? -EFAULT : 0;
}

static long exrnic_port_file_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct exrnic_port_file *pfile = filp->private_data;
	void __user *user = (void __user *)arg;
	u32 bits;

	switch (cmd) {
	case EXRNIC_PORT_IOCTL_RING:
	case EXRNIC_PORT_IOCTL_MASK:
		if (copy_from_user(&bits, user, sizeof(bits)))
			return -EFAULT;
		return exrnic_port_file_bits(pfile, cmd, bits);
	case EXRNIC_PORT_IOCTL_SET_SPAD:
	case EXRNIC_PORT_IOCTL_GET_SPAD:
	case EXRNIC_PORT_IOCTL_SET_OWN_SPAD:
	case EXRNIC_PORT_IOCTL_GET_PEER_SPAD:
		return exrnic_port_file_spad(pfile, cmd, user);
	default:
		return -ENOTTY;
	}
}

/* ERR_PTR. The context's lock is held by both. */
static struct exrnic_port_file *exrnic_port_file_alloc(struct exrnic_file *file)
{
	struct exrnic_port_file *pfile =
		exrnic_object_alloc(&file->uctx, EXRNIC_KIND_PORT, 1, sizeof(*pfile));

	if (IS_ERR(pfile))
		return pfile;
	pfile->file = file;
	exrnic_port_init(&pfile->port, exrnic_port_file_wake);
	init_waitqueue_head(&pfile->wait);
	mutex_init(&pfile->lock);
	return pfile;
}

/* The context may have ended: what it counts with stays as long as the file's memory. */
static int exrnic_port_file_release(struct inode *inode, struct file *filp)
{
	struct exrnic_port_file *pfile = filp->private_data;
	struct exrnic_file *file = pfile->file;

	mutex_lock(&file->channels_lock);
	list_del(&pfile->entry);
	exrnic_port_close(&pfile->port);
	mutex_unlock(&file->channels_lock);
	mutex_lock(&file->uctx.lock);
	exrnic_object_free(&file->uctx, pfile);
	mutex_unlock(&file->uctx.lock);
	exrnic_file_put(file);
	return 0;
}

static const struct file_operations exrnic_port_fops = {
	.owner = THIS_MODULE,
	.read = exrnic_port_file_read,
	.poll = exrnic_port_file_poll,
	.unlocked_ioctl = exrnic_port_file_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.release = exrnic_port_file_release,
	.llseek = noop_llseek,
};

struct file *exrnic_port_file_create(struct exrnic_file *file, const struct exrnic_open_port *attr)
{
	const struct exrnic_port_attr port_attr = {
		.port = attr->port,
		.peer_node = attr->peer_node,
		.peer_port = attr->peer_port,
		.comp_vector = EXRNIC_ANY_COMP_VECTOR,
	};
	struct exrnic_port_file *pfile;
	struct file *filp;
	int err;

	if (!exrnic_limits_permit_port(attr->port))
		return ERR_PTR(-EPERM);
	pfile = exrnic_port_file_alloc(file);
	if (IS_ERR(pfile))
		return ERR_CAST(pfile);
	err = exrnic_port_open(file->uctx.edev, &pfile->port, &port_attr);
	if (err) {
		exrnic_object_free(&file->uctx, pfile);
		return ERR_PTR(err);
	}
	filp = anon_inode_getfile("[exrnic-port]", &exrnic_port_fops, pfile, O_RDONLY | O_CLOEXEC);
	if (IS_ERR(filp)) {
		exrnic_port_close(&pfile->port);
		exrnic_object_free(&file->uctx, pfile);
		return filp;
	}
	exrnic_file_get(file);
	mutex_lock(&file->channels_lock);
	list_add_tail(&pfile->entry, &file->ports);
	if (file->channels_ended)
		exrnic_port_close(&pfile->port);
	mutex_unlock(&file->channels_lock);
	return filp;
}

/* The device file is closed, or the device goes away. */
void exrnic_ports_end(struct exrnic_file *file)
{
	struct exrnic_port_file *pfile;

	lockdep_assert_held(&file->channels_lock);
	list_for_each_entry(pfile, &file->ports, entry)
		exrnic_port_close(&pfile->port);
}
