// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "exrnic_core.h"

static int exrnic_ucontext_init_events(struct exrnic_ucontext *uctx)
{
	const struct exrnic_event peer_dead = { .type = EXRNIC_EVENT_PEER_DEAD };
	const struct exrnic_event link = { .type = EXRNIC_EVENT_LINK };
	const struct exrnic_event fatal = { .type = EXRNIC_EVENT_DEVICE_FATAL };

	uctx->events = exrnic_event_queue_alloc();
	if (!uctx->events)
		return -ENOMEM;
	exrnic_event_source_init(&uctx->peer_dead, uctx->events, &peer_dead);
	exrnic_event_source_init(&uctx->link, uctx->events, &link);
	exrnic_event_source_init(&uctx->fatal, uctx->events, &fatal);
	return 0;
}

static void exrnic_ucontext_fini_events(struct exrnic_ucontext *uctx)
{
	exrnic_event_source_fini(&uctx->fatal);
	exrnic_event_source_fini(&uctx->link);
	exrnic_event_source_fini(&uctx->peer_dead);
	exrnic_event_queue_put(uctx->events);
}

int exrnic_ucontext_init(struct exrnic_ucontext *uctx, struct exrnic_device *edev,
			 const struct exrnic_face_ops *face)
{
	int err;

	err = exrnic_ucontext_init_events(uctx);
	if (err)
		return err;
	uctx->edev = edev;
	uctx->face = face;
	err = exrnic_limits_open(uctx);
	if (err)
		goto err_events;
	err = exrnic_page_alloc(edev, &uctx->page);
	if (err)
		goto err_limits;
	uctx->dead = false;
	uctx->objects = 0;
	uctx->pinned = 0;
	mutex_init(&uctx->lock);
	xa_init(&uctx->pds);
	xa_init(&uctx->cqs);
	xa_init(&uctx->srqs);
	xa_init(&uctx->qps);
	xa_init(&uctx->mrs);
	xa_init(&uctx->windows);
	uctx->msg_channel = NULL;

	mutex_lock(&edev->lock);
	if (edev->removed) {
		err = -ENODEV;
	} else {
		kref_get(&edev->ref);
		uctx->state_page = edev->state_page;
		get_page(uctx->state_page);
		list_add_tail(&uctx->entry, &edev->ucontexts);
	}
	mutex_unlock(&edev->lock);
	if (err)
		goto err_page;
	return 0;

err_page:
	exrnic_page_free(edev, uctx->page);
err_limits:
	exrnic_limits_close(uctx);
err_events:
	exrnic_ucontext_fini_events(uctx);
	return err;
}

/* Users before what they use: windows hold queue pairs, these hold queues, and all hold domains. */
static void exrnic_ucontext_release_objects(struct exrnic_ucontext *uctx)
{
	mutex_lock(&uctx->lock);
	exrnic_msg_channel_release(uctx);
	exrnic_window_release_all(uctx);
	exrnic_qp_release_all(uctx);
	exrnic_srq_release_all(uctx);
	exrnic_mr_release_all(uctx);
	exrnic_cq_release_all(uctx);
	exrnic_pd_release_all(uctx);
	uctx->dead = true;
	mutex_unlock(&uctx->lock);
}

void exrnic_ucontext_disassociate(struct exrnic_ucontext *uctx)
{
	lockdep_assert_held(&uctx->edev->lock);
	uctx->face->disassociate(uctx);
	exrnic_ucontext_release_objects(uctx);
	exrnic_event_raise(&uctx->fatal);
	exrnic_event_queue_end(uctx->events);
}

/*
 * The objects go first: as long as the context is on the list, removal waits for them. Behind
 * the list the device may be gone.
 */
void exrnic_ucontext_destroy(struct exrnic_ucontext *uctx)
{
	struct exrnic_device *edev = uctx->edev;

	exrnic_ucontext_release_objects(uctx);
	mutex_lock(&edev->lock);
	list_del(&uctx->entry);
	mutex_unlock(&edev->lock);
	exrnic_ucontext_fini_events(uctx);
	put_page(uctx->state_page);
	exrnic_page_free(edev, uctx->page);
	exrnic_limits_close(uctx);
	exrnic_device_put(edev);
}
