// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/err.h>

#include "ucontext.h"

#define EXRNIC_ACCESS_WRITE                                                                        \
	(EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_ATOMIC)
#define EXRNIC_ACCESS_ALL                                                                          \
	(EXRNIC_ACCESS_WRITE | EXRNIC_ACCESS_REMOTE_READ | EXRNIC_ACCESS_MW_BIND)

static int exrnic_umr_create_on_device(struct exrnic_device *edev, struct exrnic_umr *mr)
{
	const struct exrnic_mr_attr attr = {
		.pbl = &mr->pbl,
		.address = mr->umem.address,
		.length = mr->umem.length,
		.pdn = mr->pd ? mr->pd->pdn : EXRNIC_FW_PD,
		.access = mr->access,
	};

	return exrnic_mr_create(edev, &mr->mr, &attr);
}

static int exrnic_umr_pin(struct exrnic_ucontext *uctx, struct exrnic_umr *mr, u64 address,
			  u64 length)
{
	return exrnic_umem_pin(uctx, &mr->umem, address, length,
			       mr->access & EXRNIC_ACCESS_WRITE);
}

static int exrnic_umr_map(struct exrnic_device *edev, struct exrnic_umr *mr)
{
	int err = exrnic_umem_map(edev, &mr->umem);

	if (err)
		return err;
	return exrnic_pbl_build(edev, &mr->pbl, &mr->umem.sgt, mr->umem.address, mr->umem.length,
				true);
}

static void exrnic_umr_unpin(struct exrnic_ucontext *uctx, struct exrnic_umr *mr)
{
	if (mr->pbl.entries)
		exrnic_pbl_free(uctx->edev, &mr->pbl);
	exrnic_umem_unpin(uctx, &mr->umem);
}

/* Of a region with domain, rights and memory: the device, and then a handle. */
static int exrnic_umr_publish(struct exrnic_ucontext *uctx, struct exrnic_umr *mr)
{
	int err = exrnic_umr_create_on_device(uctx->edev, mr);

	if (err)
		return err;
	err = xa_insert(&uctx->mrs, mr->mr.stag, mr, GFP_KERNEL);
	if (err) {
		exrnic_mr_destroy(uctx->edev, &mr->mr);
		return err;
	}
	mr->pd->users++;
	return 0;
}

static void exrnic_umr_withdraw(struct exrnic_ucontext *uctx, struct exrnic_umr *mr)
{
	exrnic_mr_destroy(uctx->edev, &mr->mr);
	mr->pd->users--;
	xa_erase(&uctx->mrs, mr->mr.stag);
}

int exrnic_umr_register(struct exrnic_ucontext *uctx, struct exrnic_reg_mr *attr)
{
	struct exrnic_umr *mr;
	int err;

	if (attr->access & ~EXRNIC_ACCESS_ALL)
		return -EINVAL;
	mr = exrnic_object_alloc(uctx, EXRNIC_KIND_MR, 1, sizeof(*mr));
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	mr->access = attr->access;
	err = exrnic_umr_pin(uctx, mr, attr->address, attr->length);
	if (err)
		goto err_free;
	mr->pd = exrnic_upd_find(uctx, attr->pd);
	if (!mr->pd) {
		err = -ENOENT;
		goto err_memory;
	}
	err = exrnic_umr_map(uctx->edev, mr);
	if (err)
		goto err_memory;
	err = exrnic_umr_publish(uctx, mr);
	if (err)
		goto err_memory;
	attr->stag = mr->mr.stag;
	return 0;

err_memory:
	exrnic_umr_unpin(uctx, mr);
err_free:
	exrnic_object_free(uctx, mr);
	return err;
}

static void exrnic_umr_release(struct exrnic_ucontext *uctx, struct exrnic_umr *mr)
{
	exrnic_umr_withdraw(uctx, mr);
	exrnic_umr_unpin(uctx, mr);
	exrnic_object_free(uctx, mr);
}

struct exrnic_umr *exrnic_umr_find(struct exrnic_ucontext *uctx, u32 stag)
{
	return xa_load(&uctx->mrs, stag);
}

int exrnic_umr_give_to_firmware(struct exrnic_ucontext *uctx, struct exrnic_umr *mr, u64 address,
				u64 length)
{
	struct exrnic_device *edev = uctx->edev;
	int err;

	mr->access = EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE;
	err = exrnic_umr_pin(uctx, mr, address, length);
	if (err)
		return err;
	err = exrnic_umr_map(edev, mr);
	if (err)
		goto err_memory;
	err = exrnic_umr_create_on_device(edev, mr);
	if (err)
		goto err_memory;
	return 0;

err_memory:
	exrnic_umr_unpin(uctx, mr);
	return err;
}

