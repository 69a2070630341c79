// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <util/util.h>

#include "exrnic_verbs.h"

/* 0, or an errno. */
static int exrnic_map(struct exrnic_memory *memory)
{
	int ret;

	memory->data = mmap(NULL, memory->bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory->data == MAP_FAILED) {
		memory->data = NULL;
		return errno;
	}

	/*
	 * Else the first write behind a fork would give the parent a copy,
	 * and the device would go on with the old page.
	 */
	ret = ibv_dontfork_range(memory->data, memory->bytes);
	if (ret) {
		munmap(memory->data, memory->bytes);
		memory->data = NULL;
	}
	return ret;
}

/* pd: a domain that may have allocators, or NULL. 0, or an errno. */
int exrnic_memory_alloc(struct exrnic_memory *memory, struct exrnic_pd *pd,
			enum exrnic_resource resource, size_t bytes)
{
	const size_t page = sysconf(_SC_PAGESIZE);

	memory->bytes = align(bytes, page);
	memory->resource = resource;
	memory->pd = NULL;
	if (!pd || !pd->alloc)
		return exrnic_map(memory);

	memory->data = pd->alloc(&pd->ibv_pd, pd->pd_context, memory->bytes,
				 page, resource);
	if (memory->data == IBV_ALLOCATOR_USE_DEFAULT)
		return exrnic_map(memory);
	if (!memory->data)
		return ENOMEM;

	memory->pd = pd;
	atomic_fetch_add(&pd->refcount, 1);
	memset(memory->data, 0, memory->bytes);
	return 0;
}

void exrnic_memory_free(struct exrnic_memory *memory)
{
	struct exrnic_pd *pd = memory->pd;

	if (!memory->data)
		return;
	if (pd) {
		pd->free(&pd->ibv_pd, pd->pd_context, memory->data,
			 memory->resource);
		atomic_fetch_sub(&pd->refcount, 1);
	} else {
		ibv_dofork_range(memory->data, memory->bytes);
		munmap(memory->data, memory->bytes);
	}
	memory->data = NULL;
}
