/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What exrnic.ko offers to the drivers on top of it, which find it on the auxiliary bus: exrnic_cdev.ko, exrnic_eth.ko,
 * exrnic_ib.ko, exrnic_ntb.ko.
 *
 * exrnic.ko has the PCI function, mailbox, interrupts, numbers, page lists, and firmware. It knows no process:
 * no handle, no limit of a user, no memory of current. Whoever makes an object owns its structure, which lies in one
 * of the owner's, and ends it: before the memory that it names is given back, and before the client's
 * end() returns. An object is one owner's, who sees to it that no two calls act on it at the same time, and that
 * nothing ends that another object uses (a queue of a queue pair, a domain of a region).
 *
 * Contexts: all functions sleep, unless they say otherwise. Callbacks of objects are called in interrupts,
 * or with interrupts off, unless they say otherwise; none comes behind the end of its object.
 *
 * Errors: -EINVAL the device finds a value bad, -ENOSPC its table is full, -EIO it refused or is cut off, -ETIMEDOUT
 * it did not answer and is cut off from now on, -ENODEV it is gone, -ENOMEM, and -EINTR: the caller was killed while
 * others had their turn. What fails to come into being has left nothing behind. What ends cannot fail: behind
 * it the device reaches no memory of the object, either because it said so, or because it has been cut off
 * (disabled, bus mastering off), which exrnic_device_error() tells.
 */
#ifndef EXRNIC_CORE_H
#define EXRNIC_CORE_H

#include <linux/auxiliary_bus.h>
#include <linux/bits.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/types.h>

#include "exrnic_hw.h"

#define EXRNIC_NAME "exrnic"

struct exrnic_device;
struct exrnic_vector;
struct net_device;

/* ---- Finding devices, and their lives */

/* Of the auxiliary devices, one for each driver: as struct auxiliary_device_id has them. */
#define EXRNIC_AUX_CDEV EXRNIC_NAME ".cdev"
#define EXRNIC_AUX_ETH EXRNIC_NAME ".eth"
#define EXRNIC_AUX_IB EXRNIC_NAME ".ib"
#define EXRNIC_AUX_NTB EXRNIC_NAME ".ntb"

/**
 * struct exrnic_auxiliary - a device on the auxiliary bus
 * @adev:	as the bus has it; its parent is the PCI function
 * @edev:	what stands behind it, for as long as it is bound, and as exrnic_device_get() prolongs
 */
struct exrnic_auxiliary {
	struct auxiliary_device adev;
	struct exrnic_device *edev;
};

static inline struct exrnic_device *exrnic_device_of(struct auxiliary_device *adev)
{
	return container_of(adev, struct exrnic_auxiliary, adev)->edev;
}

/* What concerns everybody: bits. */
#define EXRNIC_NOTICE_FATAL	BIT(0)	/* cut off: nothing works any more, in this life */
#define EXRNIC_NOTICE_LINK	BIT(1)	/* the Ethernet link came or went: exrnic_device_status() */
#define EXRNIC_NOTICE_PEER_DEAD	BIT(2)	/* a node was given up */
#define EXRNIC_NOTICE_NETDEV	BIT(3)	/* the Ethernet interface came or goes: exrnic_device_netdev() */

struct exrnic_client;

/**
 * struct exrnic_client_ops - what a client is told, by threads, one at a time
 * @begin:	The device is alive: objects can be made. Called by exrnic_client_register() if it is already.
 * @end:	It is about to lose all that it knows (unbound, reset, suspended). On return the client has no object
 *		any more and makes none before the next begin(). Called by exrnic_client_unregister() if it is alive.
 * @notice:	EXRNIC_NOTICE_*, between these two
 * @cut_off:	Or NULL. EXRNIC_NOTICE_FATAL, at once and by whoever finds out: also while another one runs, such as an end() that
 *		waits for what the device does not do any more. With a spinlock, so it sleeps not, and lets somebody else act
 *
 * None of them may register or unregister a client. They may take RTNL: who has it does neither.
 */
struct exrnic_client_ops {
	void (*begin)(struct exrnic_client *client);
	void (*end)(struct exrnic_client *client);
	void (*notice)(struct exrnic_client *client, u32 notices);
	void (*cut_off)(struct exrnic_client *client);
};

