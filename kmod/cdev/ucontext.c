// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ucontext.h"

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

/* Tells all who read the state page. */
static void exrnic_ucontexts_gone(struct exrnic_chardev *chardev)
{
	struct exrnic_state_page *state = page_address(chardev->state_page);

	WRITE_ONCE(state->gone, 1);
}

/* From now on it takes part in the device's life. Of one that has been cut off, nobody tells later ones. */
static int exrnic_ucontext_enter(struct exrnic_ucontext *uctx)
{
	struct exrnic_chardev *chardev = uctx->chardev;
	int err = -ENODEV;

	mutex_lock(&chardev->lock);
	if (chardev->alive) {
		err = 0;
		uctx->state_page = chardev->state_page;
		get_page(uctx->state_page);
		list_add_tail(&uctx->entry, &chardev->ucontexts);
		if (exrnic_device_error(uctx->edev)) {
			exrnic_ucontexts_gone(chardev);
			exrnic_event_raise(&uctx->fatal);
		}
	}
	mutex_unlock(&chardev->lock);
	return err;
}

int exrnic_ucontext_init(struct exrnic_ucontext *uctx, struct exrnic_chardev *chardev,
			 void (*disassociate)(struct exrnic_ucontext *uctx))
{
	struct exrnic_device *edev = chardev->edev;
	int err;

	err = exrnic_ucontext_init_events(uctx);
	if (err)
		return err;
	uctx->chardev = chardev;
	uctx->edev = edev;
	uctx->disassociate = disassociate;
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
	xa_init(&uctx->mws);
	xa_init(&uctx->windows);
	uctx->msg_channel = NULL;

	err = exrnic_ucontext_enter(uctx);
	if (err)
		goto err_page;
	exrnic_device_watch(edev);
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
static void exrnic_ucontext_release_objects(struct exrnic_ucontext *uctx, unsigned long deadline)
{
	mutex_lock(&uctx->lock);
	exrnic_umsg_channel_release(uctx);
	exrnic_uwindow_release_all(uctx);
	exrnic_uqp_release_all(uctx, deadline);
	exrnic_usrq_release_all(uctx);
	exrnic_umw_release_all(uctx);
	exrnic_umr_release_all(uctx);
	exrnic_ucq_release_all(uctx);
	exrnic_upd_release_all(uctx);
	exrnic_management_end(uctx->edev, uctx);
	mutex_unlock(&uctx->lock);
}

/*
 * The objects go first: as long as the context is on the list, removal waits for them. Behind
 * the list the device may be gone.
 */
void exrnic_ucontext_destroy(struct exrnic_ucontext *uctx)
{
	struct exrnic_chardev *chardev = uctx->chardev;

	exrnic_ucontext_release_objects(uctx, exrnic_qp_stop_deadline(uctx->user));
	mutex_lock(&chardev->lock);
	list_del(&uctx->entry);
	mutex_unlock(&chardev->lock);
	exrnic_device_unwatch(uctx->edev);
	exrnic_ucontext_fini_events(uctx);
	put_page(uctx->state_page);
	exrnic_page_free(uctx->edev, uctx->page);
	exrnic_limits_close(uctx);
}

/* ---- Lives of the device */

/* Contexts of the life before keep the state page that says so. */
static int exrnic_ucontexts_renew_state(struct exrnic_chardev *chardev)
{
	const struct exrnic_state_page *state = page_address(chardev->state_page);
	struct page *page;

	if (!state->gone)
		return 0;
	page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!page)
		return -ENOMEM;
	put_page(chardev->state_page);
	chardev->state_page = page;
	return 0;
}

static struct exrnic_chardev *exrnic_chardev_of(struct exrnic_client *client)
{
	return container_of(client, struct exrnic_chardev, client);
}

static void exrnic_ucontexts_begin(struct exrnic_client *client)
{
	struct exrnic_chardev *chardev = exrnic_chardev_of(client);
	int err;

	mutex_lock(&chardev->lock);
	err = exrnic_ucontexts_renew_state(chardev);
	chardev->alive = !err;
	mutex_unlock(&chardev->lock);
	if (err)
		dev_err(exrnic_device_dma(chardev->edev),
			"%s cannot be opened: error %d; bind the driver anew\n",
			dev_name(&chardev->dev), err);
}

/* Queue pairs of all contexts begin to come to rest. Processes give no more commands: only those that run are waited for. */
static void exrnic_ucontexts_begin_stop(struct exrnic_chardev *chardev)
{
	struct exrnic_ucontext *uctx;

	lockdep_assert_held(&chardev->lock);
	list_for_each_entry(uctx, &chardev->ucontexts, entry)
		WRITE_ONCE(uctx->dead, true);
	list_for_each_entry(uctx, &chardev->ucontexts, entry) {
		uctx->disassociate(uctx);
		mutex_lock(&uctx->lock);
		exrnic_uqp_begin_stop_all(uctx);
		mutex_unlock(&uctx->lock);
	}
}

static void exrnic_ucontexts_release(struct exrnic_chardev *chardev)
{
	const unsigned long deadline = exrnic_qp_stop_deadline(NULL);
	struct exrnic_ucontext *uctx;

	lockdep_assert_held(&chardev->lock);
	list_for_each_entry(uctx, &chardev->ucontexts, entry) {
		exrnic_ucontext_release_objects(uctx, deadline);
		exrnic_event_raise(&uctx->fatal);
		exrnic_event_queue_end(uctx->events);
	}
}

/*
 * Takes all objects from all contexts. The contexts live on, empty and dead, until their files are closed.
 */
static void exrnic_ucontexts_end(struct exrnic_client *client)
{
	struct exrnic_chardev *chardev = exrnic_chardev_of(client);

	exrnic_ucontexts_gone(chardev);
	mutex_lock(&chardev->lock);
	chardev->alive = false;
	exrnic_ucontexts_begin_stop(chardev);
	exrnic_ucontexts_release(chardev);
	mutex_unlock(&chardev->lock);
}

static void exrnic_ucontext_notice(struct exrnic_ucontext *uctx, u32 notices)
{
	if (notices & EXRNIC_NOTICE_PEER_DEAD)
		exrnic_event_raise(&uctx->peer_dead);
	if (notices & EXRNIC_NOTICE_LINK)
		exrnic_event_raise(&uctx->link);
	if (notices & EXRNIC_NOTICE_FATAL)
		exrnic_event_raise(&uctx->fatal);
}

static void exrnic_ucontexts_notice(struct exrnic_client *client, u32 notices)
{
	struct exrnic_chardev *chardev = exrnic_chardev_of(client);
	struct exrnic_ucontext *uctx;

	if (notices & EXRNIC_NOTICE_FATAL)
		exrnic_ucontexts_gone(chardev);
	mutex_lock(&chardev->lock);
	list_for_each_entry(uctx, &chardev->ucontexts, entry)
		exrnic_ucontext_notice(uctx, notices);
	mutex_unlock(&chardev->lock);
}

const struct exrnic_client_ops exrnic_ucontexts_client = {
	.begin = exrnic_ucontexts_begin,
	.end = exrnic_ucontexts_end,
	.notice = exrnic_ucontexts_notice,
};
