// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The commands of uapi/exrnic.h: copy in, check reserved fields, call the core, copy out. */
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "file.h"

/* The answer comes first; behind it what the descriptor will name once it has been told. */
struct exrnic_new_channel {
	struct exrnic_create_channel answer;
	struct file *filp;
};

struct exrnic_new_port {
	struct exrnic_open_port answer;
	struct file *filp;
};

union exrnic_ioctl_arg {
	struct exrnic_query query;
	struct exrnic_object object;
	struct exrnic_destroy destroy;
	struct exrnic_new_channel channel;
	struct exrnic_new_port port;
	struct exrnic_create_window create_window;
	struct exrnic_create_cq create_cq;
	struct exrnic_resize_cq resize_cq;
	struct exrnic_create_qp create_qp;
	struct exrnic_modify_qp modify_qp;
	struct exrnic_group group;
	struct exrnic_query_qp query_qp;
	struct exrnic_create_srq create_srq;
	struct exrnic_modify_srq modify_srq;
	struct exrnic_query_srq query_srq;
	struct exrnic_reg_mr reg_mr;
	struct exrnic_rereg_mr rereg_mr;
	struct exrnic_alloc_mw alloc_mw;
	struct exrnic_get_pbl get_pbl;
	struct exrnic_get_status get_status;
	struct exrnic_management management;
	struct exrnic_create_msg_channel create_msg_channel;
};

struct exrnic_ioctl {
	unsigned int cmd;	/* with the size of today's structure */
	unsigned int least;	/* size */
	int (*run)(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg);
	/* In its place, of commands that touch other memory of the process: locks what it needs. */
	int (*run_unlocked)(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg);
	/* Of commands that make objects: the handle could not be told, so nobody can end it. */
	void (*undo)(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg);
	/* The answer has been told. */
	void (*done)(union exrnic_ioctl_arg *arg);
};

static struct exrnic_file *exrnic_file_of(struct exrnic_ucontext *uctx)
{
	return container_of(uctx, struct exrnic_file, uctx);
}

static int exrnic_do_query(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	const struct exrnic_limits *limits = exrnic_device_limits(uctx->edev);
	struct exrnic_identity identity;
	int err = exrnic_device_identify(uctx->edev, &identity);
	unsigned int i;

	BUILD_BUG_ON(ARRAY_SIZE(arg->query.pkeys) != EXRNIC_PKEYS);
	arg->query = (struct exrnic_query){
		.uapi_version = EXRNIC_UAPI_VERSION,
		.abi_version = identity.abi_version,
		.node_id = identity.node,
		.mtu = identity.mtu,
		.max_qp = limits->qp,
		.max_cq = limits->cq,
		.max_mr = limits->stag,
		.max_srq = limits->srq,
		.comp_vectors = limits->comp_vectors,
		.read_pool = limits->read_pool,
		.max_node = limits->node,
		.max_window = (u64)limits->windows * limits->window_size,
		.max_sq_slots = BIT(EXRNIC_SQ_LOG_MAX),
		.max_cq_entries = BIT(EXRNIC_CQ_LOG_MAX),
		.clock_khz = identity.clock_khz,
	};
	memcpy(arg->query.mac, identity.mac, sizeof(arg->query.mac));
	for (i = 0; i < EXRNIC_PKEYS; i++)
		arg->query.pkeys[i] = exrnic_device_pkey(uctx->edev, i);
	return err;
}

static int exrnic_do_alloc_pd(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	arg->object.rsvd = 0;
	return exrnic_upd_alloc(uctx, &arg->object.handle);
}

static void exrnic_undo_alloc_pd(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	exrnic_upd_dealloc(uctx, arg->object.handle);
}

static int exrnic_do_dealloc_pd(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	return arg->object.rsvd ? -EINVAL : exrnic_upd_dealloc(uctx, arg->object.handle);
}

static int exrnic_do_create_channel(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	struct exrnic_new_channel *channel = &arg->channel;

	if (channel->answer.rsvd)
		return -EINVAL;
	channel->answer.fd = get_unused_fd_flags(O_CLOEXEC);
	if (channel->answer.fd < 0)
		return channel->answer.fd;
	channel->filp = exrnic_channel_create(exrnic_file_of(uctx));
	if (!IS_ERR(channel->filp))
		return 0;
	put_unused_fd(channel->answer.fd);
	return PTR_ERR(channel->filp);
}

static void exrnic_undo_create_channel(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	put_unused_fd(arg->channel.answer.fd);
	fput(arg->channel.filp);
}

