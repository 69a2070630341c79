// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A test that is a module: a user of the RNIC within the kernel, by what exrnic_core.h offers and the data path in C.
 * Loading it does what parameter `check` names, on the first RNIC that there is: what goes wrong is the error, and a line in the log
 * that names it. Nothing of it is left but the module.
 */
#include <linux/auxiliary_bus.h>
#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/pgtable.h>
#include <linux/slab.h>

#include "exrnic_compat.h"
#include "exrnic_core.h"
#include "exrnic_driver.h"
#include "exrnic_kernel_path.h"

#define RING_LOG	EXRNIC_RING_LOG_MIN
#define SLOTS		BIT(RING_LOG)
#define WR_ID		0x1234567890
#define LIMIT		msecs_to_jiffies(10000)

static char *check = "objects";
module_param(check, charp, 0444);
MODULE_PARM_DESC(check, "What to do: objects; ethernet, to end the Ethernet interface's queue pair");

/* A page of coherent memory each, one behind the other. */
enum part { CQ_RING, SQ_RING, RQ_RING, REGION, PARTS };

struct kernel_user {
	struct exrnic_client client;
	struct exrnic_device *edev;
	int result;

	u32 page;
	struct exrnic_user_page user_page;
	u32 pdn;
	void *memory;
	dma_addr_t bus;
	struct exrnic_pbl pbls[PARTS];
	struct exrnic_cq cq;
	struct completion fired;
	struct completion broken;	/* the queue pair */
	struct completion told;		/* that a peer is dead */
	struct exrnic_qp qp;
	struct exrnic_mr mr;

	struct exrnic_cq_ring cq_ring;
	struct exrnic_work_queue sq;
	u64 wr_ids[SLOTS];
};

static int failed(const char *what, int err)
{
	pr_err("exrnic_kernel_user: %s: error %d\n", what, err);
	return err;
}

/* ---- The page */

/* As the page table has it; no other architecture tells so easily. */
static bool combines_writes(const volatile void __iomem *mapped)
{
#ifdef CONFIG_X86
	const pgprotval_t wanted = pgprot_val(pgprot_writecombine(__pgprot(0)));
	unsigned int level;
	pte_t *entry = lookup_address((unsigned long)mapped, &level);

	return entry && (pte_flags(*entry) & _PAGE_CACHE_MASK) == wanted;
#else
	return true;
#endif
}

static int take_page(struct kernel_user *user)
{
	int err = exrnic_page_alloc(user->edev, &user->page);

	if (err)
		return failed("no page", err);
	user->user_page.mapped = exrnic_page_map(user->edev, user->page);
	if (user->user_page.mapped)
		return 0;
	exrnic_page_free(user->edev, user->page);
	return failed("the page cannot be mapped", -ENOMEM);
}

static void give_page_back(struct kernel_user *user)
{
	exrnic_page_unmap(user->user_page.mapped);
	exrnic_page_free(user->edev, user->page);
}

/* More often than there are pages. */
static int pages_come_back(struct kernel_user *user)
{
	u32 times = exrnic_device_limits(user->edev)->user_pages + 1;
	bool combines = true;
	int err = 0;

	while (!err && times--) {
		err = take_page(user);
		if (err)
			break;
		combines = combines && combines_writes(user->user_page.mapped);
		give_page_back(user);
	}
	return err || combines ? err : failed("a page is not write-combining", -EIO);
}

/* ---- Objects */

static u64 address_of(enum part part)
{
	return (u64)part * PAGE_SIZE;
}

static void free_memory(struct kernel_user *user, unsigned int lists)
{
	while (lists--)
		exrnic_pbl_free(user->edev, &user->pbls[lists]);
	dma_free_coherent(exrnic_device_dma(user->edev), PARTS * PAGE_SIZE, user->memory, user->bus);
}

static int alloc_memory(struct kernel_user *user)
{
	unsigned int part;
	int err;

	user->memory = dma_alloc_coherent(exrnic_device_dma(user->edev), PARTS * PAGE_SIZE,
					  &user->bus, GFP_KERNEL);
	if (!user->memory)
		return failed("no memory", -ENOMEM);
	for (part = 0; part < PARTS; part++) {
		err = exrnic_pbl_build_kernel(user->edev, &user->pbls[part],
					      user->bus + address_of(part), address_of(part),
					      PAGE_SIZE);
		if (err) {
			free_memory(user, part);
			return failed("no page list", err);
		}
	}
	return 0;
}

