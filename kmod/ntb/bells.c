// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Doorbells and scratchpads, as clients see them: those of the even port. What they have written into their own scratchpads
 * while that was down is told when it comes up; all are 0 then.
 *
 * One side is told first that the link is up. Clients of the other one may still put their scratchpads in order, and would not
 * see what is for them: so that waits until they have been told, too.
 */
#include "ntb.h"

/* So often in a jiffy clients are told of bells; a peer can ring without end. */
#define EXRNIC_NTB_BELLS_EACH_JIFFY 256

static bool exrnic_ntb_bells_are_too_many(struct exrnic_ntb_link *link)
{
	if (link->bells_jiffy != jiffies) {
		link->bells_jiffy = jiffies;
		link->bells_count = 0;
	}
	return link->bells_count++ >= EXRNIC_NTB_BELLS_EACH_JIFFY;
}

/*
 * Bells that are new, and not masked. The peer may see the link come up, and ring, before clients here have heard of it: they
 * hear of bells behind that.
 */
static u32 exrnic_ntb_bells_take_new(struct exrnic_ntb_link *link)
{
	struct exrnic_port_news news;
	unsigned long flags;
	u32 bells;

	spin_lock_irqsave(&link->bells_lock, flags);
	if (!exrnic_port_look(&link->bells_port, &news))
		news.bells = news.events = 0;
	bells = READ_ONCE(link->up) ? news.bells & ~link->bells_told : 0;
	link->bells_told |= bells;
	if (news.events) {
		news.bells = 0;
		exrnic_port_take(&link->bells_port, &news);
		if (news.events & EXRNIC_PORT_EVENT_LINK_DOWN)
			link->bells_lost = true;
	}
	spin_unlock_irqrestore(&link->bells_lock, flags);
	if (news.events)
		exrnic_ntb_kick(link);
	return bells;
}

static void exrnic_ntb_bells_tell(struct tasklet_struct *tasklet)
{
	struct exrnic_ntb_link *link = from_tasklet(link, tasklet, bells);

	if (exrnic_port_is_closed(&link->bells_port))
		return;
	if (exrnic_ntb_bells_are_too_many(link))
		schedule_delayed_work(&link->bells_pause, 1);
	else if (exrnic_ntb_bells_take_new(link))
		ntb_db_event(&link->ntb, 0);
}

void exrnic_ntb_bells_look(struct exrnic_ntb_link *link)
{
	tasklet_schedule(&link->bells);
}

static void exrnic_ntb_bells_pause_ends(struct work_struct *work)
{
	struct exrnic_ntb_link *link = container_of(to_delayed_work(work), struct exrnic_ntb_link, bells_pause);

	exrnic_ntb_bells_look(link);
}

static void exrnic_ntb_bells_wake(struct exrnic_port *port)
{
	exrnic_ntb_bells_look(container_of(port, struct exrnic_ntb_link, bells_port));
}

void exrnic_ntb_bells_init(struct exrnic_ntb_link *link)
{
	spin_lock_init(&link->bells_lock);
	spin_lock_init(&link->spads_lock);
	tasklet_setup(&link->bells, exrnic_ntb_bells_tell);
	INIT_DELAYED_WORK(&link->bells_pause, exrnic_ntb_bells_pause_ends);
	exrnic_port_init(&link->bells_port, exrnic_ntb_bells_wake);
}

int exrnic_ntb_bells_open(struct exrnic_ntb_link *link)
{
	const struct exrnic_port_attr attr = {
		.port = 2 * link->settings.link,
		.peer_node = link->settings.peer_node,
		.peer_port = 2 * link->settings.peer_link,
		.comp_vector = EXRNIC_ANY_COMP_VECTOR,
		.mask = READ_ONCE(link->bells_mask),
		.reserved = true,
	};
	unsigned long flags;
	int err;

	spin_lock_irqsave(&link->bells_lock, flags);
	link->bells_told = 0;
	link->bells_lost = true;
	spin_unlock_irqrestore(&link->bells_lock, flags);
	err = exrnic_port_open(link->edev, &link->bells_port, &attr);
	/* Clients may have changed it meanwhile. */
	return err ? err : exrnic_ntb_bells_set_mask(link, 0, 0);
}

/* The tasklet schedules the pause, and the pause the tasklet; but not of a port that is closed. */
void exrnic_ntb_bells_close(struct exrnic_ntb_link *link)
{
	exrnic_port_close(&link->bells_port);
	tasklet_kill(&link->bells);
	cancel_delayed_work_sync(&link->bells_pause);
	tasklet_kill(&link->bells);
}

/* One at a time: interrupts are off, and a peer may be slow. */
static void exrnic_ntb_spads_tell(struct exrnic_ntb_link *link)
{
	unsigned long flags;
	u32 i;

	for (i = 0; i < EXRNIC_PORT_SPADS; i++) {
		spin_lock_irqsave(&link->spads_lock, flags);
		exrnic_port_set_spad(&link->bells_port, false, i, link->spads[i]);
		spin_unlock_irqrestore(&link->spads_lock, flags);
	}
}