static void exrnic_done_create_channel(union exrnic_ioctl_arg *arg)
{
	fd_install(arg->channel.answer.fd, arg->channel.filp);
}

/* The queue of a channel_fd: NULL for EXRNIC_NO_CHANNEL, ERR_PTR. */
static struct exrnic_event_queue *exrnic_ioctl_channel(struct exrnic_ucontext *uctx, int fd)
{
	if (fd == EXRNIC_NO_CHANNEL)
		return NULL;
	return exrnic_channel_queue(exrnic_file_of(uctx), fd);
}

static int exrnic_do_create_cq(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	struct exrnic_event_queue *channel =
		exrnic_ioctl_channel(uctx, arg->create_cq.channel_fd);
	int err;

	if (IS_ERR(channel))
		return PTR_ERR(channel);
	err = exrnic_ucq_create(uctx, &arg->create_cq, channel);
	exrnic_event_queue_put(channel);
	return err;
}

static void exrnic_undo_create_cq(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	struct exrnic_destroy destroy = { .handle = arg->create_cq.cqn };

	exrnic_ucq_destroy(uctx, &destroy);
}

static int exrnic_do_resize_cq(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	return exrnic_ucq_resize(uctx, &arg->resize_cq);
}

/* Of a queue; only completion queues count both kinds of events. */
static int exrnic_do_destroy(struct exrnic_ucontext *uctx, struct exrnic_destroy *destroy,
			     int (*end)(struct exrnic_ucontext *, struct exrnic_destroy *))
{
	if (destroy->rsvd)
		return -EINVAL;
	destroy->comp_events = 0;
	destroy->async_events = 0;
	return end(uctx, destroy);
}

static int exrnic_do_destroy_cq(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	return exrnic_do_destroy(uctx, &arg->destroy, exrnic_ucq_destroy);
}

static int exrnic_do_create_qp(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	return exrnic_uqp_create(uctx, &arg->create_qp);
}

static void exrnic_undo_create_qp(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	struct exrnic_destroy destroy = { .handle = arg->create_qp.qpn };

	exrnic_uqp_destroy(uctx, &destroy);
}

static int exrnic_do_modify_qp(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	return exrnic_uqp_modify(uctx, &arg->modify_qp);
}

static int exrnic_do_attach_group(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	return exrnic_uqp_attach_group(uctx, &arg->group);
}

static int exrnic_do_detach_group(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	return exrnic_uqp_detach_group(uctx, &arg->group);
}

static int exrnic_do_query_qp(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	return arg->query_qp.rsvd ? -EINVAL : exrnic_uqp_query(uctx, &arg->query_qp);
}

static int exrnic_do_destroy_qp(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	return exrnic_do_destroy(uctx, &arg->destroy, exrnic_uqp_destroy);
}

static int exrnic_do_create_srq(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	return exrnic_usrq_create(uctx, &arg->create_srq);
}

static void exrnic_undo_create_srq(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	struct exrnic_destroy destroy = { .handle = arg->create_srq.srqn };

	exrnic_usrq_destroy(uctx, &destroy);
}

static int exrnic_do_modify_srq(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	return exrnic_usrq_modify(uctx, &arg->modify_srq);
}

static int exrnic_do_query_srq(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	return arg->query_srq.rsvd ? -EINVAL : exrnic_usrq_query(uctx, &arg->query_srq);
}

static int exrnic_do_destroy_srq(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	return exrnic_do_destroy(uctx, &arg->destroy, exrnic_usrq_destroy);
}

static int exrnic_do_reg_mr(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	return arg->reg_mr.rsvd ? -EINVAL : exrnic_umr_register(uctx, &arg->reg_mr);
}

static void exrnic_undo_reg_mr(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	exrnic_umr_deregister(uctx, arg->reg_mr.stag);
}

static int exrnic_do_rereg_mr(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	return exrnic_umr_reregister(uctx, &arg->rereg_mr);
}

static void exrnic_undo_rereg_mr(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	exrnic_umr_deregister(uctx, arg->rereg_mr.stag);
}

static int exrnic_do_dereg_mr(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	return arg->object.rsvd ? -EINVAL : exrnic_umr_deregister(uctx, arg->object.handle);
}

static int exrnic_do_alloc_mw(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	return exrnic_umw_alloc(uctx, &arg->alloc_mw);
}

static void exrnic_undo_alloc_mw(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	exrnic_umw_dealloc(uctx, arg->alloc_mw.stag);
}