/**
 * struct exrnic_client - a driver on a device
 * @ops:	by its owner
 * @edev:	the core's, as the rest
 */
struct exrnic_client {
	const struct exrnic_client_ops *ops;
	struct exrnic_device *edev;
	struct list_head entry;
	bool alive;
};

/**
 * exrnic_client_register() - takes part in the lives of a device
 * @edev:	the device, for which the client need not hold a reference
 * @client:	with its ops
 */
void exrnic_client_register(struct exrnic_device *edev, struct exrnic_client *client);

/**
 * exrnic_client_unregister() - takes part no longer
 * @client:	whose ops nobody calls any more on return
 *
 * Before the auxiliary device is unbound.
 */
void exrnic_client_unregister(struct exrnic_client *client);

/**
 * exrnic_device_netdev() - the Ethernet interface of a device, of which others on top of it take addresses
 * @edev:	the device
 *
 * With a reference, which the caller gives back (dev_put()): at the latest when EXRNIC_NOTICE_NETDEV tells that it goes,
 * or at its end(). NULL: there is none. A client asks in begin(), and when it is told. Does not sleep.
 */
struct net_device *exrnic_device_netdev(struct exrnic_device *edev);
/* By who has it, which is registered; NULL: it goes. On return all clients have been told. Not with RTNL. */
void exrnic_device_set_netdev(struct exrnic_device *edev, struct net_device *netdev);

/* Its memory, not its life, stays until it has been put as often: for what outlives the client. */
void exrnic_device_get(struct exrnic_device *edev);
void exrnic_device_put(struct exrnic_device *edev);

/*
 * Between these two it is looked at once a second, so that one that vanishes, or forgets, while nobody gives it a
 * command is cut off: for whoever waits for it. As often as one likes; in any context.
 */
void exrnic_device_watch(struct exrnic_device *edev);
void exrnic_device_unwatch(struct exrnic_device *edev);

/* ---- What a device is */

/**
 * struct exrnic_limits - sizes of the device's tables, which all its lives have
 * @qp:			queue pairs, those with numbers that are reserved included
 * @cq:			completion queues
 * @srq:		shared receive queues
 * @stag:		regions; one more, likewise
 * @read_pool:		places for PULLs under way, in each direction
 * @node:		nodes of the network
 * @user_pages:		of BAR 2
 * @windows:		of BAR 4
 * @window_size:	bytes of each, a power of two
 * @comp_vectors:	interrupt vectors for completion queues, at least 1
 */
struct exrnic_limits {
	u32 qp;
	u32 cq;
	u32 srq;
	u32 stag;
	u32 read_pool;
	u32 node;
	u32 user_pages;
	u32 windows;
	u32 window_size;
	u32 comp_vectors;
};

/* As long as the device is. Does not sleep. */
const struct exrnic_limits *exrnic_device_limits(const struct exrnic_device *edev);

/* Who reaches memory: for the DMA API. Does not sleep. */
struct device *exrnic_device_dma(struct exrnic_device *edev);

/* 0, or -EIO: it has been cut off, or is between two lives. Does not sleep. */
int exrnic_device_error(struct exrnic_device *edev);

/**
 * struct exrnic_identity - what registers say
 * @abi_version:	EXRNIC_ABI_VERSION of the device
 * @node:		its number in the network
 * @mtu:		payload bytes of a frame
 * @clock_khz:		of the core
 * @mac:		in the order of the wire
 */
struct exrnic_identity {
	u32 abi_version;
	u32 node;
	u32 mtu;
	u32 clock_khz;
	u8 mac[6];
};

/*
 * The node's table of P_Keys: what stands in it goes by exrnic_qp_modify()'s pkey_index. It outlives resets of the
 * device; it begins with EXRNIC_PKEY_DEFAULT in entry 0, and no partition in the others. An entry in use may change:
 * from then on its queue pairs have that key, and with one that names no partition nobody hears them. index: below
 * EXRNIC_PKEYS. Setting sleeps.
 */
u16 exrnic_device_pkey(const struct exrnic_device *edev, unsigned int index);
void exrnic_device_set_pkey(struct exrnic_device *edev, unsigned int index, u16 pkey);

