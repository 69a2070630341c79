// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/slab.h>

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
		.msix_vector = cpu_to_le32(exrnic_irq_cq_vector(uctx->edev, cq->cqn)),
		.moderation_count = cpu_to_le32(attr->moderation_count),
		.moderation_ns = cpu_to_le32(attr->moderation_ns),
	};

	return exrnic_mbox_create_cq(uctx->edev, &in);
}

int exrnic_cq_create(struct exrnic_ucontext *uctx, struct exrnic_create_cq *attr)
{
	const struct exrnic_ring_shape shape = {
		.entries = attr->entries,
		.entry_bytes = sizeof(struct exrnic_cqe),
		.log_max = EXRNIC_CQ_LOG_MAX,
		.writable = true,
	};
	struct exrnic_device *edev = uctx->edev;
	struct exrnic_cq *cq;
	int id, err;

	if (attr->moderation_count > EXRNIC_MODERATION_COUNT_MAX ||
	    attr->moderation_ns > EXRNIC_MODERATION_NS_MAX)
		return -EINVAL;
	cq = kzalloc(sizeof(*cq), GFP_KERNEL_ACCOUNT);
	if (!cq)
		return -ENOMEM;
	err = exrnic_ring_pin(edev, &cq->ring, attr->ring, &shape);
	if (err)
		goto err_free;
	id = ida_alloc_max(&edev->cqs, edev->limits.cq - 1, GFP_KERNEL);
	if (id < 0) {
		err = id;
		goto err_ring;
	}
	cq->cqn = id;
	err = xa_insert(&uctx->cqs, cq->cqn, cq, GFP_KERNEL);
	if (err)
		goto err_number;
	err = exrnic_cq_create_on_device(uctx, cq, attr);
	if (err)
		goto err_handle;
	attr->cqn = cq->cqn;
	return 0;

err_handle:
	xa_erase(&uctx->cqs, cq->cqn);
err_number:
	ida_free(&edev->cqs, id);
err_ring:
	exrnic_ring_unpin(edev, &cq->ring);
err_free:
	kfree(cq);
	return err;
}

/* The device first: behind its answer it writes no CQE any more, and the ring may be unpinned. */
static int exrnic_cq_release(struct exrnic_ucontext *uctx, struct exrnic_cq *cq)
{
	int err = exrnic_mbox_destroy_cq(uctx->edev, cq->cqn);

	xa_erase(&uctx->cqs, cq->cqn);
	ida_free(&uctx->edev->cqs, cq->cqn);
	exrnic_ring_unpin(uctx->edev, &cq->ring);
	kfree(cq);
	return err;
}

struct exrnic_cq *exrnic_cq_find(struct exrnic_ucontext *uctx, u32 cqn)
{
	return xa_load(&uctx->cqs, cqn);
}

int exrnic_cq_destroy(struct exrnic_ucontext *uctx, u32 cqn)
{
	struct exrnic_cq *cq = exrnic_cq_find(uctx, cqn);

	if (!cq)
		return -ENOENT;
	if (cq->users)
		return -EBUSY;
	return exrnic_cq_release(uctx, cq);
}

void exrnic_cq_release_all(struct exrnic_ucontext *uctx)
{
	struct exrnic_cq *cq;
	unsigned long i;

	xa_for_each(&uctx->cqs, i, cq)
		exrnic_cq_release(uctx, cq);
	xa_destroy(&uctx->cqs);
}
