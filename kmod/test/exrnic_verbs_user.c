// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A test that is a module: a user of kernel verbs on the RNIC, as NVMe over RDMA is one. Loading it does what parameter
 * `check` names, on the device exrnic_0: what goes wrong is the error, and a line in the log that names it. Nothing of it
 * is left but the module; after check=death the RNIC has to be bound anew.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>
#include <rdma/ibta_vol1_c12.h>

#include "exrnic_hw.h"

#define DEVICE		"exrnic_0"
#define PORT		1
#define DEPTH		8
#define GENERAL_SERVICES	1	/* their queue pair */
#define LIMIT		msecs_to_jiffies(10000)
#define QUIET_MS	200

static char *check = "";
module_param(check, charp, 0444);
MODULE_PARM_DESC(check, "What to do: death, numbers, mads, services");

struct verbs_user {
	struct ib_device *dev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *connected;	/* to itself, in RTS */
	struct ib_qp *waiting;		/* in INIT */
	struct ib_qp *datagrams;	/* of UD, in RTS */
};

/* Work that is posted, and comes back. */
struct task {
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
};

static int failed(const char *what, int err)
{
	pr_err("exrnic_verbs_user: %s: error %d\n", what, err);
	return err;
}

/* ---- Objects */

static struct ib_qp *create_qp(struct verbs_user *user, enum ib_qp_type type)
{
	struct ib_qp_init_attr init = {
		.send_cq = user->cq,
		.recv_cq = user->cq,
		.cap = {
			.max_send_wr = DEPTH,
			.max_recv_wr = DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = type,
	};

	return ib_create_qp(user->pd, &init);
}

static int to_init(struct ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = PORT, .qkey = IB_QP1_QKEY };

	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			    (qp->qp_type == IB_QPT_UD ? IB_QP_QKEY : IB_QP_ACCESS_FLAGS));
}

static int to_datagrams(struct ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTR };
	int err = to_init(qp);

	if (!err)
		err = ib_modify_qp(qp, &attr, IB_QP_STATE);
	attr.qp_state = IB_QPS_RTS;
	return err ? err : ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN);
}

static int make_attr(struct verbs_user *user, struct rdma_ah_attr *attr)
{
	union ib_gid gid;
	int err = rdma_query_gid(user->dev, PORT, 0, &gid);

	attr->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(attr, PORT);
	rdma_ah_set_grh(attr, &gid, 0, 0, 1, 0);
	rdma_get_ll_mac((struct in6_addr *)gid.raw, attr->roce.dmac);
	return err;
}

static int to_rts(struct verbs_user *user, struct ib_qp *qp)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTR,
		.path_mtu = IB_MTU_256,
		.dest_qp_num = qp->qp_num,
	};
	int err = make_attr(user, &attr.ah_attr);

	if (err)
		return err;
	err = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			   IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	if (err)
		return err;
	/* Who finds no receive comes again for ever. */
	attr = (struct ib_qp_attr){ .qp_state = IB_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7 };
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
			    IB_QP_MAX_QP_RD_ATOMIC | IB_QP_SQ_PSN);
}

static void destroy(struct verbs_user *user)
{
	if (!IS_ERR_OR_NULL(user->datagrams))
		ib_destroy_qp(user->datagrams);
	if (!IS_ERR_OR_NULL(user->waiting))
		ib_destroy_qp(user->waiting);
	if (!IS_ERR_OR_NULL(user->connected))
		ib_destroy_qp(user->connected);
	if (!IS_ERR_OR_NULL(user->cq))
		ib_free_cq(user->cq);
	if (!IS_ERR_OR_NULL(user->pd))
		ib_dealloc_pd(user->pd);
}

