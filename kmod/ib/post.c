// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Work requests of kernel users. A device that has been cut off takes them, too: they are flushed. */
#include <linux/string.h>

#include "ib.h"

/* What the work requests of a list are put into. */
struct exrnic_ib_bell {
	const struct exrnic_user_page *page;
	u32 number;
};

static int exrnic_ib_wqe_opcode(enum ib_wr_opcode opcode)
{
	switch (opcode) {
	case IB_WR_RDMA_WRITE:
		return EXRNIC_WQE_OPCODE_PUSH;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return EXRNIC_WQE_OPCODE_PUSH_IMM;
	case IB_WR_SEND:
		return EXRNIC_WQE_OPCODE_SEND;
	case IB_WR_SEND_WITH_IMM:
		return EXRNIC_WQE_OPCODE_SEND_IMM;
	case IB_WR_SEND_WITH_INV:
		return EXRNIC_WQE_OPCODE_SEND_INVALIDATE;
	case IB_WR_RDMA_READ:
		return EXRNIC_WQE_OPCODE_PULL;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return EXRNIC_WQE_OPCODE_COMPARE_SWAP;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return EXRNIC_WQE_OPCODE_FETCH_ADD;
	case IB_WR_LOCAL_INV:
		return EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE;
	case IB_WR_REG_MR:
		return EXRNIC_WQE_OPCODE_FAST_REGISTER;
	default:
		return -EINVAL;
	}
}

static u8 exrnic_ib_wqe_flags(const struct exrnic_ib_qp *qp, const struct ib_send_wr *wr,
			      const struct exrnic_wqe_opcode_properties *op)
{
	u8 flags = 0;

	if (qp->signal_all || (wr->send_flags & IB_SEND_SIGNALED))
		flags |= EXRNIC_WQE_FLAGS_SIGNALED;
	if (wr->send_flags & IB_SEND_FENCE)
		flags |= EXRNIC_WQE_FLAGS_FENCE;
	if ((wr->send_flags & IB_SEND_SOLICITED) && op->receive)
		flags |= EXRNIC_WQE_FLAGS_SOLICITED;
	return flags;
}

/* These are given the elements' place, and return the slots, or an error. */

static int exrnic_ib_put_elements(struct exrnic_work *work, unsigned int first, const struct ib_sge *list,
				  unsigned int count, unsigned int most)
{
	struct exrnic_sge *to = (struct exrnic_sge *)exrnic_work_payload(work) + first;
	u64 length = le32_to_cpu(work->head.length);
	unsigned int i;

	if (first + count > most)
		return -EINVAL;
	for (i = 0; i < count; i++) {
		to[i].address = cpu_to_le64(list[i].addr);
		to[i].length = cpu_to_le32(list[i].length);
		to[i].stag = cpu_to_le32(list[i].lkey);
		length += list[i].length;
	}
	if (length > EXRNIC_MESSAGE_MAX)
		return -EINVAL;
	work->head.num_sge = first + count;
	work->head.length = cpu_to_le32(length);
	return exrnic_slots_for_elements(first + count);
}

/* Elements of inline data are addresses of the kernel's. */
static int exrnic_ib_gather(u8 *to, const struct ib_send_wr *wr, u32 most)
{
	u32 length = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length > most - length)
			return -EINVAL;
		memcpy(to + length, (const void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		length += wr->sg_list[i].length;
	}
	return length;
}

static int exrnic_ib_put_inline(struct exrnic_ib_qp *qp, const struct ib_send_wr *wr, struct exrnic_work *work)
{
	int length = exrnic_ib_gather(exrnic_work_payload(work), wr, qp->sq.inline_bytes);

	if (length < 0)
		return length;
	work->head.flags |= EXRNIC_WQE_FLAGS_INLINE;
	work->head.length = cpu_to_le32(length);
	return exrnic_slots_for_bytes(length);
}

