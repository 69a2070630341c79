/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * exrnic_ib.ko: the device as the kernel's RDMA subsystem knows one. Its port looks like RoCE's: addresses are GIDs of the
 * RNIC's network interface, and name nodes by their MAC addresses.
 *
 * Locks: qps_lock, or cqs_lock; then a queue's own, with interrupts off, of a completion queue before those of work queues. The
 * RDMA core keeps apart what makes and ends an object, and not what changes one.
 */
#ifndef EXRNIC_IB_H
#define EXRNIC_IB_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "exrnic-abi.h"
#include "exrnic_compat.h"
#include "exrnic_core.h"
#include "exrnic_driver.h"
#include "exrnic_kernel_path.h"

#define EXRNIC_IB_PORT		1
#define EXRNIC_IB_GIDS		64
/* Pages that one fast registration takes. */
#define EXRNIC_IB_FAST_PAGES	512
/*
 * Reads of a queue pair under way, in each direction. It has places for so many from its creation, when nobody has said how
 * many it wants: with EXRNIC_MAX_READS for each the RNIC's places would be gone too soon.
 */
#define EXRNIC_IB_MAX_READS	16
/* IB_ACCESS_FLUSH_GLOBAL and _PERSISTENT, which kernels name since 6.2. */
#define EXRNIC_IB_ACCESS_FLUSH	(BIT(8) | BIT(9))
/* What a datagram of the general services has in front, and itself: see exrnic_ib_header_bytes(). */
#define EXRNIC_IB_MAD_PLACE	ALIGN(EXRNIC_GRH_BYTES + sizeof(struct ib_mad), 64)

struct exrnic_ib_device {
	struct ib_device ibdev;
	struct exrnic_device *edev;
	struct exrnic_identity identity;
	struct xarray qps;		/* by number: those of kernel users */
	struct mutex qps_lock;		/* who makes or ends one of these: its number is not another one's before it is out */
	struct list_head cqs;		/* those of kernel users */
	struct mutex cqs_lock;
	unsigned long ends_at;		/* in jiffies: see exrnic_ib_stop_deadline() */
	bool ends;			/* it is unregistered */
	struct work_struct flush;	/* tells kernel users of what will not be done: see flush.c */
	/* From which kernel users ring doorbells. */
	u32 page;
	struct exrnic_user_page user_page;
	atomic64_t forged;		/* MADs in another node's name */
};

struct exrnic_ib_ucontext {
	struct ib_ucontext ibuc;
	struct exrnic_user *user;
	u32 page;
	struct rdma_user_mmap_entry mmap_entry;
};

struct exrnic_ib_pd {
	struct ib_pd ibpd;
	struct exrnic_user *user;	/* who has made it, here and below; NULL: a kernel user */
	u32 pdn;
};

/* Memory that the device reaches: a process's, or coherent memory of the kernel. */
struct exrnic_ib_memory {
	struct ib_umem *umem;
	void *address;
	dma_addr_t bus;
	size_t bytes;
	struct exrnic_pbl pbl;
};

struct exrnic_ib_cq {
	struct ib_cq ibcq;
	struct exrnic_user *user;
	struct exrnic_cq cq;
	struct exrnic_ib_memory ring;
	struct mutex resize_lock;
	bool overran;			/* it has been told, of this ring */
	unsigned long fired_in;		/* in jiffies; by its vector alone, as the next one */
	unsigned int fired;
	/* Of kernel users. */
	spinlock_t lock;
	struct exrnic_cq_ring path;
	struct list_head entry;		/* of exrnic_ib_device.cqs */
	struct list_head senders;	/* queue pairs whose work completes here, */
	struct list_head receivers;	/* and whose receives do, from a queue of their own */
	bool armed;
};

struct exrnic_ib_srq {
	struct ib_srq ibsrq;
	struct exrnic_user *user;
	struct exrnic_srq srq;
	struct exrnic_ib_memory ring;
	u32 slots;
	u32 elements;
	/* Of kernel users. */
	spinlock_t lock;
	struct exrnic_shared_queue path;
};

/* A queue of work requests of a queue pair. */
struct exrnic_ib_queue {
	struct exrnic_ib_memory ring;
	u32 log_slots;
	u32 elements;			/* of a work request, at most */
	u32 inline_bytes;
	/* Of kernel users. */
	spinlock_t lock;
	struct exrnic_work_queue path;
	u8 *parts;			/* of each slot: which of its work request it is; 0: the first */
};

struct exrnic_ib_qp {
	struct ib_qp ibqp;
	struct exrnic_user *user;
	u32 read_places;			/* each way */
	struct exrnic_qp qp;
	enum exrnic_service service;
	struct exrnic_ib_queue sq;
	struct exrnic_ib_queue rq;
	struct exrnic_ib_memory headers;	/* of UD: see exrnic-abi.h */
	struct exrnic_mr headers_mr;
	u64 *buffers;				/* of the general services: of each slot of rq */
	bool signal_all;
	enum ib_qp_state state;
	struct ib_qp_attr attr;			/* what the device does not keep */
	struct mutex groups_lock;
	struct list_head groups;
	/* Of kernel users. */
	struct list_head send_entry;		/* of exrnic_ib_cq.senders, */
	struct list_head recv_entry;		/* and .receivers */
	bool emptied;				/* it takes no receive of its shared queue any more, and its owner knows */
};

