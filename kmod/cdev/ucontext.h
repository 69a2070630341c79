/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Contexts of processes on a device: handles, limits, memory of processes, events that are read. They give the
 * objects of exrnic_core.h what uapi/exrnic.h promises. The files of this folder are floors, as those of core/.
 *
 * Locks, outermost first:
 *   exrnic_chardev.lock	list of contexts, lives of the device
 *   exrnic_ucontext.lock	the objects of one context
 * and then those of the core; in interrupts, too, inside those of a vector: exrnic_event_queue.lock.
 *
 * None of them is held while memory of a process is touched: it may never be provided.
 */
#ifndef EXRNIC_UCONTEXT_H
#define EXRNIC_UCONTEXT_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/scatterlist.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "event.h"
#include "exrnic.h"
#include "exrnic_compat.h"
#include "exrnic_core.h"

/* Lives until the last open file is closed, and what was made by it: files pin dev, dev pins edev. */
struct exrnic_chardev {
	struct device dev;
	struct cdev cdev;
	struct exrnic_device *edev;
	struct exrnic_client client;
	struct dentry *debugfs;

	struct mutex lock;
	struct list_head ucontexts;
	struct page *state_page;	/* struct exrnic_state_page, which processes of this life read */
	bool alive;

	atomic64_t pinned;	/* pages, of all contexts */
	struct rdmacg_device cgroup_device;
};

