// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The objects of the device that an interface has while it is up. */
#include <linux/dma-mapping.h>

#include "eth.h"

/* ---- Memory of a queue */

static int exrnic_eth_ring_create(struct exrnic_eth *eth, struct exrnic_eth_ring *ring,
				  size_t bytes)
{
	struct device *dev = exrnic_device_dma(eth->edev);
	int err;

	ring->bytes = PAGE_ALIGN(bytes);
	ring->memory = dma_alloc_coherent(dev, ring->bytes, &ring->bus, GFP_KERNEL);
	if (!ring->memory)
		return -ENOMEM;
	err = exrnic_pbl_build_kernel(eth->edev, &ring->pbl, ring->bus, 0, ring->bytes);
	if (err)
		dma_free_coherent(dev, ring->bytes, ring->memory, ring->bus);
	return err;
}

static void exrnic_eth_ring_destroy(struct exrnic_eth *eth, struct exrnic_eth_ring *ring)
{
	exrnic_pbl_free(eth->edev, &ring->pbl);
	dma_free_coherent(exrnic_device_dma(eth->edev), ring->bytes, ring->memory, ring->bus);
}

/* ---- The page of doorbells */

static int exrnic_eth_page_create(struct exrnic_eth *eth)
{
	struct exrnic_eth_queues *queues = &eth->queues;
	int err = exrnic_page_alloc(eth->edev, &queues->page);

	if (err)
		return err;
	queues->user_page.mapped = exrnic_page_map(eth->edev, queues->page);
	if (queues->user_page.mapped)
		return 0;
	exrnic_page_free(eth->edev, queues->page);
	return -ENOMEM;
}

static void exrnic_eth_page_destroy(struct exrnic_eth *eth)
{
	exrnic_page_unmap(eth->queues.user_page.mapped);
	exrnic_page_free(eth->edev, eth->queues.page);
}

/* ---- The completion queue */

static bool exrnic_eth_completion(struct exrnic_cq *cq)
{
	napi_schedule(&container_of(cq, struct exrnic_eth, queues.cq)->napi);
	return true;
}

void exrnic_eth_break(struct exrnic_eth *eth)
{
	WRITE_ONCE(eth->broken, true);
	schedule_work(&eth->work);
}

/* There is room for all that can be posted: whatever has written more is no queue of ours. */
static void exrnic_eth_overrun(struct exrnic_cq *cq)
{
	exrnic_eth_break(container_of(cq, struct exrnic_eth, queues.cq));
}

static int exrnic_eth_cq_create(struct exrnic_eth *eth)
{
	struct exrnic_eth_queues *queues = &eth->queues;
	const struct exrnic_cq_attr attr = {
		.ring = &queues->cq_ring.pbl,
		.log_entries = EXRNIC_ETH_CQ_LOG,
		.page = queues->page,
		.comp_vector = EXRNIC_ANY_COMP_VECTOR,
	};
	int err;

	err = exrnic_eth_ring_create(eth, &queues->cq_ring,
				     sizeof(struct exrnic_cqe) << EXRNIC_ETH_CQ_LOG);
	if (err)
		return err;
	queues->cq.completion = exrnic_eth_completion;
	queues->cq.overrun = exrnic_eth_overrun;
	err = exrnic_cq_create(eth->edev, &queues->cq, &attr);
	if (err) {
		exrnic_eth_ring_destroy(eth, &queues->cq_ring);
		return err;
	}
	queues->completions = (struct exrnic_cq_ring){
		.entries = queues->cq_ring.memory,
		.num_entries = BIT(EXRNIC_ETH_CQ_LOG),
		.number = queues->cq.cqn,
	};
	return 0;
}

static void exrnic_eth_cq_destroy(struct exrnic_eth *eth)
{
	exrnic_cq_destroy(eth->edev, &eth->queues.cq);
	exrnic_eth_ring_destroy(eth, &eth->queues.cq_ring);
}

/* ---- The queue pair */

static void exrnic_eth_failed(struct exrnic_qp *qp, u32 cause)
{
	exrnic_eth_break(container_of(qp, struct exrnic_eth, queues.qp));
}

static void exrnic_eth_work_queue_init(struct exrnic_work_queue *queue,
				       const struct exrnic_eth_ring *ring, u32 log_slots,
				       u32 doorbell, u64 *wr_ids)
{
	*queue = (struct exrnic_work_queue){
		.ring = {
			.slots = ring->memory,
			.num_slots = BIT(log_slots),
			.doorbell = doorbell,
		},
		.wr_ids = wr_ids,
	};
}

static int exrnic_eth_qp_go(struct exrnic_eth *eth)
{
	struct exrnic_qp_modify modify = {
		.state = EXRNIC_QP_STATE_INIT,
		.attributes = EXRNIC_QP_ATTRIBUTES_QKEY | EXRNIC_QP_ATTRIBUTES_PKEY_INDEX,
		.qkey = EXRNIC_ETHERNET_QKEY,
	};
	int err = exrnic_qp_modify(eth->edev, &eth->queues.qp, &modify);

	if (err)
		return err;
	modify = (struct exrnic_qp_modify){ .state = EXRNIC_QP_STATE_RTR };
	err = exrnic_qp_modify(eth->edev, &eth->queues.qp, &modify);
	if (err)
		return err;
	modify.state = EXRNIC_QP_STATE_RTS;
	return exrnic_qp_modify(eth->edev, &eth->queues.qp, &modify);
}

