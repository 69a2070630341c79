// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The auxiliary driver: which links there are the administrator says, by a parameter and in sysfs. None by default. */
#include <linux/auxiliary_bus.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "ntb.h"

#define EXRNIC_NTB_WINDOWS_DEFAULT	4
/* Clients count bytes of windows in 32 bits. */
#define EXRNIC_NTB_WINDOW_BYTES_MAX	((u64)SZ_2G)

static char *join;
module_param(join, charp, 0444);
MODULE_PARM_DESC(join, "Links of the RNICs, as in their attribute \"join\": [PCI ADDRESS@]LINK:PEER NODE:PEER LINK[:WINDOWS[:BYTES OF EACH]],...");

struct exrnic_ntb {
	struct exrnic_device *edev;
	struct mutex lock;	/* who has it may wait for clients, and for the device: a signal ends others' waiting for it */
	struct exrnic_ntb_link *link;	/* NULL: none */
};

/* ---- What the administrator writes */

/* A number, and what is behind its ':'. */
static int exrnic_ntb_number(char **text, u64 max, u64 *number)
{
	return !kstrtou64(strsep(text, ":"), 0, number) && *number <= max ? 0 : -EINVAL;
}

/* The last one, with a K, M or G. */
static int exrnic_ntb_bytes(const char *text, u64 max, u64 *bytes)
{
	char *end;

	*bytes = memparse(text, &end);
	return end != text && !*end && *bytes <= max ? 0 : -EINVAL;
}

static int exrnic_ntb_parse_sizes(char *text, const struct exrnic_limits *limits, struct exrnic_ntb_settings *settings)
{
	u64 number;

	settings->windows = EXRNIC_NTB_WINDOWS_DEFAULT;
	settings->window_bytes = limits->window_size;
	if (!text)
		return 0;
	if (exrnic_ntb_number(&text, EXRNIC_NTB_WINDOWS_MAX, &number) || !number)
		return -EINVAL;
	settings->windows = number;
	if (!text)
		return 0;
	if (exrnic_ntb_bytes(text, EXRNIC_NTB_WINDOW_BYTES_MAX, &settings->window_bytes) || !settings->window_bytes ||
	    settings->window_bytes % limits->window_size)
		return -EINVAL;
	return 0;
}

static int exrnic_ntb_parse(char *text, const struct exrnic_limits *limits, struct exrnic_ntb_settings *settings)
{
	u64 link, node, peer_link;

	if (exrnic_ntb_number(&text, EXRNIC_NTB_LINKS - 1, &link) || !text ||
	    exrnic_ntb_number(&text, limits->node - 1, &node) || !text ||
	    exrnic_ntb_number(&text, EXRNIC_NTB_LINKS - 1, &peer_link))
		return -EINVAL;
	settings->link = link;
	settings->peer_node = node;
	settings->peer_link = peer_link;
	return exrnic_ntb_parse_sizes(text, limits, settings);
}

static int exrnic_ntb_join(struct exrnic_ntb *entb, const char *text)
{
	const struct exrnic_limits *limits = exrnic_device_limits(entb->edev);
	struct device *dev = exrnic_device_dma(entb->edev);
	struct exrnic_ntb_settings settings;
	struct exrnic_ntb_link *link;
	char *copy = kstrdup(text, GFP_KERNEL);
	int err;

	if (!copy)
		return -ENOMEM;
	err = exrnic_ntb_parse(strim(copy), limits, &settings);
	kfree(copy);
	if (err) {
		dev_err(dev, "join: \"%s\" is not LINK:PEER NODE:PEER LINK[:WINDOWS[:BYTES OF EACH]], with links below %u, nodes below %u, up to %u windows, bytes a multiple of %u and at most %llu\n",
			text, EXRNIC_NTB_LINKS, limits->node, EXRNIC_NTB_WINDOWS_MAX, limits->window_size,
			EXRNIC_NTB_WINDOW_BYTES_MAX);
		return err;
	}
	if (entb->link)
		return -EBUSY;
	link = exrnic_ntb_link_create(entb->edev, &settings);
	if (IS_ERR(link))
		return PTR_ERR(link);
	entb->link = link;
	return 0;
}

static void exrnic_ntb_part(struct exrnic_ntb *entb)
{
	if (entb->link)
		exrnic_ntb_link_destroy(entb->link);
	entb->link = NULL;
}

