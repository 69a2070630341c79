// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/slab.h>

#include "exrnic_core.h"
#include "exrnic_mbox.h"

#define EXRNIC_ACCESS_WRITE	(EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE)
#define EXRNIC_ACCESS_ALL	(EXRNIC_ACCESS_WRITE | EXRNIC_ACCESS_REMOTE_READ)

static int exrnic_mr_register_on_device(struct exrnic_device *edev, const struct exrnic_mr *mr,
					const struct exrnic_reg_mr *attr)
{
	const struct exrnic_mbox_register_mr in = {
		.stag = cpu_to_le32(mr->stag),
		.pd = cpu_to_le32(mr->pd->pdn),
		.base = cpu_to_le64(attr->address),
		.length = cpu_to_le64(attr->length),
		.pbl_address = cpu_to_le64(mr->pbl.bus),
		.access = cpu_to_le32(attr->access),
		.page_shift = cpu_to_le32(mr->pbl.page_shift),
	};

	return exrnic_mbox_register_mr(edev, &in);
}

static int exrnic_mr_pin(struct exrnic_device *edev, struct exrnic_mr *mr,
			 const struct exrnic_reg_mr *attr)
{
	bool writable = attr->access & EXRNIC_ACCESS_WRITE;
	int err;

	err = exrnic_umem_pin(edev, &mr->umem, attr->address, attr->length, writable);
	if (err)
		return err;
	err = exrnic_pbl_build(edev, &mr->pbl, &mr->umem, exrnic_pbl_best_shift(&mr->umem));
	if (err)
		exrnic_umem_unpin(edev, &mr->umem);
	return err;
}

static void exrnic_mr_unpin(struct exrnic_device *edev, struct exrnic_mr *mr)
{
	exrnic_pbl_free(edev, &mr->pbl);
	exrnic_umem_unpin(edev, &mr->umem);
}

int exrnic_mr_register(struct exrnic_ucontext *uctx, struct exrnic_reg_mr *attr)
{
	struct exrnic_device *edev = uctx->edev;
	struct exrnic_mr *mr;
	int err;

	if (attr->access & ~EXRNIC_ACCESS_ALL)
		return -EINVAL;
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		return -ENOMEM;
	mr->pd = exrnic_pd_find(uctx, attr->pd);
	if (!mr->pd) {
		err = -ENOENT;
		goto err_free;
	}
	err = exrnic_mr_pin(edev, mr, attr);
	if (err)
		goto err_free;
	err = exrnic_stag_alloc(&edev->stags, &mr->stag);
	if (err)
		goto err_memory;
	err = xa_insert(&uctx->mrs, mr->stag, mr, GFP_KERNEL);
	if (err)
		goto err_stag;
	err = exrnic_mr_register_on_device(edev, mr, attr);
	if (err)
		goto err_handle;
	mr->pd->users++;
	attr->stag = mr->stag;
	return 0;

err_handle:
	xa_erase(&uctx->mrs, mr->stag);
err_stag:
	exrnic_stag_free(&edev->stags, mr->stag);
err_memory:
	exrnic_mr_unpin(edev, mr);
err_free:
	kfree(mr);
	return err;
}

/* The device first: behind its answer neither side of the wire reaches these pages. */
static int exrnic_mr_release(struct exrnic_ucontext *uctx, struct exrnic_mr *mr)
{
	int err = exrnic_mbox_invalidate_mr(uctx->edev, mr->stag);

	mr->pd->users--;
	xa_erase(&uctx->mrs, mr->stag);
	exrnic_stag_free(&uctx->edev->stags, mr->stag);
	exrnic_mr_unpin(uctx->edev, mr);
	kfree(mr);
	return err;
}

struct exrnic_mr *exrnic_mr_find(struct exrnic_ucontext *uctx, u32 stag)
{
	return xa_load(&uctx->mrs, stag);
}

int exrnic_mr_deregister(struct exrnic_ucontext *uctx, u32 stag)
{
	struct exrnic_mr *mr = exrnic_mr_find(uctx, stag);

	return mr ? exrnic_mr_release(uctx, mr) : -ENOENT;
}

void exrnic_mr_release_all(struct exrnic_ucontext *uctx)
{
	struct exrnic_mr *mr;
	unsigned long i;

	xa_for_each(&uctx->mrs, i, mr)
		exrnic_mr_release(uctx, mr);
	xa_destroy(&uctx->mrs);
}
