// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Regions: of processes, of all memory for kernel users, and those that work requests register. */
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "ib.h"

int exrnic_ib_access(int access, u32 *rights)
{
	static const struct {
		int ib;
		u32 right;
	} table[] = {
		{ IB_ACCESS_LOCAL_WRITE, EXRNIC_ACCESS_LOCAL_WRITE },
		{ IB_ACCESS_REMOTE_WRITE, EXRNIC_ACCESS_REMOTE_WRITE },
		{ IB_ACCESS_REMOTE_READ, EXRNIC_ACCESS_REMOTE_READ },
		{ IB_ACCESS_REMOTE_ATOMIC, EXRNIC_ACCESS_REMOTE_ATOMIC },
		{ IB_ACCESS_MW_BIND, EXRNIC_ACCESS_MW_BIND },
	};
	unsigned int i;

	*rights = 0;
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		if (access & table[i].ib)
			*rights |= table[i].right;
		access &= ~table[i].ib;
	}
	return access & ~(IB_ACCESS_OPTIONAL | IB_ACCESS_HUGETLB) ? -EOPNOTSUPP : 0;
}

static struct exrnic_ib_mr *exrnic_ib_mr_alloc(struct ib_pd *ibpd)
{
	struct exrnic_ib_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->ibmr.device = ibpd->device;
	mr->ibmr.pd = ibpd;
	return mr;
}

static void exrnic_ib_mr_free(struct exrnic_ib_mr *mr)
{
	exrnic_ib_memory_free(mr->ibmr.device, &mr->memory);
	kfree(mr);
}

static struct exrnic_mr_attr exrnic_ib_mr_attr(const struct exrnic_ib_mr *mr, struct ib_pd *ibpd, u32 rights)
{
	return (struct exrnic_mr_attr) {
		.pbl = &mr->memory.pbl,
		.address = mr->ibmr.iova,
		.length = mr->ibmr.length,
		.pdn = exrnic_ib_pd(ibpd)->pdn,
		.access = rights,
	};
}

/* Of one with memory: the device. */
static struct ib_mr *exrnic_ib_mr_publish(struct exrnic_ib_mr *mr, u64 address, u64 length, u32 rights)
{
	struct exrnic_mr_attr attr;
	int err;

	mr->ibmr.length = length;
	mr->ibmr.iova = address;
	attr = exrnic_ib_mr_attr(mr, mr->ibmr.pd, rights);
	err = exrnic_mr_create(exrnic_ib_edev(mr->ibmr.device), &mr->mr, &attr);
	if (err) {
		exrnic_ib_mr_free(mr);
		return ERR_PTR(err);
	}
	mr->ibmr.lkey = mr->mr.stag;
	mr->ibmr.rkey = mr->mr.stag;
	return &mr->ibmr;
}

/* All that kernel users map for DMA, by its bus address. */
struct ib_mr *exrnic_ib_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct exrnic_ib_mr *mr;
	u64 bytes;
	u32 rights;
	int err = exrnic_ib_access(access, &rights);

	if (err)
		return ERR_PTR(err);
	mr = exrnic_ib_mr_alloc(ibpd);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	err = exrnic_pbl_build_bus(exrnic_ib_edev(ibpd->device), &mr->memory.pbl, &bytes);
	if (err) {
		exrnic_ib_mr_free(mr);
		return ERR_PTR(err);
	}
	return exrnic_ib_mr_publish(mr, 0, bytes, rights);
}

static int exrnic_ib_mr_check(u64 start, u64 virt, int access)
{
	u32 rights;

	return (start ^ virt) & ~PAGE_MASK ? -EINVAL : exrnic_ib_access(access, &rights);
}

/* On memory that a process has given, and gets back if this fails. The rights have been checked. */
static struct ib_mr *exrnic_ib_mr_of(struct ib_pd *ibpd, struct ib_umem *umem, u64 virt, int access)
{
	struct exrnic_ib_mr *mr;
	u32 rights;
	int err;

