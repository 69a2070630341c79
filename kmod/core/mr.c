// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "mbox.h"

static struct exrnic_mbox_register_mr exrnic_mr_command(const struct exrnic_mr *mr, const struct exrnic_mr_attr *attr)
{
	return (struct exrnic_mbox_register_mr){
		.stag = cpu_to_le32(mr->stag),
		.pd = cpu_to_le32(attr->pdn),
		.base = cpu_to_le64(attr->address),
		.length = cpu_to_le64(attr->length),
		.pbl_address = cpu_to_le64(attr->pbl->bus),
		.access = cpu_to_le32(attr->access),
		.page_shift = cpu_to_le16(attr->pbl->page_shift),
	};
}

int exrnic_mr_create(struct exrnic_device *edev, struct exrnic_mr *mr,
		     const struct exrnic_mr_attr *attr)
{
	struct exrnic_mbox_register_mr in;
	int err = exrnic_stag_alloc(&edev->stags, &mr->stag);

	if (err)
		return err;
	mr->unknown = false;
	in = exrnic_mr_command(mr, attr);
	err = exrnic_mbox_register_mr(edev, &in);
	if (err)
		exrnic_stag_free(&edev->stags, mr->stag);
	return err;
}
EXRNIC_EXPORT(exrnic_mr_create);

int exrnic_mr_change(struct exrnic_device *edev, struct exrnic_mr *mr, const struct exrnic_mr_attr *attr)
{
	const struct exrnic_mbox_register_mr in = exrnic_mr_command(mr, attr);
	int err;

	if (!mr->unknown)
		exrnic_mbox_invalidate_mr(edev, mr->stag);
	err = exrnic_mbox_register_mr_anew(edev, &in);
	mr->unknown = err;
	return err;
}
EXRNIC_EXPORT(exrnic_mr_change);

/* What work requests give its memory to. */
static int exrnic_stag_create(struct exrnic_device *edev, u32 *stag, u32 pdn,
			      enum exrnic_region_kind kind)
{
	struct exrnic_mbox_register_mr in = {
		.pd = cpu_to_le32(pdn),
		.kind = cpu_to_le16(kind),
	};
	int err = exrnic_stag_alloc(&edev->stags, stag);

	if (err)
		return err;
	in.stag = cpu_to_le32(*stag);
	err = exrnic_mbox_register_mr(edev, &in);
	if (err)
		exrnic_stag_free(&edev->stags, *stag);
	return err;
}

int exrnic_mr_create_fast(struct exrnic_device *edev, struct exrnic_mr *mr, u32 pdn)
{
	mr->unknown = false;
	return exrnic_stag_create(edev, &mr->stag, pdn, EXRNIC_REGION_KIND_FAST);
}
EXRNIC_EXPORT(exrnic_mr_create_fast);

int exrnic_mw_create(struct exrnic_device *edev, struct exrnic_mw *mw, u32 pdn, bool of_domain)
{
	return exrnic_stag_create(edev, &mw->stag, pdn,
				  of_domain ? EXRNIC_REGION_KIND_DOMAIN_WINDOW : EXRNIC_REGION_KIND_MEMORY_WINDOW);
}
EXRNIC_EXPORT(exrnic_mw_create);

/* The device first: behind its answer neither side of the wire reaches these pages. */
static void exrnic_stag_destroy(struct exrnic_device *edev, u32 stag)
{
	exrnic_mbox_invalidate_mr(edev, stag);
	exrnic_stag_free(&edev->stags, stag);
}

void exrnic_mr_destroy(struct exrnic_device *edev, struct exrnic_mr *mr)
{
	if (mr->unknown)
		exrnic_stag_free(&edev->stags, mr->stag);
	else
		exrnic_stag_destroy(edev, mr->stag);
}
EXRNIC_EXPORT(exrnic_mr_destroy);

void exrnic_mw_destroy(struct exrnic_device *edev, struct exrnic_mw *mw)
{
	exrnic_stag_destroy(edev, mw->stag);
}
EXRNIC_EXPORT(exrnic_mw_destroy);
