// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A device of the RDMA subsystem for each life of an RNIC. */
#include <linux/auxiliary_bus.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <rdma/ib_addr.h>

#include "ib.h"

/* On an RNIC, through all its lives. */
struct exrnic_ib_face {
	struct exrnic_client client;
	struct device *parent;
	struct exrnic_ib_device *dev;	/* between begin and end; NULL: it did not come into being */
	spinlock_t lock;		/* who changes dev, beside begin and end, which come one at a time */
};

static const struct ib_device_ops exrnic_ib_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.uverbs_abi_ver = EXRNIC_IB_ABI_VERSION,

	.alloc_hw_device_stats = exrnic_ib_alloc_hw_device_stats,
	.alloc_mr = exrnic_ib_alloc_mr,
	.alloc_mw = exrnic_ib_alloc_mw,
	.alloc_pd = exrnic_ib_alloc_pd,
	.alloc_ucontext = exrnic_ib_alloc_ucontext,
	.attach_mcast = exrnic_ib_attach_mcast,
	.create_ah = exrnic_ib_create_ah,
	.create_cq = exrnic_ib_create_cq,
	.create_qp = exrnic_ib_create_qp,
	.create_srq = exrnic_ib_create_srq,
	.create_user_ah = exrnic_ib_create_ah,
	.dealloc_mw = exrnic_ib_dealloc_mw,
	.dealloc_pd = exrnic_ib_dealloc_pd,
	.dealloc_ucontext = exrnic_ib_dealloc_ucontext,
	.dereg_mr = exrnic_ib_dereg_mr,
	.destroy_ah = exrnic_ib_destroy_ah,
	.destroy_cq = exrnic_ib_destroy_cq,
	.destroy_qp = exrnic_ib_destroy_qp,
	.destroy_srq = exrnic_ib_destroy_srq,
	.detach_mcast = exrnic_ib_detach_mcast,
	.disassociate_ucontext = exrnic_ib_disassociate_ucontext,
	.get_dev_fw_str = exrnic_ib_get_dev_fw_str,
	.get_dma_mr = exrnic_ib_get_dma_mr,
	.get_hw_stats = exrnic_ib_get_hw_stats,
	.get_link_layer = exrnic_ib_get_link_layer,
	.get_port_immutable = exrnic_ib_get_port_immutable,
	.map_mr_sg = exrnic_ib_map_mr_sg,
	.mmap = exrnic_ib_mmap,
	.mmap_free = exrnic_ib_mmap_free,
	.modify_qp = exrnic_ib_modify_qp,
	.modify_srq = exrnic_ib_modify_srq,
	.poll_cq = exrnic_ib_poll_cq,
	.post_recv = exrnic_ib_post_recv,
	.post_send = exrnic_ib_post_send,
	.post_srq_recv = exrnic_ib_post_srq_recv,
	.query_device = exrnic_ib_query_device,
	.query_pkey = exrnic_ib_query_pkey,
	.query_port = exrnic_ib_query_port,
	.query_qp = exrnic_ib_query_qp,
	.query_srq = exrnic_ib_query_srq,
	.reg_user_mr = exrnic_ib_reg_user_mr,
	.reg_user_mr_dmabuf = exrnic_ib_reg_user_mr_dmabuf,
	.req_notify_cq = exrnic_ib_req_notify_cq,
	.rereg_user_mr = exrnic_ib_rereg_user_mr,
	EXRNIC_IB_USER_CQ_OPS(exrnic_ib_create_cq, exrnic_ib_resize_cq),

	INIT_RDMA_OBJ_SIZE(ib_ah, exrnic_ib_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, exrnic_ib_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, exrnic_ib_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, exrnic_ib_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, exrnic_ib_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, exrnic_ib_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, exrnic_ib_ucontext, ibuc),
};

/* ---- The page of kernel users */

