// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The queue pair by which windows reach the peer: nothing is ever posted to it. */
#include <linux/dma-mapping.h>

#include "ntb.h"

#define EXRNIC_NTB_RING_LOG EXRNIC_RING_LOG_MIN

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

static int exrnic_ntb_rings_create(struct exrnic_ntb_link *link)
{
	struct exrnic_ntb_queues *queues = &link->queues;
	int err;

	err = exrnic_ntb_ring_create(link, &queues->cq_ring, sizeof(struct exrnic_cqe) << EXRNIC_NTB_RING_LOG);
	if (err)
		return err;
	err = exrnic_ntb_ring_create(link, &queues->sq_ring, sizeof(struct exrnic_wqe) << EXRNIC_NTB_RING_LOG);
	if (err)
		goto err_cq;
	err = exrnic_ntb_ring_create(link, &queues->rq_ring, sizeof(struct exrnic_wqe) << EXRNIC_NTB_RING_LOG);
	if (err)
		goto err_sq;
	return 0;

err_sq:
	exrnic_ntb_ring_destroy(link, &queues->sq_ring);
err_cq:
	exrnic_ntb_ring_destroy(link, &queues->cq_ring);
	return err;
}

static void exrnic_ntb_rings_destroy(struct exrnic_ntb_link *link)
{
	exrnic_ntb_ring_destroy(link, &link->queues.rq_ring);
	exrnic_ntb_ring_destroy(link, &link->queues.sq_ring);
	exrnic_ntb_ring_destroy(link, &link->queues.cq_ring);
}

/* It is never armed. */
static bool exrnic_ntb_completion(struct exrnic_cq *cq)
{
	return false;
}

static void exrnic_ntb_overrun(struct exrnic_cq *cq)
{
}

static int exrnic_ntb_cq_create(struct exrnic_ntb_link *link)
{
	struct exrnic_ntb_queues *queues = &link->queues;
	const struct exrnic_cq_attr attr = {
		.ring = &queues->cq_ring.pbl,
		.log_entries = EXRNIC_NTB_RING_LOG,
		.page = queues->page,
		.comp_vector = EXRNIC_ANY_COMP_VECTOR,
	};

	queues->cq.completion = exrnic_ntb_completion;
	queues->cq.overrun = exrnic_ntb_overrun;
	return exrnic_cq_create(link->edev, &queues->cq, &attr);
}

int exrnic_ntb_queues_create(struct exrnic_ntb_link *link)
{
	struct exrnic_ntb_queues *queues = &link->queues;
	int err;

	queues->has_qp = false;
	err = exrnic_page_alloc(link->edev, &queues->page);
	if (err)
		return err;
	err = exrnic_pd_alloc(link->edev, &queues->pdn);
	if (err)
		goto err_page;
	err = exrnic_ntb_rings_create(link);
	if (err)
		goto err_pd;
	err = exrnic_ntb_cq_create(link);
	if (err)
		goto err_rings;
	return 0;

err_rings:
	exrnic_ntb_rings_destroy(link);
err_pd:
	exrnic_pd_free(link->edev, queues->pdn);
err_page:
	exrnic_page_free(link->edev, queues->page);
	return err;
}

void exrnic_ntb_queues_destroy(struct exrnic_ntb_link *link)
{
	struct exrnic_ntb_queues *queues = &link->queues;

	exrnic_cq_destroy(link->edev, &queues->cq);
	exrnic_ntb_rings_destroy(link);
	exrnic_pd_free(link->edev, queues->pdn);
	exrnic_page_free(link->edev, queues->page);
}

/* ---- The queue pair */

void exrnic_ntb_kick(struct exrnic_ntb_link *link)
{
	mod_delayed_work(system_unbound_wq, &link->work, 0);
}

static void exrnic_ntb_failed(struct exrnic_qp *qp, u32 cause)
{
	struct exrnic_ntb_link *link = container_of(qp, struct exrnic_ntb_link, queues.qp);

	WRITE_ONCE(link->broken, true);
	exrnic_ntb_kick(link);
}

static int exrnic_ntb_qp_init(struct exrnic_ntb_link *link)
{
	const struct exrnic_qp_modify modify = { .state = EXRNIC_QP_STATE_INIT };

	return exrnic_qp_modify(link->edev, &link->queues.qp, &modify);
}

int exrnic_ntb_qp_create(struct exrnic_ntb_link *link)
{
	struct exrnic_ntb_queues *queues = &link->queues;
	const struct exrnic_qp_attr attr = {
		.sq = &queues->sq_ring.pbl,
		.rq = &queues->rq_ring.pbl,
		.sq_log_slots = EXRNIC_NTB_RING_LOG,
		.rq_log_slots = EXRNIC_NTB_RING_LOG,
		.srqn = EXRNIC_NO_SRQ,
		.page = queues->page,
		.pdn = queues->pdn,
		.send_cqn = queues->cq.cqn,
		.recv_cqn = queues->cq.cqn,
		.service = EXRNIC_SERVICE_RC,
		.qpn = EXRNIC_ANY_QPN,
		.max_reads_in = 1,	/* a processor of the peer's has one load under way */
	};
	int err;

	queues->qp.failed = exrnic_ntb_failed;
	WRITE_ONCE(link->broken, false);
	err = exrnic_qp_create(link->edev, &queues->qp, &attr);
	if (err)
		return err;
	err = exrnic_ntb_qp_init(link);
	if (err)
		exrnic_qp_destroy(link->edev, &queues->qp);
	else
		queues->has_qp = true;
	return err;
}

int exrnic_ntb_qp_connect(struct exrnic_ntb_link *link, u32 peer_qpn)
{
	struct exrnic_qp_modify modify = {
		.state = EXRNIC_QP_STATE_RTR,
		.attributes = EXRNIC_QP_ATTRIBUTES_DEST,
		.dest_node = link->settings.peer_node,
		.dest_qpn = peer_qpn,
	};
	int err = exrnic_qp_modify(link->edev, &link->queues.qp, &modify);

	if (err)
		return err;
	modify = (struct exrnic_qp_modify){ .state = EXRNIC_QP_STATE_RTS };
	return exrnic_qp_modify(link->edev, &link->queues.qp, &modify);
}

void exrnic_ntb_qp_destroy(struct exrnic_ntb_link *link)
{
	if (!link->queues.has_qp)
		return;
	link->queues.has_qp = false;
	exrnic_qp_destroy(link->edev, &link->queues.qp);
}