/*
 * Management frames (rtl-model/FABRIC.md), of EXRNIC_MANAGEMENT_FRAME_BYTES, for one owner at a time: another one gets -EBUSY from
 * begin(). -EAGAIN: the last one has not left, or none has come. -ENODEV: the device does not answer. They sleep.
 */
int exrnic_management_begin(struct exrnic_device *edev, const void *owner);
void exrnic_management_end(struct exrnic_device *edev, const void *owner);
int exrnic_management_send(struct exrnic_device *edev, const u8 *frame);
int exrnic_management_receive(struct exrnic_device *edev, u8 *frame);

/* -ENODEV: it does not answer. Neither of them sleeps. */
int exrnic_device_identify(struct exrnic_device *edev, struct exrnic_identity *identity);
int exrnic_device_status(struct exrnic_device *edev, u32 *status);	/* EXRNIC_DEVICE_STATUS_* */
/* One of enum exrnic_counter; U64_MAX: the device does not answer. */
u64 exrnic_device_counter(struct exrnic_device *edev, unsigned int index);

/*
 * For the class device of a client, whose drvdata is the struct exrnic_device: attributes, counters/, pkeys/ and
 * firmware/.
 */
extern const struct attribute_group exrnic_attribute_group;
extern const struct attribute_group exrnic_counter_group;
extern const struct attribute_group exrnic_pkey_group;
extern const struct attribute_group exrnic_firmware_group;

/* ---- Users, each of whom has a share of a device, by whichever drivers on top */

/* What a device has a number of. */
enum exrnic_kind {
	EXRNIC_KIND_PAGE,
	EXRNIC_KIND_PD,
	EXRNIC_KIND_CQ,
	EXRNIC_KIND_SRQ,
	EXRNIC_KIND_QP,
	EXRNIC_KIND_MR,		/* and memory windows: what has an STag */
	EXRNIC_KIND_WINDOW,
	EXRNIC_KIND_PORT,
	EXRNIC_KIND_MSG_CHANNEL,
	EXRNIC_KIND_ATTACHMENT,
	EXRNIC_KIND_READ_OUT,	/* places for PULLs of this side, which queue pairs have, */
	EXRNIC_KIND_READ_IN,	/* and of the peer */
	EXRNIC_KINDS
};

struct exrnic_user;

/*
 * The user whose process calls. It stays until it is put as often, and has nothing any more; the device must stay as long.
 * NULL: no memory. Who is asked when a process comes is the one all of its objects are of: it may hand its files to others.
 */
struct exrnic_user *exrnic_user_get(struct exrnic_device *edev);
void exrnic_user_put(struct exrnic_user *user);
/*
 * So many more of a kind. -EDQUOT: that would be more than parameter max_user_percent grants one user, and the caller has no
 * CAP_SYS_RESOURCE.
 */
int exrnic_user_take(struct exrnic_user *user, enum exrnic_kind kind, u32 count);
void exrnic_user_give_back(struct exrnic_user *user, enum exrnic_kind kind, u32 count);

/* ---- Pages of BAR 2, from which doorbells are rung; queues belong to one of them */

int exrnic_page_alloc(struct exrnic_device *edev, u32 *page);
/* Nobody reaches it any more. Also of a device that is gone. */
void exrnic_page_free(struct exrnic_device *edev, u32 page);
/* Where page lies. Does not sleep. */
phys_addr_t exrnic_page_address(const struct exrnic_device *edev, u32 page);

/**
 * exrnic_page_map() - for an owner within the kernel
 * @edev:	the device
 * @page:	of the caller's own
 *
 * Write-combining, as processes have theirs: exrnic_kernel_path.h stores into it. NULL: no memory. Who takes part in
 * the device's lives unmaps it before its end() returns.
 */
void __iomem *exrnic_page_map(struct exrnic_device *edev, u32 page);
/* Before the page is freed. */
void exrnic_page_unmap(volatile void __iomem *mapped);

/* ---- Page lists */

/**
 * struct exrnic_pbl - a physical buffer list: memory that the device reads
 * @entries:	bus addresses of pages, in order; the first is that of the first byte
 * @bus:	where the list lies
 * @bytes:	of the list
 * @count:	of the entries
 * @page_shift:	of the pages: EXRNIC_PAGE_SHIFT or EXRNIC_HUGE_PAGE_SHIFT
 */
