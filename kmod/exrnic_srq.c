// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/err.h>

#include "exrnic_core.h"
#include "exrnic_mbox.h"

static int exrnic_srq_create_on_device(struct exrnic_ucontext *uctx, const struct exrnic_srq *srq,
				       u32 limit)
{
	const struct exrnic_mbox_create_srq in = {
		.srqn = cpu_to_le32(srq->srqn),
		.page = cpu_to_le32(uctx->page),
		.pd = cpu_to_le32(srq->pd->pdn),
		.log_slots = cpu_to_le32(srq->ring.log_entries),
		.pbl_address = cpu_to_le64(srq->ring.pbl.bus),
		.limit = cpu_to_le32(limit),
	};

	return exrnic_mbox_create_srq(uctx->edev, &in);
}

static void exrnic_srq_init_events(struct exrnic_ucontext *uctx, struct exrnic_srq *srq,
				   const struct exrnic_create_srq *attr)
{
	const struct exrnic_event event = {
		.cookie = attr->cookie,
		.type = EXRNIC_EVENT_SRQ_LIMIT,
		.handle = srq->srqn,
	};

	exrnic_event_source_init(&srq->limit_event, uctx->events, &event);
}

int exrnic_srq_create(struct exrnic_ucontext *uctx, struct exrnic_create_srq *attr)
{
	const struct exrnic_ring_shape shape = {
		.entries = attr->slots,
		.entry_bytes = sizeof(struct exrnic_wqe),
		.log_max = EXRNIC_SQ_LOG_MAX,
	};
	struct exrnic_device *edev = uctx->edev;
	struct exrnic_srq *srq;
	int err;

	if (attr->limit > EXRNIC_SRQ_LIMIT_MAX)
		return -EINVAL;
	srq = exrnic_object_alloc(uctx, sizeof(*srq));
	if (IS_ERR(srq))
		return PTR_ERR(srq);
	err = exrnic_ring_pin(uctx, &srq->ring, attr->ring, &shape);
	if (err)
		goto err_free;
	srq->pd = exrnic_pd_find(uctx, attr->pd);
	if (!srq->pd) {
		err = -ENOENT;
		goto err_ring;
	}
	err = exrnic_ring_map(edev, &srq->ring);
	if (err)
		goto err_ring;
	err = exrnic_number_alloc(&edev->srqs, edev->limits.srq, &srq->srqn);
	if (err)
		goto err_ring;
	err = xa_insert(&uctx->srqs, srq->srqn, srq, GFP_KERNEL);
	if (err)
		goto err_number;
	err = exrnic_srq_create_on_device(uctx, srq, attr->limit);
	if (err)
		goto err_handle;
	exrnic_srq_init_events(uctx, srq, attr);
	exrnic_async_publish(edev, &edev->srqs, srq->srqn, srq);
	srq->pd->users++;
	attr->srqn = srq->srqn;
	return 0;

err_handle:
	xa_erase(&uctx->srqs, srq->srqn);
err_number:
	xa_erase(&edev->srqs, srq->srqn);
err_ring:
	exrnic_ring_unpin(uctx, &srq->ring);
err_free:
	exrnic_object_free(uctx, srq);
	return err;
}

struct exrnic_srq *exrnic_srq_find(struct exrnic_ucontext *uctx, u32 srqn)
{
	return xa_load(&uctx->srqs, srqn);
}

int exrnic_srq_modify(struct exrnic_ucontext *uctx, const struct exrnic_modify_srq *attr)
{
	const struct exrnic_mbox_modify_srq in = {
		.srqn = cpu_to_le32(attr->srqn),
		.limit = cpu_to_le32(attr->limit),
	};

	if (attr->limit > EXRNIC_SRQ_LIMIT_MAX)
		return -EINVAL;
	if (!exrnic_srq_find(uctx, attr->srqn))
		return -ENOENT;
	return exrnic_mbox_modify_srq(uctx->edev, &in);
}

int exrnic_srq_query(struct exrnic_ucontext *uctx, struct exrnic_query_srq *attr)
{
	struct exrnic_mbox_query_srq out;
	int err;

	if (!exrnic_srq_find(uctx, attr->srqn))
		return -ENOENT;
	err = exrnic_mbox_query_srq(uctx->edev, attr->srqn, &out);
	if (err)
		return err;
	attr->limit = le32_to_cpu(out.limit);
	attr->producer = le32_to_cpu(out.producer);
	attr->consumer = le32_to_cpu(out.consumer);
	return 0;
}

/* The device first: behind its answer it fetches no receive any more. */
static int exrnic_srq_release(struct exrnic_ucontext *uctx, struct exrnic_srq *srq,
			      struct exrnic_destroy *attr)
{
	struct exrnic_device *edev = uctx->edev;
	int err = exrnic_mbox_destroy_srq(edev, srq->srqn);

	xa_erase(&uctx->srqs, srq->srqn);
	exrnic_async_withdraw(edev, &edev->srqs, srq->srqn, EXRNIC_ASYNC_SRQ_LOW);
	attr->async_events = exrnic_event_source_fini(&srq->limit_event);
	srq->pd->users--;
	exrnic_ring_unpin(uctx, &srq->ring);
	exrnic_object_free(uctx, srq);
	return err;
}

int exrnic_srq_destroy(struct exrnic_ucontext *uctx, struct exrnic_destroy *attr)
{
	struct exrnic_srq *srq = exrnic_srq_find(uctx, attr->handle);

	if (!srq)
		return -ENOENT;
	if (srq->users)
		return -EBUSY;
	return exrnic_srq_release(uctx, srq, attr);
}

void exrnic_srq_release_all(struct exrnic_ucontext *uctx)
{
	struct exrnic_destroy unused;
	struct exrnic_srq *srq;
	unsigned long i;

	xa_for_each(&uctx->srqs, i, srq)
		exrnic_srq_release(uctx, srq, &unused);
	xa_destroy(&uctx->srqs);
}