static ssize_t join_show(struct device *dev, struct device_attribute *attr, char *buffer)
{
	struct exrnic_ntb *entb = dev_get_drvdata(dev);
	const struct exrnic_ntb_settings *settings;
	ssize_t length = 0;

	if (mutex_lock_interruptible(&entb->lock))
		return -ERESTARTSYS;
	if (entb->link) {
		settings = &entb->link->settings;
		length = sysfs_emit(buffer, "%u:%u:%u:%u:%llu\n", settings->link, settings->peer_node,
				    settings->peer_link, settings->windows, settings->window_bytes);
	}
	mutex_unlock(&entb->lock);
	return length;
}

static ssize_t join_store(struct device *dev, struct device_attribute *attr, const char *text, size_t count)
{
	struct exrnic_ntb *entb = dev_get_drvdata(dev);
	int err;

	if (mutex_lock_interruptible(&entb->lock))
		return -ERESTARTSYS;
	err = exrnic_ntb_join(entb, text);
	mutex_unlock(&entb->lock);
	return err ? err : count;
}
static DEVICE_ATTR_RW(join);

static ssize_t part_store(struct device *dev, struct device_attribute *attr, const char *text, size_t count)
{
	struct exrnic_ntb *entb = dev_get_drvdata(dev);

	if (mutex_lock_interruptible(&entb->lock))
		return -ERESTARTSYS;
	exrnic_ntb_part(entb);
	mutex_unlock(&entb->lock);
	return count;
}
static DEVICE_ATTR_WO(part);

static ssize_t link_up_show(struct device *dev, struct device_attribute *attr, char *buffer)
{
	struct exrnic_ntb *entb = dev_get_drvdata(dev);
	bool up;

	if (mutex_lock_interruptible(&entb->lock))
		return -ERESTARTSYS;
	up = entb->link && READ_ONCE(entb->link->up);
	mutex_unlock(&entb->lock);
	return sysfs_emit(buffer, "%d\n", up);
}
static DEVICE_ATTR_RO(link_up);

static struct attribute *exrnic_ntb_attrs[] = {
	&dev_attr_join.attr,
	&dev_attr_part.attr,
	&dev_attr_link_up.attr,
	NULL,
};
ATTRIBUTE_GROUPS(exrnic_ntb);

/* ---- The parameter */

/* What is meant for this device; a part of it, or NULL. */
static const char *exrnic_ntb_wish_for(const struct exrnic_ntb *entb, char *wish)
{
	char *text = strchr(wish, '@');

	if (!text)
		return wish;
	*text++ = '\0';
	return strcmp(strim(wish), dev_name(exrnic_device_dma(entb->edev))) ? NULL : text;
}

static void exrnic_ntb_join_by_parameter(struct exrnic_ntb *entb)
{
	char *copy = kstrdup(join ?: "", GFP_KERNEL);
	char *rest = copy;
	const char *wish;
	int err;

	while (rest && *rest) {
		wish = exrnic_ntb_wish_for(entb, strsep(&rest, ","));
		err = wish ? exrnic_ntb_join(entb, wish) : 0;
		if (err)
			dev_err(exrnic_device_dma(entb->edev), "there is no link \"%s\": error %d\n", wish, err);
	}
	kfree(copy);
}

/* ---- The driver */

static int exrnic_ntb_probe(struct auxiliary_device *adev, const struct auxiliary_device_id *id)
{
	struct exrnic_ntb *entb = kzalloc(sizeof(*entb), GFP_KERNEL);

	if (!entb)
		return -ENOMEM;
	entb->edev = exrnic_device_of(adev);
	mutex_init(&entb->lock);
	auxiliary_set_drvdata(adev, entb);
	exrnic_ntb_join_by_parameter(entb);
	return 0;
}

static void exrnic_ntb_remove(struct auxiliary_device *adev)
{
	struct exrnic_ntb *entb = auxiliary_get_drvdata(adev);

	exrnic_ntb_part(entb);
	kfree(entb);
}

static const struct auxiliary_device_id exrnic_ntb_ids[] = {
	{ .name = EXRNIC_AUX_NTB },
	{}
};
MODULE_DEVICE_TABLE(auxiliary, exrnic_ntb_ids);

static struct auxiliary_driver exrnic_ntb_driver = {
	.name = "ntb",
	.id_table = exrnic_ntb_ids,
	.probe = exrnic_ntb_probe,
	.remove = exrnic_ntb_remove,
	.driver = { .dev_groups = exrnic_ntb_groups },
};
module_auxiliary_driver(exrnic_ntb_driver);

MODULE_DESCRIPTION("exrnic RDMA NIC: non-transparent bridge");
MODULE_AUTHOR("The exrnic authors");
MODULE_LICENSE("Dual BSD/GPL");
EXRNIC_IMPORT;