void exrnic_umr_take_from_firmware(struct exrnic_ucontext *uctx, struct exrnic_umr *mr)
{
	exrnic_mr_destroy(uctx->edev, &mr->mr);
	exrnic_umr_unpin(uctx, mr);
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
static bool exrnic_rereg_takes_pins(const struct exrnic_umr *mr, const struct exrnic_umr *old,
				    const struct exrnic_rereg_mr *attr)
{
	return (attr->flags & EXRNIC_REREG_TRANSLATION) ||
	       (!old->umem.writable && (mr->access & EXRNIC_ACCESS_WRITE));
}

static int exrnic_rereg_pin(struct exrnic_ucontext *uctx, struct exrnic_umr *mr,
			    const struct exrnic_umr *old, const struct exrnic_rereg_mr *attr)
{
	if (attr->flags & EXRNIC_REREG_TRANSLATION)
		return exrnic_umr_pin(uctx, mr, attr->address, attr->length);
	/* In another process the same addresses are other memory. */
	if (old->umem.mm != current->mm)
		return -EFAULT;
	return exrnic_umr_pin(uctx, mr, old->umem.address, old->umem.length);
}

static void exrnic_rereg_unpin(struct exrnic_ucontext *uctx, struct exrnic_umr *unused,
			       const struct exrnic_umr *used)
{
	if (unused->pbl.entries != used->pbl.entries)
		exrnic_umr_unpin(uctx, unused);
}

/* Behind the pins: the region that is replaced, and the domain, as they are now. */
static int exrnic_rereg_join(struct exrnic_ucontext *uctx, struct exrnic_umr *mr,
			     const struct exrnic_umr *old, const struct exrnic_rereg_mr *attr,
			     bool takes_pins)
{
	mr->pd = attr->flags & EXRNIC_REREG_PD ? exrnic_upd_find(uctx, attr->pd) : old->pd;
	if (!mr->pd)
		return -ENOENT;
	if (takes_pins)
		return exrnic_umr_map(uctx->edev, mr);
	mr->umem = old->umem;
	mr->pbl = old->pbl;
	return 0;
}

/* What takes the place of attr->stag, in the count of objects, too. */
static struct exrnic_umr *exrnic_rereg_prepare(struct exrnic_ucontext *uctx,
					       const struct exrnic_rereg_mr *attr)
{
	const struct exrnic_umr *old = exrnic_umr_find(uctx, attr->stag);
	bool takes_pins;
	struct exrnic_umr *mr;
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
	old = exrnic_umr_find(uctx, attr->stag);
	err = old ? exrnic_rereg_join(uctx, mr, old, attr, takes_pins) : -ENOENT;
	if (!err)
		return mr;
	if (takes_pins)
		exrnic_umr_unpin(uctx, mr);
err_free:
	exrnic_object_free_uncharged(mr);
	return ERR_PTR(err);
}

int exrnic_umr_reregister(struct exrnic_ucontext *uctx, struct exrnic_rereg_mr *attr)
{
	struct exrnic_umr *old, *mr;
	int err;

	if (!exrnic_rereg_is_valid(attr))
		return -EINVAL;
	mr = exrnic_rereg_prepare(uctx, attr);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	old = exrnic_umr_find(uctx, attr->stag);
	err = exrnic_umr_publish(uctx, mr);
	if (err) {
		exrnic_rereg_unpin(uctx, mr, old);
		exrnic_object_free_uncharged(mr);
		return err;
	}
	exrnic_umr_withdraw(uctx, old);
	exrnic_rereg_unpin(uctx, old, mr);
	exrnic_object_hand_over(old, mr);
	exrnic_object_free_uncharged(old);
	err = exrnic_device_error(uctx->edev);
	/* The device has been cut off; the caller could not tell which of the two is left. */
	if (err)
		exrnic_umr_release(uctx, mr);
	else
		attr->stag = mr->mr.stag;
	return err;
}

int exrnic_umr_deregister(struct exrnic_ucontext *uctx, u32 stag)
{
	struct exrnic_umr *mr = exrnic_umr_find(uctx, stag);

	if (!mr)
		return -ENOENT;
	exrnic_umr_release(uctx, mr);
	return exrnic_device_error(uctx->edev);
}

void exrnic_umr_release_all(struct exrnic_ucontext *uctx)
{
	struct exrnic_umr *mr;
	unsigned long i;

	xa_for_each(&uctx->mrs, i, mr)
		exrnic_umr_release(uctx, mr);
	xa_destroy(&uctx->mrs);
}
