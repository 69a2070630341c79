// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A device that has been cut off completes nothing any more, and kernel users wait for each of their work requests: who
 * ends a queue pair drains it first. So what was posted to it, and what is posted from then on, completes here, as
 * flushed. Processes are told that the device is gone. What shared receive queues hold is nobody's yet.
 */
#include "ib.h"

enum ib_wc_opcode exrnic_ib_wc_opcode(u8 opcode)
{
	switch (opcode) {
	case EXRNIC_WQE_OPCODE_PUSH:
	case EXRNIC_WQE_OPCODE_PUSH_IMM:
		return IB_WC_RDMA_WRITE;
	case EXRNIC_WQE_OPCODE_PULL:
		return IB_WC_RDMA_READ;
	case EXRNIC_WQE_OPCODE_FETCH_ADD:
		return IB_WC_FETCH_ADD;
	case EXRNIC_WQE_OPCODE_COMPARE_SWAP:
		return IB_WC_COMP_SWAP;
	case EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE:
		return IB_WC_LOCAL_INV;
	case EXRNIC_WQE_OPCODE_FAST_REGISTER:
		return IB_WC_REG_MR;
	case EXRNIC_WQE_OPCODE_RECV:
		return IB_WC_RECV;
	default:
		return IB_WC_SEND;
	}
}

static bool exrnic_ib_is_part(const struct exrnic_ib_queue *queue, u16 index)
{
	return queue->parts[exrnic_ring_slot(&queue->path.ring, index)];
}

/*
 * The next one of the queue; false: there is none. Of one that the device could not read the first slot has ended, and
 * with it the others.
 */
static bool exrnic_ib_flush_next(struct exrnic_ib_queue *queue, struct ib_wc *wc)
{
	struct exrnic_work_queue *path = &queue->path;
	const u16 tail = EXRNIC_DP_LOAD_ACQUIRE(&path->ring.tail);
	u16 head = path->head, last;

	while (head != tail && exrnic_ib_is_part(queue, head))
		head++;
	EXRNIC_DP_STORE_RELEASE(&path->head, head);
	if (head == tail)
		return false;
	for (last = head; (u16)(last + 1) != tail && exrnic_ib_is_part(queue, last + 1);)
		last++;
	memset(wc, 0, sizeof(*wc));
	wc->status = IB_WC_WR_FLUSH_ERR;
	wc->opcode = exrnic_ib_wc_opcode(path->ring.slots[exrnic_ring_slot(&path->ring, head)].opcode);
	wc->port_num = EXRNIC_IB_PORT;
	return exrnic_work_queue_complete(path, last, &wc->wr_id);
}

bool exrnic_ib_flush_may_begin(struct exrnic_ib_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if (!exrnic_device_error(exrnic_ib_edev(cq->ibcq.device)))
		return false;
	smp_rmb();	/* what it had written before it was cut off comes first */
	return !exrnic_cq_at(&cq->path, cq->path.consumer);
}

int exrnic_ib_flush_take(struct exrnic_ib_cq *cq, int most, struct ib_wc *wcs)
{
	struct exrnic_ib_qp *qp;
	int taken = 0;

	lockdep_assert_held(&cq->lock);
	list_for_each_entry(qp, &cq->senders, send_entry)
		for (; taken < most && exrnic_ib_flush_next(&qp->sq, &wcs[taken]); taken++)
			wcs[taken].qp = &qp->ibqp;
	list_for_each_entry(qp, &cq->receivers, recv_entry)
		for (; taken < most && exrnic_ib_flush_next(&qp->rq, &wcs[taken]); taken++)
			wcs[taken].qp = &qp->ibqp;
	return taken;
}

static bool exrnic_ib_has_work(const struct exrnic_work_queue *queue)
{
	return queue->head != exrnic_ring_posted(&queue->ring);
}

bool exrnic_ib_flush_is_due(struct exrnic_ib_cq *cq)
{
	struct exrnic_ib_qp *qp;

	lockdep_assert_held(&cq->lock);
	if (!exrnic_device_error(exrnic_ib_edev(cq->ibcq.device)))
		return false;
	list_for_each_entry(qp, &cq->senders, send_entry)
		if (exrnic_ib_has_work(&qp->sq.path))
			return true;
	list_for_each_entry(qp, &cq->receivers, recv_entry)
		if (exrnic_ib_has_work(&qp->rq.path))
			return true;
	return false;
}

