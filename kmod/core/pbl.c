// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Physical buffer lists: coherent memory with the little-endian bus addresses of the pages of a
 * region or ring, in order. Entry 0 is the page of the first byte.
 */
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/overflow.h>

#include "device.h"

/* A list of all that the kernel may map has so many bits of bus addresses, for which there is memory. */
#define EXRNIC_BUS_BITS_MIN	36
#define EXRNIC_BUS_BITS_MAX	40

static bool huge_pages = true;
module_param(huge_pages, bool, 0644);
MODULE_PARM_DESC(huge_pages, "Use 2 MiB entries for regions that lie in huge pages");

/*
 * One entry per huge page serves a region if address and bus address agree in their lower bits,
 * and each huge page of the region is contiguous on the bus. The region may begin and end within
 * one: the device checks its bounds before it looks at the list.
 */
static bool exrnic_pbl_fits_huge(const struct sg_table *sgt, u64 address)
{
	const u64 mask = BIT_ULL(EXRNIC_HUGE_PAGE_SHIFT) - 1;
	dma_addr_t expected = 0;
	struct scatterlist *sg;
	unsigned int i;

	address &= PAGE_MASK;
	for_each_sgtable_dma_sg(sgt, sg, i) {
		dma_addr_t bus = sg_dma_address(sg);

		if ((bus ^ address) & mask)
			return false;
		if (expected && (address & mask) && bus != expected)
			return false;
		expected = bus + sg_dma_len(sg);
		address += sg_dma_len(sg);
	}
	return true;
}

/* A page that two segments share, which then are one on the bus, is written for each of them. */
static void exrnic_pbl_fill(struct exrnic_pbl *pbl, const struct sg_table *sgt, u64 address)
{
	const u64 size = BIT_ULL(pbl->page_shift);
	u64 first = address >> pbl->page_shift;
	struct scatterlist *sg;
	unsigned int i;

	address &= PAGE_MASK;
	for_each_sgtable_dma_sg(sgt, sg, i) {
		u64 bus = sg_dma_address(sg);
		u64 end = address + sg_dma_len(sg);
		u64 page;

		for (page = address & ~(size - 1); page < end; page += size)
			pbl->entries[(page >> pbl->page_shift) - first] =
				cpu_to_le64(bus + (page - address));
		address = end;
	}
}

int exrnic_pbl_build(struct exrnic_device *edev, struct exrnic_pbl *pbl, const struct sg_table *sgt,
		     u64 address, u64 length, bool huge)
{
	const u64 last = address + length - 1;
	u64 end;

	/* Nor may its last page reach the end of all addresses: a process chooses those of its regions. */
	if (!length || check_add_overflow(address, length, &end) ||
	    end > U64_MAX - BIT_ULL(EXRNIC_HUGE_PAGE_SHIFT))
		return -EINVAL;
	/* The device counts in pages of 4 KiB; the allocator aligns to those, so to lines too. */
	BUILD_BUG_ON(PAGE_SHIFT != EXRNIC_PAGE_SHIFT);
	BUILD_BUG_ON(PAGE_SIZE % EXRNIC_PBL_LINE_SIZE);
	BUILD_BUG_ON(sizeof(*pbl->entries) != EXRNIC_PBL_ENTRY_SIZE);

	huge = huge && huge_pages && last >> PAGE_SHIFT != address >> PAGE_SHIFT;
	pbl->page_shift = huge && exrnic_pbl_fits_huge(sgt, address) ? EXRNIC_HUGE_PAGE_SHIFT
								      : EXRNIC_PAGE_SHIFT;
	pbl->count = (last >> pbl->page_shift) - (address >> pbl->page_shift) + 1;
	pbl->bytes = round_up((size_t)pbl->count * sizeof(*pbl->entries), EXRNIC_PBL_LINE_SIZE);
	pbl->entries = dma_alloc_coherent(&edev->pdev->dev, pbl->bytes, &pbl->bus,
					  GFP_KERNEL | __GFP_NOWARN);
	if (!pbl->entries)
		return -ENOMEM;
	exrnic_pbl_fill(pbl, sgt, address);
	return 0;
}
EXRNIC_EXPORT(exrnic_pbl_build);

int exrnic_pbl_build_kernel(struct exrnic_device *edev, struct exrnic_pbl *pbl, dma_addr_t bus,
			    u64 address, size_t bytes)
{
	struct scatterlist sg;
	const struct sg_table sgt = { .sgl = &sg, .nents = 1, .orig_nents = 1 };

	if (!bytes || bytes > UINT_MAX || !IS_ALIGNED(bus, PAGE_SIZE) || !IS_ALIGNED(address, PAGE_SIZE))
		return -EINVAL;
	sg_init_table(&sg, 1);
	sg_dma_address(&sg) = bus;
	sg_dma_len(&sg) = bytes;
	return exrnic_pbl_build(edev, pbl, &sgt, address, bytes, false);
}
EXRNIC_EXPORT(exrnic_pbl_build_kernel);

static bool exrnic_bus_is_translated(struct device *dev)
{
	const struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	return domain && domain->type != IOMMU_DOMAIN_IDENTITY;
}

/* Of addresses of its own the IOMMU gives out so many that memory can be mapped four times. */
u64 exrnic_pbl_bus_mask(struct device *dev)
{
	const int memory = fls64((u64)totalram_pages() << PAGE_SHIFT);

	if (!exrnic_bus_is_translated(dev))
		return DMA_BIT_MASK(64);
	return DMA_BIT_MASK(clamp(memory + 2, EXRNIC_BUS_BITS_MIN, EXRNIC_BUS_BITS_MAX));
}

int exrnic_pbl_build_bus(struct exrnic_device *edev, struct exrnic_pbl *pbl, u64 *bytes)
{
	struct device *dev = &edev->pdev->dev;
	u64 mask = exrnic_bus_is_translated(dev) ? dma_get_mask(dev) : dma_get_required_mask(dev);
	u32 i;

	mask = min(mask, DMA_BIT_MASK(EXRNIC_BUS_BITS_MAX));
	pbl->page_shift = EXRNIC_HUGE_PAGE_SHIFT;
	pbl->count = (mask >> pbl->page_shift) + 1;
	pbl->bytes = round_up((size_t)pbl->count * sizeof(*pbl->entries), EXRNIC_PBL_LINE_SIZE);
	pbl->entries = dma_alloc_coherent(&edev->pdev->dev, pbl->bytes, &pbl->bus,
					  GFP_KERNEL | __GFP_NOWARN);
	if (!pbl->entries)
		return -ENOMEM;
	for (i = 0; i < pbl->count; i++)
		pbl->entries[i] = cpu_to_le64((u64)i << pbl->page_shift);
	*bytes = (u64)pbl->count << pbl->page_shift;
	return 0;
}
EXRNIC_EXPORT(exrnic_pbl_build_bus);

void exrnic_pbl_free(struct exrnic_device *edev, struct exrnic_pbl *pbl)
{
	dma_free_coherent(&edev->pdev->dev, pbl->bytes, pbl->entries, pbl->bus);
}
EXRNIC_EXPORT(exrnic_pbl_free);
