// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* From work requests to the ring and the doorbell. */
#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "exrnic_verbs.h"

/* An element is handed to the device as it is. */
static_assert(sizeof(struct ibv_sge) == sizeof(struct exrnic_sge) &&
	      offsetof(struct ibv_sge, addr) ==
		      offsetof(struct exrnic_sge, address) &&
	      offsetof(struct ibv_sge, length) ==
		      offsetof(struct exrnic_sge, length) &&
	      offsetof(struct ibv_sge, lkey) ==
		      offsetof(struct exrnic_sge, stag),
	      "the same bytes");

enum {
	EXRNIC_SEND_FLAGS = IBV_SEND_FENCE | IBV_SEND_SIGNALED |
			    IBV_SEND_SOLICITED | IBV_SEND_INLINE,
};

/* 0: there is none. */
static uint8_t exrnic_opcode(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
		return EXRNIC_WQE_OPCODE_PUSH;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return EXRNIC_WQE_OPCODE_PUSH_IMM;
	case IBV_WR_SEND:
		return EXRNIC_WQE_OPCODE_SEND;
	case IBV_WR_SEND_WITH_IMM:
		return EXRNIC_WQE_OPCODE_SEND_IMM;
	case IBV_WR_SEND_WITH_INV:
		return EXRNIC_WQE_OPCODE_SEND_INVALIDATE;
	case IBV_WR_RDMA_READ:
		return EXRNIC_WQE_OPCODE_PULL;
	case IBV_WR_LOCAL_INV:
		return EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE;
	case IBV_WR_BIND_MW:
		return EXRNIC_WQE_OPCODE_BIND_MW;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return EXRNIC_WQE_OPCODE_FETCH_ADD;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return EXRNIC_WQE_OPCODE_COMPARE_SWAP;
	default:
		return 0;
	}
}

static bool exrnic_is_ud(const struct exrnic_qp *qp)
{
	return qp->vqp.qp.qp_type == IBV_QPT_UD;
}

static bool exrnic_carries(const struct exrnic_qp *qp,
			   const struct exrnic_wqe_opcode_properties *op)
{
	switch (qp->vqp.qp.qp_type) {
	case IBV_QPT_UD:
		return op->ud;
	case IBV_QPT_UC:
		return op->uc;
	default:
		return true;
	}
}

/* In the error state the device flushes what it gets. Under sq.lock. */
int exrnic_may_send(struct exrnic_qp *qp)
{
	switch (atomic_load_explicit(&qp->state, memory_order_relaxed)) {
	case IBV_QPS_RTS:
	case IBV_QPS_SQD:
	case IBV_QPS_SQE:
	case IBV_QPS_ERR:
		return 0;
	default:
		verbs_err(verbs_get_ctx(qp->vqp.qp.context),
			  "queue pair %u sends from RTS on\n", qp->number);
		return EINVAL;
	}
}

/* Without elements or inline data at first. flags: of ibv_send_flags. */
int exrnic_begin_request(struct exrnic_qp *qp, struct exrnic_request *request,
			 uint8_t opcode, unsigned int flags, uint64_t wr_id)
{
	const struct exrnic_wqe_opcode_properties op =
		exrnic_of_wqe_opcode(opcode);
	struct exrnic_wqe *head = &request->work.head;

	if (!op.posted || !exrnic_carries(qp, &op) ||
	    (flags & ~EXRNIC_SEND_FLAGS) ||
	    ((flags & IBV_SEND_INLINE) && !op.inlines)) {
		verbs_err(verbs_get_ctx(qp->vqp.qp.context),
			  "queue pair %u takes no opcode %u with flags 0x%x\n",
			  qp->number, opcode, flags);
		return EINVAL;
	}

	*head = (struct exrnic_wqe){ .opcode = opcode, .num_slots = 1 };
	if ((flags & IBV_SEND_SIGNALED) || qp->sq_sig_all)
		head->flags |= EXRNIC_WQE_FLAGS_SIGNALED;
	if (flags & IBV_SEND_FENCE)
		head->flags |= EXRNIC_WQE_FLAGS_FENCE;
	/* With others it says nothing. */
	if ((flags & IBV_SEND_SOLICITED) && op.receive)
		head->flags |= EXRNIC_WQE_FLAGS_SOLICITED;
	request->wr_id = wr_id;
	request->ah = NULL;
	return 0;
}

