// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/capability.h>
#include <linux/err.h>

#include "ucontext.h"

/* A queue pair gets what comes for a group. */
struct exrnic_attachment {
	struct list_head entry;	/* of exrnic_uqp.groups */
	u32 group;
};

static int exrnic_uqp_find_parts(struct exrnic_ucontext *uctx, struct exrnic_uqp *qp,
				 const struct exrnic_create_qp *attr)
{
	qp->pd = exrnic_upd_find(uctx, attr->pd);
	qp->send_cq = exrnic_ucq_find(uctx, attr->send_cqn);
	qp->recv_cq = exrnic_ucq_find(uctx, attr->recv_cqn);
	if (!qp->pd || !qp->send_cq || !qp->recv_cq)
		return -ENOENT;
	if (qp->has_rq)
		return 0;
	qp->srq = exrnic_usrq_find(uctx, attr->srqn);
	if (!qp->srq)
		return -ENOENT;
	return qp->srq->pd == qp->pd ? 0 : -EINVAL;
}

static int exrnic_uqp_pin_rings(struct exrnic_ucontext *uctx, struct exrnic_uqp *qp,
				const struct exrnic_create_qp *attr)
{
	struct exrnic_ring_shape shape = {
		.entries = attr->sq_slots,
		.entry_bytes = sizeof(struct exrnic_wqe),
		.log_max = EXRNIC_SQ_LOG_MAX,
	};
	int err;

	err = exrnic_ring_pin(uctx, &qp->sq, attr->sq, &shape);
	if (err || !qp->has_rq)
		return err;
	shape.entries = attr->rq_slots;
	err = exrnic_ring_pin(uctx, &qp->rq, attr->rq, &shape);
	if (err)
		exrnic_ring_unpin(uctx, &qp->sq);
	return err;
}

static int exrnic_uqp_map_rings(struct exrnic_device *edev, struct exrnic_uqp *qp)
{
	int err = exrnic_ring_map(edev, &qp->sq);

	if (err || !qp->has_rq)
		return err;
	return exrnic_ring_map(edev, &qp->rq);
}

static void exrnic_uqp_unpin_rings(struct exrnic_ucontext *uctx, struct exrnic_uqp *qp)
{
	if (qp->has_rq)
		exrnic_ring_unpin(uctx, &qp->rq);
	exrnic_ring_unpin(uctx, &qp->sq);
}

static void exrnic_uqp_use_parts(struct exrnic_uqp *qp, int users)
{
	qp->pd->users += users;
	qp->send_cq->users += users;
	qp->recv_cq->users += users;
	if (qp->srq)
		qp->srq->users += users;
}

static void exrnic_uqp_failed(struct exrnic_qp *qp, u32 cause)
{
	exrnic_event_raise(&container_of(qp, struct exrnic_uqp, qp)->error);
}

static void exrnic_uqp_emptied(struct exrnic_qp *qp)
{
	exrnic_event_raise(&container_of(qp, struct exrnic_uqp, qp)->last_wqe);
}

static void exrnic_uqp_drained(struct exrnic_qp *qp)
{
	exrnic_event_raise(&container_of(qp, struct exrnic_uqp, qp)->drained);
}

static void exrnic_uqp_init_events(struct exrnic_ucontext *uctx, struct exrnic_uqp *qp,
				   const struct exrnic_create_qp *attr)
{
	struct exrnic_event event = {
		.cookie = attr->cookie,
		.type = EXRNIC_EVENT_QP_ERROR,
	};

	exrnic_event_source_init(&qp->error, uctx->events, &event);
	event.type = EXRNIC_EVENT_LAST_WQE;
	exrnic_event_source_init(&qp->last_wqe, uctx->events, &event);
	event.type = EXRNIC_EVENT_SQ_DRAINED;
	exrnic_event_source_init(&qp->drained, uctx->events, &event);
	qp->qp.failed = exrnic_uqp_failed;
	qp->qp.last_wqe = exrnic_uqp_emptied;
	qp->qp.drained = exrnic_uqp_drained;
}

static u32 exrnic_uqp_fini_events(struct exrnic_uqp *qp)
{
	return exrnic_event_source_fini(&qp->error) + exrnic_event_source_fini(&qp->last_wqe) +
	       exrnic_event_source_fini(&qp->drained);
}

