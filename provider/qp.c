// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs: made, changed, destroyed. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <ccan/ilog.h>
#include <util/util.h>

#include "exrnic_verbs.h"

/* ---- Shapes and memory */

static void exrnic_free_wq(struct exrnic_wq *wq)
{
	free(wq->queue.wr_ids);
	exrnic_memory_free(&wq->memory);
}

/* 0, or an errno. wq->shape has been granted. */
static int exrnic_alloc_wq(struct exrnic_wq *wq, struct exrnic_pd *pd,
			   enum exrnic_resource resource, uint32_t doorbell)
{
	int ret;

	ret = exrnic_memory_alloc(&wq->memory, pd, resource,
				  wq->shape.slots * sizeof(struct exrnic_wqe));
	if (ret)
		return ret;

	wq->queue.ring.slots = wq->memory.data;
	wq->queue.ring.num_slots = wq->shape.slots;
	wq->queue.ring.doorbell = doorbell;
	wq->queue.wr_ids = calloc(wq->shape.slots, sizeof(*wq->queue.wr_ids));
	if (!wq->queue.wr_ids)
		return ENOMEM;
	exrnic_lock_init(&wq->lock, exrnic_pd_is_one_thread(pd));
	return 0;
}

static bool exrnic_grant(struct ibv_context *ibctx, const char *which,
			 struct exrnic_queue_shape *shape)
{
	const struct exrnic_queue_shape asked = *shape;

	/* Verbs allow a queue that takes nothing; a ring has slots. */
	if (!shape->wrs)
		shape->wrs = 1;
	if (shape->elements <= EXRNIC_MAX_SGE &&
	    shape->inline_bytes <= EXRNIC_INLINE_MAX &&
	    exrnic_shape_grant(shape, 1u << EXRNIC_SQ_LOG_MAX))
		return true;
	verbs_err(verbs_get_ctx(ibctx),
		  "no %s queue for %u work requests of %u elements and %u bytes inline: it has %u slots, and takes %u elements and %u bytes\n",
		  which, asked.wrs, asked.elements, asked.inline_bytes,
		  1u << EXRNIC_SQ_LOG_MAX, EXRNIC_MAX_SGE, EXRNIC_INLINE_MAX);
	return false;
}

/*
 * A datagram's first element is its header, which what is inline stands
 * behind: it takes no room in the ring.
 */
static bool exrnic_grant_datagrams(struct ibv_context *ibctx,
				   const struct ibv_qp_cap *cap,
				   struct exrnic_queue_shape *shape)
{
	if (cap->max_send_sge >= EXRNIC_MAX_SGE ||
	    cap->max_inline_data > EXRNIC_IB_UD_INLINE_MAX) {
		verbs_err(verbs_get_ctx(ibctx),
			  "a datagram has %u elements, or %u bytes inline, at most: not %u, and %u\n",
			  EXRNIC_MAX_SGE - 1, EXRNIC_IB_UD_INLINE_MAX,
			  cap->max_send_sge, cap->max_inline_data);
		return false;
	}
	shape->elements = cap->max_send_sge + 1;
	shape->inline_bytes = 0;
	return exrnic_grant(ibctx, "send", shape);
}

/* What the queue pair gets, of which attr->cap is told later. */
static bool exrnic_grant_qp(struct ibv_context *ibctx, struct exrnic_qp *qp,
			    const struct ibv_qp_init_attr_ex *attr)
{
	const bool ud = attr->qp_type == IBV_QPT_UD;
	const struct ibv_qp_cap *cap = &attr->cap;

	qp->sq.shape.wrs = cap->max_send_wr;
	if (ud) {
		if (!exrnic_grant_datagrams(ibctx, cap, &qp->sq.shape))
			return false;
	} else {
		qp->sq.shape.elements = cap->max_send_sge;
		qp->sq.shape.inline_bytes = cap->max_inline_data;
		if (!exrnic_grant(ibctx, "send", &qp->sq.shape))
			return false;
	}
	qp->cap.max_send_wr = qp->sq.shape.wrs;
	qp->cap.max_send_sge = qp->sq.shape.elements - ud;
	qp->cap.max_inline_data = ud ? EXRNIC_IB_UD_INLINE_MAX :
				       qp->sq.shape.inline_bytes;
	if (attr->srq)
		return true;

	qp->rq.shape.wrs = cap->max_recv_wr;
	qp->rq.shape.elements = cap->max_recv_sge;
	if (!exrnic_grant(ibctx, "receive", &qp->rq.shape))
		return false;
	qp->cap.max_recv_wr = qp->rq.shape.wrs;
	qp->cap.max_recv_sge = qp->rq.shape.elements;
	return true;
}

