// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A hostile kernel: every register written, with commands, lists and rings of its own making. It
 *may harm itself only. So that this guest lives on, what the device is told to write lies in a huge
 *page of the test, or where no memory is.
 *
 *	first half	lists of pages, which the device reads
 *	second half	rings and regions, which it reads and writes
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#define DRIVER "/sys/bus/pci/drivers/exrnic"
#define HUGE ((size_t)1 << EXRNIC_HUGE_PAGE_SHIFT)
#define HALF (HUGE / 2)

/* PCI Local Bus Specification 3.0, 6.2.2: Device Control. */
enum { PCI_COMMAND = 4, PCI_COMMAND_MEMORY = 0x2, PCI_COMMAND_MASTER = 0x4 };

enum {
	LISTS_BYTES = 0x10000,
	MBOX_WORDS = EXRNIC_MBOX_DATA_BYTES / 4,
	OBJECTS = 8,
	NOWHERE_BIT = 44
};

struct hostile {
	struct fuzz *f;
	volatile uint32_t *regs;
	volatile uint64_t *user;
	char *memory;
	uint64_t bus; /* of memory */
};

static uint64_t physical(const void *address)
{
	const uint64_t frame_mask = (1ULL << 55) - 1; /* Documentation: admin-guide/mm/pagemap */
	int fd = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry;

	if (fd < 0 || pread(fd, &entry, sizeof(entry), (uintptr_t)address / PAGE * sizeof(entry)) !=
			      sizeof(entry))
		give_up("/proc/self/pagemap");
	close(fd);
	return (entry & frame_mask) * PAGE;
}

/* Does not move, so its bus address stays what it is. */
static char *huge_page(void)
{
	char *memory;

	write_file("/proc/sys/vm/nr_hugepages", "1");
	memory = mmap(NULL, HUGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED)
		skip("no huge page");
	memset(memory, 0, HUGE);
	return memory;
}

static void device_path_of(char *path, const char *name, const char *file)
{
	snprintf(path, PATH_MAX, "/sys/bus/pci/devices/%s/%s", name, file);
}

static void *map_bar(const char *name, const char *file, size_t size)
{
	char path[PATH_MAX];
	void *bar;
	int fd;

	device_path_of(path, name, file);
	fd = open(path, O_RDWR | O_SYNC);
	bar = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || bar == MAP_FAILED)
		give_up(path);
	close(fd);
	return bar;
}

static void set_pci_command(const char *name, uint16_t command)
{
	char path[PATH_MAX];
	int fd;

	device_path_of(path, name, "config");
	fd = open(path, O_RDWR);
	if (fd < 0 || pwrite(fd, &command, sizeof(command), PCI_COMMAND) != sizeof(command))
		give_up(path);
	close(fd);
}

/* A list that has been filled, one not aligned, or nowhere. */
static uint64_t draw_list(struct hostile *h)
{
	switch (draw_below(h->f, 8)) {
	case 0:
		return 1ULL << NOWHERE_BIT | draw(h->f);
	case 1:
		return h->bus + draw_below(h->f, LISTS_BYTES);
	default:
		return h->bus + draw_below(h->f, LISTS_BYTES / PAGE) * PAGE;
	}
}

static uint64_t draw_page(struct hostile *h)
{
	if (!draw_below(h->f, 8))
		return 1ULL << NOWHERE_BIT | draw(h->f);
	return h->bus + HALF + draw_below(h->f, HALF / PAGE) * PAGE;
}

static void fill_lists(struct hostile *h)
{
	uint64_t *entry = (uint64_t *)h->memory;

	for (size_t i = 0; i < HALF / sizeof(*entry); i++)
		entry[i] = draw_page(h);
	draw_bytes(h->f, h->memory + HALF, HALF);
}

static uint32_t small_or_any(struct hostile *h)
{
	return draw_below(h->f, 8) ? draw_below(h->f, OBJECTS) : draw_word(h->f);
}

/* Towards the other guest only queue pairs that nobody makes. */
static uint32_t draw_peer(struct hostile *h)
{
	return EXRNIC_MAX_QP / 2 + draw_below(h->f, EXRNIC_MAX_QP / 2);
}

