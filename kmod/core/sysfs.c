// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a client shows below its device in sysfs: attributes of the RNIC, counters/ with a file for each counter of the
 * core, and pkeys/ with one for each entry of the table of P_Keys, which root may write. drvdata of that device is the
 * struct exrnic_device.
 */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "regs.h"

static struct exrnic_device *exrnic_sysfs_device(struct device *dev)
{
	return dev_get_drvdata(dev);
}

static ssize_t exrnic_show_register(struct device *dev, u32 reg, char *text)
{
	u32 value = exrnic_read(exrnic_sysfs_device(dev), reg);

	return value == EXRNIC_REG_ABSENT ? -ENODEV : sysfs_emit(text, "%u\n", value);
}

#define EXRNIC_REGISTER_ATTR(name, REG)                                                           \
	static ssize_t name##_show(struct device *dev, struct device_attribute *attr, char *text) \
	{                                                                                         \
		return exrnic_show_register(dev, EXRNIC_REG_##REG, text);                         \
	}                                                                                         \
	static DEVICE_ATTR_RO(name)

EXRNIC_REGISTER_ATTR(abi_version, ABI_VERSION);
EXRNIC_REGISTER_ATTR(node_id, NODE_ID);
EXRNIC_REGISTER_ATTR(mtu, MTU);
EXRNIC_REGISTER_ATTR(clock_khz, CLOCK_KHZ);
EXRNIC_REGISTER_ATTR(max_qp, MAX_QP);
EXRNIC_REGISTER_ATTR(max_cq, MAX_CQ);
EXRNIC_REGISTER_ATTR(max_srq, MAX_SRQ);
EXRNIC_REGISTER_ATTR(max_mr, MAX_STAG);
EXRNIC_REGISTER_ATTR(read_pool, READ_POOL);

static ssize_t address_show(struct device *dev, struct device_attribute *attr, char *text)
{
	struct exrnic_identity identity;
	int err = exrnic_device_identify(exrnic_sysfs_device(dev), &identity);

	return err ? err : sysfs_emit(text, "%pM\n", identity.mac);
}
static DEVICE_ATTR_RO(address);

static ssize_t link_show(struct device *dev, struct device_attribute *attr, char *text)
{
	u32 status = exrnic_read(exrnic_sysfs_device(dev), EXRNIC_REG_STATUS);

	if (status == EXRNIC_REG_ABSENT)
		return -ENODEV;
	return sysfs_emit(text, "%s\n", status & EXRNIC_DEVICE_STATUS_LINK_UP ? "up" : "down");
}
static DEVICE_ATTR_RO(link);

static ssize_t comp_vectors_show(struct device *dev, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%u\n", exrnic_sysfs_device(dev)->limits.comp_vectors);
}
static DEVICE_ATTR_RO(comp_vectors);

static struct attribute *exrnic_attrs[] = {
	&dev_attr_abi_version.attr,
	&dev_attr_node_id.attr,
	&dev_attr_address.attr,
	&dev_attr_link.attr,
	&dev_attr_mtu.attr,
	&dev_attr_clock_khz.attr,
	&dev_attr_max_qp.attr,
	&dev_attr_max_cq.attr,
	&dev_attr_max_srq.attr,
	&dev_attr_max_mr.attr,
	&dev_attr_read_pool.attr,
	&dev_attr_comp_vectors.attr,
	NULL
};

const struct attribute_group exrnic_attribute_group = {
	.attrs = exrnic_attrs,
};
EXRNIC_EXPORT(exrnic_attribute_group);

/* Names and order are those of the generated header. */
static const char *const exrnic_counter_names[] = EXRNIC_COUNTER_NAMES;
static struct device_attribute exrnic_counter_attrs[EXRNIC_COUNTERS];
static struct attribute *exrnic_counters[EXRNIC_COUNTERS + 1];

static ssize_t exrnic_counter_show(struct device *dev, struct device_attribute *attr, char *text)
{
	u64 value = exrnic_device_counter(exrnic_sysfs_device(dev), attr - exrnic_counter_attrs);

	return value == U64_MAX ? -ENODEV : sysfs_emit(text, "%llu\n", value);
}

const struct attribute_group exrnic_counter_group = {
	.name = "counters",
	.attrs = exrnic_counters,
};
EXRNIC_EXPORT(exrnic_counter_group);

static char exrnic_pkey_names[EXRNIC_PKEYS][sizeof("15")];
static struct device_attribute exrnic_pkey_attrs[EXRNIC_PKEYS];
static struct attribute *exrnic_pkeys[EXRNIC_PKEYS + 1];

static ssize_t exrnic_pkey_show(struct device *dev, struct device_attribute *attr, char *text)
{
	u16 pkey = exrnic_device_pkey(exrnic_sysfs_device(dev), attr - exrnic_pkey_attrs);

	return sysfs_emit(text, "0x%04x\n", pkey);
}

static ssize_t exrnic_pkey_store(struct device *dev, struct device_attribute *attr, const char *text,
				 size_t bytes)
{
	u16 pkey;
	int err = kstrtou16(text, 0, &pkey);

	if (err)
		return err;
	exrnic_device_set_pkey(exrnic_sysfs_device(dev), attr - exrnic_pkey_attrs, pkey);
	return bytes;
}

const struct attribute_group exrnic_pkey_group = {
	.name = "pkeys",
	.attrs = exrnic_pkeys,
};
EXRNIC_EXPORT(exrnic_pkey_group);

static void __init exrnic_sysfs_init_pkeys(void)
{
	unsigned int i;

	for (i = 0; i < EXRNIC_PKEYS; i++) {
		snprintf(exrnic_pkey_names[i], sizeof(exrnic_pkey_names[i]), "%u", i);
		exrnic_pkey_attrs[i] = (struct device_attribute){
			.attr = { .name = exrnic_pkey_names[i], .mode = 0644 },
			.show = exrnic_pkey_show,
			.store = exrnic_pkey_store,
		};
		exrnic_pkeys[i] = &exrnic_pkey_attrs[i].attr;
	}
}

void __init exrnic_sysfs_init(void)
{
	unsigned int i;

	exrnic_sysfs_init_pkeys();
	BUILD_BUG_ON(ARRAY_SIZE(exrnic_counter_names) != EXRNIC_COUNTERS);
	for (i = 0; i < EXRNIC_COUNTERS; i++) {
		exrnic_counter_attrs[i] = (struct device_attribute){
			.attr = { .name = exrnic_counter_names[i], .mode = 0444 },
			.show = exrnic_counter_show,
		};
		exrnic_counters[i] = &exrnic_counter_attrs[i].attr;
	}
}