static void exrnic_free_qp(struct exrnic_qp *qp)
{
	exrnic_memory_free(&qp->headers);
	exrnic_free_wq(&qp->rq);
	exrnic_free_wq(&qp->sq);
	free(qp);
}

static int exrnic_alloc_queues(struct exrnic_qp *qp,
			       const struct ibv_qp_init_attr_ex *attr)
{
	struct exrnic_pd *pd = to_exrnic_pd(attr->pd);
	int ret;

	ret = exrnic_alloc_wq(&qp->sq, pd, EXRNIC_RESOURCE_SQ,
			      EXRNIC_DOORBELL_SQ);
	if (!ret && !attr->srq)
		ret = exrnic_alloc_wq(&qp->rq, pd, EXRNIC_RESOURCE_RQ,
				      EXRNIC_DOORBELL_RQ);
	if (!ret && attr->qp_type == IBV_QPT_UD)
		ret = exrnic_memory_alloc(&qp->headers, pd,
					  EXRNIC_RESOURCE_HEADERS,
					  qp->sq.shape.slots *
					  EXRNIC_IB_HEADER_BYTES);
	return ret;
}

/* A queue pair with its memory, of which the kernel does not know yet. */
static struct exrnic_qp *
exrnic_alloc_qp(struct ibv_context *ibctx,
		const struct ibv_qp_init_attr_ex *attr)
{
	struct exrnic_qp *qp;
	int ret = EINVAL;

	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;

	if (!exrnic_grant_qp(ibctx, qp, attr))
		goto err;
	ret = exrnic_alloc_queues(qp, attr);
	if (ret)
		goto err;

	qp->sq_sig_all = attr->sq_sig_all;
	qp->send_cq = to_exrnic_cq(attr->send_cq);
	qp->recv_cq = to_exrnic_cq(attr->recv_cq);
	qp->srq = attr->srq ? to_exrnic_srq(attr->srq) : NULL;
	atomic_init(&qp->state, IBV_QPS_RESET);
	atomic_init(&qp->max_rd_atomic, EXRNIC_MAX_READS);
	return qp;

err:
	exrnic_free_qp(qp);
	errno = ret;
	return NULL;
}

/* ---- The completions of a queue pair that goes */

static void exrnic_drop_from(struct exrnic_cq *cq, struct exrnic_qp *qp)
{
	exrnic_cq_drop(&cq->ring, qp->number,
		       qp->srq ? &qp->srq->queue : NULL);
	exrnic_cq_report_taken(cq);
}

/* In the order of their addresses, whoever locks both. */
static void exrnic_lock_cqs(struct exrnic_qp *qp)
{
	struct exrnic_cq *first = qp->send_cq, *second = qp->recv_cq;

	if (first > second) {
		first = qp->recv_cq;
		second = qp->send_cq;
	}
	exrnic_lock(&first->lock);
	if (second != first)
		exrnic_lock(&second->lock);
}

static void exrnic_unlock_cqs(struct exrnic_qp *qp)
{
	exrnic_unlock(&qp->send_cq->lock);
	if (qp->recv_cq != qp->send_cq)
		exrnic_unlock(&qp->recv_cq->lock);
}

/* Those that were not polled are gone. Under the locks of both queues. */
static void exrnic_drop_completions(struct exrnic_qp *qp)
{
	exrnic_drop_from(qp->send_cq, qp);
	if (qp->recv_cq != qp->send_cq)
		exrnic_drop_from(qp->recv_cq, qp);
}

/* ---- Making and destroying */

