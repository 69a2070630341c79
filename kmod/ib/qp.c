// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Queue pairs. */
#include <linux/log2.h>
#include <linux/slab.h>

#include "ib.h"

/* ---- Queues of work requests */

static void exrnic_ib_queue_free(struct ib_device *ibdev, struct exrnic_ib_queue *queue)
{
	exrnic_ib_memory_free(ibdev, &queue->ring);
	kvfree(queue->path.wr_ids);
	kvfree(queue->parts);
	queue->path.wr_ids = NULL;
	queue->parts = NULL;
}

static int exrnic_ib_queue_alloc(struct ib_device *ibdev, struct exrnic_ib_queue *queue, u32 doorbell)
{
	int err = -ENOMEM;

	queue->path.wr_ids = kvcalloc(BIT(queue->log_slots), sizeof(*queue->path.wr_ids), GFP_KERNEL);
	queue->parts = kvcalloc(BIT(queue->log_slots), sizeof(*queue->parts), GFP_KERNEL);
	if (queue->path.wr_ids && queue->parts)
		err = exrnic_ib_memory_alloc(ibdev, &queue->ring, sizeof(struct exrnic_wqe) << queue->log_slots);
	if (err)
		exrnic_ib_queue_free(ibdev, queue);
	queue->path.ring.slots = queue->ring.address;
	queue->path.ring.num_slots = BIT(queue->log_slots);
	queue->path.ring.doorbell = doorbell;
	return err;
}

static int exrnic_ib_queue_pin(struct ib_device *ibdev, struct exrnic_ib_queue *queue, u64 address, u32 log_slots)
{
	if (log_slots < queue->log_slots || log_slots > EXRNIC_SQ_LOG_MAX)
		return -EINVAL;
	queue->log_slots = log_slots;
	return exrnic_ib_memory_pin(ibdev, &queue->ring, address, sizeof(struct exrnic_wqe) << log_slots, 0);
}

static bool exrnic_ib_has_headers(const struct exrnic_ib_qp *qp)
{
	return qp->service == EXRNIC_SERVICE_UD;
}

/* How large a queue is that holds so many work requests of this kind; none: a small one. */
static int exrnic_ib_queue_shape(struct exrnic_ib_queue *queue, u32 requests, u32 elements, u32 inline_bytes)
{
	struct exrnic_queue_shape shape = {
		.wrs = max(requests, 1u),
		.elements = elements,
		.inline_bytes = inline_bytes,
	};

	if (!exrnic_shape_grant(&shape, BIT(EXRNIC_SQ_LOG_MAX)))
		return -EINVAL;
	queue->log_slots = ilog2(shape.slots);
	queue->elements = elements;
	queue->inline_bytes = inline_bytes;
	return 0;
}

/* Of UD the GRH is an element, and inline data stand behind it, not in the work request. */
static int exrnic_ib_qp_shape(struct exrnic_ib_qp *qp, const struct ib_qp_cap *cap)
{
	const bool ud = exrnic_ib_has_headers(qp);
	int err;

	if (cap->max_send_sge > EXRNIC_MAX_SGE - ud || cap->max_recv_sge > EXRNIC_MAX_SGE ||
	    cap->max_inline_data > (ud ? EXRNIC_IB_UD_INLINE_MAX : EXRNIC_INLINE_MAX))
		return -EINVAL;
	err = exrnic_ib_queue_shape(&qp->sq, cap->max_send_wr, cap->max_send_sge + ud,
				    ud ? 0 : cap->max_inline_data);
	if (err)
		return err;
	if (ud)
		qp->sq.inline_bytes = cap->max_inline_data;
	if (qp->ibqp.srq)
		return 0;
	return exrnic_ib_queue_shape(&qp->rq, cap->max_recv_wr, cap->max_recv_sge, 0);
}

/* ---- Memory */

static void exrnic_ib_qp_free_memory(struct exrnic_ib_qp *qp)
{
	struct ib_device *ibdev = qp->ibqp.device;

	kvfree(qp->buffers);
	exrnic_ib_memory_free(ibdev, &qp->headers);
	exrnic_ib_queue_free(ibdev, &qp->rq);
	exrnic_ib_queue_free(ibdev, &qp->sq);
}