static int exrnic_ib_take_page(struct exrnic_ib_device *dev)
{
	int err = exrnic_page_alloc(dev->edev, &dev->page);

	if (err)
		return err;
	dev->user_page.mapped = exrnic_page_map(dev->edev, dev->page);
	if (dev->user_page.mapped)
		return 0;
	exrnic_page_free(dev->edev, dev->page);
	return -ENOMEM;
}

static void exrnic_ib_give_page_back(struct exrnic_ib_device *dev)
{
	exrnic_page_unmap(dev->user_page.mapped);
	exrnic_page_free(dev->edev, dev->page);
}

/* ---- Interfaces: a port's addresses are those of the device's own */

static int exrnic_ib_follow_netdev(struct exrnic_ib_device *dev)
{
	struct net_device *netdev = exrnic_device_netdev(dev->edev);
	int err = ib_device_set_netdev(&dev->ibdev, netdev, EXRNIC_IB_PORT);

	if (netdev)
		dev_put(netdev);	/* the core has its own reference */
	return err;
}

/* ---- Lives */

static void exrnic_ib_set_names(struct exrnic_ib_device *dev)
{
	struct ib_device *ibdev = &dev->ibdev;

	addrconf_addr_eui48((u8 *)&ibdev->node_guid, dev->identity.mac);
	snprintf(ibdev->node_desc, sizeof(ibdev->node_desc), "exrnic node %u", dev->identity.node);
}

/* A fabric's manager may have given the node another number. */
static void exrnic_ib_update_identity(struct exrnic_ib_device *dev)
{
	struct exrnic_identity identity;

	if (exrnic_device_identify(dev->edev, &identity) || identity.node == dev->identity.node)
		return;
	/* The rest is the device's for ever, and read without a lock. */
	dev->identity.node = identity.node;
	memcpy(dev->identity.mac, identity.mac, sizeof(identity.mac));
	exrnic_ib_set_names(dev);
}

static void exrnic_ib_init(struct exrnic_ib_device *dev, struct device *parent)
{
	struct ib_device *ibdev = &dev->ibdev;

	xa_init_flags(&dev->qps, XA_FLAGS_LOCK_IRQ);
	mutex_init(&dev->qps_lock);
	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = exrnic_device_limits(dev->edev)->comp_vectors;
	ibdev->dev.parent = parent;
	exrnic_ib_set_names(dev);
	ib_set_device_ops(ibdev, &exrnic_ib_ops);
}

static int exrnic_ib_register(struct exrnic_ib_device *dev, struct device *parent)
{
	int err = exrnic_device_identify(dev->edev, &dev->identity);

	if (err)
		return err;
	err = exrnic_ib_take_page(dev);
	if (err)
		return err;
	exrnic_ib_init(dev, parent);
	err = exrnic_ib_follow_netdev(dev);
	if (!err)
		err = ib_register_device(&dev->ibdev, "exrnic_%d", exrnic_device_dma(dev->edev));
	if (err)
		exrnic_ib_give_page_back(dev);
	else
		exrnic_device_watch(dev->edev);
	return err;
}

static void exrnic_ib_set_dev(struct exrnic_ib_face *face, struct exrnic_ib_device *dev)
{
	spin_lock(&face->lock);
	face->dev = dev;
	spin_unlock(&face->lock);
}

static void exrnic_ib_begin(struct exrnic_client *client)
{
	struct exrnic_ib_face *face = container_of(client, struct exrnic_ib_face, client);
	struct exrnic_ib_device *dev = ib_alloc_device(exrnic_ib_device, ibdev);
	int err = -ENOMEM;

	if (dev) {
		dev->edev = client->edev;
		exrnic_ib_flush_init(dev);
		err = exrnic_ib_register(dev, face->parent);
		if (!err) {
			exrnic_ib_set_dev(face, dev);
			exrnic_ib_flush_if_cut_off(dev);	/* before it had a place */
			return;
		}
		cancel_work_sync(&dev->flush);
		ib_dealloc_device(&dev->ibdev);
	}
	dev_err(face->parent, "no RDMA device: error %d\n", err);
}