static bool completed(struct exrnic_cq *cq)
{
	complete(&container_of(cq, struct kernel_user, cq)->fired);
	return true;
}

static void overran(struct exrnic_cq *cq)
{
	failed("the completion queue has overrun", -EIO);
}

static void broke(struct exrnic_qp *qp, u32 cause)
{
	failed("the queue pair has failed", -EIO);
}

static void broke_as_expected(struct exrnic_qp *qp, u32 cause)
{
	complete(&container_of(qp, struct kernel_user, qp)->broken);
}

static int create_cq(struct kernel_user *user)
{
	const struct exrnic_cq_attr attr = {
		.ring = &user->pbls[CQ_RING],
		.log_entries = RING_LOG,
		.page = user->page,
		.comp_vector = EXRNIC_ANY_COMP_VECTOR,
	};
	int err;

	user->cq.completion = completed;
	user->cq.overrun = overran;
	init_completion(&user->fired);
	err = exrnic_cq_create(user->edev, &user->cq, &attr);
	if (err)
		return failed("no completion queue", err);
	user->cq_ring.entries = user->memory + address_of(CQ_RING);
	user->cq_ring.num_entries = SLOTS;
	user->cq_ring.number = user->cq.cqn;
	return 0;
}

/* Nobody else gets the number that it has asked for, and others cannot be asked for. */
static int check_number(struct kernel_user *user, struct exrnic_qp_attr attr)
{
	struct exrnic_qp other;

	if (user->qp.qpn != EXRNIC_QPN_GSI)
		return failed("another number", -EPROTO);
	if (exrnic_qp_create(user->edev, &other, &attr) != -EBUSY)
		return failed("a number given twice", -EPROTO);
	attr.qpn = EXRNIC_QPN_MIN;
	if (exrnic_qp_create(user->edev, &other, &attr) != -EINVAL)
		return failed("any number given", -EPROTO);
	return 0;
}

static int create_qp(struct kernel_user *user)
{
	const struct exrnic_qp_attr attr = {
		.sq = &user->pbls[SQ_RING],
		.rq = &user->pbls[RQ_RING],
		.sq_log_slots = RING_LOG,
		.rq_log_slots = RING_LOG,
		.srqn = EXRNIC_NO_SRQ,
		.page = user->page,
		.pdn = user->pdn,
		.send_cqn = user->cq.cqn,
		.recv_cqn = user->cq.cqn,
		.service = EXRNIC_SERVICE_RC,
		.qpn = EXRNIC_QPN_GSI,
	};
	int err;

	user->qp.failed = broke;
	err = exrnic_qp_create(user->edev, &user->qp, &attr);
	if (err)
		return failed("no queue pair", err);
	err = check_number(user, attr);
	if (err) {
		exrnic_qp_destroy(user->edev, &user->qp);
		return err;
	}
	user->sq.ring.slots = user->memory + address_of(SQ_RING);
	user->sq.ring.num_slots = SLOTS;
	user->sq.ring.doorbell = EXRNIC_DOORBELL_SQ;
	user->sq.wr_ids = user->wr_ids;
	return 0;
}

/* From RESET. */
static int connect_qp(struct kernel_user *user, u32 node)
{
	struct exrnic_qp_modify modify = { .state = EXRNIC_QP_STATE_INIT };
	int err = exrnic_qp_modify(user->edev, &user->qp, &modify);

	if (!err) {
		modify.state = EXRNIC_QP_STATE_RTR;
		modify.attributes = EXRNIC_QP_ATTRIBUTES_DEST;
		modify.dest_node = node;
		modify.dest_qpn = 1;
		err = exrnic_qp_modify(user->edev, &user->qp, &modify);
	}
	if (!err) {
		modify = (struct exrnic_qp_modify){ .state = EXRNIC_QP_STATE_RTS };
		err = exrnic_qp_modify(user->edev, &user->qp, &modify);
	}
	return err ? failed("the queue pair does not go to RTS", err) : 0;
}

