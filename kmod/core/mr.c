// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "mbox.h"

static int exrnic_mr_register(struct exrnic_device *edev, const struct exrnic_mr *mr,
			      const struct exrnic_mr_attr *attr)
{
	const struct exrnic_mbox_register_mr in = {
		.stag = cpu_to_le32(mr->stag),
		.pd = cpu_to_le32(attr->pdn),
		.base = cpu_to_le64(attr->address),
		.length = cpu_to_le64(attr->length),
		.pbl_address = cpu_to_le64(attr->pbl->bus),
		.access = cpu_to_le32(attr->access),
		.page_shift = cpu_to_le16(attr->pbl->page_shift),
	};

	return exrnic_mbox_register_mr(edev, &in);
}

int exrnic_mr_create(struct exrnic_device *edev, struct exrnic_mr *mr,
		     const struct exrnic_mr_attr *attr)
{
	int err = exrnic_stag_alloc(&edev->stags, &mr->stag);

	if (err)
		return err;
	err = exrnic_mr_register(edev, mr, attr);
	if (err)
		exrnic_stag_free(&edev->stags, mr->stag);
	return err;
}
EXRNIC_EXPORT(exrnic_mr_create);

int exrnic_mr_create_fast(struct exrnic_device *edev, struct exrnic_mr *mr, u32 pdn)
{
	struct exrnic_mbox_register_mr in = {
		.pd = cpu_to_le32(pdn),
		.kind = cpu_to_le16(EXRNIC_REGION_KIND_FAST),
	};
	int err = exrnic_stag_alloc(&edev->stags, &mr->stag);

	if (err)
		return err;
	in.stag = cpu_to_le32(mr->stag);
	err = exrnic_mbox_register_mr(edev, &in);
	if (err)
		exrnic_stag_free(&edev->stags, mr->stag);
	return err;
}
EXRNIC_EXPORT(exrnic_mr_create_fast);

/* The device first: behind its answer neither side of the wire reaches these pages. */
void exrnic_mr_destroy(struct exrnic_device *edev, struct exrnic_mr *mr)
{
	exrnic_mbox_invalidate_mr(edev, mr->stag);
	exrnic_stag_free(&edev->stags, mr->stag);
}
EXRNIC_EXPORT(exrnic_mr_destroy);
