/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The core of the driver: a device, and the objects that user contexts own on it. It knows no
 * face (char device, ib_device, ntb_dev): a face makes contexts and calls the object functions.
 *
 * Locks, outermost first:
 *   exrnic_device.lock	    list of contexts, removal
 *   exrnic_ucontext.lock   the objects of one context
 *   exrnic_mbox.lock	    one mailbox command at a time
 *   exrnic_firmware.lock   the on-chip processor; inside a context's, when its message channel comes or goes
 *   exrnic_device.users_lock  what each user has of what is scarce
 *   exrnic_async.lock	    who is told of a queue; nothing is waited for inside it
 *   exrnic_port.lock	    what a process does with a port
 * and in interrupts, too: exrnic_device.ports_lock, exrnic_vector.lock, exrnic_event_queue.lock inside it,
 * exrnic_vector.listeners_lock innermost.
 *
 * None of them is held while memory of a process is touched: it may never be provided.
 */
#ifndef EXRNIC_CORE_H
#define EXRNIC_CORE_H

#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/completion.h>
#include <linux/idr.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "exrnic.h"
#include "exrnic_compat.h"
#include "exrnic_event.h"
#include "exrnic_firmware.h"
#include "exrnic_hw.h"

#define EXRNIC_NAME "exrnic"

/* Table sizes of this build of the device, read once. */
struct exrnic_limits {
	u32 qp;
	u32 cq;
	u32 srq;
	u32 stag;
	u32 node;
	u32 user_pages;
	u32 windows;
};

struct exrnic_mbox {
	struct mutex lock;
	struct completion done;	/* vector 0 said that a command has ended */
	bool broken;		/* no command is sent any more; bus mastering is off. Also between lives */
};

/* STags in use, and the last key that each index had. */
struct exrnic_stags {
	struct mutex lock;
	unsigned long *used;
	u8 *keys;
	u32 size;
};

/*
 * An MSI-X vector that completion queues share. An interrupt tells those whose last event has been read. One
 * that finds none silences the vector until one is read: a process can arm its queues without end.
 */
struct exrnic_vector {
	spinlock_t lock;	/* an interrupt tells; a queue ends */
	spinlock_t listeners_lock;
	struct list_head listeners;	/* struct exrnic_cq */
	struct list_head told;	/* who is still to be told, by the vector's thread */
	unsigned int users;
	int irq;		/* 0: also that of control, which is never silent */
	bool silent;
};

/* What an interrupt has told, until a thread finds out whom it concerns. */
struct exrnic_async {
	struct delayed_work work;
	struct mutex lock;	/* queues come into exrnic_device's tables, and go */
	atomic_t causes;	/* EXRNIC_INT_CAUSE_*, EXRNIC_ASYNC_FATAL */
	unsigned long next;	/* jiffies: when the thread may run again */
	u64 peers_dead;		/* counter, as of the last look */
};

struct exrnic_chardev;

struct exrnic_device {
	struct kref ref;
	struct pci_dev *pdev;
	void __iomem *regs;
	phys_addr_t user_base;	/* of BAR 2 */
	phys_addr_t window_base;	/* of BAR 4 */
	unsigned int vectors;		/* granted, vector 0 for control included */
	unsigned int comp_vectors;
	struct exrnic_vector comp[EXRNIC_MSIX_VECTORS];
	struct exrnic_async async;
	struct delayed_work watch;
	struct page *state_page;	/* struct exrnic_state_page, which processes of this life read */
	bool enabled;		/* as the driver wants it to be: EXRNIC_DEVICE_CONTROL_ENABLE */
	bool started;
	struct exrnic_firmware firmware;
	struct mutex counters_lock;
	struct exrnic_limits limits;
	struct exrnic_mbox mbox;