static u32 exrnic_ib_headers_bytes(const struct exrnic_ib_qp *qp)
{
	return exrnic_ib_header_bytes(qp) << qp->sq.log_slots;
}

static int exrnic_ib_qp_alloc_memory(struct exrnic_ib_qp *qp)
{
	struct ib_device *ibdev = qp->ibqp.device;
	int err = exrnic_ib_queue_alloc(ibdev, &qp->sq, EXRNIC_DOORBELL_SQ);

	if (!err && !qp->ibqp.srq)
		err = exrnic_ib_queue_alloc(ibdev, &qp->rq, EXRNIC_DOORBELL_RQ);
	if (!err && exrnic_ib_has_headers(qp))
		err = exrnic_ib_memory_alloc(ibdev, &qp->headers, exrnic_ib_headers_bytes(qp));
	if (!err && qp->ibqp.qp_type == IB_QPT_GSI) {
		qp->buffers = kvcalloc(BIT(qp->rq.log_slots), sizeof(*qp->buffers), GFP_KERNEL);
		err = qp->buffers ? 0 : -ENOMEM;
	}
	if (err)
		exrnic_ib_qp_free_memory(qp);
	return err;
}

static int exrnic_ib_qp_pin_memory(struct exrnic_ib_qp *qp, struct ib_udata *udata)
{
	struct ib_device *ibdev = qp->ibqp.device;
	struct exrnic_ib_create_qp request;
	int err = exrnic_ib_take(udata, &request, sizeof(request));

	if (err)
		return err;
	if ((qp->ibqp.srq && (request.rq || request.rq_log_slots)) ||
	    (!exrnic_ib_has_headers(qp) && request.headers))
		return -EINVAL;
	err = exrnic_ib_queue_pin(ibdev, &qp->sq, request.sq, request.sq_log_slots);
	if (!err && !qp->ibqp.srq)
		err = exrnic_ib_queue_pin(ibdev, &qp->rq, request.rq, request.rq_log_slots);
	if (!err && exrnic_ib_has_headers(qp))
		err = exrnic_ib_memory_pin(ibdev, &qp->headers, request.headers, exrnic_ib_headers_bytes(qp), 0);
	if (err)
		exrnic_ib_qp_free_memory(qp);
	return err;
}

/* ---- Life */

static void exrnic_ib_qp_raise(struct exrnic_ib_qp *qp, enum ib_event_type type)
{
	struct ib_event event = {
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
		.event = type,
	};

	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
}

/* What a completion tells is no event of verbs. */
static void exrnic_ib_qp_failed(struct exrnic_qp *core, u32 cause)
{
	struct exrnic_ib_qp *qp = container_of(core, struct exrnic_ib_qp, qp);

	WRITE_ONCE(qp->state, IB_QPS_ERR);
	switch (cause) {
	case EXRNIC_QP_CAUSE_WORK_REQUEST:
	case EXRNIC_QP_CAUSE_NO_ANSWER:
	case EXRNIC_QP_CAUSE_NO_RECEIVE:
	case EXRNIC_QP_CAUSE_PEER:
		break;
	case EXRNIC_QP_CAUSE_REQUEST:
		exrnic_ib_qp_raise(qp, IB_EVENT_QP_ACCESS_ERR);
		break;
	default:
		exrnic_ib_qp_raise(qp, IB_EVENT_QP_FATAL);
	}
}