struct exrnic_ib_mw {
	struct ib_mw ibmw;
	struct exrnic_user *user;
	struct exrnic_mw mw;
};

struct exrnic_ib_mr {
	struct ib_mr ibmr;
	struct exrnic_user *user;
	struct exrnic_mr mr;
	struct exrnic_ib_memory memory;
	int access;				/* of a process's: IB_ACCESS_* */
	u32 pages;				/* of kind fast: taken so far... */
	u32 most_pages;				/* ...and at most */
};

struct exrnic_ib_ah {
	struct ib_ah ibah;
	u64 destination;		/* these as in struct exrnic_ib_create_ah_resp */
	bool is_group;
	u8 grh[EXRNIC_GRH_BYTES];
};

#define EXRNIC_IB_CONVERT(name, member)							\
	static inline struct exrnic_ib_##name *exrnic_ib_##name(struct ib_##name *of)	\
	{										\
		return container_of(of, struct exrnic_ib_##name, member);		\
	}
EXRNIC_IB_CONVERT(device, ibdev)
EXRNIC_IB_CONVERT(ucontext, ibuc)
EXRNIC_IB_CONVERT(pd, ibpd)
EXRNIC_IB_CONVERT(cq, ibcq)
EXRNIC_IB_CONVERT(srq, ibsrq)
EXRNIC_IB_CONVERT(qp, ibqp)
EXRNIC_IB_CONVERT(mr, ibmr)
EXRNIC_IB_CONVERT(mw, ibmw)
EXRNIC_IB_CONVERT(ah, ibah)

static inline struct exrnic_device *exrnic_ib_edev(struct ib_device *ibdev)
{
	return exrnic_ib_device(ibdev)->edev;
}

/* Of UD, each slot's place of headers: the GRH, and behind it what is inline, or the whole MAD. */
static inline u32 exrnic_ib_header_bytes(const struct exrnic_ib_qp *qp)
{
	return qp->ibqp.qp_type == IB_QPT_GSI ? EXRNIC_IB_MAD_PLACE : EXRNIC_IB_HEADER_BYTES;
}

/* ---- memory.c */

/* A process's: address is page-aligned; access: IB_ACCESS_*. */
int exrnic_ib_memory_pin(struct ib_device *ibdev, struct exrnic_ib_memory *memory, u64 address, u64 bytes,
			 int access);
/* The kernel's, zeroed. Its tagged offset is that of its first byte, where the kernel has it. */
int exrnic_ib_memory_alloc(struct ib_device *ibdev, struct exrnic_ib_memory *memory, size_t bytes);
/* Also what was never made. */
void exrnic_ib_memory_free(struct ib_device *ibdev, struct exrnic_ib_memory *memory);
u64 exrnic_ib_memory_offset(const struct exrnic_ib_memory *memory);

/* What a process has sent beside the request, and what it is told: errors if there is less, or no room. */
int exrnic_ib_take(struct ib_udata *udata, void *request, size_t bytes);
int exrnic_ib_tell(struct ib_udata *udata, void *answer, size_t bytes);

/* ---- address.c */

int exrnic_ib_node_of(struct ib_device *ibdev, const u8 *mac, u32 *node);
void exrnic_ib_mac_of(u32 node, u8 *mac);
u32 exrnic_ib_group_of(const union ib_gid *mgid);
int exrnic_ib_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata);
int exrnic_ib_destroy_ah(struct ib_ah *ibah, u32 flags);

/* ---- source.c */

/* Of a buffer of the kernel that is mapped for the device; NULL: there is none. Any context. */
void *exrnic_ib_cpu_address(struct ib_device *ibdev, u64 bus);
/* Of a receive of the general services, whose first element is at that bus address. With interrupts on. */
void exrnic_ib_check_source(struct ib_device *ibdev, const struct ib_wc *wc, u64 buffer);

/* ---- context.c */

int exrnic_ib_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata);
void exrnic_ib_dealloc_ucontext(struct ib_ucontext *ibuc);
void exrnic_ib_disassociate_ucontext(struct ib_ucontext *ibuc);
int exrnic_ib_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma);
void exrnic_ib_mmap_free(struct rdma_user_mmap_entry *entry);
int exrnic_ib_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int exrnic_ib_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
/* Whose process asks; NULL: a kernel user does. It stays until all objects of the process have ended. */
struct exrnic_user *exrnic_ib_user_of(struct ib_udata *udata);
/* So many more of a kind, which kernel users have without limit. -ENOMEM: more than one user may have. */
int exrnic_ib_charge(struct exrnic_user *user, enum exrnic_kind kind, u32 count);
void exrnic_ib_uncharge(struct exrnic_user *user, enum exrnic_kind kind, u32 count);
/* From which the queues of an object are rung: its process's, or that of kernel users. */
u32 exrnic_ib_page_of(struct ib_device *ibdev, struct ib_udata *udata);