static int exrnic_ib_put_atomic(const struct ib_send_wr *wr, struct exrnic_work *work)
{
	const struct ib_atomic_wr *atomic = atomic_wr(wr);
	int slots = exrnic_ib_put_elements(work, 0, wr->sg_list, wr->num_sge, 1);

	if (slots < 0 || le32_to_cpu(work->head.length) != EXRNIC_ATOMIC_BYTES)
		return -EINVAL;
	work->head.remote_to = cpu_to_le64(atomic->remote_addr);
	work->head.remote_stag = cpu_to_le32(atomic->rkey);
	if (wr->opcode == IB_WR_ATOMIC_FETCH_AND_ADD) {
		work->head.sge1_address = cpu_to_le64(atomic->compare_add);
		return slots;
	}
	work->head.sge1_address = cpu_to_le64(atomic->swap);
	work->head.sge1_length = cpu_to_le32(lower_32_bits(atomic->compare_add));
	work->head.sge1_stag = cpu_to_le32(upper_32_bits(atomic->compare_add));
	return slots;
}

static int exrnic_ib_put_registration(const struct ib_send_wr *wr, struct exrnic_work *work)
{
	const struct ib_reg_wr *reg = reg_wr(wr);
	const struct exrnic_ib_mr *mr = exrnic_ib_mr(reg->mr);
	u32 rights;
	int err = exrnic_ib_access(reg->access, &rights);

	if (err || !mr->pages)
		return err ? err : -EINVAL;
	work->head.imm_data = cpu_to_le32(reg->key);
	work->head.remote_to = cpu_to_le64(reg->mr->iova);
	work->head.remote_stag = cpu_to_le32(rights);
	work->head.sge0_address = cpu_to_le64(reg->mr->length);
	work->head.sge0_length = cpu_to_le32(EXRNIC_PAGE_SHIFT);
	work->head.sge1_address = cpu_to_le64(mr->memory.bus);
	return 1;
}

/*
 * A MAD is copied behind its GRH: what the device could not read would end the general services, and ib_mad, which hopes that
 * their receives go on whatever becomes of what it sends, knows no way back.
 */
static int exrnic_ib_gather_mad(struct exrnic_ib_qp *qp, u8 *to, const struct ib_send_wr *wr)
{
	u32 length = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *element = &wr->sg_list[i];
		const void *from;

		if (element->lkey != qp->ibqp.pd->local_dma_lkey || element->length > sizeof(struct ib_mad) - length)
			return -EINVAL;
		from = exrnic_ib_cpu_address(qp->ibqp.device, element->addr);
		if (!from)
			return -EFAULT;
		memcpy(to + length, from, element->length);
		length += element->length;
	}
	return length;
}

/* The GRH of its address handle stands in front of it, at the place of the slot that comes next. */
static int exrnic_ib_put_datagram(struct exrnic_ib_qp *qp, const struct ib_send_wr *wr, struct exrnic_work *work)
{
	const u32 slot = exrnic_ring_slot(&qp->sq.path.ring, exrnic_ring_posted(&qp->sq.path.ring));
	const struct ib_ud_wr *ud = ud_wr(wr);
	const struct exrnic_ib_ah *ah = exrnic_ib_ah(ud->ah);
	u8 *header = qp->headers.address + slot * exrnic_ib_header_bytes(qp);
	const bool is_mad = qp->ibqp.qp_type == IB_QPT_GSI;
	const struct ib_sge element = {
		.addr = (uintptr_t)header,
		.length = EXRNIC_GRH_BYTES,
		.lkey = qp->headers_mr.stag,
	};
	int slots, length;

	if (wr->opcode != IB_WR_SEND && wr->opcode != IB_WR_SEND_WITH_IMM)
		return -EINVAL;
	/* The device would end the queue pair, which may be that of the general services. */
	if (!ah->is_group && ud->remote_qpn >= EXRNIC_RESERVED_QPN)
		return -EINVAL;
	work->head.remote_to = cpu_to_le64(ah->destination + (ah->is_group ? 0 : ud->remote_qpn));
	work->head.remote_stag = cpu_to_le32(ud->remote_qkey);
	memcpy(header, ah->grh, sizeof(ah->grh));
	slots = exrnic_ib_put_elements(work, 0, &element, 1, qp->sq.elements);
	if (slots < 0)
		return slots;
	if (!(wr->send_flags & IB_SEND_INLINE) && !is_mad) {
		slots = exrnic_ib_put_elements(work, 1, wr->sg_list, wr->num_sge, qp->sq.elements);
	} else {
		length = is_mad ? exrnic_ib_gather_mad(qp, header + sizeof(ah->grh), wr) :
				  exrnic_ib_gather(header + sizeof(ah->grh), wr, qp->sq.inline_bytes);
		if (length < 0)
			return length;
		work->head.length = cpu_to_le32(EXRNIC_GRH_BYTES + length);
		work->head.sge0_length = work->head.length;
	}
	if (le32_to_cpu(work->head.length) > exrnic_ib_device(qp->ibqp.device)->identity.mtu)
		return -EINVAL;
	return slots;
}

