// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/err.h>
#include <linux/nospec.h>

#include "exrnic_core.h"
#include "exrnic_mbox.h"

static int exrnic_cq_create_on_device(struct exrnic_ucontext *uctx, struct exrnic_cq *cq,
				      const struct exrnic_create_cq *attr)
{
	const struct exrnic_mbox_create_cq in = {
		.cqn = cpu_to_le32(cq->cqn),
		.page = cpu_to_le32(uctx->page),
		.pbl_address = cpu_to_le64(cq->ring.pbl.bus),
		.log_entries = cpu_to_le32(cq->ring.log_entries),
		.msix_vector = cpu_to_le32(exrnic_irq_msix_vector(uctx->edev, cq->comp_vector)),
		.moderation_count = cpu_to_le32(attr->moderation_count),
		.moderation_ns = cpu_to_le32(attr->moderation_ns),
	};

	return exrnic_mbox_create_cq(uctx->edev, &in);
}

static bool exrnic_cq_create_is_valid(const struct exrnic_device *edev,
				      const struct exrnic_create_cq *attr)
{
	return attr->moderation_count <= EXRNIC_MODERATION_COUNT_MAX &&
	       attr->moderation_ns <= EXRNIC_MODERATION_NS_MAX &&
	       (attr->comp_vector < edev->comp_vectors || attr->comp_vector == EXRNIC_ANY_VECTOR);
}

static void exrnic_cq_init_events(struct exrnic_ucontext *uctx, struct exrnic_cq *cq,
				  const struct exrnic_create_cq *attr,
				  struct exrnic_event_queue *channel)
{
	struct exrnic_event event = {
		.cookie = attr->cookie,
		.type = EXRNIC_EVENT_COMPLETION,
		.handle = cq->cqn,
	};

	exrnic_event_source_init(&cq->completion, channel, &event);
	event.type = EXRNIC_EVENT_CQ_ERROR;
	exrnic_event_source_init(&cq->error, uctx->events, &event);
	cq->comp_vector = attr->comp_vector;
	if (cq->comp_vector == EXRNIC_ANY_VECTOR)
		cq->comp_vector = exrnic_irq_pick_vector(uctx->edev);
	cq->comp_vector = array_index_nospec(cq->comp_vector, uctx->edev->comp_vectors);
	exrnic_irq_add_cq(uctx->edev, cq);
}

static void exrnic_cq_fini_events(struct exrnic_ucontext *uctx, struct exrnic_cq *cq,
				  struct exrnic_destroy *attr)
{
	exrnic_irq_remove_cq(uctx->edev, cq);
	attr->comp_events = exrnic_event_source_fini(&cq->completion);
	attr->async_events = exrnic_event_source_fini(&cq->error);
}

int exrnic_cq_create(struct exrnic_ucontext *uctx, struct exrnic_create_cq *attr,
		     struct exrnic_event_queue *channel)
{
	const struct exrnic_ring_shape shape = {
		.entries = attr->entries,
		.entry_bytes = sizeof(struct exrnic_cqe),
		.log_max = EXRNIC_CQ_LOG_MAX,
		.writable = true,
	};
	struct exrnic_device *edev = uctx->edev;
	struct exrnic_destroy unused;
	struct exrnic_cq *cq;
	int err;

	if (!exrnic_cq_create_is_valid(edev, attr))
		return -EINVAL;
	cq = exrnic_object_alloc(uctx, sizeof(*cq));
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	err = exrnic_ring_pin(uctx, &cq->ring, attr->ring, &shape);
	if (err)
		goto err_free;
	err = exrnic_ring_map(edev, &cq->ring);
	if (err)
		goto err_ring;
	err = exrnic_number_alloc(&edev->cqs, edev->limits.cq, &cq->cqn);
	if (err)
		goto err_ring;
	err = xa_insert(&uctx->cqs, cq->cqn, cq, GFP_KERNEL);
	if (err)
		goto err_number;
	exrnic_cq_init_events(uctx, cq, attr, channel);
	err = exrnic_cq_create_on_device(uctx, cq, attr);
	if (err)
		goto err_events;
	exrnic_async_publish(edev, &edev->cqs, cq->cqn, cq);
	attr->cqn = cq->cqn;
	return 0;

err_events:
	exrnic_cq_fini_events(uctx, cq, &unused);
	xa_erase(&uctx->cqs, cq->cqn);
err_number:
	xa_erase(&edev->cqs, cq->cqn);
err_ring:
	exrnic_ring_unpin(uctx, &cq->ring);
err_free:
	exrnic_object_free(uctx, cq);
	return err;
}

/* The device first: behind its answer it writes no CQE any more, and the ring may be unpinned. */
static int exrnic_cq_release(struct exrnic_ucontext *uctx, struct exrnic_cq *cq,
			     struct exrnic_destroy *attr)
{
	struct exrnic_device *edev = uctx->edev;
	int err = exrnic_mbox_destroy_cq(edev, cq->cqn);

	xa_erase(&uctx->cqs, cq->cqn);
	exrnic_async_withdraw(edev, &edev->cqs, cq->cqn, EXRNIC_ASYNC_CQ_OVERRUN);
	exrnic_cq_fini_events(uctx, cq, attr);
	exrnic_ring_unpin(uctx, &cq->ring);
	exrnic_object_free(uctx, cq);
	return err;
}

struct exrnic_cq *exrnic_cq_find(struct exrnic_ucontext *uctx, u32 cqn)
{
	return xa_load(&uctx->cqs, cqn);
}

int exrnic_cq_destroy(struct exrnic_ucontext *uctx, struct exrnic_destroy *attr)
{
	struct exrnic_cq *cq = exrnic_cq_find(uctx, attr->handle);

	if (!cq)
		return -ENOENT;
	if (cq->users)
		return -EBUSY;
	return exrnic_cq_release(uctx, cq, attr);
}

void exrnic_cq_release_all(struct exrnic_ucontext *uctx)
{
	struct exrnic_destroy unused;
	struct exrnic_cq *cq;
	unsigned long i;

	xa_for_each(&uctx->cqs, i, cq)
		exrnic_cq_release(uctx, cq, &unused);
	xa_destroy(&uctx->cqs);
}
