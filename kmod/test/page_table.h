/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the page table of this process says of a page: x86 only. */
#ifndef EXRNIC_KMOD_TEST_PAGE_TABLE_H
#define EXRNIC_KMOD_TEST_PAGE_TABLE_H

/* As Linux numbers them: bits PWT, PCD and PAT of an entry. */
enum memory_type {
	MEMORY_WRITE_BACK,
	MEMORY_WRITE_COMBINING,
	MEMORY_UNCACHED_MINUS,
	MEMORY_UNCACHED,
};

/* Of a page that has been touched. Skips the test where the kernel does not let root look. */
enum memory_type memory_type_of(const volatile void *address);

#endif
