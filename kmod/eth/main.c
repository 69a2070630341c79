// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The auxiliary driver. */
#include <linux/auxiliary_bus.h>
#include <linux/err.h>
#include <linux/module.h>

#include "eth.h"

static int exrnic_eth_probe(struct auxiliary_device *adev, const struct auxiliary_device_id *id)
{
	struct exrnic_eth *eth = exrnic_eth_create(exrnic_device_of(adev));
	int err;

	if (IS_ERR(eth))
		return PTR_ERR(eth);
	err = exrnic_eth_publish(eth);
	if (err) {
		exrnic_eth_free(eth);
		return err;
	}
	auxiliary_set_drvdata(adev, eth);
	return 0;
}

static void exrnic_eth_remove(struct auxiliary_device *adev)
{
	struct exrnic_eth *eth = auxiliary_get_drvdata(adev);

	exrnic_eth_withdraw(eth);
	exrnic_eth_free(eth);
}

static const struct auxiliary_device_id exrnic_eth_ids[] = {
	{ .name = EXRNIC_AUX_ETH },
	{}
};
MODULE_DEVICE_TABLE(auxiliary, exrnic_eth_ids);

static struct auxiliary_driver exrnic_eth_driver = {
	.name = "eth",
	.id_table = exrnic_eth_ids,
	.probe = exrnic_eth_probe,
	.remove = exrnic_eth_remove,
};
module_auxiliary_driver(exrnic_eth_driver);

MODULE_DESCRIPTION("exrnic RDMA NIC: Ethernet interface");
MODULE_AUTHOR("The exrnic authors");
MODULE_LICENSE("Dual BSD/GPL");
EXRNIC_IMPORT;
