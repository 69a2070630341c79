// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Firmware of the on-chip processor. The data path needs none: whatever goes wrong here is told
 * in the log and leaves the device as it is.
 */
#include <linux/crc32.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/firmware.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "regs.h"

#define EXRNIC_FIRMWARE_NAME "exrnic/firmware.bin"
#define EXRNIC_FIRMWARE_RESTARTS 3
#define EXRNIC_FIRMWARE_START_MS 2000

MODULE_FIRMWARE(EXRNIC_FIRMWARE_NAME);

/* A watch-dog of the device ends what does not end, so only who simulates slowly comes near. */
static unsigned int firmware_timeout_ms = 10000;
module_param(firmware_timeout_ms, uint, 0644);
MODULE_PARM_DESC(firmware_timeout_ms,
		 "Time that firmware has for a command, ms; then it is stopped, and started again");

static bool pull_by_firmware;
module_param(pull_by_firmware, bool, 0444);
MODULE_PARM_DESC(pull_by_firmware,
		 "Firmware answers the peers' PULLs; while it does not run, hardware does (default: no)");

static const char *const exrnic_firmware_states[] = {
	[EXRNIC_FW_STATE_HELD] = "stopped",
	[EXRNIC_FW_STATE_STARTING] = "starting",
	[EXRNIC_FW_STATE_READY] = "ready",
	[EXRNIC_FW_STATE_FAILED] = "failed",
};

/* ---- Images. They come from a file: nothing in them is trusted. */

static int exrnic_firmware_check(struct device *dev, const char *name, const struct firmware *fw)
{
	const struct exrnic_fw_image *head = (const void *)fw->data;
	const u8 *payload = fw->data + sizeof(*head);
	u32 length, crc;

	if (fw->size < sizeof(*head)) {
		dev_err(dev, "%s has %zu bytes: too short for firmware\n", name, fw->size);
		return -EINVAL;
	}
	if (le32_to_cpu(head->magic) != EXRNIC_FW_IMAGE_MAGIC) {
		dev_err(dev, "%s starts with 0x%08x, not 0x%08x: this is no firmware\n", name,
			le32_to_cpu(head->magic), EXRNIC_FW_IMAGE_MAGIC);
		return -EINVAL;
	}
	if (le32_to_cpu(head->abi_version) != EXRNIC_FW_ABI_VERSION) {
		dev_err(dev, "%s is for version %u of the processor's interface, not %u: use a pair of one release\n",
			name, le32_to_cpu(head->abi_version), EXRNIC_FW_ABI_VERSION);
		return -EINVAL;
	}
	length = le32_to_cpu(head->length);
	if (length != fw->size - sizeof(*head) || length % sizeof(u32) || !length ||
	    length > EXRNIC_FW_MEMORY_BYTES) {
		dev_err(dev, "%s says that it has %u bytes and has %zu (the processor's memory: %u)\n",
			name, length, fw->size - sizeof(*head), EXRNIC_FW_MEMORY_BYTES);
		return -EINVAL;
	}
	crc = crc32_le(~0, payload, length) ^ ~0;
	if (crc != le32_to_cpu(head->crc)) {
		dev_err(dev, "%s is damaged: checksum 0x%08x, not 0x%08x\n", name, crc,
			le32_to_cpu(head->crc));
		return -EINVAL;
	}
	return 0;
}

/* Replaces the image that is kept. */
static int exrnic_firmware_keep(struct exrnic_firmware *firmware, const struct firmware *fw)
{
	const struct exrnic_fw_image *head = (const void *)fw->data;
	u32 bytes = le32_to_cpu(head->length);
	__le32 *image = kvmalloc(bytes, GFP_KERNEL);

	if (!image)
		return -ENOMEM;
	memcpy(image, fw->data + sizeof(*head), bytes);
	kvfree(firmware->image);
	firmware->image = image;
	firmware->bytes = bytes;
	firmware->version = le32_to_cpu(head->version);
	firmware->restarts = 0;
	return 0;
}

static int exrnic_firmware_fetch(struct exrnic_device *edev, const char *name)
{
	struct device *dev = &edev->pdev->dev;
	const struct firmware *fw;
	int err;

	err = firmware_request_nowarn(&fw, name, dev);
	if (err)
		return err;
	err = exrnic_firmware_check(dev, name, fw);
	if (!err)
		err = exrnic_firmware_keep(&edev->firmware, fw);
	release_firmware(fw);
	return err;
}

/* ---- The processor. firmware.lock is held. */

