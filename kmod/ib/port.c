// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the device and its port are. */
#include <rdma/ib_mad.h>

#include "ib.h"

#define EXRNIC_IB_MAX_MR_SIZE	(1ULL << 47)

/* So many whatever their elements: kernel users ask for no more, and for all elements. Smaller ones find more room. */
static u32 exrnic_ib_most_requests(void)
{
	return BIT(EXRNIC_SQ_LOG_MAX) / exrnic_slots_for_elements(EXRNIC_MAX_SGE);
}

int exrnic_ib_query_device(struct ib_device *ibdev, struct ib_device_attr *attr, struct ib_udata *udata)
{
	struct exrnic_ib_device *dev = exrnic_ib_device(ibdev);
	const struct exrnic_limits *limits = exrnic_device_limits(dev->edev);

	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;
	memset(attr, 0, sizeof(*attr));
	attr->fw_ver = dev->identity.abi_version;
	attr->sys_image_guid = ibdev->node_guid;
	attr->vendor_id = EXRNIC_PCI_VENDOR_ID;
	attr->vendor_part_id = EXRNIC_PCI_DEVICE_ID;
	attr->hw_ver = dev->identity.abi_version;
	attr->max_mr_size = EXRNIC_IB_MAX_MR_SIZE;
	attr->page_size_cap = BIT(EXRNIC_PAGE_SHIFT) | BIT(EXRNIC_HUGE_PAGE_SHIFT);
	attr->device_cap_flags = IB_DEVICE_RC_RNR_NAK_GEN | IB_DEVICE_SYS_IMAGE_GUID |
				 IB_DEVICE_PORT_ACTIVE_EVENT | IB_DEVICE_MEM_MGT_EXTENSIONS |
				 IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2B;
	attr->max_qp = limits->qp - EXRNIC_QPN_MIN;
	attr->max_qp_wr = exrnic_ib_most_requests();
	/* Of a datagram the GRH takes one. */
	attr->max_send_sge = EXRNIC_MAX_SGE - 1;
	attr->max_recv_sge = EXRNIC_MAX_SGE;
	attr->max_sge_rd = EXRNIC_MAX_SGE - 1;
	attr->max_cq = limits->cq;
	attr->max_cqe = exrnic_cq_capacity(BIT(EXRNIC_CQ_LOG_MAX));
	attr->max_mr = limits->stag - EXRNIC_STAG_INDEX_MIN;
	attr->max_mw = attr->max_mr;
	attr->max_pd = EXRNIC_FW_PD - 1;
	attr->max_qp_rd_atom = EXRNIC_IB_MAX_READS;
	attr->max_qp_init_rd_atom = EXRNIC_IB_MAX_READS;
	attr->max_res_rd_atom = limits->read_pool;
	attr->atomic_cap = IB_ATOMIC_HCA;
	attr->max_mcast_grp = EXRNIC_MAX_ATTACHED;
	attr->max_mcast_qp_attach = EXRNIC_MAX_ATTACHED;
	attr->max_total_mcast_qp_attach = EXRNIC_MAX_ATTACHED;
	attr->max_ah = INT_MAX;
	attr->max_srq = limits->srq;
	attr->max_srq_wr = exrnic_ib_most_requests();
	attr->max_srq_sge = EXRNIC_MAX_SGE;
	attr->max_fast_reg_page_list_len = EXRNIC_IB_FAST_PAGES;
	attr->max_pkeys = EXRNIC_PKEYS;
	/* Completions have the device's time. */
	attr->timestamp_mask = U64_MAX;
	attr->hca_core_clock = USEC_PER_SEC;	/* kHz: it counts nanoseconds */
	return 0;
}

/* The greatest of verbs' sizes that leaves room for a GRH. */
static enum ib_mtu exrnic_ib_mtu(const struct exrnic_ib_device *dev)
{
	enum ib_mtu mtu = IB_MTU_4096;

	while (mtu > IB_MTU_256 && ib_mtu_enum_to_int(mtu) + EXRNIC_GRH_BYTES > dev->identity.mtu)
		mtu--;
	return mtu;
}

int exrnic_ib_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	struct exrnic_ib_device *dev = exrnic_ib_device(ibdev);
	u32 status;
	bool up;
	int err = exrnic_device_status(dev->edev, &status);

	if (err)
		return err;
	up = status & EXRNIC_DEVICE_STATUS_LINK_UP;
	attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = exrnic_ib_mtu(dev);
	attr->gid_tbl_len = EXRNIC_IB_GIDS;
	attr->ip_gids = true;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = EXRNIC_MESSAGE_MAX;
	attr->pkey_tbl_len = EXRNIC_PKEYS;
	attr->max_vl_num = 1;
	/* The line's speed is the simulator's business; that of the usual profile. */
	attr->active_width = IB_WIDTH_1X;
	attr->active_speed = IB_SPEED_EDR;
	attr->bad_pkey_cntr = exrnic_device_counter(dev->edev, EXRNIC_COUNTER_BAD_PKEY);
	attr->qkey_viol_cntr = exrnic_device_counter(dev->edev, EXRNIC_COUNTER_BAD_QKEY);
	return 0;
}

int exrnic_ib_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index >= EXRNIC_PKEYS)
		return -EINVAL;
	*pkey = exrnic_device_pkey(exrnic_ib_edev(ibdev), index);
	return 0;
}

int exrnic_ib_get_port_immutable(struct ib_device *ibdev, u32 port, struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	immutable->pkey_tbl_len = EXRNIC_PKEYS;
	immutable->gid_tbl_len = EXRNIC_IB_GIDS;
	return 0;
}

enum rdma_link_layer exrnic_ib_get_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

void exrnic_ib_get_dev_fw_str(struct ib_device *ibdev, char *text)
{
	snprintf(text, IB_FW_VERSION_NAME_MAX, "%u", exrnic_ib_device(ibdev)->identity.abi_version);
}

/* ---- Counters: those of the core, under their names in the data sheet, and the driver's own */

enum { EXRNIC_IB_FORGED = EXRNIC_COUNTERS, EXRNIC_IB_COUNTERS };

static struct rdma_stat_desc exrnic_ib_stats[EXRNIC_IB_COUNTERS];

struct rdma_hw_stats *exrnic_ib_alloc_hw_device_stats(struct ib_device *ibdev)
{
	static const char *const names[] = EXRNIC_COUNTER_NAMES;
	unsigned int i;

	BUILD_BUG_ON(ARRAY_SIZE(names) != EXRNIC_COUNTERS);
	for (i = 0; i < EXRNIC_COUNTERS; i++)
		exrnic_ib_stats[i].name = names[i];
	exrnic_ib_stats[EXRNIC_IB_FORGED].name = "forged_mads";
	return rdma_alloc_hw_stats_struct(exrnic_ib_stats, EXRNIC_IB_COUNTERS, RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

int exrnic_ib_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index)
{
	unsigned int i;

	for (i = 0; i < EXRNIC_COUNTERS; i++)
		stats->value[i] = exrnic_device_counter(exrnic_ib_edev(ibdev), i);
	stats->value[EXRNIC_IB_FORGED] = atomic64_read(&exrnic_ib_device(ibdev)->forged);
	return EXRNIC_IB_COUNTERS;
}
