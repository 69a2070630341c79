// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/err.h>

#include "ucontext.h"

static void exrnic_usrq_is_low(struct exrnic_srq *srq)
{
	exrnic_event_raise(&container_of(srq, struct exrnic_usrq, srq)->limit_event);
}

static void exrnic_usrq_init_events(struct exrnic_ucontext *uctx, struct exrnic_usrq *srq,
				    const struct exrnic_create_srq *attr)
{
	const struct exrnic_event event = {
		.cookie = attr->cookie,
		.type = EXRNIC_EVENT_SRQ_LIMIT,
	};

	exrnic_event_source_init(&srq->limit_event, uctx->events, &event);
	srq->srq.low = exrnic_usrq_is_low;
}

/* Nothing can happen to it before its number is known. */
static int exrnic_usrq_create_on_device(struct exrnic_ucontext *uctx, struct exrnic_usrq *srq,
					u32 limit)
{
	const struct exrnic_srq_attr attr = {
		.ring = &srq->ring.pbl,
		.log_slots = srq->ring.log_entries,
		.page = uctx->page,
		.pdn = srq->pd->pdn,
		.limit = limit,
	};
	int err = exrnic_srq_create(uctx->edev, &srq->srq, &attr);

	if (!err)
		srq->limit_event.event.handle = srq->srq.srqn;
	return err;
}

int exrnic_usrq_create(struct exrnic_ucontext *uctx, struct exrnic_create_srq *attr)
{
	const struct exrnic_ring_shape shape = {
		.entries = attr->slots,
		.entry_bytes = sizeof(struct exrnic_wqe),
		.log_max = EXRNIC_SQ_LOG_MAX,
	};
	struct exrnic_usrq *srq;
	int err;

	if (attr->limit > EXRNIC_SRQ_LIMIT_MAX)
		return -EINVAL;
	srq = exrnic_object_alloc(uctx, EXRNIC_KIND_SRQ, 1, sizeof(*srq));
	if (IS_ERR(srq))
		return PTR_ERR(srq);
	err = exrnic_ring_pin(uctx, &srq->ring, attr->ring, &shape);
	if (err)
		goto err_free;
	srq->pd = exrnic_upd_find(uctx, attr->pd);
	if (!srq->pd) {
		err = -ENOENT;
		goto err_ring;
	}
	err = exrnic_ring_map(uctx->edev, &srq->ring);
	if (err)
		goto err_ring;
	exrnic_usrq_init_events(uctx, srq, attr);
	err = exrnic_usrq_create_on_device(uctx, srq, attr->limit);
	if (err)
		goto err_event;
	err = xa_insert(&uctx->srqs, srq->srq.srqn, srq, GFP_KERNEL);
	if (err)
		goto err_device;
	srq->pd->users++;
	attr->srqn = srq->srq.srqn;
	return 0;

err_device:
	exrnic_srq_destroy(uctx->edev, &srq->srq);
err_event:
	exrnic_event_source_fini(&srq->limit_event);
err_ring:
	exrnic_ring_unpin(uctx, &srq->ring);
err_free:
	exrnic_object_free(uctx, srq);
	return err;
}

struct exrnic_usrq *exrnic_usrq_find(struct exrnic_ucontext *uctx, u32 srqn)
{
	return xa_load(&uctx->srqs, srqn);
}

int exrnic_usrq_modify(struct exrnic_ucontext *uctx, const struct exrnic_modify_srq *attr)
{
	struct exrnic_usrq *srq = exrnic_usrq_find(uctx, attr->srqn);

	if (attr->limit > EXRNIC_SRQ_LIMIT_MAX)
		return -EINVAL;
	return srq ? exrnic_srq_set_limit(uctx->edev, &srq->srq, attr->limit) : -ENOENT;
}

int exrnic_usrq_query(struct exrnic_ucontext *uctx, struct exrnic_query_srq *attr)
{
	const struct exrnic_usrq *srq = exrnic_usrq_find(uctx, attr->srqn);
	struct exrnic_srq_status status;
	int err;

	if (!srq)
		return -ENOENT;
	err = exrnic_srq_query(uctx->edev, &srq->srq, &status);
	if (err)
		return err;
	attr->limit = status.limit;
	attr->producer = status.producer;
	attr->consumer = status.consumer;
	return 0;
}

static void exrnic_usrq_release(struct exrnic_ucontext *uctx, struct exrnic_usrq *srq,
				struct exrnic_destroy *attr)
{
	exrnic_srq_destroy(uctx->edev, &srq->srq);
	xa_erase(&uctx->srqs, srq->srq.srqn);
	attr->async_events = exrnic_event_source_fini(&srq->limit_event);
	srq->pd->users--;
	exrnic_ring_unpin(uctx, &srq->ring);
	exrnic_object_free(uctx, srq);
}

int exrnic_usrq_destroy(struct exrnic_ucontext *uctx, struct exrnic_destroy *attr)
{
	struct exrnic_usrq *srq = exrnic_usrq_find(uctx, attr->handle);

	if (!srq)
		return -ENOENT;
	if (srq->users)
		return -EBUSY;
	exrnic_usrq_release(uctx, srq, attr);
	return exrnic_device_error(uctx->edev);
}

void exrnic_usrq_release_all(struct exrnic_ucontext *uctx)
{
	struct exrnic_destroy unused;
	struct exrnic_usrq *srq;
	unsigned long i;

	xa_for_each(&uctx->srqs, i, srq)
		exrnic_usrq_release(uctx, srq, &unused);
	xa_destroy(&uctx->srqs);
}