	if (IS_ERR(umem))
		return ERR_CAST(umem);
	mr = exrnic_ib_mr_alloc(ibpd);
	if (IS_ERR(mr)) {
		ib_umem_release(umem);
		return ERR_CAST(mr);
	}
	exrnic_ib_access(access, &rights);
	mr->access = access;
	mr->memory.umem = umem;
	err = exrnic_pbl_build(exrnic_ib_edev(ibpd->device), &mr->memory.pbl, &umem->sgt_append.sgt, virt,
			       umem->length, true);
	if (!err)
		return exrnic_ib_mr_publish(mr, virt, umem->length, rights);
	exrnic_ib_mr_free(mr);
	return ERR_PTR(err);
}

static struct ib_mr *exrnic_ib_pin_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 virt, int access)
{
	int err = exrnic_ib_mr_check(start, virt, access);

	if (err)
		return ERR_PTR(err);
	return exrnic_ib_mr_of(ibpd, exrnic_ib_umem_get(ibpd->device, start, length, access), virt, access);
}

/* One that the user has been charged for, and is not if it did not come into being. */
static struct ib_mr *exrnic_ib_mr_of_user(struct exrnic_user *user, struct ib_mr *ibmr)
{
	if (IS_ERR(ibmr))
		exrnic_ib_uncharge(user, EXRNIC_KIND_MR, 1);
	else
		exrnic_ib_mr(ibmr)->user = user;
	return ibmr;
}

struct ib_mr *exrnic_ib_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 virt, int access,
				    EXRNIC_IB_DMAH struct ib_udata *udata)
{
	struct exrnic_user *user = exrnic_ib_user_of(udata);
	int err = exrnic_ib_charge(user, EXRNIC_KIND_MR, 1);

	if (err)
		return ERR_PTR(err);
	return exrnic_ib_mr_of_user(user, exrnic_ib_pin_mr(ibpd, start, length, virt, access));
}

/* It stays where it is: the device cannot be told that it moves. */
struct ib_mr *exrnic_ib_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset, u64 length, u64 virt, int fd, int access,
					   EXRNIC_IB_DMAH struct exrnic_ib_caller *caller)
{
	struct exrnic_user *user = exrnic_ib_user_of(EXRNIC_IB_UDATA(caller));
	struct ib_umem_dmabuf *dmabuf;
	struct ib_umem *umem;
	int err = exrnic_ib_mr_check(offset, virt, access);

	if (!err)
		err = exrnic_ib_charge(user, EXRNIC_KIND_MR, 1);
	if (err)
		return ERR_PTR(err);
	dmabuf = ib_umem_dmabuf_get_pinned(ibpd->device, offset, length, fd, access);
	umem = IS_ERR(dmabuf) ? ERR_CAST(dmabuf) : &dmabuf->umem;
	return exrnic_ib_mr_of_user(user, exrnic_ib_mr_of(ibpd, umem, virt, access));
}

/* The same memory, and so the same key. */
static int exrnic_ib_change_mr(struct exrnic_ib_mr *mr, struct ib_pd *ibpd, int access)
{
	struct exrnic_mr_attr attr;
	u32 rights;
	int err = exrnic_ib_access(access, &rights);

	if (err)
		return err;
	attr = exrnic_ib_mr_attr(mr, ibpd, rights);
	err = exrnic_mr_change(exrnic_ib_edev(mr->ibmr.device), &mr->mr, &attr);
	if (!err)
		mr->access = access;
	return err;
}

/* A new one, in whose favour the core ends the old one: it is the user's in its place. */
static struct ib_mr *exrnic_ib_pin_anew(struct exrnic_ib_mr *mr, struct ib_pd *ibpd, u64 start, u64 length, u64 virt,
					int access)
{
	struct ib_mr *next = exrnic_ib_pin_mr(ibpd, start, length, virt, access);

	if (!IS_ERR(next))
		swap(exrnic_ib_mr(next)->user, mr->user);
	return next;
}

/*
 * With other memory, or if it was pinned to be read and shall be written: a new one, in whose favour the core ends the
 * old one. NULL: it is changed itself.
 */
