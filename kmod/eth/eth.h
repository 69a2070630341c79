/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Ethernet interface of a device: one queue pair of datagrams, with one completion queue, which NAPI polls. The files of
 * this folder are floors: each uses those that Kbuild names before it only.
 *
 * Each slot of a work queue has a page of its own, for the bytes of the datagram that it sends or receives. So a receive is
 * posted again by telling the device of its slot, and what is sent is copied: no page is registered by the packet.
 *
 * RTNL is the lock of all but the data path: of what begins, ends and is attached. It lies inside the lock in which the core
 * tells of the device's lives.
 */
#ifndef EXRNIC_ETH_H
#define EXRNIC_ETH_H

#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/scatterlist.h>
#include <linux/workqueue.h>

#include "exrnic_compat.h"
#include "exrnic_core.h"
#include "exrnic_driver.h"
#include "exrnic_kernel_path.h"

#define EXRNIC_ETH_TX_LOG	8
#define EXRNIC_ETH_RX_LOG	9
/* For all that can be posted: see exrnic_cq_capacity(). */
#define EXRNIC_ETH_CQ_LOG	10
/* Datagrams of the longest frame, where the device's MTU is the least one. */
#define EXRNIC_ETH_PARTS_MAX	DIV_ROUND_UP(EXRNIC_ETHERNET_FRAME_MAX, EXRNIC_MTU_MIN)
/* Nodes whose frames of several parts can be under way at the same time. */
#define EXRNIC_ETH_PARTIALS	64

/* What is counted; ethtool shows all of it under these names. Each has one writer at a time, the sending or the receiving side. */
#define EXRNIC_ETH_COUNTERS_EACH(DO) \
	DO(rx_packets) \
	DO(rx_bytes) \
	DO(rx_multicast) \
	DO(rx_datagrams) \
	DO(rx_own)		/* of this node: multicast comes back to its sender */ \
	DO(rx_forged)		/* from a queue pair that is no interface's, or with another node's address as its source */ \
	DO(rx_malformed)	/* too short or too long, or a part that no frame has */ \
	DO(rx_incomplete)	/* a part of it is missing */ \
	DO(rx_no_memory) \
	DO(rx_errors)		/* the receive has failed, and not only because the queue pair had */ \
	DO(tx_packets) \
	DO(tx_bytes) \
	DO(tx_datagrams) \
	DO(tx_unknown)		/* to an address that is no node's */ \
	DO(tx_malformed)	/* too short or too long */ \
	DO(tx_errors) \
	DO(tx_stopped)		/* the send queue was full */ \
	DO(group_failures)	/* the device's table of attachments is full */ \
	DO(restarts)

struct exrnic_eth_counters {
#define EXRNIC_ETH_COUNTER(name) u64 name;
	EXRNIC_ETH_COUNTERS_EACH(EXRNIC_ETH_COUNTER)
#undef EXRNIC_ETH_COUNTER
};

/* A region that begins at 0, of pages that need not lie together. */
struct exrnic_eth_pages {
	struct page **pages;
	unsigned int count;
	struct sg_table sgt;
	struct exrnic_pbl pbl;
	struct exrnic_mr mr;
};

/* Coherent memory of a queue. */
struct exrnic_eth_ring {
	void *memory;
	dma_addr_t bus;
	size_t bytes;
	struct exrnic_pbl pbl;
};

/* All that exists while the interface is up. */
struct exrnic_eth_queues {
	u32 page;
	struct exrnic_user_page user_page;
	u32 pdn;
	struct exrnic_eth_pages tx_pages;	/* by slot */
	struct exrnic_eth_pages rx_pages;
	struct exrnic_eth_ring cq_ring;
	struct exrnic_eth_ring sq_ring;
	struct exrnic_eth_ring rq_ring;
	struct exrnic_cq cq;
	struct exrnic_qp qp;

