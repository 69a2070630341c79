// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Shared receive queues. */
#include <linux/log2.h>
#include <linux/slab.h>

#include "ib.h"

static void exrnic_ib_srq_low(struct exrnic_srq *srq)
{
	struct ib_srq *ibsrq = &container_of(srq, struct exrnic_ib_srq, srq)->ibsrq;
	struct ib_event event = {
		.device = ibsrq->device,
		.element.srq = ibsrq,
		.event = IB_EVENT_SRQ_LIMIT_REACHED,
	};

	if (ibsrq->event_handler)
		ibsrq->event_handler(&event, ibsrq->srq_context);
}

static int exrnic_ib_srq_user_ring(struct exrnic_ib_srq *srq, struct ib_udata *udata, u32 slots, u32 *log)
{
	struct exrnic_ib_create_srq request;
	int err = exrnic_ib_take(udata, &request, sizeof(request));

	if (err)
		return err;
	if (request.rsvd || request.log_slots < EXRNIC_RING_LOG_MIN || request.log_slots > EXRNIC_SQ_LOG_MAX ||
	    BIT(request.log_slots) < slots)
		return -EINVAL;
	*log = request.log_slots;
	return exrnic_ib_memory_pin(srq->ibsrq.device, &srq->ring, request.ring,
				    sizeof(struct exrnic_wqe) << *log, 0);
}

static void exrnic_ib_srq_free_path(struct exrnic_ib_srq *srq)
{
	kvfree(srq->path.wr_ids);
	kvfree(srq->path.busy);
}

static int exrnic_ib_srq_kernel_ring(struct exrnic_ib_srq *srq, u32 slots, u32 *log)
{
	int err;

	*log = ilog2(exrnic_ring_size(slots));
	srq->path.wr_ids = kvcalloc(EXRNIC_SHARED_INDICES, sizeof(*srq->path.wr_ids), GFP_KERNEL);
	srq->path.busy = kvzalloc(EXRNIC_SHARED_INDICES, GFP_KERNEL);
	err = srq->path.wr_ids && srq->path.busy
		      ? exrnic_ib_memory_alloc(srq->ibsrq.device, &srq->ring, sizeof(struct exrnic_wqe) << *log)
		      : -ENOMEM;
	if (err)
		exrnic_ib_srq_free_path(srq);
	srq->path.ring.slots = srq->ring.address;
	srq->path.ring.num_slots = BIT(*log);
	srq->path.ring.doorbell = EXRNIC_DOORBELL_SRQ;
	return err;
}

static void exrnic_ib_srq_free(struct exrnic_ib_srq *srq)
{
	exrnic_ib_memory_free(srq->ibsrq.device, &srq->ring);
	exrnic_ib_srq_free_path(srq);
}

int exrnic_ib_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct exrnic_device *edev = exrnic_ib_edev(ibsrq->device);
	struct exrnic_ib_srq *srq = exrnic_ib_srq(ibsrq);
	struct exrnic_srq_attr core = {
		.ring = &srq->ring.pbl,
		.page = exrnic_ib_page_of(ibsrq->device, udata),
		.pdn = exrnic_ib_pd(ibsrq->pd)->pdn,
		.limit = init->attr.srq_limit,
	};
	struct exrnic_ib_create_srq_resp answer = {};
	u32 each, slots;
	int err;

	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!init->attr.max_wr || init->attr.max_sge > EXRNIC_MAX_SGE ||
	    init->attr.srq_limit > EXRNIC_SRQ_LIMIT_MAX)
		return -EINVAL;
	each = exrnic_slots_for_elements(init->attr.max_sge);
	if (init->attr.max_wr > BIT(EXRNIC_SQ_LOG_MAX) / each)
		return -EINVAL;
	slots = init->attr.max_wr * each;
	spin_lock_init(&srq->lock);
	srq->user = exrnic_ib_user_of(udata);
	err = exrnic_ib_charge(srq->user, EXRNIC_KIND_SRQ, 1);
	if (err)
		return err;
	if (udata)
		err = exrnic_ib_srq_user_ring(srq, udata, slots, &core.log_slots);
	else
		err = exrnic_ib_srq_kernel_ring(srq, slots, &core.log_slots);
	if (err)
		goto err_charge;
	srq->slots = BIT(core.log_slots);
	srq->elements = init->attr.max_sge;
	srq->srq.low = exrnic_ib_srq_low;
	err = exrnic_srq_create(edev, &srq->srq, &core);
	if (err)
		goto err_ring;
	init->attr.max_wr = srq->slots / each;
	answer.srqn = srq->srq.srqn;
	err = udata ? exrnic_ib_tell(udata, &answer, sizeof(answer)) : 0;
	if (!err)
		return 0;
	exrnic_srq_destroy(edev, &srq->srq);
err_ring:
	exrnic_ib_srq_free(srq);
err_charge:
	exrnic_ib_uncharge(srq->user, EXRNIC_KIND_SRQ, 1);
	return err;
}

int exrnic_ib_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
			 struct ib_udata *udata)
{
	struct exrnic_ib_srq *srq = exrnic_ib_srq(ibsrq);

	if (mask & ~IB_SRQ_LIMIT)
		return -EOPNOTSUPP;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit > srq->slots)
		return -EINVAL;
	return exrnic_srq_set_limit(exrnic_ib_edev(ibsrq->device), &srq->srq, attr->srq_limit);
}

int exrnic_ib_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct exrnic_ib_srq *srq = exrnic_ib_srq(ibsrq);
	struct exrnic_srq_status status;
	int err = exrnic_srq_query(exrnic_ib_edev(ibsrq->device), &srq->srq, &status);

	if (err)
		return err;
	attr->max_wr = srq->slots / exrnic_slots_for_elements(srq->elements);
	attr->max_sge = srq->elements;
	attr->srq_limit = status.limit;
	return 0;
}

int exrnic_ib_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct exrnic_ib_srq *srq = exrnic_ib_srq(ibsrq);

	exrnic_srq_destroy(exrnic_ib_edev(ibsrq->device), &srq->srq);
	exrnic_ib_srq_free(srq);
	exrnic_ib_uncharge(srq->user, EXRNIC_KIND_SRQ, 1);
	return 0;
}
