// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How a link comes up, and goes. A thread, the work, looks at the peer's record whenever something may have changed, and goes on
 * from there:
 *
 *   the odd ports have found each other	a queue pair is made, and told
 *   the peer tells its queue pair		ours is connected to it, and that is told
 *   the peer's is connected to ours		windows show what the peer says; that is told
 *   both have followed all that was told, and clients of both want the link: it is up
 *
 * A queue pair is connected once. If it fails, or the peer tells another one, there is a new one, so that no late frame of the old
 * one counts; the next ones come later each time. All that a peer can do by its record is that its own windows do not work.
 */
#include "ntb.h"

/* A peer follows what is told within so long, or the link goes down. */
#define EXRNIC_NTB_FOLLOW_LIMIT		(2 * HZ)
#define EXRNIC_NTB_PAUSE_MIN		1
#define EXRNIC_NTB_PAUSE_MAX		HZ
/* So often in a jiffy the work is done; a peer can ring without end. */
#define EXRNIC_NTB_WORK_EACH_JIFFY	16
/* Clients put in order what they have, and sleep in between, before they may hear that the link is up again. */
#define EXRNIC_NTB_DOWN_MIN		HZ
#define EXRNIC_NTB_DOWN_MAX		(8 * HZ)
/* What the device refuses is tried anew, and a port whose link is not up is opened anew, each time later. */
#define EXRNIC_NTB_REOPEN_MIN		HZ
#define EXRNIC_NTB_REOPEN_MAX		(30 * HZ)
/* What lasts so long is no trick of a peer's: pauses are short again. */
#define EXRNIC_NTB_CALM			(10 * HZ)

static void exrnic_ntb_later(struct exrnic_ntb_link *link, unsigned long jiffies_from_now)
{
	queue_delayed_work(system_unbound_wq, &link->work, jiffies_from_now);
}

/* It stays down for a while, and longer each time that it does not last; that clients here end it is no matter. */
static void exrnic_ntb_stay_down(struct exrnic_ntb_link *link)
{
	if (time_after_eq(jiffies, link->up_since + EXRNIC_NTB_CALM))
		link->down_pause = EXRNIC_NTB_DOWN_MIN;
	link->not_up_before = jiffies + link->down_pause;
	if (link->record.enabled)
		link->down_pause = min_t(unsigned long, 2 * link->down_pause, EXRNIC_NTB_DOWN_MAX);
}

static bool exrnic_ntb_may_go_up(struct exrnic_ntb_link *link)
{
	if (!time_before(jiffies, link->not_up_before))
		return true;
	exrnic_ntb_later(link, link->not_up_before - jiffies);
	return false;
}

static void exrnic_ntb_set_up(struct exrnic_ntb_link *link, bool up)
{
	if (link->up == up)
		return;
	if (up) {
		link->up_since = jiffies;
		link->calm_since = jiffies;
		exrnic_ntb_peer_hold(link);
	} else {
		exrnic_ntb_stay_down(link);
		exrnic_ntb_peer_release(link, false);
	}
	link->record.up = up;
	WRITE_ONCE(link->up, up);
	dev_dbg(&link->ntb.dev, "the link is %s\n", up ? "up" : "down");
	/* Who has disabled the link knows, and may be going: ntb_transport frees what its event would queue. */
	if (link->record.enabled)
		ntb_link_event(&link->ntb);
	if (up)
		exrnic_ntb_bells_look(link);
}

/* Of what this side has told; what a peer says of the past or the future counts for nothing. */
static void exrnic_ntb_set_followed(struct exrnic_ntb_link *link, u16 seq)
{
	if ((s16)(seq - link->followed) < 0 || (s16)(link->record.seq - seq) < 0)
		return;
	WRITE_ONCE(link->followed, seq);
	wake_up_all(&link->wait);
}

static bool exrnic_ntb_is_followed(const struct exrnic_ntb_link *link, u16 seq)
{
	return (s16)(READ_ONCE(link->followed) - seq) >= 0;
}

/*
 * Queue pairs and windows cost the device's only mailbox, and a peer can have them made anew without end: so they come behind a
 * pause, which doubles.
 */
