// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A process that stores whatever it likes into its user page and its rings. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/ioctl.h>

#include "fuzz.h"

enum { QUEUES = 4, WORK_ROUNDS = 64 };

/* Its objects: each queue pair has rings of one page. */
struct hostile {
	struct fuzz *f;
	const struct bystander *b;
	struct set s;
	struct worker queues[QUEUES];
	uint32_t srqn;
	char *srq;
};

static struct hostile make_hostile(struct fuzz *f, const struct bystander *b)
{
	struct hostile h = { .f = f, .b = b, .s = make_set(), .srq = pages(1) };

	for (int i = 0; i < QUEUES; i++)
		h.queues[i] = make_worker(&h.s, EXRNIC_NO_CHANNEL, i, EXRNIC_ANY_VECTOR);
	if (create_srq(h.s.fd, h.s.pd, h.srq, SLOTS, &h.srqn))
		give_up("CREATE_SRQ");
	return h;
}

/* Its own regions, and what others have: that must be refused. */
static uint32_t draw_stag(struct hostile *h)
{
	switch (draw_below(h->f, 4)) {
	case 0:
		return draw_word(h->f);
	case 1:
		return h->b->s.stag ^ draw_below(h->f, 4);
	default:
		return h->s.stag;
	}
}

static uint64_t draw_place(struct hostile *h)
{
	const void *base = draw_below(h->f, 2) ? h->s.buffer : h->b->s.buffer;

	return draw_below(h->f, 8) ? (uintptr_t)base + draw_below(h->f, BUFFER_PAGES * PAGE)
				   : draw(h->f);
}

/* Such as the device may try to execute. */
static struct exrnic_wqe draw_wqe(struct hostile *h)
{
	struct exrnic_wqe wqe;

	draw_bytes(h->f, &wqe, sizeof(wqe));
	if (!draw_below(h->f, 8))
		return wqe;
	wqe.opcode = draw_below(h->f, 9);
	wqe.flags = draw_below(h->f, 4) ? EXRNIC_WQE_FLAGS_SIGNALED : draw_word(h->f);
	wqe.num_sge = draw_below(h->f, 4);
	wqe.num_slots = 1 + draw_below(h->f, 2);
	wqe.length = draw_below(h->f, 2 * PAGE);
	wqe.imm_data = draw_below(h->f, 2) ? 0 : draw_stag(h);
	wqe.remote_to = draw_place(h);
	wqe.remote_stag = draw_stag(h);
	wqe.sge0_address = draw_place(h);
	wqe.sge0_length = wqe.num_sge == 1 ? wqe.length : draw_below(h->f, PAGE);
	wqe.sge0_stag = draw_stag(h);
	wqe.sge1_stag = draw_stag(h);
	return wqe;
}

static void store_rings(struct hostile *h)
{
	struct worker *w = &h->queues[draw_below(h->f, QUEUES)];
	struct exrnic_wqe wqe = draw_wqe(h);
	uint32_t at = draw_below(h->f, SLOTS);

	if (draw_below(h->f, 4))
		memcpy(&w->sq[at], &wqe, sizeof(wqe));
	else if (draw_below(h->f, 2))
		memcpy(h->srq + at * sizeof(wqe), &wqe, sizeof(wqe));
	else
		draw_bytes(h->f, (void *)w->ring, WORKER_ENTRIES * sizeof(struct exrnic_cqe));
}

/* Doorbells of queues that are its own, somebody's, nobody's; also torn ones. */
static void store_page(struct hostile *h)
{
	struct worker *w = &h->queues[draw_below(h->f, QUEUES)];
	uint32_t number = draw_below(h->f, 4) ? w->qpn : draw_below(h->f, EXRNIC_MAX_QP);
	uint64_t doorbell = number | (uint64_t)(w->posted + draw_below(h->f, 4)) << 32;
	volatile char *page = (volatile char *)w->page;
	uint32_t at =
		draw_below(h->f, 8) ? draw_below(h->f, 6) * 8 : draw_below(h->f, PAGE / 8) * 8;

	if (!draw_below(h->f, 8))
		doorbell = draw(h->f);
	w->posted = (uint32_t)(doorbell >> 32);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	switch (draw_below(h->f, 8)) {
	case 0:
		*(volatile uint32_t *)(page + at) = (uint32_t)doorbell;
		break;
	case 1:
		*(volatile uint16_t *)(page + at + 2) = (uint16_t)doorbell;
		break;
	case 2:
		page[at + 5] = (char)doorbell;
		break;
	default:
		*(volatile uint64_t *)(page + at) = doorbell;
	}
	__builtin_ia32_sfence();
}

static void store_pio_block(struct hostile *h)
{
	struct worker *w = &h->queues[draw_below(h->f, QUEUES)];
	uint32_t at =
		EXRNIC_PIO_AREA + draw_below(h->f, EXRNIC_PIO_BLOCKS) * sizeof(struct exrnic_wqe);
	struct exrnic_wqe wqe = draw_wqe(h);
	uint64_t words[sizeof(wqe) / sizeof(uint64_t)];

	wqe.number = draw_below(h->f, 4) ? w->qpn : draw_word(h->f);
	wqe.index = ++w->posted;
	memcpy(words, &wqe, sizeof(wqe));
	for (size_t i = 0; i < sizeof(wqe) / sizeof(uint64_t); i++)
		if (draw_below(h->f, 32))
			w->page[at / sizeof(uint64_t) + i] = words[i];
	__builtin_ia32_sfence();
}

/* Out of the error that it deserves. */
static void recover(struct hostile *h)
{
	struct worker *w = &h->queues[draw_below(h->f, QUEUES)];

	modify_qp(w->fd, w->qpn, EXRNIC_QP_STATE_RESET, 0, 0);
	modify_qp(w->fd, w->qpn, EXRNIC_QP_STATE_INIT, 0, 0);
	modify_qp(w->fd, w->qpn, EXRNIC_QP_STATE_RTR, ABSENT_NODE, 1);
	modify_qp(w->fd, w->qpn, EXRNIC_QP_STATE_RTS, 0, 0);
	w->posted = 0;
}

static void store_anything(struct fuzz *f, const struct bystander *b)
{
	struct hostile h = make_hostile(f, b);

	while (fuzz_goes_on(f)) {
		for (int i = 0; i < WORK_ROUNDS; i++)
			store_rings(&h);
		if (draw_below(f, 3))
			store_page(&h);
		else
			store_pio_block(&h);
		if (!draw_below(f, 4))
			recover(&h);
	}
}

static void stores_do_no_harm(void)
{
	struct bystander b = make_bystander();

	run_hostile(store_anything, &b);
	check_bystander(&b);
}

const struct test fuzz_rings_tests[] = {
	{ "whatever a process stores into its user page and rings harms no other",
	  stores_do_no_harm, 0 },
	{ NULL, NULL, 0 },
};