static void exrnic_ib_qp_emptied(struct exrnic_qp *core)
{
	struct exrnic_ib_qp *qp = container_of(core, struct exrnic_ib_qp, qp);

	WRITE_ONCE(qp->emptied, true);
	exrnic_ib_qp_raise(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}

static void exrnic_ib_qp_drained(struct exrnic_qp *core)
{
	exrnic_ib_qp_raise(container_of(core, struct exrnic_ib_qp, qp), IB_EVENT_SQ_DRAINED);
}

static int exrnic_ib_service(enum ib_qp_type type, enum exrnic_service *service)
{
	switch (type) {
	case IB_QPT_RC:
		*service = EXRNIC_SERVICE_RC;
		return 0;
	case IB_QPT_UC:
		*service = EXRNIC_SERVICE_UC;
		return 0;
	case IB_QPT_UD:
	case IB_QPT_GSI:
		*service = EXRNIC_SERVICE_UD;
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/* ---- What it is charged for, beside attachments to groups */

static int exrnic_ib_charge_qp(struct exrnic_ib_qp *qp)
{
	int err = exrnic_ib_charge(qp->user, EXRNIC_KIND_QP, 1);

	if (err || !exrnic_ib_has_headers(qp))
		return err;
	err = exrnic_ib_charge(qp->user, EXRNIC_KIND_MR, 1);
	if (err)
		exrnic_ib_uncharge(qp->user, EXRNIC_KIND_QP, 1);
	return err;
}

static void exrnic_ib_uncharge_qp(struct exrnic_ib_qp *qp)
{
	if (exrnic_ib_has_headers(qp))
		exrnic_ib_uncharge(qp->user, EXRNIC_KIND_MR, 1);
	exrnic_ib_uncharge(qp->user, EXRNIC_KIND_QP, 1);
}

static int exrnic_ib_charge_reads(struct exrnic_ib_qp *qp, u32 places)
{
	int err = exrnic_ib_charge(qp->user, EXRNIC_KIND_READ_OUT, places);

	if (err)
		return err;
	err = exrnic_ib_charge(qp->user, EXRNIC_KIND_READ_IN, places);
	if (err)
		exrnic_ib_uncharge(qp->user, EXRNIC_KIND_READ_OUT, places);
	else
		qp->read_places = places;
	return err;
}

static void exrnic_ib_uncharge_reads(struct exrnic_ib_qp *qp)
{
	exrnic_ib_uncharge(qp->user, EXRNIC_KIND_READ_IN, qp->read_places);
	exrnic_ib_uncharge(qp->user, EXRNIC_KIND_READ_OUT, qp->read_places);
}

/* ---- On the device */

/*
 * How many reads may be under way is said with RTR and RTS, and places for them are taken now: most, and fewer
 * if others have taken them.
 */
static int exrnic_ib_qp_create_on_device(struct exrnic_ib_qp *qp, struct exrnic_qp_attr *attr)
{
	static const u32 reads[] = { EXRNIC_IB_MAX_READS, EXRNIC_READ_SLICE, 0 };
	unsigned int i;
	int err = -ENOSPC;

	for (i = qp->service == EXRNIC_SERVICE_RC ? 0 : 2; err == -ENOSPC && i < ARRAY_SIZE(reads); i++) {
		if (exrnic_ib_charge_reads(qp, exrnic_read_places(reads[i])))
			continue;
		attr->max_reads_out = reads[i];
		attr->max_reads_in = reads[i];
		err = exrnic_qp_create(exrnic_ib_edev(qp->ibqp.device), &qp->qp, attr);
		if (err)
			exrnic_ib_uncharge_reads(qp);
	}
	return err;
}

static int exrnic_ib_qp_register_headers(struct exrnic_ib_qp *qp)
{
	const struct exrnic_mr_attr attr = {
		.pbl = &qp->headers.pbl,
		.address = exrnic_ib_memory_offset(&qp->headers),
		.length = exrnic_ib_headers_bytes(qp),
		.pdn = exrnic_ib_pd(qp->ibqp.pd)->pdn,
	};

	if (!exrnic_ib_has_headers(qp))
		return 0;
	return exrnic_mr_create(exrnic_ib_edev(qp->ibqp.device), &qp->headers_mr, &attr);
}

static void exrnic_ib_qp_unregister_headers(struct exrnic_ib_qp *qp)
{
	if (exrnic_ib_has_headers(qp))
		exrnic_mr_destroy(exrnic_ib_edev(qp->ibqp.device), &qp->headers_mr);
}

/* Of one with memory: the device, and then whoever is told of it. */
static int exrnic_ib_qp_publish(struct exrnic_ib_qp *qp, const struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct exrnic_ib_device *dev = exrnic_ib_device(qp->ibqp.device);
	struct exrnic_qp_attr attr = {
		.sq = &qp->sq.ring.pbl,
		.rq = init->srq ? NULL : &qp->rq.ring.pbl,
		.sq_log_slots = qp->sq.log_slots,
		.rq_log_slots = qp->rq.log_slots,
		.srqn = init->srq ? exrnic_ib_srq(init->srq)->srq.srqn : EXRNIC_NO_SRQ,
		.page = exrnic_ib_page_of(qp->ibqp.device, udata),
		.pdn = exrnic_ib_pd(qp->ibqp.pd)->pdn,
		.send_cqn = exrnic_ib_cq(init->send_cq)->cq.cqn,
		.recv_cqn = exrnic_ib_cq(init->recv_cq)->cq.cqn,
		.service = qp->service,
		.qpn = init->qp_type == IB_QPT_GSI ? EXRNIC_QPN_GSI : EXRNIC_ANY_QPN,
	};
	struct exrnic_ib_create_qp_resp answer = {};
	int err = exrnic_ib_qp_register_headers(qp);

	if (err)
		return err;
	err = exrnic_ib_qp_create_on_device(qp, &attr);
	if (err)
		goto err_headers;
	qp->ibqp.qp_num = qp->qp.qpn;
	answer.headers_stag = qp->headers_mr.stag;
	err = udata ? exrnic_ib_tell(udata, &answer, sizeof(answer))
		    : xa_err(xa_store_irq(&dev->qps, qp->qp.qpn, qp, GFP_KERNEL));
	if (!err)
		return 0;
	exrnic_qp_destroy(dev->edev, &qp->qp);
	exrnic_ib_uncharge_reads(qp);
err_headers:
	exrnic_ib_qp_unregister_headers(qp);
	return err;
}

int exrnic_ib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct exrnic_ib_qp *qp = exrnic_ib_qp(ibqp);
	int err = exrnic_ib_service(init->qp_type, &qp->service);

	if (err)
		return err;
	/* A connected one sends no multicast that could come back. */
	if (init->create_flags &&
	    (init->create_flags != IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK || qp->service == EXRNIC_SERVICE_UD))
		return -EOPNOTSUPP;
	/* The core sets these behind this, and what is below asks for them. */
	ibqp->send_cq = init->send_cq;
	ibqp->recv_cq = init->recv_cq;
	ibqp->srq = init->srq;
	ibqp->qp_type = init->qp_type;
	err = exrnic_ib_qp_shape(qp, &init->cap);
	if (err)
		return err;
	spin_lock_init(&qp->sq.lock);
	spin_lock_init(&qp->rq.lock);
	exrnic_ib_groups_init(qp);
	qp->signal_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->state = IB_QPS_RESET;
	qp->qp.failed = exrnic_ib_qp_failed;
	qp->qp.last_wqe = exrnic_ib_qp_emptied;
	qp->qp.drained = exrnic_ib_qp_drained;
	qp->user = exrnic_ib_user_of(udata);
	qp->qp.user = qp->user;
	err = exrnic_ib_charge_qp(qp);
	if (err)
		return err;
	err = udata ? exrnic_ib_qp_pin_memory(qp, udata) : exrnic_ib_qp_alloc_memory(qp);
	if (err)
		goto err_charge;
	if (udata) {
		err = exrnic_ib_qp_publish(qp, init, udata);
	} else {
		mutex_lock(&exrnic_ib_device(ibqp->device)->qps_lock);
		err = exrnic_ib_qp_publish(qp, init, udata);
		mutex_unlock(&exrnic_ib_device(ibqp->device)->qps_lock);
		if (!err)
			exrnic_ib_flush_add(qp);
	}
	if (!err)
		return 0;
	exrnic_ib_qp_free_memory(qp);
err_charge:
	exrnic_ib_uncharge_qp(qp);
	return err;
}

/* Whoever polls for another queue pair of a device that is cut off flushes this one's, too. */
static void exrnic_ib_queue_reset(struct exrnic_ib_cq *cq, struct exrnic_ib_queue *queue)
{
	unsigned long irq;

	spin_lock_irqsave(&cq->lock, irq);
	exrnic_work_queue_reset(&queue->path);
	spin_unlock_irqrestore(&cq->lock, irq);
}

/* Of a kernel user: nothing of it is left in the queues, and nobody posts meanwhile. */
static void exrnic_ib_qp_forget(struct exrnic_ib_qp *qp)
{
	struct exrnic_ib_cq *send = exrnic_ib_cq(qp->ibqp.send_cq), *recv = exrnic_ib_cq(qp->ibqp.recv_cq);
	struct exrnic_shared_queue *shared = qp->ibqp.srq ? &exrnic_ib_srq(qp->ibqp.srq)->path : NULL;

	exrnic_ib_cq_drop(send, qp->qp.qpn, shared);
	if (recv != send)
		exrnic_ib_cq_drop(recv, qp->qp.qpn, shared);
	exrnic_ib_queue_reset(send, &qp->sq);
	exrnic_ib_queue_reset(recv, &qp->rq);
	WRITE_ONCE(qp->emptied, false);
}

/*
 * The RDMA core ends all of a process one by one, and with the device those of all processes: these have the time together that one user
 * has.
 */
static unsigned long exrnic_ib_stop_deadline(const struct exrnic_ib_qp *qp)
{
	const struct exrnic_ib_device *dev = exrnic_ib_device(qp->ibqp.device);

	return qp->user && smp_load_acquire(&dev->ends) ? dev->ends_at : exrnic_qp_stop_deadline(qp->user);
}

static void exrnic_ib_qp_stop(struct exrnic_ib_qp *qp)
{
	struct exrnic_device *edev = exrnic_ib_edev(qp->ibqp.device);

	exrnic_qp_begin_stop(edev, &qp->qp);
	exrnic_qp_await_stop(edev, &qp->qp, exrnic_ib_stop_deadline(qp));
}

int exrnic_ib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct exrnic_ib_device *dev = exrnic_ib_device(ibqp->device);
	struct exrnic_ib_qp *qp = exrnic_ib_qp(ibqp);

	exrnic_ib_qp_stop(qp);
	if (ibqp->uobject) {
		exrnic_qp_destroy(dev->edev, &qp->qp);
	} else {
		exrnic_ib_flush_remove(qp);
		mutex_lock(&dev->qps_lock);
		exrnic_qp_destroy(dev->edev, &qp->qp);
		exrnic_ib_qp_forget(qp);
		xa_erase_irq(&dev->qps, qp->qp.qpn);
		mutex_unlock(&dev->qps_lock);
	}
	exrnic_ib_qp_unregister_headers(qp);
	exrnic_ib_groups_free(qp);
	exrnic_ib_qp_free_memory(qp);
	exrnic_ib_uncharge_reads(qp);
	exrnic_ib_uncharge_qp(qp);
	return 0;
}

/* ---- States and attributes */

static const u32 exrnic_ib_states[] = {
	[IB_QPS_RESET] = EXRNIC_QP_STATE_RESET,
	[IB_QPS_INIT] = EXRNIC_QP_STATE_INIT,
	[IB_QPS_RTR] = EXRNIC_QP_STATE_RTR,
	[IB_QPS_RTS] = EXRNIC_QP_STATE_RTS,
	[IB_QPS_SQD] = EXRNIC_QP_STATE_SQD,
	[IB_QPS_ERR] = EXRNIC_QP_STATE_ERROR,
};

static enum ib_qp_state exrnic_ib_state(u32 state)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(exrnic_ib_states); i++)
		if (exrnic_ib_states[i] == state && i != IB_QPS_SQE)
			return i;
	return IB_QPS_ERR;
}