static void exrnic_ntb_rest(struct exrnic_ntb_link *link)
{
	if (link->up && time_after_eq(jiffies, link->calm_since + EXRNIC_NTB_CALM))
		link->pause = EXRNIC_NTB_PAUSE_MIN;
	link->calm_since = jiffies;
	link->not_before = jiffies + link->pause;
	link->pause = min_t(unsigned long, 2 * link->pause, EXRNIC_NTB_PAUSE_MAX);
}

static bool exrnic_ntb_has_rested(struct exrnic_ntb_link *link)
{
	if (!time_before(jiffies, link->not_before))
		return true;
	exrnic_ntb_later(link, link->not_before - jiffies);
	return false;
}

/* ---- Windows of the peer */

static void exrnic_ntb_update_places(struct exrnic_ntb_link *link)
{
	const struct exrnic_ntb_place none = {};
	u32 i;

	for (i = 0; i < link->settings.windows; i++) {
		const struct exrnic_ntb_inbound *in = &link->in[i];

		link->record.places[i] = none;
		if (in->registered && !in->withdrawn) {
			link->record.places[i].stag = in->mr.stag;
			link->record.places[i].pages = in->bytes >> EXRNIC_PAGE_SHIFT;
		}
	}
}

static void exrnic_ntb_register_all(struct exrnic_ntb_link *link)
{
	u32 i;
	int err;

	for (i = 0; i < link->settings.windows; i++) {
		err = exrnic_ntb_inbound_register(link, &link->in[i]);
		if (err)
			dev_err_ratelimited(&link->ntb.dev, "window %u of the peer shows nothing: error %d\n", i, err);
	}
}

static void exrnic_ntb_forget_all(struct exrnic_ntb_link *link)
{
	u32 i;

	for (i = 0; i < link->settings.windows; i++)
		exrnic_ntb_inbound_forget(link, &link->in[i]);
}

/* ---- The queue pair */

static void exrnic_ntb_drop(struct exrnic_ntb_link *link)
{
	exrnic_ntb_set_up(link, false);
	exrnic_ntb_windows_hide(link);
	exrnic_ntb_dma_stop(link);
	exrnic_ntb_qps_destroy(link);
	exrnic_ntb_dma_flush(link);
	link->peer_qpn = 0;
	link->record.qpn = 0;
	link->record.copies_qpn = 0;
	link->record.peer_qpn = 0;
	WRITE_ONCE(link->followed, link->record.seq); /* nobody is left who would */
	wake_up_all(&link->wait);
}

static int exrnic_ntb_begin_qp(struct exrnic_ntb_link *link)
{
	int err = exrnic_ntb_qps_create(link);

	if (err)
		return err;
	link->record.qpn = link->queues.windows.qp.qpn;
	link->record.copies_qpn = link->queues.copies.qp.qpn;
	exrnic_ntb_register_all(link);
	exrnic_ntb_update_places(link);
	exrnic_ntb_record_tell(link);
	return 0;
}

static int exrnic_ntb_connect(struct exrnic_ntb_link *link, const struct exrnic_ntb_record *peer)
{
	int err = exrnic_ntb_qps_connect(link, peer);

	if (err)
		return err;
	link->peer_qpn = peer->qpn;
	link->record.peer_qpn = peer->qpn;
	exrnic_ntb_record_tell(link);
	return 0;
}

/* ---- What the peer says */

static int exrnic_ntb_follow(struct exrnic_ntb_link *link)
{
	const bool was_up = link->up;
	struct exrnic_ntb_record peer;
	u16 followed;
	int err;

	if (!exrnic_ntb_record_hear(link, &peer, &followed))
		return 0;
	if (link->peer_qpn && peer.qpn != link->peer_qpn)
		return -ECONNRESET;
	if (!link->peer_qpn) {
		/* One that is connected to an earlier one of ours is about to go. */
		if (!peer.qpn || (peer.peer_qpn && peer.peer_qpn != link->record.qpn))
			return 0;
		err = exrnic_ntb_connect(link, &peer);
		if (err)
			return err;
	}
	if (peer.peer_qpn != link->record.qpn) {
		exrnic_ntb_set_up(link, false);
		return 0;
	}
	if (!exrnic_ntb_windows_are(link, peer.places)) {
		if (!exrnic_ntb_has_rested(link))
			return 0;
		exrnic_ntb_rest(link);
		err = exrnic_ntb_windows_show(link, peer.places);
		if (err)
			return err;
	}
	exrnic_ntb_dma_go(link, peer.places);
	exrnic_ntb_record_follow(link, peer.seq);
	exrnic_ntb_set_followed(link, followed);
	exrnic_ntb_set_up(link, link->record.enabled && peer.enabled && link->record.ready && peer.ready &&
					(link->up || (followed == link->record.seq && exrnic_ntb_may_go_up(link))));
	if (link->up != was_up)
		exrnic_ntb_record_tell(link);
	if (link->up && peer.up)
		exrnic_ntb_peer_release(link, true);
	return 0;
}

