// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The device tells that something has happened, not to whom. A thread asks it about each queue
 * that may be meant, and raises the events of those that are.
 */
#include "exrnic_core.h"
#include "exrnic_regs.h"

/* Of a queue pair: a lost completion takes it to ERROR before the answer to any later query. */
#define EXRNIC_CAUSES_QP (EXRNIC_INT_CAUSE_QP_ERROR | EXRNIC_INT_CAUSE_CQ_ERROR)

/*
 * Nobody waits for a context here: who holds its lock may be copying from memory that its process
 * never provides (userfaultfd, FUSE), and the others must not wait for that. So whoever gives up
 * the lock looks again.
 */
void exrnic_async_catch_up(struct exrnic_ucontext *uctx)
{
	u32 causes;

	smp_mb(); /* the lock was given up, or the cause noted, before this looks at the other */
	while (atomic_read(&uctx->causes) && mutex_trylock(&uctx->lock)) {
		causes = atomic_xchg(&uctx->causes, 0);
		if (causes & EXRNIC_CAUSES_QP)
			exrnic_qp_look_for_errors(uctx);
		if (causes & EXRNIC_INT_CAUSE_SRQ_LIMIT)
			exrnic_srq_look_for_limits(uctx);
		mutex_unlock(&uctx->lock);
		smp_mb(); /* as above */
	}
}

/* A peer that dies takes its queue pairs to ERROR: that is when the counter is worth a look. */
static bool exrnic_async_peer_has_died(struct exrnic_device *edev, u32 causes)
{
	u64 before = edev->async.peers_dead;

	if (!(causes & EXRNIC_INT_CAUSE_QP_ERROR))
		return false;
	edev->async.peers_dead = exrnic_regs_counter(edev, EXRNIC_COUNTER_PEERS_DEAD);
	return edev->async.peers_dead != before;
}

static void exrnic_async_work(struct work_struct *work)
{
	struct exrnic_device *edev = container_of(work, struct exrnic_device, async.work);
	u32 causes = atomic_xchg(&edev->async.causes, 0);
	bool peer_died = exrnic_async_peer_has_died(edev, causes);
	struct exrnic_ucontext *uctx;

	mutex_lock(&edev->lock);
	list_for_each_entry(uctx, &edev->ucontexts, entry) {
		atomic_or(causes & (EXRNIC_CAUSES_QP | EXRNIC_INT_CAUSE_SRQ_LIMIT), &uctx->causes);
		exrnic_async_catch_up(uctx);
		if (peer_died)
			exrnic_event_raise(&uctx->peer_dead);
		if (causes & EXRNIC_INT_CAUSE_LINK)
			exrnic_event_raise(&uctx->link);
		if (causes & EXRNIC_ASYNC_FATAL)
			exrnic_event_raise(&uctx->fatal);
	}
	mutex_unlock(&edev->lock);
}

void exrnic_async_init(struct exrnic_device *edev)
{
	INIT_WORK(&edev->async.work, exrnic_async_work);
}

/* With the interrupts off, and no mailbox command under way. Counters begin anew with the device. */
void exrnic_async_cancel(struct exrnic_device *edev)
{
	cancel_work_sync(&edev->async.work);
	atomic_set(&edev->async.causes, 0);
	edev->async.peers_dead = 0;
}

void exrnic_async_notice(struct exrnic_device *edev, u32 causes)
{
	atomic_or(causes, &edev->async.causes);
	schedule_work(&edev->async.work);
}