/* What the device keeps of these attributes, for this service. */
static int exrnic_ib_connected_attributes(struct exrnic_ib_qp *qp, const struct ib_qp_attr *attr, int mask,
					  struct exrnic_qp_modify *modify)
{
	u32 rights;
	int err;

	if (mask & IB_QP_ACCESS_FLAGS) {
		/* What the device cannot do for a peer it does not do, whoever is allowed it: as other devices have it. */
		err = exrnic_ib_access(attr->qp_access_flags & ~EXRNIC_IB_ACCESS_FLUSH, &rights);
		if (err)
			return err;
		modify->access = rights & ~(EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_MW_BIND);
		modify->attributes |= EXRNIC_QP_ATTRIBUTES_ACCESS;
	}
	if (mask & IB_QP_AV) {
		if (attr->ah_attr.type != RDMA_AH_ATTR_TYPE_ROCE)
			return -EINVAL;
		err = exrnic_ib_node_of(qp->ibqp.device, attr->ah_attr.roce.dmac, &modify->dest_node);
		if (err)
			return err;
	}
	if (mask & IB_QP_DEST_QPN) {
		if (attr->dest_qp_num >= EXRNIC_MAX_QP)
			return -EINVAL;
		modify->dest_qpn = attr->dest_qp_num;
		modify->attributes |= EXRNIC_QP_ATTRIBUTES_DEST;
	}
	if (mask & IB_QP_PATH_MTU) {
		modify->path_mtu = ib_mtu_enum_to_int(attr->path_mtu);
		modify->attributes |= EXRNIC_QP_ATTRIBUTES_PATH_MTU;
	}
	return 0;
}