struct exrnic_pbl {
	__le64 *entries;
	dma_addr_t bus;
	size_t bytes;
	u32 count;
	unsigned int page_shift;
};

/**
 * exrnic_pbl_build() - of memory that is mapped for DMA
 * @edev:	whose exrnic_device_dma() it is mapped for
 * @pbl:	the list
 * @sgt:	the whole pages of the memory, in order
 * @address:	of the first byte, as work requests will name it; its lower bits are those within its page
 * @length:	in bytes, not 0
 * @huge:	may have pages of 2 MiB, if they fit; rings have pages of 4 KiB
 *
 * The memory stays mapped until the list is freed. -ENOMEM: there is no contiguous memory for the list. -EINVAL: no bytes, or
 * some within the last huge page of all addresses.
 */
int exrnic_pbl_build(struct exrnic_device *edev, struct exrnic_pbl *pbl, const struct sg_table *sgt,
		     u64 address, u64 length, bool huge);

/**
 * exrnic_pbl_build_kernel() - of coherent memory of the kernel
 * @edev:	for whose exrnic_device_dma() it was allocated
 * @pbl:	the list
 * @bus:	where it lies, page-aligned
 * @address:	as of exrnic_pbl_build(), page-aligned
 * @bytes:	as many as were allocated
 */
int exrnic_pbl_build_kernel(struct exrnic_device *edev, struct exrnic_pbl *pbl, dma_addr_t bus,
			    u64 address, size_t bytes);

/**
 * exrnic_pbl_build_bus() - of all that the kernel may map for the device, each byte at its bus address
 * @edev:	the device
 * @pbl:	the list
 * @bytes:	from bus address 0 on: all memory, or all that the IOMMU gives out addresses of; 1 TiB at most
 */
int exrnic_pbl_build_bus(struct exrnic_device *edev, struct exrnic_pbl *pbl, u64 *bytes);

void exrnic_pbl_free(struct exrnic_device *edev, struct exrnic_pbl *pbl);

/* ---- Protection domains: a number that queue pairs and regions share, below EXRNIC_FW_PD */

int exrnic_pd_alloc(struct exrnic_device *edev, u32 *pdn);
void exrnic_pd_free(struct exrnic_device *edev, u32 pdn);

/* ---- Completion queues */

/**
 * struct exrnic_cq - a completion queue
 * @completion:	by its owner, or NULL: it was armed, and has fired. An interrupt's context. False: that tells nobody
 *		anything, as what was told before has not been read; if so of all that fires, again and again, its vector pauses for a jiffy
 * @overrun:	by its owner: a completion is lost. A thread's context; may come several times
 * @cqn:	its number
 */
struct exrnic_cq {
	bool (*completion)(struct exrnic_cq *cq);
	void (*overrun)(struct exrnic_cq *cq);
	u32 cqn;
	/* private: the core's */
	struct exrnic_vector *vector;
};

/* Calls its owner as when it has fired. Any context. */
void exrnic_cq_fire(struct exrnic_cq *cq);

/**
 * struct exrnic_cq_attr - what a completion queue is made of
 * @ring:		of BIT(log_entries) zeroed struct exrnic_cqe, which the device writes
 * @log_entries:	EXRNIC_RING_LOG_MIN to EXRNIC_CQ_LOG_MAX
 * @page:		from which it is armed
 * @comp_vector:	below limits.comp_vectors, or EXRNIC_ANY_COMP_VECTOR: one with few queues
 * @moderation_count:	it fires behind so many completions, up to EXRNIC_MODERATION_COUNT_MAX...
 * @moderation_ns:	...or so long after the first of them, up to EXRNIC_MODERATION_NS_MAX
 */
struct exrnic_cq_attr {
	const struct exrnic_pbl *ring;
	u32 log_entries;
	u32 page;
	u32 comp_vector;
	u32 moderation_count;
	u32 moderation_ns;
};

#define EXRNIC_ANY_COMP_VECTOR U32_MAX

int exrnic_cq_create(struct exrnic_device *edev, struct exrnic_cq *cq,
		     const struct exrnic_cq_attr *attr);
