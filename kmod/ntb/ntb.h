/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A link of Linux's NTB: a pair of ports of this node, joined to a pair of ports of another one. The files of this folder are
 * floors: each uses those that Kbuild names before it only.
 *
 * The even port is the clients': its doorbell bits and scratchpads are what they see. By the odd one the two drivers agree. What
 * a driver has to say stands in the scratchpads of its own odd port, the record (record.c), and the bell tells that it has changed.
 * Stores and loads of windows go by a queue pair of their own, which is made anew whenever the ports have found each other, or
 * one of the two has failed.
 *
 * Locks, outermost first: that in which the core tells of the device's lives; windows_lock (clients that set translations),
 * lock (all of the session), and in any context bells_lock and spads_lock, then those of ports. The clients' own come behind lock.
 */
#ifndef EXRNIC_NTB_H
#define EXRNIC_NTB_H

#include <linux/interrupt.h>
#include <linux/mutex.h>
#include <linux/ntb.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "exrnic_compat.h"
#include "exrnic_core.h"
#include "exrnic_kernel_path.h"

#define EXRNIC_NTB_LINKS	(EXRNIC_PORTS / 2)
/* Of a link. */
#define EXRNIC_NTB_PORTS(link)	(BIT(2 * (link)) | BIT(2 * (link) + 1))
#define EXRNIC_NTB_WINDOWS_MAX	6
/* log2 of copies under way. */
#define EXRNIC_NTB_COPIES_LOG	8

/* The core's name of a device is that of its PCI function: there is one link of each, so one peer, of this index. */
#define EXRNIC_NTB_PEER		NTB_DEF_PEER_IDX

/* What the administrator says. */
struct exrnic_ntb_settings {
	u32 link;		/* of this node: below EXRNIC_NTB_LINKS */
	u32 peer_node;
	u32 peer_link;
	u32 windows;		/* 1 to EXRNIC_NTB_WINDOWS_MAX */
	u64 window_bytes;	/* of each; a multiple of the device's windows */
};

/* ---- What the two drivers tell each other */

/* Of a window: the memory that it shows. */
struct exrnic_ntb_place {
	u32 stag;
	u32 pages;		/* of 4 KiB; 0: none */
};

/* What one side says. It stands in EXRNIC_PORT_SPADS scratchpads, see record.c. */
struct exrnic_ntb_record {
	u16 seq;		/* even; another one whenever something else is said */
	u32 qpn;		/* queue pair of the windows; 0: none */
	u32 copies_qpn;		/* that of copies */
	u32 peer_qpn;		/* to which it is connected; 0: none yet */
	bool enabled;		/* a client wants the link */
	bool ready;		/* the clients' port is up, with the scratchpads that were written before */
	bool up;		/* clients have been told that the link is up */
	struct exrnic_ntb_place places[EXRNIC_NTB_WINDOWS_MAX];
};

/* ---- What a link has of the device */

/* A ring of a queue, in coherent memory. */
struct exrnic_ntb_ring {
	void *memory;
	dma_addr_t bus;
	size_t bytes;
	struct exrnic_pbl pbl;
};

/* A queue pair, and what it needs: all of it as long as the session. */
struct exrnic_ntb_pair {
	struct exrnic_ntb_link *link;
	struct exrnic_ntb_ring cq_ring;
	struct exrnic_ntb_ring sq_ring;
	struct exrnic_ntb_ring rq_ring;
	struct exrnic_cq cq;
	struct exrnic_qp qp;
	struct exrnic_cq_ring completions;
	struct exrnic_work_queue sq;
};

struct exrnic_ntb_queues {
	u32 page;
	struct exrnic_user_page user_page;
	u32 pdn;
	bool has_qps;
	struct exrnic_ntb_pair windows;
	struct exrnic_ntb_pair copies;
	u64 copies_wr_ids[BIT(EXRNIC_NTB_COPIES_LOG)];
	bool (*copied)(struct exrnic_cq *cq);	/* of dma.c, if the kernel has a DMA engine */
};

/* A slice of BAR 4, for the clients: as long as the link. */
struct exrnic_ntb_outbound {
	struct exrnic_window window;
	struct exrnic_ntb_place place;	/* what it shows */
};

/* Memory that the peer's window of this number shows. */
struct exrnic_ntb_inbound {
	dma_addr_t bus;
	u64 bytes;		/* 0: none */
	bool withdrawn;		/* nobody is told of it any more */
	bool registered;
	struct exrnic_pbl pbl;
	struct exrnic_mr mr;
};

struct exrnic_ntb_dma;