/* Whoever has armed it is told once, as by the device; also of what it has written without its interrupt. */
static void exrnic_ib_flush_tell(struct exrnic_ib_cq *cq)
{
	unsigned long irq;
	bool fires;

	spin_lock_irqsave(&cq->lock, irq);
	fires = cq->armed && (exrnic_cq_at(&cq->path, cq->path.consumer) || exrnic_ib_flush_is_due(cq));
	spin_unlock_irqrestore(&cq->lock, irq);
	if (fires)
		exrnic_cq_fire(&cq->cq);
}

/* Who waits until a queue pair in ERROR takes no receive of a shared queue any more hears of it once. */
static void exrnic_ib_flush_shared(struct exrnic_ib_device *dev)
{
	struct exrnic_ib_qp *qp;
	unsigned long qpn;

	mutex_lock(&dev->qps_lock);
	xa_for_each(&dev->qps, qpn, qp)
		if (qp->ibqp.srq && READ_ONCE(qp->state) == IB_QPS_ERR && !READ_ONCE(qp->emptied))
			qp->qp.last_wqe(&qp->qp);
	mutex_unlock(&dev->qps_lock);
}

static void exrnic_ib_flush_work(struct work_struct *work)
{
	struct exrnic_ib_device *dev = container_of(work, struct exrnic_ib_device, flush);
	struct exrnic_ib_cq *cq;

	mutex_lock(&dev->cqs_lock);
	list_for_each_entry(cq, &dev->cqs, entry)
		exrnic_ib_flush_tell(cq);
	mutex_unlock(&dev->cqs_lock);
	if (exrnic_device_error(dev->edev))
		exrnic_ib_flush_shared(dev);
}

void exrnic_ib_flush_if_cut_off(struct exrnic_ib_device *dev)
{
	smp_mb();	/* what was posted, then the look; who cuts off does the opposite */
	if (exrnic_device_error(dev->edev))
		schedule_work(&dev->flush);
}

static void exrnic_ib_flush_link(struct exrnic_ib_cq *cq, struct list_head *entry, struct list_head *list)
{
	unsigned long irq;

	spin_lock_irqsave(&cq->lock, irq);
	list_add_tail(entry, list);
	spin_unlock_irqrestore(&cq->lock, irq);
}

static void exrnic_ib_flush_unlink(struct exrnic_ib_cq *cq, struct list_head *entry)
{
	unsigned long irq;

	spin_lock_irqsave(&cq->lock, irq);
	list_del(entry);
	spin_unlock_irqrestore(&cq->lock, irq);
}

void exrnic_ib_flush_add(struct exrnic_ib_qp *qp)
{
	struct exrnic_ib_cq *send = exrnic_ib_cq(qp->ibqp.send_cq), *recv = exrnic_ib_cq(qp->ibqp.recv_cq);

	exrnic_ib_flush_link(send, &qp->send_entry, &send->senders);
	if (!qp->ibqp.srq)
		exrnic_ib_flush_link(recv, &qp->recv_entry, &recv->receivers);
}

void exrnic_ib_flush_remove(struct exrnic_ib_qp *qp)
{
	exrnic_ib_flush_unlink(exrnic_ib_cq(qp->ibqp.send_cq), &qp->send_entry);
	if (!qp->ibqp.srq)
		exrnic_ib_flush_unlink(exrnic_ib_cq(qp->ibqp.recv_cq), &qp->recv_entry);
}

void exrnic_ib_flush_add_cq(struct exrnic_ib_cq *cq)
{
	struct exrnic_ib_device *dev = exrnic_ib_device(cq->ibcq.device);

	mutex_lock(&dev->cqs_lock);
	list_add_tail(&cq->entry, &dev->cqs);
	mutex_unlock(&dev->cqs_lock);
}

void exrnic_ib_flush_remove_cq(struct exrnic_ib_cq *cq)
{
	struct exrnic_ib_device *dev = exrnic_ib_device(cq->ibcq.device);

	mutex_lock(&dev->cqs_lock);
	list_del(&cq->entry);
	mutex_unlock(&dev->cqs_lock);
}

void exrnic_ib_flush_init(struct exrnic_ib_device *dev)
{
	INIT_LIST_HEAD(&dev->cqs);
	mutex_init(&dev->cqs_lock);
	INIT_WORK(&dev->flush, exrnic_ib_flush_work);
}
