// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Receiving. The device tells who has sent a datagram: what does not come from an interface, or has another node's address as
 * its source, is dropped. Frames of several parts are put together for each sender; the datagrams of one come in order, unless the
 * network loses or reorders them, and then the frame is lost.
 */
#include "eth.h"

struct exrnic_eth_datagram {
	const u8 *data;
	u32 bytes;
	u32 node;
	bool is_part;
	u32 part;
};

static struct exrnic_eth_datagram exrnic_eth_rx_read(const struct exrnic_eth *eth,
						     const struct exrnic_cqe *cqe)
{
	const u32 slot = exrnic_ring_slot(&eth->queues.rq.ring, le16_to_cpu(cqe->wqe_index));

	return (struct exrnic_eth_datagram){
		.data = exrnic_eth_page(&eth->queues.rx_pages, slot),
		.bytes = min_t(u32, le32_to_cpu(cqe->byte_length), PAGE_SIZE),
		.node = le32_to_cpu(cqe->detail) >> EXRNIC_SENDER_NODE_SHIFT,
		.is_part = cqe->flags & EXRNIC_CQE_FLAGS_IMM,
		.part = le32_to_cpu(cqe->imm_data),
	};
}

static u32 exrnic_eth_rx_sender_qpn(const struct exrnic_cqe *cqe)
{
	return le32_to_cpu(cqe->detail) & GENMASK(EXRNIC_SENDER_NODE_SHIFT - 1, 0);
}

/* ---- A whole frame */

/* Nobody has another node's address. */
static bool exrnic_eth_rx_is_of(const struct exrnic_eth *eth, const struct ethhdr *header, u32 node)
{
	return !memcmp(header->h_source, eth->netdev->dev_addr, 4) &&
	       (header->h_source[4] << 8 | header->h_source[5]) == node;
}

static void exrnic_eth_rx_deliver(struct exrnic_eth *eth, struct sk_buff *skb, u32 node)
{
	struct exrnic_eth_counters *counters = &eth->counters;

	if (!exrnic_eth_rx_is_of(eth, (const struct ethhdr *)skb->data, node)) {
		counters->rx_forged++;
		dev_kfree_skb_any(skb);
		return;
	}
	counters->rx_packets++;
	counters->rx_bytes += skb->len;
	counters->rx_multicast += is_multicast_ether_addr(skb->data);
	skb->protocol = eth_type_trans(skb, eth->netdev);
	napi_gro_receive(&eth->napi, skb);
}

/* Of that frame, with the bytes that are there. NULL: it is counted why. */
static struct sk_buff *exrnic_eth_rx_begin(struct exrnic_eth *eth,
					   const struct exrnic_eth_datagram *datagram, u32 bytes)
{
	struct sk_buff *skb;

	if (datagram->bytes < ETH_HLEN || datagram->bytes > bytes ||
	    bytes > EXRNIC_ETHERNET_FRAME_MAX) {
		eth->counters.rx_malformed++;
		return NULL;
	}
	skb = napi_alloc_skb(&eth->napi, bytes);
	if (!skb) {
		eth->counters.rx_no_memory++;
		return NULL;
	}
	skb_put_data(skb, datagram->data, datagram->bytes);
	return skb;
}

static void exrnic_eth_rx_whole(struct exrnic_eth *eth, const struct exrnic_eth_datagram *datagram)
{
	struct sk_buff *skb = exrnic_eth_rx_begin(eth, datagram, datagram->bytes);

	if (skb)
		exrnic_eth_rx_deliver(eth, skb, datagram->node);
}

/* ---- A part of a frame */

static struct exrnic_eth_partial *exrnic_eth_rx_find(struct exrnic_eth *eth, u32 node)
{
	unsigned int i;

	for (i = 0; i < EXRNIC_ETH_PARTIALS; i++)
		if (eth->partials[i].skb && eth->partials[i].node == node)
			return &eth->partials[i];
	return NULL;
}

static void exrnic_eth_rx_give_up(struct exrnic_eth *eth, struct exrnic_eth_partial *partial)
{
	if (!partial || !partial->skb)
		return;
	eth->counters.rx_incomplete++;
	dev_kfree_skb_any(partial->skb);
	partial->skb = NULL;
}

/* A place for a frame; where all are taken, another one is lost. */
static struct exrnic_eth_partial *exrnic_eth_rx_place(struct exrnic_eth *eth)
{
	struct exrnic_eth_partial *partial;
	unsigned int i;

	for (i = 0; i < EXRNIC_ETH_PARTIALS; i++)
		if (!eth->partials[i].skb)
			return &eth->partials[i];
	partial = &eth->partials[eth->victim];
	eth->victim = (eth->victim + 1) % EXRNIC_ETH_PARTIALS;
	exrnic_eth_rx_give_up(eth, partial);
	return partial;
}