struct exrnic_ntb_link {
	struct ntb_dev ntb;
	struct exrnic_client client;
	struct exrnic_device *edev;
	struct exrnic_ntb_settings settings;
	u32 node;

	struct exrnic_port bells_port;		/* the clients' */
	struct exrnic_port control_port;

	struct mutex windows_lock;		/* one client at a time sets a translation */
	struct mutex lock;			/* of all until the next comment */
	bool wanted;				/* the device lives */
	bool alive;				/* and the queues are there */
	bool met;				/* the odd ports have found each other */
	bool enabled;
	struct exrnic_ntb_queues queues;
	u32 peer_qpn;				/* to which the queue pair is connected; 0: none */
	struct exrnic_ntb_record record;	/* as it was told last */
	u32 told[EXRNIC_PORT_SPADS];		/* and stands in the scratchpads: */
	unsigned long told_words;		/* these */
	u16 followed_seq;			/* of the peer's record that was followed last; 0: none */
	struct exrnic_ntb_outbound out[EXRNIC_NTB_WINDOWS_MAX];
	struct exrnic_ntb_inbound in[EXRNIC_NTB_WINDOWS_MAX];
	unsigned long not_before;		/* the next queue pair, or change of windows, in jiffies */
	unsigned long pause;			/* and the one behind it so long later */
	unsigned long calm_since;		/* the last one, or since the link is up */
	unsigned long up_since;			/* if it is up */
	unsigned long not_up_before;		/* if it is down, in jiffies */
	unsigned long down_pause;		/* so long the link is down the next time, or longer */

	struct exrnic_ntb_dma *dma;		/* NULL: the kernel has no DMA engine */

	bool up;				/* as clients see it; read without the lock */
	bool broken;				/* the queue pair has failed; set without the lock */
	u16 followed;				/* by the peer: what was told up to this number; read without the lock */
	wait_queue_head_t wait;			/* for that */
	struct delayed_work work;
	struct delayed_work reopen;		/* of queues and ports; while the device lives */
	unsigned long reopen_pause;
	unsigned long work_jiffy;		/* when it was done last, */
	unsigned int work_count;		/* and how often then; by the work alone */

	struct tasklet_struct bells;
	struct delayed_work bells_pause;
	unsigned long bells_jiffy;		/* by the tasklet alone, likewise */
	unsigned int bells_count;
	spinlock_t bells_lock;
	u32 bells_mask;
	u32 bells_told;				/* to clients, and not cleared since */
	bool bells_lost;			/* the clients' port has not been up all the time since scratchpads were told */

	spinlock_t spads_lock;
	u32 spads[EXRNIC_PORT_SPADS];		/* as clients here have written their own: told when the port comes up */
	bool holds;				/* the link is up here, and not yet at the peer: what is for it waits */
	u32 held_bells;
	u32 held_spads[EXRNIC_PORT_SPADS];
	unsigned long held;			/* BIT() of each of these */
};

/* ---- Queues */

/* Page and domain. */
int exrnic_ntb_queues_create(struct exrnic_ntb_link *link);
void exrnic_ntb_queues_destroy(struct exrnic_ntb_link *link);
/* Both queue pairs, in INIT; then to those that the peer has told. */
int exrnic_ntb_qps_create(struct exrnic_ntb_link *link);
int exrnic_ntb_qps_connect(struct exrnic_ntb_link *link, const struct exrnic_ntb_record *peer);
void exrnic_ntb_qps_destroy(struct exrnic_ntb_link *link);
/* Has the work done, now. Any context. */
void exrnic_ntb_kick(struct exrnic_ntb_link *link);

/* ---- Windows */

int exrnic_ntb_windows_reserve(struct exrnic_ntb_link *link);
void exrnic_ntb_windows_give_back(struct exrnic_ntb_link *link);
/* They show these places. */
bool exrnic_ntb_windows_are(const struct exrnic_ntb_link *link, const struct exrnic_ntb_place *places);
/* Those that show something else than these places, which a peer has said. */
int exrnic_ntb_windows_show(struct exrnic_ntb_link *link, const struct exrnic_ntb_place *places);
void exrnic_ntb_windows_hide(struct exrnic_ntb_link *link);
/* Nothing, if it is already, or there is no memory of that number. */
int exrnic_ntb_inbound_register(struct exrnic_ntb_link *link, struct exrnic_ntb_inbound *in);
void exrnic_ntb_inbound_forget(struct exrnic_ntb_link *link, struct exrnic_ntb_inbound *in);

/* ---- The record */

