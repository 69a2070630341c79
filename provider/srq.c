// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shared receive queues. */
#include <errno.h>
#include <stdlib.h>

#include <ccan/ilog.h>

#include "exrnic_verbs.h"

static void exrnic_free_srq(struct exrnic_srq *srq)
{
	free(srq->queue.busy);
	free(srq->queue.wr_ids);
	exrnic_memory_free(&srq->memory);
	free(srq);
}

/* A queue with its ring, of which the kernel does not know yet. */
static struct exrnic_srq *exrnic_alloc_srq(struct ibv_pd *ibpd,
					   const struct ibv_srq_attr *attr)
{
	struct exrnic_srq *srq;
	int ret = EINVAL;

	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;

	srq->shape.wrs = attr->max_wr;
	srq->shape.elements = attr->max_sge;
	if (attr->max_sge > EXRNIC_MAX_SGE ||
	    !exrnic_shape_grant(&srq->shape, 1u << EXRNIC_SQ_LOG_MAX)) {
		verbs_err(verbs_get_ctx(ibpd->context),
			  "no room for %u receives of %u elements: a queue has %u slots\n",
			  attr->max_wr, attr->max_sge,
			  1u << EXRNIC_SQ_LOG_MAX);
		goto err;
	}

	ret = exrnic_memory_alloc(&srq->memory, to_exrnic_pd(ibpd),
				  EXRNIC_RESOURCE_SRQ,
				  srq->shape.slots * sizeof(struct exrnic_wqe));
	if (ret)
		goto err;

	srq->queue.ring.slots = srq->memory.data;
	srq->queue.ring.num_slots = srq->shape.slots;
	srq->queue.ring.doorbell = EXRNIC_DOORBELL_SRQ;
	srq->queue.wr_ids = calloc(EXRNIC_SHARED_INDICES,
				   sizeof(*srq->queue.wr_ids));
	srq->queue.busy = calloc(EXRNIC_SHARED_INDICES,
				 sizeof(*srq->queue.busy));
	if (!srq->queue.wr_ids || !srq->queue.busy) {
		ret = ENOMEM;
		goto err;
	}
	exrnic_lock_init(&srq->lock, exrnic_pd_is_one_thread(to_exrnic_pd(ibpd)));
	return srq;

err:
	exrnic_free_srq(srq);
	errno = ret;
	return NULL;
}

struct ibv_srq *exrnic_create_srq(struct ibv_pd *ibpd,
				  struct ibv_srq_init_attr *attr)
{
	struct exrnic_create_srq_resp resp = {};
	struct exrnic_create_srq cmd = {};
	struct exrnic_srq *srq;
	int ret;

	srq = exrnic_alloc_srq(ibpd, &attr->attr);
	if (!srq)
		return NULL;

	cmd.ring = (uintptr_t)srq->memory.data;
	cmd.log_slots = ilog32(srq->shape.slots) - 1;
	ret = ibv_cmd_create_srq(ibpd, &srq->vsrq.srq, attr, &cmd.ibv_cmd,
				 sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret) {
		exrnic_free_srq(srq);
		errno = ret;
		return NULL;
	}
	srq->number = resp.srqn;
	srq->vsrq.srq_type = IBV_SRQT_BASIC;
	attr->attr.max_wr = srq->shape.wrs;
	attr->attr.max_sge = srq->shape.elements;
	return &srq->vsrq.srq;
}

struct ibv_srq *exrnic_create_srq_ex(struct ibv_context *ibctx,
				     struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq_init_attr basic = {};
	struct ibv_srq *srq;

	if (!check_comp_mask(attr->comp_mask, IBV_SRQ_INIT_ATTR_TYPE |
						      IBV_SRQ_INIT_ATTR_PD) ||
	    ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) &&
	     attr->srq_type != IBV_SRQT_BASIC)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD)) {
		errno = EINVAL;
		return NULL;
	}

	basic.srq_context = attr->srq_context;
	basic.attr = attr->attr;
	srq = exrnic_create_srq(attr->pd, &basic);
	if (srq)
		attr->attr = basic.attr;
	return srq;
}

int exrnic_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		      int mask)
{
	struct ibv_modify_srq cmd = {};

	return ibv_cmd_modify_srq(ibsrq, attr, mask, &cmd, sizeof(cmd));
}

int exrnic_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct exrnic_srq *srq = to_exrnic_srq(ibsrq);
	struct ibv_query_srq cmd = {};
	int ret;

	ret = ibv_cmd_query_srq(ibsrq, attr, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	attr->max_wr = srq->shape.wrs;
	attr->max_sge = srq->shape.elements;
	return 0;
}

int exrnic_destroy_srq(struct ibv_srq *ibsrq)
{
	int ret;

	ret = ibv_cmd_destroy_srq(ibsrq);
	if (ret)
		return ret;
	exrnic_free_srq(to_exrnic_srq(ibsrq));
	return 0;
}