	struct exrnic_cq_ring completions;
	struct exrnic_work_queue sq;		/* wr_id: the packet whose last part it is, or 0 */
	struct exrnic_work_queue rq;
	u64 sq_wr_ids[BIT(EXRNIC_ETH_TX_LOG)];
	u64 rq_wr_ids[BIT(EXRNIC_ETH_RX_LOG)];
};

/* A frame of which parts have come. */
struct exrnic_eth_partial {
	struct sk_buff *skb;	/* NULL: none */
	u32 node;
	u32 frame;		/* its number */
	u32 next;		/* the part that comes next */
	u32 bytes;		/* of all parts */
};

struct exrnic_eth {
	struct exrnic_client client;
	struct exrnic_device *edev;
	struct net_device *netdev;
	struct napi_struct napi;
	u32 node;
	u32 mtu;		/* bytes of a datagram */
	/* With RTNL. */
	bool alive;		/* the device is */
	bool started;		/* queues exist */
	u32 groups;		/* attached: BIT() of each of EXRNIC_ETHERNET_MULTICAST_GROUPS */

	struct work_struct work;
	bool broken;		/* the queue pair has failed: all is to begin anew */

	struct exrnic_eth_queues queues;
	u8 tx_frame;		/* number of the last frame of several parts */
	struct exrnic_eth_partial partials[EXRNIC_ETH_PARTIALS];
	unsigned int victim;	/* of these, that gives way next */
	struct exrnic_eth_counters counters;
};

/* ---- Pages of a region */

int exrnic_eth_pages_create(struct exrnic_eth *eth, struct exrnic_eth_pages *pages,
			    unsigned int count, u32 access);
void exrnic_eth_pages_destroy(struct exrnic_eth *eth, struct exrnic_eth_pages *pages);

static inline u8 *exrnic_eth_page(const struct exrnic_eth_pages *pages, u32 slot)
{
	return page_address(pages->pages[slot]);
}

/* ---- Queues: all or none */

/* In RTS, without a receive; nothing is armed. */
int exrnic_eth_queues_create(struct exrnic_eth *eth);
/* Nobody polls, and nobody sends. */
void exrnic_eth_queues_destroy(struct exrnic_eth *eth);

/* The queue pair has failed: all begins anew, by a thread that has RTNL. Any context. */
void exrnic_eth_break(struct exrnic_eth *eth);

/* ---- Groups */

/* Of a frame to that multicast address. */
u32 exrnic_eth_group_of(const u8 *address);
/* Attaches the queue pair to what its netdev listens to; -ENOSPC: to that of broadcasts it cannot. */
int exrnic_eth_groups_attach(struct exrnic_eth *eth);
/* As it listens now. The queue pair's end detaches all. */
void exrnic_eth_groups_update(struct exrnic_eth *eth);

/* ---- Sending */

netdev_tx_t exrnic_eth_xmit(struct sk_buff *skb, struct net_device *netdev);
void exrnic_eth_tx_completed(struct exrnic_eth *eth, const struct exrnic_cqe *cqe, int budget);
/* Forgets what was never completed. */
void exrnic_eth_tx_drop(struct exrnic_eth *eth);

/* ---- Receiving */

/* Posts all receives that there is room for, to a queue pair that takes them. */
void exrnic_eth_rx_fill(struct exrnic_eth *eth);
void exrnic_eth_rx_completed(struct exrnic_eth *eth, const struct exrnic_cqe *cqe);
/* Forgets frames that are not whole. */
void exrnic_eth_rx_drop(struct exrnic_eth *eth);

/* ---- Faces */

extern const struct ethtool_ops exrnic_eth_ethtool_ops;

/* The interface, on a device that need not be alive; nobody has seen it yet. */
struct exrnic_eth *exrnic_eth_create(struct exrnic_device *edev);
void exrnic_eth_free(struct exrnic_eth *eth);
int exrnic_eth_publish(struct exrnic_eth *eth);
void exrnic_eth_withdraw(struct exrnic_eth *eth);

#endif