/*
 * Another ring, of BIT(log_entries) struct exrnic_cqe whose phase is EXRNIC_CQE_PHASE_NONE. On success the device writes
 * to the old one no more: completions from *producer on, modulo 2^32, go to the new one, those before stand in the old one.
 * -ENOSPC: more is unread than the new ring has entries. Then, and with any other error, the queue has its old ring,
 * if not the device was cut off from all memory.
 */
int exrnic_cq_resize(struct exrnic_device *edev, const struct exrnic_cq *cq,
		     const struct exrnic_pbl *ring, u32 log_entries, u32 *producer);
void exrnic_cq_destroy(struct exrnic_device *edev, struct exrnic_cq *cq);

/* ---- Shared receive queues */

/**
 * struct exrnic_srq - a shared receive queue
 * @low:	by its owner: fewer receives than the limit are left. A thread's context
 * @srqn:	its number
 */
struct exrnic_srq {
	void (*low)(struct exrnic_srq *srq);
	u32 srqn;
};

struct exrnic_srq_attr {
	const struct exrnic_pbl *ring;	/* of BIT(log_slots) struct exrnic_wqe */
	u32 log_slots;
	u32 page;
	u32 pdn;
	u32 limit;			/* up to EXRNIC_SRQ_LIMIT_MAX; 0: none */
};

struct exrnic_srq_status {
	u32 limit;			/* armed, or 0 */
	u32 producer;			/* slots posted... */
	u32 consumer;			/* ...and taken, both modulo 2^16 */
};

int exrnic_srq_create(struct exrnic_device *edev, struct exrnic_srq *srq,
		      const struct exrnic_srq_attr *attr);
int exrnic_srq_set_limit(struct exrnic_device *edev, struct exrnic_srq *srq, u32 limit);
int exrnic_srq_query(struct exrnic_device *edev, const struct exrnic_srq *srq,
		     struct exrnic_srq_status *status);
void exrnic_srq_destroy(struct exrnic_device *edev, struct exrnic_srq *srq);

/* ---- Queue pairs */

/**
 * struct exrnic_qp - a queue pair
 * @failed:	by its owner: went to ERROR, not by exrnic_qp_modify(); cause: enum exrnic_qp_cause. A thread's context; may be of a life that a
 *		reset has ended
 * @last_wqe:	by its owner, or NULL: in ERROR, it holds no receive of a shared receive queue any more. A thread's context;
 *		not once its end has begun
 * @drained:	by its owner, or NULL: in SQD, all of its work that had begun has ended. Likewise
 * @user:	by its owner, or NULL, the kernel: who has it, and stays as long
 * @qpn:	its number
 */
struct exrnic_qp {
	void (*failed)(struct exrnic_qp *qp, u32 cause);
	void (*last_wqe)(struct exrnic_qp *qp);
	void (*drained)(struct exrnic_qp *qp);
	struct exrnic_user *user;
	u32 qpn;
	/* private: the core's */
	bool stopped;
};

/*
 * qpn: EXRNIC_QPN_GSI (exrnic_driver.h) or EXRNIC_ETHERNET_QPN, which nobody gets who does not ask for it; or
 * EXRNIC_ANY_QPN, another one.
 */
#define EXRNIC_ANY_QPN U32_MAX

struct exrnic_qp_attr {
	const struct exrnic_pbl *sq;	/* of BIT(sq_log_slots) struct exrnic_wqe */
	const struct exrnic_pbl *rq;	/* likewise; NULL: srqn takes its place */
	u32 sq_log_slots;
	u32 rq_log_slots;
	u32 srqn;			/* of the same domain, or EXRNIC_NO_SRQ */
	u32 page;
	u32 pdn;
	u32 send_cqn;
	u32 recv_cqn;
	u32 service;			/* enum exrnic_service */
	u32 flags;			/* EXRNIC_QP_FLAGS_* */
	u32 qpn;
	u32 max_reads_out;		/* up to EXRNIC_MAX_READS; -ENOSPC: too few places are free */
	u32 max_reads_in;
};

/*
 * A change of state and attributes: rtl-model/gen/reference.md, mbox_modify_qp. qkey may be one with
 * EXRNIC_QKEY_CONTROLLED: who calls for a process asks what that may.
 */
