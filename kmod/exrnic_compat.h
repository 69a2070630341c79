/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What differs between the kernels this driver is built against: 6.1 and newer. */
#ifndef EXRNIC_COMPAT_H
#define EXRNIC_COMPAT_H

#include <linux/device.h>
#include <linux/mm.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define EXRNIC_DEVNODE_CONST
#else
#define EXRNIC_DEVNODE_CONST const
#endif

/*
 * Before 6.2 a read-only long-term pin of private memory might pin a page that the process no
 * longer sees after its next store (the zero page, a page of a file). Breaking copy-on-write
 * first, by force where the mapping is read-only, is what the RDMA core did.
 */
static inline unsigned int exrnic_gup_flags(bool writable)
{
	if (writable)
		return FOLL_LONGTERM | FOLL_WRITE;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	return FOLL_LONGTERM | FOLL_WRITE | FOLL_FORCE;
#else
	return FOLL_LONGTERM;
#endif
}

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

#endif
