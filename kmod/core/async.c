// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the control interrupt tells of queues. The device keeps a bit for each queue to which something
 * has happened: a thread reads and clears those that are set, and tells their owners.
 * So what it does grows with what has happened, not with what processes have; it waits for nobody,
 * and nobody for it longer than one round takes.
 *
 * However fast causes come (a process can lose completions without the kernel), they interrupt once in
 * EXRNIC_ASYNC_PAUSE: the thread enables them again when it is done, and then pauses. So does firmware
 * that has woken nobody.
 */
#include <linux/bitops.h>
#include <linux/jiffies.h>

#include "regs.h"

/* Behind a round; the next one starts no earlier. */
#define EXRNIC_ASYNC_PAUSE 1	/* jiffies */

static void exrnic_async_tell_qp(struct exrnic_device *edev, u32 number)
{
	struct exrnic_qp *qp = xa_load(&edev->qps, number);

	if (qp)
		qp->failed(qp);
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

static const struct exrnic_async_kind {
	u32 words;	/* register: which of the next have a bit */
	u32 bits;	/* the first of its registers */
	void (*tell)(struct exrnic_device *edev, u32 number);
} exrnic_async_kinds[] = {
	[EXRNIC_ASYNC_QP_FAILED] = {
		EXRNIC_REG_QP_FAILED_WORDS, EXRNIC_REG_QP_FAILED, exrnic_async_tell_qp },
	[EXRNIC_ASYNC_CQ_OVERRUN] = {
		EXRNIC_REG_CQ_OVERRUN_WORDS, EXRNIC_REG_CQ_OVERRUN, exrnic_async_tell_cq },
	[EXRNIC_ASYNC_SRQ_LOW] = {
		EXRNIC_REG_SRQ_LOW_WORDS, EXRNIC_REG_SRQ_LOW, exrnic_async_tell_srq },
};

static void exrnic_async_look_at_word(struct exrnic_device *edev,
				      const struct exrnic_async_kind *kind, u32 word)
{
	const u32 reg = kind->bits + word * sizeof(u32);
	unsigned long bits = exrnic_read(edev, reg);
	unsigned int i;

	exrnic_write(edev, reg, bits);
	for_each_set_bit(i, &bits, BITS_PER_TYPE(u32))
		kind->tell(edev, word * BITS_PER_TYPE(u32) + i);
}

static void exrnic_async_look_at(struct exrnic_device *edev, const struct exrnic_async_kind *kind)
{
	unsigned long words = exrnic_read(edev, kind->words);
	unsigned int i;

	for_each_set_bit(i, &words, BITS_PER_TYPE(u32))
		exrnic_async_look_at_word(edev, kind, i);
}

/* A device that is gone reads as all ones, and has told nothing. */
static void exrnic_async_look(struct exrnic_device *edev)
{
	unsigned int i;

	if (exrnic_read(edev, EXRNIC_REG_ID) == EXRNIC_REG_ABSENT)
		return;
	mutex_lock(&edev->async.lock);
	for (i = 0; i < ARRAY_SIZE(exrnic_async_kinds); i++)
		exrnic_async_look_at(edev, &exrnic_async_kinds[i]);
	mutex_unlock(&edev->async.lock);
}

void exrnic_async_publish(struct exrnic_device *edev, struct xarray *table, u32 number,
			  void *object)
{
	mutex_lock(&edev->async.lock);
	xa_store(table, number, object, GFP_KERNEL);	/* its place has been reserved */
	mutex_unlock(&edev->async.lock);
}

void exrnic_async_withdraw(struct exrnic_device *edev, struct xarray *table, u32 number,
			   enum exrnic_async_what what)
{
	const u32 word = number / BITS_PER_TYPE(u32);

	mutex_lock(&edev->async.lock);
	exrnic_write(edev, exrnic_async_kinds[what].bits + word * sizeof(u32),
		     BIT(number % BITS_PER_TYPE(u32)));
	xa_erase(table, number);
	mutex_unlock(&edev->async.lock);
}

/* A peer that dies takes its queue pairs to ERROR: that is when the counter is worth a look. */
static bool exrnic_async_peer_has_died(struct exrnic_device *edev, u32 causes)
{
	u64 before = edev->async.peers_dead;

	if (!(causes & EXRNIC_INT_CAUSE_QP_ERROR))
		return false;
	edev->async.peers_dead = exrnic_device_counter(edev, EXRNIC_COUNTER_PEERS_DEAD);
	return edev->async.peers_dead != before;
}

/* What concerns everybody. */
static u32 exrnic_async_notices(struct exrnic_device *edev, u32 causes)
{
	u32 notices = 0;

	if (exrnic_async_peer_has_died(edev, causes))
		notices |= EXRNIC_NOTICE_PEER_DEAD;
	if (causes & EXRNIC_INT_CAUSE_LINK)
		notices |= EXRNIC_NOTICE_LINK;
	if (causes & EXRNIC_ASYNC_FATAL)
		notices |= EXRNIC_NOTICE_FATAL;
	return notices;
}

static void exrnic_async_work(struct work_struct *work)
{
	struct exrnic_device *edev =
		container_of(to_delayed_work(work), struct exrnic_device, async.work);
	u32 causes = atomic_xchg(&edev->async.causes, 0), notices;

	if (causes & EXRNIC_CAUSES_QUEUES)
		exrnic_async_look(edev);
	notices = exrnic_async_notices(edev, causes);
	if (notices)
		exrnic_clients_tell(edev, notices);
	WRITE_ONCE(edev->async.next, jiffies + EXRNIC_ASYNC_PAUSE);
	exrnic_write(edev, EXRNIC_REG_INT_ENABLE, EXRNIC_CAUSES);
}

void exrnic_async_init(struct exrnic_device *edev)
{
	mutex_init(&edev->async.lock);
	edev->async.next = jiffies;
	INIT_DELAYED_WORK(&edev->async.work, exrnic_async_work);
}

/* With the interrupts off and the mailbox retired: nobody calls exrnic_async_notice(). Counters begin anew with the device. */
void exrnic_async_cancel(struct exrnic_device *edev)
{
	cancel_delayed_work_sync(&edev->async.work);
	atomic_set(&edev->async.causes, 0);
	edev->async.peers_dead = 0;
	exrnic_write(edev, EXRNIC_REG_INT_ENABLE, 0);	/* which it may have enabled again */
}

void exrnic_async_notice(struct exrnic_device *edev, u32 causes)
{
	const bool pauses = time_before(jiffies, READ_ONCE(edev->async.next));

	atomic_or(causes, &edev->async.causes);
	schedule_delayed_work(&edev->async.work, pauses ? EXRNIC_ASYNC_PAUSE : 0);
}
