// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the device tells of its objects, and of itself, but for completions: a thread takes the events, and tells their
 * owners. It waits for nobody, and nobody for it longer than one round takes. What concerns everybody another one tells: clients
 * take RTNL when they hear of it, and one that goes, which the others wait for, may need an event of its objects meanwhile.
 *
 * However fast they come (a process can lose completions without the kernel), they interrupt once in
 * EXRNIC_ASYNC_PAUSE: the thread arms the queue again when it is done, and then pauses. What finds no room
 * in the queue meanwhile waits in the device, and is not lost.
 */
#include <linux/jiffies.h>

#include "regs.h"

/* Behind a round; the next one starts no earlier. */
#define EXRNIC_ASYNC_PAUSE	1	/* jiffies */
#define EXRNIC_ASYNC_ENTRIES	256

static void exrnic_async_tell_qp(struct exrnic_device *edev, u32 number, u32 cause)
{
	struct exrnic_qp *qp = xa_load(&edev->qps, number);

	if (qp)
		qp->failed(qp, cause);
}

static void exrnic_async_tell_last_wqe(struct exrnic_device *edev, u32 number)
{
	struct exrnic_qp *qp = xa_load(&edev->qps, number);

	if (qp && qp->last_wqe && !READ_ONCE(qp->stopped))
		qp->last_wqe(qp);
}

static void exrnic_async_tell_drained(struct exrnic_device *edev, u32 number)
{
	struct exrnic_qp *qp = xa_load(&edev->qps, number);

	if (qp && qp->drained && !READ_ONCE(qp->stopped))
		qp->drained(qp);
}

static void exrnic_async_tell_cq(struct exrnic_device *edev, u32 number)
{
	struct exrnic_cq *cq = xa_load(&edev->cqs, number);

	if (cq)
		cq->overrun(cq);
}

static void exrnic_async_tell_srq(struct exrnic_device *edev, u32 number)
{
	struct exrnic_srq *srq = xa_load(&edev->srqs, number);

	if (srq)
		srq->low(srq);
}

static void exrnic_async_tell(struct exrnic_device *edev, const struct exrnic_eqe *eqe)
{
	const u32 number = le32_to_cpu(eqe->number);

	switch (eqe->event_type) {
	case EXRNIC_EQE_TYPE_QP_ERROR:
		exrnic_async_tell_qp(edev, number, le32_to_cpu(eqe->detail));
		break;
	case EXRNIC_EQE_TYPE_LAST_WQE:
		exrnic_async_tell_last_wqe(edev, number);
		break;
	case EXRNIC_EQE_TYPE_SQ_DRAINED:
		exrnic_async_tell_drained(edev, number);
		break;
	case EXRNIC_EQE_TYPE_CQ_ERROR:
		exrnic_async_tell_cq(edev, number);
		break;
	case EXRNIC_EQE_TYPE_SRQ_LIMIT:
		exrnic_async_tell_srq(edev, number);
		break;
	case EXRNIC_EQE_TYPE_LINK:
		exrnic_async_notice(edev, EXRNIC_NOTICE_LINK);
		break;
	case EXRNIC_EQE_TYPE_PEER_DEAD:
		exrnic_async_notice(edev, EXRNIC_NOTICE_PEER_DEAD);
		break;
	case EXRNIC_EQE_TYPE_FIRMWARE:
		edev->async.firmware_failed(edev);
		break;
	case EXRNIC_EQE_TYPE_HOST_SILENT:
		dev_err_ratelimited(&edev->pdev->dev,
				    "a read of memory got no answer in time (counter dma_read_timeouts); what needed it has failed\n");
		break;
	default:
		dev_err_ratelimited(&edev->pdev->dev, "event of type %u, which this driver does not know\n",
				    eqe->event_type);
	}
}

/* What is there, as many as the queue holds. True: there was something, and so the queue is not armed. */
static bool exrnic_async_take(struct exrnic_device *edev)
{
	u32 left = exrnic_eq_entries(&edev->async.eq);
	struct exrnic_eqe eqe;
	bool took = false;

	lockdep_assert_held(&edev->async.lock);
	while (left-- && exrnic_eq_take(&edev->async.eq, &eqe)) {
		exrnic_async_tell(edev, &eqe);
		took = true;
	}
	return took;
}

