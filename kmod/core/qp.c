// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A queue pair is stopped before it ends, or forgets: to ERROR, until nothing of it is under way. Then
 * a peer whose PULL it answers has heard of the end, and the receive that a message had taken has
 * completed. A core with much to do needs a while for that, all its queue pairs together: one time
 * limit is for all that end at once, and for all of one user, by whichever files. One that fails is dealt with by the next command.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>

#include "exrnic_driver.h"
#include "mbox.h"

/* What the end of a queue pair waits for takes microseconds, unless the core has much to flush. */
#define EXRNIC_QP_STOP_LIMIT	msecs_to_jiffies(5000)
#define EXRNIC_QP_STOP_POLL_US	50

static int exrnic_qp_create_on_device(struct exrnic_device *edev, const struct exrnic_qp *qp,
				      const struct exrnic_qp_attr *attr)
{
	const struct exrnic_mbox_create_qp in = {
		.qpn = cpu_to_le32(qp->qpn),
		.page = cpu_to_le32(attr->page),
		.pd = cpu_to_le32(attr->pdn),
		.send_cqn = cpu_to_le32(attr->send_cqn),
		.recv_cqn = cpu_to_le32(attr->recv_cqn),
		.sq_log_slots = cpu_to_le32(attr->sq_log_slots),
		/* The device checks it also where a shared receive queue takes its place. */
		.rq_log_slots = cpu_to_le32(attr->rq ? attr->rq_log_slots : EXRNIC_RING_LOG_MIN),
		.service = cpu_to_le32(attr->service),
		.sq_pbl_address = cpu_to_le64(attr->sq->bus),
		.rq_pbl_address = cpu_to_le64(attr->rq ? attr->rq->bus : 0),
		.srqn = cpu_to_le32(attr->srqn),
		.max_reads_out = cpu_to_le32(attr->max_reads_out),
		.max_reads_in = cpu_to_le32(attr->max_reads_in),
		.flags = cpu_to_le32(attr->flags),
	};

	return exrnic_mbox_create_qp(edev, &in);
}

/* In turn, so that a late frame for a destroyed queue pair does not soon meet its successor. */
static int exrnic_qp_alloc_number(struct exrnic_device *edev, struct exrnic_qp *qp)
{
	const struct xa_limit limit = XA_LIMIT(EXRNIC_QPN_MIN, edev->limits.qp - 1);
	int err = xa_alloc_cyclic(&edev->qps, &qp->qpn, NULL, limit, &edev->next_qpn, GFP_KERNEL);

	if (err == -EBUSY)
		return -ENOSPC;
	return err < 0 ? err : 0;
}

static int exrnic_qp_reserve_number(struct exrnic_device *edev, struct exrnic_qp *qp, u32 qpn)
{
	if (qpn != EXRNIC_QPN_GSI && qpn != EXRNIC_ETHERNET_QPN)
		return -EINVAL;
	qp->qpn = qpn;
	return xa_insert(&edev->qps, qpn, NULL, GFP_KERNEL);
}

int exrnic_qp_create(struct exrnic_device *edev, struct exrnic_qp *qp,
		     const struct exrnic_qp_attr *attr)
{
	int err = attr->qpn == EXRNIC_ANY_QPN ? exrnic_qp_alloc_number(edev, qp)
					      : exrnic_qp_reserve_number(edev, qp, attr->qpn);

	if (err)
		return err;
	qp->stopped = false;
	err = exrnic_qp_create_on_device(edev, qp, attr);
	if (err) {
		xa_erase(&edev->qps, qp->qpn);
		return err;
	}
	exrnic_async_publish(edev, &edev->qps, qp->qpn, qp);
	return 0;
}
EXRNIC_EXPORT(exrnic_qp_create);

static bool exrnic_qp_is_under_way(struct exrnic_device *edev, const struct exrnic_qp *qp)
{
	struct exrnic_mbox_query_qp out;

	return !exrnic_mbox_query_qp(edev, qp->qpn, &out) && le32_to_cpu(out.under_way);
}

void exrnic_qp_begin_stop(struct exrnic_device *edev, struct exrnic_qp *qp)
{
	const struct exrnic_mbox_modify_qp in = {
		.qpn = cpu_to_le32(qp->qpn),
		.state = cpu_to_le32(EXRNIC_QP_STATE_ERROR),
	};

	if (qp->stopped)
		return;
	WRITE_ONCE(qp->stopped, true);
	if (exrnic_mbox_modify_qp(edev, &in))
		WRITE_ONCE(qp->stopped, false);
}
EXRNIC_EXPORT(exrnic_qp_begin_stop);

unsigned long exrnic_qp_stop_deadline(const struct exrnic_user *user)
{
	return jiffies + exrnic_user_patience(user, EXRNIC_QP_STOP_LIMIT);
}
EXRNIC_EXPORT(exrnic_qp_stop_deadline);

