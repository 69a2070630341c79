// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The network interface: up and down, polling, and what the device's lives do to it. It stays, with its addresses, while the
 * device is between two lives; it is not present then.
 */
#include <linux/rtnetlink.h>

#include "eth.h"

/* ---- Polling */

/*
 * Receives are what the budget counts. Of sends it takes as many as the queue holds, and then a turn is over, as there may
 * always be more; without a budget, as of netpoll, those in front of the first receive. Returns the budget if there may be more.
 */
static int exrnic_eth_take(struct exrnic_eth *eth, int budget)
{
	struct exrnic_cq_ring *completions = &eth->queues.completions;
	int received = 0, left = budget + BIT(EXRNIC_ETH_TX_LOG);
	const struct exrnic_cqe *cqe;

	while (left--) {
		cqe = exrnic_cq_at(completions, completions->consumer);
		if (!cqe)
			return received;
		if (cqe->opcode == EXRNIC_WQE_OPCODE_RECV && received == budget)
			return budget;
		if (cqe->opcode == EXRNIC_WQE_OPCODE_RECV) {
			exrnic_eth_rx_completed(eth, cqe);
			received++;
		} else {
			exrnic_eth_tx_completed(eth, cqe, budget);
		}
		completions->consumer++;
		exrnic_cq_report_if_due(completions, &eth->queues.user_page,
					completions->num_entries);
	}
	return budget;
}

static int exrnic_eth_poll(struct napi_struct *napi, int budget)
{
	struct exrnic_eth *eth = container_of(napi, struct exrnic_eth, napi);
	const int done = exrnic_eth_take(eth, budget);

	if (done)
		exrnic_eth_rx_fill(eth);
	/* One that comes before the queue is armed makes it fire at once. */
	if (done < budget && napi_complete_done(napi, done))
		exrnic_cq_report(&eth->queues.completions, &eth->queues.user_page,
				 EXRNIC_DOORBELL_CQ_ARM);
	return done;
}

/* ---- Up and down, with RTNL */

static void exrnic_eth_update_carrier(struct exrnic_eth *eth)
{
	u32 status;

	if (!exrnic_device_error(eth->edev) && !exrnic_device_status(eth->edev, &status) &&
	    (status & EXRNIC_DEVICE_STATUS_LINK_UP))
		netif_carrier_on(eth->netdev);
	else
		netif_carrier_off(eth->netdev);
}

static int exrnic_eth_start(struct exrnic_eth *eth)
{
	struct exrnic_identity identity;
	int err = exrnic_device_identify(eth->edev, &identity);

	if (err)
		return err;
	eth->mtu = identity.mtu;
	WRITE_ONCE(eth->broken, false);
	err = exrnic_eth_queues_create(eth);
	if (err)
		return err;
	err = exrnic_eth_groups_attach(eth);
	if (err) {
		exrnic_eth_queues_destroy(eth);
		return err;
	}
	eth->started = true;
	exrnic_device_watch(eth->edev);
	exrnic_eth_rx_fill(eth);
	napi_enable(&eth->napi);
	/* It arms the queue; nobody else touches that. */
	local_bh_disable();
	napi_schedule(&eth->napi);
	local_bh_enable();
	netif_start_queue(eth->netdev);
	exrnic_eth_update_carrier(eth);
	return 0;
}

static void exrnic_eth_stop(struct exrnic_eth *eth)
{
	if (!eth->started)
		return;
	eth->started = false;
	netif_carrier_off(eth->netdev);
	/* Which may wake the queue: first. */
	napi_disable(&eth->napi);
	netif_tx_disable(eth->netdev);
	exrnic_device_unwatch(eth->edev);
	exrnic_eth_queues_destroy(eth);
	exrnic_eth_tx_drop(eth);
	exrnic_eth_rx_drop(eth);
}

static int exrnic_eth_open(struct net_device *netdev)
{
	struct exrnic_eth *eth = netdev_priv(netdev);

	return eth->alive ? exrnic_eth_start(eth) : -ENODEV;
}

static int exrnic_eth_close(struct net_device *netdev)
{
	exrnic_eth_stop(netdev_priv(netdev));
	return 0;
}

/* It is up, and has no queues. Without them it cannot stay so. */
static void exrnic_eth_start_again(struct exrnic_eth *eth)
{
	int err = exrnic_eth_start(eth);

	if (!err)
		return;
	netdev_err(eth->netdev, "it is down, as the device refuses its queues: error %d\n", err);
	dev_close(eth->netdev);
}

/* What needs RTNL, and to sleep, of whoever may not. */
static void exrnic_eth_work(struct work_struct *work)
{
	struct exrnic_eth *eth = container_of(work, struct exrnic_eth, work);

	rtnl_lock();
	if (eth->started && READ_ONCE(eth->broken)) {
		netdev_warn(eth->netdev, "the queue pair has failed, and begins anew\n");
		eth->counters.restarts++;
		exrnic_eth_stop(eth);
		exrnic_eth_start_again(eth);
	} else if (eth->started) {
		exrnic_eth_groups_update(eth);
	}
	rtnl_unlock();
}

static void exrnic_eth_set_rx_mode(struct net_device *netdev)
{
	struct exrnic_eth *eth = netdev_priv(netdev);

	schedule_work(&eth->work);
}

static void exrnic_eth_tx_timeout(struct net_device *netdev, unsigned int queue)
{
	exrnic_eth_break(netdev_priv(netdev));
}