	struct ida pages;
	struct ida pds;
	struct xarray cqs;
	struct xarray srqs;
	struct xarray qps;
	u32 next_qpn;
	struct exrnic_stags stags;
	struct mutex windows_lock;
	DECLARE_BITMAP(windows, EXRNIC_MAX_WINDOWS);	/* in use */
	spinlock_t ports_lock;	/* also in interrupts */
	struct exrnic_port *ports[EXRNIC_PORTS];	/* those that are open */
	unsigned int open_ports;

	atomic64_t pinned;	/* pages, of all contexts */
	struct rdmacg_device cgroup_device;
	struct mutex users_lock;
	struct list_head users;	/* struct exrnic_user */
	struct mutex lock;
	struct list_head ucontexts;
	bool removed;

	struct exrnic_chardev *chardev;	/* kept for exrnic_main.c only */
};

struct exrnic_ucontext;

/* What the core asks of a face. */
struct exrnic_face_ops {
	/* The device goes away: no user mapping of it may be left on return, nor come later. */
	void (*disassociate)(struct exrnic_ucontext *uctx);
};

struct exrnic_ucontext {
	struct exrnic_device *edev;
	const struct exrnic_face_ops *face;
	struct list_head entry;	/* of exrnic_device.ucontexts */
	u32 page;		/* its user page in BAR 2 */
	struct page *state_page;	/* as of the device's life that it belongs to */

	struct exrnic_event_queue *events;
	struct exrnic_event_source peer_dead;
	struct exrnic_event_source link;
	struct exrnic_event_source fatal;

	struct mutex lock;
	u32 objects;
	struct exrnic_user *user;	/* who has opened it */
	struct rdma_cgroup *cgroup;
	u64 pinned;		/* pages */
	bool dead;		/* the device was removed; there are no objects */
	struct xarray pds;
	struct xarray cqs;
	struct xarray srqs;
	struct xarray qps;
	struct xarray mrs;
	struct xarray windows;
	struct exrnic_msg_channel *msg_channel;	/* or NULL */
};

/* User memory, pinned, charged to RLIMIT_MEMLOCK of mm, then mapped for DMA. */
struct exrnic_umem {
	struct mm_struct *mm;
	struct page **unmapped;	/* NULL: mapped, and sgt has them */
	struct sg_table sgt;
	u64 address;
	u64 length;
	unsigned long pages;
	bool writable;		/* by the device */
};

/* A physical buffer list: memory that the device reads. */
struct exrnic_pbl {
	__le64 *entries;
	dma_addr_t bus;
	size_t bytes;
	u32 count;
	unsigned int page_shift;
};

struct exrnic_ring {
	struct exrnic_umem umem;
	struct exrnic_pbl pbl;
	u32 log_entries;
};

struct exrnic_pd {
	u32 pdn;
	u32 users;		/* MRs, SRQs and QPs */
};

struct exrnic_cq {
	u32 cqn;
	u32 users;		/* send and receive queues */
	u32 comp_vector;
	struct exrnic_vector *vector;
	struct list_head vector_entry;	/* of vector->listeners or vector->told, or empty */
	bool ended;		/* listens no more */
	struct exrnic_event_source completion;
	struct exrnic_event_source error;
	struct exrnic_ring ring;
};

struct exrnic_srq {
	u32 srqn;
	u32 users;		/* QPs */
	struct exrnic_event_source limit_event;
	struct exrnic_pd *pd;
	struct exrnic_ring ring;
};

struct exrnic_qp {
	u32 qpn;
	u32 service;
	u32 state;		/* as far as the driver knows */
	u32 windows;		/* that take it */
	struct exrnic_event_source error;
	struct exrnic_pd *pd;
	struct exrnic_cq *send_cq;
	struct exrnic_cq *recv_cq;
	struct list_head groups;	/* struct exrnic_attachment */
	bool has_rq;
	struct exrnic_srq *srq;	/* in its place, or NULL */
	struct exrnic_ring sq;
	struct exrnic_ring rq;
};

