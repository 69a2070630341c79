// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Numbers of queues, user pages and domains. To the device a domain is just a number that regions and queue
 * pairs must share, so it is unique among all owners and no command makes it.
 */
#include <linux/io.h>

#include "device.h"

#define EXRNIC_PD_MIN 1

void exrnic_numbers_init(struct exrnic_device *edev)
{
	ida_init(&edev->pages);
	ida_init(&edev->pds);
	xa_init_flags(&edev->cqs, XA_FLAGS_ALLOC);
	xa_init_flags(&edev->srqs, XA_FLAGS_ALLOC);
	xa_init_flags(&edev->qps, XA_FLAGS_ALLOC);
	mutex_init(&edev->stags.lock);
}

void exrnic_numbers_fini(struct exrnic_device *edev)
{
	exrnic_stags_fini(&edev->stags);
	xa_destroy(&edev->qps);
	xa_destroy(&edev->srqs);
	xa_destroy(&edev->cqs);
	ida_destroy(&edev->pds);
	ida_destroy(&edev->pages);
}

int exrnic_number_alloc(struct xarray *table, u32 limit, u32 *number)
{
	int err = xa_alloc(table, number, NULL, XA_LIMIT(0, limit - 1), GFP_KERNEL);

	return err == -EBUSY ? -ENOSPC : err;
}

int exrnic_page_alloc(struct exrnic_device *edev, u32 *page)
{
	int id = ida_alloc_max(&edev->pages, edev->limits.user_pages - 1, GFP_KERNEL);

	if (id < 0)
		return id;
	*page = id;
	return 0;
}
EXRNIC_EXPORT(exrnic_page_alloc);

void exrnic_page_free(struct exrnic_device *edev, u32 page)
{
	ida_free(&edev->pages, page);
}
EXRNIC_EXPORT(exrnic_page_free);

phys_addr_t exrnic_page_address(const struct exrnic_device *edev, u32 page)
{
	/* A user page must be a page of the MMU, or a process would reach its neighbour's. */
	BUILD_BUG_ON(EXRNIC_USER_PAGE_SIZE != PAGE_SIZE);
	return edev->user_base + (phys_addr_t)page * EXRNIC_USER_PAGE_SIZE;
}
EXRNIC_EXPORT(exrnic_page_address);

void __iomem *exrnic_page_map(struct exrnic_device *edev, u32 page)
{
	return ioremap_wc(exrnic_page_address(edev, page), EXRNIC_USER_PAGE_SIZE);
}
EXRNIC_EXPORT(exrnic_page_map);

void exrnic_page_unmap(volatile void __iomem *mapped)
{
	iounmap(mapped);
}
EXRNIC_EXPORT(exrnic_page_unmap);

int exrnic_pd_alloc(struct exrnic_device *edev, u32 *pdn)
{
	int id = ida_alloc_range(&edev->pds, EXRNIC_PD_MIN, EXRNIC_FW_PD - 1, GFP_KERNEL);

	if (id < 0)
		return id;
	*pdn = id;
	return 0;
}
EXRNIC_EXPORT(exrnic_pd_alloc);

void exrnic_pd_free(struct exrnic_device *edev, u32 pdn)
{
	ida_free(&edev->pds, pdn);
}
EXRNIC_EXPORT(exrnic_pd_free);
