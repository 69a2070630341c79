/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef EXRNIC_VERBS_H
#define EXRNIC_VERBS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/driver.h>

#include "exrnic_post.h"
#include "exrnic-abi.h"

/* One thread at a time: by a lock, or because the caller has promised it. */
struct exrnic_lock {
	pthread_spinlock_t lock;
	bool unneeded;
};

static inline void exrnic_lock_init(struct exrnic_lock *lock, bool unneeded)
{
	pthread_spin_init(&lock->lock, PTHREAD_PROCESS_PRIVATE);
	lock->unneeded = unneeded;
}

static inline void exrnic_lock(struct exrnic_lock *lock)
{
	if (!lock->unneeded)
		pthread_spin_lock(&lock->lock);
}

static inline void exrnic_unlock(struct exrnic_lock *lock)
{
	if (!lock->unneeded)
		pthread_spin_unlock(&lock->lock);
}

struct exrnic_pd;

/* What allocators of a parent domain are told: which memory it is. */
enum exrnic_resource {
	EXRNIC_RESOURCE_CQ,
	EXRNIC_RESOURCE_SRQ,
	EXRNIC_RESOURCE_SQ,
	EXRNIC_RESOURCE_RQ,
	EXRNIC_RESOURCE_HEADERS,
};

/* Memory that the device shares: whole pages, zeroed. */
struct exrnic_memory {
	void *data;
	size_t bytes;
	struct exrnic_pd *pd;		/* whose allocators it is from, or NULL */
	enum exrnic_resource resource;
};

int exrnic_memory_alloc(struct exrnic_memory *memory, struct exrnic_pd *pd,
			enum exrnic_resource resource, size_t bytes);
void exrnic_memory_free(struct exrnic_memory *memory);

struct exrnic_context {
	struct verbs_context ibv_ctx;
	struct exrnic_user_page page;

	/*
	 * Of a page the device takes one PIO block at a time: who stores
	 * one holds this, and nobody waits for it, as a doorbell does as
	 * well. The device also forgets what there is of a block when a
	 * queue pair is created, reset or destroyed: so that is done under it.
	 */
	pthread_spinlock_t pio_lock;
	uint32_t pio_next;

	/*
	 * Held while a queue pair is created, reset or destroyed, around the
	 * kernel's part and the provider's: a number that has come free
	 * shall not come back before the old queue pair is forgotten here.
	 */
	pthread_mutex_t control;

	/*
	 * By number. An entry changes while the locks of the completion
	 * queues of its queue pair are held.
	 */
	uint32_t max_qp;
	struct exrnic_qp **qps;
};

struct exrnic_td {
	struct ibv_td ibv_td;
	atomic_int refcount;
};

struct exrnic_pd {
	struct ibv_pd ibv_pd;
	atomic_int refcount;
	/* Of a parent domain: */
	struct exrnic_pd *protection_domain;
	struct exrnic_td *td;
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size,
		       size_t alignment, uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr,
		     uint64_t resource_type);
	void *pd_context;
};

struct exrnic_cq {
	struct verbs_cq vcq;
	struct exrnic_pd *parent_domain;	/* or NULL */
	struct exrnic_memory memory;

	struct exrnic_lock lock;	/* guards the following */
	struct exrnic_cq_ring ring;
	uint32_t smallest_ring;		/* its entries, or those of one it is to get */
	const struct exrnic_cqe *cqe;	/* between start_poll and end_poll */
	bool unbinds;			/* of the one taken last: see EXRNIC_UNBINDS */
};

struct exrnic_srq {
	struct verbs_srq vsrq;
	struct exrnic_memory memory;
	struct exrnic_queue_shape shape;
	uint32_t number;
	struct exrnic_lock lock;	/* for posting */
	struct exrnic_shared_queue queue;
};

/*
 * In wqe.number, which means nothing to the device in a ring: of a
 * LOCAL_INVALIDATE that is to verbs the bind of a memory window to no bytes.
 */
enum {
	EXRNIC_UNBINDS = 1,
};