static int exrnic_eth_qp_create_on_device(struct exrnic_eth *eth)
{
	struct exrnic_eth_queues *queues = &eth->queues;
	const struct exrnic_qp_attr attr = {
		.sq = &queues->sq_ring.pbl,
		.rq = &queues->rq_ring.pbl,
		.sq_log_slots = EXRNIC_ETH_TX_LOG,
		.rq_log_slots = EXRNIC_ETH_RX_LOG,
		.srqn = EXRNIC_NO_SRQ,
		.page = queues->page,
		.pdn = queues->pdn,
		.send_cqn = queues->cq.cqn,
		.recv_cqn = queues->cq.cqn,
		.service = EXRNIC_SERVICE_UD,
		.qpn = EXRNIC_ETHERNET_QPN,
	};
	int err;

	queues->qp.failed = exrnic_eth_failed;
	err = exrnic_qp_create(eth->edev, &queues->qp, &attr);
	if (err)
		return err;
	err = exrnic_eth_qp_go(eth);
	if (err)
		exrnic_qp_destroy(eth->edev, &queues->qp);
	return err;
}

static int exrnic_eth_qp_create(struct exrnic_eth *eth)
{
	struct exrnic_eth_queues *queues = &eth->queues;
	int err;

	err = exrnic_eth_ring_create(eth, &queues->sq_ring,
				     sizeof(struct exrnic_wqe) << EXRNIC_ETH_TX_LOG);
	if (err)
		return err;
	err = exrnic_eth_ring_create(eth, &queues->rq_ring,
				     sizeof(struct exrnic_wqe) << EXRNIC_ETH_RX_LOG);
	if (err)
		goto err_sq;
	exrnic_eth_work_queue_init(&queues->sq, &queues->sq_ring, EXRNIC_ETH_TX_LOG,
				   EXRNIC_DOORBELL_SQ, queues->sq_wr_ids);
	exrnic_eth_work_queue_init(&queues->rq, &queues->rq_ring, EXRNIC_ETH_RX_LOG,
				   EXRNIC_DOORBELL_RQ, queues->rq_wr_ids);
	err = exrnic_eth_qp_create_on_device(eth);
	if (err)
		goto err_rq;
	return 0;

err_rq:
	exrnic_eth_ring_destroy(eth, &queues->rq_ring);
err_sq:
	exrnic_eth_ring_destroy(eth, &queues->sq_ring);
	return err;
}

static void exrnic_eth_qp_destroy(struct exrnic_eth *eth)
{
	exrnic_qp_destroy(eth->edev, &eth->queues.qp);
	exrnic_eth_ring_destroy(eth, &eth->queues.rq_ring);
	exrnic_eth_ring_destroy(eth, &eth->queues.sq_ring);
}

/* ---- All of it */

static int exrnic_eth_memory_create(struct exrnic_eth *eth)
{
	struct exrnic_eth_queues *queues = &eth->queues;
	int err = exrnic_pd_alloc(eth->edev, &queues->pdn);

	BUILD_BUG_ON(PAGE_SIZE < EXRNIC_MTU_MAX);
	if (err)
		return err;
	err = exrnic_eth_pages_create(eth, &queues->tx_pages, BIT(EXRNIC_ETH_TX_LOG), 0);
	if (err)
		goto err_pd;
	err = exrnic_eth_pages_create(eth, &queues->rx_pages, BIT(EXRNIC_ETH_RX_LOG),
				      EXRNIC_ACCESS_LOCAL_WRITE);
	if (err)
		goto err_tx;
	return 0;

err_tx:
	exrnic_eth_pages_destroy(eth, &queues->tx_pages);
err_pd:
	exrnic_pd_free(eth->edev, queues->pdn);
	return err;
}

static void exrnic_eth_memory_destroy(struct exrnic_eth *eth)
{
	exrnic_eth_pages_destroy(eth, &eth->queues.rx_pages);
	exrnic_eth_pages_destroy(eth, &eth->queues.tx_pages);
	exrnic_pd_free(eth->edev, eth->queues.pdn);
}

int exrnic_eth_queues_create(struct exrnic_eth *eth)
{
	int err = exrnic_eth_page_create(eth);

	if (err)
		return err;
	err = exrnic_eth_memory_create(eth);
	if (err)
		goto err_page;
	err = exrnic_eth_cq_create(eth);
	if (err)
		goto err_memory;
	err = exrnic_eth_qp_create(eth);
	if (err)
		goto err_cq;
	return 0;

err_cq:
	exrnic_eth_cq_destroy(eth);
err_memory:
	exrnic_eth_memory_destroy(eth);
err_page:
	exrnic_eth_page_destroy(eth);
	return err;
}

void exrnic_eth_queues_destroy(struct exrnic_eth *eth)
{
	exrnic_eth_qp_destroy(eth);
	exrnic_eth_cq_destroy(eth);
	exrnic_eth_memory_destroy(eth);
	exrnic_eth_page_destroy(eth);
}