struct exrnic_qp_modify {
	u32 state;			/* enum exrnic_qp_state */
	u32 attributes;			/* EXRNIC_QP_ATTRIBUTES_*: those of the following that are given */
	u32 dest_node;
	u32 dest_qpn;
	u32 qkey;
	u32 pkey_index;
	u32 access;			/* EXRNIC_ACCESS_REMOTE_* */
	u32 path_mtu;			/* bytes */
	u8 max_reads_in;
	u8 max_reads_out;
	u8 min_rnr_timer;
	u8 rnr_retry;
	u8 timeout;			/* how long nothing may be heard of its work, */
	u8 retry_count;			/* and how often more: see mbox_modify_qp */
};

struct exrnic_qp_status {
	u32 state;
	u32 dest_node;
	u32 dest_qpn;
	u32 sq_producer;
	u32 sq_consumer;
	bool under_way;			/* it has work, or answers a peer */
	u32 pkey_index;			/* of service UD */
	u32 qkey;			/* likewise */
	u32 access;			/* these as in struct exrnic_qp_modify */
	u32 path_mtu;
	u8 max_reads_in;
	u8 max_reads_out;
	u8 min_rnr_timer;
	u8 rnr_retry;
	u8 timeout;
	u8 retry_count;
	bool sq_draining;		/* in SQD: work requests that had begun have not ended */
};

/* In state RESET. -EINVAL: nobody may ask for that number; -EBUSY: it is taken. */
int exrnic_qp_create(struct exrnic_device *edev, struct exrnic_qp *qp,
		     const struct exrnic_qp_attr *attr);
/*
 * -EPERM: no such transition, or an attribute that it does not take; -EINVAL: one is missing, or out of range. Then
 * nothing is changed. To RESET it goes by ERROR, as its end does.
 */
int exrnic_qp_modify(struct exrnic_device *edev, struct exrnic_qp *qp,
		     const struct exrnic_qp_modify *modify);
int exrnic_qp_query(struct exrnic_device *edev, const struct exrnic_qp *qp,
		    struct exrnic_qp_status *status);
/* Of service UD. -EEXIST: attached already. */
int exrnic_qp_attach_group(struct exrnic_device *edev, struct exrnic_qp *qp, u32 group);
/* -ENOENT: it is not attached. The end of the queue pair detaches, too. */
int exrnic_qp_detach_group(struct exrnic_device *edev, struct exrnic_qp *qp, u32 group);

/**
 * exrnic_qp_begin_stop() - to ERROR
 * @edev:	the device
 * @qp:		the queue pair, which exrnic_qp_destroy() stops if nobody has. Once is enough
 *
 * Who ends many lets all begin, so that they come to rest together.
 */
void exrnic_qp_begin_stop(struct exrnic_device *edev, struct exrnic_qp *qp);

/**
 * exrnic_qp_await_stop() - until nothing of it is under way
 * @edev:	the device
 * @qp:		the queue pair
 * @deadline:	in jiffies; see exrnic_qp_stop_deadline(). If it passes, the log says so
 *
 * Behind that a peer whose PULL it answers has heard of the end, and a receive that a message had
 * taken has completed.
 */
void exrnic_qp_await_stop(struct exrnic_device *edev, struct exrnic_qp *qp, unsigned long deadline);
/*
 * For all that end from now on, together: in five seconds, or now, if one of this user has used them up within the last five. NULL:
 * in five seconds.
 */
unsigned long exrnic_qp_stop_deadline(const struct exrnic_user *user);

void exrnic_qp_destroy(struct exrnic_device *edev, struct exrnic_qp *qp);

/* ---- Regions */

struct exrnic_mr {
	u32 stag;			/* index and key that nobody can guess */
	bool unknown;			/* to the device, which has refused to change it */
};

struct exrnic_mr_attr {
	const struct exrnic_pbl *pbl;
	u64 address;			/* of the first byte, as of exrnic_pbl_build() */
	u64 length;
	u32 pdn;			/* or EXRNIC_FW_PD: firmware's */
	u32 access;			/* EXRNIC_ACCESS_* */
};