/* Nothing can happen to it before its number is known. */
static int exrnic_uqp_create_on_device(struct exrnic_ucontext *uctx, struct exrnic_uqp *qp,
				       const struct exrnic_create_qp *create)
{
	const struct exrnic_qp_attr attr = {
		.sq = &qp->sq.pbl,
		.rq = qp->has_rq ? &qp->rq.pbl : NULL,
		.sq_log_slots = qp->sq.log_entries,
		.rq_log_slots = qp->rq.log_entries,
		.srqn = create->srqn,
		.page = uctx->page,
		.pdn = qp->pd->pdn,
		.send_cqn = qp->send_cq->cq.cqn,
		.recv_cqn = qp->recv_cq->cq.cqn,
		.service = create->service,
		.flags = create->flags,
		.qpn = EXRNIC_ANY_QPN,
		.max_reads_out = qp->max_reads_out,
		.max_reads_in = qp->max_reads_in,
	};
	int err = exrnic_qp_create(uctx->edev, &qp->qp, &attr);

	if (err)
		return err;
	qp->error.event.handle = qp->qp.qpn;
	qp->last_wqe.event.handle = qp->qp.qpn;
	qp->drained.event.handle = qp->qp.qpn;
	return 0;
}

static bool exrnic_create_is_valid(const struct exrnic_create_qp *attr)
{
	const u32 flags = attr->service == EXRNIC_SERVICE_UD ? EXRNIC_QP_FLAGS_GRH : 0;

	if ((attr->flags & ~flags) || attr->rsvd)
		return false;
	if (attr->srqn != EXRNIC_NO_SRQ && (attr->rq || attr->rq_slots))
		return false;
	return attr->service <= EXRNIC_SERVICE_UD && attr->max_reads_out <= EXRNIC_MAX_READS &&
	       attr->max_reads_in <= EXRNIC_MAX_READS;
}

int exrnic_uqp_create(struct exrnic_ucontext *uctx, struct exrnic_create_qp *attr)
{
	struct exrnic_uqp *qp;
	int err;

	if (!exrnic_create_is_valid(attr))
		return -EINVAL;
	qp = exrnic_object_alloc(uctx, EXRNIC_KIND_QP, 1, sizeof(*qp));
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	INIT_LIST_HEAD(&qp->groups);
	qp->qp.user = uctx->user;
	qp->has_rq = attr->srqn == EXRNIC_NO_SRQ;
	qp->service = attr->service;
	qp->max_reads_out = attr->max_reads_out;
	qp->max_reads_in = attr->max_reads_in;
	err = exrnic_limits_charge_reads(uctx, qp->max_reads_out, qp->max_reads_in);
	if (err)
		goto err_free;
	err = exrnic_uqp_pin_rings(uctx, qp, attr);
	if (err)
		goto err_reads;
	err = exrnic_uqp_find_parts(uctx, qp, attr);
	if (err)
		goto err_rings;
	err = exrnic_uqp_map_rings(uctx->edev, qp);
	if (err)
		goto err_rings;
	exrnic_uqp_init_events(uctx, qp, attr);
	err = exrnic_uqp_create_on_device(uctx, qp, attr);
	if (err)
		goto err_event;
	err = xa_insert(&uctx->qps, qp->qp.qpn, qp, GFP_KERNEL);
	if (err)
		goto err_device;
	exrnic_uqp_use_parts(qp, 1);
	attr->qpn = qp->qp.qpn;
	return 0;

err_device:
	exrnic_qp_destroy(uctx->edev, &qp->qp);
err_event:
	exrnic_uqp_fini_events(qp);
err_rings:
	exrnic_uqp_unpin_rings(uctx, qp);
err_reads:
	exrnic_limits_uncharge_reads(uctx, qp->max_reads_out, qp->max_reads_in);
err_free:
	exrnic_object_free(uctx, qp);
	return err;
}

static bool exrnic_peer_is_valid(const struct exrnic_device *edev,
				 const struct exrnic_modify_qp *attr)
{
	return attr->dest_node < exrnic_device_limits(edev)->node && attr->dest_qpn < EXRNIC_MAX_QP;
}

