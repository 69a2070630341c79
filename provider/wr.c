// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The builders of ibv_wr_start() to ibv_wr_complete(). A work request is built
 * in the queue pair, and put into the ring when the next one begins or all are
 * complete; the device is told once. From the first error on nothing is put.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "exrnic_verbs.h"

enum {
	EXRNIC_UD_OPS = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
			IBV_QP_EX_WITH_LOCAL_INV,
	EXRNIC_UC_OPS = EXRNIC_UD_OPS | IBV_QP_EX_WITH_RDMA_WRITE |
			IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
			IBV_QP_EX_WITH_BIND_MW,
	EXRNIC_RC_OPS = EXRNIC_UC_OPS | IBV_QP_EX_WITH_SEND_WITH_INV |
			IBV_QP_EX_WITH_RDMA_READ |
			IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
};

static void exrnic_note_error(struct exrnic_qp *qp, int error)
{
	if (!qp->wr_error)
		qp->wr_error = error;
}

/* Puts the one that was built so far. */
static void exrnic_finish_request(struct exrnic_qp *qp)
{
	if (!qp->has_request || qp->wr_error)
		return;
	exrnic_note_error(qp, exrnic_put_request(qp, &qp->request));
	qp->has_request = false;
	qp->wr_count++;
}

/* The head of the next one, to be filled. */
static struct exrnic_wqe *exrnic_next_request(struct ibv_qp_ex *ibqp,
					      uint8_t opcode)
{
	struct exrnic_qp *qp = to_exrnic_qp_ex(ibqp);

	exrnic_finish_request(qp);
	/* Whether it is inline is told by how its data are set. */
	exrnic_note_error(qp, exrnic_begin_request(qp, &qp->request, opcode,
						   ibqp->wr_flags &
							   ~IBV_SEND_INLINE,
						   ibqp->wr_id));
	qp->has_request = true;
	return &qp->request.work.head;
}

static void exrnic_next_remote(struct ibv_qp_ex *ibqp, uint8_t opcode,
			       uint32_t rkey, uint64_t remote_addr,
			       uint32_t imm_data)
{
	struct exrnic_wqe *head = exrnic_next_request(ibqp, opcode);

	head->remote_to = remote_addr;
	head->remote_stag = rkey;
	head->imm_data = imm_data;
}

static void exrnic_wr_rdma_write(struct ibv_qp_ex *ibqp, uint32_t rkey,
				 uint64_t remote_addr)
{
	exrnic_next_remote(ibqp, EXRNIC_WQE_OPCODE_PUSH, rkey, remote_addr, 0);
}

static void exrnic_wr_rdma_write_imm(struct ibv_qp_ex *ibqp, uint32_t rkey,
				     uint64_t remote_addr, __be32 imm_data)
{
	exrnic_next_remote(ibqp, EXRNIC_WQE_OPCODE_PUSH_IMM, rkey, remote_addr,
			   be32toh(imm_data));
}

static void exrnic_wr_rdma_read(struct ibv_qp_ex *ibqp, uint32_t rkey,
				uint64_t remote_addr)
{
	exrnic_next_remote(ibqp, EXRNIC_WQE_OPCODE_PULL, rkey, remote_addr, 0);
}

static void exrnic_wr_atomic_cmp_swp(struct ibv_qp_ex *ibqp, uint32_t rkey,
				     uint64_t remote_addr, uint64_t compare,
				     uint64_t swap)
{
	exrnic_next_remote(ibqp, EXRNIC_WQE_OPCODE_COMPARE_SWAP, rkey,
			   remote_addr, 0);
	exrnic_work_put_operands(&to_exrnic_qp_ex(ibqp)->request.work, swap,
				 compare);
}

