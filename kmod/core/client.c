// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who takes part in the lives of a device. */
#include "device.h"

/* With clients_lock. */
static void exrnic_client_begin(struct exrnic_client *client)
{
	client->alive = true;
	client->ops->begin(client);
}

static void exrnic_client_end(struct exrnic_client *client)
{
	if (client->alive)
		client->ops->end(client);
	client->alive = false;
}

void exrnic_client_register(struct exrnic_device *edev, struct exrnic_client *client)
{
	client->edev = edev;
	client->alive = false;
	mutex_lock(&edev->clients_lock);
	spin_lock(&edev->clients_list_lock);
	list_add_tail(&client->entry, &edev->clients);
	spin_unlock(&edev->clients_list_lock);
	if (edev->alive)
		exrnic_client_begin(client);
	mutex_unlock(&edev->clients_lock);
}
EXRNIC_EXPORT(exrnic_client_register);

void exrnic_client_unregister(struct exrnic_client *client)
{
	struct exrnic_device *edev = client->edev;

	mutex_lock(&edev->clients_lock);
	exrnic_client_end(client);
	spin_lock(&edev->clients_list_lock);
	list_del(&client->entry);
	spin_unlock(&edev->clients_list_lock);
	mutex_unlock(&edev->clients_lock);
}
EXRNIC_EXPORT(exrnic_client_unregister);

void exrnic_clients_begin(struct exrnic_device *edev)
{
	struct exrnic_client *client;

	mutex_lock(&edev->clients_lock);
	edev->alive = true;
	list_for_each_entry(client, &edev->clients, entry)
		exrnic_client_begin(client);
	mutex_unlock(&edev->clients_lock);
}

void exrnic_clients_end(struct exrnic_device *edev)
{
	struct exrnic_client *client;

	mutex_lock(&edev->clients_lock);
	edev->alive = false;
	list_for_each_entry(client, &edev->clients, entry)
		exrnic_client_end(client);
	mutex_unlock(&edev->clients_lock);
}

void exrnic_clients_tell(struct exrnic_device *edev, u32 notices)
{
	struct exrnic_client *client;

	mutex_lock(&edev->clients_lock);
	list_for_each_entry(client, &edev->clients, entry)
		if (client->alive)
			client->ops->notice(client, notices);
	mutex_unlock(&edev->clients_lock);
}

void exrnic_clients_cut_off(struct exrnic_device *edev)
{
	struct exrnic_client *client;

	spin_lock(&edev->clients_list_lock);
	list_for_each_entry(client, &edev->clients, entry)
		if (client->ops->cut_off)
			client->ops->cut_off(client);
	spin_unlock(&edev->clients_list_lock);
}