static void exrnic_firmware_hold(struct exrnic_device *edev)
{
	exrnic_write(edev, EXRNIC_REG_FW_CONTROL, 0);
	edev->firmware.running = false;
}

/* Once nothing but the processor's own work can change it. */
static u32 exrnic_firmware_wait(struct exrnic_device *edev, u32 reg, u32 busy, unsigned int ms)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(ms);
	u32 value;

	for (;;) {
		value = exrnic_read(edev, reg);
		if (value != busy || time_after_eq(jiffies, deadline))
			return value;
		usleep_range(1000, 2000);
	}
}

/* The assertion's file name is a string somewhere in the image, if firmware says the truth. */
static void exrnic_firmware_file(const struct exrnic_firmware *firmware, u32 address, char *text,
				 size_t size)
{
	u32 place = address & (EXRNIC_FW_MEMORY_BYTES - 1);

	if (place >= firmware->bytes)
		strscpy(text, "?", size);
	else
		snprintf(text, size, "%.*s", (int)min_t(size_t, firmware->bytes - place, size - 1),
			 (const char *)firmware->image + place);
}

static void exrnic_firmware_report(struct exrnic_device *edev)
{
	struct device *dev = &edev->pdev->dev;
	u32 fault = exrnic_read(edev, EXRNIC_REG_FW_FAULT);
	u32 pc = exrnic_read(edev, EXRNIC_REG_FW_FAULT_PC);
	char file[32];

	switch (fault >> 16) {
	case EXRNIC_FW_FAULT_ASSERTION:
		exrnic_firmware_file(&edev->firmware, exrnic_read(edev, EXRNIC_REG_FW_FAULT_FILE),
				     file, sizeof(file));
		dev_err(dev, "firmware has failed: assertion in %*pE:%u (at 0x%08x)\n",
			(int)strlen(file), file, fault & 0xffff, pc);
		break;
	case EXRNIC_FW_FAULT_EXCEPTION:
		dev_err(dev, "firmware has failed: exception %u at 0x%08x\n", fault & 0xffff, pc);
		break;
	case EXRNIC_FW_FAULT_WATCHDOG:
		dev_err(dev, "firmware has failed: the watch-dog found it at 0x%08x\n", pc);
		break;
	default:
		dev_err(dev, "firmware has failed: fault 0x%08x at 0x%08x\n", fault, pc);
		break;
	}
}

static const char *exrnic_firmware_op_name(u32 op)
{
	static const struct exrnic_value ops[] = EXRNIC_FW_OP_TABLE;

	return exrnic_value_name(ops, ARRAY_SIZE(ops), op);
}

/*
 * It may still do what it was told, when nobody expects it any more. So it is stopped now, and forgets;
 * a thread starts it again, and tells it of the channels that are open.
 */
static void exrnic_firmware_give_up(struct exrnic_device *edev, u32 op, unsigned int ms)
{
	dev_err(&edev->pdev->dev, "firmware has failed: no answer to command %s in %u ms\n",
		exrnic_firmware_op_name(op), ms);
	exrnic_firmware_hold(edev);
	edev->firmware.silent = true;
	schedule_work(&edev->firmware.work);
}

/* words: in. The answer, if any, is in FW_WORDS. */
static int exrnic_firmware_command(struct exrnic_device *edev, u32 op, const __le32 *words,
				   u32 count)
{
	const unsigned int ms = READ_ONCE(firmware_timeout_ms);
	u32 i;

	if (!edev->firmware.running)
		return -EOPNOTSUPP;
	for (i = 0; i < count; i++)
		exrnic_write(edev, EXRNIC_REG_FW_WORDS + i * sizeof(u32), le32_to_cpu(words[i]));
	exrnic_write(edev, EXRNIC_REG_FW_COMMAND, op);
	switch (exrnic_firmware_wait(edev, EXRNIC_REG_FW_COMMAND_STATUS, EXRNIC_FW_STATUS_BUSY,
				     ms)) {
	case EXRNIC_FW_STATUS_OK:
		return 0;
	case EXRNIC_FW_STATUS_BAD_PARAMETER:
		return -EINVAL;
	case EXRNIC_FW_STATUS_BUSY:
		exrnic_firmware_give_up(edev, op, ms);
		return -EIO;
	default:
		return -EIO;
	}
}

static int exrnic_firmware_tell_channel(struct exrnic_device *edev,
					const struct exrnic_channel_open *open)
{
	return exrnic_firmware_command(edev, EXRNIC_FW_OP_CHANNEL_OPEN, (const __le32 *)open,
				       sizeof(*open) / sizeof(__le32));
}

