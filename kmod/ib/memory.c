// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory of rings and regions, and what processes and driver hand each other. */
#include <linux/dma-mapping.h>

#include "ib.h"

int exrnic_ib_memory_pin(struct ib_device *ibdev, struct exrnic_ib_memory *memory, u64 address, u64 bytes,
			 int access)
{
	struct ib_umem *umem;
	int err;

	if (!PAGE_ALIGNED(address))
		return -EINVAL;
	umem = exrnic_ib_umem_get(ibdev, address, PAGE_ALIGN(bytes), access);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	err = exrnic_pbl_build(exrnic_ib_edev(ibdev), &memory->pbl, &umem->sgt_append.sgt, address,
			       PAGE_ALIGN(bytes), false);
	if (err) {
		ib_umem_release(umem);
		return err;
	}
	memory->umem = umem;
	memory->bytes = PAGE_ALIGN(bytes);
	return 0;
}

int exrnic_ib_memory_alloc(struct ib_device *ibdev, struct exrnic_ib_memory *memory, size_t bytes)
{
	struct exrnic_device *edev = exrnic_ib_edev(ibdev);
	int err;

	memory->bytes = PAGE_ALIGN(bytes);
	memory->address = dma_alloc_coherent(exrnic_device_dma(edev), memory->bytes, &memory->bus,
					     GFP_KERNEL | __GFP_NOWARN);
	if (!memory->address)
		return -ENOMEM;
	err = exrnic_pbl_build_kernel(edev, &memory->pbl, memory->bus, exrnic_ib_memory_offset(memory),
				      memory->bytes);
	if (err) {
		dma_free_coherent(exrnic_device_dma(edev), memory->bytes, memory->address, memory->bus);
		memory->address = NULL;
	}
	return err;
}

void exrnic_ib_memory_free(struct ib_device *ibdev, struct exrnic_ib_memory *memory)
{
	struct exrnic_device *edev = exrnic_ib_edev(ibdev);

	if (memory->pbl.entries)
		exrnic_pbl_free(edev, &memory->pbl);
	if (memory->umem)
		ib_umem_release(memory->umem);
	if (memory->address)
		dma_free_coherent(exrnic_device_dma(edev), memory->bytes, memory->address, memory->bus);
	memset(memory, 0, sizeof(*memory));
}

u64 exrnic_ib_memory_offset(const struct exrnic_ib_memory *memory)
{
	return memory->umem ? memory->umem->address : (u64)(uintptr_t)memory->address;
}

int exrnic_ib_take(struct ib_udata *udata, void *request, size_t bytes)
{
	if (udata->inlen < bytes)
		return -EINVAL;
	if (udata->inlen > bytes && !ib_is_udata_cleared(udata, bytes, udata->inlen - bytes))
		return -EOPNOTSUPP;
	return ib_copy_from_udata(request, udata, bytes);
}

int exrnic_ib_tell(struct ib_udata *udata, void *answer, size_t bytes)
{
	return udata->outlen < bytes ? -EINVAL : ib_copy_to_udata(udata, answer, bytes);
}