static int exrnic_ib_reliable_attributes(const struct ib_qp_attr *attr, int mask, struct exrnic_qp_modify *modify)
{
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC) {
		modify->max_reads_in = attr->max_dest_rd_atomic;
		modify->attributes |= EXRNIC_QP_ATTRIBUTES_MAX_READS_IN;
	}
	if (mask & IB_QP_MAX_QP_RD_ATOMIC) {
		modify->max_reads_out = attr->max_rd_atomic;
		modify->attributes |= EXRNIC_QP_ATTRIBUTES_MAX_READS_OUT;
	}
	if (mask & IB_QP_MIN_RNR_TIMER) {
		modify->min_rnr_timer = attr->min_rnr_timer;
		modify->attributes |= EXRNIC_QP_ATTRIBUTES_MIN_RNR_TIMER;
	}
	if (mask & IB_QP_RNR_RETRY) {
		modify->rnr_retry = attr->rnr_retry;
		modify->attributes |= EXRNIC_QP_ATTRIBUTES_RNR_RETRY;
	}
	if (mask & IB_QP_TIMEOUT) {
		modify->timeout = attr->timeout;
		modify->attributes |= EXRNIC_QP_ATTRIBUTES_TIMEOUT;
	}
	if (mask & IB_QP_RETRY_CNT) {
		modify->retry_count = attr->retry_cnt;
		modify->attributes |= EXRNIC_QP_ATTRIBUTES_RETRY_COUNT;
	}
	return 0;
}