static void exrnic_firmware_tell_channels(struct exrnic_device *edev)
{
	u32 i;
	int err;

	for (i = 0; i < EXRNIC_FW_CHANNELS; i++) {
		if (!edev->firmware.channels[i])
			continue;
		err = exrnic_firmware_tell_channel(edev, &edev->firmware.channels[i]->open);
		/* Its process may have filled its memory with nonsense. */
		if (err)
			dev_dbg(&edev->pdev->dev, "channel %u is not open any more: error %d\n", i,
				err);
	}
}


static int exrnic_firmware_run(struct exrnic_device *edev)
{
	struct exrnic_firmware *firmware = &edev->firmware;
	u32 i, state;

	exrnic_firmware_hold(edev);
	firmware->silent = false;
	exrnic_write(edev, EXRNIC_REG_FW_ADDRESS, 0);
	for (i = 0; i < firmware->bytes / sizeof(u32); i++)
		exrnic_write(edev, EXRNIC_REG_FW_DATA, le32_to_cpu(firmware->image[i]));
	exrnic_write(edev, EXRNIC_REG_FW_CONTROL, EXRNIC_FW_CONTROL_RUN);
	state = exrnic_firmware_wait(edev, EXRNIC_REG_FW_STATE, EXRNIC_FW_STATE_STARTING,
				     EXRNIC_FIRMWARE_START_MS);
	if (state == EXRNIC_FW_STATE_READY) {
		firmware->running = true;
		exrnic_firmware_tell_channels(edev);
		return 0;
	}
	if (state == EXRNIC_FW_STATE_FAILED)
		exrnic_firmware_report(edev);
	else
		dev_err(&edev->pdev->dev, "firmware is not ready after %u ms: FW_STATE reads %u\n",
			EXRNIC_FIRMWARE_START_MS, state);
	exrnic_firmware_hold(edev);
	return -EIO;
}

static int exrnic_firmware_load(struct exrnic_device *edev, const char *name)
{
	struct exrnic_firmware *firmware = &edev->firmware;
	int err;

	if (!firmware->present)
		return -EOPNOTSUPP;
	err = exrnic_firmware_fetch(edev, name);
	if (err)
		return err;
	err = exrnic_firmware_run(edev);
	if (!err)
		dev_info(&edev->pdev->dev, "firmware %u.%u (%s, %u bytes)\n",
			 firmware->version >> 16, firmware->version & 0xffff, name, firmware->bytes);
	return err;
}

static int exrnic_firmware_query(struct exrnic_device *edev, struct exrnic_fw_info *info)
{
	__le32 *words = (__le32 *)info;
	u32 i;
	int err;

	err = exrnic_firmware_command(edev, EXRNIC_FW_OP_QUERY, NULL, 0);
	if (err)
		return err == -EOPNOTSUPP ? -ENODEV : -EIO;
	for (i = 0; i < sizeof(*info) / sizeof(*words); i++)
		words[i] = cpu_to_le32(exrnic_read(edev, EXRNIC_REG_FW_WORDS + i * sizeof(u32)));
	return 0;
}

/* ---- Channels */

/* What was raised for the owner before is not for this one. */
static void exrnic_firmware_set_woken(struct exrnic_device *edev, u32 number,
				      struct exrnic_msg_channel *channel)
{
	spin_lock_irq(&edev->firmware.wake_lock);
	exrnic_write(edev, EXRNIC_REG_FW_RAISED, BIT(number));
	edev->firmware.woken[number] = channel;
	spin_unlock_irq(&edev->firmware.wake_lock);
}

/*
 * Cleared first: whatever is raised later interrupts again, and what was raised before is seen by who is woken.
 * False: somebody was to be woken, and nobody was.
 */
static bool exrnic_firmware_wake(struct exrnic_device *edev)
{
	struct exrnic_firmware *firmware = &edev->firmware;
	unsigned long flags;
	bool woken = false;
	u32 raised, i;

	spin_lock_irqsave(&firmware->wake_lock, flags);
	raised = exrnic_read(edev, EXRNIC_REG_FW_RAISED);
	if (raised && raised != EXRNIC_REG_ABSENT) {
		exrnic_write(edev, EXRNIC_REG_FW_RAISED, raised);
		for (i = 0; i < EXRNIC_FW_CHANNELS; i++)
			if (raised & BIT(i) && firmware->woken[i])
				woken |= firmware->woken[i]->wake(firmware->woken[i]);
	}
	spin_unlock_irqrestore(&firmware->wake_lock, flags);
	return woken || !raised;
}

