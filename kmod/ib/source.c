// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Whether a MAD comes from whom it names: in its GRH, and in a request to connect. Its sender has written all of it;
 * the device says which node that is. A GID of another node that this one knows makes it a forgery, which nobody gets to
 * see: else a guest could connect in another one's name. What belongs to a connection names it by numbers that its
 * two ends have drawn, and is not looked at here.
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
#include <rdma/ibta_vol1_c12.h>
#include <rdma/rdma_cm.h>

#include "ib.h"

/* Newer kernels have no stubs: IPv6 is no module there. */
#ifdef EXRNIC_HAS_IPV6_STUBS
#include <net/ipv6_stubs.h>
#define EXRNIC_IB_ND_TABLE	ipv6_stub->nd_tbl
#else
#define EXRNIC_IB_ND_TABLE	(&nd_tbl)
#endif

/* The kernel maps all of its memory here. */
void *exrnic_ib_cpu_address(struct ib_device *ibdev, u64 bus)
{
	struct device *dev = exrnic_device_dma(exrnic_ib_edev(ibdev));
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);
	const phys_addr_t phys = domain ? iommu_iova_to_phys(domain, bus) : dma_to_phys(dev, bus);

	return phys && pfn_valid(PHYS_PFN(phys)) ? phys_to_virt(phys) : NULL;
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

/* What rdma_cm has before a program's data in a request to connect: who it is, by IP address. */
struct exrnic_ib_cma_header {
	u8 version;
	u8 ip_version;			/* in the upper half */
	__be16 port;
	union ib_gid source;		/* of IPv4 in the last four bytes, and the others are nothing */
	union ib_gid destination;
};

static bool exrnic_ib_cma_is(u64 service, const struct exrnic_ib_cma_header *header, struct net_device *netdev,
			     const u8 *mac)
{
	union ib_gid source = header->source;

	service &= RDMA_IB_IP_PS_MASK;
	if (service != RDMA_IB_IP_PS_TCP && service != RDMA_IB_IP_PS_UDP)
		return true;
	if (header->ip_version >> 4 == 4)
		ipv6_addr_set_v4mapped(((const struct in6_addr *)header->source.raw)->s6_addr32[3],
				       (struct in6_addr *)source.raw);
	return exrnic_ib_gid_is(&source, netdev, mac);
}

/* Who asks to be connected says so in the message, too: that is what programs are told. */
static bool exrnic_ib_message_is(struct ib_mad_hdr *mad, struct net_device *netdev, const u8 *mac)
{
	struct cm_sidr_req_msg *sidr = (struct cm_sidr_req_msg *)mad;
	struct cm_req_msg *req = (struct cm_req_msg *)mad;

	if (mad->mgmt_class != IB_MGMT_CLASS_CM)
		return true;
	if (mad->attr_id == CM_REQ_ATTR_ID)
		return exrnic_ib_gid_is(IBA_GET_MEM_PTR(CM_REQ_PRIMARY_LOCAL_PORT_GID, req), netdev, mac) &&
		       exrnic_ib_cma_is(IBA_GET(CM_REQ_SERVICE_ID, req), IBA_GET_MEM_PTR(CM_REQ_PRIVATE_DATA, req),
					netdev, mac);
	if (mad->attr_id == CM_SIDR_REQ_ATTR_ID)
		return exrnic_ib_cma_is(IBA_GET(CM_SIDR_REQ_SERVICEID, sidr),
					IBA_GET_MEM_PTR(CM_SIDR_REQ_PRIVATE_DATA, sidr), netdev, mac);
	return true;
}

/* As something that ib_mad drops without a word. */
static void exrnic_ib_blank(struct ib_mad_hdr *mad)
{
	memset(mad, 0, sizeof(*mad));
	mad->base_version = IB_MGMT_BASE_VERSION;
	mad->mgmt_class = IB_MGMT_CLASS_CM;
	mad->attr_id = CM_REQ_ATTR_ID;	/* but not its method */
}

static bool exrnic_ib_place_is(u8 *place, u32 bytes, struct net_device *netdev, const u8 *mac)
{
	union ib_gid source;

	/* What is not there of it, another one may have left there. */
	if (bytes < EXRNIC_GRH_BYTES + sizeof(struct ib_mad))
		return false;
	exrnic_ib_read_source(place, &source);
	return exrnic_ib_gid_is(&source, netdev, mac) &&
	       exrnic_ib_message_is((struct ib_mad_hdr *)(place + EXRNIC_GRH_BYTES), netdev, mac);
}

void exrnic_ib_check_source(struct ib_device *ibdev, const struct ib_wc *wc, u64 buffer)
{
	struct exrnic_ib_device *dev = exrnic_ib_device(ibdev);
	struct net_device *netdev = exrnic_device_netdev(dev->edev);
	u8 *place = exrnic_ib_cpu_address(ibdev, buffer);

	/* The device has written there, so it is. */
	if (place && !exrnic_ib_place_is(place, wc->byte_len, netdev, wc->smac)) {
		atomic64_inc(&dev->forged);
		exrnic_ib_blank((struct ib_mad_hdr *)(place + EXRNIC_GRH_BYTES));
	}
	if (netdev)
		dev_put(netdev);
}
