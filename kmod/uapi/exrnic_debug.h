/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * What exrnic_cdev.ko offers to its benchmarks, and to root only: a file in debugfs. It promises nothing: it comes and goes
 * with them.
 */
#ifndef EXRNIC_DEBUG_H
#define EXRNIC_DEBUG_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define EXRNIC_DEBUG_MEMORY "/sys/kernel/debug/exrnic/memory"

/*
 * Where the pages of [address, address + length) lie in physical memory at this moment: found in the
 * page tables, or brought in, and not kept. pages in: entries that fit at buffer, EINVAL if there are
 * more; out: entries. They read as zero without CAP_SYS_ADMIN.
 */
struct exrnic_find_pages {
	__aligned_u64 address;
	__aligned_u64 length;
	__aligned_u64 buffer;	/* user address of __u64[pages] */
	__u32 pages;		/* in, out */
	__u32 rsvd;
};

#define EXRNIC_DEBUG_IOCTL_FIND_PAGES _IOWR(0xE7, 0x00, struct exrnic_find_pages)

#endif
