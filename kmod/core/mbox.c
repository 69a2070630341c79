// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "mbox.h"

#include <linux/jiffies.h>
#include <linux/moduleparam.h>

#include "exrnic_driver.h"
#include "regs.h"

/* The interrupt is late after this time: look at the status without it. */
#define EXRNIC_MBOX_POLL	msecs_to_jiffies(100)

static unsigned int mbox_timeout_ms = 10000;
module_param(mbox_timeout_ms, uint, 0444);
MODULE_PARM_DESC(mbox_timeout_ms, "Time that the device has for a mailbox command, ms");

static const char *exrnic_mbox_op_name(enum exrnic_mbox_op op)
{
	static const struct exrnic_value ops[] = EXRNIC_MBOX_OP_TABLE;

	return exrnic_value_name(ops, ARRAY_SIZE(ops), op);
}

static const char *exrnic_mbox_status_name(u32 status)
{
	static const struct exrnic_value statuses[] = EXRNIC_MBOX_STATUS_TABLE;

	return exrnic_value_name(statuses, ARRAY_SIZE(statuses), status);
}

/* Payload of a command; the generated structures are little-endian, registers are words. */
struct exrnic_mbox_data {
	const void *in;
	size_t in_bytes;
	void *out;
	size_t out_bytes;
};

void exrnic_mbox_init(struct exrnic_mbox *mbox, void (*fatal)(struct exrnic_device *edev))
{
	mutex_init(&mbox->lock);
	init_completion(&mbox->done);
	mbox->broken = true;
	mbox->fatal = fatal;
}

void exrnic_mbox_interrupt(struct exrnic_mbox *mbox)
{
	complete(&mbox->done);
}

/* Under the lock, so that nobody finds the device broken while it still masters the bus. */
static void exrnic_mbox_cut_off(struct exrnic_device *edev)
{
	lockdep_assert_held(&edev->mbox.lock);
	exrnic_regs_disable(edev);
	pci_clear_master(edev->pdev);
	WRITE_ONCE(edev->mbox.broken, true);
}

static void exrnic_mbox_break_locked(struct exrnic_device *edev, const char *why)
{
	if (edev->mbox.broken)
		return;
	exrnic_mbox_cut_off(edev);
	edev->mbox.fatal(edev);
	dev_err(&edev->pdev->dev, "device cut off from memory: %s; bind the driver anew\n", why);
}

void exrnic_mbox_renew(struct exrnic_device *edev)
{
	mutex_lock(&edev->mbox.lock);
	WRITE_ONCE(edev->mbox.broken, false);
	mutex_unlock(&edev->mbox.lock);
}

void exrnic_mbox_retire(struct exrnic_device *edev)
{
	mutex_lock(&edev->mbox.lock);
	WRITE_ONCE(edev->mbox.broken, true);
	mutex_unlock(&edev->mbox.lock);
}

void exrnic_mbox_break(struct exrnic_device *edev, const char *why)
{
	mutex_lock(&edev->mbox.lock);
	exrnic_mbox_break_locked(edev, why);
	mutex_unlock(&edev->mbox.lock);
}

void exrnic_mbox_shutdown(struct exrnic_device *edev)
{
	mutex_lock(&edev->mbox.lock);
	exrnic_mbox_cut_off(edev);
	mutex_unlock(&edev->mbox.lock);
}

int exrnic_device_error(struct exrnic_device *edev)
{
	return READ_ONCE(edev->mbox.broken) ? -EIO : 0;
}
EXRNIC_EXPORT(exrnic_device_error);

static void exrnic_mbox_send(struct exrnic_device *edev, enum exrnic_mbox_op op,
			     const struct exrnic_mbox_data *data)
{
	const __le32 *word = data->in;
	size_t i;

	reinit_completion(&edev->mbox.done);
	for (i = 0; i < data->in_bytes / sizeof(*word); i++)
		exrnic_write(edev, EXRNIC_REG_MBOX_DATA + i * sizeof(*word), le32_to_cpu(word[i]));
	exrnic_wmb_payload_before_command();
	exrnic_write(edev, EXRNIC_REG_MBOX_COMMAND, op);
}

