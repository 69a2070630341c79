/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What differs between the kernels these drivers are built against: 6.1 and newer. */
#ifndef EXRNIC_COMPAT_H
#define EXRNIC_COMPAT_H

#include <linux/cgroup_rdma.h>
#include <linux/device.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/version.h>

/* Of exrnic.ko, for the drivers on top of it. The name of a namespace became a string in 6.13. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define EXRNIC_EXPORT(symbol) EXPORT_SYMBOL_NS_GPL(symbol, EXRNIC)
#define EXRNIC_IMPORT MODULE_IMPORT_NS(EXRNIC)
#else
#define EXRNIC_EXPORT(symbol) EXPORT_SYMBOL_NS_GPL(symbol, "EXRNIC")
#define EXRNIC_IMPORT MODULE_IMPORT_NS("EXRNIC")
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define EXRNIC_DEVNODE_CONST
#else
#define EXRNIC_DEVNODE_CONST const
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
/*
 * A read-only long-term pin of private memory might pin a page that the process no longer sees
 * after its next store (the zero page, a page of a file). Breaking copy-on-write first, by force
 * where the mapping is read-only, is what the RDMA core did. Shared memory has none to break.
 */
static inline int exrnic_pin_for_reading(unsigned long start, unsigned long count,
					 struct page **pages)
{
	unsigned int flags = FOLL_LONGTERM;
	struct vm_area_struct *vma;
	int pinned = -EFAULT;

	mmap_read_lock(current->mm);
	vma = vma_lookup(current->mm, start);
	if (vma && (vma->vm_flags & VM_READ)) {
		if (is_cow_mapping(vma->vm_flags))
			flags |= FOLL_WRITE | FOLL_FORCE;
		count = min(count, (vma->vm_end - start) >> PAGE_SHIFT);
		pinned = pin_user_pages(start, count, flags, pages, NULL);
	}
	mmap_read_unlock(current->mm);
	return pinned;
}
#else
static inline int exrnic_pin_for_reading(unsigned long start, unsigned long count,
					 struct page **pages)
{
	return pin_user_pages_fast(start, count, FOLL_LONGTERM, pages);
}
#endif

/* Of the calling process; may pin fewer pages than asked for. */
static inline int exrnic_pin_pages(unsigned long start, unsigned long count, bool writable,
				   struct page **pages)
{
	if (writable)
		return pin_user_pages_fast(start, count, FOLL_LONGTERM | FOLL_WRITE, pages);
	return exrnic_pin_for_reading(start, count, pages);
}

#ifndef CONFIG_CGROUP_RDMA
struct rdma_cgroup;
struct rdmacg_device {
	char *name;
};

static inline void rdmacg_register_device(struct rdmacg_device *device) {}
static inline void rdmacg_unregister_device(struct rdmacg_device *device) {}

static inline int rdmacg_try_charge(struct rdma_cgroup **cgroup, struct rdmacg_device *device,
				    enum rdmacg_resource_type type)
{
	*cgroup = NULL;
	return 0;
}

static inline void rdmacg_uncharge(struct rdma_cgroup *cgroup, struct rdmacg_device *device,
				   enum rdmacg_resource_type type)
{
}
#endif

/* The flags of an area became read-only members in 6.3. */
static inline void exrnic_vm_flags_change(struct vm_area_struct *vma, unsigned long set,
					  unsigned long clear)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#else
	vm_flags_mod(vma, set, clear);
#endif
}

/* The RDMA subsystem's: what completion queues and regions of a dma-buf, and what regions, are asked for with. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define exrnic_ib_caller	ib_udata
#define EXRNIC_IB_UDATA(caller)	(caller)
#else
#define exrnic_ib_caller	uverbs_attr_bundle
#define EXRNIC_IB_UDATA(caller)	((caller) ? &(caller)->driver_udata : NULL)
#endif
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define EXRNIC_IB_DMAH
#else
#define EXRNIC_IB_DMAH		struct ib_dmah *dmah,
#endif

#ifdef EXRNIC_HAS_UMEM_GET_VA
#define exrnic_ib_umem_get ib_umem_get_va
#else
#define exrnic_ib_umem_get ib_umem_get
#endif
/* The operations on completion queues of processes. */
#ifdef EXRNIC_HAS_USER_CQ
typedef unsigned int exrnic_ib_entries;
#define EXRNIC_IB_USER_CQ_OPS(create, resize) .create_user_cq = create, .resize_user_cq = resize
#else
typedef int exrnic_ib_entries;
#define EXRNIC_IB_USER_CQ_OPS(create, resize) .resize_cq = resize
#endif

#endif
