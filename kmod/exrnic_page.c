// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "exrnic_core.h"

int exrnic_page_alloc(struct exrnic_device *edev, u32 *page)
{
	int id = ida_alloc_max(&edev->pages, edev->limits.user_pages - 1, GFP_KERNEL);

	if (id < 0)
		return id;
	*page = id;
	return 0;
}

void exrnic_page_free(struct exrnic_device *edev, u32 page)
{
	ida_free(&edev->pages, page);
}

unsigned long exrnic_page_pfn(struct exrnic_device *edev, u32 page)
{
	/* A user page must be a page of the MMU, or a process would reach its neighbour's. */
	BUILD_BUG_ON(EXRNIC_USER_PAGE_SIZE != PAGE_SIZE);
	return PHYS_PFN(edev->user_base) + page;
}