static void exrnic_eth_rx_first(struct exrnic_eth *eth, const struct exrnic_eth_datagram *datagram)
{
	const u32 bytes = datagram->part & EXRNIC_ETHERNET_PART_BYTES;
	struct sk_buff *skb;

	if (datagram->bytes == bytes) {
		eth->counters.rx_malformed++;
		return;
	}
	skb = exrnic_eth_rx_begin(eth, datagram, bytes);
	if (!skb)
		return;
	*exrnic_eth_rx_place(eth) = (struct exrnic_eth_partial){
		.skb = skb,
		.node = datagram->node,
		.frame = datagram->part >> EXRNIC_ETHERNET_PART_FRAME_SHIFT,
		.next = 1,
		.bytes = bytes,
	};
}

/* Whether it is the part that comes next, and fits. */
static bool exrnic_eth_rx_fits(const struct exrnic_eth_partial *partial,
			       const struct exrnic_eth_datagram *datagram)
{
	const u32 expected = partial->frame << EXRNIC_ETHERNET_PART_FRAME_SHIFT |
			     partial->next << EXRNIC_ETHERNET_PART_INDEX_SHIFT | partial->bytes;

	return datagram->part == expected && datagram->bytes <= partial->bytes - partial->skb->len;
}

static void exrnic_eth_rx_more(struct exrnic_eth *eth, struct exrnic_eth_partial *partial,
			       const struct exrnic_eth_datagram *datagram)
{
	struct sk_buff *skb;

	/* Of one whose begin is lost: it has been counted, or is none. */
	if (!partial)
		return;
	if (!exrnic_eth_rx_fits(partial, datagram)) {
		exrnic_eth_rx_give_up(eth, partial);
		return;
	}
	skb = partial->skb;
	skb_put_data(skb, datagram->data, datagram->bytes);
	partial->next++;
	if (skb->len < partial->bytes)
		return;
	partial->skb = NULL;
	exrnic_eth_rx_deliver(eth, skb, partial->node);
}

static void exrnic_eth_rx_part(struct exrnic_eth *eth, const struct exrnic_eth_datagram *datagram)
{
	struct exrnic_eth_partial *partial = exrnic_eth_rx_find(eth, datagram->node);

	if ((datagram->part >> EXRNIC_ETHERNET_PART_INDEX_SHIFT & 0xff) == 0) {
		exrnic_eth_rx_give_up(eth, partial);
		exrnic_eth_rx_first(eth, datagram);
	} else {
		exrnic_eth_rx_more(eth, partial, datagram);
	}
}

void exrnic_eth_rx_drop(struct exrnic_eth *eth)
{
	unsigned int i;

	for (i = 0; i < EXRNIC_ETH_PARTIALS; i++)
		exrnic_eth_rx_give_up(eth, &eth->partials[i]);
}

/* ---- A receive */

void exrnic_eth_rx_fill(struct exrnic_eth *eth)
{
	struct exrnic_eth_queues *queues = &eth->queues;
	struct exrnic_work request;
	bool posted = false;
	u32 slot;

	if (READ_ONCE(eth->broken))
		return;
	while (exrnic_work_queue_has_room(&queues->rq, 1)) {
		slot = exrnic_ring_slot(&queues->rq.ring, exrnic_ring_posted(&queues->rq.ring));
		request.head = (struct exrnic_wqe){
			.opcode = EXRNIC_WQE_OPCODE_RECV,
			.num_sge = 1,
			.num_slots = 1,
			.length = cpu_to_le32(EXRNIC_MTU_MAX),
			.sge0_address = cpu_to_le64((u64)slot * PAGE_SIZE),
			.sge0_length = cpu_to_le32(EXRNIC_MTU_MAX),
			.sge0_stag = cpu_to_le32(queues->rx_pages.mr.stag),
		};
		exrnic_work_queue_put(&queues->rq, &request, 1, 0);
		posted = true;
	}
	if (posted)
		exrnic_ring_announce(&queues->rq.ring, &queues->user_page, EXRNIC_ETHERNET_QPN);
}

/* It was the first, and ends the queue pair; or is one that it held then, or that was posted before this was known. */
static void exrnic_eth_rx_failed(struct exrnic_eth *eth, u8 status)
{
	if (status != EXRNIC_CQE_STATUS_WR_FLUSH_ERR)
		eth->counters.rx_errors++;
	if (!READ_ONCE(eth->broken))
		exrnic_eth_break(eth);
}

void exrnic_eth_rx_completed(struct exrnic_eth *eth, const struct exrnic_cqe *cqe)
{
	struct exrnic_eth_counters *counters = &eth->counters;
	struct exrnic_eth_datagram datagram;
	u64 wr_id;

	if (!exrnic_work_queue_complete(&eth->queues.rq, le16_to_cpu(cqe->wqe_index), &wr_id))
		return;
	if (cqe->status != EXRNIC_CQE_STATUS_SUCCESS) {
		exrnic_eth_rx_failed(eth, cqe->status);
		return;
	}
	counters->rx_datagrams++;
	datagram = exrnic_eth_rx_read(eth, cqe);
	if (exrnic_eth_rx_sender_qpn(cqe) != EXRNIC_ETHERNET_QPN)
		counters->rx_forged++;
	else if (datagram.node == READ_ONCE(eth->node))
		counters->rx_own++;
	else if (datagram.is_part)
		exrnic_eth_rx_part(eth, &datagram);
	else
		exrnic_eth_rx_whole(eth, &datagram);
}