/* ---- The work */

static void exrnic_ntb_give_up(struct exrnic_ntb_link *link)
{
	exrnic_ntb_rest(link);
	exrnic_ntb_drop(link);
}

static void exrnic_ntb_begin_anew(struct exrnic_ntb_link *link, int err)
{
	dev_dbg(&link->ntb.dev, "the queue pair begins anew: error %d\n", err);
	exrnic_ntb_give_up(link);
	exrnic_ntb_record_tell(link);
	exrnic_ntb_has_rested(link);
}

/*
 * False: the odd ports have not found each other. If they have lost each other in between, all begins anew. That they have found
 * each other the port may tell later than it shows it.
 */
static bool exrnic_ntb_meet(struct exrnic_ntb_link *link)
{
	struct exrnic_port_news news;
	bool lost = exrnic_port_peek(&link->control_port, &news) &&
		    exrnic_port_take(&link->control_port, &news) && (news.events & EXRNIC_PORT_EVENT_LINK_DOWN);
	bool met = !exrnic_device_error(link->edev) && exrnic_port_is_up(&link->control_port);

	if (link->met && (lost || !met))
		exrnic_ntb_give_up(link);
	if (met && (lost || !link->met))
		exrnic_ntb_record_forget(link);
	link->met = met;
	return met;
}

static int exrnic_ntb_go_on(struct exrnic_ntb_link *link)
{
	const bool ready = exrnic_ntb_bells_ready(link);
	bool changed = ready != link->record.ready;
	int err = 0;

	link->record.ready = ready;
	if (!ready)
		exrnic_ntb_set_up(link, false); /* whatever the peer says, and if it is changing that without end */
	if (!link->record.enabled && !link->up) {
		/* What clients have translated is for the peer of a link that they want. */
		changed |= link->queues.has_qps;
		exrnic_ntb_drop(link);
		if (changed)
			exrnic_ntb_record_tell(link);
		return 0;
	}
	if (READ_ONCE(link->broken) && link->queues.has_qps)
		return -ECONNRESET;
	if (!link->queues.has_qps) {
		if (!exrnic_ntb_has_rested(link))
			return 0;
		err = exrnic_ntb_begin_qp(link);
		changed = false;
	}
	if (changed)
		exrnic_ntb_record_tell(link);
	return err ? err : exrnic_ntb_follow(link);
}

static bool exrnic_ntb_ports_are_up(struct exrnic_ntb_link *link)
{
	return exrnic_port_is_up(&link->bells_port) && exrnic_port_is_up(&link->control_port);
}

/* Ports whose link is lost find each other when one of them is enabled anew. The higher node lets the lower one try first. */
static void exrnic_ntb_reopen_later(struct exrnic_ntb_link *link)
{
	const unsigned int turns = link->node > link->settings.peer_node ? 2 : 1;

	if (link->alive && exrnic_ntb_ports_are_up(link))
		link->reopen_pause = EXRNIC_NTB_REOPEN_MIN;
	else
		queue_delayed_work(system_unbound_wq, &link->reopen, turns * link->reopen_pause);
}

static bool exrnic_ntb_work_is_too_much(struct exrnic_ntb_link *link)
{
	if (link->work_jiffy != jiffies) {
		link->work_jiffy = jiffies;
		link->work_count = 0;
	}
	return link->work_count++ >= EXRNIC_NTB_WORK_EACH_JIFFY;
}