static int create_mr(struct kernel_user *user)
{
	const struct exrnic_mr_attr attr = {
		.pbl = &user->pbls[REGION],
		.address = address_of(REGION),
		.length = PAGE_SIZE,
		.pdn = user->pdn,
	};
	int err = exrnic_mr_create(user->edev, &user->mr, &attr);

	return err ? failed("no region", err) : 0;
}

/* ---- Work: doorbells tell of it, and of the queue that fires */

static int check_completion(struct kernel_user *user, const struct exrnic_cqe *cqe)
{
	uint64_t wr_id = 0;

	if (!cqe)
		return failed("it fires without a completion", -EIO);
	if (cqe->status != EXRNIC_CQE_STATUS_SUCCESS)
		return failed("work fails", -EIO);
	if (le32_to_cpu(cqe->qpn) != user->qp.qpn ||
	    !exrnic_work_queue_complete(&user->sq, le16_to_cpu(cqe->wqe_index), &wr_id) ||
	    wr_id != WR_ID)
		return failed("another one completes", -EIO);
	return 0;
}

static int work(struct kernel_user *user, const struct exrnic_wqe *wqe)
{
	struct exrnic_work request = { .head = *wqe };
	int err;

	request.head.flags = EXRNIC_WQE_FLAGS_SIGNALED;
	request.head.num_slots = 1;
	exrnic_cq_report(&user->cq_ring, &user->user_page, EXRNIC_DOORBELL_CQ_ARM);
	if (!exrnic_work_queue_has_room(&user->sq, 1))
		return failed("no room in an empty queue", -EIO);
	exrnic_work_queue_put(&user->sq, &request, 1, WR_ID);
	exrnic_ring_announce(&user->sq.ring, &user->user_page, user->qp.qpn);
	if (!wait_for_completion_timeout(&user->fired, LIMIT))
		return failed("nothing completes", -ETIMEDOUT);
	err = check_completion(user, exrnic_cq_at(&user->cq_ring, user->cq_ring.consumer));
	user->cq_ring.consumer++;
	exrnic_cq_report(&user->cq_ring, &user->user_page, EXRNIC_DOORBELL_CQ);
	return err;
}

static int invalidate(struct kernel_user *user, u32 stag)
{
	const struct exrnic_wqe wqe = {
		.opcode = EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE,
		.imm_data = cpu_to_le32(stag),
	};

	return work(user, &wqe);
}

static int fast_register(struct kernel_user *user, u32 stag)
{
	const struct exrnic_wqe wqe = {
		.opcode = EXRNIC_WQE_OPCODE_FAST_REGISTER,
		.imm_data = cpu_to_le32(stag),
		.remote_to = cpu_to_le64(address_of(REGION)),
		.remote_stag = cpu_to_le32(EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE),
		.sge0_address = cpu_to_le64(PAGE_SIZE),
		.sge0_length = cpu_to_le32(user->pbls[REGION].page_shift),
		.sge1_address = cpu_to_le64(user->pbls[REGION].bus),
	};

	return work(user, &wqe);
}

/* Each time with another key; one is registered when it goes. */
static int register_by_work(struct kernel_user *user)
{
	struct exrnic_mr mr;
	int err = exrnic_mr_create_fast(user->edev, &mr, user->pdn);
	u32 stag, times;

	if (err)
		return failed("no region for work requests", err);
	stag = mr.stag;
	for (times = 0; !err && times < 3; times++) {
		if (times)
			err = invalidate(user, stag);
		stag ^= 1 << times;
		if (!err)
			err = fast_register(user, stag);
	}
	exrnic_mr_destroy(user->edev, &mr);
	return err;
}

static int bind_window(struct kernel_user *user, u32 window, u32 region)
{
	const struct exrnic_wqe wqe = {
		.opcode = EXRNIC_WQE_OPCODE_BIND_MW,
		.imm_data = cpu_to_le32(window),
		.remote_to = cpu_to_le64(address_of(REGION)),
		.remote_stag = cpu_to_le32(EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ),
		.sge0_address = cpu_to_le64(PAGE_SIZE / 2),
		.sge0_stag = cpu_to_le32(region),
	};

	return work(user, &wqe);
}