/* A queue pair gets what comes for a group. */
struct exrnic_attachment {
	struct list_head entry;	/* of exrnic_qp.groups */
	u32 group;
};

/* Windows of the device in a row, which user space sees as one. */
struct exrnic_window {
	u32 first;
	u32 count;
	struct exrnic_qp *qp;
};

struct exrnic_port {
	struct exrnic_device *edev;
	u32 number;
	wait_queue_head_t wait;
	struct mutex lock;
	u32 mask;
	u32 taken;		/* how often something has been */
	bool dead;		/* closed: it is not the device's any more */
	bool pending;		/* there may be something to take; set also in interrupts */
};

/* What a port has to tell, and where in the row of what is taken. */
struct exrnic_port_news {
	struct exrnic_port_event event;
	u32 taken;
};

struct exrnic_mr {
	u32 stag;
	u32 access;
	struct exrnic_pd *pd;	/* NULL: EXRNIC_FW_PD, and no handle of the process names it */
	struct exrnic_umem umem;
	struct exrnic_pbl pbl;
};

/*
 * exrnic_device.c: everything but PCI. The last put frees it. A device has one life after the other: each
 * begins with exrnic_device_renew() and ends with exrnic_device_disassociate(), behind which no context
 * can be made before exrnic_device_associate().
 */
struct exrnic_device *exrnic_device_alloc(struct pci_dev *pdev);
int exrnic_device_renew(struct exrnic_device *edev);
int exrnic_device_init_tables(struct exrnic_device *edev);
void exrnic_device_put(struct exrnic_device *edev);
void exrnic_device_associate(struct exrnic_device *edev);
int exrnic_number_alloc(struct xarray *table, u32 limit, u32 *number);	/* -ENOSPC */
void exrnic_device_disassociate(struct exrnic_device *edev);
/* Tells all who read the state page. */
void exrnic_device_gone(struct exrnic_device *edev);

/* exrnic_ucontext.c. A context that came to life is destroyed once, removal or not. */
int exrnic_ucontext_init(struct exrnic_ucontext *uctx, struct exrnic_device *edev,
			 const struct exrnic_face_ops *face);
void exrnic_ucontext_destroy(struct exrnic_ucontext *uctx);
void exrnic_ucontext_disassociate(struct exrnic_ucontext *uctx);

/* exrnic_page.c: user pages of BAR 2. */
int exrnic_page_alloc(struct exrnic_device *edev, u32 *page);
void exrnic_page_free(struct exrnic_device *edev, u32 page);
unsigned long exrnic_page_pfn(struct exrnic_device *edev, u32 page);

/* exrnic_irq.c */
#define EXRNIC_CAUSES_QUEUES \
	(EXRNIC_INT_CAUSE_QP_ERROR | EXRNIC_INT_CAUSE_CQ_ERROR | EXRNIC_INT_CAUSE_SRQ_LIMIT)
#define EXRNIC_CAUSES_ASYNC (EXRNIC_CAUSES_QUEUES | EXRNIC_INT_CAUSE_LINK)

int exrnic_irq_init(struct exrnic_device *edev);
void exrnic_irq_fini(struct exrnic_device *edev);
/* A cause that the thread of exrnic_async.c deals with does not interrupt again before this. */
void exrnic_irq_enable_all(struct exrnic_device *edev);
/* One with few users. */
u32 exrnic_irq_pick_vector(struct exrnic_device *edev);
u32 exrnic_irq_msix_vector(const struct exrnic_device *edev, u32 comp_vector);
/* Between these two the interrupts of cq->comp_vector raise its event, if anybody reads it. */
void exrnic_irq_add_cq(struct exrnic_device *edev, struct exrnic_cq *cq);
void exrnic_irq_remove_cq(struct exrnic_device *edev, struct exrnic_cq *cq);

/* exrnic_async.c: causes of the control interrupt become events of objects. */
#define EXRNIC_ASYNC_FATAL BIT(30)