/* What is to be told now. The device need not do it: then the ports are down, and it is told when they are up. */
void exrnic_ntb_record_tell(struct exrnic_ntb_link *link);
/* That the peer's record of this number has been followed. */
void exrnic_ntb_record_follow(struct exrnic_ntb_link *link, u16 seq);
/* The ports have found each other, and nothing is told any more. */
void exrnic_ntb_record_forget(struct exrnic_ntb_link *link);
/* What the peer says, and which record of ours it has followed; false: it is changing that, or says nothing yet. */
bool exrnic_ntb_record_hear(struct exrnic_ntb_link *link, struct exrnic_ntb_record *record, u16 *followed);

/* ---- Doorbells and scratchpads, in any context */

void exrnic_ntb_bells_init(struct exrnic_ntb_link *link);
int exrnic_ntb_bells_open(struct exrnic_ntb_link *link);
void exrnic_ntb_bells_close(struct exrnic_ntb_link *link);
/* Tells clients of bells that they have not heard of, as the link was down. */
void exrnic_ntb_bells_look(struct exrnic_ntb_link *link);
/* Whether the clients' port is up, with all that was written before. */
bool exrnic_ntb_bells_ready(struct exrnic_ntb_link *link);
int exrnic_ntb_bells_set_mask(struct exrnic_ntb_link *link, u32 set, u32 clear);
void exrnic_ntb_bells_clear(struct exrnic_ntb_link *link, u32 bells);
int exrnic_ntb_peer_ring(struct exrnic_ntb_link *link, u32 bells);
/* From now on what is for the peer waits, or not any more: then it is told, or forgotten. */
void exrnic_ntb_peer_hold(struct exrnic_ntb_link *link);
void exrnic_ntb_peer_release(struct exrnic_ntb_link *link, bool tell);
int exrnic_ntb_peer_spad_set(struct exrnic_ntb_link *link, u32 index, u32 value);
u32 exrnic_ntb_peer_spad_get(struct exrnic_ntb_link *link, u32 index);
int exrnic_ntb_spad_set(struct exrnic_ntb_link *link, u32 index, u32 value);
u32 exrnic_ntb_spad_get(struct exrnic_ntb_link *link, u32 index);

/* ---- Copies by the device into the peer's memory: a channel of the kernel's DMA engine */

#ifdef CONFIG_DMA_ENGINE
int exrnic_ntb_dma_create(struct exrnic_ntb_link *link);
/* Behind the last client is gone. Waits for others who have a channel: the DMA engine still reads of it when it has released the device. */
void exrnic_ntb_dma_destroy(struct exrnic_ntb_link *link);
/* In a life of the device. */
int exrnic_ntb_dma_begin(struct exrnic_ntb_link *link);
void exrnic_ntb_dma_end(struct exrnic_ntb_link *link);
/* The queue pairs are connected, and windows show these places. */
void exrnic_ntb_dma_go(struct exrnic_ntb_link *link, const struct exrnic_ntb_place *places);
/* Before the queue pairs end; and behind that, when the device reads nothing any more: what was under way fails. */
void exrnic_ntb_dma_stop(struct exrnic_ntb_link *link);
void exrnic_ntb_dma_flush(struct exrnic_ntb_link *link);
#else
static inline int exrnic_ntb_dma_create(struct exrnic_ntb_link *link)
{
	return 0;
}

static inline void exrnic_ntb_dma_destroy(struct exrnic_ntb_link *link)
{
}

static inline int exrnic_ntb_dma_begin(struct exrnic_ntb_link *link)
{
	return 0;
}

static inline void exrnic_ntb_dma_end(struct exrnic_ntb_link *link)
{
}

static inline void exrnic_ntb_dma_go(struct exrnic_ntb_link *link, const struct exrnic_ntb_place *places)
{
}

static inline void exrnic_ntb_dma_stop(struct exrnic_ntb_link *link)
{
}

static inline void exrnic_ntb_dma_flush(struct exrnic_ntb_link *link)
{
}
#endif

/* ---- The session */

/* From when its client is registered on it follows the device's lives. */
void exrnic_ntb_session_init(struct exrnic_ntb_link *link);
/* Clients want the link, or do not any more: then the peer's are told first. */
void exrnic_ntb_session_enable(struct exrnic_ntb_link *link, bool enable);
/* Memory that the peer's window shows: 0 bytes for none. Behind it the peer reaches what it was before no more. */
int exrnic_ntb_session_set_window(struct exrnic_ntb_link *link, u32 window, dma_addr_t bus, u64 bytes);

/* ---- As Linux knows it */

/* ERR_PTR. */
struct exrnic_ntb_link *exrnic_ntb_link_create(struct exrnic_device *edev, const struct exrnic_ntb_settings *settings);
void exrnic_ntb_link_destroy(struct exrnic_ntb_link *link);

#endif
