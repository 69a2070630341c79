// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Completion queues; kernel users poll them here, processes by themselves. */
#include <linux/log2.h>

#include "ib.h"

/* So often in a jiffy an armed queue of a process is news. */
#define EXRNIC_IB_CQ_FIRES	16

/* A process may arm its queue as often as it likes, and nobody need read what that tells: then its vector pauses. */
static bool exrnic_ib_cq_is_news(struct exrnic_ib_cq *cq)
{
	if (!cq->ibcq.uobject)
		return true;
	if (!cq->ibcq.cq_context)
		return false;
	if (cq->fired_in != jiffies) {
		cq->fired_in = jiffies;
		cq->fired = 0;
	}
	return cq->fired++ < EXRNIC_IB_CQ_FIRES;
}

static bool exrnic_ib_cq_fired(struct exrnic_cq *core)
{
	struct exrnic_ib_cq *cq = container_of(core, struct exrnic_ib_cq, cq);

	WRITE_ONCE(cq->armed, false);
	cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
	return exrnic_ib_cq_is_news(cq);
}

/* Once of a ring: what is told waits in memory of the kernel. */
static void exrnic_ib_cq_overran(struct exrnic_cq *core)
{
	struct exrnic_ib_cq *cq = container_of(core, struct exrnic_ib_cq, cq);
	struct ib_cq *ibcq = &cq->ibcq;
	struct ib_event event = {
		.device = ibcq->device,
		.element.cq = ibcq,
		.event = IB_EVENT_CQ_ERR,
	};

	if (ibcq->event_handler && !xchg(&cq->overran, true))
		ibcq->event_handler(&event, ibcq->cq_context);
}

static int exrnic_ib_cq_user_ring(struct exrnic_ib_cq *cq, struct ib_udata *udata, u32 entries, u32 *log)
{
	struct exrnic_ib_create_cq request;
	int err = exrnic_ib_take(udata, &request, sizeof(request));

	if (err)
		return err;
	if (request.rsvd || request.log_entries < EXRNIC_RING_LOG_MIN ||
	    request.log_entries > EXRNIC_CQ_LOG_MAX || BIT(request.log_entries) < entries)
		return -EINVAL;
	*log = request.log_entries;
	return exrnic_ib_memory_pin(cq->ibcq.device, &cq->ring, request.ring,
				    sizeof(struct exrnic_cqe) << *log, IB_ACCESS_LOCAL_WRITE);
}

static int exrnic_ib_cq_kernel_ring(struct exrnic_ib_cq *cq, u32 entries, u32 *log)
{
	*log = ilog2(exrnic_cq_ring_for(entries));
	return exrnic_ib_memory_alloc(cq->ibcq.device, &cq->ring, sizeof(struct exrnic_cqe) << *log);
}

int exrnic_ib_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			struct exrnic_ib_caller *caller)
{
	struct ib_udata *udata = EXRNIC_IB_UDATA(caller);
	struct exrnic_device *edev = exrnic_ib_edev(ibcq->device);
	struct exrnic_ib_cq *cq = exrnic_ib_cq(ibcq);
	struct exrnic_cq_attr core = {
		.ring = &cq->ring.pbl,
		.page = exrnic_ib_page_of(ibcq->device, udata),
		.comp_vector = attr->comp_vector % exrnic_device_limits(edev)->comp_vectors,
	};
	struct exrnic_ib_create_cq_resp answer = {};
	int err;

	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > exrnic_cq_capacity(BIT(EXRNIC_CQ_LOG_MAX)))
		return -EINVAL;
	spin_lock_init(&cq->lock);
	mutex_init(&cq->resize_lock);
	INIT_LIST_HEAD(&cq->senders);
	INIT_LIST_HEAD(&cq->receivers);
	cq->user = exrnic_ib_user_of(udata);
	err = exrnic_ib_charge(cq->user, EXRNIC_KIND_CQ, 1);
	if (err)
		return err;
	if (udata)
		err = exrnic_ib_cq_user_ring(cq, udata, attr->cqe, &core.log_entries);
	else
		err = exrnic_ib_cq_kernel_ring(cq, attr->cqe, &core.log_entries);
	if (err)
		goto err_charge;
	cq->cq.completion = exrnic_ib_cq_fired;
	cq->cq.overrun = exrnic_ib_cq_overran;
	err = exrnic_cq_create(edev, &cq->cq, &core);
	if (err)
		goto err_ring;
	ibcq->cqe = exrnic_cq_capacity(BIT(core.log_entries));
	cq->path.entries = cq->ring.address;
	cq->path.num_entries = BIT(core.log_entries);
	cq->path.number = cq->cq.cqn;
	answer.cqn = cq->cq.cqn;
	if (!udata) {
		exrnic_ib_flush_add_cq(cq);
		return 0;
	}
	err = exrnic_ib_tell(udata, &answer, sizeof(answer));
	if (!err)
		return 0;
	exrnic_cq_destroy(edev, &cq->cq);
