// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A queue pair is stopped before it ends, or forgets: to ERROR, until nothing of it is under way. Then
 * a peer whose PULL it answers has heard of the end, and the receive that a message had taken has
 * completed. A core with much to do needs a while for that, all its queue pairs together: one time
 * limit is for all that end at once. One that fails is dealt with by the next command.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>

#include "exrnic_core.h"
#include "exrnic_mbox.h"

/* What the end of a queue pair waits for takes microseconds, unless the core has much to flush. */
#define EXRNIC_QP_STOP_MS	5000
#define EXRNIC_QP_STOP_POLL_US	50

static void exrnic_qp_begin_stop(struct exrnic_device *edev, struct exrnic_qp *qp)
{
	const struct exrnic_mbox_modify_qp in = {
		.qpn = cpu_to_le32(qp->qpn),
		.state = cpu_to_le32(EXRNIC_QP_STATE_ERROR),
	};

	if (!exrnic_mbox_modify_qp(edev, &in))
		qp->state = EXRNIC_QP_STATE_ERROR;
}

static unsigned long exrnic_qp_stop_deadline(void)
{
	return jiffies + msecs_to_jiffies(EXRNIC_QP_STOP_MS);
}

static bool exrnic_qp_is_under_way(struct exrnic_device *edev, const struct exrnic_qp *qp)
{
	struct exrnic_mbox_query_qp out;

	return !exrnic_mbox_query_qp(edev, qp->qpn, &out) && le32_to_cpu(out.under_way);
}

static void exrnic_qp_await_stop(struct exrnic_device *edev, const struct exrnic_qp *qp,
				 unsigned long deadline)
{
	bool late = false;

	if (qp->state != EXRNIC_QP_STATE_ERROR)
		return;
	while (exrnic_qp_is_under_way(edev, qp)) {
		if (late) {
			dev_warn_ratelimited(&edev->pdev->dev,
					     "queue pair %u: work is under way %u ms after its end began; its peer may not hear of the end\n",
					     qp->qpn, EXRNIC_QP_STOP_MS);
			return;
		}
		usleep_range(EXRNIC_QP_STOP_POLL_US, 2 * EXRNIC_QP_STOP_POLL_US);
		late = time_after(jiffies, deadline);
	}
}

void exrnic_qp_stop(struct exrnic_device *edev, struct exrnic_qp *qp)
{
	exrnic_qp_begin_stop(edev, qp);
	exrnic_qp_await_stop(edev, qp, exrnic_qp_stop_deadline());
}

void exrnic_qp_stop_all(struct exrnic_ucontext *uctx)
{
	unsigned long deadline, i;
	struct exrnic_qp *qp;

	xa_for_each(&uctx->qps, i, qp)
		exrnic_qp_begin_stop(uctx->edev, qp);
	deadline = exrnic_qp_stop_deadline();
	xa_for_each(&uctx->qps, i, qp)
		exrnic_qp_await_stop(uctx->edev, qp, deadline);
}