bool exrnic_ntb_bells_ready(struct exrnic_ntb_link *link)
{
	unsigned long flags;
	bool up, anew;

	spin_lock_irqsave(&link->bells_lock, flags);
	up = exrnic_port_is_up(&link->bells_port);
	anew = up && link->bells_lost;
	if (anew)
		link->bells_told = 0;
	link->bells_lost = !up;
	spin_unlock_irqrestore(&link->bells_lock, flags);
	if (anew) {
		exrnic_ntb_spads_tell(link);
		exrnic_ntb_bells_look(link); /* those that have been told before ring anew */
	}
	/* It was down for a moment that nobody has heard of. */
	if (anew && link->record.ready) {
		exrnic_ntb_kick(link);
		return false;
	}
	return up;
}

int exrnic_ntb_bells_set_mask(struct exrnic_ntb_link *link, u32 set, u32 clear)
{
	unsigned long flags;

	spin_lock_irqsave(&link->bells_lock, flags);
	link->bells_mask = (link->bells_mask | set) & ~clear;
	link->bells_told &= ~link->bells_mask;
	exrnic_port_set_mask(&link->bells_port, link->bells_mask);
	spin_unlock_irqrestore(&link->bells_lock, flags);
	return 0;
}

void exrnic_ntb_bells_clear(struct exrnic_ntb_link *link, u32 bells)
{
	unsigned long flags;

	spin_lock_irqsave(&link->bells_lock, flags);
	link->bells_told &= ~bells;
	exrnic_port_clear_bells(&link->bells_port, bells);
	spin_unlock_irqrestore(&link->bells_lock, flags);
}

/* What the port does not take, as it is down, is told later. */
int exrnic_ntb_spad_set(struct exrnic_ntb_link *link, u32 index, u32 value)
{
	unsigned long flags;

	spin_lock_irqsave(&link->spads_lock, flags);
	link->spads[index] = value;
	exrnic_port_set_spad(&link->bells_port, false, index, value);
	spin_unlock_irqrestore(&link->spads_lock, flags);
	return 0;
}

u32 exrnic_ntb_spad_get(struct exrnic_ntb_link *link, u32 index)
{
	unsigned long flags;
	u32 value;

	spin_lock_irqsave(&link->spads_lock, flags);
	if (!exrnic_port_is_up(&link->bells_port) ||
	    exrnic_port_get_spad(&link->bells_port, false, index, &value))
		value = link->spads[index];
	spin_unlock_irqrestore(&link->spads_lock, flags);
	return value;
}

/* ---- The peer's */

void exrnic_ntb_peer_hold(struct exrnic_ntb_link *link)
{
	unsigned long flags;

	spin_lock_irqsave(&link->spads_lock, flags);
	link->holds = true;
	spin_unlock_irqrestore(&link->spads_lock, flags);
}

/* One at a time, likewise. What is behind the last one waits until all of them are told. */
static void exrnic_ntb_held_tell(struct exrnic_ntb_link *link)
{
	unsigned long flags;
	u32 i;

	for (i = 0; i < EXRNIC_PORT_SPADS; i++) {
		spin_lock_irqsave(&link->spads_lock, flags);
		if (__test_and_clear_bit(i, &link->held))
			exrnic_port_set_spad(&link->bells_port, true, i, link->held_spads[i]);
		spin_unlock_irqrestore(&link->spads_lock, flags);
	}
}

/* False: something has come to be held meanwhile. */
static bool exrnic_ntb_release(struct exrnic_ntb_link *link)
{
	unsigned long flags;
	bool released;

	spin_lock_irqsave(&link->spads_lock, flags);
	released = !link->held;
	if (released) {
		if (link->held_bells)
			exrnic_port_ring(&link->bells_port, link->held_bells);
		link->held_bells = 0;
		link->holds = false;
	}
	spin_unlock_irqrestore(&link->spads_lock, flags);
	return released;
}

static void exrnic_ntb_forget_held(struct exrnic_ntb_link *link)
{
	unsigned long flags;

	spin_lock_irqsave(&link->spads_lock, flags);
	link->held = 0;
	link->held_bells = 0;
	link->holds = false;
	spin_unlock_irqrestore(&link->spads_lock, flags);
}

void exrnic_ntb_peer_release(struct exrnic_ntb_link *link, bool tell)
{
	if (!READ_ONCE(link->holds))
		return;
	if (!tell) {
		exrnic_ntb_forget_held(link);
		return;
	}
	do {
		exrnic_ntb_held_tell(link);
	} while (!exrnic_ntb_release(link));
}

int exrnic_ntb_peer_ring(struct exrnic_ntb_link *link, u32 bells)
{
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&link->spads_lock, flags);
	if (link->holds)
		link->held_bells |= bells;
	else
		err = exrnic_port_ring(&link->bells_port, bells);
	spin_unlock_irqrestore(&link->spads_lock, flags);
	return err;
}

int exrnic_ntb_peer_spad_set(struct exrnic_ntb_link *link, u32 index, u32 value)
{
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&link->spads_lock, flags);
	if (link->holds) {
		link->held_spads[index] = value;
		__set_bit(index, &link->held);
	} else {
		err = exrnic_port_set_spad(&link->bells_port, true, index, value);
	}
	spin_unlock_irqrestore(&link->spads_lock, flags);
	return err;
}

u32 exrnic_ntb_peer_spad_get(struct exrnic_ntb_link *link, u32 index)
{
	unsigned long flags;
	u32 value;

	spin_lock_irqsave(&link->spads_lock, flags);
	if (test_bit(index, &link->held))
		value = link->held_spads[index];
	else if (exrnic_port_get_spad(&link->bells_port, true, index, &value))
		value = 0;
	spin_unlock_irqrestore(&link->spads_lock, flags);
	return value;
}
