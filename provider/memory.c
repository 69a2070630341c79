// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <util/util.h>

#include "exrnic_verbs.h"

/* 0, or an errno. */
int exrnic_memory_alloc(struct exrnic_memory *memory, size_t bytes)
{
	const size_t whole = align(bytes, sysconf(_SC_PAGESIZE));
	int ret;

	memory->data = mmap(NULL, whole, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory->data == MAP_FAILED) {
		memory->data = NULL;
		return errno;
	}
	memory->bytes = whole;

	/*
	 * Else the first write behind a fork would give the parent a copy,
	 * and the device would go on with the old page.
	 */
	ret = ibv_dontfork_range(memory->data, whole);
	if (ret) {
		munmap(memory->data, whole);
		memory->data = NULL;
	}
	return ret;
}

void exrnic_memory_free(struct exrnic_memory *memory)
{
	if (!memory->data)
		return;
	ibv_dofork_range(memory->data, memory->bytes);
	munmap(memory->data, memory->bytes);
	memory->data = NULL;
}