static void exrnic_wr_atomic_fetch_add(struct ibv_qp_ex *ibqp, uint32_t rkey,
				       uint64_t remote_addr, uint64_t add)
{
	exrnic_next_remote(ibqp, EXRNIC_WQE_OPCODE_FETCH_ADD, rkey,
			   remote_addr, 0);
	exrnic_work_put_operands(&to_exrnic_qp_ex(ibqp)->request.work, add, 0);
}

static void exrnic_wr_send(struct ibv_qp_ex *ibqp)
{
	exrnic_next_request(ibqp, EXRNIC_WQE_OPCODE_SEND);
}

static void exrnic_wr_send_imm(struct ibv_qp_ex *ibqp, __be32 imm_data)
{
	exrnic_next_request(ibqp, EXRNIC_WQE_OPCODE_SEND_IMM)->imm_data =
		be32toh(imm_data);
}

static void exrnic_wr_send_inv(struct ibv_qp_ex *ibqp,
			       uint32_t invalidate_rkey)
{
	exrnic_next_request(ibqp, EXRNIC_WQE_OPCODE_SEND_INVALIDATE)->imm_data =
		invalidate_rkey;
}

static void exrnic_wr_local_inv(struct ibv_qp_ex *ibqp,
				uint32_t invalidate_rkey)
{
	exrnic_next_request(ibqp, EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE)->imm_data =
		invalidate_rkey;
}

static void exrnic_wr_bind_mw(struct ibv_qp_ex *ibqp, struct ibv_mw *mw,
			      uint32_t rkey,
			      const struct ibv_mw_bind_info *info)
{
	struct exrnic_qp *qp = to_exrnic_qp_ex(ibqp);

	exrnic_next_request(ibqp, EXRNIC_WQE_OPCODE_BIND_MW);
	exrnic_note_error(qp, exrnic_set_binding(&qp->request, mw, rkey,
						 info));
}

static void exrnic_wr_set_ud_addr(struct ibv_qp_ex *ibqp, struct ibv_ah *ah,
				  uint32_t remote_qpn, uint32_t remote_qkey)
{
	exrnic_set_datagram(&to_exrnic_qp_ex(ibqp)->request, ah, remote_qpn,
			    remote_qkey);
}

static void exrnic_wr_set_sge_list(struct ibv_qp_ex *ibqp, size_t num_sge,
				   const struct ibv_sge *list)
{
	struct exrnic_qp *qp = to_exrnic_qp_ex(ibqp);

	if (num_sge > EXRNIC_MAX_SGE)
		exrnic_note_error(qp, EINVAL);
	if (!qp->wr_error)
		exrnic_note_error(qp, exrnic_set_elements(qp, &qp->request,
							  list, num_sge));
}

static void exrnic_wr_set_sge(struct ibv_qp_ex *ibqp, uint32_t lkey,
			      uint64_t addr, uint32_t length)
{
	const struct ibv_sge element = {
		.addr = addr,
		.length = length,
		.lkey = lkey,
	};

	exrnic_wr_set_sge_list(ibqp, 1, &element);
}

static void exrnic_wr_set_inline_data_list(struct ibv_qp_ex *ibqp,
					   size_t num_buf,
					   const struct ibv_data_buf *list)
{
	struct exrnic_qp *qp = to_exrnic_qp_ex(ibqp);
	struct ibv_sge elements[EXRNIC_MAX_SGE];
	size_t i;

	if (num_buf > EXRNIC_MAX_SGE)
		exrnic_note_error(qp, EINVAL);
	if (qp->wr_error)
		return;
	for (i = 0; i < num_buf; i++) {
		elements[i].addr = (uintptr_t)list[i].addr;
		/* No length that 32 bits do not hold passes as a short one. */
		elements[i].length = list[i].length > UINT32_MAX ?
			UINT32_MAX : list[i].length;
	}
	exrnic_note_error(qp, exrnic_set_inline(qp, &qp->request, elements,
						num_buf));
}

static void exrnic_wr_set_inline_data(struct ibv_qp_ex *ibqp, void *addr,
				      size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	exrnic_wr_set_inline_data_list(ibqp, 1, &buf);
}