int exrnic_mr_create(struct exrnic_device *edev, struct exrnic_mr *mr,
		     const struct exrnic_mr_attr *attr);
/*
 * The same STag with other attributes. In between it refuses every access, and for good if this fails; windows bound to
 * it end.
 */
int exrnic_mr_change(struct exrnic_device *edev, struct exrnic_mr *mr, const struct exrnic_mr_attr *attr);
/*
 * A region that is what a work request FAST_REGISTER says, when one has said it and until one, or a peer, invalidates it. It
 * names an exrnic_pbl_build_kernel(), whose pages stay where they are meanwhile; and the key, which
 * then is the low byte of the STag.
 */
int exrnic_mr_create_fast(struct exrnic_device *edev, struct exrnic_mr *mr, u32 pdn);
void exrnic_mr_destroy(struct exrnic_device *edev, struct exrnic_mr *mr);

/* ---- Memory windows, type 2B of verbs; type 1 if they are of the domain */

struct exrnic_mw {
	u32 stag;	/* index, and the key until a work request gives it another one */
};

/*
 * It is what a work request BIND_MW says, when one has said it and until one, or the peer of that queue pair, invalidates
 * it: a part of a region of the same domain that has EXRNIC_ACCESS_MW_BIND, for the peer of the queue pair of the work
 * request. It ends by itself with the region and with the queue pair, which need not wait for it. One of the domain is for
 * peers of all queue pairs of that, and ends with none; the last BIND_MW counts, and no peer invalidates it.
 */
int exrnic_mw_create(struct exrnic_device *edev, struct exrnic_mw *mw, u32 pdn, bool of_domain);
void exrnic_mw_destroy(struct exrnic_device *edev, struct exrnic_mw *mw);

/* ---- Remote windows: entries of BAR 4 in a row */

struct exrnic_window {
	u32 first;
	u32 count;
};

struct exrnic_window_attr {
	const struct exrnic_qp *qp;	/* RC, in RTS (-EINVAL), with nothing posted (-EBUSY) */
	u64 remote;			/* tagged offset at the peer */
	u64 length;			/* up to limits.windows * limits.window_size */
	u32 stag;			/* at the peer */
	u32 access;			/* EXRNIC_WINDOW_ACCESS_* */
};

/* How many of the device show @length bytes; 0: none do, or more than there are. Does not sleep. */
u32 exrnic_windows_for(const struct exrnic_device *edev, u64 length);
int exrnic_window_open(struct exrnic_device *edev, struct exrnic_window *window,
		       const struct exrnic_window_attr *attr);
/* Nobody maps it any more. */
void exrnic_window_close(struct exrnic_device *edev, struct exrnic_window *window);
/*
 * Or in two steps: places that are kept, in all lives of the device, as long as somebody maps them; and what they show, from their
 * first byte on, where the length may be less. What they do not show reads as all ones.
 */
int exrnic_window_reserve(struct exrnic_device *edev, struct exrnic_window *window, u64 length);
void exrnic_window_give_back(struct exrnic_device *edev, struct exrnic_window *window);
int exrnic_window_show(struct exrnic_device *edev, const struct exrnic_window *window, const struct exrnic_window_attr *attr);
void exrnic_window_hide(struct exrnic_device *edev, const struct exrnic_window *window);
/* Where the first window of all lies; they follow each other. Does not sleep. */
phys_addr_t exrnic_window_address(const struct exrnic_device *edev);

/* ---- Ports: doorbell bits, scratchpads and the link to one port of a peer */

/**
 * struct exrnic_port - a port; several may act on it at the same time, in any context
 * @wake:	by its owner: exrnic_port_may_tell() has become true. Any context, and with the lock of the port: it acts on none
 */
struct exrnic_port {
	void (*wake)(struct exrnic_port *port);
	/* private: the core's */
	struct exrnic_device *edev;
	struct exrnic_vector *vector;
	u32 number;
	spinlock_t lock;	/* also in interrupts */
	u32 mask;
	u32 taken;	/* how often something has been */
	bool dead;	/* closed: it is not the device's any more */
	bool pending;	/* there may be something to take; set also in interrupts */
};