/* Never 0, and another one each time: what peers still say to the owner before finds nobody. */
static u32 exrnic_msg_channel_incarnation(void)
{
	return get_random_u32() | 1;
}

int exrnic_msg_channel_open(struct exrnic_device *edev, struct exrnic_msg_channel *channel)
{
	struct exrnic_firmware *firmware = &edev->firmware;
	u32 number = le32_to_cpu(channel->open.channel);
	int err = -EBUSY;

	if (number >= EXRNIC_FW_CHANNELS)
		return -EINVAL;
	number = array_index_nospec(number, EXRNIC_FW_CHANNELS);
	channel->open.incarnation = cpu_to_le32(exrnic_msg_channel_incarnation());
	mutex_lock(&firmware->lock);
	if (!firmware->channels[number]) {
		exrnic_firmware_set_woken(edev, number, channel);
		err = exrnic_firmware_tell_channel(edev, &channel->open);
		if (!err)
			firmware->channels[number] = channel;
		else
			exrnic_firmware_set_woken(edev, number, NULL);
	}
	mutex_unlock(&firmware->lock);
	return err;
}
EXRNIC_EXPORT(exrnic_msg_channel_open);

/* Where firmware does not answer it has been stopped, and is kept from the memory by the end of the STag. */
void exrnic_msg_channel_close(struct exrnic_device *edev, struct exrnic_msg_channel *channel)
{
	struct exrnic_firmware *firmware = &edev->firmware;
	const u32 number = le32_to_cpu(channel->open.channel);

	mutex_lock(&firmware->lock);
	firmware->channels[number] = NULL;
	exrnic_firmware_command(edev, EXRNIC_FW_OP_CHANNEL_CLOSE, &channel->open.channel, 1);
	exrnic_firmware_set_woken(edev, number, NULL);
	mutex_unlock(&firmware->lock);
}
EXRNIC_EXPORT(exrnic_msg_channel_close);

/* ---- The life of the device */

void exrnic_firmware_free(struct exrnic_device *edev)
{
	kvfree(edev->firmware.image);
}

void exrnic_firmware_start(struct exrnic_device *edev)
{
	struct device *dev = &edev->pdev->dev;
	int err;

	if (exrnic_read(edev, EXRNIC_REG_FW_MEMORY) != EXRNIC_FW_MEMORY_BYTES) {
		dev_dbg(dev, "no on-chip processor\n");
		return;
	}
	mutex_lock(&edev->firmware.lock);
	exrnic_write(edev, EXRNIC_REG_PULL_MODE,
		     pull_by_firmware ? EXRNIC_PULL_MODE_FIRMWARE : EXRNIC_PULL_MODE_HARDWARE);
	edev->firmware.present = true;
	/* One that is kept is there although files cannot be read, as when the system resumes. */
	if (edev->firmware.image)
		err = exrnic_firmware_run(edev);
	else
		err = exrnic_firmware_load(edev, EXRNIC_FIRMWARE_NAME);
	mutex_unlock(&edev->firmware.lock);
	if (err)
		dev_warn(dev, "no firmware (%s: error %d): all but what firmware does works\n",
			 EXRNIC_FIRMWARE_NAME, err);
}

void exrnic_firmware_stop(struct exrnic_device *edev)
{
	mutex_lock(&edev->firmware.lock);
	if (edev->firmware.present)
		exrnic_firmware_hold(edev);
	edev->firmware.present = false;
	mutex_unlock(&edev->firmware.lock);
	/* Behind that nobody schedules it: a read of info, say, might have. */
	cancel_work_sync(&edev->firmware.work);
}

/* Says why, unless that has been said. */
static bool exrnic_firmware_has_failed(struct exrnic_device *edev)
{
	struct exrnic_firmware *firmware = &edev->firmware;

	if (!firmware->present || firmware->silent)
		return firmware->present;
	if (!firmware->running || exrnic_read(edev, EXRNIC_REG_FW_STATE) != EXRNIC_FW_STATE_FAILED)
		return false;
	exrnic_firmware_report(edev);
	return true;
}

