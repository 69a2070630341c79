// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/err.h>

#include "exrnic_core.h"
#include "exrnic_mbox.h"

#define EXRNIC_ACCESS_WRITE                                                                        \
	(EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_ATOMIC)
#define EXRNIC_ACCESS_ALL	(EXRNIC_ACCESS_WRITE | EXRNIC_ACCESS_REMOTE_READ)

static int exrnic_mr_register_on_device(struct exrnic_device *edev, const struct exrnic_mr *mr)
{
	const struct exrnic_mbox_register_mr in = {
		.stag = cpu_to_le32(mr->stag),
		.pd = cpu_to_le32(mr->pd ? mr->pd->pdn : EXRNIC_FW_PD),
		.base = cpu_to_le64(mr->umem.address),
		.length = cpu_to_le64(mr->umem.length),
		.pbl_address = cpu_to_le64(mr->pbl.bus),
		.access = cpu_to_le32(mr->access),
		.page_shift = cpu_to_le32(mr->pbl.page_shift),
	};

	return exrnic_mbox_register_mr(edev, &in);
}

static int exrnic_mr_pin(struct exrnic_ucontext *uctx, struct exrnic_mr *mr, u64 address,
			 u64 length)
{
	return exrnic_umem_pin(uctx, &mr->umem, address, length,
			       mr->access & EXRNIC_ACCESS_WRITE);
}

static int exrnic_mr_map(struct exrnic_device *edev, struct exrnic_mr *mr)
{
	int err = exrnic_umem_map(edev, &mr->umem);

	if (err)
		return err;
	return exrnic_pbl_build(edev, &mr->pbl, &mr->umem, exrnic_pbl_best_shift(&mr->umem));
}

static void exrnic_mr_unpin(struct exrnic_ucontext *uctx, struct exrnic_mr *mr)
{
	if (mr->pbl.entries)
		exrnic_pbl_free(uctx->edev, &mr->pbl);
	exrnic_umem_unpin(uctx, &mr->umem);
}

/* Of a region with domain, rights and memory: a number, a handle, and then the device. */
static int exrnic_mr_publish(struct exrnic_ucontext *uctx, struct exrnic_mr *mr)
{
	struct exrnic_device *edev = uctx->edev;
	int err;

	err = exrnic_stag_alloc(&edev->stags, &mr->stag);
	if (err)
		return err;
	err = xa_insert(&uctx->mrs, mr->stag, mr, GFP_KERNEL);
	if (err)
		goto err_stag;
	err = exrnic_mr_register_on_device(edev, mr);
	if (err)
		goto err_handle;
	mr->pd->users++;
	return 0;

err_handle:
	xa_erase(&uctx->mrs, mr->stag);
err_stag:
	exrnic_stag_free(&edev->stags, mr->stag);
	return err;
}

/* The device first: behind its answer neither side of the wire reaches these pages. */
static int exrnic_mr_withdraw(struct exrnic_ucontext *uctx, struct exrnic_mr *mr)
{
	int err = exrnic_mbox_invalidate_mr(uctx->edev, mr->stag);

	mr->pd->users--;
	xa_erase(&uctx->mrs, mr->stag);
	exrnic_stag_free(&uctx->edev->stags, mr->stag);
	return err;
}

int exrnic_mr_register(struct exrnic_ucontext *uctx, struct exrnic_reg_mr *attr)
{
	struct exrnic_mr *mr;
	int err;

	if (attr->access & ~EXRNIC_ACCESS_ALL)
		return -EINVAL;
	mr = exrnic_object_alloc(uctx, sizeof(*mr));
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	mr->access = attr->access;
	err = exrnic_mr_pin(uctx, mr, attr->address, attr->length);
	if (err)
		goto err_free;
	mr->pd = exrnic_pd_find(uctx, attr->pd);
	if (!mr->pd) {
		err = -ENOENT;
		goto err_memory;
	}
	err = exrnic_mr_map(uctx->edev, mr);
	if (err)
		goto err_memory;
	err = exrnic_mr_publish(uctx, mr);
	if (err)
		goto err_memory;
	attr->stag = mr->stag;
	return 0;

err_memory:
	exrnic_mr_unpin(uctx, mr);
err_free:
	exrnic_object_free(uctx, mr);
	return err;
}

static int exrnic_mr_release(struct exrnic_ucontext *uctx, struct exrnic_mr *mr)
{
	int err = exrnic_mr_withdraw(uctx, mr);

	exrnic_mr_unpin(uctx, mr);
	exrnic_object_free(uctx, mr);
	return err;
}

struct exrnic_mr *exrnic_mr_find(struct exrnic_ucontext *uctx, u32 stag)
{
	return xa_load(&uctx->mrs, stag);
}

int exrnic_mr_give_to_firmware(struct exrnic_ucontext *uctx, struct exrnic_mr *mr, u64 address,
			       u64 length)
{
	struct exrnic_device *edev = uctx->edev;
	int err;

	mr->access = EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE;
	err = exrnic_mr_pin(uctx, mr, address, length);
	if (err)
		return err;
	err = exrnic_mr_map(edev, mr);
	if (err)
		goto err_memory;
	err = exrnic_stag_alloc(&edev->stags, &mr->stag);
	if (err)
		goto err_memory;
	err = exrnic_mr_register_on_device(edev, mr);
	if (err)
		goto err_stag;
	return 0;

err_stag:
	exrnic_stag_free(&edev->stags, mr->stag);
err_memory:
	exrnic_mr_unpin(uctx, mr);
	return err;
}

