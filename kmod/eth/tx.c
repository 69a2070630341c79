// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sending: each part of a frame is copied into the page of a free slot. The packet is kept until the device has sent it, so
 * that those who count what is under way (byte queue limits, TCP) know.
 */
#include "eth.h"

/* Slots that the longest frame takes. */
static u32 exrnic_eth_tx_most(const struct exrnic_eth *eth)
{
	return DIV_ROUND_UP(EXRNIC_ETHERNET_FRAME_MAX, eth->mtu);
}

/* As a work request has it. False: the address is that of no other node. */
static bool exrnic_eth_tx_destination(const struct exrnic_eth *eth, const u8 *address, u64 *to)
{
	u32 node;

	if (is_multicast_ether_addr(address)) {
		*to = EXRNIC_GROUP_QPN + exrnic_eth_group_of(address);
		return true;
	}
	node = address[4] << 8 | address[5];
	*to = (u64)node << EXRNIC_DATAGRAM_NODE_SHIFT | EXRNIC_ETHERNET_QPN;
	return !memcmp(address, eth->netdev->dev_addr, 4) && node != READ_ONCE(eth->node) &&
	       node < exrnic_device_limits(eth->edev)->node;
}

/* From that byte on; how many it has. The last part completes for all, and has the packet. */
static u32 exrnic_eth_tx_part(struct exrnic_eth *eth, struct sk_buff *skb, u32 offset, u64 to)
{
	struct exrnic_eth_queues *queues = &eth->queues;
	const u32 slot = exrnic_ring_slot(&queues->sq.ring, exrnic_ring_posted(&queues->sq.ring));
	const u32 bytes = min(skb->len - offset, eth->mtu);
	const bool last = offset + bytes == skb->len;
	struct exrnic_work request;

	skb_copy_bits(skb, offset, exrnic_eth_page(&queues->tx_pages, slot), bytes);
	request.head = (struct exrnic_wqe){
		.opcode = EXRNIC_WQE_OPCODE_SEND,
		.flags = last ? EXRNIC_WQE_FLAGS_SIGNALED : 0,
		.num_sge = 1,
		.num_slots = 1,
		.remote_to = cpu_to_le64(to),
		.remote_stag = cpu_to_le32(EXRNIC_ETHERNET_QKEY),
		.length = cpu_to_le32(bytes),
		.sge0_address = cpu_to_le64((u64)slot * PAGE_SIZE),
		.sge0_length = cpu_to_le32(bytes),
		.sge0_stag = cpu_to_le32(queues->tx_pages.mr.stag),
	};
	if (skb->len > eth->mtu) {
		request.head.opcode = EXRNIC_WQE_OPCODE_SEND_IMM;
		request.head.imm_data =
			cpu_to_le32((u32)eth->tx_frame << EXRNIC_ETHERNET_PART_FRAME_SHIFT |
				    offset / eth->mtu << EXRNIC_ETHERNET_PART_INDEX_SHIFT | skb->len);
	}
	exrnic_work_queue_put(&queues->sq, &request, 1, last ? (uintptr_t)skb : 0);
	eth->counters.tx_datagrams++;
	return bytes;
}

static void exrnic_eth_tx_post(struct exrnic_eth *eth, struct sk_buff *skb, u64 to)
{
	u32 offset = 0;

	eth->tx_frame++;
	/* None of it completes before the device is told of it: the packet is there until then. */
	while (offset < skb->len)
		offset += exrnic_eth_tx_part(eth, skb, offset, to);
	eth->counters.tx_packets++;
	eth->counters.tx_bytes += skb->len;
}

/* Who completes looks whether the queue is stopped behind having made room; here it is the other way round. */
static void exrnic_eth_tx_stop_if_full(struct exrnic_eth *eth)
{
	if (exrnic_work_queue_has_room(&eth->queues.sq, exrnic_eth_tx_most(eth)))
		return;
	netif_stop_queue(eth->netdev);
	eth->counters.tx_stopped++;
	smp_mb();
	if (exrnic_work_queue_has_room(&eth->queues.sq, exrnic_eth_tx_most(eth)))
		netif_start_queue(eth->netdev);
}

