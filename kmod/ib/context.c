// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a process has before it has objects: a page for its doorbells, and domains. */
#include "ib.h"

/* ---- Users. What is more than a share is no memory to programs, which know no quota of a device. */

struct exrnic_user *exrnic_ib_user_of(struct ib_udata *udata)
{
	struct exrnic_ib_ucontext *uctx =
		rdma_udata_to_drv_context(udata, struct exrnic_ib_ucontext, ibuc);

	return uctx ? uctx->user : NULL;
}

int exrnic_ib_charge(struct exrnic_user *user, enum exrnic_kind kind, u32 count)
{
	return user && exrnic_user_take(user, kind, count) ? -ENOMEM : 0;
}

void exrnic_ib_uncharge(struct exrnic_user *user, enum exrnic_kind kind, u32 count)
{
	if (user)
		exrnic_user_give_back(user, kind, count);
}

/* ---- Contexts, and their pages */

static void exrnic_ib_give_user_page_back(struct exrnic_ib_ucontext *uctx, struct exrnic_device *edev)
{
	exrnic_page_free(edev, uctx->page);
	exrnic_ib_uncharge(uctx->user, EXRNIC_KIND_PAGE, 1);
}

static int exrnic_ib_take_user_page(struct exrnic_ib_ucontext *uctx, struct exrnic_device *edev)
{
	int err;

	uctx->user = exrnic_user_get(edev);
	if (!uctx->user)
		return -ENOMEM;
	err = exrnic_ib_charge(uctx->user, EXRNIC_KIND_PAGE, 1);
	if (err)
		goto err_user;
	err = exrnic_page_alloc(edev, &uctx->page);
	if (!err)
		return 0;
	exrnic_ib_uncharge(uctx->user, EXRNIC_KIND_PAGE, 1);
err_user:
	exrnic_user_put(uctx->user);
	return err;
}

/* uverbs calls mmap_free() when the page is mapped no more, at the latest within this. */
void exrnic_ib_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	struct exrnic_ib_ucontext *uctx = exrnic_ib_ucontext(ibuc);

	rdma_user_mmap_entry_remove(&uctx->mmap_entry);
	exrnic_user_put(uctx->user);
}

int exrnic_ib_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct exrnic_ib_ucontext *uctx = exrnic_ib_ucontext(ibuc);
	struct exrnic_device *edev = exrnic_ib_edev(ibuc->device);
	struct exrnic_ib_alloc_ucontext_resp answer = {
		.device_abi = exrnic_ib_device(ibuc->device)->identity.abi_version,
		.max_qp = exrnic_device_limits(edev)->qp,
	};
	int err = exrnic_ib_take_user_page(uctx, edev);

	if (err)
		return err;
	err = rdma_user_mmap_entry_insert(ibuc, &uctx->mmap_entry, PAGE_SIZE);
	if (err) {
		exrnic_ib_give_user_page_back(uctx, edev);
		exrnic_user_put(uctx->user);
		return err;
	}
	answer.page_offset = rdma_user_mmap_get_offset(&uctx->mmap_entry);
	err = exrnic_ib_tell(udata, &answer, sizeof(answer));
	if (err)
		exrnic_ib_dealloc_ucontext(ibuc);
	return err;
}

/* The core takes the page out of its address space itself, and ends the objects. */
void exrnic_ib_disassociate_ucontext(struct ib_ucontext *ibuc)
{
}

int exrnic_ib_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma)
{
	struct exrnic_ib_ucontext *uctx = exrnic_ib_ucontext(ibuc);
	struct rdma_user_mmap_entry *entry = rdma_user_mmap_entry_get(ibuc, vma);
	phys_addr_t page;
	int err;

	if (!entry)
		return -EINVAL;
	page = exrnic_page_address(exrnic_ib_edev(ibuc->device), uctx->page);
	err = rdma_user_mmap_io(ibuc, vma, PHYS_PFN(page), PAGE_SIZE, pgprot_writecombine(vma->vm_page_prot),
				entry);
	rdma_user_mmap_entry_put(entry);
	return err;
}

void exrnic_ib_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct exrnic_ib_ucontext *uctx = container_of(entry, struct exrnic_ib_ucontext, mmap_entry);

	exrnic_ib_give_user_page_back(uctx, exrnic_ib_edev(uctx->ibuc.device));
}

/* ---- Domains */

int exrnic_ib_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct exrnic_ib_pd *pd = exrnic_ib_pd(ibpd);
	struct exrnic_ib_alloc_pd_resp answer = {};
	int err;

	pd->user = exrnic_ib_user_of(udata);
	err = exrnic_ib_charge(pd->user, EXRNIC_KIND_PD, 1);
	if (err)
		return err;
	err = exrnic_pd_alloc(exrnic_ib_edev(ibpd->device), &pd->pdn);
	if (err) {
		exrnic_ib_uncharge(pd->user, EXRNIC_KIND_PD, 1);
		return err;
	}
	answer.pdn = pd->pdn;
	err = udata ? exrnic_ib_tell(udata, &answer, sizeof(answer)) : 0;
	if (err)
		exrnic_ib_dealloc_pd(ibpd, udata);
	return err;
}

int exrnic_ib_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct exrnic_ib_pd *pd = exrnic_ib_pd(ibpd);

	exrnic_pd_free(exrnic_ib_edev(ibpd->device), pd->pdn);
	exrnic_ib_uncharge(pd->user, EXRNIC_KIND_PD, 1);
	return 0;
}

u32 exrnic_ib_page_of(struct ib_device *ibdev, struct ib_udata *udata)
{
	struct exrnic_ib_ucontext *uctx =
		rdma_udata_to_drv_context(udata, struct exrnic_ib_ucontext, ibuc);

	return uctx ? uctx->page : exrnic_ib_device(ibdev)->page;
}