err_ring:
	exrnic_ib_memory_free(ibcq->device, &cq->ring);
err_charge:
	exrnic_ib_uncharge(cq->user, EXRNIC_KIND_CQ, 1);
	return err;
}

int exrnic_ib_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct exrnic_ib_cq *cq = exrnic_ib_cq(ibcq);

	if (!ibcq->uobject)
		exrnic_ib_flush_remove_cq(cq);
	exrnic_cq_destroy(exrnic_ib_edev(ibcq->device), &cq->cq);
	/* The RDMA core has cancelled it before; what has fired since may have begun it anew. */
	if (!ibcq->uobject && (ibcq->poll_ctx == IB_POLL_WORKQUEUE || ibcq->poll_ctx == IB_POLL_UNBOUND_WORKQUEUE))
		cancel_work_sync(&ibcq->work);
	exrnic_ib_memory_free(ibcq->device, &cq->ring);
	exrnic_ib_uncharge(cq->user, EXRNIC_KIND_CQ, 1);
	return 0;
}

/* A process's: nobody resizes one within the kernel. */
int exrnic_ib_resize_cq(struct ib_cq *ibcq, exrnic_ib_entries entries, struct ib_udata *udata)
{
	struct exrnic_ib_cq *cq = exrnic_ib_cq(ibcq);
	struct exrnic_ib_resize_cq_resp answer = {};
	struct exrnic_ib_memory ring = {};
	struct exrnic_ib_resize_cq request;
	int err;

	if (!udata)
		return -EOPNOTSUPP;
	err = exrnic_ib_take(udata, &request, sizeof(request));
	if (err)
		return err;
	if (request.rsvd || entries < 1 || request.log_entries < EXRNIC_RING_LOG_MIN ||
	    request.log_entries > EXRNIC_CQ_LOG_MAX || udata->outlen < sizeof(answer))
		return -EINVAL;
	err = exrnic_ib_memory_pin(ibcq->device, &ring, request.ring,
				   sizeof(struct exrnic_cqe) << request.log_entries, IB_ACCESS_LOCAL_WRITE);
	if (err)
		return err;
	mutex_lock(&cq->resize_lock);
	err = exrnic_cq_resize(exrnic_ib_edev(ibcq->device), &cq->cq, &ring.pbl, request.log_entries,
			       &answer.producer);
	if (!err) {
		swap(ring, cq->ring);
		ibcq->cqe = exrnic_cq_capacity(BIT(request.log_entries));
		WRITE_ONCE(cq->overran, false);
	}
	mutex_unlock(&cq->resize_lock);
	exrnic_ib_memory_free(ibcq->device, &ring);
	return err ? err : exrnic_ib_tell(udata, &answer, sizeof(answer));
}