struct exrnic_port_attr {
	u32 port;	/* below EXRNIC_PORTS */
	u32 peer_node;	/* another one */
	u32 peer_port;
	u32 comp_vector;	/* of its interrupts: as of a completion queue */
	u32 mask;	/* of its bells, at first: as of exrnic_port_set_mask() */
	bool reserved;	/* for who opens it */
};

/* What a port has to tell. */
struct exrnic_port_news {
	u32 bells;	/* that are not masked */
	u32 events;	/* EXRNIC_PORT_EVENT_* */
	bool link_up;
	/* private: where in the row of what is taken */
	u32 taken;
};

/*
 * BIT() of ports that from now on nobody else opens, in all lives of the device. Who has one open keeps it until it is closed.
 * -EBUSY: another one has reserved one of them. Does not sleep.
 */
int exrnic_ports_reserve(struct exrnic_device *edev, u32 ports);
void exrnic_ports_give_back(struct exrnic_device *edev, u32 ports);
/* Once, before all else. It is closed. */
void exrnic_port_init(struct exrnic_port *port, void (*wake)(struct exrnic_port *port));
/* -EINVAL: no such port or peer, -EBUSY: somebody has it, or has reserved it. Opening and closing are for threads, as all else is not. */
int exrnic_port_open(struct exrnic_device *edev, struct exrnic_port *port,
		     const struct exrnic_port_attr *attr);
/* Twice, one behind the other, does no harm. What acts on it gives -ENODEV from then on. */
void exrnic_port_close(struct exrnic_port *port);
bool exrnic_port_is_closed(const struct exrnic_port *port);
/* Its link. */
bool exrnic_port_is_up(struct exrnic_port *port);
bool exrnic_port_may_tell(const struct exrnic_port *port);	/* or is closed */
/* What has come, which stays; false: nothing. */
bool exrnic_port_peek(struct exrnic_port *port, struct exrnic_port_news *news);
/*
 * Likewise; and from now on what comes wakes again, though all of this stays: for an owner who tells himself what is new. It
 * may wake for nothing.
 */
bool exrnic_port_look(struct exrnic_port *port, struct exrnic_port_news *news);
/* It has been told; false: by somebody else, before. */
bool exrnic_port_take(struct exrnic_port *port, const struct exrnic_port_news *news);
/* Those that are rung, masked or not. */
u32 exrnic_port_bells(struct exrnic_port *port);
void exrnic_port_clear_bells(struct exrnic_port *port, u32 bells);
int exrnic_port_set_mask(struct exrnic_port *port, u32 mask);
/* -ENOTCONN: the peer's is closed. */
int exrnic_port_ring(struct exrnic_port *port, u32 bits);
/*
 * Scratchpads of this port, or of the peer's (@of_peer); both sides read and write both, as ntb_spad_* and
 * ntb_peer_spad_* do. -EINVAL: index is beyond EXRNIC_PORT_SPADS. -ENOTCONN (set): the peer's is closed.
 */
int exrnic_port_set_spad(struct exrnic_port *port, bool of_peer, u32 index, u32 value);
int exrnic_port_get_spad(struct exrnic_port *port, bool of_peer, u32 index, u32 *value);

/* ---- Message channels, which firmware serves */

/**
 * struct exrnic_msg_channel - a message channel
 * @wake:	by its owner: firmware wakes who waits for it. An interrupt's context. False: that tells nobody
 *		anything, as nobody waits; if so of all that firmware wakes, it is not listened to for a jiffy
 * @open:	by its owner, but for the incarnation; a page, and a region of EXRNIC_FW_PD, with base its address
 */
struct exrnic_msg_channel {
	bool (*wake)(struct exrnic_msg_channel *channel);
	struct exrnic_channel_open open;
};

/*
 * And again whenever firmware starts. -EINVAL: no such channel, or firmware finds a value bad; -EBUSY: somebody has it;
 * -EOPNOTSUPP: no firmware runs; -EIO: it failed, or did not answer in time, and is started again without the channel.
 */
int exrnic_msg_channel_open(struct exrnic_device *edev, struct exrnic_msg_channel *channel);
/* Behind this firmware knows nothing of it, or does not run. Its region ends next. */
void exrnic_msg_channel_close(struct exrnic_device *edev, struct exrnic_msg_channel *channel);

#endif