static void exrnic_async_schedule(struct exrnic_device *edev)
{
	const bool pauses = time_before(jiffies, READ_ONCE(edev->async.next));

	schedule_delayed_work(&edev->async.work, pauses ? EXRNIC_ASYNC_PAUSE : 0);
}

void exrnic_async_publish(struct exrnic_device *edev, struct xarray *table, u32 number,
			  void *object)
{
	mutex_lock(&edev->async.lock);
	xa_store(table, number, object, GFP_KERNEL);	/* its place has been reserved */
	mutex_unlock(&edev->async.lock);
}

/* What the device has told of it was there before its command had ended, and is taken here. */
void exrnic_async_withdraw(struct exrnic_device *edev, struct xarray *table, u32 number)
{
	bool took;

	mutex_lock(&edev->async.lock);
	took = exrnic_async_take(edev);
	xa_erase(table, number);
	mutex_unlock(&edev->async.lock);
	if (took)
		exrnic_async_schedule(edev);
}

void exrnic_async_flush(struct exrnic_device *edev)
{
	bool took;

	mutex_lock(&edev->async.lock);
	took = exrnic_async_take(edev);
	mutex_unlock(&edev->async.lock);
	if (took)
		exrnic_async_schedule(edev);
}

static void exrnic_async_work(struct work_struct *work)
{
	struct exrnic_device *edev =
		container_of(to_delayed_work(work), struct exrnic_device, async.work);

	mutex_lock(&edev->async.lock);
	exrnic_async_take(edev);
	mutex_unlock(&edev->async.lock);
	WRITE_ONCE(edev->async.next, jiffies + EXRNIC_ASYNC_PAUSE);
	mutex_lock(&edev->async.lock);
	if (edev->async.eq.ring)
		exrnic_eq_arm(&edev->async.eq);
	mutex_unlock(&edev->async.lock);
}

static void exrnic_async_notice_work(struct work_struct *work)
{
	struct exrnic_device *edev = container_of(work, struct exrnic_device, async.notice_work);
	const u32 notices = atomic_xchg(&edev->async.notices, 0);

	if (notices)
		exrnic_clients_tell(edev, notices);
}

void exrnic_async_init(struct exrnic_device *edev)
{
	mutex_init(&edev->async.lock);
	edev->async.next = jiffies;
	INIT_DELAYED_WORK(&edev->async.work, exrnic_async_work);
	INIT_WORK(&edev->async.notice_work, exrnic_async_notice_work);
}

int exrnic_async_begin(struct exrnic_device *edev)
{
	struct exrnic_eq eq;
	int err;

	err = exrnic_eq_create(edev, &eq, EXRNIC_EQN_ASYNC, EXRNIC_ASYNC_ENTRIES,
			       EXRNIC_MSIX_VECTOR_CONTROL);
	if (err)
		return err;
	mutex_lock(&edev->async.lock);
	edev->async.eq = eq;
	exrnic_eq_arm(&edev->async.eq);
	mutex_unlock(&edev->async.lock);
	return 0;
}

void exrnic_async_end(struct exrnic_device *edev)
{
	exrnic_eq_end(&edev->async.eq);
}

void exrnic_async_fini(struct exrnic_device *edev)
{
	cancel_delayed_work_sync(&edev->async.work);
	cancel_work_sync(&edev->async.notice_work);
	atomic_set(&edev->async.notices, 0);
	exrnic_eq_free(&edev->async.eq);
}

/* Whoever takes events meanwhile arms the queue behind that: what is missed here interrupts then. */
bool exrnic_async_interrupt(struct exrnic_device *edev)
{
	if (!exrnic_eq_has_event(&edev->async.eq))
		return false;
	exrnic_async_schedule(edev);
	return true;
}

void exrnic_async_notice(struct exrnic_device *edev, u32 notices)
{
	atomic_or(notices, &edev->async.notices);
	schedule_work(&edev->async.notice_work);
}