void exrnic_set_datagram(struct exrnic_request *request, struct ibv_ah *ibah,
			 uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct exrnic_ah *ah = to_exrnic_ah(ibah);

	request->ah = ah;
	request->work.head.remote_to =
		ah->destination + (ah->is_group ? 0 : remote_qpn);
	request->work.head.remote_stag = remote_qkey;
}

static int exrnic_set_rights(struct exrnic_request *request, uint32_t rkey,
			     const struct ibv_mw_bind_info *info)
{
	static const struct {
		unsigned int ibv;
		uint32_t right;
	} rights[] = {
		{ IBV_ACCESS_REMOTE_WRITE, EXRNIC_ACCESS_REMOTE_WRITE },
		{ IBV_ACCESS_REMOTE_READ, EXRNIC_ACCESS_REMOTE_READ },
		{ IBV_ACCESS_REMOTE_ATOMIC, EXRNIC_ACCESS_REMOTE_ATOMIC },
	};
	struct exrnic_wqe *head = &request->work.head;
	/* A window is for the peer alone: of local writes it says nothing. */
	unsigned int access = info->mw_access_flags & ~IBV_ACCESS_LOCAL_WRITE;
	unsigned int i;

	for (i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		if (access & rights[i].ibv)
			head->remote_stag |= rights[i].right;
		access &= ~rights[i].ibv;
	}
	if (access || !info->mr || !info->length)
		return EINVAL;
	head->imm_data = rkey;
	head->remote_to = info->addr;
	head->sge0_address = info->length;
	head->sge0_stag = info->mr->lkey;
	return 0;
}

/* By a work request: of type 2, and the key of rkey is the caller's choice. */
int exrnic_set_binding(struct exrnic_request *request,
		       const struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	return mw->type == IBV_MW_TYPE_2 ?
		exrnic_set_rights(request, rkey, info) : EINVAL;
}

static int exrnic_bad_list(struct exrnic_qp *qp, uint32_t count)
{
	verbs_err(verbs_get_ctx(qp->vqp.qp.context),
		  "queue pair %u: %u elements are too many for this work request, or have too many bytes\n",
		  qp->number, count);
	return EINVAL;
}

/* The first element is the header; its place is known later. */
static int exrnic_set_datagram_elements(struct exrnic_qp *qp,
					struct exrnic_request *request,
					const struct ibv_sge *list,
					uint32_t count)
{
	struct ibv_sge all[EXRNIC_MAX_SGE] = {
		{ .length = EXRNIC_GRH_BYTES, .lkey = qp->headers_stag },
	};

	if (count > 0)
		memcpy(all + 1, list, count * sizeof(*list));
	return exrnic_work_put_elements(&request->work, all, count + 1) ?
		0 : exrnic_bad_list(qp, count);
}

static int exrnic_set_atomic_element(struct exrnic_qp *qp,
				     struct exrnic_request *request,
				     const struct ibv_sge *list,
				     uint32_t count)
{
	struct exrnic_wqe *head = &request->work.head;
	struct ibv_sge element;

	if (count != 1 || list->length < EXRNIC_ATOMIC_BYTES)
		return exrnic_bad_list(qp, count);
	element = *list;
	element.length = EXRNIC_ATOMIC_BYTES;
	/* Its operands stand behind: only the first element is written. */
	memcpy(&head->sge0_address, &element, sizeof(element));
	head->num_sge = 1;
	head->length = EXRNIC_ATOMIC_BYTES;
	return 0;
}