enum exrnic_async_what {
	EXRNIC_ASYNC_QP_FAILED,
	EXRNIC_ASYNC_CQ_OVERRUN,
	EXRNIC_ASYNC_SRQ_LOW,
};

void exrnic_async_init(struct exrnic_device *edev);
void exrnic_async_cancel(struct exrnic_device *edev);
/*
 * A queue, whose number is reserved in that table of the device, from now on hears of itself; and no
 * longer: it exists on the device no more, and what has happened to it is forgotten.
 */
void exrnic_async_publish(struct exrnic_device *edev, struct xarray *table, u32 number,
			  void *object);
void exrnic_async_withdraw(struct exrnic_device *edev, struct xarray *table, u32 number,
			   enum exrnic_async_what what);
/* Also from interrupts. */
void exrnic_async_notice(struct exrnic_device *edev, u32 causes);

/* exrnic_watch.c: cuts a device off that has vanished or forgotten; within two seconds contexts hear of it. */
void exrnic_watch_init(struct exrnic_device *edev);
void exrnic_watch_start(struct exrnic_device *edev);
void exrnic_watch_stop(struct exrnic_device *edev);

/*
 * Object functions: the context's lock is held and the context is not dead. Those that pin memory
 * give the lock up meanwhile, and -ENODEV if the context is dead then. Handles that the
 * context does not own give -ENOENT, objects in use -EBUSY, a full table -ENOSPC. A destroy
 * that returns -EIO, -ENODEV or -ETIMEDOUT has released the object nevertheless: the device
 * answered badly and has been cut off from memory.
 */
int exrnic_pd_alloc(struct exrnic_ucontext *uctx, u32 *pdn);
int exrnic_pd_dealloc(struct exrnic_ucontext *uctx, u32 pdn);
struct exrnic_pd *exrnic_pd_find(struct exrnic_ucontext *uctx, u32 pdn);
void exrnic_pd_release_all(struct exrnic_ucontext *uctx);

/* attr->channel_fd is the face's business; channel: its queue of completion events, or NULL. */
int exrnic_cq_create(struct exrnic_ucontext *uctx, struct exrnic_create_cq *attr,
		     struct exrnic_event_queue *channel);
int exrnic_cq_destroy(struct exrnic_ucontext *uctx, struct exrnic_destroy *attr);
struct exrnic_cq *exrnic_cq_find(struct exrnic_ucontext *uctx, u32 cqn);
void exrnic_cq_release_all(struct exrnic_ucontext *uctx);

int exrnic_srq_create(struct exrnic_ucontext *uctx, struct exrnic_create_srq *attr);
int exrnic_srq_modify(struct exrnic_ucontext *uctx, const struct exrnic_modify_srq *attr);
int exrnic_srq_query(struct exrnic_ucontext *uctx, struct exrnic_query_srq *attr);
int exrnic_srq_destroy(struct exrnic_ucontext *uctx, struct exrnic_destroy *attr);
struct exrnic_srq *exrnic_srq_find(struct exrnic_ucontext *uctx, u32 srqn);
void exrnic_srq_release_all(struct exrnic_ucontext *uctx);

int exrnic_qp_create(struct exrnic_ucontext *uctx, struct exrnic_create_qp *attr);
int exrnic_qp_modify(struct exrnic_ucontext *uctx, const struct exrnic_modify_qp *attr);
int exrnic_qp_attach_group(struct exrnic_ucontext *uctx, const struct exrnic_group *attr);
int exrnic_qp_detach_group(struct exrnic_ucontext *uctx, const struct exrnic_group *attr);
int exrnic_qp_query(struct exrnic_ucontext *uctx, struct exrnic_query_qp *attr);
int exrnic_qp_destroy(struct exrnic_ucontext *uctx, struct exrnic_destroy *attr);
struct exrnic_qp *exrnic_qp_find(struct exrnic_ucontext *uctx, u32 qpn);
void exrnic_qp_release_all(struct exrnic_ucontext *uctx);
/* exrnic_qp_stop.c: to ERROR, until nothing is under way, or for five seconds. */
void exrnic_qp_stop(struct exrnic_device *edev, struct exrnic_qp *qp);
void exrnic_qp_stop_all(struct exrnic_ucontext *uctx);