static int exrnic_do_dealloc_mw(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	return arg->object.rsvd ? -EINVAL : exrnic_umw_dealloc(uctx, arg->object.handle);
}

/*
 * The entries that there is room for; NULL: the process must not know them. Where pages lie is a secret
 * of the system: it helps attacks such as Rowhammer.
 */
static int exrnic_get_pbl_locked(struct exrnic_ucontext *uctx, struct exrnic_get_pbl *get,
				 u32 *count, __le64 **entries)
{
	const struct exrnic_umr *mr;

	if (READ_ONCE(uctx->dead))
		return -ENODEV;
	mr = exrnic_umr_find(uctx, get->stag);
	if (!mr)
		return -ENOENT;
	*count = min(get->pages, mr->pbl.count);
	get->pages = mr->pbl.count;
	get->page_shift = mr->pbl.page_shift;
	if (!*count || !capable(CAP_SYS_ADMIN))
		return 0;
	*entries = kvmalloc_array(*count, sizeof(**entries), GFP_KERNEL_ACCOUNT);
	if (!*entries)
		return -ENOMEM;
	memcpy(*entries, mr->pbl.entries, *count * sizeof(**entries));
	return 0;
}

static int exrnic_do_get_pbl(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	struct exrnic_get_pbl *get = &arg->get_pbl;
	void __user *to = u64_to_user_ptr(get->buffer);
	__le64 *entries = NULL;
	unsigned long left;
	u32 count = 0;
	size_t bytes;
	int err;

	if (get->rsvd)
		return -EINVAL;
	if (mutex_lock_killable(&uctx->lock))
		return -EINTR;
	err = exrnic_get_pbl_locked(uctx, get, &count, &entries);
	mutex_unlock(&uctx->lock);
	if (err)
		return err;
	bytes = count * sizeof(*entries);
	left = entries ? copy_to_user(to, entries, bytes) : clear_user(to, bytes);
	kvfree(entries);
	return left ? -EFAULT : 0;
}

static int exrnic_do_create_window(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	struct exrnic_create_window *window = &arg->create_window;
	int err = exrnic_uwindow_create(uctx, window);

	if (err)
		return err;
	exrnic_map_window(exrnic_file_of(uctx), &exrnic_uwindow_find(uctx, window->window)->window);
	window->offset = exrnic_window_offset(exrnic_file_of(uctx), window->window);
	return 0;
}

/* No access comes by the mapping any more when the device is told, and the next owner is safe. */
static int exrnic_end_window(struct exrnic_ucontext *uctx, u32 first)
{
	const struct exrnic_uwindow *window = exrnic_uwindow_find(uctx, first);

	if (!window)
		return -ENOENT;
	exrnic_unmap_window(exrnic_file_of(uctx), &window->window);
	return exrnic_uwindow_destroy(uctx, first);
}

static void exrnic_undo_create_window(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	exrnic_end_window(uctx, arg->create_window.window);
}

static int exrnic_do_destroy_window(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	return arg->object.rsvd ? -EINVAL : exrnic_end_window(uctx, arg->object.handle);
}

static int exrnic_do_open_port(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	struct exrnic_new_port *port = &arg->port;

	port->answer.fd = get_unused_fd_flags(O_CLOEXEC);
	if (port->answer.fd < 0)
		return port->answer.fd;
	port->filp = exrnic_port_file_create(exrnic_file_of(uctx), &port->answer);
	if (!IS_ERR(port->filp))
		return 0;
	put_unused_fd(port->answer.fd);
	return PTR_ERR(port->filp);
}

static void exrnic_undo_open_port(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	put_unused_fd(arg->port.answer.fd);
	fput(arg->port.filp);
}

static void exrnic_done_open_port(union exrnic_ioctl_arg *arg)
{
	fd_install(arg->port.answer.fd, arg->port.filp);
}

static int exrnic_do_create_msg_channel(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	struct exrnic_event_queue *channel =
		exrnic_ioctl_channel(uctx, arg->create_msg_channel.channel_fd);
	int err;

	if (IS_ERR(channel))
		return PTR_ERR(channel);
	err = exrnic_umsg_channel_create(uctx, &arg->create_msg_channel, channel);
	exrnic_event_queue_put(channel);
	return err;
}

static int exrnic_do_destroy_msg_channel(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	if (arg->object.rsvd)
		return -EINVAL;
	return exrnic_umsg_channel_destroy(uctx, arg->object.handle);
}

static int exrnic_do_get_status(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	arg->get_status.rsvd = 0;
	return exrnic_device_status(uctx->edev, &arg->get_status.status);
}