int exrnic_set_elements(struct exrnic_qp *qp, struct exrnic_request *request,
			const struct ibv_sge *list, uint32_t count)
{
	const struct exrnic_wqe_opcode_properties op =
		exrnic_of_wqe_opcode(request->work.head.opcode);

	if (op.stays)
		return count ? exrnic_bad_list(qp, count) : 0;
	if (op.atomic)
		return exrnic_set_atomic_element(qp, request, list, count);
	if (count > qp->cap.max_send_sge)
		return exrnic_bad_list(qp, count);
	if (exrnic_is_ud(qp))
		return exrnic_set_datagram_elements(qp, request, list, count);
	/* A read takes a request of the device for each element. */
	if (op.pull &&
	    exrnic_elements_reads(list, count) >
		    atomic_load_explicit(&qp->max_rd_atomic,
					 memory_order_relaxed))
		return exrnic_bad_list(qp, count);
	return exrnic_work_put_elements(&request->work, list, count) ?
		0 : exrnic_bad_list(qp, count);
}

/* Of UD they stand behind the header. */
static int exrnic_set_datagram_inline(struct exrnic_qp *qp,
				      struct exrnic_request *request,
				      const struct ibv_sge *list,
				      uint32_t count)
{
	struct ibv_sge header = { .lkey = qp->headers_stag };
	uint32_t bytes;

	if (!exrnic_gather(request->inline_data, sizeof(request->inline_data),
			   list, count, &bytes))
		return exrnic_bad_list(qp, count);
	header.length = EXRNIC_GRH_BYTES + bytes;
	exrnic_work_put_elements(&request->work, &header, 1);
	return 0;
}

int exrnic_set_inline(struct exrnic_qp *qp, struct exrnic_request *request,
		      const struct ibv_sge *list, uint32_t count)
{
	const struct exrnic_wqe_opcode_properties op =
		exrnic_of_wqe_opcode(request->work.head.opcode);

	if (!op.inlines)
		return exrnic_bad_list(qp, count);
	if (exrnic_is_ud(qp))
		return exrnic_set_datagram_inline(qp, request, list, count);
	if (!exrnic_work_put_inline(&request->work, list, count,
				    qp->cap.max_inline_data))
		return exrnic_bad_list(qp, count);
	request->work.head.flags |= EXRNIC_WQE_FLAGS_INLINE;
	return 0;
}

/* The header's place is that of its slot, which nobody uses any more. */
static int exrnic_put_header(struct exrnic_qp *qp,
			     struct exrnic_request *request)
{
	struct exrnic_wqe *head = &request->work.head;
	const uint32_t slot =
		exrnic_ring_slot(&qp->sq.queue.ring,
				 exrnic_ring_posted(&qp->sq.queue.ring));
	uint8_t *header = (uint8_t *)qp->headers.data +
			  slot * EXRNIC_IB_HEADER_BYTES;

	if (!request->ah) {
		verbs_err(verbs_get_ctx(qp->vqp.qp.context),
			  "queue pair %u: a datagram without an address handle\n",
			  qp->number);
		return EINVAL;
	}
	memcpy(header, request->ah->grh, EXRNIC_GRH_BYTES);
	if (head->sge0_length > EXRNIC_GRH_BYTES)
		memcpy(header + EXRNIC_GRH_BYTES, request->inline_data,
		       head->sge0_length - EXRNIC_GRH_BYTES);
	head->sge0_address = (uintptr_t)header;
	return 0;
}

/* Into the ring; the device is told later. Under sq.lock. */
int exrnic_put_request(struct exrnic_qp *qp, struct exrnic_request *request)
{
	const struct exrnic_wqe_opcode_properties op =
		exrnic_of_wqe_opcode(request->work.head.opcode);
	const uint32_t slots = request->work.head.num_slots;
	int ret;

	if (!exrnic_work_queue_has_room(&qp->sq.queue, slots))
		return ENOMEM;
	if (exrnic_is_ud(qp) && !op.stays) {
		/* One that nobody has given elements has its header. */
		if (!request->work.head.num_sge)
			exrnic_set_datagram_elements(qp, request, NULL, 0);
		ret = exrnic_put_header(qp, request);
		if (ret)
			return ret;
	}
	exrnic_work_queue_put(&qp->sq.queue, &request->work, slots,
			      request->wr_id);
	return 0;
}