void exrnic_qp_await_stop(struct exrnic_device *edev, struct exrnic_qp *qp, unsigned long deadline)
{
	bool late = false;

	if (!qp->stopped)
		return;
	while (exrnic_qp_is_under_way(edev, qp)) {
		if (late) {
			dev_warn_ratelimited(&edev->pdev->dev,
					     "queue pair %u: work is still under way, and waited for no longer; its peer may not hear of the end\n",
					     qp->qpn);
			exrnic_user_used_up(qp->user, EXRNIC_QP_STOP_LIMIT);
			return;
		}
		usleep_range(EXRNIC_QP_STOP_POLL_US, 2 * EXRNIC_QP_STOP_POLL_US);
		late = time_after(jiffies, deadline);
	}
}
EXRNIC_EXPORT(exrnic_qp_await_stop);

static void exrnic_qp_stop(struct exrnic_device *edev, struct exrnic_qp *qp)
{
	exrnic_qp_begin_stop(edev, qp);
	exrnic_qp_await_stop(edev, qp, exrnic_qp_stop_deadline(qp->user));
}

int exrnic_qp_modify(struct exrnic_device *edev, struct exrnic_qp *qp,
		     const struct exrnic_qp_modify *modify)
{
	const struct exrnic_mbox_modify_qp in = {
		.qpn = cpu_to_le32(qp->qpn),
		.state = cpu_to_le32(modify->state),
		.attributes = cpu_to_le32(modify->attributes),
		.dest_node = cpu_to_le32(modify->dest_node),
		.dest_qpn = cpu_to_le32(modify->dest_qpn),
		.qkey = cpu_to_le32(modify->qkey),
		.pkey_index = cpu_to_le32(modify->pkey_index),
		.access = cpu_to_le32(modify->access),
		.path_mtu = cpu_to_le32(modify->path_mtu),
		.max_reads_in = modify->max_reads_in,
		.max_reads_out = modify->max_reads_out,
		.min_rnr_timer = modify->min_rnr_timer,
		.rnr_retry = modify->rnr_retry,
		.timeout = modify->timeout,
		.retry_count = modify->retry_count,
	};
	int err;

	/* Refused before the stop, which would be a change. */
	if (modify->state == EXRNIC_QP_STATE_RESET && modify->attributes)
		return -EPERM;
	if (modify->state == EXRNIC_QP_STATE_RESET)
		exrnic_qp_stop(edev, qp);
	err = exrnic_mbox_modify_qp(edev, &in);
	/* What the stop has to tell is not for the next life. */
	if (modify->state == EXRNIC_QP_STATE_RESET)
		exrnic_async_flush(edev);
	if (!err || modify->state == EXRNIC_QP_STATE_RESET)
		WRITE_ONCE(qp->stopped, false);
	return err;
}
EXRNIC_EXPORT(exrnic_qp_modify);

int exrnic_qp_query(struct exrnic_device *edev, const struct exrnic_qp *qp,
		    struct exrnic_qp_status *status)
{
	struct exrnic_mbox_query_qp out;
	int err = exrnic_mbox_query_qp(edev, qp->qpn, &out);

	if (err)
		return err;
	*status = (struct exrnic_qp_status){
		.state = le32_to_cpu(out.state),
		.dest_node = le32_to_cpu(out.dest_node),
		.dest_qpn = le32_to_cpu(out.dest_qpn),
		.sq_producer = le32_to_cpu(out.sq_producer),
		.sq_consumer = le32_to_cpu(out.sq_consumer),
		.under_way = le32_to_cpu(out.under_way),
		.pkey_index = le32_to_cpu(out.pkey_index),
		.qkey = le32_to_cpu(out.qkey),
		.access = le32_to_cpu(out.access),
		.path_mtu = le32_to_cpu(out.path_mtu),
		.max_reads_in = out.max_reads_in,
		.max_reads_out = out.max_reads_out,
		.min_rnr_timer = out.min_rnr_timer,
		.rnr_retry = out.rnr_retry,
		.timeout = out.timeout,
		.retry_count = out.retry_count,
		.sq_draining = le32_to_cpu(out.sq_draining),
	};
	return 0;
}
EXRNIC_EXPORT(exrnic_qp_query);

static struct exrnic_mbox_group exrnic_qp_group(const struct exrnic_qp *qp, u32 group)
{
	return (struct exrnic_mbox_group){
		.qpn = cpu_to_le32(qp->qpn),
		.group = cpu_to_le32(group),
	};
}

int exrnic_qp_attach_group(struct exrnic_device *edev, struct exrnic_qp *qp, u32 group)
{
	const struct exrnic_mbox_group in = exrnic_qp_group(qp, group);

	return exrnic_mbox_attach_group(edev, &in);
}
EXRNIC_EXPORT(exrnic_qp_attach_group);

int exrnic_qp_detach_group(struct exrnic_device *edev, struct exrnic_qp *qp, u32 group)
{
	const struct exrnic_mbox_group in = exrnic_qp_group(qp, group);

	return exrnic_mbox_detach_group(edev, &in);
}
EXRNIC_EXPORT(exrnic_qp_detach_group);

/* Behind the device's answer it fetches no work request and writes no CQE for it. */
void exrnic_qp_destroy(struct exrnic_device *edev, struct exrnic_qp *qp)
{
	if (!qp->stopped)
		exrnic_qp_stop(edev, qp);
	exrnic_mbox_destroy_qp(edev, qp->qpn);
	exrnic_async_withdraw(edev, &edev->qps, qp->qpn);
}
EXRNIC_EXPORT(exrnic_qp_destroy);