static bool exrnic_modify_is_valid(const struct exrnic_device *edev,
				   const struct exrnic_modify_qp *attr)
{
	if (attr->state > EXRNIC_QP_STATE_SQD || attr->rsvd)
		return false;
	return !(attr->attributes & EXRNIC_QP_ATTRIBUTES_DEST) || exrnic_peer_is_valid(edev, attr);
}

/* As the RDMA core asks: no process without it can have such a Q_Key, nor so reach who has one. */
static bool exrnic_keys_are_permitted(const struct exrnic_modify_qp *attr)
{
	return !(attr->attributes & EXRNIC_QP_ATTRIBUTES_QKEY) ||
	       !(attr->qkey & EXRNIC_QKEY_CONTROLLED) || capable(CAP_NET_RAW);
}

struct exrnic_uqp *exrnic_uqp_find(struct exrnic_ucontext *uctx, u32 qpn)
{
	return xa_load(&uctx->qps, qpn);
}

int exrnic_uqp_modify(struct exrnic_ucontext *uctx, const struct exrnic_modify_qp *attr)
{
	const struct exrnic_qp_modify modify = {
		.state = attr->state,
		.attributes = attr->attributes,
		.dest_node = attr->dest_node,
		.dest_qpn = attr->dest_qpn,
		.qkey = attr->qkey,
		.pkey_index = attr->pkey_index,
		.access = attr->access,
		.path_mtu = attr->path_mtu,
		.max_reads_in = attr->max_reads_in,
		.max_reads_out = attr->max_reads_out,
		.min_rnr_timer = attr->min_rnr_timer,
		.rnr_retry = attr->rnr_retry,
		.timeout = attr->timeout,
		.retry_count = attr->retry_count,
	};
	struct exrnic_uqp *qp = exrnic_uqp_find(uctx, attr->qpn);

	if (!exrnic_modify_is_valid(uctx->edev, attr))
		return -EINVAL;
	if (!qp)
		return -ENOENT;
	if (!exrnic_keys_are_permitted(attr))
		return -EPERM;
	return exrnic_qp_modify(uctx->edev, &qp->qp, &modify);
}

static struct exrnic_attachment *exrnic_uqp_find_group(const struct exrnic_uqp *qp, u32 group)
{
	struct exrnic_attachment *attachment;

	list_for_each_entry(attachment, &qp->groups, entry)
		if (attachment->group == group)
			return attachment;
	return NULL;
}

/* The queue pair, if it can be of groups; ERR_PTR. */
static struct exrnic_uqp *exrnic_uqp_of_group(struct exrnic_ucontext *uctx,
					      const struct exrnic_group *attr)
{
	struct exrnic_uqp *qp = xa_load(&uctx->qps, attr->qpn);

	if (!qp)
		return ERR_PTR(-ENOENT);
	if (qp->service != EXRNIC_SERVICE_UD || attr->group > EXRNIC_GROUP_MAX)
		return ERR_PTR(-EINVAL);
	return qp;
}

int exrnic_uqp_attach_group(struct exrnic_ucontext *uctx, const struct exrnic_group *attr)
{
	struct exrnic_uqp *qp = exrnic_uqp_of_group(uctx, attr);
	struct exrnic_attachment *attachment;
	int err;

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	if (exrnic_uqp_find_group(qp, attr->group))
		return -EEXIST;
	attachment = exrnic_object_alloc(uctx, EXRNIC_KIND_ATTACHMENT, 1, sizeof(*attachment));
	if (IS_ERR(attachment))
		return PTR_ERR(attachment);
	err = exrnic_qp_attach_group(uctx->edev, &qp->qp, attr->group);
	if (err) {
		exrnic_object_free(uctx, attachment);
		return err;
	}
	attachment->group = attr->group;
	list_add_tail(&attachment->entry, &qp->groups);
	return 0;
}

