// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Two queue pairs: one by which windows reach the peer, to which nothing is ever posted; and one for copies, see dma.c. A peer that
 * makes none is one that ours reaches all the same.
 */
#include <linux/dma-mapping.h>

#include "ntb.h"


static int exrnic_ntb_ring_create(struct exrnic_ntb_link *link, struct exrnic_ntb_ring *ring, size_t bytes)
{
	struct device *dev = exrnic_device_dma(link->edev);
	int err;

	ring->bytes = PAGE_ALIGN(bytes);
	ring->memory = dma_alloc_coherent(dev, ring->bytes, &ring->bus, GFP_KERNEL);
	if (!ring->memory)
		return -ENOMEM;
	err = exrnic_pbl_build_kernel(link->edev, &ring->pbl, ring->bus, 0, ring->bytes);
	if (err)
		dma_free_coherent(dev, ring->bytes, ring->memory, ring->bus);
	return err;
}

static void exrnic_ntb_ring_destroy(struct exrnic_ntb_link *link, struct exrnic_ntb_ring *ring)
{
	exrnic_pbl_free(link->edev, &ring->pbl);
	dma_free_coherent(exrnic_device_dma(link->edev), ring->bytes, ring->memory, ring->bus);
}

static int exrnic_ntb_rings_create(struct exrnic_ntb_link *link, struct exrnic_ntb_pair *pair, u32 log_slots)
{
	int err = exrnic_ntb_ring_create(link, &pair->cq_ring, sizeof(struct exrnic_cqe) << (log_slots + 1));

	if (err)
		return err;
	err = exrnic_ntb_ring_create(link, &pair->sq_ring, sizeof(struct exrnic_wqe) << log_slots);
	if (err)
		goto err_cq;
	err = exrnic_ntb_ring_create(link, &pair->rq_ring, sizeof(struct exrnic_wqe) << EXRNIC_RING_LOG_MIN);
	if (err)
		goto err_sq;
	return 0;

err_sq:
	exrnic_ntb_ring_destroy(link, &pair->sq_ring);
err_cq:
	exrnic_ntb_ring_destroy(link, &pair->cq_ring);
	return err;
}

static void exrnic_ntb_rings_destroy(struct exrnic_ntb_link *link, struct exrnic_ntb_pair *pair)
{
	exrnic_ntb_ring_destroy(link, &pair->rq_ring);
	exrnic_ntb_ring_destroy(link, &pair->sq_ring);
	exrnic_ntb_ring_destroy(link, &pair->cq_ring);
}

/* ---- The page of doorbells, and the domain */

int exrnic_ntb_queues_create(struct exrnic_ntb_link *link)
{
	struct exrnic_ntb_queues *queues = &link->queues;
	int err;

	queues->has_qps = false;
	err = exrnic_page_alloc(link->edev, &queues->page);
	if (err)
		return err;
	queues->user_page.mapped = exrnic_page_map(link->edev, queues->page);
	if (!queues->user_page.mapped) {
		err = -ENOMEM;
		goto err_page;
	}
	err = exrnic_pd_alloc(link->edev, &queues->pdn);
	if (err)
		goto err_map;
	return 0;

err_map:
	exrnic_page_unmap(queues->user_page.mapped);
err_page:
	exrnic_page_free(link->edev, queues->page);
	return err;
}

void exrnic_ntb_queues_destroy(struct exrnic_ntb_link *link)
{
	struct exrnic_ntb_queues *queues = &link->queues;

	exrnic_pd_free(link->edev, queues->pdn);
	exrnic_page_unmap(queues->user_page.mapped);
	exrnic_page_free(link->edev, queues->page);
}

/* ---- The queue pairs */

void exrnic_ntb_kick(struct exrnic_ntb_link *link)
{
	mod_delayed_work(system_unbound_wq, &link->work, 0);
}

static void exrnic_ntb_break(struct exrnic_ntb_link *link)
{
	WRITE_ONCE(link->broken, true);
	exrnic_ntb_kick(link);
}

static void exrnic_ntb_failed(struct exrnic_qp *qp, u32 cause)
{
	exrnic_ntb_break(container_of(qp, struct exrnic_ntb_pair, qp)->link);
}

static void exrnic_ntb_overrun(struct exrnic_cq *cq)
{
	exrnic_ntb_break(container_of(cq, struct exrnic_ntb_pair, cq)->link);
}

/* Of the windows', which is never armed. */
static bool exrnic_ntb_completion(struct exrnic_cq *cq)
{
	return false;
}

static int exrnic_ntb_cq_create(struct exrnic_ntb_link *link, struct exrnic_ntb_pair *pair, u32 log_entries)
{
	const struct exrnic_cq_attr attr = {
		.ring = &pair->cq_ring.pbl,
		.log_entries = log_entries,
		.page = link->queues.page,
		.comp_vector = EXRNIC_ANY_COMP_VECTOR,
	};
	int err;

	pair->cq.overrun = exrnic_ntb_overrun;
	err = exrnic_cq_create(link->edev, &pair->cq, &attr);
	if (err)
		return err;
	pair->completions = (struct exrnic_cq_ring){
		.entries = pair->cq_ring.memory,
		.num_entries = BIT(log_entries),
		.number = pair->cq.cqn,
	};
	return 0;
}