static void exrnic_wr_start(struct ibv_qp_ex *ibqp)
{
	struct exrnic_qp *qp = to_exrnic_qp_ex(ibqp);

	exrnic_lock(&qp->sq.lock);
	qp->wr_error = exrnic_may_send(qp);
	qp->has_request = false;
	qp->wr_count = 0;
	qp->wr_tail = exrnic_ring_posted(&qp->sq.queue.ring);
}

static int exrnic_wr_complete(struct ibv_qp_ex *ibqp)
{
	struct exrnic_qp *qp = to_exrnic_qp_ex(ibqp);
	int ret;

	exrnic_finish_request(qp);
	ret = qp->wr_error;
	if (ret)
		exrnic_work_queue_take_back(&qp->sq.queue, qp->wr_tail);
	else
		exrnic_announce_sends(qp, qp->wr_count,
				      &qp->request.work.head);
	exrnic_unlock(&qp->sq.lock);
	return ret;
}

static void exrnic_wr_abort(struct ibv_qp_ex *ibqp)
{
	struct exrnic_qp *qp = to_exrnic_qp_ex(ibqp);

	exrnic_work_queue_take_back(&qp->sq.queue, qp->wr_tail);
	exrnic_unlock(&qp->sq.lock);
}

static uint64_t exrnic_ops_of(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return EXRNIC_RC_OPS;
	case IBV_QPT_UC:
		return EXRNIC_UC_OPS;
	default:
		return EXRNIC_UD_OPS;
	}
}

/* Those that were asked for. 0, or an errno: its service lacks one. */
int exrnic_set_wr_ops(struct exrnic_qp *qp, enum ibv_qp_type type,
		      uint64_t send_ops)
{
	struct ibv_qp_ex *ops = &qp->vqp.qp_ex;

	if (!check_comp_mask(send_ops, exrnic_ops_of(type)))
		return EOPNOTSUPP;

	if (send_ops & IBV_QP_EX_WITH_RDMA_WRITE)
		ops->wr_rdma_write = exrnic_wr_rdma_write;
	if (send_ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
		ops->wr_rdma_write_imm = exrnic_wr_rdma_write_imm;
	if (send_ops & IBV_QP_EX_WITH_SEND)
		ops->wr_send = exrnic_wr_send;
	if (send_ops & IBV_QP_EX_WITH_SEND_WITH_IMM)
		ops->wr_send_imm = exrnic_wr_send_imm;
	if (send_ops & IBV_QP_EX_WITH_SEND_WITH_INV)
		ops->wr_send_inv = exrnic_wr_send_inv;
	if (send_ops & IBV_QP_EX_WITH_RDMA_READ)
		ops->wr_rdma_read = exrnic_wr_rdma_read;
	if (send_ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
		ops->wr_atomic_cmp_swp = exrnic_wr_atomic_cmp_swp;
	if (send_ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
		ops->wr_atomic_fetch_add = exrnic_wr_atomic_fetch_add;
	if (send_ops & IBV_QP_EX_WITH_BIND_MW)
		ops->wr_bind_mw = exrnic_wr_bind_mw;
	if (send_ops & IBV_QP_EX_WITH_LOCAL_INV)
		ops->wr_local_inv = exrnic_wr_local_inv;

	ops->wr_set_ud_addr = exrnic_wr_set_ud_addr;
	ops->wr_set_sge = exrnic_wr_set_sge;
	ops->wr_set_sge_list = exrnic_wr_set_sge_list;
	ops->wr_set_inline_data = exrnic_wr_set_inline_data;
	ops->wr_set_inline_data_list = exrnic_wr_set_inline_data_list;
	ops->wr_start = exrnic_wr_start;
	ops->wr_complete = exrnic_wr_complete;
	ops->wr_abort = exrnic_wr_abort;
	return 0;
}