static int exrnic_mbox_nonsense(struct exrnic_device *edev, u32 status)
{
	dev_err(&edev->pdev->dev, "MBOX_STATUS reads 0x%08x\n", status);
	exrnic_mbox_break_locked(edev, "its mailbox makes no sense");
	return status == EXRNIC_REG_ABSENT ? -ENODEV : -EIO;
}

/*
 * The status decides, the interrupt only ends the wait: one of an earlier command may come late.
 * Returns the status, or a negative error after which the device is broken.
 */
static int exrnic_mbox_wait(struct exrnic_device *edev, enum exrnic_mbox_op op)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(mbox_timeout_ms);
	unsigned long in_time;
	u32 status;

	do {
		in_time = wait_for_completion_timeout(&edev->mbox.done, EXRNIC_MBOX_POLL);
		status = exrnic_read(edev, EXRNIC_REG_MBOX_STATUS);
		if (status == EXRNIC_MBOX_STATUS_BUSY)
			continue;
		if (status > EXRNIC_MBOX_STATUS_NO_ROOM)
			return exrnic_mbox_nonsense(edev, status);
		if (!in_time)
			dev_warn_once(&edev->pdev->dev,
				      "went on without the interrupt of mailbox command %s, which is late\n",
				      exrnic_mbox_op_name(op));
		return status;
	} while (time_before(jiffies, deadline));

	dev_err(&edev->pdev->dev, "no answer to mailbox command %s in %u ms\n",
		exrnic_mbox_op_name(op), mbox_timeout_ms);
	exrnic_mbox_break_locked(edev, "a mailbox command timed out");
	return -ETIMEDOUT;
}

static void exrnic_mbox_receive(struct exrnic_device *edev, const struct exrnic_mbox_data *data)
{
	__le32 *word = data->out;
	size_t i;

	exrnic_rmb_status_before_answer();
	for (i = 0; i < data->out_bytes / sizeof(*word); i++)
		word[i] = cpu_to_le32(exrnic_read(edev, EXRNIC_REG_MBOX_DATA + i * sizeof(*word)));
}

static int exrnic_mbox_exec_locked(struct exrnic_device *edev, enum exrnic_mbox_op op,
				   const struct exrnic_mbox_data *data)
{
	const char *fault;
	int status;

	if (edev->mbox.broken)
		return -EIO;
	exrnic_mbox_send(edev, op, data);
	status = exrnic_mbox_wait(edev, op);
	if (status < 0)
		return status;
	/* A device that was reset does what it is told, and knows nothing of what it was told before. */
	fault = exrnic_regs_fault(edev);
	if (fault) {
		exrnic_mbox_break_locked(edev, fault);
		return -EIO;
	}
	if (status == EXRNIC_MBOX_STATUS_OK)
		exrnic_mbox_receive(edev, data);
	return status;
}

/* Returns the status of the device, or a negative error if there is none. */
static int exrnic_mbox_exec(struct exrnic_device *edev, enum exrnic_mbox_op op,
			    const struct exrnic_mbox_data *data)
{
	int status;

	mutex_lock(&edev->mbox.lock);
	status = exrnic_mbox_exec_locked(edev, op, data);
	mutex_unlock(&edev->mbox.lock);
	return status;
}

/* The same for what can be left undone: -EINTR, the process was killed while others had their turn. */
static int exrnic_mbox_exec_killable(struct exrnic_device *edev, enum exrnic_mbox_op op,
				     const struct exrnic_mbox_data *data)
{
	int status;

	if (mutex_lock_killable(&edev->mbox.lock))
		return -EINTR;
	status = exrnic_mbox_exec_locked(edev, op, data);
	mutex_unlock(&edev->mbox.lock);
	return status;
}

/*
 * What user space gets to see of a refusal. A bad value is the caller's mistake, a bad state that or a race with an
 * error on the wire, and what is not free is what the caller has to expect: nothing for the log.
 */