/* A work request that was put alone may go to the device whole. */
static bool exrnic_send_by_pio(struct exrnic_qp *qp,
			       const struct exrnic_wqe *wqe)
{
	struct exrnic_context *ctx = to_exrnic_ctx(qp->vqp.qp.context);

	if (!exrnic_suits_block(wqe) || pthread_spin_trylock(&ctx->pio_lock))
		return false;
	exrnic_send_block(&ctx->page, &ctx->pio_next, wqe, qp->number,
			  exrnic_ring_posted(&qp->sq.queue.ring));
	pthread_spin_unlock(&ctx->pio_lock);
	return true;
}

/* Tells the device of all that was put; last: of it, or NULL. Under sq.lock. */
void exrnic_announce_sends(struct exrnic_qp *qp, uint32_t count,
			   const struct exrnic_wqe *last)
{
	struct exrnic_context *ctx = to_exrnic_ctx(qp->vqp.qp.context);

	if (count == 0 || (count == 1 && last && exrnic_send_by_pio(qp, last)))
		return;
	exrnic_ring_announce(&qp->sq.queue.ring, &ctx->page, qp->number);
}

static int exrnic_build_send(struct exrnic_qp *qp,
			     const struct ibv_send_wr *wr,
			     struct exrnic_request *request)
{
	const uint8_t opcode = exrnic_opcode(wr->opcode);
	const struct exrnic_wqe_opcode_properties op =
		exrnic_of_wqe_opcode(opcode);
	struct exrnic_wqe *head = &request->work.head;
	int ret;

	ret = exrnic_begin_request(qp, request, opcode, wr->send_flags,
				   wr->wr_id);
	if (ret)
		return ret;
	if (wr->num_sge < 0 || wr->num_sge > EXRNIC_MAX_SGE)
		return exrnic_bad_list(qp, wr->num_sge);

	if (op.imm)
		head->imm_data = be32toh(wr->imm_data);
	if (op.invalidates)
		head->imm_data = wr->invalidate_rkey;
	if (op.atomic) {
		const bool swaps = opcode == EXRNIC_WQE_OPCODE_COMPARE_SWAP;

		head->remote_to = wr->wr.atomic.remote_addr;
		head->remote_stag = wr->wr.atomic.rkey;
		exrnic_work_put_operands(&request->work,
					 swaps ? wr->wr.atomic.swap :
						 wr->wr.atomic.compare_add,
					 swaps ? wr->wr.atomic.compare_add : 0);
	} else if (op.remote) {
		head->remote_to = wr->wr.rdma.remote_addr;
		head->remote_stag = wr->wr.rdma.rkey;
	}
	if (exrnic_is_ud(qp) && !op.stays && wr->wr.ud.ah)
		exrnic_set_datagram(request, wr->wr.ud.ah,
				    wr->wr.ud.remote_qpn,
				    wr->wr.ud.remote_qkey);

	if (op.binds)
		return exrnic_set_binding(request, wr->bind_mw.mw,
					  wr->bind_mw.rkey,
					  &wr->bind_mw.bind_info);
	if (wr->send_flags & IBV_SEND_INLINE)
		return exrnic_set_inline(qp, request, wr->sg_list,
					 wr->num_sge);
	return exrnic_set_elements(qp, request, wr->sg_list, wr->num_sge);
}

int exrnic_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		     struct ibv_send_wr **bad_wr)
{
	struct exrnic_qp *qp = to_exrnic_qp(ibqp);
	struct exrnic_request request;
	uint32_t count = 0;
	int ret;

	exrnic_lock(&qp->sq.lock);
	ret = exrnic_may_send(qp);
	for (; !ret && wr; wr = wr->next, count++) {
		ret = exrnic_build_send(qp, wr, &request);
		if (!ret)
			ret = exrnic_put_request(qp, &request);
		if (ret)
			break;
	}
	/* What was built of a bad request took the place of the last one. */
	exrnic_announce_sends(qp, count, ret ? NULL : &request.work.head);
	exrnic_unlock(&qp->sq.lock);

	if (ret)
		*bad_wr = wr;
	return ret;
}

/* Under sq.lock. 0, or an errno. */
static int exrnic_build_bind(struct exrnic_qp *qp, struct ibv_mw *mw,
			     const struct ibv_mw_bind *bind,
			     struct exrnic_request *request)
{
	const bool unbinds = !bind->bind_info.length;
	int ret;