struct ib_mr *exrnic_ib_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start, u64 length, u64 virt, int access,
				      struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct exrnic_ib_mr *mr = exrnic_ib_mr(ibmr);
	struct ib_umem *umem = mr->memory.umem;

	if (flags & ~(IB_MR_REREG_TRANS | IB_MR_REREG_PD | IB_MR_REREG_ACCESS))
		return ERR_PTR(-EOPNOTSUPP);
	if (!umem)
		return ERR_PTR(-EINVAL);
	if (!(flags & IB_MR_REREG_PD))
		ibpd = ibmr->pd;
	if (!(flags & IB_MR_REREG_ACCESS))
		access = mr->access;
	if (flags & IB_MR_REREG_TRANS)
		return exrnic_ib_pin_anew(mr, ibpd, start, length, virt, access);
	if (umem->writable || !ib_access_writable(access))
		return ERR_PTR(exrnic_ib_change_mr(mr, ibpd, access));
	if (umem->is_dmabuf)
		return ERR_PTR(-EOPNOTSUPP);
	/* A child has other memory there. */
	if (umem->owning_mm != current->mm)
		return ERR_PTR(-EFAULT);
	return exrnic_ib_pin_anew(mr, ibpd, umem->address, umem->length, ibmr->iova, access);
}

/* Work requests register it: their page list lies in coherent memory of the kernel. */
struct ib_mr *exrnic_ib_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 most_pages)
{
	struct exrnic_ib_mr *mr;
	int err;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!most_pages || most_pages > EXRNIC_IB_FAST_PAGES)
		return ERR_PTR(-EINVAL);
	mr = exrnic_ib_mr_alloc(ibpd);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	err = exrnic_ib_memory_alloc(ibpd->device, &mr->memory, most_pages * sizeof(__le64));
	if (!err)
		err = exrnic_mr_create_fast(exrnic_ib_edev(ibpd->device), &mr->mr, exrnic_ib_pd(ibpd)->pdn);
	if (err) {
		exrnic_ib_mr_free(mr);
		return ERR_PTR(err);
	}
	mr->most_pages = most_pages;
	mr->ibmr.lkey = mr->mr.stag;
	mr->ibmr.rkey = mr->mr.stag;
	return &mr->ibmr;
}

static int exrnic_ib_set_page(struct ib_mr *ibmr, u64 address)
{
	struct exrnic_ib_mr *mr = exrnic_ib_mr(ibmr);
	__le64 *list = mr->memory.address;

	if (mr->pages == mr->most_pages)
		return -ENOMEM;
	list[mr->pages++] = cpu_to_le64(address);
	return 0;
}

int exrnic_ib_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents, unsigned int *offset)
{
	if (ibmr->page_size != BIT(EXRNIC_PAGE_SHIFT))
		return -EINVAL;
	exrnic_ib_mr(ibmr)->pages = 0;
	return ib_sg_to_pages(ibmr, sg, nents, offset, exrnic_ib_set_page);
}

int exrnic_ib_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct exrnic_ib_mr *mr = exrnic_ib_mr(ibmr);

	exrnic_mr_destroy(exrnic_ib_edev(ibmr->device), &mr->mr);
	exrnic_ib_uncharge(mr->user, EXRNIC_KIND_MR, 1);
	exrnic_ib_mr_free(mr);
	return 0;
}

/* Bound by work requests: type 2B for the peer of one queue pair, type 1 for those of its domain. */
int exrnic_ib_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct exrnic_ib_mw *mw = exrnic_ib_mw(ibmw);
	int err;

	if (ibmw->type != IB_MW_TYPE_1 && ibmw->type != IB_MW_TYPE_2)
		return -EOPNOTSUPP;
	mw->user = exrnic_ib_user_of(udata);
	err = exrnic_ib_charge(mw->user, EXRNIC_KIND_MR, 1);
	if (err)
		return err;
	err = exrnic_mw_create(exrnic_ib_edev(ibmw->device), &mw->mw, exrnic_ib_pd(ibmw->pd)->pdn,
			       ibmw->type == IB_MW_TYPE_1);
	if (err)
		exrnic_ib_uncharge(mw->user, EXRNIC_KIND_MR, 1);
	ibmw->rkey = mw->mw.stag;
	return err;
}

int exrnic_ib_dealloc_mw(struct ib_mw *ibmw)
{
	struct exrnic_ib_mw *mw = exrnic_ib_mw(ibmw);

	exrnic_mw_destroy(exrnic_ib_edev(ibmw->device), &mw->mw);
	exrnic_ib_uncharge(mw->user, EXRNIC_KIND_MR, 1);
	return 0;
}