static int create(struct verbs_user *user)
{
	int err;

	user->pd = ib_alloc_pd(user->dev, 0);
	if (IS_ERR(user->pd))
		return failed("no domain", PTR_ERR(user->pd));
	user->cq = ib_alloc_cq(user->dev, user, 8 * DEPTH, 0, IB_POLL_WORKQUEUE);
	if (IS_ERR(user->cq))
		return failed("no completion queue", PTR_ERR(user->cq));
	user->connected = create_qp(user, IB_QPT_RC);
	user->waiting = create_qp(user, IB_QPT_RC);
	user->datagrams = create_qp(user, IB_QPT_UD);
	if (IS_ERR(user->connected) || IS_ERR(user->waiting) || IS_ERR(user->datagrams))
		return failed("no queue pair", -EIO);
	err = to_init(user->connected);
	if (!err)
		err = to_rts(user, user->connected);
	if (!err)
		err = to_init(user->waiting);
	if (!err)
		err = to_datagrams(user->datagrams);
	return err ? failed("a queue pair does not change its state", err) : 0;
}

/* ---- Work */

static void task_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct task *task = container_of(wc->wr_cqe, struct task, cqe);

	task->status = wc->status;
	complete(&task->done);
}

static void begin(struct task *task)
{
	task->cqe.done = task_done;
	init_completion(&task->done);
}

static int post_send(struct ib_qp *qp, struct task *task, int flags)
{
	const struct ib_send_wr wr = {
		.wr_cqe = &task->cqe,
		.opcode = IB_WR_SEND,
		.send_flags = flags,
	};

	begin(task);
	return ib_post_send(qp, &wr, NULL);
}

static int post_recv(struct ib_qp *qp, struct task *task)
{
	const struct ib_recv_wr wr = { .wr_cqe = &task->cqe };

	begin(task);
	return ib_post_recv(qp, &wr, NULL);
}

static int await_flushed(struct task *tasks, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (!wait_for_completion_timeout(&tasks[i].done, LIMIT))
			return failed("work is not flushed", -ETIMEDOUT);
		if (tasks[i].status != IB_WC_WR_FLUSH_ERR)
			return failed("work ends otherwise than flushed", -EPROTO);
	}
	return 0;
}

/* ---- The device dies, without a word to its driver, while work is under way, and while somebody drains */

static int post_all(struct verbs_user *user, struct task *tasks)
{
	int err = post_send(user->connected, &tasks[0], IB_SEND_SIGNALED);

	if (!err)
		err = post_send(user->connected, &tasks[1], 0);
	if (!err)
		err = post_recv(user->waiting, &tasks[2]);
	if (!err)
		err = post_recv(user->waiting, &tasks[3]);
	return err;
}

static int reset_in_silence(struct verbs_user *user)
{
	struct pci_dev *pdev = to_pci_dev(user->dev->dev.parent);
	int err;

	pci_save_state(pdev);
	err = pcie_reset_flr(pdev, PCI_RESET_DO_RESET);
	pci_restore_state(pdev);
	return err;
}

static int die(struct verbs_user *user, struct task *tasks)
{
	union ib_gid group = { .raw = { 0xff, 0x0e, [15] = 1 } };
	int err = ib_attach_mcast(user->datagrams, &group, 0);

	if (err)
		return failed("a queue pair is not attached", err);
	err = post_all(user, tasks);
	if (err)
		return failed("work is not taken", err);
	msleep(QUIET_MS);
	if (completion_done(&tasks[0].done) || completion_done(&tasks[2].done))
		return failed("work ends before the device does", -EPROTO);
	err = reset_in_silence(user);
	if (err)
		return failed("the device cannot be reset", err);
	err = await_flushed(tasks, 4);
	if (err)
		return err;
	/* Nothing else is lost from now on, either. */
	err = post_all(user, tasks);
	if (err)
		return failed("work is not taken by a dead device", err);
	err = await_flushed(tasks, 4);
	if (err)
		return err;
	ib_drain_qp(user->waiting);
	ib_drain_qp(user->connected);
	/* Who cannot detach keeps the queue pair for ever. */
	err = ib_detach_mcast(user->datagrams, &group, 0);
	return err ? failed("a queue pair is not detached", err) : 0;
}

static int check_death(struct verbs_user *user)
{
	struct task *tasks = kcalloc(4, sizeof(*tasks), GFP_KERNEL);
	int err = tasks ? create(user) : -ENOMEM;

	if (!err)
		err = die(user, tasks);
	destroy(user);
	kfree(tasks);
	return err;
}

