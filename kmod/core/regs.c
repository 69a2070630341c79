// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "regs.h"

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/moduleparam.h>

static unsigned int mtu;
module_param(mtu, uint, 0444);
MODULE_PARM_DESC(mtu, "Payload bytes of a frame; 0: as the device has it after reset");

#define EXRNIC_READY_TIMEOUT	msecs_to_jiffies(10000)
#define EXRNIC_READY_POLL_US	1000

const char *exrnic_value_name(const struct exrnic_value *values, size_t count, u32 value)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (values[i].value == value)
			return values[i].name;
	return "?";
}

static int exrnic_check_identity(struct exrnic_device *edev)
{
	struct device *dev = &edev->pdev->dev;
	u32 id = exrnic_read(edev, EXRNIC_REG_ID);
	u32 abi = exrnic_read(edev, EXRNIC_REG_ABI_VERSION);

	if (id != EXRNIC_DEVICE_MAGIC) {
		dev_err(dev, "register ID reads 0x%08x, not 0x%08x: this is no exrnic\n", id,
			EXRNIC_DEVICE_MAGIC);
		return -ENODEV;
	}
	if (abi != EXRNIC_ABI_VERSION) {
		dev_err(dev, "the device speaks ABI version %u, this driver %u: use a pair of one release\n",
			abi, EXRNIC_ABI_VERSION);
		return -ENODEV;
	}
	return 0;
}

static int exrnic_wait_ready(struct exrnic_device *edev)
{
	unsigned long deadline = jiffies + EXRNIC_READY_TIMEOUT;
	u32 status;

	for (;;) {
		status = exrnic_read(edev, EXRNIC_REG_STATUS);
		if (status != EXRNIC_REG_ABSENT && (status & EXRNIC_DEVICE_STATUS_READY))
			return 0;
		if (time_after(jiffies, deadline))
			break;
		usleep_range(EXRNIC_READY_POLL_US, 2 * EXRNIC_READY_POLL_US);
	}
	dev_err(&edev->pdev->dev, "not ready %u ms after reset: STATUS reads 0x%08x\n",
		jiffies_to_msecs(EXRNIC_READY_TIMEOUT), status);
	return -ETIMEDOUT;
}

static int exrnic_read_limit(struct exrnic_device *edev, const char *name, u32 reg, u32 max,
			     u32 *limit)
{
	*limit = exrnic_read(edev, reg);
	if (*limit >= 2 && *limit <= max)
		return 0;
	dev_err(&edev->pdev->dev, "register %s reads %u, outside 2 to %u\n", name, *limit, max);
	return -ENODEV;
}

static int exrnic_read_limits(struct exrnic_device *edev)
{
	struct exrnic_limits *l = &edev->limits;
	const struct {
		const char *name;
		u32 reg;
		u32 max;
		u32 *limit;
	} rows[] = {
		{ "MAX_QP", EXRNIC_REG_MAX_QP, EXRNIC_MAX_QP, &l->qp },
		{ "MAX_CQ", EXRNIC_REG_MAX_CQ, EXRNIC_MAX_CQ, &l->cq },
		{ "MAX_SRQ", EXRNIC_REG_MAX_SRQ, EXRNIC_MAX_SRQ, &l->srq },
		{ "READ_POOL", EXRNIC_REG_READ_POOL, EXRNIC_READ_POOL, &l->read_pool },
		{ "MAX_STAG", EXRNIC_REG_MAX_STAG, EXRNIC_MAX_STAG, &l->stag },
		{ "MAX_WINDOW", EXRNIC_REG_MAX_WINDOW, EXRNIC_MAX_WINDOWS, &l->windows },
		{ "MAX_NODE", EXRNIC_REG_MAX_NODE, EXRNIC_MAX_NODE, &l->node },
		{ "USER_PAGES", EXRNIC_REG_USER_PAGES, EXRNIC_USER_PAGES, &l->user_pages },
	};
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		err = exrnic_read_limit(edev, rows[i].name, rows[i].reg, rows[i].max,
					rows[i].limit);
		if (err)
			return err;
	}
	return 0;
}

/* Windows are the parts of BAR 4. */
static int exrnic_read_window_size(struct exrnic_device *edev)
{
	const u32 bytes = exrnic_read(edev, EXRNIC_REG_WINDOW_SIZE);
	const u64 bar = pci_resource_len(edev->pdev, EXRNIC_BAR_WINDOW);

	if (is_power_of_2(bytes) && (u64)bytes * EXRNIC_MAX_WINDOWS == bar) {
		edev->limits.window_size = bytes;
		return 0;
	}
	dev_err(&edev->pdev->dev, "register WINDOW_SIZE reads %u, and BAR 4 has %llu bytes for %u windows\n",
		bytes, bar, EXRNIC_MAX_WINDOWS);
	return -ENODEV;
}

int exrnic_regs_identify(struct exrnic_device *edev)
{
	int err;

	err = exrnic_check_identity(edev);
	if (err)
		return err;
	err = exrnic_wait_ready(edev);
	if (err)
		return err;
	err = exrnic_read_limits(edev);
	if (err)
		return err;
	return exrnic_read_window_size(edev);
}