/* Under ctx->control. 0, or an errno. */
static int exrnic_create_in_kernel(struct exrnic_context *ctx,
				   struct exrnic_qp *qp,
				   struct ibv_qp_init_attr_ex *attr)
{
	struct exrnic_create_qp_resp resp = {};
	struct exrnic_create_qp cmd = {
		.sq = (uintptr_t)qp->sq.memory.data,
		.rq = (uintptr_t)qp->rq.memory.data,
		.headers = (uintptr_t)qp->headers.data,
		.sq_log_slots = ilog32(qp->sq.shape.slots) - 1,
		.rq_log_slots = qp->srq ? 0 : ilog32(qp->rq.shape.slots) - 1,
	};
	int ret;

	pthread_spin_lock(&ctx->pio_lock);
	ret = ibv_cmd_create_qp_ex2(&ctx->ibv_ctx.context, &qp->vqp, attr,
				    &cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				    sizeof(resp));
	pthread_spin_unlock(&ctx->pio_lock);
	if (ret)
		return ret;

	qp->number = qp->vqp.qp.qp_num;
	qp->headers_stag = resp.headers_stag;
	if (qp->number >= ctx->max_qp) {
		verbs_err(&ctx->ibv_ctx,
			  "the kernel gave queue pair %u, not one below %u\n",
			  qp->number, ctx->max_qp);
		ibv_cmd_destroy_qp(&qp->vqp.qp);
		return EIO;
	}
	EXRNIC_DP_STORE_RELEASE(&ctx->qps[qp->number], qp);
	return 0;
}

/* The kernel knows which types may have them. */
static bool exrnic_has_other_flags(const struct ibv_qp_init_attr_ex *attr)
{
	return (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
	       (attr->create_flags & ~IBV_QP_CREATE_BLOCK_SELF_MCAST_LB);
}

static bool exrnic_qp_attr_is_valid(struct ibv_context *ibctx,
				    const struct ibv_qp_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask,
			     IBV_QP_INIT_ATTR_PD |
				     IBV_QP_INIT_ATTR_CREATE_FLAGS |
				     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) ||
	    exrnic_has_other_flags(attr) ||
	    (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC &&
	     attr->qp_type != IBV_QPT_UD)) {
		errno = EOPNOTSUPP;
		return false;
	}
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->send_cq ||
	    !attr->recv_cq) {
		verbs_err(verbs_get_ctx(ibctx),
			  "a queue pair needs a domain and both completion queues\n");
		errno = EINVAL;
		return false;
	}
	return true;
}

/*
 * Says that the queue pair has builders. Libraries from before wr_flush was
 * added to struct ibv_qp_ex have the same private ABI, and look for the mask
 * where that member is now. The device has no such operation, so nobody calls
 * it.
 */
static void exrnic_tell_builders(struct exrnic_qp *qp)
{
	static_assert(offsetofend(struct ibv_qp_ex, wr_flush) ==
			      sizeof(struct ibv_qp_ex),
		      "the mask stood behind the member before wr_flush");

	qp->vqp.comp_mask |= VERBS_QP_EX;
	memcpy(&qp->vqp.qp_ex.wr_flush, &qp->vqp.comp_mask,
	       sizeof(qp->vqp.comp_mask));
}

struct ibv_qp *exrnic_create_qp_ex(struct ibv_context *ibctx,
				   struct ibv_qp_init_attr_ex *attr)
{
	struct exrnic_context *ctx = to_exrnic_ctx(ibctx);
	struct exrnic_qp *qp;
	int ret = 0;

	if (!exrnic_qp_attr_is_valid(ibctx, attr))
		return NULL;
	qp = exrnic_alloc_qp(ibctx, attr);
	if (!qp)
		return NULL;

	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		ret = exrnic_set_wr_ops(qp, attr->qp_type,
					attr->send_ops_flags);
	if (!ret) {
		pthread_mutex_lock(&ctx->control);
		ret = exrnic_create_in_kernel(ctx, qp, attr);
		pthread_mutex_unlock(&ctx->control);
	}
	if (ret) {
		exrnic_free_qp(qp);
		errno = ret;
		return NULL;
	}

	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		exrnic_tell_builders(qp);
	attr->cap = qp->cap;
	return &qp->vqp.qp;
}

