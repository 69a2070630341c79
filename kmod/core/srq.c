// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "mbox.h"

static int exrnic_srq_create_on_device(struct exrnic_device *edev, const struct exrnic_srq *srq,
				       const struct exrnic_srq_attr *attr)
{
	const struct exrnic_mbox_create_srq in = {
		.srqn = cpu_to_le32(srq->srqn),
		.page = cpu_to_le32(attr->page),
		.pd = cpu_to_le32(attr->pdn),
		.log_slots = cpu_to_le32(attr->log_slots),
		.pbl_address = cpu_to_le64(attr->ring->bus),
		.limit = cpu_to_le32(attr->limit),
	};

	return exrnic_mbox_create_srq(edev, &in);
}

int exrnic_srq_create(struct exrnic_device *edev, struct exrnic_srq *srq,
		      const struct exrnic_srq_attr *attr)
{
	int err = exrnic_number_alloc(&edev->srqs, edev->limits.srq, &srq->srqn);

	if (err)
		return err;
	err = exrnic_srq_create_on_device(edev, srq, attr);
	if (err) {
		xa_erase(&edev->srqs, srq->srqn);
		return err;
	}
	exrnic_async_publish(edev, &edev->srqs, srq->srqn, srq);
	return 0;
}
EXRNIC_EXPORT(exrnic_srq_create);

int exrnic_srq_set_limit(struct exrnic_device *edev, struct exrnic_srq *srq, u32 limit)
{
	const struct exrnic_mbox_modify_srq in = {
		.srqn = cpu_to_le32(srq->srqn),
		.limit = cpu_to_le32(limit),
	};

	return exrnic_mbox_modify_srq(edev, &in);
}
EXRNIC_EXPORT(exrnic_srq_set_limit);

int exrnic_srq_query(struct exrnic_device *edev, const struct exrnic_srq *srq,
		     struct exrnic_srq_status *status)
{
	struct exrnic_mbox_query_srq out;
	int err = exrnic_mbox_query_srq(edev, srq->srqn, &out);

	if (err)
		return err;
	*status = (struct exrnic_srq_status){
		.limit = le32_to_cpu(out.limit),
		.producer = le32_to_cpu(out.producer),
		.consumer = le32_to_cpu(out.consumer),
	};
	return 0;
}
EXRNIC_EXPORT(exrnic_srq_query);

/* The device first: behind its answer it fetches no receive any more. */
void exrnic_srq_destroy(struct exrnic_device *edev, struct exrnic_srq *srq)
{
	exrnic_mbox_destroy_srq(edev, srq->srqn);
	exrnic_async_withdraw(edev, &edev->srqs, srq->srqn);
}
EXRNIC_EXPORT(exrnic_srq_destroy);
