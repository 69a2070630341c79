// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The page table of this process, as /proc/kcore shows it. That file starts with the reader's own
 * task_struct, without saying what is where in it. So whatever in it could point to an mm_struct, and
 * in that to a page table, is tried: the right one translates two pages as /proc/self/pagemap does.
 */
#define _GNU_SOURCE

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

enum { MM_BYTES = 2048, ENTRIES = 512, PROBES = 2, PRESENT = 1 << 0, LARGE = 1 << 7, PAT = 1 << 7 };

static const uint64_t frame_mask = 0x000ffffffffff000;

struct kcore {
	int fd;
	Elf64_Ehdr head;
	Elf64_Phdr *segments;
	uint64_t *task;		/* the reader's */
	size_t task_words;
};

struct probe {
	volatile char *page;
	uint64_t frame;		/* its physical address */
};

struct root {
	uint64_t table;		/* physical address */
	int levels;
};

static void read_at(int fd, void *to, size_t size, uint64_t offset, const char *what)
{
	if (pread(fd, to, size, (off_t)offset) != (ssize_t)size)
		give_up(what);
}

static void find_task(struct kcore *k, const char *notes, size_t size)
{
	const Elf64_Nhdr *note;
	size_t at = 0, name, content;

	for (; at + sizeof(*note) <= size; at = content + (note->n_descsz + 3) / 4 * 4) {
		note = (const void *)(notes + at);
		name = at + sizeof(*note);
		content = name + (note->n_namesz + 3) / 4 * 4;
		if (note->n_type != NT_TASKSTRUCT || content + note->n_descsz > size)
			continue;
		k->task_words = note->n_descsz / sizeof(uint64_t);
		k->task = malloc(note->n_descsz);
		if (!k->task)
			give_up("malloc");
		memcpy(k->task, notes + content, note->n_descsz);
		return;
	}
}

static void open_kcore(struct kcore *k)
{
	size_t bytes;
	char *notes;

	k->fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
	if (k->fd < 0)
		skip("no /proc/kcore in this kernel");
	read_at(k->fd, &k->head, sizeof(k->head), 0, "the head of /proc/kcore");
	bytes = k->head.e_phnum * sizeof(*k->segments);
	k->segments = malloc(bytes);
	if (!k->segments)
		give_up("malloc");
	read_at(k->fd, k->segments, bytes, k->head.e_phoff, "the segments of /proc/kcore");
	for (int i = 0; i < k->head.e_phnum; i++) {
		if (k->segments[i].p_type != PT_NOTE)
			continue;
		notes = malloc(k->segments[i].p_filesz);
		if (!notes)
			give_up("malloc");
		read_at(k->fd, notes, k->segments[i].p_filesz, k->segments[i].p_offset,
			"the notes of /proc/kcore");
		find_task(k, notes, k->segments[i].p_filesz);
		free(notes);
	}
	if (!k->task)
		give_up("no task_struct in /proc/kcore");
}

static void close_kcore(struct kcore *k)
{
	free(k->task);
	free(k->segments);
	close(k->fd);
}

/* Memory that is no memory reads as nothing. */
static bool read_physical(const struct kcore *k, uint64_t address, void *to, size_t size)
{
	for (int i = 0; i < k->head.e_phnum; i++) {
		const Elf64_Phdr *s = &k->segments[i];

		if (s->p_type == PT_LOAD && s->p_paddr != ~0ULL && address >= s->p_paddr &&
		    address + size <= s->p_paddr + s->p_memsz)
			return pread(k->fd, to, size, (off_t)(s->p_offset + address - s->p_paddr)) ==
			       (ssize_t)size;
	}
	return false;
}

/* Of a pointer of the kernel to memory. */
static bool to_physical(const struct kcore *k, uint64_t pointer, uint64_t *physical)
{
	for (int i = 0; i < k->head.e_phnum; i++) {
		const Elf64_Phdr *s = &k->segments[i];

		if (s->p_type != PT_LOAD || s->p_paddr == ~0ULL || pointer < s->p_vaddr ||
		    pointer >= s->p_vaddr + s->p_memsz)
			continue;
		*physical = pointer - s->p_vaddr + s->p_paddr;
		return true;
	}
	return false;
}

/* The entry of the last level; 0: there is none. */
static uint64_t walk(const struct kcore *k, const struct root *root, const volatile void *address)
{
	uint64_t entry = root->table;

	for (int level = root->levels - 1; level >= 0; level--) {
		unsigned int index = (uintptr_t)address >> (12 + 9 * level) & (ENTRIES - 1);

		if (!read_physical(k, (entry & frame_mask) + index * sizeof(entry), &entry,
				   sizeof(entry)) ||
		    !(entry & PRESENT) || (level && (entry & LARGE)))
			return 0;
	}
	return entry;
}

static bool translates(const struct kcore *k, const struct root *root, const struct probe *probes)
{
	for (int i = 0; i < PROBES; i++)
		if ((walk(k, root, probes[i].page) & frame_mask) != probes[i].frame)
			return false;
	return true;
}

static bool find_root_in(const struct kcore *k, uint64_t mm, const struct probe *probes,
			 struct root *root)
{
	uint64_t words[MM_BYTES / sizeof(uint64_t)];

	if (!read_physical(k, mm, words, sizeof(words)))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (words[i] % PAGE || !to_physical(k, words[i], &root->table))
			continue;
		for (root->levels = 4; root->levels <= 5; root->levels++)
			if (translates(k, root, probes))
				return true;
	}
	return false;
}

static struct root find_root(const struct kcore *k, const struct probe *probes)
{
	struct root root;
	uint64_t mm;

	for (size_t i = 0; i < k->task_words; i++)
		if (k->task[i] % sizeof(uint64_t) == 0 && to_physical(k, k->task[i], &mm) &&
		    find_root_in(k, mm, probes, &root))
			return root;
	give_up("the page table is not where it was looked for");
}

static struct probe make_probe(void)
{
	const uint64_t present = 1ULL << 63, frame_bits = (1ULL << 55) - 1;
	struct probe probe = { .page = pages(1) };
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry;

	probe.page[0] = 1;
	if (fd < 0)
		give_up("/proc/self/pagemap");
	read_at(fd, &entry, sizeof(entry), (uintptr_t)probe.page / PAGE * sizeof(entry),
		"/proc/self/pagemap");
	close(fd);
	if (!(entry & present) || !(entry & frame_bits))
		give_up("/proc/self/pagemap does not tell frames");
	probe.frame = (entry & frame_bits) * PAGE;
	return probe;
}

enum memory_type memory_type_of(const volatile void *address)
{
	struct probe probes[PROBES];
	struct kcore k = { 0 };
	struct root root;
	uint64_t entry;

	for (int i = 0; i < PROBES; i++)
		probes[i] = make_probe();
	open_kcore(&k);
	root = find_root(&k, probes);
	entry = walk(&k, &root, address);
	if (!entry)
		give_up("there is no such page");
	close_kcore(&k);
	return (entry >> 3 & 3) | (entry & PAT ? 4 : 0);
}