static void exrnic_regs_write_pkey(struct exrnic_device *edev, unsigned int index)
{
	exrnic_write(edev, EXRNIC_REG_PKEYS + index * sizeof(u32), edev->pkeys[index]);
}

u16 exrnic_device_pkey(const struct exrnic_device *edev, unsigned int index)
{
	return READ_ONCE(edev->pkeys[index]);
}
EXRNIC_EXPORT(exrnic_device_pkey);

void exrnic_device_set_pkey(struct exrnic_device *edev, unsigned int index, u16 pkey)
{
	mutex_lock(&edev->pkeys_lock);
	WRITE_ONCE(edev->pkeys[index], pkey);
	exrnic_regs_write_pkey(edev, index);
	mutex_unlock(&edev->pkeys_lock);
}
EXRNIC_EXPORT(exrnic_device_set_pkey);

/* The device ignores what it cannot do. */
static void exrnic_regs_set_mtu(struct exrnic_device *edev)
{
	if (!mtu)
		return;
	exrnic_write(edev, EXRNIC_REG_MTU, mtu);
	if (exrnic_read(edev, EXRNIC_REG_MTU) != mtu)
		dev_warn(&edev->pdev->dev, "parameter mtu is %u: it must be a multiple of %u from %u to %u\n",
			 mtu, EXRNIC_MTU_STEP, EXRNIC_MTU_MIN, EXRNIC_MTU_MAX);
}

void exrnic_regs_enable(struct exrnic_device *edev)
{
	unsigned int i;

	exrnic_regs_set_mtu(edev);

	mutex_lock(&edev->pkeys_lock);
	for (i = 0; i < EXRNIC_PKEYS; i++)
		exrnic_regs_write_pkey(edev, i);
	mutex_unlock(&edev->pkeys_lock);
	exrnic_write(edev, EXRNIC_REG_CONTROL, EXRNIC_DEVICE_CONTROL_ENABLE);
	WRITE_ONCE(edev->enabled, true);
}

void exrnic_regs_disable(struct exrnic_device *edev)
{
	WRITE_ONCE(edev->enabled, false);
	exrnic_write(edev, EXRNIC_REG_CONTROL, 0);
}

/* A device that was reset has its identity, and is not enabled. */
const char *exrnic_regs_fault(struct exrnic_device *edev)
{
	u32 control = exrnic_read(edev, EXRNIC_REG_CONTROL);

	if (!READ_ONCE(edev->enabled))
		return NULL;
	if (control == EXRNIC_REG_ABSENT)
		return "it does not answer any more";
	if (!(control & EXRNIC_DEVICE_CONTROL_ENABLE))
		return "somebody has reset it";
	return NULL;
}

u64 exrnic_device_counter(struct exrnic_device *edev, unsigned int index)
{
	u32 reg = EXRNIC_REG_COUNTERS + index * sizeof(u64);
	u64 low;

	/* Reading the low half latches the high one: nobody may come in between. */
	mutex_lock(&edev->counters_lock);
	low = exrnic_read(edev, reg);
	low |= (u64)exrnic_read(edev, reg + sizeof(u32)) << 32;
	mutex_unlock(&edev->counters_lock);
	return low;
}
EXRNIC_EXPORT(exrnic_device_counter);

/* MAC_HI has the first two bytes. */
static void exrnic_regs_mac(struct exrnic_device *edev, u8 *mac)
{
	__be16 hi = cpu_to_be16(exrnic_read(edev, EXRNIC_REG_MAC_HI));
	__be32 lo = cpu_to_be32(exrnic_read(edev, EXRNIC_REG_MAC_LO));

	memcpy(mac, &hi, sizeof(hi));
	memcpy(mac + sizeof(hi), &lo, sizeof(lo));
}

int exrnic_device_identify(struct exrnic_device *edev, struct exrnic_identity *identity)
{
	*identity = (struct exrnic_identity){
		.abi_version = exrnic_read(edev, EXRNIC_REG_ABI_VERSION),
		.node = exrnic_read(edev, EXRNIC_REG_NODE_ID),
		.mtu = exrnic_read(edev, EXRNIC_REG_MTU),
		.clock_khz = exrnic_read(edev, EXRNIC_REG_CLOCK_KHZ),
	};
	exrnic_regs_mac(edev, identity->mac);
	return identity->abi_version == EXRNIC_REG_ABSENT ? -ENODEV : 0;
}
EXRNIC_EXPORT(exrnic_device_identify);

int exrnic_device_status(struct exrnic_device *edev, u32 *status)
{
	*status = exrnic_read(edev, EXRNIC_REG_STATUS);
	return *status == EXRNIC_REG_ABSENT ? -ENODEV : 0;
}
EXRNIC_EXPORT(exrnic_device_status);

const struct exrnic_limits *exrnic_device_limits(const struct exrnic_device *edev)
{
	return &edev->limits;
}
EXRNIC_EXPORT(exrnic_device_limits);

struct device *exrnic_device_dma(struct exrnic_device *edev)
{
	return &edev->pdev->dev;
}
EXRNIC_EXPORT(exrnic_device_dma);