static void exrnic_ntb_work(struct work_struct *work)
{
	struct exrnic_ntb_link *link = container_of(to_delayed_work(work), struct exrnic_ntb_link, work);
	int err;

	if (exrnic_ntb_work_is_too_much(link)) {
		exrnic_ntb_later(link, 1);
		return;
	}
	mutex_lock(&link->lock);
	if (link->alive && exrnic_ntb_meet(link)) {
		err = exrnic_ntb_go_on(link);
		if (err)
			exrnic_ntb_begin_anew(link, err);
	}
	if (link->wanted)
		exrnic_ntb_reopen_later(link);
	mutex_unlock(&link->lock);
}

/* ---- Clients' wishes */

/*
 * With the lock, which it gives up meanwhile. The link of a peer that does not follow goes down: then nothing of what was
 * told before counts any more.
 */
static void exrnic_ntb_tell_and_wait(struct exrnic_ntb_link *link)
{
	u16 seq;

	if (!link->alive || !link->met || !link->queues.has_qps)
		return;
	exrnic_ntb_record_tell(link);
	if (!link->up)
		return;
	seq = link->record.seq;
	mutex_unlock(&link->lock);
	wait_event_timeout(link->wait, exrnic_ntb_is_followed(link, seq), EXRNIC_NTB_FOLLOW_LIMIT);
	mutex_lock(&link->lock);
	if (!exrnic_ntb_is_followed(link, seq)) {
		WRITE_ONCE(link->broken, true);
		exrnic_ntb_kick(link);
	}
}

void exrnic_ntb_session_enable(struct exrnic_ntb_link *link, bool enable)
{
	mutex_lock(&link->lock);
	if (link->record.enabled != enable) {
		link->record.enabled = enable;
		exrnic_ntb_tell_and_wait(link);
		if (!link->record.enabled)
			exrnic_ntb_set_up(link, false); /* which is told with the next change */
	}
	mutex_unlock(&link->lock);
	exrnic_ntb_kick(link);
}

static void exrnic_ntb_withdraw(struct exrnic_ntb_link *link, struct exrnic_ntb_inbound *in)
{
	in->withdrawn = true;
	exrnic_ntb_update_places(link);
	exrnic_ntb_tell_and_wait(link);
	exrnic_ntb_inbound_forget(link, in);
	in->bytes = 0;
	in->withdrawn = false;
}

/* Between two lives of the device it is kept for the next one. */
static int exrnic_ntb_offer(struct exrnic_ntb_link *link, struct exrnic_ntb_inbound *in, dma_addr_t bus, u64 bytes)
{
	int err = 0;

	in->bus = bus;
	in->bytes = bytes;
	if (link->alive)
		err = exrnic_ntb_inbound_register(link, in);
	if (err && !exrnic_device_error(link->edev)) {
		in->bytes = 0;
		return err;
	}
	exrnic_ntb_update_places(link);
	exrnic_ntb_tell_and_wait(link);
	return 0;
}

int exrnic_ntb_session_set_window(struct exrnic_ntb_link *link, u32 window, dma_addr_t bus, u64 bytes)
{
	struct exrnic_ntb_inbound *in = &link->in[window];
	int err = 0;

	mutex_lock(&link->windows_lock);
	mutex_lock(&link->lock);
	if (in->bytes)
		exrnic_ntb_withdraw(link, in);
	if (bytes)
		err = exrnic_ntb_offer(link, in, bus, bytes);
	mutex_unlock(&link->lock);
	mutex_unlock(&link->windows_lock);
	return err;
}

/* ---- The device's lives */

static void exrnic_ntb_control_wake(struct exrnic_port *port)
{
	exrnic_ntb_kick(container_of(port, struct exrnic_ntb_link, control_port));
}

static int exrnic_ntb_control_open(struct exrnic_ntb_link *link)
{
	const struct exrnic_port_attr attr = {
		.port = 2 * link->settings.link + 1,
		.peer_node = link->settings.peer_node,
		.peer_port = 2 * link->settings.peer_link + 1,
		.comp_vector = EXRNIC_ANY_COMP_VECTOR,
		.reserved = true,
	};

	return exrnic_port_open(link->edev, &link->control_port, &attr);
}

static int exrnic_ntb_reopen_ports(struct exrnic_ntb_link *link)
{
	int err = 0;

	if (!exrnic_port_is_up(&link->bells_port)) {
		exrnic_ntb_bells_close(link);
		err = exrnic_ntb_bells_open(link);
	}
	if (!exrnic_port_is_up(&link->control_port)) {
		if (link->met)
			exrnic_ntb_give_up(link);
		link->met = false;
		exrnic_port_close(&link->control_port);
		err = exrnic_ntb_control_open(link) ?: err;
	}
	return err;
}