static void exrnic_eth_get_stats64(struct net_device *netdev, struct rtnl_link_stats64 *stats)
{
	const struct exrnic_eth *eth = netdev_priv(netdev);
	const struct exrnic_eth_counters *counters = &eth->counters;

	stats->rx_packets = READ_ONCE(counters->rx_packets);
	stats->rx_bytes = READ_ONCE(counters->rx_bytes);
	stats->multicast = READ_ONCE(counters->rx_multicast);
	stats->rx_length_errors = READ_ONCE(counters->rx_malformed);
	stats->rx_missed_errors = READ_ONCE(counters->rx_incomplete);
	stats->rx_errors = READ_ONCE(counters->rx_errors) + READ_ONCE(counters->rx_forged) +
			   stats->rx_length_errors;
	stats->rx_dropped = READ_ONCE(counters->rx_no_memory);
	stats->tx_packets = READ_ONCE(counters->tx_packets);
	stats->tx_bytes = READ_ONCE(counters->tx_bytes);
	stats->tx_errors = READ_ONCE(counters->tx_errors);
	stats->tx_dropped = READ_ONCE(counters->tx_unknown) + READ_ONCE(counters->tx_malformed);
}

static const struct net_device_ops exrnic_eth_netdev_ops = {
	.ndo_open = exrnic_eth_open,
	.ndo_stop = exrnic_eth_close,
	.ndo_start_xmit = exrnic_eth_xmit,
	.ndo_tx_timeout = exrnic_eth_tx_timeout,
	.ndo_set_rx_mode = exrnic_eth_set_rx_mode,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_get_stats64 = exrnic_eth_get_stats64,
};

/* ---- The device's lives */

/* The node's number, and so its address, may be another one: a fabric's manager says it. With RTNL. */
static void exrnic_eth_update_address(struct exrnic_eth *eth)
{
	struct exrnic_identity identity;

	if (exrnic_device_identify(eth->edev, &identity) || identity.node == eth->node)
		return;
	WRITE_ONCE(eth->node, identity.node);
	eth_hw_addr_set(eth->netdev, identity.mac);
	call_netdevice_notifiers(NETDEV_CHANGEADDR, eth->netdev);
}

static void exrnic_eth_begin(struct exrnic_client *client)
{
	struct exrnic_eth *eth = container_of(client, struct exrnic_eth, client);

	rtnl_lock();
	eth->alive = true;
	exrnic_eth_update_address(eth);
	if (netif_running(eth->netdev))
		exrnic_eth_start_again(eth);
	netif_device_attach(eth->netdev);
	rtnl_unlock();
}

static void exrnic_eth_end(struct exrnic_client *client)
{
	struct exrnic_eth *eth = container_of(client, struct exrnic_eth, client);

	rtnl_lock();
	eth->alive = false;
	netif_device_detach(eth->netdev);
	exrnic_eth_stop(eth);
	rtnl_unlock();
}

/* A device that is cut off has no carrier: so nobody waits for what it was to send. */
static void exrnic_eth_notice(struct exrnic_client *client, u32 notices)
{
	struct exrnic_eth *eth = container_of(client, struct exrnic_eth, client);

	if (!(notices & (EXRNIC_NOTICE_LINK | EXRNIC_NOTICE_FATAL)))
		return;
	rtnl_lock();
	if (notices & EXRNIC_NOTICE_LINK)
		exrnic_eth_update_address(eth);
	if (eth->started)
		exrnic_eth_update_carrier(eth);
	rtnl_unlock();
}

static const struct exrnic_client_ops exrnic_eth_client_ops = {
	.begin = exrnic_eth_begin,
	.end = exrnic_eth_end,
	.notice = exrnic_eth_notice,
};

struct exrnic_eth *exrnic_eth_create(struct exrnic_device *edev)
{
	struct exrnic_identity identity;
	struct net_device *netdev;
	struct exrnic_eth *eth;

	if (exrnic_device_identify(edev, &identity))
		return ERR_PTR(-ENODEV);
	netdev = alloc_etherdev(sizeof(*eth));
	if (!netdev)
		return ERR_PTR(-ENOMEM);
	SET_NETDEV_DEV(netdev, exrnic_device_dma(edev));
	eth_hw_addr_set(netdev, identity.mac);
	netdev->netdev_ops = &exrnic_eth_netdev_ops;
	netdev->ethtool_ops = &exrnic_eth_ethtool_ops;
	netdev->features = NETIF_F_SG | NETIF_F_HIGHDMA;
	netdev->hw_features = NETIF_F_SG;
	netdev->max_mtu = EXRNIC_ETHERNET_FRAME_MAX - ETH_HLEN - 2 * VLAN_HLEN;
	eth = netdev_priv(netdev);
	eth->netdev = netdev;
	eth->edev = edev;
	eth->node = identity.node;
	eth->client.ops = &exrnic_eth_client_ops;
	INIT_WORK(&eth->work, exrnic_eth_work);
	netif_napi_add(netdev, &eth->napi, exrnic_eth_poll);
	netif_carrier_off(netdev);
	return eth;
}

int exrnic_eth_publish(struct exrnic_eth *eth)
{
	int err;

	exrnic_client_register(eth->edev, &eth->client);
	err = register_netdev(eth->netdev);
	if (err)
		exrnic_client_unregister(&eth->client);
	else
		exrnic_device_set_netdev(eth->edev, eth->netdev);
	return err;
}

void exrnic_eth_withdraw(struct exrnic_eth *eth)
{
	exrnic_device_set_netdev(eth->edev, NULL);
	exrnic_client_unregister(&eth->client);
	unregister_netdev(eth->netdev);
	cancel_work_sync(&eth->work);
}

void exrnic_eth_free(struct exrnic_eth *eth)
{
	netif_napi_del(&eth->napi);
	free_netdev(eth->netdev);
}