struct exrnic_ucontext {
	struct exrnic_chardev *chardev;
	struct exrnic_device *edev;
	/* The device goes away: no user mapping of it may be left on return, nor come later. */
	void (*disassociate)(struct exrnic_ucontext *uctx);
	struct list_head entry;	/* of exrnic_chardev.ucontexts */
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
	bool dead;		/* the device goes, or has gone: objects end, and none is made; set without the lock */
	struct xarray pds;
	struct xarray cqs;
	struct xarray srqs;
	struct xarray qps;
	struct xarray mrs;
	struct xarray mws;
	struct xarray windows;
	struct exrnic_umsg_channel *msg_channel;	/* or NULL */
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

/* A queue in user memory. */
struct exrnic_ring {
	struct exrnic_umem umem;
	struct exrnic_pbl pbl;
	u32 log_entries;
};

struct exrnic_upd {
	u32 pdn;
	u32 users;		/* MRs, MWs, SRQs and QPs */
};

struct exrnic_ucq {
	struct exrnic_cq cq;
	u32 users;		/* send and receive queues */
	struct exrnic_event_source completion;
	struct exrnic_event_source error;
	struct exrnic_ring ring;
};

struct exrnic_usrq {
	struct exrnic_srq srq;
	u32 users;		/* QPs */
	struct exrnic_event_source limit_event;
	struct exrnic_upd *pd;
	struct exrnic_ring ring;
};

struct exrnic_uqp {
	struct exrnic_qp qp;
	u32 service;
	u32 max_reads_out;
	u32 max_reads_in;
	u32 windows;		/* that take it */
	struct exrnic_event_source error;
	struct exrnic_event_source last_wqe;
	struct exrnic_event_source drained;
	struct exrnic_upd *pd;
	struct exrnic_ucq *send_cq;
	struct exrnic_ucq *recv_cq;
	struct list_head groups;	/* struct exrnic_attachment */
	bool has_rq;
	struct exrnic_usrq *srq;	/* in its place, or NULL */
	struct exrnic_ring sq;
	struct exrnic_ring rq;
};

/* Windows of the device in a row, which user space sees as one. */
struct exrnic_uwindow {
	struct exrnic_window window;
	struct exrnic_uqp *qp;
};

struct exrnic_umr {
	struct exrnic_mr mr;
	u32 access;
	struct exrnic_upd *pd;	/* NULL: EXRNIC_FW_PD, and no handle of the process names it */
	struct exrnic_umem umem;
	struct exrnic_pbl pbl;
};

struct exrnic_umw {
	struct exrnic_mw mw;
	struct exrnic_upd *pd;
};

/* ucontext.c. A context that came to life is destroyed once, removal or not. */
int exrnic_ucontext_init(struct exrnic_ucontext *uctx, struct exrnic_chardev *chardev,
			 void (*disassociate)(struct exrnic_ucontext *uctx));
void exrnic_ucontext_destroy(struct exrnic_ucontext *uctx);
/* Those of a device take part in its lives. */
extern const struct exrnic_client_ops exrnic_ucontexts_client;

/*
 * Object functions: the context's lock is held and the context is not dead. Those that pin memory
 * give the lock up meanwhile, and -ENODEV if the context is dead then. Handles that the
 * context does not own give -ENOENT, objects in use -EBUSY, a full table -ENOSPC. A destroy
 * that returns -EIO has released the object nevertheless: the device answered badly and has been cut off from
 * memory.
 */
int exrnic_upd_alloc(struct exrnic_ucontext *uctx, u32 *pdn);
int exrnic_upd_dealloc(struct exrnic_ucontext *uctx, u32 pdn);
struct exrnic_upd *exrnic_upd_find(struct exrnic_ucontext *uctx, u32 pdn);
void exrnic_upd_release_all(struct exrnic_ucontext *uctx);

/* attr->channel_fd is the caller's business; channel: its queue of completion events, or NULL. */
int exrnic_ucq_create(struct exrnic_ucontext *uctx, struct exrnic_create_cq *attr,
		      struct exrnic_event_queue *channel);
int exrnic_ucq_resize(struct exrnic_ucontext *uctx, struct exrnic_resize_cq *attr);
int exrnic_ucq_destroy(struct exrnic_ucontext *uctx, struct exrnic_destroy *attr);
struct exrnic_ucq *exrnic_ucq_find(struct exrnic_ucontext *uctx, u32 cqn);
void exrnic_ucq_release_all(struct exrnic_ucontext *uctx);

int exrnic_usrq_create(struct exrnic_ucontext *uctx, struct exrnic_create_srq *attr);
int exrnic_usrq_modify(struct exrnic_ucontext *uctx, const struct exrnic_modify_srq *attr);
int exrnic_usrq_query(struct exrnic_ucontext *uctx, struct exrnic_query_srq *attr);
int exrnic_usrq_destroy(struct exrnic_ucontext *uctx, struct exrnic_destroy *attr);
struct exrnic_usrq *exrnic_usrq_find(struct exrnic_ucontext *uctx, u32 srqn);
void exrnic_usrq_release_all(struct exrnic_ucontext *uctx);

int exrnic_uqp_create(struct exrnic_ucontext *uctx, struct exrnic_create_qp *attr);
int exrnic_uqp_modify(struct exrnic_ucontext *uctx, const struct exrnic_modify_qp *attr);
int exrnic_uqp_attach_group(struct exrnic_ucontext *uctx, const struct exrnic_group *attr);
int exrnic_uqp_detach_group(struct exrnic_ucontext *uctx, const struct exrnic_group *attr);
int exrnic_uqp_query(struct exrnic_ucontext *uctx, struct exrnic_query_qp *attr);
int exrnic_uqp_destroy(struct exrnic_ucontext *uctx, struct exrnic_destroy *attr);
struct exrnic_uqp *exrnic_uqp_find(struct exrnic_ucontext *uctx, u32 qpn);
/* Those of several contexts come to rest together if all begin. deadline: see exrnic_qp_stop_deadline(). */
void exrnic_uqp_begin_stop_all(struct exrnic_ucontext *uctx);
void exrnic_uqp_release_all(struct exrnic_ucontext *uctx, unsigned long deadline);

/* attr->offset is the caller's business. */
int exrnic_uwindow_create(struct exrnic_ucontext *uctx, struct exrnic_create_window *attr);
int exrnic_uwindow_destroy(struct exrnic_ucontext *uctx, u32 first);
struct exrnic_uwindow *exrnic_uwindow_find(struct exrnic_ucontext *uctx, u32 first);
void exrnic_uwindow_release_all(struct exrnic_ucontext *uctx);

int exrnic_umr_register(struct exrnic_ucontext *uctx, struct exrnic_reg_mr *attr);
int exrnic_umr_deregister(struct exrnic_ucontext *uctx, u32 stag);
int exrnic_umr_reregister(struct exrnic_ucontext *uctx, struct exrnic_rereg_mr *attr);
struct exrnic_umr *exrnic_umr_find(struct exrnic_ucontext *uctx, u32 stag);
/* Of firmware's domain, in memory of the process: for the driver's own use. mr is zeroed. */
int exrnic_umr_give_to_firmware(struct exrnic_ucontext *uctx, struct exrnic_umr *mr, u64 address,
				u64 length);
void exrnic_umr_take_from_firmware(struct exrnic_ucontext *uctx, struct exrnic_umr *mr);
void exrnic_umr_release_all(struct exrnic_ucontext *uctx);

int exrnic_umw_alloc(struct exrnic_ucontext *uctx, struct exrnic_alloc_mw *attr);
int exrnic_umw_dealloc(struct exrnic_ucontext *uctx, u32 stag);
void exrnic_umw_release_all(struct exrnic_ucontext *uctx);

/* attr->channel_fd is the caller's business; queue: as exrnic_ucq_create's. */
int exrnic_umsg_channel_create(struct exrnic_ucontext *uctx,
			       const struct exrnic_create_msg_channel *attr,
			       struct exrnic_event_queue *queue);
int exrnic_umsg_channel_destroy(struct exrnic_ucontext *uctx, u32 number);
void exrnic_umsg_channel_release(struct exrnic_ucontext *uctx);	/* if there is one */

/* limits.c: what the administrator allows; -EDQUOT. */
/* For the rdma cgroup: the name of the device, under which it is found there. */
int exrnic_limits_publish(struct exrnic_chardev *chardev, const char *name);
void exrnic_limits_fini(struct exrnic_chardev *chardev);
/* Of uctx->chardev, and a user page of it. Between these two uctx->user is there. */
/* Whether the caller may open it. */
bool exrnic_limits_permit_port(u32 port);
int exrnic_limits_open(struct exrnic_ucontext *uctx);
void exrnic_limits_close(struct exrnic_ucontext *uctx);

/* One that takes so many of a kind. ERR_PTR; zeroed. */
void *exrnic_object_alloc(struct exrnic_ucontext *uctx, enum exrnic_kind kind, u32 count,
			  size_t bytes);
void exrnic_object_free(struct exrnic_ucontext *uctx, void *object);
/* One that takes the place of another: it gets that one's charge, and that one is free of charge then. */
void *exrnic_object_alloc_free_of_charge(size_t bytes);
void exrnic_object_hand_over(void *from, void *to);
void exrnic_object_free_uncharged(void *object);
/* Places that the device gives a queue pair for its limits. */
int exrnic_limits_charge_reads(struct exrnic_ucontext *uctx, u32 out, u32 in);
void exrnic_limits_uncharge_reads(struct exrnic_ucontext *uctx, u32 out, u32 in);
int exrnic_limits_charge_pages(struct exrnic_ucontext *uctx, unsigned long pages);
void exrnic_limits_uncharge_pages(struct exrnic_ucontext *uctx, unsigned long pages);

/*
 * umem.c: memory of the calling process. Pinning gives up the context's lock meanwhile, so it
 * comes first: before anything is mapped, or found in the context.
 */
int exrnic_umem_pin(struct exrnic_ucontext *uctx, struct exrnic_umem *umem, u64 address, u64 length,
		    bool writable);
int exrnic_umem_map(struct exrnic_device *edev, struct exrnic_umem *umem);
/* Mapped or not. */
void exrnic_umem_unpin(struct exrnic_ucontext *uctx, struct exrnic_umem *umem);

/* A queue in user memory with its PBL. Pinned and mapped as a umem. */
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