static int exrnic_mbox_errno(struct exrnic_device *edev, enum exrnic_mbox_op op, int status)
{
	int err;

	if (status <= 0)
		return status;
	err = exrnic_mbox_status_errno(op, status);
	if (err == EIO)
		dev_err_ratelimited(&edev->pdev->dev, "mailbox command %s refused: %s (%d)\n",
				    exrnic_mbox_op_name(op), exrnic_mbox_status_name(status), status);
	else
		dev_dbg(&edev->pdev->dev, "mailbox command %s refused: %s (%d)\n",
			exrnic_mbox_op_name(op), exrnic_mbox_status_name(status), status);
	return -err;
}

static int exrnic_mbox_set(struct exrnic_device *edev, enum exrnic_mbox_op op, const void *in,
			   size_t in_bytes)
{
	const struct exrnic_mbox_data data = { .in = in, .in_bytes = in_bytes };

	return exrnic_mbox_errno(edev, op, exrnic_mbox_exec_killable(edev, op, &data));
}

/* The same for a change that an end is made of, too: that is not left undone. */
static int exrnic_mbox_change(struct exrnic_device *edev, enum exrnic_mbox_op op, const void *in,
			      size_t in_bytes)
{
	const struct exrnic_mbox_data data = { .in = in, .in_bytes = in_bytes };

	return exrnic_mbox_errno(edev, op, exrnic_mbox_exec(edev, op, &data));
}

/* Asks for what the device knows of an object. */
static int exrnic_mbox_query(struct exrnic_device *edev, enum exrnic_mbox_op op, u32 index,
			     void *out, size_t out_bytes)
{
	const struct exrnic_mbox_object in = { .index = cpu_to_le32(index) };
	const struct exrnic_mbox_data data = {
		.in = &in, .in_bytes = sizeof(in), .out = out, .out_bytes = out_bytes,
	};

	return exrnic_mbox_errno(edev, op, exrnic_mbox_exec(edev, op, &data));
}

/*
 * Ends an object. The caller unpins its memory, or gives its place to somebody else, next: anything
 * but success means that the device must be kept from reaching it.
 */
static void exrnic_mbox_end_by(struct exrnic_device *edev, enum exrnic_mbox_op op, const void *in,
			       size_t in_bytes)
{
	const struct exrnic_mbox_data data = { .in = in, .in_bytes = in_bytes };
	int status;

	mutex_lock(&edev->mbox.lock);
	status = exrnic_mbox_exec_locked(edev, op, &data);
	if (status)
		exrnic_mbox_break_locked(edev, "it refused to end an object");
	mutex_unlock(&edev->mbox.lock);
	exrnic_mbox_errno(edev, op, status);
}

static void exrnic_mbox_end(struct exrnic_device *edev, enum exrnic_mbox_op op, u32 index)
{
	const struct exrnic_mbox_object in = { .index = cpu_to_le32(index) };

	exrnic_mbox_end_by(edev, op, &in, sizeof(in));
}

int exrnic_mbox_nop(struct exrnic_device *edev)
{
	return exrnic_mbox_set(edev, EXRNIC_MBOX_OP_NOP, NULL, 0);
}

int exrnic_mbox_create_eq(struct exrnic_device *edev, const struct exrnic_mbox_create_eq *in)
{
	return exrnic_mbox_set(edev, EXRNIC_MBOX_OP_CREATE_EQ, in, sizeof(*in));
}

void exrnic_mbox_destroy_eq(struct exrnic_device *edev, u32 eqn)
{
	exrnic_mbox_end(edev, EXRNIC_MBOX_OP_DESTROY_EQ, eqn);
}

int exrnic_mbox_create_cq(struct exrnic_device *edev, const struct exrnic_mbox_create_cq *in)
{
	return exrnic_mbox_set(edev, EXRNIC_MBOX_OP_CREATE_CQ, in, sizeof(*in));
}

void exrnic_mbox_destroy_cq(struct exrnic_device *edev, u32 cqn)
{
	exrnic_mbox_end(edev, EXRNIC_MBOX_OP_DESTROY_CQ, cqn);
}

int exrnic_mbox_resize_cq(struct exrnic_device *edev, const struct exrnic_mbox_resize_cq *in,
			  struct exrnic_mbox_resized_cq *out)
{
	const enum exrnic_mbox_op op = EXRNIC_MBOX_OP_RESIZE_CQ;
	const struct exrnic_mbox_data data = {
		.in = in, .in_bytes = sizeof(*in), .out = out, .out_bytes = sizeof(*out),
	};

