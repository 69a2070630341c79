// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "event.h"

#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

struct exrnic_event_queue *exrnic_event_queue_alloc(void)
{
	struct exrnic_event_queue *queue = kzalloc(sizeof(*queue), GFP_KERNEL_ACCOUNT);

	if (!queue)
		return NULL;
	kref_init(&queue->ref);
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->pending);
	init_waitqueue_head(&queue->wait);
	return queue;
}

struct exrnic_event_queue *exrnic_event_queue_get(struct exrnic_event_queue *queue)
{
	if (queue)
		kref_get(&queue->ref);
	return queue;
}

static void exrnic_event_queue_free(struct kref *ref)
{
	kfree(container_of(ref, struct exrnic_event_queue, ref));
}

void exrnic_event_queue_put(struct exrnic_event_queue *queue)
{
	if (queue)
		kref_put(&queue->ref, exrnic_event_queue_free);
}

void exrnic_event_queue_end(struct exrnic_event_queue *queue)
{
	spin_lock_irq(&queue->lock);
	queue->ended = true;
	spin_unlock_irq(&queue->lock);
	wake_up_poll(&queue->wait, EPOLLHUP);
}

void exrnic_event_source_init(struct exrnic_event_source *source, struct exrnic_event_queue *queue,
			      const struct exrnic_event *event)
{
	*source = (struct exrnic_event_source){
		.queue = exrnic_event_queue_get(queue),
		.event = *event,
	};
	INIT_LIST_HEAD(&source->entry);
}

bool exrnic_event_raise(struct exrnic_event_source *source)
{
	struct exrnic_event_queue *queue = source->queue;
	unsigned long flags;
	bool news;

	if (!queue)
		return false;
	spin_lock_irqsave(&queue->lock, flags);
	news = !queue->ended && list_empty(&source->entry);
	if (news)
		list_add_tail(&source->entry, &queue->pending);
	spin_unlock_irqrestore(&queue->lock, flags);
	if (news)
		wake_up_poll(&queue->wait, EPOLLIN | EPOLLRDNORM);
	return news;
}

u32 exrnic_event_source_fini(struct exrnic_event_source *source)
{
	struct exrnic_event_queue *queue = source->queue;
	u32 delivered;

	if (!queue)
		return 0;
	spin_lock_irq(&queue->lock);
	list_del_init(&source->entry);
	delivered = source->delivered;
	spin_unlock_irq(&queue->lock);
	source->queue = NULL;
	exrnic_event_queue_put(queue);
	return delivered;
}

/* With the queue's lock held. */
static struct exrnic_event_source *exrnic_event_oldest(struct exrnic_event_queue *queue)
{
	return list_first_entry_or_null(&queue->pending, struct exrnic_event_source, entry);
}

bool exrnic_event_peek(struct exrnic_event_queue *queue, struct exrnic_event *event)
{
	struct exrnic_event_source *source;

	spin_lock_irq(&queue->lock);
	source = exrnic_event_oldest(queue);
	if (source)
		*event = source->event;
	spin_unlock_irq(&queue->lock);
	return source;
}

bool exrnic_event_take(struct exrnic_event_queue *queue, const struct exrnic_event *event)
{
	struct exrnic_event_source *source;
	bool taken;

	spin_lock_irq(&queue->lock);
	source = exrnic_event_oldest(queue);
	taken = source && !memcmp(&source->event, event, sizeof(*event));
	if (taken) {
		list_del_init(&source->entry);
		source->delivered++;
	}
	spin_unlock_irq(&queue->lock);
	return taken;
}

bool exrnic_event_is_pending(struct exrnic_event_queue *queue)
{
	struct exrnic_event unused;

	return exrnic_event_peek(queue, &unused);
}

bool exrnic_event_is_over(struct exrnic_event_queue *queue)
{
	bool over;

	spin_lock_irq(&queue->lock);
	over = queue->ended && list_empty(&queue->pending);
	spin_unlock_irq(&queue->lock);
	return over;
}
