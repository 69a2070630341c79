/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events on their way to a process. An object has a source for each type of event; a source has
 * at most one unread event, so nothing is allocated when something happens, and no queue grows
 * beyond the number of its sources.
 *
 * Sources may be raised in interrupts; all else sleeps.
 */
#ifndef EXRNIC_EVENT_H
#define EXRNIC_EVENT_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "exrnic.h"

struct exrnic_event_queue {
	struct kref ref;
	spinlock_t lock;
	struct list_head pending;
	wait_queue_head_t wait;
	bool ended;		/* nothing comes after what is pending */
};

struct exrnic_event_source {
	struct exrnic_event_queue *queue;	/* NULL: nobody wants its events */
	struct list_head entry;			/* of queue->pending; empty: no unread event */
	struct exrnic_event event;
	u32 delivered;
};

struct exrnic_event_queue *exrnic_event_queue_alloc(void);
struct exrnic_event_queue *exrnic_event_queue_get(struct exrnic_event_queue *queue);
void exrnic_event_queue_put(struct exrnic_event_queue *queue);
/* Wakes all who wait, for the last time. */
void exrnic_event_queue_end(struct exrnic_event_queue *queue);

/* The source keeps a reference to the queue, which may be NULL. */
void exrnic_event_source_init(struct exrnic_event_source *source, struct exrnic_event_queue *queue,
			      const struct exrnic_event *event);
/* False: that tells nobody anything, as there is nobody, or an unread event already. */
bool exrnic_event_raise(struct exrnic_event_source *source);
/*
 * The end of a source that nobody raises any more: its event is not delivered if it has not been
 * yet. Returns how many were.
 */
u32 exrnic_event_source_fini(struct exrnic_event_source *source);

/* The oldest unread event, which stays; false: there is none. */
bool exrnic_event_peek(struct exrnic_event_queue *queue, struct exrnic_event *event);
/*
 * Takes it out, and counts it as delivered; false: it is the oldest no longer, as another reader has taken
 * it, or its object has ended.
 */
bool exrnic_event_take(struct exrnic_event_queue *queue, const struct exrnic_event *event);
bool exrnic_event_is_pending(struct exrnic_event_queue *queue);
/* Ended, and everything has been read. */
bool exrnic_event_is_over(struct exrnic_event_queue *queue);

#endif