/* The send or the receive queue of a queue pair. */
struct exrnic_wq {
	struct exrnic_memory memory;
	struct exrnic_queue_shape shape;
	struct exrnic_lock lock;	/* for posting */
	struct exrnic_work_queue queue;
};

struct exrnic_ah {
	struct ibv_ah ibv_ah;
	uint64_t destination;
	bool is_group;
	uint8_t grh[EXRNIC_GRH_BYTES];
};

/*
 * A work request of the send queue before it is put into the ring. Of UD it
 * lacks its header, whose place is known once there is a slot.
 */
struct exrnic_request {
	struct exrnic_work work;
	uint64_t wr_id;
	/* Of UD: */
	struct exrnic_ah *ah;
	uint32_t remote_qpn;
	uint8_t inline_data[EXRNIC_IB_UD_INLINE_MAX];
};

struct exrnic_qp {
	struct verbs_qp vqp;
	uint32_t number;
	struct exrnic_wq sq;
	struct exrnic_wq rq;		/* empty with a shared receive queue */
	struct exrnic_srq *srq;		/* or NULL */
	struct exrnic_cq *send_cq;
	struct exrnic_cq *recv_cq;
	struct ibv_qp_cap cap;		/* what was granted */
	bool sq_sig_all;
	struct exrnic_memory headers;	/* of UD */
	uint32_t headers_stag;

	/*
	 * Of the last ibv_modify_qp(): the device may have gone to the error
	 * state since, which posting need not know. Read under the locks of
	 * posting, so that a queue pair that is reset takes no more.
	 */
	_Atomic(enum ibv_qp_state) state;
	_Atomic(uint32_t) max_rd_atomic;

	/* From ibv_wr_start() to ibv_wr_complete(), under sq.lock: */
	struct exrnic_request request;
	bool has_request;		/* it is being built */
	int wr_error;			/* the first one */
	uint32_t wr_count;		/* put so far */
	uint16_t wr_tail;		/* slots posted before */
};

static inline struct exrnic_context *to_exrnic_ctx(struct ibv_context *ibctx)
{
	return container_of(ibctx, struct exrnic_context, ibv_ctx.context);
}

static inline struct exrnic_td *to_exrnic_td(struct ibv_td *ibtd)
{
	return container_of(ibtd, struct exrnic_td, ibv_td);
}

static inline struct exrnic_pd *to_exrnic_pd(struct ibv_pd *ibpd)
{
	return container_of(ibpd, struct exrnic_pd, ibv_pd);
}

static inline struct exrnic_cq *to_exrnic_cq(struct ibv_cq *ibcq)
{
	return container_of(ibcq, struct exrnic_cq, vcq.cq);
}

static inline struct exrnic_srq *to_exrnic_srq(struct ibv_srq *ibsrq)
{
	return container_of(ibsrq, struct exrnic_srq, vsrq.srq);
}

static inline struct exrnic_qp *to_exrnic_qp(struct ibv_qp *ibqp)
{
	return container_of(ibqp, struct exrnic_qp, vqp.qp);
}

static inline struct exrnic_qp *to_exrnic_qp_ex(struct ibv_qp_ex *ibqp)
{
	return container_of(ibqp, struct exrnic_qp, vqp.qp_ex);
}

static inline struct exrnic_ah *to_exrnic_ah(struct ibv_ah *ibah)
{
	return container_of(ibah, struct exrnic_ah, ibv_ah);
}

/* Whether the objects of this domain are used by one thread at a time. */
static inline bool exrnic_pd_is_one_thread(const struct exrnic_pd *pd)
{
	return pd && pd->td;
}

/* verbs.c */
int exrnic_query_device_ex(struct ibv_context *ibctx,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t attr_size);
int exrnic_query_port(struct ibv_context *ibctx, uint8_t port,
		      struct ibv_port_attr *attr);
struct ibv_pd *exrnic_alloc_pd(struct ibv_context *ibctx);
struct ibv_pd *
exrnic_alloc_parent_domain(struct ibv_context *ibctx,
			   struct ibv_parent_domain_init_attr *attr);
int exrnic_dealloc_pd(struct ibv_pd *ibpd);
struct ibv_td *exrnic_alloc_td(struct ibv_context *ibctx,
			       struct ibv_td_init_attr *attr);