/* attr->offset is the face's business. */
int exrnic_window_create(struct exrnic_ucontext *uctx, struct exrnic_create_window *attr);
int exrnic_window_destroy(struct exrnic_ucontext *uctx, u32 first);
struct exrnic_window *exrnic_window_find(struct exrnic_ucontext *uctx, u32 first);
void exrnic_window_release_all(struct exrnic_ucontext *uctx);

int exrnic_mr_register(struct exrnic_ucontext *uctx, struct exrnic_reg_mr *attr);
int exrnic_mr_deregister(struct exrnic_ucontext *uctx, u32 stag);
int exrnic_mr_reregister(struct exrnic_ucontext *uctx, struct exrnic_rereg_mr *attr);
struct exrnic_mr *exrnic_mr_find(struct exrnic_ucontext *uctx, u32 stag);
/* Of firmware's domain, in memory of the process: for the driver's own use. mr is zeroed. */
int exrnic_mr_give_to_firmware(struct exrnic_ucontext *uctx, struct exrnic_mr *mr, u64 address,
			       u64 length);
int exrnic_mr_take_from_firmware(struct exrnic_ucontext *uctx, struct exrnic_mr *mr);
void exrnic_mr_release_all(struct exrnic_ucontext *uctx);

/* exrnic_msg_channel.c. attr->channel_fd is the face's business; queue: as exrnic_cq_create's. */
int exrnic_msg_channel_create(struct exrnic_ucontext *uctx,
			      const struct exrnic_create_msg_channel *attr,
			      struct exrnic_event_queue *queue);
int exrnic_msg_channel_destroy(struct exrnic_ucontext *uctx, u32 number);
void exrnic_msg_channel_release(struct exrnic_ucontext *uctx);	/* if there is one */

/*
 * exrnic_port.c: one that was opened is closed once at least. What acts on it gives -ENODEV when it
 * is closed, -ENOTCONN while the peer's is. attr->fd is the face's business.
 */
int exrnic_port_open(struct exrnic_device *edev, struct exrnic_port *port,
		     const struct exrnic_open_port *attr);
void exrnic_port_close(struct exrnic_port *port);
bool exrnic_port_may_tell(struct exrnic_port *port);	/* or is closed */
/* What has come, which stays; false: nothing. */
bool exrnic_port_peek(struct exrnic_port *port, struct exrnic_port_news *news);
/* It has been told; false: by somebody else, before. */
bool exrnic_port_take(struct exrnic_port *port, const struct exrnic_port_news *news);
int exrnic_port_ring(struct exrnic_port *port, u32 bits);
int exrnic_port_set_mask(struct exrnic_port *port, u32 mask);
int exrnic_port_set_spad(struct exrnic_port *port, const struct exrnic_port_spad *spad);
int exrnic_port_get_spad(struct exrnic_port *port, struct exrnic_port_spad *spad);
bool exrnic_ports_interrupt(struct exrnic_device *edev);	/* control vector; false: none is open */

/* exrnic_limits.c: what the administrator allows; -EDQUOT. */
void exrnic_limits_init(struct exrnic_device *edev);
/* For the rdma cgroup: the name of the device, under which it is found there. */
int exrnic_limits_publish(struct exrnic_device *edev, const char *name);
void exrnic_limits_fini(struct exrnic_device *edev);
/* Of uctx->edev, and a user page of it. Between these two uctx->user is there. */
int exrnic_limits_open(struct exrnic_ucontext *uctx);
void exrnic_limits_close(struct exrnic_ucontext *uctx);

