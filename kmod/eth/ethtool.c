// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/ethtool.h>

#include "eth.h"

static const char exrnic_eth_counter_names[][ETH_GSTRING_LEN] = {
#define EXRNIC_ETH_COUNTER(name) #name,
	EXRNIC_ETH_COUNTERS_EACH(EXRNIC_ETH_COUNTER)
#undef EXRNIC_ETH_COUNTER
};

static void exrnic_eth_get_drvinfo(struct net_device *netdev, struct ethtool_drvinfo *info)
{
	struct exrnic_eth *eth = netdev_priv(netdev);

	strscpy(info->driver, KBUILD_MODNAME, sizeof(info->driver));
	strscpy(info->bus_info, dev_name(exrnic_device_dma(eth->edev)), sizeof(info->bus_info));
}

/* The device does not tell how fast its line is. */
static int exrnic_eth_get_link_ksettings(struct net_device *netdev,
					 struct ethtool_link_ksettings *settings)
{
	settings->base.speed = SPEED_UNKNOWN;
	settings->base.duplex = netif_carrier_ok(netdev) ? DUPLEX_FULL : DUPLEX_UNKNOWN;
	settings->base.port = PORT_OTHER;
	settings->base.autoneg = AUTONEG_DISABLE;
	return 0;
}

static void exrnic_eth_get_ringparam(struct net_device *netdev, struct ethtool_ringparam *ring,
				     struct kernel_ethtool_ringparam *kernel_ring,
				     struct netlink_ext_ack *extack)
{
	ring->rx_max_pending = BIT(EXRNIC_ETH_RX_LOG);
	ring->tx_max_pending = BIT(EXRNIC_ETH_TX_LOG);
	ring->rx_pending = ring->rx_max_pending;
	ring->tx_pending = ring->tx_max_pending;
}

static int exrnic_eth_get_sset_count(struct net_device *netdev, int set)
{
	return set == ETH_SS_STATS ? ARRAY_SIZE(exrnic_eth_counter_names) : -EOPNOTSUPP;
}

static void exrnic_eth_get_strings(struct net_device *netdev, u32 set, u8 *data)
{
	if (set == ETH_SS_STATS)
		memcpy(data, exrnic_eth_counter_names, sizeof(exrnic_eth_counter_names));
}

static void exrnic_eth_get_ethtool_stats(struct net_device *netdev, struct ethtool_stats *stats,
					 u64 *data)
{
	const struct exrnic_eth *eth = netdev_priv(netdev);
	const struct exrnic_eth_counters *counters = &eth->counters;

#define EXRNIC_ETH_COUNTER(name) *data++ = READ_ONCE(counters->name);
	EXRNIC_ETH_COUNTERS_EACH(EXRNIC_ETH_COUNTER)
#undef EXRNIC_ETH_COUNTER
}

const struct ethtool_ops exrnic_eth_ethtool_ops = {
	.get_drvinfo = exrnic_eth_get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = exrnic_eth_get_link_ksettings,
	.get_ringparam = exrnic_eth_get_ringparam,
	.get_ts_info = ethtool_op_get_ts_info,
	.get_sset_count = exrnic_eth_get_sset_count,
	.get_strings = exrnic_eth_get_strings,
	.get_ethtool_stats = exrnic_eth_get_ethtool_stats,
};