	return exrnic_mbox_errno(edev, op, exrnic_mbox_exec_killable(edev, op, &data));
}

int exrnic_mbox_create_srq(struct exrnic_device *edev, const struct exrnic_mbox_create_srq *in)
{
	return exrnic_mbox_set(edev, EXRNIC_MBOX_OP_CREATE_SRQ, in, sizeof(*in));
}

int exrnic_mbox_modify_srq(struct exrnic_device *edev, const struct exrnic_mbox_modify_srq *in)
{
	return exrnic_mbox_set(edev, EXRNIC_MBOX_OP_MODIFY_SRQ, in, sizeof(*in));
}

int exrnic_mbox_query_srq(struct exrnic_device *edev, u32 srqn, struct exrnic_mbox_query_srq *out)
{
	return exrnic_mbox_query(edev, EXRNIC_MBOX_OP_QUERY_SRQ, srqn, out, sizeof(*out));
}

void exrnic_mbox_destroy_srq(struct exrnic_device *edev, u32 srqn)
{
	exrnic_mbox_end(edev, EXRNIC_MBOX_OP_DESTROY_SRQ, srqn);
}

int exrnic_mbox_create_qp(struct exrnic_device *edev, const struct exrnic_mbox_create_qp *in)
{
	return exrnic_mbox_set(edev, EXRNIC_MBOX_OP_CREATE_QP, in, sizeof(*in));
}

int exrnic_mbox_modify_qp(struct exrnic_device *edev, const struct exrnic_mbox_modify_qp *in)
{
	return exrnic_mbox_change(edev, EXRNIC_MBOX_OP_MODIFY_QP, in, sizeof(*in));
}

int exrnic_mbox_query_qp(struct exrnic_device *edev, u32 qpn, struct exrnic_mbox_query_qp *out)
{
	return exrnic_mbox_query(edev, EXRNIC_MBOX_OP_QUERY_QP, qpn, out, sizeof(*out));
}

void exrnic_mbox_destroy_qp(struct exrnic_device *edev, u32 qpn)
{
	exrnic_mbox_end(edev, EXRNIC_MBOX_OP_DESTROY_QP, qpn);
}

int exrnic_mbox_attach_group(struct exrnic_device *edev, const struct exrnic_mbox_group *in)
{
	return exrnic_mbox_change(edev, EXRNIC_MBOX_OP_ATTACH_GROUP, in, sizeof(*in));
}

int exrnic_mbox_detach_group(struct exrnic_device *edev, const struct exrnic_mbox_group *in)
{
	return exrnic_mbox_change(edev, EXRNIC_MBOX_OP_DETACH_GROUP, in, sizeof(*in));
}

int exrnic_mbox_set_window(struct exrnic_device *edev, const struct exrnic_mbox_set_window *in)
{
	return exrnic_mbox_change(edev, EXRNIC_MBOX_OP_SET_WINDOW, in, sizeof(*in));
}

void exrnic_mbox_close_window(struct exrnic_device *edev, u32 window)
{
	const struct exrnic_mbox_set_window in = { .window = cpu_to_le32(window) };

	exrnic_mbox_end_by(edev, EXRNIC_MBOX_OP_SET_WINDOW, &in, sizeof(in));
}

int exrnic_mbox_register_mr(struct exrnic_device *edev, const struct exrnic_mbox_register_mr *in)
{
	return exrnic_mbox_set(edev, EXRNIC_MBOX_OP_REGISTER_MR, in, sizeof(*in));
}

/* The same for a region that the device had before: that is not left undone. */
int exrnic_mbox_register_mr_anew(struct exrnic_device *edev, const struct exrnic_mbox_register_mr *in)
{
	return exrnic_mbox_change(edev, EXRNIC_MBOX_OP_REGISTER_MR, in, sizeof(*in));
}

void exrnic_mbox_invalidate_mr(struct exrnic_device *edev, u32 stag)
{
	exrnic_mbox_end(edev, EXRNIC_MBOX_OP_INVALIDATE_MR, stag);
}
