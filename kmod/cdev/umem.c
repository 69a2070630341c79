// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* User memory that the device reaches: charged, pinned for long, mapped for DMA. */
#include <linux/capability.h>
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "ucontext.h"

/* Pages pinned between two looks for a fatal signal. */
#define EXRNIC_PIN_BATCH 1024

static int exrnic_umem_count_pages(struct exrnic_umem *umem, u64 address, u64 length)
{
	u64 end;

	/* Neither the region nor its last page may reach the end of all addresses. */
	if (!length || check_add_overflow(address, length, &end) || end > ULONG_MAX - PAGE_SIZE)
		return -EINVAL;
	umem->address = address;
	umem->length = length;
	umem->pages = PHYS_PFN(PAGE_ALIGN(end)) - PHYS_PFN(address);
	/* The list of pages must be one that the kernel is willing to allocate. */
	return umem->pages > INT_MAX / sizeof(struct page *) ? -ENOMEM : 0;
}

/* As the RDMA core counts: per address space, CAP_IPC_LOCK goes beyond the limit. */
static int exrnic_umem_charge(struct exrnic_umem *umem)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	u64 pinned = atomic64_add_return(umem->pages, &current->mm->pinned_vm);

	if (pinned > limit && !capable(CAP_IPC_LOCK)) {
		atomic64_sub(umem->pages, &current->mm->pinned_vm);
		return -ENOMEM;
	}
	umem->mm = current->mm;
	mmgrab(umem->mm);
	return 0;
}

static void exrnic_umem_uncharge(struct exrnic_umem *umem)
{
	atomic64_sub(umem->pages, &umem->mm->pinned_vm);
	mmdrop(umem->mm);
}

static int exrnic_umem_pin_pages(struct exrnic_umem *umem, struct page **pages)
{
	unsigned long start = umem->address & PAGE_MASK;
	unsigned long pinned = 0;
	int n = 0;

	while (pinned < umem->pages) {
		cond_resched();
		n = -EINTR;
		if (fatal_signal_pending(current))
			break;
		n = exrnic_pin_pages(start + (pinned << PAGE_SHIFT),
				     min_t(unsigned long, umem->pages - pinned, EXRNIC_PIN_BATCH),
				     umem->writable, pages + pinned);
		if (n <= 0)
			break;
		pinned += n;
	}
	if (pinned == umem->pages)
		return 0;
	unpin_user_pages(pages, pinned);
	return n ? n : -EFAULT;
}

/*
 * Process and device share the pages for as long as they are mapped, and may map them more than
 * once: that takes coherent DMA, where there is nothing to synchronize at map and unmap.
 */
#define EXRNIC_DMA_ATTRS DMA_ATTR_SKIP_CPU_SYNC

static enum dma_data_direction exrnic_umem_direction(const struct exrnic_umem *umem)
{
	return umem->writable ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
}

/*
 * A process may never provide the memory that it names (userfaultfd, FUSE). Removal of the device,
 * and other threads, must not wait for that: the lock is given up meanwhile.
 */
static int exrnic_umem_pin_unlocked(struct exrnic_ucontext *uctx, struct exrnic_umem *umem,
				    struct page **pages)
{
	int err;

	mutex_unlock(&uctx->lock);
	err = exrnic_umem_pin_pages(umem, pages);
	mutex_lock(&uctx->lock);
	if (err || !READ_ONCE(uctx->dead))
		return err;
	unpin_user_pages(pages, umem->pages);
	return -ENODEV;
}