static int exrnic_ioctl_manages(struct exrnic_ucontext *uctx)
{
	return capable(CAP_NET_ADMIN) ? exrnic_management_begin(uctx->edev, uctx) : -EPERM;
}

static int exrnic_do_send_management(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	int err = exrnic_ioctl_manages(uctx);

	BUILD_BUG_ON(sizeof(arg->management.frame) != EXRNIC_MANAGEMENT_FRAME_BYTES);
	return err ? err : exrnic_management_send(uctx->edev, arg->management.frame);
}

static int exrnic_do_receive_management(struct exrnic_ucontext *uctx, union exrnic_ioctl_arg *arg)
{
	int err = exrnic_ioctl_manages(uctx);

	return err ? err : exrnic_management_receive(uctx->edev, arg->management.frame);
}

/* BYTES: of the first version of its structure. This one may have more. */
#define EXRNIC_IOCTL_ROW(NAME, BYTES, ...) \
	[_IOC_NR(EXRNIC_IOCTL_##NAME)] = { \
		.cmd = EXRNIC_IOCTL_##NAME, \
		.least = (BYTES) + BUILD_BUG_ON_ZERO(_IOC_SIZE(EXRNIC_IOCTL_##NAME) < (BYTES)), \
		__VA_ARGS__ \
	}
#define EXRNIC_IOCTL(NAME, name, BYTES) \
	EXRNIC_IOCTL_ROW(NAME, BYTES, .run = exrnic_do_##name)
#define EXRNIC_IOCTL_UNLOCKED(NAME, name, BYTES) \
	EXRNIC_IOCTL_ROW(NAME, BYTES, .run_unlocked = exrnic_do_##name)
#define EXRNIC_IOCTL_UNDO(NAME, name, BYTES) \
	EXRNIC_IOCTL_ROW(NAME, BYTES, .run = exrnic_do_##name, .undo = exrnic_undo_##name)
#define EXRNIC_IOCTL_DONE(NAME, name, BYTES) \
	EXRNIC_IOCTL_ROW(NAME, BYTES, .run = exrnic_do_##name, .undo = exrnic_undo_##name, \
			 .done = exrnic_done_##name)

static const struct exrnic_ioctl exrnic_ioctls[] = {
	EXRNIC_IOCTL(QUERY, query, 64),
	EXRNIC_IOCTL_UNDO(ALLOC_PD, alloc_pd, 8),
	EXRNIC_IOCTL(DEALLOC_PD, dealloc_pd, 8),
	EXRNIC_IOCTL_UNDO(CREATE_CQ, create_cq, 40),
	EXRNIC_IOCTL(DESTROY_CQ, destroy_cq, 16),
	EXRNIC_IOCTL_UNDO(CREATE_QP, create_qp, 72),
	EXRNIC_IOCTL(MODIFY_QP, modify_qp, 32),
	EXRNIC_IOCTL(QUERY_QP, query_qp, 32),
	EXRNIC_IOCTL(DESTROY_QP, destroy_qp, 16),
	EXRNIC_IOCTL_UNDO(REG_MR, reg_mr, 32),
	EXRNIC_IOCTL(DEREG_MR, dereg_mr, 8),
	EXRNIC_IOCTL_UNLOCKED(GET_PBL, get_pbl, 24),
	EXRNIC_IOCTL_UNDO(CREATE_SRQ, create_srq, 32),
	EXRNIC_IOCTL(MODIFY_SRQ, modify_srq, 8),
	EXRNIC_IOCTL(QUERY_SRQ, query_srq, 24),
	EXRNIC_IOCTL(DESTROY_SRQ, destroy_srq, 16),
	EXRNIC_IOCTL_DONE(CREATE_CHANNEL, create_channel, 8),
	EXRNIC_IOCTL_UNDO(REREG_MR, rereg_mr, 32),
	EXRNIC_IOCTL_UNDO(CREATE_WINDOW, create_window, 40),
	EXRNIC_IOCTL(DESTROY_WINDOW, destroy_window, 8),
	EXRNIC_IOCTL_DONE(OPEN_PORT, open_port, 16),
	EXRNIC_IOCTL(CREATE_MSG_CHANNEL, create_msg_channel, 64),
	EXRNIC_IOCTL(DESTROY_MSG_CHANNEL, destroy_msg_channel, 8),
	EXRNIC_IOCTL(ATTACH_GROUP, attach_group, 8),
	EXRNIC_IOCTL(DETACH_GROUP, detach_group, 8),
	EXRNIC_IOCTL(RESIZE_CQ, resize_cq, 24),
	EXRNIC_IOCTL_UNDO(ALLOC_MW, alloc_mw, 8),
	EXRNIC_IOCTL(DEALLOC_MW, dealloc_mw, 8),
	EXRNIC_IOCTL(GET_STATUS, get_status, 8),
	EXRNIC_IOCTL(SEND_MANAGEMENT, send_management, 256),
	EXRNIC_IOCTL(RECEIVE_MANAGEMENT, receive_management, 256),
};

static bool exrnic_ioctl_is(const struct exrnic_ioctl *ioctl, unsigned int cmd)
{
	const unsigned int sizes = _IOC_SIZEMASK << _IOC_SIZESHIFT;

	return ioctl->cmd && !((ioctl->cmd ^ cmd) & ~sizes) && _IOC_SIZE(cmd) >= ioctl->least;
}

static const struct exrnic_ioctl *exrnic_ioctl_find(unsigned int cmd)
{
	unsigned int nr = _IOC_NR(cmd);

	if (nr >= ARRAY_SIZE(exrnic_ioctls))
		return NULL;
	nr = array_index_nospec(nr, ARRAY_SIZE(exrnic_ioctls));
	return exrnic_ioctl_is(&exrnic_ioctls[nr], cmd) ? &exrnic_ioctls[nr] : NULL;
}

static int exrnic_ioctl_run(struct exrnic_ucontext *uctx, const struct exrnic_ioctl *ioctl,
			    union exrnic_ioctl_arg *arg)
{
	int err;

	if (ioctl->run_unlocked)
		return ioctl->run_unlocked(uctx, arg);
	if (mutex_lock_killable(&uctx->lock))
		return -EINTR;
	err = READ_ONCE(uctx->dead) ? -ENODEV : ioctl->run(uctx, arg);
	mutex_unlock(&uctx->lock);
	return err;
}

/* A thread that guessed the handle may have ended the object; then there is nothing to end. */
static void exrnic_ioctl_undo(struct exrnic_ucontext *uctx, const struct exrnic_ioctl *ioctl,
			      union exrnic_ioctl_arg *arg)
{
	if (!ioctl->undo)
		return;
	mutex_lock(&uctx->lock);
	ioctl->undo(uctx, arg);
	mutex_unlock(&uctx->lock);
}

/* What the program has no room for is not told; what it knows and the driver does not is zero. */
static int exrnic_ioctl_tell(const union exrnic_ioctl_arg *arg, size_t known, void __user *to,
			     size_t room)
{
	if (copy_to_user(to, arg, min(known, room)))
		return -EFAULT;
	return room > known && clear_user(to + known, room - known) ? -EFAULT : 0;
}

/* Without the lock: the process may never provide the memory for the answer. */
static int exrnic_ioctl_answer(struct exrnic_ucontext *uctx, const struct exrnic_ioctl *ioctl,
			       union exrnic_ioctl_arg *arg, void __user *to, size_t room)
{
	if (!(_IOC_DIR(ioctl->cmd) & _IOC_READ))
		return 0;
	if (exrnic_ioctl_tell(arg, _IOC_SIZE(ioctl->cmd), to, room)) {
		exrnic_ioctl_undo(uctx, ioctl, arg);
		return -EFAULT;
	}
	if (ioctl->done)
		ioctl->done(arg);
	return 0;
}

/* What read() gives, and commands of ports, have one size for ever. */
static void exrnic_ioctl_check_sizes(void)
{
	BUILD_BUG_ON(sizeof(struct exrnic_event) != 16);
	BUILD_BUG_ON(sizeof(struct exrnic_port_event) != 16);
	BUILD_BUG_ON(sizeof(struct exrnic_port_spad) != 8);
}

long exrnic_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct exrnic_file *file = filp->private_data;
	const struct exrnic_ioctl *ioctl = exrnic_ioctl_find(cmd);
	void __user *user = (void __user *)arg;
	union exrnic_ioctl_arg data = {};
	int err = 0;

	exrnic_ioctl_check_sizes();
	if (!ioctl)
		return -ENOTTY;
	if (_IOC_DIR(cmd) & _IOC_WRITE)
		err = copy_struct_from_user(&data, _IOC_SIZE(ioctl->cmd), user, _IOC_SIZE(cmd));
	if (!err)
		err = exrnic_ioctl_run(&file->uctx, ioctl, &data);
	return err ? err : exrnic_ioctl_answer(&file->uctx, ioctl, &data, user, _IOC_SIZE(cmd));
}
