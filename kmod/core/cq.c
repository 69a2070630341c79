// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "mbox.h"

static int exrnic_cq_create_on_device(struct exrnic_device *edev, const struct exrnic_cq *cq,
				      const struct exrnic_cq_attr *attr, u32 eqn)
{
	const struct exrnic_mbox_create_cq in = {
		.cqn = cpu_to_le32(cq->cqn),
		.page = cpu_to_le32(attr->page),
		.pbl_address = cpu_to_le64(attr->ring->bus),
		.log_entries = cpu_to_le32(attr->log_entries),
		.eqn = cpu_to_le32(eqn),
		.moderation_count = cpu_to_le32(attr->moderation_count),
		.moderation_ns = cpu_to_le32(attr->moderation_ns),
	};

	return exrnic_mbox_create_cq(edev, &in);
}

int exrnic_cq_create(struct exrnic_device *edev, struct exrnic_cq *cq,
		     const struct exrnic_cq_attr *attr)
{
	int err, eqn;

	err = exrnic_number_alloc(&edev->cqs, edev->limits.cq, &cq->cqn);
	if (err)
		return err;
	eqn = exrnic_vectors_add_cq(edev, cq, attr->comp_vector);
	if (eqn < 0) {
		err = eqn;
		goto err_number;
	}
	err = exrnic_cq_create_on_device(edev, cq, attr, eqn);
	if (err)
		goto err_vector;
	exrnic_async_publish(edev, &edev->cqs, cq->cqn, cq);
	return 0;

err_vector:
	exrnic_vectors_remove_cq(cq);
err_number:
	xa_erase(&edev->cqs, cq->cqn);
	return err;
}
EXRNIC_EXPORT(exrnic_cq_create);

int exrnic_cq_resize(struct exrnic_device *edev, const struct exrnic_cq *cq,
		     const struct exrnic_pbl *ring, u32 log_entries, u32 *producer)
{
	const struct exrnic_mbox_resize_cq in = {
		.cqn = cpu_to_le32(cq->cqn),
		.log_entries = cpu_to_le32(log_entries),
		.pbl_address = cpu_to_le64(ring->bus),
	};
	struct exrnic_mbox_resized_cq out;
	int err = exrnic_mbox_resize_cq(edev, &in, &out);

	if (!err)
		*producer = le32_to_cpu(out.producer);
	return err;
}
EXRNIC_EXPORT(exrnic_cq_resize);

/* The device first: behind its answer it writes no CQE any more, and the ring may be given back. */
void exrnic_cq_destroy(struct exrnic_device *edev, struct exrnic_cq *cq)
{
	exrnic_mbox_destroy_cq(edev, cq->cqn);
	exrnic_vectors_remove_cq(cq);
	exrnic_async_withdraw(edev, &edev->cqs, cq->cqn);
}
EXRNIC_EXPORT(exrnic_cq_destroy);
