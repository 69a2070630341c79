// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a process has before it has objects: a page for its doorbells, and domains. */
#include "ib.h"

/* uverbs calls mmap_free() when the page is mapped no more. */
int exrnic_ib_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct exrnic_ib_ucontext *uctx = exrnic_ib_ucontext(ibuc);
	struct exrnic_device *edev = exrnic_ib_edev(ibuc->device);
	struct exrnic_ib_alloc_ucontext_resp answer = {
		.device_abi = exrnic_ib_device(ibuc->device)->identity.abi_version,
		.max_qp = exrnic_device_limits(edev)->qp,
	};
	int err = exrnic_page_alloc(edev, &uctx->page);

	if (err)
		return err;
	err = rdma_user_mmap_entry_insert(ibuc, &uctx->mmap_entry, PAGE_SIZE);
	if (err) {
		exrnic_page_free(edev, uctx->page);
		return err;
	}
	answer.page_offset = rdma_user_mmap_get_offset(&uctx->mmap_entry);
	err = exrnic_ib_tell(udata, &answer, sizeof(answer));
	if (err)
		rdma_user_mmap_entry_remove(&uctx->mmap_entry);
	return err;
}

void exrnic_ib_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	rdma_user_mmap_entry_remove(&exrnic_ib_ucontext(ibuc)->mmap_entry);
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

	exrnic_page_free(exrnic_ib_edev(uctx->ibuc.device), uctx->page);
}

int exrnic_ib_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct exrnic_ib_pd *pd = exrnic_ib_pd(ibpd);
	struct exrnic_ib_alloc_pd_resp answer = {};
	int err = exrnic_pd_alloc(exrnic_ib_edev(ibpd->device), &pd->pdn);

	if (err || !udata)
		return err;
	answer.pdn = pd->pdn;
	err = exrnic_ib_tell(udata, &answer, sizeof(answer));
	if (err)
		exrnic_pd_free(exrnic_ib_edev(ibpd->device), pd->pdn);
	return err;
}

int exrnic_ib_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	exrnic_pd_free(exrnic_ib_edev(ibpd->device), exrnic_ib_pd(ibpd)->pdn);
	return 0;
}

u32 exrnic_ib_page_of(struct ib_device *ibdev, struct ib_udata *udata)
{
	struct exrnic_ib_ucontext *uctx =
		rdma_udata_to_drv_context(udata, struct exrnic_ib_ucontext, ibuc);

	return uctx ? uctx->page : exrnic_ib_device(ibdev)->page;
}
