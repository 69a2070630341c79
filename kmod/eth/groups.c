// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Frames to more than one node go to a group: those to the broadcast address to one of their own, those to multicast
 * addresses to one of few, by a sum. What the interface hears of others' in its groups the kernel drops.
 */
#include "eth.h"

static u32 exrnic_eth_hash(const u8 *address)
{
	return (address[3] + address[4] + address[5]) % EXRNIC_ETHERNET_MULTICAST_GROUPS;
}

u32 exrnic_eth_group_of(const u8 *address)
{
	return is_broadcast_ether_addr(address) ? EXRNIC_ETHERNET_GROUP
						: EXRNIC_ETHERNET_MULTICAST + exrnic_eth_hash(address);
}

static u32 exrnic_eth_groups_wanted(struct net_device *netdev)
{
	struct netdev_hw_addr *address;
	u32 wanted = 0;

	if (netdev->flags & (IFF_ALLMULTI | IFF_PROMISC))
		return GENMASK(EXRNIC_ETHERNET_MULTICAST_GROUPS - 1, 0);
	netif_addr_lock_bh(netdev);
	netdev_for_each_mc_addr(address, netdev)
		wanted |= BIT(exrnic_eth_hash(address->addr));
	netif_addr_unlock_bh(netdev);
	return wanted;
}

static int exrnic_eth_groups_change(struct exrnic_eth *eth, unsigned int group, bool attach)
{
	const u32 number = EXRNIC_ETHERNET_MULTICAST + group;

	return attach ? exrnic_qp_attach_group(eth->edev, &eth->queues.qp, number)
		      : exrnic_qp_detach_group(eth->edev, &eth->queues.qp, number);
}

void exrnic_eth_groups_update(struct exrnic_eth *eth)
{
	const u32 wanted = exrnic_eth_groups_wanted(eth->netdev);
	unsigned int group;

	for (group = 0; group < EXRNIC_ETHERNET_MULTICAST_GROUPS; group++) {
		if (!((wanted ^ eth->groups) & BIT(group)))
			continue;
		if (exrnic_eth_groups_change(eth, group, wanted & BIT(group)))
			eth->counters.group_failures++;
		else
			eth->groups ^= BIT(group);
	}
}

int exrnic_eth_groups_attach(struct exrnic_eth *eth)
{
	int err = exrnic_qp_attach_group(eth->edev, &eth->queues.qp, EXRNIC_ETHERNET_GROUP);

	if (err)
		return err;
	eth->groups = 0;
	exrnic_eth_groups_update(eth);
	return 0;
}
