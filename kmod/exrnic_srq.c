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
	int id, err;

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
	id = ida_alloc_max(&edev->srqs, edev->limits.srq - 1, GFP_KERNEL);
	if (id < 0) {
		err = id;
		goto err_ring;
	}
	srq->srqn = id;
	srq->limit = attr->limit;
	err = xa_insert(&uctx->srqs, srq->srqn, srq, GFP_KERNEL);
	if (err)
		goto err_number;
	err = exrnic_srq_create_on_device(uctx, srq, attr->limit);
	if (err)
		goto err_handle;
	exrnic_srq_init_events(uctx, srq, attr);
	srq->pd->users++;
	attr->srqn = srq->srqn;
	return 0;

err_handle:
	xa_erase(&uctx->srqs, srq->srqn);
err_number:
	ida_free(&edev->srqs, id);
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

/* Whether the limit has been reached that was armed last; then there is none any more. */
static int exrnic_srq_look_for_limit(struct exrnic_ucontext *uctx, struct exrnic_srq *srq)
{
	struct exrnic_mbox_query_srq out;
	int err;

	if (!srq->limit)
		return 0;
	err = exrnic_mbox_query_srq(uctx->edev, srq->srqn, &out);
	if (err || out.limit)
		return err;
	srq->limit = 0;
	exrnic_event_raise(&srq->limit_event);
	return 0;
}

void exrnic_srq_look_for_limits(struct exrnic_ucontext *uctx)
{
	struct exrnic_srq *srq;
	unsigned long i;

	/* A device that does not answer has been cut off: all contexts will be told. */
	xa_for_each(&uctx->srqs, i, srq)
		exrnic_srq_look_for_limit(uctx, srq);
}

int exrnic_srq_modify(struct exrnic_ucontext *uctx, const struct exrnic_modify_srq *attr)
{
	struct exrnic_srq *srq = exrnic_srq_find(uctx, attr->srqn);
	const struct exrnic_mbox_modify_srq in = {
		.srqn = cpu_to_le32(attr->srqn),
		.limit = cpu_to_le32(attr->limit),
	};
	int err;

	if (attr->limit > EXRNIC_SRQ_LIMIT_MAX)
		return -EINVAL;
	if (!srq)
		return -ENOENT;
	/* The new limit hides that the old one was reached. */
	err = exrnic_srq_look_for_limit(uctx, srq);
	if (!err)
		err = exrnic_mbox_modify_srq(uctx->edev, &in);
	if (!err)
		srq->limit = attr->limit;
	return err;
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
	int err = exrnic_mbox_destroy_srq(uctx->edev, srq->srqn);

	attr->async_events = exrnic_event_source_fini(&srq->limit_event);
	srq->pd->users--;
	xa_erase(&uctx->srqs, srq->srqn);
	ida_free(&uctx->edev->srqs, srq->srqn);
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