static void exrnic_firmware_work(struct work_struct *work)
{
	struct exrnic_device *edev = container_of(work, struct exrnic_device, firmware.work);
	struct exrnic_firmware *firmware = &edev->firmware;

	mutex_lock(&firmware->lock);
	if (!exrnic_firmware_has_failed(edev))
		goto out;
	exrnic_firmware_hold(edev);
	firmware->silent = false;
	if (firmware->restarts == EXRNIC_FIRMWARE_RESTARTS) {
		dev_err(&edev->pdev->dev, "firmware stays stopped: it has failed %u times\n",
			firmware->restarts + 1);
		goto out;
	}
	firmware->restarts++;
	if (!exrnic_firmware_run(edev))
		dev_info(&edev->pdev->dev, "firmware started again\n");
out:
	mutex_unlock(&firmware->lock);
}

void exrnic_firmware_init(struct exrnic_device *edev)
{
	mutex_init(&edev->firmware.lock);
	spin_lock_init(&edev->firmware.wake_lock);
	INIT_WORK(&edev->firmware.work, exrnic_firmware_work);
}

bool exrnic_firmware_notice(struct exrnic_device *edev)
{
	return exrnic_firmware_wake(edev);
}

void exrnic_firmware_failed(struct exrnic_device *edev)
{
	schedule_work(&edev->firmware.work);
}

/* ---- sysfs: firmware/ */

static struct exrnic_device *exrnic_firmware_device(struct device *dev)
{
	return dev_get_drvdata(dev);
}

static ssize_t state_show(struct device *dev, struct device_attribute *attr, char *text)
{
	struct exrnic_device *edev = exrnic_firmware_device(dev);
	u32 state = exrnic_read(edev, EXRNIC_REG_FW_STATE);

	if (state >= ARRAY_SIZE(exrnic_firmware_states))
		return sysfs_emit(text, "none\n");
	return sysfs_emit(text, "%s\n", exrnic_firmware_states[state]);
}
static DEVICE_ATTR_RO(state);

static ssize_t version_show(struct device *dev, struct device_attribute *attr, char *text)
{
	struct exrnic_firmware *firmware = &exrnic_firmware_device(dev)->firmware;
	ssize_t length = -ENODEV;

	mutex_lock(&firmware->lock);
	if (firmware->running)
		length = sysfs_emit(text, "%u.%u\n", firmware->version >> 16,
				    firmware->version & 0xffff);
	mutex_unlock(&firmware->lock);
	return length;
}
static DEVICE_ATTR_RO(version);

static ssize_t restarts_show(struct device *dev, struct device_attribute *attr, char *text)
{
	struct exrnic_firmware *firmware = &exrnic_firmware_device(dev)->firmware;

	return sysfs_emit(text, "%u\n", READ_ONCE(firmware->restarts));
}
static DEVICE_ATTR_RO(restarts);

/* What firmware says of itself. */
static ssize_t info_show(struct device *dev, struct device_attribute *attr, char *text)
{
	struct exrnic_device *edev = exrnic_firmware_device(dev);
	struct exrnic_fw_info info;
	int err;

	mutex_lock(&edev->firmware.lock);
	err = exrnic_firmware_query(edev, &info);
	mutex_unlock(&edev->firmware.lock);
	if (err)
		return err;
	return sysfs_emit(text, "uptime_ns %llu\ncommands %u\nmemory_used %u\nstack_used %u\n",
			  le64_to_cpu(info.uptime_ns), le32_to_cpu(info.commands),
			  le32_to_cpu(info.memory_used), le32_to_cpu(info.stack_used));
}
static DEVICE_ATTR_RO(info);

/* A name below the firmware folder: that image runs from now on. */
static ssize_t load_store(struct device *dev, struct device_attribute *attr, const char *text,
			  size_t count)
{
	struct exrnic_device *edev = exrnic_firmware_device(dev);
	char *name = kstrndup(text, count, GFP_KERNEL);
	int err;

	if (!name)
		return -ENOMEM;
	mutex_lock(&edev->firmware.lock);
	err = exrnic_firmware_load(edev, strim(name));
	mutex_unlock(&edev->firmware.lock);
	kfree(name);
	return err ? err : count;
}
static DEVICE_ATTR_WO(load);

static struct attribute *exrnic_firmware_attrs[] = {
	&dev_attr_state.attr,
	&dev_attr_version.attr,
	&dev_attr_restarts.attr,
	&dev_attr_info.attr,
	&dev_attr_load.attr,
	NULL
};

const struct attribute_group exrnic_firmware_group = {
	.name = "firmware",
	.attrs = exrnic_firmware_attrs,
};
EXRNIC_EXPORT(exrnic_firmware_group);