static int exrnic_ib_put_connected(struct exrnic_ib_qp *qp, const struct ib_send_wr *wr,
				   const struct exrnic_wqe_opcode_properties *op, struct exrnic_work *work)
{
	if (op->registers)
		return exrnic_ib_put_registration(wr, work);
	if (op->atomic)
		return exrnic_ib_put_atomic(wr, work);
	if (op->remote) {
		work->head.remote_to = cpu_to_le64(rdma_wr(wr)->remote_addr);
		work->head.remote_stag = cpu_to_le32(rdma_wr(wr)->rkey);
	}
	if (op->stays)
		return wr->num_sge ? -EINVAL : 1;
	if ((wr->send_flags & IB_SEND_INLINE) && op->inlines)
		return exrnic_ib_put_inline(qp, wr, work);
	return exrnic_ib_put_elements(work, 0, wr->sg_list, wr->num_sge, qp->sq.elements);
}

static int exrnic_ib_build_send(struct exrnic_ib_qp *qp, const struct ib_send_wr *wr, struct exrnic_work *work)
{
	const int opcode = exrnic_ib_wqe_opcode(wr->opcode);
	struct exrnic_wqe_opcode_properties op;

	if (opcode < 0 || wr->num_sge < 0)
		return -EINVAL;
	op = exrnic_of_wqe_opcode(opcode);
	memset(work, 0, sizeof(*work));
	work->head.opcode = opcode;
	work->head.flags = exrnic_ib_wqe_flags(qp, wr, &op);
	if (op.imm)
		work->head.imm_data = cpu_to_le32(be32_to_cpu(wr->ex.imm_data));
	if (op.invalidates)
		work->head.imm_data = cpu_to_le32(wr->ex.invalidate_rkey);
	if (qp->service == EXRNIC_SERVICE_UD && !op.stays)
		return exrnic_ib_put_datagram(qp, wr, work);
	return exrnic_ib_put_connected(qp, wr, &op, work);
}

static bool exrnic_ib_may_send(const struct exrnic_ib_qp *qp)
{
	const enum ib_qp_state state = READ_ONCE(qp->state);

	return state == IB_QPS_RTS || state == IB_QPS_SQD || state == IB_QPS_ERR;
}

/* The device need not be able to read what it ends: which slots are one request stands beside them. */
static void exrnic_ib_put(struct exrnic_ib_queue *queue, const struct exrnic_work *work, u32 slots, u64 wr_id)
{
	const struct exrnic_ring *ring = &queue->path.ring;
	u32 i;

	for (i = 0; i < slots; i++)
		queue->parts[exrnic_ring_slot(ring, exrnic_ring_posted(ring) + i)] = i;
	exrnic_work_queue_put(&queue->path, work, slots, wr_id);
}