int exrnic_ib_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	const bool solicited = (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED;
	struct exrnic_ib_cq *cq = exrnic_ib_cq(ibcq);
	unsigned long irq;
	bool missed;

	spin_lock_irqsave(&cq->lock, irq);
	WRITE_ONCE(cq->armed, true);
	exrnic_cq_report(&cq->path, &exrnic_ib_device(ibcq->device)->user_page,
			 solicited ? EXRNIC_DOORBELL_CQ_ARM_SOLICITED : EXRNIC_DOORBELL_CQ_ARM);
	missed = exrnic_cq_at(&cq->path, cq->path.consumer) || exrnic_ib_flush_is_due(cq);
	spin_unlock_irqrestore(&cq->lock, irq);
	exrnic_ib_flush_if_cut_off(exrnic_ib_device(ibcq->device));
	return missed && (flags & IB_CQ_REPORT_MISSED_EVENTS);
}

/* ---- Polling */

static enum ib_wc_status exrnic_ib_status(u8 status)
{
	switch (status) {
	case EXRNIC_CQE_STATUS_SUCCESS:
		return IB_WC_SUCCESS;
	case EXRNIC_CQE_STATUS_LOC_LEN_ERR:
		return IB_WC_LOC_LEN_ERR;
	case EXRNIC_CQE_STATUS_LOC_QP_OP_ERR:
		return IB_WC_LOC_QP_OP_ERR;
	case EXRNIC_CQE_STATUS_LOC_PROT_ERR:
		return IB_WC_LOC_PROT_ERR;
	case EXRNIC_CQE_STATUS_WR_FLUSH_ERR:
		return IB_WC_WR_FLUSH_ERR;
	case EXRNIC_CQE_STATUS_REM_ACCESS_ERR:
		return IB_WC_REM_ACCESS_ERR;
	case EXRNIC_CQE_STATUS_REM_OP_ERR:
		return IB_WC_REM_OP_ERR;
	case EXRNIC_CQE_STATUS_RETRY_EXC_ERR:
		return IB_WC_RETRY_EXC_ERR;
	case EXRNIC_CQE_STATUS_RNR_RETRY_EXC_ERR:
		return IB_WC_RNR_RETRY_EXC_ERR;
	default:
		return IB_WC_GENERAL_ERR;
	}
}

/* Who sent a datagram: the GRH in front of it is what its sender says. */
static void exrnic_ib_sender(struct ib_wc *wc, u32 detail)
{
	const u32 node = detail >> EXRNIC_SENDER_NODE_SHIFT;

	wc->src_qp = detail & (BIT(EXRNIC_SENDER_NODE_SHIFT) - 1);
	exrnic_ib_mac_of(node, wc->smac);
	wc->wc_flags |= IB_WC_GRH | IB_WC_WITH_SMAC;
}

static void exrnic_ib_receive(struct ib_wc *wc, const struct exrnic_cqe *cqe)
{
	if (cqe->flags & EXRNIC_CQE_FLAGS_IMM) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = cpu_to_be32(le32_to_cpu(cqe->imm_data));
	}
	if (cqe->flags & EXRNIC_CQE_FLAGS_INVALIDATED) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = le32_to_cpu(cqe->imm_data);
	}
	if (cqe->flags & EXRNIC_CQE_FLAGS_SENDER)
		exrnic_ib_sender(wc, le32_to_cpu(cqe->detail));
}

/* Ends the work that it speaks of. False: there is none. */
static bool exrnic_ib_complete(struct exrnic_ib_cq *cq, const struct exrnic_cqe *cqe, struct ib_wc *wc)
{
	struct exrnic_ib_device *dev = exrnic_ib_device(cq->ibcq.device);
	struct exrnic_ib_qp *qp = xa_load(&dev->qps, le32_to_cpu(cqe->qpn));
	const u16 index = le16_to_cpu(cqe->wqe_index);

	if (!qp)
		return false;
	wc->qp = &qp->ibqp;
	if (cqe->opcode != EXRNIC_WQE_OPCODE_RECV)
		return qp->ibqp.send_cq == &cq->ibcq &&
		       exrnic_work_queue_complete(&qp->sq.path, index, &wc->wr_id);
	if (qp->ibqp.recv_cq != &cq->ibcq)
		return false;
	if (qp->ibqp.srq)
		return exrnic_shared_queue_complete(&exrnic_ib_srq(qp->ibqp.srq)->path, index, &wc->wr_id);
	return exrnic_work_queue_complete(&qp->rq.path, index, &wc->wr_id);
}

