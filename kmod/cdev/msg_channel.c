// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A message channel of a context: memory of the process that firmware may touch. The device first checks
 * each access of firmware against the memory's STag, so that what firmware does, or a peer's does, stays
 * within it, and ends with it.
 */
#include <linux/err.h>
#include <linux/mm.h>

#include "ucontext.h"

struct exrnic_umsg_channel {
	struct exrnic_msg_channel channel;
	struct exrnic_umr mr;
	struct exrnic_event_source message;
};

/* In an interrupt. */
static bool exrnic_umsg_channel_wake(struct exrnic_msg_channel *channel)
{
	return exrnic_event_raise(&container_of(channel, struct exrnic_umsg_channel, channel)->message);
}

static void exrnic_umsg_channel_describe(struct exrnic_ucontext *uctx,
					 struct exrnic_umsg_channel *channel,
					 const struct exrnic_create_msg_channel *attr)
{
	channel->channel.wake = exrnic_umsg_channel_wake;
	channel->channel.open = (struct exrnic_channel_open){
		.channel = cpu_to_le32(attr->number),
		.page = cpu_to_le32(uctx->page),
		.stag = cpu_to_le32(channel->mr.mr.stag),
		.base = cpu_to_le64(attr->address),
		.status = cpu_to_le32(attr->status),
		.work = cpu_to_le32(attr->work),
		.log_work = cpu_to_le32(attr->log_work),
		.events = cpu_to_le32(attr->events),
		.log_events = cpu_to_le32(attr->log_events),
		.slots = cpu_to_le32(attr->slots),
		.slot_bytes = cpu_to_le32(attr->slot_bytes),
		.num_slots = cpu_to_le32(attr->num_slots),
	};
}

int exrnic_umsg_channel_create(struct exrnic_ucontext *uctx,
			       const struct exrnic_create_msg_channel *attr,
			       struct exrnic_event_queue *queue)
{
	const struct exrnic_event event = {
		.cookie = attr->cookie,
		.type = EXRNIC_EVENT_MESSAGE,
		.handle = attr->number,
	};
	struct exrnic_umsg_channel *channel;
	int err;

	if (attr->number >= EXRNIC_FW_CHANNELS || !PAGE_ALIGNED(attr->address))
		return -EINVAL;
	channel = exrnic_object_alloc(uctx, EXRNIC_KIND_MSG_CHANNEL, 1, sizeof(*channel));
	if (IS_ERR(channel))
		return PTR_ERR(channel);
	err = exrnic_umr_give_to_firmware(uctx, &channel->mr, attr->address, attr->length);
	if (err)
		goto err_free;
	/* Now, as the lock was given up in between. */
	err = -EBUSY;
	if (uctx->msg_channel)
		goto err_memory;
	exrnic_umsg_channel_describe(uctx, channel, attr);
	exrnic_event_source_init(&channel->message, queue, &event);
	err = exrnic_msg_channel_open(uctx->edev, &channel->channel);
	if (err)
		goto err_event;
	uctx->msg_channel = channel;
	return 0;

err_event:
	exrnic_event_source_fini(&channel->message);
err_memory:
	exrnic_umr_take_from_firmware(uctx, &channel->mr);
err_free:
	exrnic_object_free(uctx, channel);
	return err;
}

int exrnic_umsg_channel_destroy(struct exrnic_ucontext *uctx, u32 number)
{
	struct exrnic_umsg_channel *channel = uctx->msg_channel;

	if (!channel || le32_to_cpu(channel->channel.open.channel) != number)
		return -ENOENT;
	uctx->msg_channel = NULL;
	exrnic_msg_channel_close(uctx->edev, &channel->channel);
	exrnic_event_source_fini(&channel->message);
	exrnic_umr_take_from_firmware(uctx, &channel->mr);
	exrnic_object_free(uctx, channel);
	return exrnic_device_error(uctx->edev);
}

void exrnic_umsg_channel_release(struct exrnic_ucontext *uctx)
{
	if (uctx->msg_channel)
		exrnic_umsg_channel_destroy(uctx, le32_to_cpu(uctx->msg_channel->channel.open.channel));
}