int exrnic_ib_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct exrnic_ib_qp *qp = exrnic_ib_qp(ibqp);
	struct exrnic_work_queue *queue = &qp->sq.path;
	struct exrnic_work work;
	unsigned long irq;
	bool put = false;
	int slots, err;

	spin_lock_irqsave(&qp->sq.lock, irq);
	err = exrnic_ib_may_send(qp) ? 0 : -EINVAL;
	for (; !err && wr; wr = err ? wr : wr->next) {
		/* What a datagram has in front is written where the next slot has its place. */
		slots = exrnic_work_queue_has_room(queue, 1) ? exrnic_ib_build_send(qp, wr, &work) : -ENOMEM;
		if (slots < 0) {
			err = slots;
		} else if (!exrnic_work_queue_has_room(queue, slots)) {
			err = -ENOMEM;
		} else {
			work.head.num_slots = slots;
			exrnic_ib_put(&qp->sq, &work, slots, wr->wr_id);
			put = true;
		}
	}
	if (put)
		exrnic_ring_announce(&queue->ring, &exrnic_ib_device(ibqp->device)->user_page, qp->qp.qpn);
	spin_unlock_irqrestore(&qp->sq.lock, irq);
	exrnic_ib_flush_if_cut_off(exrnic_ib_device(ibqp->device));
	if (err)
		*bad = wr;
	return err;
}

/* ---- Receives */

static int exrnic_ib_build_receive(const struct ib_recv_wr *wr, u32 elements, struct exrnic_work *work)
{
	int slots;

	if (wr->num_sge < 0)
		return -EINVAL;
	memset(work, 0, sizeof(*work));
	work->head.opcode = EXRNIC_WQE_OPCODE_RECV;
	slots = exrnic_ib_put_elements(work, 0, wr->sg_list, wr->num_sge, elements);
	if (slots > 0)
		work->head.num_slots = slots;
	return slots;
}

int exrnic_ib_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct exrnic_ib_qp *qp = exrnic_ib_qp(ibqp);
	struct exrnic_work_queue *queue = &qp->rq.path;
	struct exrnic_work work;
	unsigned long irq;
	bool put = false;
	int slots, err;

	spin_lock_irqsave(&qp->rq.lock, irq);
	err = ibqp->srq || READ_ONCE(qp->state) == IB_QPS_RESET ? -EINVAL : 0;
	for (; !err && wr; wr = err ? wr : wr->next) {
		slots = exrnic_ib_build_receive(wr, qp->rq.elements, &work);
		if (slots < 0) {
			err = slots;
		} else if (!exrnic_work_queue_has_room(queue, slots)) {
			err = -ENOMEM;
		} else {
			if (qp->buffers && wr->num_sge)
				qp->buffers[exrnic_ring_slot(&queue->ring, exrnic_ring_posted(&queue->ring))] =
					wr->sg_list[0].addr;
			exrnic_ib_put(&qp->rq, &work, slots, wr->wr_id);
			put = true;
		}
	}
	if (put)
		exrnic_ring_announce(&queue->ring, &exrnic_ib_device(ibqp->device)->user_page, qp->qp.qpn);
	spin_unlock_irqrestore(&qp->rq.lock, irq);
	exrnic_ib_flush_if_cut_off(exrnic_ib_device(ibqp->device));
	if (err)
		*bad = wr;
	return err;
}

int exrnic_ib_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct exrnic_ib_srq *srq = exrnic_ib_srq(ibsrq);
	struct exrnic_work work;
	unsigned long irq;
	bool put = false;
	int slots, err = 0;

	spin_lock_irqsave(&srq->lock, irq);
	for (; !err && wr; wr = err ? wr : wr->next) {
		slots = exrnic_ib_build_receive(wr, srq->elements, &work);
		if (slots < 0) {
			err = slots;
		} else if (!exrnic_shared_queue_has_room(&srq->path, slots)) {
			err = -ENOMEM;
		} else {
			exrnic_shared_queue_put(&srq->path, &work, slots, wr->wr_id);
			put = true;
		}
	}
	if (put)
		exrnic_ring_announce(&srq->path.ring, &exrnic_ib_device(ibsrq->device)->user_page, srq->srq.srqn);
	spin_unlock_irqrestore(&srq->lock, irq);
	if (err)
		*bad = wr;
	return err;
}