/* Each time with another key; it is bound when its region goes, and then it goes itself. */
static int bind_by_work(struct kernel_user *user)
{
	const struct exrnic_mr_attr attr = {
		.pbl = &user->pbls[REGION],
		.address = address_of(REGION),
		.length = PAGE_SIZE,
		.pdn = user->pdn,
		.access = EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_MW_BIND,
	};
	struct exrnic_mr mr;
	struct exrnic_mw mw;
	u32 stag, times;
	int err;

	err = exrnic_mw_create(user->edev, &mw, user->pdn, false);
	if (err)
		return failed("no memory window", err);
	stag = mw.stag;
	err = exrnic_mr_create(user->edev, &mr, &attr);
	if (err) {
		failed("no region for a memory window", err);
		goto err_mw;
	}
	for (times = 0; !err && times < 3; times++) {
		if (times)
			err = invalidate(user, stag);
		stag ^= 1 << times;
		if (!err)
			err = bind_window(user, stag, mr.stag);
	}
	exrnic_mr_destroy(user->edev, &mr);
err_mw:
	exrnic_mw_destroy(user->edev, &mw);
	return err;
}

/* ---- Events: clients that do not come to hear what concerns all hold up nobody's */

/* It was in RTS. */
static int fail_at(struct kernel_user *user, u32 node)
{
	const struct exrnic_qp_modify reset = { .state = EXRNIC_QP_STATE_RESET };
	const struct exrnic_work push = {
		.head = {
			.opcode = EXRNIC_WQE_OPCODE_PUSH,
			.flags = EXRNIC_WQE_FLAGS_INLINE,
			.num_slots = 1,
			.length = cpu_to_le32(8),
		},
	};
	int err = exrnic_qp_modify(user->edev, &user->qp, &reset);

	if (err)
		return failed("the queue pair does not go to RESET", err);
	user->sq.ring.tail = 0;
	user->sq.head = 0;
	err = connect_qp(user, node);
	if (err)
		return err;
	exrnic_work_queue_put(&user->sq, &push, 1, WR_ID);
	exrnic_ring_announce(&user->sq.ring, &user->user_page, user->qp.qpn);
	return wait_for_completion_timeout(&user->broken, LIMIT) ? 0 : failed("no error is told", -ETIMEDOUT);
}

/* To a node that is not there. That it is dead clients are told when begin() is over, which this is a part of. */
static int fail_while_clients_wait(struct kernel_user *user)
{
	const u32 nobody = exrnic_device_limits(user->edev)->node - 1;
	int err;

	user->qp.failed = broke_as_expected;
	err = fail_at(user, nobody);
	return err ? err : fail_at(user, nobody);
}

/* ---- All of it */

/* A node whose RNIC is or is not there: nothing is sent to it. */
static int connect_to_neighbour(struct kernel_user *user)
{
	struct exrnic_identity identity;
	int err = exrnic_device_identify(user->edev, &identity);

	return err ? failed("the device does not answer", err) : connect_qp(user, identity.node ? 0 : 1);
}

static int use_objects(struct kernel_user *user)
{
	int err = create_cq(user);

	if (err)
		return err;
	err = create_qp(user);
	if (err)
		goto err_cq;
	err = connect_to_neighbour(user);
	if (err)
		goto err_qp;
	err = create_mr(user);
	if (err)
		goto err_qp;
	err = invalidate(user, user->mr.stag);
	if (!err)
		err = register_by_work(user);
	if (!err)
		err = bind_by_work(user);
	if (!err)
		err = fail_while_clients_wait(user);
	exrnic_mr_destroy(user->edev, &user->mr);
err_qp:
	exrnic_qp_destroy(user->edev, &user->qp);
err_cq:
	exrnic_cq_destroy(user->edev, &user->cq);
	return err;
}

/* Whatever address memory has on the bus. */
static int look_at_bus(struct kernel_user *user)
{
	struct exrnic_pbl all;
	u64 bytes;
	int err = exrnic_pbl_build_bus(user->edev, &all, &bytes);

	if (err)
		return failed("no list of all memory", err);
	exrnic_pbl_free(user->edev, &all);
	return user->bus + PARTS * PAGE_SIZE <= bytes ? 0 : failed("memory lies beyond all memory", -ERANGE);
}