/* What a device has few of: a user may have a share. What is held keeps uctx->user. */
enum exrnic_scarce {
	EXRNIC_SCARCE_PAGES,
	EXRNIC_SCARCE_WINDOWS,
	EXRNIC_SCARCE_PORTS,
	EXRNIC_SCARCE_MSG_CHANNELS,
	EXRNIC_SCARCE_ATTACHMENTS,
	EXRNIC_SCARCE_KINDS
};

int exrnic_limits_take(struct exrnic_ucontext *uctx, enum exrnic_scarce kind, u32 count);
void exrnic_limits_give_back(struct exrnic_ucontext *uctx, enum exrnic_scarce kind, u32 count);

/* ERR_PTR; zeroed. */
void *exrnic_object_alloc(struct exrnic_ucontext *uctx, size_t bytes);
void exrnic_object_free(struct exrnic_ucontext *uctx, void *object);
/* One that takes the place of another: it gets that one's charge, and that one is free of charge then. */
void *exrnic_object_alloc_free_of_charge(size_t bytes);
void exrnic_object_hand_over(void *from, void *to);
void exrnic_object_free_uncharged(void *object);
int exrnic_limits_charge_pages(struct exrnic_ucontext *uctx, unsigned long pages);
void exrnic_limits_uncharge_pages(struct exrnic_ucontext *uctx, unsigned long pages);

/* exrnic_sysfs.c: for a face's device, whose drvdata is the struct exrnic_device. */
extern const struct attribute_group *exrnic_sysfs_groups[];
void exrnic_sysfs_init(void);

/* exrnic_stag.c: unpredictable STags. */
int exrnic_stags_init(struct exrnic_stags *stags, u32 size);
void exrnic_stags_fini(struct exrnic_stags *stags);
int exrnic_stag_alloc(struct exrnic_stags *stags, u32 *stag);
void exrnic_stag_free(struct exrnic_stags *stags, u32 stag);

/*
 * exrnic_umem.c: memory of the calling process. Pinning gives up the context's lock meanwhile, so it
 * comes first: before anything is mapped, or found in the context.
 */
int exrnic_umem_pin(struct exrnic_ucontext *uctx, struct exrnic_umem *umem, u64 address, u64 length,
		    bool writable);
int exrnic_umem_map(struct exrnic_device *edev, struct exrnic_umem *umem);
/* -EOPNOTSUPP, with a word in the log: the device would reach copies only. */
int exrnic_umem_check_dma(struct exrnic_device *edev);
/* Mapped or not. */
void exrnic_umem_unpin(struct exrnic_ucontext *uctx, struct exrnic_umem *umem);

/* exrnic_lookup.c */
int exrnic_lookup_status(struct exrnic_device *edev, struct exrnic_get_status *get);
int exrnic_lookup_pages(struct exrnic_find_pages *find);

/* exrnic_pbl.c: page_shift is EXRNIC_PAGE_SHIFT, or what exrnic_pbl_best_shift() returns. */
unsigned int exrnic_pbl_best_shift(const struct exrnic_umem *umem);
int exrnic_pbl_build(struct exrnic_device *edev, struct exrnic_pbl *pbl,
		     const struct exrnic_umem *umem, unsigned int page_shift);
void exrnic_pbl_free(struct exrnic_device *edev, struct exrnic_pbl *pbl);

/* exrnic_ring.c: a queue in user memory with its PBL. Pinned and mapped as a umem. */
struct exrnic_ring_shape {
	u32 entries;
	u32 entry_bytes;
	u32 log_max;		/* of entries */
	bool writable;		/* by the device */
};

int exrnic_ring_pin(struct exrnic_ucontext *uctx, struct exrnic_ring *ring, u64 address,
		    const struct exrnic_ring_shape *shape);
int exrnic_ring_map(struct exrnic_device *edev, struct exrnic_ring *ring);
/* Mapped or not. */
void exrnic_ring_unpin(struct exrnic_ucontext *uctx, struct exrnic_ring *ring);

#endif