/* The words of a payload, then the fields that must be within bounds. */
static uint32_t draw_command(struct hostile *h, uint32_t *words)
{
	union {
		struct exrnic_mbox_create_cq cq;
		struct exrnic_mbox_resize_cq resize;
		struct exrnic_mbox_create_qp qp;
		struct exrnic_mbox_create_srq srq;
		struct exrnic_mbox_register_mr mr;
		struct exrnic_mbox_modify_qp modify;
		uint32_t words[MBOX_WORDS];
	} in;
	uint32_t op = draw_below(h->f, 16) ? draw_below(h->f, EXRNIC_MBOX_OP_RESIZE_CQ + 1) : draw_word(h->f);

	for (int i = 0; i < MBOX_WORDS; i++)
		in.words[i] = small_or_any(h);
	if (op == EXRNIC_MBOX_OP_CREATE_CQ) {
		in.cq.pbl_address = draw_list(h);
	} else if (op == EXRNIC_MBOX_OP_RESIZE_CQ) {
		in.resize.pbl_address = draw_list(h);
	} else if (op == EXRNIC_MBOX_OP_CREATE_QP) {
		in.qp.sq_pbl_address = draw_list(h);
		in.qp.rq_pbl_address = draw_list(h);
		in.qp.service = EXRNIC_SERVICE_RC;
	} else if (op == EXRNIC_MBOX_OP_CREATE_SRQ) {
		in.srq.pbl_address = draw_list(h);
	} else if (op == EXRNIC_MBOX_OP_REGISTER_MR) {
		in.mr.pbl_address = draw_list(h);
		in.mr.length = draw_below(h->f, HALF / 2);
		in.mr.page_shift = EXRNIC_PAGE_SHIFT;
	} else if (op == EXRNIC_MBOX_OP_MODIFY_QP) {
		in.modify.dest_qpn = draw_peer(h);
		/* Else hardly any would go through. */
		if (draw_below(h->f, 8))
			in.modify.attributes =
				in.modify.state == EXRNIC_QP_STATE_RTR ? EXRNIC_QP_ATTRIBUTES_DEST : 0;
	}
	memcpy(words, in.words, sizeof(in));
	return op;
}

static void wait_for_mailbox(struct hostile *h)
{
	for (int i = 0; i < 1000; i++)
		if (h->regs[EXRNIC_REG_MBOX_STATUS / 4] != EXRNIC_MBOX_STATUS_BUSY)
			return;
}

static void give_command(struct hostile *h)
{
	uint32_t words[MBOX_WORDS], op = draw_command(h, words);

	if (draw_below(h->f, 16))
		wait_for_mailbox(h);
	for (int i = 0; i < MBOX_WORDS; i++)
		h->regs[EXRNIC_REG_MBOX_DATA / 4 + i] = words[i];
	h->regs[EXRNIC_REG_MBOX_COMMAND / 4] = op;
}

static bool is_mailbox(uint32_t offset)
{
	return offset >= EXRNIC_REG_MBOX_DATA && offset <= EXRNIC_REG_MBOX_COMMAND;
}

static void write_register(struct hostile *h)
{
	uint32_t offset = draw_below(h->f, 4) ? draw_below(h->f, 0x1080 / 4) * 4
					      : draw_below(h->f, EXRNIC_BAR0_SIZE / 4) * 4;

	if (!is_mailbox(offset))
		h->regs[offset / 4] = draw_word(h->f);
	(void)h->regs[draw_below(h->f, EXRNIC_BAR0_SIZE / 4)];
}

static void ring_any_doorbell(struct hostile *h)
{
	uint32_t page = draw_below(h->f, OBJECTS);
	uint32_t word = draw_below(h->f, 4) ? draw_below(h->f, 6) : draw_below(h->f, PAGE / 8);

	h->user[page * (PAGE / 8) + word] = small_or_any(h) | (uint64_t)small_or_any(h) << 32;
}

static void one_deed(struct hostile *h)
{
	switch (draw_below(h->f, 4)) {
	case 0:
		return write_register(h);
	case 1:
		return ring_any_doorbell(h);
	default:
		return give_command(h);
	}
}

static void hostile_kernel(void)
{
	struct fuzz f = fuzz_start();
	struct hostile h = { .f = &f, .memory = huge_page() };
	char name[64], path[PATH_MAX];

	if (has_iommu())
		skip("behind an IOMMU the driver has to map memory first");
	h.bus = physical(h.memory);
	fill_lists(&h);
	pci_name(name, sizeof(name));
	write_file(DRIVER "/unbind", name);
	device_path_of(path, name, "enable");
	write_file(path, "1");
	set_pci_command(name, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	h.regs = map_bar(name, "resource0", EXRNIC_BAR0_SIZE);
	h.user = map_bar(name, "resource2", EXRNIC_BAR2_SIZE);
	h.regs[EXRNIC_REG_CONTROL / 4] = EXRNIC_DEVICE_CONTROL_ENABLE;
	while (fuzz_goes_on(&f))
		one_deed(&h);
	fuzz_end(&f);
	CHECK_EQ(h.regs[EXRNIC_REG_ID / 4], EXRNIC_DEVICE_MAGIC);
	/* The driver maps them with another memory type. */
	munmap((void *)h.regs, EXRNIC_BAR0_SIZE);
	munmap((void *)h.user, EXRNIC_BAR2_SIZE);
	set_pci_command(name, PCI_COMMAND_MEMORY);
	write_file(path, "0");
	write_file(DRIVER "/bind", name);
	munmap(h.memory, HUGE);
	write_file("/proc/sys/vm/nr_hugepages", "0");
}

static void whatever_a_kernel_writes(void)
{
	struct bystander b;

	hostile_kernel();
	b = make_bystander();
	check_bystander(&b);
}

const struct test fuzz_registers_tests[] = {
	{ "whatever a kernel writes to the registers, the device works when it is bound again",
	  whatever_a_kernel_writes, 0 },
	{ NULL, NULL, 0 },
};
