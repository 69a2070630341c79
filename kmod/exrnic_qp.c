// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/err.h>

#include "exrnic_core.h"
#include "exrnic_mbox.h"

/* Zero stays free: an untouched WQE or frame names no queue pair. */
#define EXRNIC_QPN_MIN 1

/* The device checks the size of a receive queue also where a shared one takes its place. */
static u32 exrnic_qp_rq_log_slots(const struct exrnic_qp *qp)
{
	return qp->has_rq ? qp->rq.log_entries : EXRNIC_RING_LOG_MIN;
}

static int exrnic_qp_create_on_device(struct exrnic_ucontext *uctx, const struct exrnic_qp *qp,
				      const struct exrnic_create_qp *attr)
{
	const struct exrnic_mbox_create_qp in = {
		.qpn = cpu_to_le32(qp->qpn),
		.page = cpu_to_le32(uctx->page),
		.pd = cpu_to_le32(qp->pd->pdn),
		.send_cqn = cpu_to_le32(qp->send_cq->cqn),
		.recv_cqn = cpu_to_le32(qp->recv_cq->cqn),
		.sq_log_slots = cpu_to_le32(qp->sq.log_entries),
		.rq_log_slots = cpu_to_le32(exrnic_qp_rq_log_slots(qp)),
		.service = cpu_to_le32(attr->service),
		.sq_pbl_address = cpu_to_le64(qp->sq.pbl.bus),
		.rq_pbl_address = cpu_to_le64(qp->rq.pbl.bus),
		.srqn = cpu_to_le32(attr->srqn),
		.max_reads_out = cpu_to_le32(attr->max_reads_out),
		.max_reads_in = cpu_to_le32(attr->max_reads_in),
	};

	return exrnic_mbox_create_qp(uctx->edev, &in);
}

static int exrnic_qp_find_parts(struct exrnic_ucontext *uctx, struct exrnic_qp *qp,
				const struct exrnic_create_qp *attr)
{
	qp->pd = exrnic_pd_find(uctx, attr->pd);
	qp->send_cq = exrnic_cq_find(uctx, attr->send_cqn);
	qp->recv_cq = exrnic_cq_find(uctx, attr->recv_cqn);
	if (!qp->pd || !qp->send_cq || !qp->recv_cq)
		return -ENOENT;
	if (qp->has_rq)
		return 0;
	qp->srq = exrnic_srq_find(uctx, attr->srqn);
	if (!qp->srq)
		return -ENOENT;
	return qp->srq->pd == qp->pd ? 0 : -EINVAL;
}