/*
 * ---- A queue pair that ends frees its number, and one that begins meanwhile, perhaps with that number, is nevertheless known:
 * two threads take turns at the only number that is left
 */

#define ROUNDS	100

struct taker {
	struct verbs_user *user;
	struct task_struct *thread;
	int result;
};

static int take_number(struct verbs_user *user)
{
	struct ib_qp_attr error = { .qp_state = IB_QPS_ERR };
	struct task *task = kzalloc(sizeof(*task), GFP_KERNEL);
	struct ib_qp *qp;
	int err;

	if (!task)
		return -ENOMEM;
	/* Who has the number needs the processor, to give it back. */
	while (IS_ERR(qp = create_qp(user, IB_QPT_RC)) && PTR_ERR(qp) == -ENOSPC)
		cond_resched();
	if (IS_ERR(qp)) {
		kfree(task);
		return failed("no queue pair", PTR_ERR(qp));
	}
	err = to_init(qp);
	if (!err)
		err = post_recv(qp, task);
	if (!err)
		err = ib_modify_qp(qp, &error, IB_QP_STATE);
	if (!err)
		err = await_flushed(task, 1);
	ib_destroy_qp(qp);
	kfree(task);
	return err;
}

static int take_numbers(void *argument)
{
	struct taker *taker = argument;
	int round;

	for (round = 0; round < ROUNDS && !taker->result; round++)
		taker->result = take_number(taker->user);
	while (!kthread_should_stop())
		msleep(1);
	return 0;
}

static int take_turns(struct verbs_user *user)
{
	struct taker takers[2] = { { .user = user }, { .user = user } };
	unsigned int i;

	for (i = 0; i < 2; i++)
		takers[i].thread = kthread_run(take_numbers, &takers[i], "exrnic-taker");
	for (i = 0; i < 2; i++)
		if (IS_ERR(takers[i].thread))
			takers[i].result = PTR_ERR(takers[i].thread);
		else
			kthread_stop(takers[i].thread);
	return takers[0].result ? takers[0].result : takers[1].result;
}

static int check_numbers(struct verbs_user *user)
{
	const u32 most = user->dev->attrs.max_qp;
	struct ib_qp **qps = kvcalloc(most, sizeof(*qps), GFP_KERNEL);
	u32 count = 0;
	int err = qps ? create(user) : -ENOMEM;

	while (!err && count < most) {
		struct ib_qp *qp = create_qp(user, IB_QPT_UC);

		if (IS_ERR(qp))
			break;
		qps[count++] = qp;
	}
	if (!err && !count)
		err = failed("no queue pair", -ENOSPC);
	if (!err) {
		ib_destroy_qp(qps[--count]);
		err = take_turns(user);
	}
	while (count)
		ib_destroy_qp(qps[--count]);
	kvfree(qps);
	destroy(user);
	return err;
}

/*
 * ---- Datagrams to the general services: one that is no MAD, being too short, and requests to connect, in the node's own name and in
 * another one's. Who loads this looks at the counter
 */

struct letter {
	struct task task;
	union {
		struct cm_req_msg req;
		struct ib_mad mad;
	};
};

static int send_letter(struct verbs_user *user, struct ib_ah *ah, struct letter *letter, u32 bytes)
{
	const dma_addr_t bus = dma_map_single(user->dev->dev.parent, &letter->mad, sizeof(letter->mad), DMA_TO_DEVICE);
	struct ib_sge element = { .addr = bus, .length = bytes, .lkey = user->pd->local_dma_lkey };
	const struct ib_ud_wr wr = {
		.wr = {
			.wr_cqe = &letter->task.cqe,
			.sg_list = &element,
			.num_sge = 1,
			.opcode = IB_WR_SEND,
			.send_flags = IB_SEND_SIGNALED,
		},
		.ah = ah,
		.remote_qpn = GENERAL_SERVICES,
		.remote_qkey = IB_QP1_QKEY,
	};
	int err = dma_mapping_error(user->dev->dev.parent, bus);

	if (err)
		return err;
	begin(&letter->task);
	err = ib_post_send(user->datagrams, &wr.wr, NULL);
	if (!err && !wait_for_completion_timeout(&letter->task.done, LIMIT))
		err = -ETIMEDOUT;
	if (!err && letter->task.status)
		err = -EIO;
	dma_unmap_single(user->dev->dev.parent, bus, sizeof(letter->mad), DMA_TO_DEVICE);
	return err;
}