static void exrnic_eth_tx_announce(struct exrnic_eth *eth)
{
	exrnic_ring_announce(&eth->queues.sq.ring, &eth->queues.user_page, EXRNIC_ETHERNET_QPN);
}

/* Those before it may wait to be told of. */
static netdev_tx_t exrnic_eth_tx_refuse(struct exrnic_eth *eth, struct sk_buff *skb, u64 *counter)
{
	(*counter)++;
	dev_kfree_skb_any(skb);
	if (!netdev_xmit_more())
		exrnic_eth_tx_announce(eth);
	return NETDEV_TX_OK;
}

netdev_tx_t exrnic_eth_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	struct exrnic_eth *eth = netdev_priv(netdev);
	const u32 bytes = skb->len;
	bool announce;
	u64 to;

	if (bytes < ETH_HLEN || bytes > EXRNIC_ETHERNET_FRAME_MAX)
		return exrnic_eth_tx_refuse(eth, skb, &eth->counters.tx_malformed);
	if (!exrnic_eth_tx_destination(eth, skb->data, &to))
		return exrnic_eth_tx_refuse(eth, skb, &eth->counters.tx_unknown);
	if (!exrnic_work_queue_has_room(&eth->queues.sq, exrnic_eth_tx_most(eth)))
		return NETDEV_TX_BUSY;
	skb_tx_timestamp(skb);
	exrnic_eth_tx_post(eth, skb, to);
	announce = __netdev_sent_queue(netdev, bytes, netdev_xmit_more());
	exrnic_eth_tx_stop_if_full(eth);
	if (announce || netif_queue_stopped(netdev))
		exrnic_eth_tx_announce(eth);
	return NETDEV_TX_OK;
}

/* ---- What has been sent */

/* The packets of the slots up to that one, in which nothing is posted until the head moves. */
static void exrnic_eth_tx_free(struct exrnic_eth *eth, u16 index, int budget)
{
	struct exrnic_work_queue *sq = &eth->queues.sq;
	unsigned int packets = 0, bytes = 0;
	struct sk_buff *skb;
	u16 at = sq->head;

	for (; at != (u16)(index + 1); at++) {
		skb = (struct sk_buff *)(uintptr_t)sq->wr_ids[exrnic_ring_slot(&sq->ring, at)];
		if (!skb)
			continue;
		packets++;
		bytes += skb->len;
		napi_consume_skb(skb, budget);
	}
	netdev_completed_queue(eth->netdev, packets, bytes);
}

static bool exrnic_eth_tx_is_outstanding(const struct exrnic_work_queue *sq, u16 index)
{
	const u16 outstanding = EXRNIC_DP_LOAD_ACQUIRE(&sq->ring.tail) - sq->head;

	return (u16)(index - sq->head) < outstanding;
}

void exrnic_eth_tx_completed(struct exrnic_eth *eth, const struct exrnic_cqe *cqe, int budget)
{
	struct exrnic_work_queue *sq = &eth->queues.sq;
	const u16 index = le16_to_cpu(cqe->wqe_index);
	u64 wr_id;

	if (!exrnic_eth_tx_is_outstanding(sq, index))
		return;
	if (cqe->status != EXRNIC_CQE_STATUS_SUCCESS)
		eth->counters.tx_errors++;
	exrnic_eth_tx_free(eth, index, budget);
	exrnic_work_queue_complete(sq, index, &wr_id);
	smp_mb();
	if (netif_queue_stopped(eth->netdev) &&
	    exrnic_work_queue_has_room(sq, exrnic_eth_tx_most(eth)))
		netif_wake_queue(eth->netdev);
}

void exrnic_eth_tx_drop(struct exrnic_eth *eth)
{
	struct exrnic_work_queue *sq = &eth->queues.sq;

	exrnic_eth_tx_free(eth, sq->ring.tail - 1, 0);
	sq->head = sq->ring.tail;
	netdev_reset_queue(eth->netdev);
}