static void exrnic_ib_end(struct exrnic_client *client)
{
	struct exrnic_ib_face *face = container_of(client, struct exrnic_ib_face, client);
	struct exrnic_ib_device *dev = face->dev;

	if (!dev)
		return;
	dev->ends_at = exrnic_qp_stop_deadline(NULL);
	smp_store_release(&dev->ends, true);
	/* It can be cut off while kernel users end what they have. */
	ib_unregister_device(&dev->ibdev);
	exrnic_device_unwatch(dev->edev);
	exrnic_ib_set_dev(face, NULL);
	cancel_work_sync(&dev->flush);
	exrnic_ib_give_page_back(dev);
	xa_destroy(&dev->qps);
	ib_dealloc_device(&dev->ibdev);
}

static void exrnic_ib_raise(struct exrnic_ib_device *dev, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = EXRNIC_IB_PORT,
		.event = type,
	};

	ib_dispatch_event(&event);
}

static void exrnic_ib_notice(struct exrnic_client *client, u32 notices)
{
	struct exrnic_ib_device *dev = container_of(client, struct exrnic_ib_face, client)->dev;
	struct ib_port_attr attr = {};

	if (!dev)
		return;
	if (notices & EXRNIC_NOTICE_NETDEV)
		exrnic_ib_follow_netdev(dev);
	if (notices & EXRNIC_NOTICE_FATAL)
		exrnic_ib_raise(dev, IB_EVENT_DEVICE_FATAL);
	if (notices & EXRNIC_NOTICE_LINK)
		exrnic_ib_update_identity(dev);
	if ((notices & EXRNIC_NOTICE_LINK) && !exrnic_ib_query_port(&dev->ibdev, EXRNIC_IB_PORT, &attr))
		exrnic_ib_raise(dev, attr.state == IB_PORT_ACTIVE ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR);
}

static void exrnic_ib_cut_off(struct exrnic_client *client)
{
	struct exrnic_ib_face *face = container_of(client, struct exrnic_ib_face, client);

	spin_lock(&face->lock);
	if (face->dev)
		schedule_work(&face->dev->flush);
	spin_unlock(&face->lock);
}

static const struct exrnic_client_ops exrnic_ib_client_ops = {
	.begin = exrnic_ib_begin,
	.end = exrnic_ib_end,
	.notice = exrnic_ib_notice,
	.cut_off = exrnic_ib_cut_off,
};

/* ---- The auxiliary bus */

static int exrnic_ib_probe(struct auxiliary_device *adev, const struct auxiliary_device_id *id)
{
	struct exrnic_ib_face *face = kzalloc(sizeof(*face), GFP_KERNEL);

	if (!face)
		return -ENOMEM;
	spin_lock_init(&face->lock);
	face->client.ops = &exrnic_ib_client_ops;
	face->parent = adev->dev.parent;
	auxiliary_set_drvdata(adev, face);
	exrnic_client_register(exrnic_device_of(adev), &face->client);
	return 0;
}

static void exrnic_ib_remove(struct auxiliary_device *adev)
{
	struct exrnic_ib_face *face = auxiliary_get_drvdata(adev);

	exrnic_client_unregister(&face->client);
	kfree(face);
}

static const struct auxiliary_device_id exrnic_ib_ids[] = {
	{ .name = EXRNIC_AUX_IB },
	{}
};
MODULE_DEVICE_TABLE(auxiliary, exrnic_ib_ids);

static struct auxiliary_driver exrnic_ib_driver = {
	.name = "ib",
	.id_table = exrnic_ib_ids,
	.probe = exrnic_ib_probe,
	.remove = exrnic_ib_remove,
};
module_auxiliary_driver(exrnic_ib_driver);

MODULE_DESCRIPTION("exrnic RDMA NIC: device of the RDMA subsystem");
MODULE_AUTHOR("The exrnic authors");
MODULE_LICENSE("Dual BSD/GPL");
EXRNIC_IMPORT;
