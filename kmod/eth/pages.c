// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/slab.h>

#include "eth.h"

/* As for memory of processes: DMA is coherent, and goes to the pages themselves. */
#define EXRNIC_ETH_DMA_ATTRS DMA_ATTR_SKIP_CPU_SYNC

static void exrnic_eth_pages_free(struct exrnic_eth_pages *pages)
{
	while (pages->count)
		__free_page(pages->pages[--pages->count]);
	kfree(pages->pages);
}

static int exrnic_eth_pages_alloc(struct exrnic_eth_pages *pages, unsigned int count)
{
	pages->count = 0;
	pages->pages = kcalloc(count, sizeof(*pages->pages), GFP_KERNEL);
	if (!pages->pages)
		return -ENOMEM;
	for (; pages->count < count; pages->count++) {
		pages->pages[pages->count] = alloc_page(GFP_KERNEL);
		if (!pages->pages[pages->count]) {
			exrnic_eth_pages_free(pages);
			return -ENOMEM;
		}
	}
	return 0;
}

static void exrnic_eth_pages_unmap(struct exrnic_eth *eth, struct exrnic_eth_pages *pages)
{
	dma_unmap_sgtable(exrnic_device_dma(eth->edev), &pages->sgt, DMA_BIDIRECTIONAL,
			  EXRNIC_ETH_DMA_ATTRS);
	sg_free_table(&pages->sgt);
}

static int exrnic_eth_pages_map(struct exrnic_eth *eth, struct exrnic_eth_pages *pages)
{
	int err = sg_alloc_table_from_pages(&pages->sgt, pages->pages, pages->count, 0,
					    (size_t)pages->count * PAGE_SIZE, GFP_KERNEL);

	if (err)
		return err;
	err = dma_map_sgtable(exrnic_device_dma(eth->edev), &pages->sgt, DMA_BIDIRECTIONAL,
			      EXRNIC_ETH_DMA_ATTRS);
	if (err)
		sg_free_table(&pages->sgt);
	return err;
}

static int exrnic_eth_pages_register(struct exrnic_eth *eth, struct exrnic_eth_pages *pages,
				     u32 access)
{
	const struct exrnic_mr_attr attr = {
		.pbl = &pages->pbl,
		.length = (u64)pages->count * PAGE_SIZE,
		.pdn = eth->queues.pdn,
		.access = access,
	};
	int err = exrnic_pbl_build(eth->edev, &pages->pbl, &pages->sgt, attr.address, attr.length,
				   false);

	if (err)
		return err;
	err = exrnic_mr_create(eth->edev, &pages->mr, &attr);
	if (err)
		exrnic_pbl_free(eth->edev, &pages->pbl);
	return err;
}

int exrnic_eth_pages_create(struct exrnic_eth *eth, struct exrnic_eth_pages *pages,
			    unsigned int count, u32 access)
{
	int err = exrnic_eth_pages_alloc(pages, count);

	if (err)
		return err;
	err = exrnic_eth_pages_map(eth, pages);
	if (err)
		goto err_alloc;
	err = exrnic_eth_pages_register(eth, pages, access);
	if (err)
		goto err_map;
	return 0;

err_map:
	exrnic_eth_pages_unmap(eth, pages);
err_alloc:
	exrnic_eth_pages_free(pages);
	return err;
}

void exrnic_eth_pages_destroy(struct exrnic_eth *eth, struct exrnic_eth_pages *pages)
{
	exrnic_mr_destroy(eth->edev, &pages->mr);
	exrnic_pbl_free(eth->edev, &pages->pbl);
	exrnic_eth_pages_unmap(eth, pages);
	exrnic_eth_pages_free(pages);
}