static int exrnic_ib_datagram_attributes(const struct ib_qp_attr *attr, int mask, struct ib_udata *udata,
					 struct exrnic_qp_modify *modify)
{
	if (mask & IB_QP_QKEY) {
		if (udata && (attr->qkey & EXRNIC_QKEY_CONTROLLED) && !capable(CAP_NET_RAW))
			return -EPERM;
		modify->qkey = attr->qkey;
		modify->attributes |= EXRNIC_QP_ATTRIBUTES_QKEY;
	}
	if (mask & IB_QP_PKEY_INDEX) {
		modify->pkey_index = attr->pkey_index;
		modify->attributes |= EXRNIC_QP_ATTRIBUTES_PKEY_INDEX;
	}
	return 0;
}

static int exrnic_ib_attributes(struct exrnic_ib_qp *qp, const struct ib_qp_attr *attr, int mask,
				struct ib_udata *udata, struct exrnic_qp_modify *modify)
{
	int err;

	if ((mask & IB_QP_PKEY_INDEX) && attr->pkey_index >= EXRNIC_PKEYS)
		return -EINVAL;
	if ((mask & IB_QP_PORT) && attr->port_num != EXRNIC_IB_PORT)
		return -EINVAL;
	if (qp->service == EXRNIC_SERVICE_UD)
		return exrnic_ib_datagram_attributes(attr, mask, udata, modify);
	err = exrnic_ib_connected_attributes(qp, attr, mask, modify);
	if (err || qp->service == EXRNIC_SERVICE_UC)
		return err;
	return exrnic_ib_reliable_attributes(attr, mask, modify);
}

/* What the device does not keep, for query. */
static void exrnic_ib_keep(struct ib_qp_attr *kept, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_PKEY_INDEX)
		kept->pkey_index = attr->pkey_index;
	if (mask & IB_QP_PORT)
		kept->port_num = attr->port_num;
	if (mask & IB_QP_RQ_PSN)
		kept->rq_psn = attr->rq_psn;
	if (mask & IB_QP_SQ_PSN)
		kept->sq_psn = attr->sq_psn;
	if (mask & IB_QP_AV) {
		kept->ah_attr = attr->ah_attr;
		kept->ah_attr.grh.sgid_attr = NULL;	/* which is the core's */
	}
}

/* A failure may be of the life before a RESET, and told late. */
static enum ib_qp_state exrnic_ib_current_state(struct exrnic_ib_qp *qp)
{
	enum ib_qp_state state = READ_ONCE(qp->state);
	struct exrnic_qp_status status;