int exrnic_mr_take_from_firmware(struct exrnic_ucontext *uctx, struct exrnic_mr *mr)
{
	int err = exrnic_mbox_invalidate_mr(uctx->edev, mr->stag);

	exrnic_stag_free(&uctx->edev->stags, mr->stag);
	exrnic_mr_unpin(uctx, mr);
	return err;
}

static bool exrnic_rereg_is_valid(const struct exrnic_rereg_mr *attr)
{
	u32 flags = attr->flags;

	if (!flags || (flags & ~EXRNIC_REREG_ALL) || (attr->access & ~EXRNIC_ACCESS_ALL))
		return false;
	return ((flags & EXRNIC_REREG_TRANSLATION) || (!attr->address && !attr->length)) &&
	       ((flags & EXRNIC_REREG_PD) || !attr->pd) &&
	       ((flags & EXRNIC_REREG_ACCESS) || !attr->access);
}

/* Its memory is not that of old: other addresses, or the same ones with other rights. */
static bool exrnic_rereg_takes_pins(const struct exrnic_mr *mr, const struct exrnic_mr *old,
				    const struct exrnic_rereg_mr *attr)
{
	return (attr->flags & EXRNIC_REREG_TRANSLATION) ||
	       (!old->umem.writable && (mr->access & EXRNIC_ACCESS_WRITE));
}

static int exrnic_rereg_pin(struct exrnic_ucontext *uctx, struct exrnic_mr *mr,
			    const struct exrnic_mr *old, const struct exrnic_rereg_mr *attr)
{
	if (attr->flags & EXRNIC_REREG_TRANSLATION)
		return exrnic_mr_pin(uctx, mr, attr->address, attr->length);
	/* In another process the same addresses are other memory. */
	if (old->umem.mm != current->mm)
		return -EFAULT;
	return exrnic_mr_pin(uctx, mr, old->umem.address, old->umem.length);
}

static void exrnic_rereg_unpin(struct exrnic_ucontext *uctx, struct exrnic_mr *unused,
			       const struct exrnic_mr *used)
{
	if (unused->pbl.entries != used->pbl.entries)
		exrnic_mr_unpin(uctx, unused);
}

/* Behind the pins: the region that is replaced, and the domain, as they are now. */
static int exrnic_rereg_join(struct exrnic_ucontext *uctx, struct exrnic_mr *mr,
			     const struct exrnic_mr *old, const struct exrnic_rereg_mr *attr,
			     bool takes_pins)
{
	mr->pd = attr->flags & EXRNIC_REREG_PD ? exrnic_pd_find(uctx, attr->pd) : old->pd;
	if (!mr->pd)
		return -ENOENT;
	if (takes_pins)
		return exrnic_mr_map(uctx->edev, mr);
	mr->umem = old->umem;
	mr->pbl = old->pbl;
	return 0;
}

/* What takes the place of attr->stag, in the count of objects, too. */
static struct exrnic_mr *exrnic_rereg_prepare(struct exrnic_ucontext *uctx,
					      const struct exrnic_rereg_mr *attr)
{
	const struct exrnic_mr *old = exrnic_mr_find(uctx, attr->stag);
	bool takes_pins;
	struct exrnic_mr *mr;
	int err;

	if (!old)
		return ERR_PTR(-ENOENT);
	mr = exrnic_object_alloc_free_of_charge(sizeof(*mr));
	if (IS_ERR(mr))
		return mr;
	mr->access = attr->flags & EXRNIC_REREG_ACCESS ? attr->access : old->access;
	takes_pins = exrnic_rereg_takes_pins(mr, old, attr);
	err = takes_pins ? exrnic_rereg_pin(uctx, mr, old, attr) : 0;
	if (err)
		goto err_free;
	old = exrnic_mr_find(uctx, attr->stag);
	err = old ? exrnic_rereg_join(uctx, mr, old, attr, takes_pins) : -ENOENT;
	if (!err)
		return mr;
	if (takes_pins)
		exrnic_mr_unpin(uctx, mr);
err_free:
	exrnic_object_free_uncharged(mr);
	return ERR_PTR(err);
}

int exrnic_mr_reregister(struct exrnic_ucontext *uctx, struct exrnic_rereg_mr *attr)
{
	struct exrnic_mr *old, *mr;
	int err;

	if (!exrnic_rereg_is_valid(attr))
		return -EINVAL;
	mr = exrnic_rereg_prepare(uctx, attr);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	old = exrnic_mr_find(uctx, attr->stag);
	err = exrnic_mr_publish(uctx, mr);
	if (err) {
		exrnic_rereg_unpin(uctx, mr, old);
		exrnic_object_free_uncharged(mr);
		return err;
	}
	err = exrnic_mr_withdraw(uctx, old);
	exrnic_rereg_unpin(uctx, old, mr);
	exrnic_object_hand_over(old, mr);
	exrnic_object_free_uncharged(old);
	/* The device has been cut off; the caller could not tell which of the two is left. */
	if (err)
		exrnic_mr_release(uctx, mr);
	else
		attr->stag = mr->stag;
	return err;
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
