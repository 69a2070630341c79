// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/log2.h>

#include "exrnic_core.h"

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

	return err ? err : exrnic_pbl_build(edev, &ring->pbl, &ring->umem, EXRNIC_PAGE_SHIFT);
}

void exrnic_ring_unpin(struct exrnic_ucontext *uctx, struct exrnic_ring *ring)
{
	if (ring->pbl.entries)
		exrnic_pbl_free(uctx->edev, &ring->pbl);
	exrnic_umem_unpin(uctx, &ring->umem);
}