	if (state != IB_QPS_ERR || exrnic_qp_query(exrnic_ib_edev(qp->ibqp.device), &qp->qp, &status))
		return state;
	return exrnic_ib_state(status.state);
}

/* A kernel user's on a device that has been cut off: what it holds is flushed. */
static bool exrnic_ib_is_stopped(struct exrnic_ib_qp *qp, enum ib_qp_state to)
{
	return !qp->ibqp.uobject && (to == IB_QPS_RESET || to == IB_QPS_ERR) &&
	       exrnic_device_error(exrnic_ib_edev(qp->ibqp.device));
}

int exrnic_ib_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct exrnic_ib_qp *qp = exrnic_ib_qp(ibqp);
	const enum ib_qp_state from = mask & IB_QP_CUR_STATE ? attr->cur_qp_state : exrnic_ib_current_state(qp);
	const enum ib_qp_state to = mask & IB_QP_STATE ? attr->qp_state : from;
	struct exrnic_qp_modify modify = {};
	int err;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	if (mask & (IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE))
		return -EOPNOTSUPP;
	if (from == IB_QPS_SQE || to == IB_QPS_SQE || !ib_modify_qp_is_ok(from, to, ibqp->qp_type, mask))
		return -EINVAL;
	modify.state = exrnic_ib_states[to];
	if (to != IB_QPS_RESET && to != IB_QPS_ERR) {
		err = exrnic_ib_attributes(qp, attr, mask, udata, &modify);
		if (err)
			return err;
	}
	err = exrnic_qp_modify(exrnic_ib_edev(ibqp->device), &qp->qp, &modify);
	if (err && !exrnic_ib_is_stopped(qp, to))
		return err == -EPERM ? -EINVAL : err;
	exrnic_ib_keep(&qp->attr, attr, mask);
	WRITE_ONCE(qp->state, to);
	if (to == IB_QPS_RESET && !ibqp->uobject)
		exrnic_ib_qp_forget(qp);
	if (err)
		exrnic_ib_flush_if_cut_off(exrnic_ib_device(ibqp->device));
	return 0;
}

int exrnic_ib_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_qp_init_attr *init)
{
	struct exrnic_ib_qp *qp = exrnic_ib_qp(ibqp);
	struct exrnic_qp_status status;
	int err = exrnic_qp_query(exrnic_ib_edev(ibqp->device), &qp->qp, &status);

	if (err)
		return err;
	*attr = qp->attr;
	attr->qp_state = exrnic_ib_state(status.state);
	attr->cur_qp_state = attr->qp_state;
	attr->path_mtu = ib_mtu_int_to_enum(status.path_mtu);
	attr->path_mig_state = IB_MIG_MIGRATED;
	attr->qkey = status.qkey;
	attr->dest_qp_num = status.dest_qpn;
	if (status.access & EXRNIC_ACCESS_REMOTE_WRITE)
		attr->qp_access_flags |= IB_ACCESS_REMOTE_WRITE;
	if (status.access & EXRNIC_ACCESS_REMOTE_READ)
		attr->qp_access_flags |= IB_ACCESS_REMOTE_READ;
	if (status.access & EXRNIC_ACCESS_REMOTE_ATOMIC)
		attr->qp_access_flags |= IB_ACCESS_REMOTE_ATOMIC;
	attr->sq_draining = status.sq_draining;
	attr->max_rd_atomic = status.max_reads_out;
	attr->max_dest_rd_atomic = status.max_reads_in;
	attr->min_rnr_timer = status.min_rnr_timer;
	attr->rnr_retry = status.rnr_retry;
	attr->timeout = status.timeout;
	attr->retry_cnt = status.retry_count;
	attr->cap.max_send_wr = BIT(qp->sq.log_slots);
	attr->cap.max_send_sge = qp->sq.elements - exrnic_ib_has_headers(qp);
	attr->cap.max_inline_data = qp->sq.inline_bytes;
	attr->cap.max_recv_wr = ibqp->srq ? 0 : BIT(qp->rq.log_slots);
	attr->cap.max_recv_sge = ibqp->srq ? 0 : qp->rq.elements;

	init->event_handler = ibqp->event_handler;
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->cap = attr->cap;
	init->sq_sig_type = qp->signal_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init->qp_type = ibqp->qp_type;
	init->port_num = attr->port_num;
	return 0;
}