static int exrnic_qp_pin_rings(struct exrnic_ucontext *uctx, struct exrnic_qp *qp,
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

static int exrnic_qp_map_rings(struct exrnic_device *edev, struct exrnic_qp *qp)
{
	int err = exrnic_ring_map(edev, &qp->sq);

	if (err || !qp->has_rq)
		return err;
	return exrnic_ring_map(edev, &qp->rq);
}

static void exrnic_qp_unpin_rings(struct exrnic_ucontext *uctx, struct exrnic_qp *qp)
{
	if (qp->has_rq)
		exrnic_ring_unpin(uctx, &qp->rq);
	exrnic_ring_unpin(uctx, &qp->sq);
}

/* In turn, so that a late frame for a destroyed queue pair does not soon meet its successor. */
static int exrnic_qp_alloc_number(struct exrnic_device *edev, struct exrnic_qp *qp)
{
	const struct xa_limit limit = XA_LIMIT(EXRNIC_QPN_MIN, edev->limits.qp - 1);
	int err = xa_alloc_cyclic(&edev->qps, &qp->qpn, NULL, limit, &edev->next_qpn, GFP_KERNEL);

	if (err == -EBUSY)
		return -ENOSPC;
	return err < 0 ? err : 0;
}

static void exrnic_qp_use_parts(struct exrnic_qp *qp, int users)
{
	qp->pd->users += users;
	qp->send_cq->users += users;
	qp->recv_cq->users += users;
	if (qp->srq)
		qp->srq->users += users;
}

static void exrnic_qp_init_events(struct exrnic_ucontext *uctx, struct exrnic_qp *qp,
				  const struct exrnic_create_qp *attr)
{
	const struct exrnic_event event = {
		.cookie = attr->cookie,
		.type = EXRNIC_EVENT_QP_ERROR,
		.handle = qp->qpn,
	};

	exrnic_event_source_init(&qp->error, uctx->events, &event);
}

static bool exrnic_create_is_valid(const struct exrnic_create_qp *attr)
{
	if (attr->srqn != EXRNIC_NO_SRQ && (attr->rq || attr->rq_slots))
		return false;
	return attr->service <= EXRNIC_SERVICE_UD && attr->max_reads_out <= EXRNIC_MAX_READS &&
	       attr->max_reads_in <= EXRNIC_MAX_READS;
}

int exrnic_qp_create(struct exrnic_ucontext *uctx, struct exrnic_create_qp *attr)
{
	struct exrnic_device *edev = uctx->edev;
	struct exrnic_qp *qp;
	int err;

	if (!exrnic_create_is_valid(attr))
		return -EINVAL;
	qp = exrnic_object_alloc(uctx, sizeof(*qp));
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	INIT_LIST_HEAD(&qp->groups);
	qp->has_rq = attr->srqn == EXRNIC_NO_SRQ;
	qp->service = attr->service;
	err = exrnic_qp_pin_rings(uctx, qp, attr);
	if (err)
		goto err_free;
	err = exrnic_qp_find_parts(uctx, qp, attr);
	if (err)
		goto err_rings;
	err = exrnic_qp_map_rings(edev, qp);
	if (err)
		goto err_rings;
	err = exrnic_qp_alloc_number(edev, qp);
	if (err)
		goto err_rings;
	err = xa_insert(&uctx->qps, qp->qpn, qp, GFP_KERNEL);
	if (err)
		goto err_number;
	err = exrnic_qp_create_on_device(uctx, qp, attr);
	if (err)
		goto err_handle;
	exrnic_qp_init_events(uctx, qp, attr);
	exrnic_async_publish(edev, &edev->qps, qp->qpn, qp);
	exrnic_qp_use_parts(qp, 1);
	attr->qpn = qp->qpn;
	return 0;

err_handle:
	xa_erase(&uctx->qps, qp->qpn);
err_number:
	xa_erase(&edev->qps, qp->qpn);
err_rings:
	exrnic_qp_unpin_rings(uctx, qp);
err_free:
	exrnic_object_free(uctx, qp);
	return err;
}

static bool exrnic_modify_is_valid(const struct exrnic_device *edev,
				   const struct exrnic_modify_qp *attr)
{
	if (attr->state > EXRNIC_QP_STATE_ERROR || attr->rsvd)
		return false;
	if (attr->state == EXRNIC_QP_STATE_RTR && attr->rnr > EXRNIC_RNR_TIMER_MAX)
		return false;
	if (attr->state == EXRNIC_QP_STATE_RTS && attr->rnr > EXRNIC_RNR_RETRY_ENDLESS)
		return false;
	if (attr->state != EXRNIC_QP_STATE_RTR && attr->state != EXRNIC_QP_STATE_RTS && attr->rnr)
		return false;
	if (attr->state != EXRNIC_QP_STATE_RTR)
		return !attr->dest_node && !attr->dest_qpn;
	return attr->dest_node < edev->limits.node && attr->dest_qpn < EXRNIC_MAX_QP;
}

/* Of a datagram queue pair; others have none, but a peer. */
static bool exrnic_keys_are_valid(const struct exrnic_qp *qp, const struct exrnic_modify_qp *attr)
{
	if (qp->service == EXRNIC_SERVICE_UD && (attr->dest_node || attr->dest_qpn))
		return false;
	if (qp->service != EXRNIC_SERVICE_UD || attr->state != EXRNIC_QP_STATE_INIT)
		return !attr->qkey && !attr->pkey;
	return attr->pkey <= U16_MAX && (attr->pkey & ~EXRNIC_PKEY_FULL);
}

int exrnic_qp_modify(struct exrnic_ucontext *uctx, const struct exrnic_modify_qp *attr)
{
	const struct exrnic_mbox_modify_qp in = {
		.qpn = cpu_to_le32(attr->qpn),
		.state = cpu_to_le32(attr->state),
		.dest_node = cpu_to_le32(attr->dest_node),
		.dest_qpn = cpu_to_le32(attr->dest_qpn),
		.rnr = cpu_to_le32(attr->rnr),
		.qkey = cpu_to_le32(attr->qkey),
		.pkey = cpu_to_le32(attr->pkey),
	};
	struct exrnic_qp *qp = xa_load(&uctx->qps, attr->qpn);
	int err;

	if (!exrnic_modify_is_valid(uctx->edev, attr))
		return -EINVAL;
	if (!qp)
		return -ENOENT;
	if (!exrnic_keys_are_valid(qp, attr))
		return -EINVAL;
	if (attr->state == EXRNIC_QP_STATE_RESET)
		exrnic_qp_stop(uctx->edev, qp);
	err = exrnic_mbox_modify_qp(uctx->edev, &in);
	if (!err)
		qp->state = attr->state;
	return err;
}

static struct exrnic_attachment *exrnic_qp_find_group(const struct exrnic_qp *qp, u32 group)
{
	struct exrnic_attachment *attachment;

	list_for_each_entry(attachment, &qp->groups, entry)
		if (attachment->group == group)
			return attachment;
	return NULL;
}

/* The queue pair, if it can be of groups; ERR_PTR. */
static struct exrnic_qp *exrnic_qp_of_group(struct exrnic_ucontext *uctx,
					    const struct exrnic_group *attr)
{
	struct exrnic_qp *qp = xa_load(&uctx->qps, attr->qpn);

	if (!qp)
		return ERR_PTR(-ENOENT);
	if (qp->service != EXRNIC_SERVICE_UD || attr->group > EXRNIC_GROUP_MAX)
		return ERR_PTR(-EINVAL);
	return qp;
}

static struct exrnic_mbox_group exrnic_qp_group(const struct exrnic_group *attr)
{
	return (struct exrnic_mbox_group){
		.qpn = cpu_to_le32(attr->qpn),
		.group = cpu_to_le32(attr->group),
	};
}

static void exrnic_attachment_free(struct exrnic_ucontext *uctx,
				   struct exrnic_attachment *attachment)
{
	exrnic_limits_give_back(uctx, EXRNIC_SCARCE_ATTACHMENTS, 1);
	exrnic_object_free(uctx, attachment);
}

int exrnic_qp_attach_group(struct exrnic_ucontext *uctx, const struct exrnic_group *attr)
{
	const struct exrnic_mbox_group in = exrnic_qp_group(attr);
	struct exrnic_qp *qp = exrnic_qp_of_group(uctx, attr);
	struct exrnic_attachment *attachment;
	int err;

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	if (exrnic_qp_find_group(qp, attr->group))
		return -EEXIST;
	attachment = exrnic_object_alloc(uctx, sizeof(*attachment));
	if (IS_ERR(attachment))
		return PTR_ERR(attachment);
	err = exrnic_limits_take(uctx, EXRNIC_SCARCE_ATTACHMENTS, 1);
	if (err) {
		exrnic_object_free(uctx, attachment);
		return err;
	}
	err = exrnic_mbox_attach_group(uctx->edev, &in);
	if (err) {
		exrnic_attachment_free(uctx, attachment);
		return err;
	}
	attachment->group = attr->group;
	list_add_tail(&attachment->entry, &qp->groups);
	return 0;
}

int exrnic_qp_detach_group(struct exrnic_ucontext *uctx, const struct exrnic_group *attr)
{
	const struct exrnic_mbox_group in = exrnic_qp_group(attr);
	struct exrnic_qp *qp = exrnic_qp_of_group(uctx, attr);
	struct exrnic_attachment *attachment;
	int err;

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	attachment = exrnic_qp_find_group(qp, attr->group);
	if (!attachment)
		return -ENOENT;
	err = exrnic_mbox_detach_group(uctx->edev, &in);
	if (err)
		return err;
	list_del(&attachment->entry);
	exrnic_attachment_free(uctx, attachment);
	return 0;
}

/* Of a queue pair that is no more, nor are its attachments in the device. */
static void exrnic_qp_forget_groups(struct exrnic_ucontext *uctx, struct exrnic_qp *qp)
{
	struct exrnic_attachment *attachment, *next;

	list_for_each_entry_safe(attachment, next, &qp->groups, entry)
		exrnic_attachment_free(uctx, attachment);
}

int exrnic_qp_query(struct exrnic_ucontext *uctx, struct exrnic_query_qp *attr)
{
	struct exrnic_mbox_query_qp out;
	int err;

	if (!xa_load(&uctx->qps, attr->qpn))
		return -ENOENT;
	err = exrnic_mbox_query_qp(uctx->edev, attr->qpn, &out);
	if (err)
		return err;
	attr->state = le32_to_cpu(out.state);
	attr->dest_node = le32_to_cpu(out.dest_node);
	attr->dest_qpn = le32_to_cpu(out.dest_qpn);
	attr->sq_producer = le32_to_cpu(out.sq_producer);
	attr->sq_consumer = le32_to_cpu(out.sq_consumer);
	return 0;
}

/*
 * Of a queue pair that was stopped. The device first: behind its answer it fetches no work request and
 * writes no CQE for it.
 */
static int exrnic_qp_release(struct exrnic_ucontext *uctx, struct exrnic_qp *qp,
			     struct exrnic_destroy *attr)
{
	struct exrnic_device *edev = uctx->edev;
	int err = exrnic_mbox_destroy_qp(edev, qp->qpn);

	xa_erase(&uctx->qps, qp->qpn);
	exrnic_async_withdraw(edev, &edev->qps, qp->qpn, EXRNIC_ASYNC_QP_FAILED);
	attr->async_events = exrnic_event_source_fini(&qp->error);
	exrnic_qp_use_parts(qp, -1);
	exrnic_qp_unpin_rings(uctx, qp);
	exrnic_qp_forget_groups(uctx, qp);
	exrnic_object_free(uctx, qp);
	return err;
}

struct exrnic_qp *exrnic_qp_find(struct exrnic_ucontext *uctx, u32 qpn)
{
	return xa_load(&uctx->qps, qpn);
}

int exrnic_qp_destroy(struct exrnic_ucontext *uctx, struct exrnic_destroy *attr)
{
	struct exrnic_qp *qp = xa_load(&uctx->qps, attr->handle);

	if (!qp)
		return -ENOENT;
	if (qp->windows)
		return -EBUSY;
	exrnic_qp_stop(uctx->edev, qp);
	return exrnic_qp_release(uctx, qp, attr);
}

void exrnic_qp_release_all(struct exrnic_ucontext *uctx)
{
	struct exrnic_destroy unused;
	struct exrnic_qp *qp;
	unsigned long i;

	exrnic_qp_stop_all(uctx);
	xa_for_each(&uctx->qps, i, qp)
		exrnic_qp_release(uctx, qp, &unused);
	xa_destroy(&uctx->qps);
}