static int exrnic_ntb_begin_life(struct exrnic_ntb_link *link)
{
	int err = exrnic_ntb_queues_create(link);

	if (err)
		return err;
	err = exrnic_ntb_dma_begin(link);
	if (err) {
		exrnic_ntb_queues_destroy(link);
		return err;
	}
	link->met = false;
	link->not_before = jiffies;
	link->pause = EXRNIC_NTB_PAUSE_MIN;
	link->alive = true;
	exrnic_device_watch(link->edev);
	return 0;
}

/* What cannot be had is tried again: a process may have opened these ports before they were reserved. */
static void exrnic_ntb_open(struct exrnic_ntb_link *link)
{
	int err = link->alive ? 0 : exrnic_ntb_begin_life(link);

	if (err) {
		dev_err_ratelimited(&link->ntb.dev, "the link stays down, as the device refuses its queues: error %d\n", err);
		return;
	}
	err = exrnic_ntb_reopen_ports(link);
	if (err)
		dev_err_ratelimited(&link->ntb.dev, "the link stays down, as ports %u and %u cannot be had: error %d\n",
				    2 * link->settings.link, 2 * link->settings.link + 1, err);
}

static void exrnic_ntb_reopen(struct work_struct *work)
{
	struct exrnic_ntb_link *link = container_of(to_delayed_work(work), struct exrnic_ntb_link, reopen);

	mutex_lock(&link->lock);
	if (link->wanted && !exrnic_device_error(link->edev)) {
		exrnic_ntb_open(link);
		link->reopen_pause = min_t(unsigned long, 2 * link->reopen_pause, EXRNIC_NTB_REOPEN_MAX);
	}
	mutex_unlock(&link->lock);
	exrnic_ntb_kick(link);
}

static void exrnic_ntb_begin(struct exrnic_client *client)
{
	struct exrnic_ntb_link *link = container_of(client, struct exrnic_ntb_link, client);

	mutex_lock(&link->lock);
	link->reopen_pause = EXRNIC_NTB_REOPEN_MIN;
	link->wanted = true;
	exrnic_ntb_open(link);
	mutex_unlock(&link->lock);
	exrnic_ntb_kick(link);
}

static void exrnic_ntb_end_life(struct exrnic_ntb_link *link)
{
	link->alive = false;
	exrnic_device_unwatch(link->edev);
	exrnic_port_close(&link->control_port);
	exrnic_ntb_bells_close(link);
	exrnic_ntb_drop(link);
	exrnic_ntb_forget_all(link);
	exrnic_ntb_dma_end(link);
	exrnic_ntb_queues_destroy(link);
}

static void exrnic_ntb_end(struct exrnic_client *client)
{
	struct exrnic_ntb_link *link = container_of(client, struct exrnic_ntb_link, client);

	mutex_lock(&link->lock);
	link->wanted = false;
	if (link->alive)
		exrnic_ntb_end_life(link);
	mutex_unlock(&link->lock);
	cancel_delayed_work_sync(&link->reopen);
	cancel_delayed_work_sync(&link->work);
}

static void exrnic_ntb_notice(struct exrnic_client *client, u32 notices)
{
	exrnic_ntb_kick(container_of(client, struct exrnic_ntb_link, client));
}

static const struct exrnic_client_ops exrnic_ntb_client_ops = {
	.begin = exrnic_ntb_begin,
	.end = exrnic_ntb_end,
	.notice = exrnic_ntb_notice,
};

void exrnic_ntb_session_init(struct exrnic_ntb_link *link)
{
	mutex_init(&link->windows_lock);
	mutex_init(&link->lock);
	init_waitqueue_head(&link->wait);
	INIT_DELAYED_WORK(&link->work, exrnic_ntb_work);
	INIT_DELAYED_WORK(&link->reopen, exrnic_ntb_reopen);
	exrnic_port_init(&link->control_port, exrnic_ntb_control_wake);
	link->not_up_before = jiffies;
	link->down_pause = EXRNIC_NTB_DOWN_MIN;
	link->client.ops = &exrnic_ntb_client_ops;
}
