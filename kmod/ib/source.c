// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Whether a MAD comes from whom its GRH names. The sender has written the GRH; the device says which node that is.
 * A GID of another node that this one knows makes it a forgery, which nobody gets to see: else a guest could
 * connect, or disconnect, in another one's name.
 */
#include <linux/dma-direct.h>
#include <linux/iommu.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/arp.h>
#include <net/ndisc.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pack.h>

#include "ib.h"

/* Newer kernels have no stubs: IPv6 is no module there. */
#if __has_include(<net/ipv6_stubs.h>)
#include <net/ipv6_stubs.h>
#define EXRNIC_IB_ND_TABLE	ipv6_stub->nd_tbl
#else
#define EXRNIC_IB_ND_TABLE	(&nd_tbl)
#endif

/* A buffer that is mapped for the device. The kernel maps all of its memory here. */
static void *exrnic_ib_cpu_address(struct device *dev, dma_addr_t bus)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	return phys_to_virt(domain ? iommu_iova_to_phys(domain, bus) : dma_to_phys(dev, bus));
}

static bool exrnic_ib_neighbour_is(struct neigh_table *table, const void *address, struct net_device *netdev,
				   const u8 *mac)
{
	struct neighbour *neighbour = neigh_lookup(table, address, netdev);
	bool is = true;

	if (!neighbour)
		return true;
	read_lock_bh(&neighbour->lock);
	if (neighbour->nud_state & NUD_VALID)
		is = ether_addr_equal(neighbour->ha, mac);
	read_unlock_bh(&neighbour->lock);
	neigh_release(neighbour);
	return is;
}

/* Of an address that nobody has resolved nothing is known. */
static bool exrnic_ib_gid_is(const union ib_gid *gid, struct net_device *netdev, const u8 *mac)
{
	const struct in6_addr *address = (const struct in6_addr *)gid->raw;
	union ib_gid own = *gid;

	if (rdma_link_local_addr((struct in6_addr *)address)) {
		addrconf_addr_eui48(own.raw + sizeof(own.global.subnet_prefix), mac);
		return !memcmp(&own, gid, sizeof(own));
	}
	if (!netdev)
		return true;
	if (ipv6_addr_v4mapped(address))
		return exrnic_ib_neighbour_is(&arp_tbl, &address->s6_addr32[3], netdev, mac);
	return !IS_ENABLED(CONFIG_IPV6) || exrnic_ib_neighbour_is(EXRNIC_IB_ND_TABLE, address, netdev, mac);
}

/* The GID in a GRH, or in the IPv4 header at its end. */
static void exrnic_ib_read_source(const u8 *place, union ib_gid *gid)
{
	const union rdma_network_hdr *header = (const union rdma_network_hdr *)place;
	const bool ipv4 = ib_get_rdma_header_version(header) == 4;
	union ib_gid destination;

	ib_get_gids_from_rdma_hdr(header, ipv4 ? RDMA_NETWORK_IPV4 : RDMA_NETWORK_IPV6, gid, &destination);
}

/* As something that ib_mad drops without a word. */
static void exrnic_ib_blank(struct ib_mad_hdr *mad)
{
	memset(mad, 0, sizeof(*mad));
	mad->base_version = IB_MGMT_BASE_VERSION;
	mad->mgmt_class = IB_MGMT_CLASS_CM;
	mad->attr_id = CM_REQ_ATTR_ID;	/* but not its method */
}

void exrnic_ib_check_source(struct exrnic_ib_qp *qp, struct ib_wc *wc, u64 buffer)
{
	struct exrnic_ib_device *dev = exrnic_ib_device(qp->ibqp.device);
	struct net_device *netdev;
	union ib_gid source;
	u8 *place;

	if (wc->status != IB_WC_SUCCESS || wc->byte_len < EXRNIC_GRH_BYTES + sizeof(struct ib_mad_hdr))
		return;
	place = exrnic_ib_cpu_address(exrnic_device_dma(dev->edev), buffer);
	exrnic_ib_read_source(place, &source);
	netdev = exrnic_device_netdev(dev->edev);
	if (!exrnic_ib_gid_is(&source, netdev, wc->smac)) {
		atomic64_inc(&dev->forged);
		exrnic_ib_blank((struct ib_mad_hdr *)(place + EXRNIC_GRH_BYTES));
	}
	if (netdev)
		dev_put(netdev);
}