int exrnic_umem_pin(struct exrnic_ucontext *uctx, struct exrnic_umem *umem, u64 address, u64 length,
		    bool writable)
{
	struct page **pages;
	int err;

	umem->writable = writable;
	err = exrnic_umem_count_pages(umem, address, length);
	if (err)
		return err;
	err = exrnic_limits_charge_pages(uctx, umem->pages);
	if (err)
		return err;
	err = exrnic_umem_charge(umem);
	if (err)
		goto err_limits;
	pages = kvmalloc_array(umem->pages, sizeof(*pages), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!pages) {
		err = -ENOMEM;
		goto err_charge;
	}
	err = exrnic_umem_pin_unlocked(uctx, umem, pages);
	if (err)
		goto err_list;
	umem->unmapped = pages;
	return 0;

err_list:
	kvfree(pages);
err_charge:
	exrnic_umem_uncharge(umem);
err_limits:
	exrnic_limits_uncharge_pages(uctx, umem->pages);
	return err;
}

int exrnic_umem_map(struct exrnic_device *edev, struct exrnic_umem *umem)
{
	struct device *dev = exrnic_device_dma(edev);
	int err;

	err = sg_alloc_table_from_pages_segment(&umem->sgt, umem->unmapped, umem->pages, 0,
						umem->pages << PAGE_SHIFT,
						dma_get_max_seg_size(dev), GFP_KERNEL_ACCOUNT);
	if (err)
		return err;
	err = dma_map_sgtable(dev, &umem->sgt, exrnic_umem_direction(umem), EXRNIC_DMA_ATTRS);
	if (err) {
		sg_free_table(&umem->sgt);
		return err;
	}
	kvfree(umem->unmapped);
	umem->unmapped = NULL;
	return 0;
}

static void exrnic_umem_unmap(struct exrnic_device *edev, struct exrnic_umem *umem)
{
	struct scatterlist *sg;
	unsigned int i;

	dma_unmap_sgtable(exrnic_device_dma(edev), &umem->sgt, exrnic_umem_direction(umem),
			  EXRNIC_DMA_ATTRS);
	for_each_sgtable_sg(&umem->sgt, sg, i)
		unpin_user_page_range_dirty_lock(sg_page(sg), PFN_UP(sg->length), umem->writable);
	sg_free_table(&umem->sgt);
}

/* The device has stopped reaching this memory before: see exrnic_core.h. */
void exrnic_umem_unpin(struct exrnic_ucontext *uctx, struct exrnic_umem *umem)
{
	if (umem->unmapped) {
		unpin_user_pages(umem->unmapped, umem->pages);
		kvfree(umem->unmapped);
	} else {
		exrnic_umem_unmap(uctx->edev, umem);
	}
	exrnic_umem_uncharge(umem);
	exrnic_limits_uncharge_pages(uctx, umem->pages);
}

/* ---- Rings */

static bool exrnic_ring_shape_is_valid(const struct exrnic_ring_shape *shape)
{
	return is_power_of_2(shape->entries) && shape->entries >= BIT(EXRNIC_RING_LOG_MIN) &&
	       shape->entries <= BIT(shape->log_max);
}

/* Whole pages: the device knows no bounds but the number of entries. */
int exrnic_ring_pin(struct exrnic_ucontext *uctx, struct exrnic_ring *ring, u64 address,
		    const struct exrnic_ring_shape *shape)
{
	u64 bytes = PAGE_ALIGN((u64)shape->entries * shape->entry_bytes);

	if (!exrnic_ring_shape_is_valid(shape) || !IS_ALIGNED(address, PAGE_SIZE))
		return -EINVAL;
	ring->log_entries = ilog2(shape->entries);
	return exrnic_umem_pin(uctx, &ring->umem, address, bytes, shape->writable);
}

int exrnic_ring_map(struct exrnic_device *edev, struct exrnic_ring *ring)
{
	int err = exrnic_umem_map(edev, &ring->umem);

	return err ? err : exrnic_pbl_build(edev, &ring->pbl, &ring->umem.sgt, ring->umem.address,
				      ring->umem.length, false);
}

void exrnic_ring_unpin(struct exrnic_ucontext *uctx, struct exrnic_ring *ring)
{
	if (ring->pbl.entries)
		exrnic_pbl_free(uctx->edev, &ring->pbl);
	exrnic_umem_unpin(uctx, &ring->umem);
}