static int use_page(struct kernel_user *user)
{
	int err = exrnic_pd_alloc(user->edev, &user->pdn);

	if (err)
		return failed("no domain", err);
	err = alloc_memory(user);
	if (!err) {
		err = look_at_bus(user);
		if (!err)
			err = use_objects(user);
		free_memory(user, PARTS);
	}
	exrnic_pd_free(user->edev, user->pdn);
	return err;
}

/* If the device has an Ethernet interface, it is that one. Its end waits for whoever keeps it. */
static int look_at_netdev(struct kernel_user *user)
{
	struct net_device *netdev = exrnic_device_netdev(user->edev);
	bool is_ours;

	if (!netdev)
		return 0;
	is_ours = netdev->dev.parent == exrnic_device_dma(user->edev);
	dev_put(netdev);
	return is_ours ? 0 : failed("another network interface", -EPROTO);
}

/* Nobody tells its owner, who hears of it by what the queue pair flushes. */
static int end_ethernet(struct kernel_user *user)
{
	const struct exrnic_qp_modify modify = { .state = EXRNIC_QP_STATE_ERROR };
	struct exrnic_qp qp = { .qpn = EXRNIC_ETHERNET_QPN };
	int err = exrnic_qp_modify(user->edev, &qp, &modify);

	return err ? failed("the Ethernet interface's queue pair does not go to ERROR", err) : 0;
}

static void use_all(struct kernel_user *user)
{
	user->result = look_at_netdev(user);
	if (!user->result)
		user->result = pages_come_back(user);
	if (!user->result)
		user->result = take_page(user);
	if (user->result)
		return;
	user->result = use_page(user);
	give_page_back(user);
}

static void begin(struct exrnic_client *client)
{
	struct kernel_user *user = container_of(client, struct kernel_user, client);

	if (!strcmp(check, "ethernet"))
		user->result = end_ethernet(user);
	else
		use_all(user);
}

static void end(struct exrnic_client *client)
{
}

static void notice(struct exrnic_client *client, u32 notices)
{
	if (notices & EXRNIC_NOTICE_PEER_DEAD)
		complete(&container_of(client, struct kernel_user, client)->told);
}

static const struct exrnic_client_ops client_ops = { .begin = begin, .end = end, .notice = notice };

static int use(struct exrnic_device *edev)
{
	struct kernel_user *user = kzalloc(sizeof(*user), GFP_KERNEL);
	int result;

	if (!user)
		return -ENOMEM;
	user->edev = edev;
	user->client.ops = &client_ops;
	user->result = -EIO;	/* until it is found to be alive */
	init_completion(&user->broken);
	init_completion(&user->told);
	exrnic_client_register(edev, &user->client);
	if (!user->result && !strcmp(check, "objects") && !wait_for_completion_timeout(&user->told, LIMIT))
		user->result = failed("nobody tells of a dead peer", -ETIMEDOUT);
	exrnic_client_unregister(&user->client);
	result = user->result;
	kfree(user);
	return result;
}

/* One of the function's children; stops at the first that is a part of an RNIC. */
static int use_child(struct device *dev, void *result)
{
	if (strncmp(dev_name(dev), EXRNIC_AUX_CDEV, strlen(EXRNIC_AUX_CDEV)))
		return 0;
	*(int *)result = use(exrnic_device_of(to_auxiliary_dev(dev)));
	return 1;
}

static int __init exrnic_kernel_user_init(void)
{
	struct pci_dev *pdev = pci_get_device(EXRNIC_PCI_VENDOR_ID, EXRNIC_PCI_DEVICE_ID, NULL);
	int result = -ENODEV;

	if (pdev)
		device_for_each_child(&pdev->dev, &result, use_child);
	pci_dev_put(pdev);
	return result;
}

static void __exit exrnic_kernel_user_exit(void)
{
}

module_init(exrnic_kernel_user_init);
module_exit(exrnic_kernel_user_exit);

MODULE_DESCRIPTION("exrnic RDMA NIC: test of what users within the kernel need");
MODULE_AUTHOR("The exrnic authors");
MODULE_LICENSE("Dual BSD/GPL");
EXRNIC_IMPORT;