/* Of the node whose address that is, or of one beside it. */
static void write_request(struct letter *letter, union ib_gid gid, u8 beside)
{
	gid.raw[15] ^= beside;
	memset(&letter->mad, 0, sizeof(letter->mad));
	letter->mad.mad_hdr.base_version = IB_MGMT_BASE_VERSION;
	letter->mad.mad_hdr.mgmt_class = IB_MGMT_CLASS_CM;
	letter->mad.mad_hdr.class_version = 2;
	letter->mad.mad_hdr.method = IB_MGMT_METHOD_SEND;
	letter->mad.mad_hdr.attr_id = CM_REQ_ATTR_ID;
	*IBA_GET_MEM_PTR(CM_REQ_PRIMARY_LOCAL_PORT_GID, &letter->req) = gid;
}

static int send_letters(struct verbs_user *user, struct ib_ah *ah, struct letter *letter)
{
	union ib_gid gid;
	int err = rdma_query_gid(user->dev, PORT, 0, &gid);

	if (!err)
		err = send_letter(user, ah, letter, sizeof(struct ib_mad_hdr) / 2);
	if (!err) {
		write_request(letter, gid, 1);
		err = send_letter(user, ah, letter, sizeof(letter->mad));
	}
	if (!err) {
		write_request(letter, gid, 0);
		err = send_letter(user, ah, letter, sizeof(letter->mad));
	}
	msleep(QUIET_MS);	/* until they have been taken */
	return err ? failed("a datagram is not sent", err) : 0;
}

static int check_mads(struct verbs_user *user)
{
	struct letter *letter = kzalloc(sizeof(*letter), GFP_KERNEL);
	struct rdma_ah_attr attr = {};
	int err = letter ? create(user) : -ENOMEM;
	struct ib_ah *ah;

	if (!err)
		err = make_attr(user, &attr);
	if (!err) {
		ah = rdma_create_ah(user->pd, &attr, 0);
		err = PTR_ERR_OR_ZERO(ah);
	}
	if (!err) {
		err = send_letters(user, ah, letter);
		rdma_destroy_ah(ah, 0);
	}
	destroy(user);
	kfree(letter);
	return err;
}

/*
 * ---- The general services outlive what cannot be sent by their queue pair. That is ib_mad's: work of another one there comes
 * back to who has posted it
 */

static int post_mad(struct ib_qp *qp, struct ib_ah *ah, u32 remote_qpn, struct letter *letter,
		    struct ib_sge element)
{
	const struct ib_ud_wr wr = {
		.wr = {
			.wr_cqe = &letter->task.cqe,
			.sg_list = &element,
			.num_sge = 1,
			.opcode = IB_WR_SEND,
			.send_flags = IB_SEND_SIGNALED,
		},
		.ah = ah,
		.remote_qpn = remote_qpn,
		.remote_qkey = IB_QP1_QKEY,
	};
	int err;

	begin(&letter->task);
	err = ib_post_send(qp, &wr.wr, NULL);
	if (!err && !wait_for_completion_timeout(&letter->task.done, LIMIT))
		err = -ETIMEDOUT;
	return err ? err : letter->task.status ? -EIO : 0;
}