	if (exrnic_is_ud(qp))
		return EINVAL;
	ret = exrnic_begin_request(qp, request,
				   unbinds ? EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE :
					     EXRNIC_WQE_OPCODE_BIND_MW,
				   bind->send_flags, bind->wr_id);
	if (ret)
		return ret;
	if (!unbinds)
		return exrnic_set_rights(request, ibv_inc_rkey(mw->rkey),
					 &bind->bind_info);
	request->work.head.imm_data = mw->rkey;
	request->work.head.number = EXRNIC_UNBINDS;
	return 0;
}

/*
 * Of type 1, as libibverbs has checked: it takes the place of the bind before,
 * and with no bytes ends that.
 */
int exrnic_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		   struct ibv_mw_bind *bind)
{
	struct exrnic_qp *qp = to_exrnic_qp(ibqp);
	struct exrnic_request request;
	int ret;

	exrnic_lock(&qp->sq.lock);
	ret = exrnic_may_send(qp);
	if (!ret)
		ret = exrnic_build_bind(qp, mw, bind, &request);
	if (!ret)
		ret = exrnic_put_request(qp, &request);
	if (!ret) {
		exrnic_announce_sends(qp, 1, &request.work.head);
		mw->rkey = ibv_inc_rkey(mw->rkey);
	}
	exrnic_unlock(&qp->sq.lock);
	return ret;
}

/* shape: of the receive queue that is meant. Returns its slots, or 0. */
static uint32_t exrnic_build_recv(const struct exrnic_queue_shape *shape,
				  const struct ibv_recv_wr *wr,
				  struct exrnic_work *work)
{
	if (wr->num_sge < 0 || wr->num_sge > shape->elements)
		return 0;
	work->head = (struct exrnic_wqe){ .opcode = EXRNIC_WQE_OPCODE_RECV };
	return exrnic_work_put_elements(work, wr->sg_list, wr->num_sge);
}

int exrnic_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad_wr)
{
	struct exrnic_context *ctx = to_exrnic_ctx(ibqp->context);
	struct exrnic_qp *qp = to_exrnic_qp(ibqp);
	struct exrnic_wq *rq = &qp->rq;
	struct exrnic_work work;
	uint32_t count = 0;
	int ret = 0;

	if (qp->srq) {
		*bad_wr = wr;
		return EINVAL;
	}

	exrnic_lock(&rq->lock);
	if (atomic_load_explicit(&qp->state, memory_order_relaxed) ==
	    IBV_QPS_RESET)
		ret = EINVAL;
	for (; !ret && wr; wr = wr->next, count++) {
		const uint32_t slots = exrnic_build_recv(&rq->shape, wr, &work);

		if (!slots)
			ret = EINVAL;
		else if (!exrnic_work_queue_has_room(&rq->queue, slots))
			ret = ENOMEM;
		if (ret)
			break;
		exrnic_work_queue_put(&rq->queue, &work, slots, wr->wr_id);
	}
	if (count)
		exrnic_ring_announce(&rq->queue.ring, &ctx->page, qp->number);
	exrnic_unlock(&rq->lock);

	if (ret)
		*bad_wr = wr;
	return ret;
}

int exrnic_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **bad_wr)
{
	struct exrnic_context *ctx = to_exrnic_ctx(ibsrq->context);
	struct exrnic_srq *srq = to_exrnic_srq(ibsrq);
	struct exrnic_work work;
	uint32_t count = 0;
	int ret = 0;

	exrnic_lock(&srq->lock);
	for (; wr; wr = wr->next, count++) {
		const uint32_t slots = exrnic_build_recv(&srq->shape, wr,
							 &work);

		if (!slots)
			ret = EINVAL;
		else if (!exrnic_shared_queue_has_room(&srq->queue, slots))
			ret = ENOMEM;
		if (ret)
			break;
		exrnic_shared_queue_put(&srq->queue, &work, slots, wr->wr_id);
	}
	if (count)
		exrnic_ring_announce(&srq->queue.ring, &ctx->page,
				     srq->number);
	exrnic_unlock(&srq->lock);

	if (ret)
		*bad_wr = wr;
	return ret;
}