/* ---- flush.c: of kernel users, when the device is cut off */

/* Of the operation that a work request, or its completion, names. */
enum ib_wc_opcode exrnic_ib_wc_opcode(u8 opcode);
/* Between these two a queue pair's work is flushed. */
void exrnic_ib_flush_add(struct exrnic_ib_qp *qp);
void exrnic_ib_flush_remove(struct exrnic_ib_qp *qp);
/* Between these two users of a completion queue are told. */
void exrnic_ib_flush_add_cq(struct exrnic_ib_cq *cq);
void exrnic_ib_flush_remove_cq(struct exrnic_ib_cq *cq);
/* In the lock of the completion queue: completions of work that the device will not do; whether there is such. */
int exrnic_ib_flush_take(struct exrnic_ib_cq *cq, int most, struct ib_wc *wcs);
bool exrnic_ib_flush_is_due(struct exrnic_ib_cq *cq);
/* Likewise: the device is cut off, and all that it has completed is taken. */
bool exrnic_ib_flush_may_begin(struct exrnic_ib_cq *cq);
/* Something was posted, or armed: if nobody else does, a thread tells of it. Any context. */
void exrnic_ib_flush_if_cut_off(struct exrnic_ib_device *dev);
void exrnic_ib_flush_init(struct exrnic_ib_device *dev);

/* ---- cq.c */

int exrnic_ib_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			struct exrnic_ib_caller *caller);
int exrnic_ib_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int exrnic_ib_resize_cq(struct ib_cq *ibcq, exrnic_ib_entries entries, struct ib_udata *udata);
int exrnic_ib_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
int exrnic_ib_poll_cq(struct ib_cq *ibcq, int most, struct ib_wc *wcs);
/* Of a kernel user: as exrnic_cq_drop(). */
void exrnic_ib_cq_drop(struct exrnic_ib_cq *cq, u32 qpn, struct exrnic_shared_queue *shared);

/* ---- srq.c */

int exrnic_ib_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata);
int exrnic_ib_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
			 struct ib_udata *udata);
int exrnic_ib_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int exrnic_ib_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);

/* ---- group.c */

/* What a queue pair has of groups; it is attached to none. And behind its end on the device, which detaches it. */
void exrnic_ib_groups_init(struct exrnic_ib_qp *qp);
void exrnic_ib_groups_free(struct exrnic_ib_qp *qp);
int exrnic_ib_attach_mcast(struct ib_qp *ibqp, union ib_gid *mgid, u16 lid);
int exrnic_ib_detach_mcast(struct ib_qp *ibqp, union ib_gid *mgid, u16 lid);

/* ---- qp.c */

int exrnic_ib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata);
int exrnic_ib_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int exrnic_ib_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_qp_init_attr *init);
int exrnic_ib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);

/* ---- post.c: of kernel users */

int exrnic_ib_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
int exrnic_ib_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
int exrnic_ib_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);

/* ---- mr.c */

struct ib_mr *exrnic_ib_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *exrnic_ib_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 virt, int access,
				    EXRNIC_IB_DMAH struct ib_udata *udata);
struct ib_mr *exrnic_ib_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset, u64 length, u64 virt, int fd, int access,
					   EXRNIC_IB_DMAH struct exrnic_ib_caller *caller);
struct ib_mr *exrnic_ib_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start, u64 length, u64 virt, int access,
				      struct ib_pd *ibpd, struct ib_udata *udata);
struct ib_mr *exrnic_ib_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 most_pages);
int exrnic_ib_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents, unsigned int *offset);
int exrnic_ib_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
int exrnic_ib_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int exrnic_ib_dealloc_mw(struct ib_mw *ibmw);
/* EXRNIC_ACCESS_* of IB_ACCESS_*; -EOPNOTSUPP. */
int exrnic_ib_access(int access, u32 *rights);

/* ---- port.c */

int exrnic_ib_query_device(struct ib_device *ibdev, struct ib_device_attr *attr, struct ib_udata *udata);
int exrnic_ib_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr);
int exrnic_ib_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
int exrnic_ib_get_port_immutable(struct ib_device *ibdev, u32 port, struct ib_port_immutable *immutable);
enum rdma_link_layer exrnic_ib_get_link_layer(struct ib_device *ibdev, u32 port);
void exrnic_ib_get_dev_fw_str(struct ib_device *ibdev, char *text);
struct rdma_hw_stats *exrnic_ib_alloc_hw_device_stats(struct ib_device *ibdev);
int exrnic_ib_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index);

#endif
