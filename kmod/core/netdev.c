// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which network interface is the device's own: who has it says so, others on top ask. */
#include <linux/netdevice.h>

#include "device.h"

struct net_device *exrnic_device_netdev(struct exrnic_device *edev)
{
	struct net_device *netdev;
	unsigned long flags;

	spin_lock_irqsave(&edev->netdev_lock, flags);
	netdev = edev->netdev;
	if (netdev)
		dev_hold(netdev);
	spin_unlock_irqrestore(&edev->netdev_lock, flags);
	return netdev;
}
EXRNIC_EXPORT(exrnic_device_netdev);

void exrnic_device_set_netdev(struct exrnic_device *edev, struct net_device *netdev)
{
	spin_lock_irq(&edev->netdev_lock);
	edev->netdev = netdev;
	spin_unlock_irq(&edev->netdev_lock);
	exrnic_clients_tell(edev, EXRNIC_NOTICE_NETDEV);
}
EXRNIC_EXPORT(exrnic_device_set_netdev);
