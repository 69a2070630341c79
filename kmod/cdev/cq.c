// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/err.h>

#include "ucontext.h"

static bool exrnic_ucq_attr_is_valid(const struct exrnic_ucontext *uctx,
				     const struct exrnic_create_cq *attr)
{
	return attr->moderation_count <= EXRNIC_MODERATION_COUNT_MAX &&
	       attr->moderation_ns <= EXRNIC_MODERATION_NS_MAX &&
	       (attr->comp_vector < exrnic_device_limits(uctx->edev)->comp_vectors ||
		attr->comp_vector == EXRNIC_ANY_VECTOR);
}

/* In an interrupt. */
static bool exrnic_ucq_completed(struct exrnic_cq *cq)
{
	return exrnic_event_raise(&container_of(cq, struct exrnic_ucq, cq)->completion);
}

static void exrnic_ucq_overran(struct exrnic_cq *cq)
{
	exrnic_event_raise(&container_of(cq, struct exrnic_ucq, cq)->error);
}

static void exrnic_ucq_init_events(struct exrnic_ucontext *uctx, struct exrnic_ucq *cq,
				   const struct exrnic_create_cq *attr,
				   struct exrnic_event_queue *channel)
{
	struct exrnic_event event = { .cookie = attr->cookie, .type = EXRNIC_EVENT_COMPLETION };

	exrnic_event_source_init(&cq->completion, channel, &event);
	event.type = EXRNIC_EVENT_CQ_ERROR;
	exrnic_event_source_init(&cq->error, uctx->events, &event);
	cq->cq.completion = exrnic_ucq_completed;
	cq->cq.overrun = exrnic_ucq_overran;
}

static void exrnic_ucq_fini_events(struct exrnic_ucq *cq, struct exrnic_destroy *attr)
{
	attr->comp_events = exrnic_event_source_fini(&cq->completion);
	attr->async_events = exrnic_event_source_fini(&cq->error);
}

/* Nothing can happen to it before its number is known. */
static int exrnic_ucq_create_on_device(struct exrnic_ucontext *uctx, struct exrnic_ucq *cq,
				       const struct exrnic_create_cq *attr)
{
	const struct exrnic_cq_attr cq_attr = {
		.ring = &cq->ring.pbl,
		.log_entries = cq->ring.log_entries,
		.page = uctx->page,
		.comp_vector = attr->comp_vector == EXRNIC_ANY_VECTOR ? EXRNIC_ANY_COMP_VECTOR
								       : attr->comp_vector,
		.moderation_count = attr->moderation_count,
		.moderation_ns = attr->moderation_ns,
	};
	int err = exrnic_cq_create(uctx->edev, &cq->cq, &cq_attr);

	if (err)
		return err;
	cq->completion.event.handle = cq->cq.cqn;
	cq->error.event.handle = cq->cq.cqn;
	return 0;
}

static int exrnic_ucq_pin_ring(struct exrnic_ucontext *uctx, struct exrnic_ring *ring, u64 address,
			       u32 entries)
{
	const struct exrnic_ring_shape shape = {
		.entries = entries,
		.entry_bytes = sizeof(struct exrnic_cqe),
		.log_max = EXRNIC_CQ_LOG_MAX,
		.writable = true,
	};

	return exrnic_ring_pin(uctx, ring, address, &shape);
}

int exrnic_ucq_create(struct exrnic_ucontext *uctx, struct exrnic_create_cq *attr,
		      struct exrnic_event_queue *channel)
{
	struct exrnic_destroy unused;
	struct exrnic_ucq *cq;
	int err;

	if (!exrnic_ucq_attr_is_valid(uctx, attr))
		return -EINVAL;
	cq = exrnic_object_alloc(uctx, EXRNIC_KIND_CQ, 1, sizeof(*cq));
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	err = exrnic_ucq_pin_ring(uctx, &cq->ring, attr->ring, attr->entries);
	if (err)
		goto err_free;
	err = exrnic_ring_map(uctx->edev, &cq->ring);
	if (err)
		goto err_ring;
	exrnic_ucq_init_events(uctx, cq, attr, channel);
	err = exrnic_ucq_create_on_device(uctx, cq, attr);
	if (err)
		goto err_events;
	err = xa_insert(&uctx->cqs, cq->cq.cqn, cq, GFP_KERNEL);
	if (err)
		goto err_device;
	attr->cqn = cq->cq.cqn;
	return 0;

err_device:
	exrnic_cq_destroy(uctx->edev, &cq->cq);
err_events:
	exrnic_ucq_fini_events(cq, &unused);
err_ring:
	exrnic_ring_unpin(uctx, &cq->ring);
err_free:
	exrnic_object_free(uctx, cq);
	return err;
}

/* Both rings are pinned until it is known which of them the device uses. */
int exrnic_ucq_resize(struct exrnic_ucontext *uctx, struct exrnic_resize_cq *attr)
{
	struct exrnic_ring ring = {};
	struct exrnic_ucq *cq;
	int err;

	if (attr->rsvd)
		return -EINVAL;
	if (!exrnic_ucq_find(uctx, attr->cqn))
		return -ENOENT;
	err = exrnic_ucq_pin_ring(uctx, &ring, attr->ring, attr->entries);
	if (err)
		return err;
	/* It may have ended meanwhile. */
	cq = exrnic_ucq_find(uctx, attr->cqn);
	err = cq ? exrnic_ring_map(uctx->edev, &ring) : -ENOENT;
	if (!err)
		err = exrnic_cq_resize(uctx->edev, &cq->cq, &ring.pbl, ring.log_entries,
				       &attr->producer);
	if (!err)
		swap(ring, cq->ring);
	exrnic_ring_unpin(uctx, &ring);
	return err;
}

static void exrnic_ucq_release(struct exrnic_ucontext *uctx, struct exrnic_ucq *cq,
			       struct exrnic_destroy *attr)
{
	exrnic_cq_destroy(uctx->edev, &cq->cq);
	xa_erase(&uctx->cqs, cq->cq.cqn);
	exrnic_ucq_fini_events(cq, attr);
	exrnic_ring_unpin(uctx, &cq->ring);
	exrnic_object_free(uctx, cq);
}

struct exrnic_ucq *exrnic_ucq_find(struct exrnic_ucontext *uctx, u32 cqn)
{
	return xa_load(&uctx->cqs, cqn);
}

int exrnic_ucq_destroy(struct exrnic_ucontext *uctx, struct exrnic_destroy *attr)
{
	struct exrnic_ucq *cq = exrnic_ucq_find(uctx, attr->handle);

	if (!cq)
		return -ENOENT;
	if (cq->users)
		return -EBUSY;
	exrnic_ucq_release(uctx, cq, attr);
	return exrnic_device_error(uctx->edev);
}

void exrnic_ucq_release_all(struct exrnic_ucontext *uctx)
{
	struct exrnic_destroy unused;
	struct exrnic_ucq *cq;
	unsigned long i;

	xa_for_each(&uctx->cqs, i, cq)
		exrnic_ucq_release(uctx, cq, &unused);
	xa_destroy(&uctx->cqs);
}