int exrnic_uqp_detach_group(struct exrnic_ucontext *uctx, const struct exrnic_group *attr)
{
	struct exrnic_uqp *qp = exrnic_uqp_of_group(uctx, attr);
	struct exrnic_attachment *attachment;
	int err;

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	attachment = exrnic_uqp_find_group(qp, attr->group);
	if (!attachment)
		return -ENOENT;
	err = exrnic_qp_detach_group(uctx->edev, &qp->qp, attr->group);
	if (err)
		return err;
	list_del(&attachment->entry);
	exrnic_object_free(uctx, attachment);
	return 0;
}

/* Of a queue pair that is no more, nor are its attachments in the device. */
static void exrnic_uqp_forget_groups(struct exrnic_ucontext *uctx, struct exrnic_uqp *qp)
{
	struct exrnic_attachment *attachment, *next;

	list_for_each_entry_safe(attachment, next, &qp->groups, entry)
		exrnic_object_free(uctx, attachment);
}

int exrnic_uqp_query(struct exrnic_ucontext *uctx, struct exrnic_query_qp *attr)
{
	const struct exrnic_uqp *qp = exrnic_uqp_find(uctx, attr->qpn);
	struct exrnic_qp_status status;
	int err;

	if (!qp)
		return -ENOENT;
	err = exrnic_qp_query(uctx->edev, &qp->qp, &status);
	if (err)
		return err;
	attr->state = status.state;
	attr->dest_node = status.dest_node;
	attr->dest_qpn = status.dest_qpn;
	attr->sq_producer = status.sq_producer;
	attr->sq_consumer = status.sq_consumer;
	attr->pkey_index = status.pkey_index;
	attr->sq_draining = status.sq_draining;
	attr->qkey = status.qkey;
	attr->access = status.access;
	attr->path_mtu = status.path_mtu;
	attr->max_reads_in = status.max_reads_in;
	attr->max_reads_out = status.max_reads_out;
	attr->min_rnr_timer = status.min_rnr_timer;
	attr->rnr_retry = status.rnr_retry;
	attr->timeout = status.timeout;
	attr->retry_count = status.retry_count;
	attr->rsvd = 0;
	return 0;
}

static void exrnic_uqp_release(struct exrnic_ucontext *uctx, struct exrnic_uqp *qp,
			       struct exrnic_destroy *attr)
{
	exrnic_qp_destroy(uctx->edev, &qp->qp);
	xa_erase(&uctx->qps, qp->qp.qpn);
	attr->async_events = exrnic_uqp_fini_events(qp);
	exrnic_uqp_use_parts(qp, -1);
	exrnic_uqp_unpin_rings(uctx, qp);
	exrnic_uqp_forget_groups(uctx, qp);
	exrnic_limits_uncharge_reads(uctx, qp->max_reads_out, qp->max_reads_in);
	exrnic_object_free(uctx, qp);
}

int exrnic_uqp_destroy(struct exrnic_ucontext *uctx, struct exrnic_destroy *attr)
{
	struct exrnic_uqp *qp = exrnic_uqp_find(uctx, attr->handle);

	if (!qp)
		return -ENOENT;
	if (qp->windows)
		return -EBUSY;
	exrnic_uqp_release(uctx, qp, attr);
	return exrnic_device_error(uctx->edev);
}

void exrnic_uqp_begin_stop_all(struct exrnic_ucontext *uctx)
{
	struct exrnic_uqp *qp;
	unsigned long i;

	xa_for_each(&uctx->qps, i, qp)
		exrnic_qp_begin_stop(uctx->edev, &qp->qp);
}

static void exrnic_uqp_await_stop_all(struct exrnic_ucontext *uctx, unsigned long deadline)
{
	struct exrnic_uqp *qp;
	unsigned long i;

	xa_for_each(&uctx->qps, i, qp)
		exrnic_qp_await_stop(uctx->edev, &qp->qp, deadline);
}

void exrnic_uqp_release_all(struct exrnic_ucontext *uctx, unsigned long deadline)
{
	struct exrnic_destroy unused;
	struct exrnic_uqp *qp;
	unsigned long i;

	exrnic_uqp_begin_stop_all(uctx);
	exrnic_uqp_await_stop_all(uctx, deadline);
	xa_for_each(&uctx->qps, i, qp)
		exrnic_uqp_release(uctx, qp, &unused);
	xa_destroy(&uctx->qps);
}