struct ibv_qp *exrnic_create_qp(struct ibv_pd *ibpd,
				struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex attr_ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = ibpd,
	};
	struct ibv_qp *qp;

	qp = exrnic_create_qp_ex(ibpd->context, &attr_ex);
	if (qp)
		attr->cap = attr_ex.cap;
	return qp;
}

int exrnic_destroy_qp(struct ibv_qp *ibqp)
{
	struct exrnic_context *ctx = to_exrnic_ctx(ibqp->context);
	struct exrnic_qp *qp = to_exrnic_qp(ibqp);
	int ret;

	pthread_mutex_lock(&ctx->control);
	pthread_spin_lock(&ctx->pio_lock);
	ret = ibv_cmd_destroy_qp(ibqp);
	pthread_spin_unlock(&ctx->pio_lock);
	if (!ret) {
		exrnic_lock_cqs(qp);
		exrnic_drop_completions(qp);
		EXRNIC_DP_STORE_RELEASE(&ctx->qps[qp->number],
					(struct exrnic_qp *)NULL);
		exrnic_unlock_cqs(qp);
	}
	pthread_mutex_unlock(&ctx->control);

	if (!ret)
		exrnic_free_qp(qp);
	return ret;
}

/* ---- Changing */

/*
 * Of what was posted before this returns the device has been told; what comes
 * later is refused.
 */
static void exrnic_stop_posting(struct exrnic_qp *qp)
{
	exrnic_lock(&qp->sq.lock);
	atomic_store(&qp->state, IBV_QPS_RESET);
	exrnic_unlock(&qp->sq.lock);
	if (!qp->srq) {
		exrnic_lock(&qp->rq.lock);
		exrnic_unlock(&qp->rq.lock);
	}
}

/* The device has forgotten all of it, and begins at slot 0. */
static void exrnic_forget_work(struct exrnic_qp *qp)
{
	exrnic_lock_cqs(qp);
	exrnic_drop_completions(qp);
	exrnic_lock(&qp->sq.lock);
	exrnic_work_queue_reset(&qp->sq.queue);
	exrnic_unlock(&qp->sq.lock);
	if (!qp->srq) {
		exrnic_lock(&qp->rq.lock);
		exrnic_work_queue_reset(&qp->rq.queue);
		exrnic_unlock(&qp->rq.lock);
	}
	exrnic_unlock_cqs(qp);
}

static int exrnic_reset_qp(struct exrnic_qp *qp, struct ibv_qp_attr *attr,
			   int mask)
{
	struct exrnic_context *ctx = to_exrnic_ctx(qp->vqp.qp.context);
	const enum ibv_qp_state before = atomic_load(&qp->state);
	struct ibv_modify_qp cmd = {};
	int ret;

	pthread_mutex_lock(&ctx->control);
	exrnic_stop_posting(qp);
	pthread_spin_lock(&ctx->pio_lock);
	ret = ibv_cmd_modify_qp(&qp->vqp.qp, attr, mask, &cmd, sizeof(cmd));
	pthread_spin_unlock(&ctx->pio_lock);
	if (ret) {
		atomic_store(&qp->state, before);
	} else {
		exrnic_forget_work(qp);
		atomic_store(&qp->max_rd_atomic, EXRNIC_MAX_READS);
	}
	pthread_mutex_unlock(&ctx->control);
	return ret;
}

int exrnic_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct exrnic_qp *qp = to_exrnic_qp(ibqp);
	struct ibv_modify_qp cmd = {};
	int ret;

	if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET)
		return exrnic_reset_qp(qp, attr, mask);

	ret = ibv_cmd_modify_qp(ibqp, attr, mask, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		atomic_store(&qp->max_rd_atomic, attr->max_rd_atomic);
	if (mask & IBV_QP_STATE)
		atomic_store(&qp->state, attr->qp_state);
	return 0;
}

int exrnic_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		    struct ibv_qp_init_attr *init_attr)
{
	struct exrnic_qp *qp = to_exrnic_qp(ibqp);
	struct ibv_query_qp cmd = {};
	int ret;

	ret = ibv_cmd_query_qp(ibqp, attr, mask, init_attr, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	attr->cap = qp->cap;
	init_attr->cap = qp->cap;
	return 0;
}