static int exrnic_ntb_qp_create(struct exrnic_ntb_link *link, struct exrnic_ntb_pair *pair, u32 log_slots)
{
	const struct exrnic_qp_attr attr = {
		.sq = &pair->sq_ring.pbl,
		.rq = &pair->rq_ring.pbl,
		.sq_log_slots = log_slots,
		.rq_log_slots = EXRNIC_RING_LOG_MIN,
		.srqn = EXRNIC_NO_SRQ,
		.page = link->queues.page,
		.pdn = link->queues.pdn,
		.send_cqn = pair->cq.cqn,
		.recv_cqn = pair->cq.cqn,
		.service = EXRNIC_SERVICE_RC,
		.qpn = EXRNIC_ANY_QPN,
		.max_reads_in = 1, /* a processor of the peer's has one load under way */
	};
	const struct exrnic_qp_modify modify = { .state = EXRNIC_QP_STATE_INIT };
	int err;

	pair->qp.failed = exrnic_ntb_failed;
	err = exrnic_qp_create(link->edev, &pair->qp, &attr);
	if (err)
		return err;
	err = exrnic_qp_modify(link->edev, &pair->qp, &modify);
	if (err)
		exrnic_qp_destroy(link->edev, &pair->qp);
	pair->sq.ring = (struct exrnic_ring){
		.slots = pair->sq_ring.memory,
		.num_slots = BIT(log_slots),
		.doorbell = EXRNIC_DOORBELL_SQ,
	};
	pair->sq.head = 0;
	return err;
}

static int exrnic_ntb_pair_create(struct exrnic_ntb_link *link, struct exrnic_ntb_pair *pair, u32 log_slots)
{
	int err = exrnic_ntb_rings_create(link, pair, log_slots);

	if (err)
		return err;
	pair->link = link;
	err = exrnic_ntb_cq_create(link, pair, log_slots + 1);
	if (err)
		goto err_rings;
	err = exrnic_ntb_qp_create(link, pair, log_slots);
	if (err)
		goto err_cq;
	return 0;

err_cq:
	exrnic_cq_destroy(link->edev, &pair->cq);
err_rings:
	exrnic_ntb_rings_destroy(link, pair);
	return err;
}

static void exrnic_ntb_pair_destroy(struct exrnic_ntb_link *link, struct exrnic_ntb_pair *pair)
{
	exrnic_qp_destroy(link->edev, &pair->qp);
	exrnic_cq_destroy(link->edev, &pair->cq);
	exrnic_ntb_rings_destroy(link, pair);
}

int exrnic_ntb_qps_create(struct exrnic_ntb_link *link)
{
	struct exrnic_ntb_queues *queues = &link->queues;
	int err;

	WRITE_ONCE(link->broken, false);
	queues->windows.cq.completion = exrnic_ntb_completion;
	err = exrnic_ntb_pair_create(link, &queues->windows, EXRNIC_RING_LOG_MIN);
	if (err)
		return err;
	queues->copies.cq.completion = queues->copied ?: exrnic_ntb_completion;
	queues->copies.sq.wr_ids = queues->copies_wr_ids;
	err = exrnic_ntb_pair_create(link, &queues->copies, EXRNIC_NTB_COPIES_LOG);
	if (err)
		exrnic_ntb_pair_destroy(link, &queues->windows);
	else
		queues->has_qps = true;
	return err;
}

static int exrnic_ntb_pair_connect(struct exrnic_ntb_link *link, struct exrnic_ntb_pair *pair, u32 peer_qpn)
{
	struct exrnic_qp_modify modify = {
		.state = EXRNIC_QP_STATE_RTR,
		.attributes = EXRNIC_QP_ATTRIBUTES_DEST,
		.dest_node = link->settings.peer_node,
		.dest_qpn = peer_qpn,
	};
	int err = exrnic_qp_modify(link->edev, &pair->qp, &modify);

	if (err)
		return err;
	modify = (struct exrnic_qp_modify){ .state = EXRNIC_QP_STATE_RTS };
	return exrnic_qp_modify(link->edev, &pair->qp, &modify);
}

int exrnic_ntb_qps_connect(struct exrnic_ntb_link *link, const struct exrnic_ntb_record *peer)
{
	int err = exrnic_ntb_pair_connect(link, &link->queues.windows, peer->qpn);

	return err ? err : exrnic_ntb_pair_connect(link, &link->queues.copies, peer->copies_qpn);
}

/* Together: the link's lock is held, and clients wait for it. */
static void exrnic_ntb_qps_stop(struct exrnic_ntb_link *link)
{
	struct exrnic_ntb_queues *queues = &link->queues;
	unsigned long deadline;

	exrnic_qp_begin_stop(link->edev, &queues->copies.qp);
	exrnic_qp_begin_stop(link->edev, &queues->windows.qp);
	deadline = exrnic_qp_stop_deadline(NULL);
	exrnic_qp_await_stop(link->edev, &queues->copies.qp, deadline);
	exrnic_qp_await_stop(link->edev, &queues->windows.qp, deadline);
}

void exrnic_ntb_qps_destroy(struct exrnic_ntb_link *link)
{
	if (!link->queues.has_qps)
		return;
	link->queues.has_qps = false;
	exrnic_ntb_qps_stop(link);
	exrnic_ntb_pair_destroy(link, &link->queues.copies);
	exrnic_ntb_pair_destroy(link, &link->queues.windows);
}
