// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * From addresses of verbs to nodes and groups, and the GRH of a datagram, which its sender makes: the device knows no
 * GID.
 */
#include <linux/etherdevice.h>
#include <linux/in.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_pack.h>

#include "ib.h"

int exrnic_ib_node_of(struct ib_device *ibdev, const u8 *mac, u32 *node)
{
	struct exrnic_device *edev = exrnic_ib_edev(ibdev);

	if (get_unaligned_be32(mac) != EXRNIC_MAC_PREFIX) {
		ibdev_dbg(ibdev, "%pM is no node's address\n", mac);
		return -EHOSTUNREACH;
	}
	*node = get_unaligned_be16(mac + sizeof(__be32));
	return *node < exrnic_device_limits(edev)->node ? 0 : -EHOSTUNREACH;
}

void exrnic_ib_mac_of(u32 node, u8 *mac)
{
	put_unaligned_be32(EXRNIC_MAC_PREFIX, mac);
	put_unaligned_be16(node, mac + sizeof(__be32));
}

/* Of those below the groups of Ethernet; two GIDs may share one. */
u32 exrnic_ib_group_of(const union ib_gid *mgid)
{
	u32 group = 0;
	unsigned int i;

	for (i = 0; i < sizeof(mgid->raw); i += sizeof(__be16))
		group ^= get_unaligned_be16(mgid->raw + i);
	return group % EXRNIC_ETHERNET_GROUP;
}

/*
 * As RoCE v2 has it for IPv6, also of addresses of IPv4, as they stand in GIDs: only a completion could tell an IPv4
 * header in a GRH's place from a GRH, and who gets it looks for its own GID there.
 */
static void exrnic_ib_fill_grh(struct ib_grh *grh, const struct ib_global_route *route)
{
	grh->version_tclass_flow = cpu_to_be32(6u << 28 | route->traffic_class << 20 | route->flow_label);
	grh->next_hdr = IPPROTO_UDP;
	grh->hop_limit = route->hop_limit;
	grh->sgid = route->sgid_attr->gid;
	grh->dgid = route->dgid;
}

static int exrnic_ib_tell_ah(const struct exrnic_ib_ah *ah, struct ib_udata *udata)
{
	struct exrnic_ib_create_ah_resp answer = {
		.destination_low = lower_32_bits(ah->destination),
		.destination_high = upper_32_bits(ah->destination),
		.is_group = ah->is_group,
	};

	memcpy(answer.grh, ah->grh, sizeof(answer.grh));
	return exrnic_ib_tell(udata, &answer, sizeof(answer));
}

int exrnic_ib_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	const struct rdma_ah_attr *attr = init->ah_attr;
	const struct ib_global_route *route = rdma_ah_read_grh(attr);
	struct exrnic_ib_ah *ah = exrnic_ib_ah(ibah);
	u32 node;
	int err;

	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE || !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH))
		return -EINVAL;
	BUILD_BUG_ON(sizeof(struct ib_grh) != EXRNIC_GRH_BYTES);
	exrnic_ib_fill_grh((struct ib_grh *)ah->grh, route);
	if (rdma_is_multicast_addr((struct in6_addr *)route->dgid.raw)) {
		ah->is_group = true;
		ah->destination = EXRNIC_GROUP_QPN + exrnic_ib_group_of(&route->dgid);
	} else {
		err = exrnic_ib_node_of(ibah->device, attr->roce.dmac, &node);
		if (err)
			return err;
		ah->destination = (u64)node << EXRNIC_DATAGRAM_NODE_SHIFT;
	}
	return udata ? exrnic_ib_tell_ah(ah, udata) : 0;
}

int exrnic_ib_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	return 0;
}