int exrnic_dealloc_td(struct ibv_td *ibtd);
struct ibv_mr *exrnic_reg_mr(struct ibv_pd *ibpd, void *addr, size_t length,
			     uint64_t hca_va, int access);
struct ibv_mr *exrnic_reg_dmabuf_mr(struct ibv_pd *ibpd, uint64_t offset,
				    size_t length, uint64_t iova, int fd,
				    int access);
int exrnic_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *ibpd,
		    void *addr, size_t length, int access);
int exrnic_dereg_mr(struct verbs_mr *vmr);
struct ibv_mw *exrnic_alloc_mw(struct ibv_pd *ibpd, enum ibv_mw_type type);
int exrnic_dealloc_mw(struct ibv_mw *ibmw);
struct ibv_ah *exrnic_create_ah(struct ibv_pd *ibpd, struct ibv_ah_attr *attr);
int exrnic_destroy_ah(struct ibv_ah *ibah);

/* cq.c */
struct ibv_cq *exrnic_create_cq(struct ibv_context *ibctx, int cqe,
				struct ibv_comp_channel *channel,
				int comp_vector);
struct ibv_cq_ex *exrnic_create_cq_ex(struct ibv_context *ibctx,
				      struct ibv_cq_init_attr_ex *attr);
int exrnic_resize_cq(struct ibv_cq *ibcq, int cqe);
int exrnic_destroy_cq(struct ibv_cq *ibcq);
int exrnic_poll_cq(struct ibv_cq *ibcq, int most, struct ibv_wc *wc);
int exrnic_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
void exrnic_cq_report_taken(struct exrnic_cq *cq);

/* srq.c */
struct ibv_srq *exrnic_create_srq(struct ibv_pd *ibpd,
				  struct ibv_srq_init_attr *attr);
struct ibv_srq *exrnic_create_srq_ex(struct ibv_context *ibctx,
				     struct ibv_srq_init_attr_ex *attr);
int exrnic_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		      int mask);
int exrnic_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr);
int exrnic_destroy_srq(struct ibv_srq *ibsrq);

/* qp.c */
struct ibv_qp *exrnic_create_qp(struct ibv_pd *ibpd,
				struct ibv_qp_init_attr *attr);
struct ibv_qp *exrnic_create_qp_ex(struct ibv_context *ibctx,
				   struct ibv_qp_init_attr_ex *attr);
int exrnic_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask);
int exrnic_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		    struct ibv_qp_init_attr *init_attr);
int exrnic_destroy_qp(struct ibv_qp *ibqp);

/* post.c */
int exrnic_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		     struct ibv_send_wr **bad_wr);
int exrnic_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		   struct ibv_mw_bind *bind);
int exrnic_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad_wr);
int exrnic_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **bad_wr);
/*
 * The steps of a send, which ibv_post_send() and the builders have in common.
 * They return an errno.
 */
int exrnic_may_send(struct exrnic_qp *qp);
int exrnic_begin_request(struct exrnic_qp *qp, struct exrnic_request *request,
			 uint8_t opcode, unsigned int flags, uint64_t wr_id);
void exrnic_set_datagram(struct exrnic_request *request, struct ibv_ah *ah,
			 uint32_t remote_qpn, uint32_t remote_qkey);
int exrnic_set_elements(struct exrnic_qp *qp, struct exrnic_request *request,
			const struct ibv_sge *list, uint32_t count);
int exrnic_set_inline(struct exrnic_qp *qp, struct exrnic_request *request,
		      const struct ibv_sge *list, uint32_t count);
int exrnic_set_binding(struct exrnic_request *request,
		       const struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info);
int exrnic_put_request(struct exrnic_qp *qp, struct exrnic_request *request);
void exrnic_announce_sends(struct exrnic_qp *qp, uint32_t count,
			   const struct exrnic_wqe *last);

/* wr.c */
int exrnic_set_wr_ops(struct exrnic_qp *qp, enum ibv_qp_type type,
		      uint64_t send_ops);

#endif /* EXRNIC_VERBS_H */