static int send_mads(struct ib_qp *qp, struct ib_ah *ah, struct letter *letter, u64 bus)
{
	const struct ib_sge good = { .addr = bus, .length = sizeof(letter->mad), .lkey = qp->pd->local_dma_lkey };
	struct ib_sge element = good;
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;
	int err;

	element.lkey ^= 0xff;
	if (post_mad(qp, ah, GENERAL_SERVICES, letter, element) != -EINVAL)
		return failed("a MAD has a wrong key", -EPROTO);
	element = good;
	element.length++;
	if (post_mad(qp, ah, GENERAL_SERVICES, letter, element) != -EINVAL)
		return failed("a MAD is too long", -EPROTO);
	element = good;
	element.addr = BIT_ULL(45);	/* no memory is there, nor beyond the device's reach */
	if (post_mad(qp, ah, GENERAL_SERVICES, letter, element) != -EFAULT)
		return failed("a MAD lies nowhere", -EPROTO);
	if (post_mad(qp, ah, EXRNIC_GROUP_QPN, letter, good) != -EINVAL ||
	    post_mad(qp, ah, U32_MAX, letter, good) != -EINVAL)
		return failed("a MAD is for what is no queue pair's number", -EPROTO);
	err = ib_query_qp(qp, &attr, IB_QP_STATE, &init);
	if (!err && attr.qp_state != IB_QPS_RTS)
		err = -EPROTO;
	if (err)
		return failed("the general services have ended", err);
	err = post_mad(qp, ah, GENERAL_SERVICES, letter, good);
	return err ? failed("a good MAD is not sent", err) : 0;
}

static void mad_is_sent(struct ib_mad_agent *agent, struct ib_mad_send_wc *wc)
{
}

static int check_services(struct verbs_user *user)
{
	struct letter *letter = kzalloc(sizeof(*letter), GFP_KERNEL);
	struct device *dma = user->dev->dev.parent;
	struct rdma_ah_attr attr = {};
	struct ib_mad_agent *agent;
	struct ib_ah *ah;
	dma_addr_t bus;
	int err;

	if (!letter)
		return -ENOMEM;
	agent = ib_register_mad_agent(user->dev, PORT, IB_QPT_GSI, NULL, 0, mad_is_sent, NULL, user, 0);
	err = PTR_ERR_OR_ZERO(agent);
	if (err)
		goto out_letter;
	err = make_attr(user, &attr);
	if (err)
		goto out_agent;
	ah = rdma_create_ah(agent->qp->pd, &attr, 0);
	err = PTR_ERR_OR_ZERO(ah);
	if (err)
		goto out_agent;
	bus = dma_map_single(dma, &letter->mad, sizeof(letter->mad), DMA_TO_DEVICE);
	err = dma_mapping_error(dma, bus);
	if (!err) {
		err = send_mads(agent->qp, ah, letter, bus);
		dma_unmap_single(dma, bus, sizeof(letter->mad), DMA_TO_DEVICE);
	}
	rdma_destroy_ah(ah, 0);
out_agent:
	ib_unregister_mad_agent(agent);
out_letter:
	kfree(letter);
	return err;
}

/* ---- All of it */

static const struct {
	const char *name;
	int (*run)(struct verbs_user *user);
} checks[] = {
	{ "death", check_death },
	{ "numbers", check_numbers },
	{ "mads", check_mads },
	{ "services", check_services },
};

static int run(struct verbs_user *user)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(checks); i++)
		if (!strcmp(check, checks[i].name))
			return checks[i].run(user);
	return failed("there is no such check", -EINVAL);
}

static int result = -ENODEV;	/* until the device is found */

/* It stays as long as this runs. */
static int find(struct ib_device *dev)
{
	struct verbs_user user = { .dev = dev };

	if (!strcmp(dev_name(&dev->dev), DEVICE))
		result = run(&user);
	return -EOPNOTSUPP;	/* no more than that */
}

static struct ib_client client = { .name = "exrnic_verbs_user", .add = find };

static int __init exrnic_verbs_user_init(void)
{
	int err = ib_register_client(&client);

	if (err)
		return failed("no client", err);
	ib_unregister_client(&client);
	return result == -ENODEV ? failed("there is no " DEVICE, result) : result;
}

static void __exit exrnic_verbs_user_exit(void)
{
}

module_init(exrnic_verbs_user_init);
module_exit(exrnic_verbs_user_exit);

MODULE_DESCRIPTION("exrnic RDMA NIC: test of what users of kernel verbs need");
MODULE_AUTHOR("The exrnic authors");
MODULE_LICENSE("Dual BSD/GPL");