static bool exrnic_ib_translate(struct exrnic_ib_cq *cq, const struct exrnic_cqe *cqe, struct ib_wc *wc)
{
	memset(wc, 0, sizeof(*wc));
	if (!exrnic_ib_complete(cq, cqe, wc))
		return false;
	wc->status = exrnic_ib_status(cqe->status);
	wc->opcode = exrnic_ib_wc_opcode(cqe->opcode);
	wc->byte_len = le32_to_cpu(cqe->byte_length);
	wc->port_num = EXRNIC_IB_PORT;
	wc->vendor_err = cqe->status ? le32_to_cpu(cqe->detail) : 0;
	if (wc->opcode != IB_WC_RECV)
		return true;
	exrnic_ib_receive(wc, cqe);
	if (cqe->flags & EXRNIC_CQE_FLAGS_WRITTEN)
		wc->opcode = IB_WC_RECV_RDMA_WITH_IMM;
	return true;
}

/* Of the general services: where the receive lies, in memory that its owner has from now on. */
static u64 exrnic_ib_buffer_of(const struct ib_wc *wc, const struct exrnic_cqe *cqe)
{
	const struct exrnic_ib_qp *qp = exrnic_ib_qp(wc->qp);

	if (!qp->buffers || wc->opcode != IB_WC_RECV || wc->status)
		return 0;
	return qp->buffers[exrnic_ring_slot(&qp->rq.path.ring, le16_to_cpu(cqe->wqe_index))];
}

/* Who polls may ask again. */
#define EXRNIC_IB_POLL_MOST	16

int exrnic_ib_poll_cq(struct ib_cq *ibcq, int most, struct ib_wc *wcs)
{
	struct exrnic_ib_cq *cq = exrnic_ib_cq(ibcq);
	u64 buffers[EXRNIC_IB_POLL_MOST];
	const struct exrnic_cqe *cqe;
	unsigned long irq;
	int taken = 0, i;

	most = min(most, EXRNIC_IB_POLL_MOST);
	spin_lock_irqsave(&cq->lock, irq);
	while (taken < most) {
		cqe = exrnic_cq_at(&cq->path, cq->path.consumer);
		if (!cqe)
			break;
		if (exrnic_ib_translate(cq, cqe, &wcs[taken])) {
			buffers[taken] = exrnic_ib_buffer_of(&wcs[taken], cqe);
			taken++;
		}
		cq->path.consumer++;
	}
	exrnic_cq_report_if_due(&cq->path, &exrnic_ib_device(ibcq->device)->user_page, cq->path.num_entries);
	/* Behind all that the device has told. */
	if (taken < most && exrnic_ib_flush_may_begin(cq)) {
		memset(buffers + taken, 0, (most - taken) * sizeof(*buffers));
		taken += exrnic_ib_flush_take(cq, most - taken, wcs + taken);
	}
	spin_unlock_irqrestore(&cq->lock, irq);
	/* Their queue pair may be gone from here on. */
	for (i = 0; i < taken; i++)
		if (buffers[i])
			exrnic_ib_check_source(ibcq->device, &wcs[i], buffers[i]);
	return taken;
}

void exrnic_ib_cq_drop(struct exrnic_ib_cq *cq, u32 qpn, struct exrnic_shared_queue *shared)
{
	unsigned long irq;

	spin_lock_irqsave(&cq->lock, irq);
	exrnic_cq_drop(&cq->path, qpn, shared);
	exrnic_cq_report_if_due(&cq->path, &exrnic_ib_device(cq->ibcq.device)->user_page, cq->path.num_entries);
	spin_unlock_irqrestore(&cq->lock, irq);
}
