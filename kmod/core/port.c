// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Ports: doorbell bits, scratchpads and the link to one port of a peer. */
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/nospec.h>

#include "regs.h"

#define EXRNIC_PORT_EVENTS_ALL (EXRNIC_PORT_EVENT_LINK_UP | EXRNIC_PORT_EVENT_LINK_DOWN)

static u32 exrnic_port_reg(const struct exrnic_port *port, u32 reg)
{
	return EXRNIC_PORT_BASE + port->number * EXRNIC_PORT_STRIDE + reg;
}

static u32 exrnic_port_read(struct exrnic_port *port, u32 reg)
{
	return exrnic_read(port->edev, exrnic_port_reg(port, reg));
}

static void exrnic_port_write(struct exrnic_port *port, u32 reg, u32 value)
{
	exrnic_write(port->edev, exrnic_port_reg(port, reg), value);
}

/* Whether something is left, as the device says now; one that is gone says nothing. */
static void exrnic_port_look_again(struct exrnic_port *port)
{
	u32 pending;

	WRITE_ONCE(port->pending, false);
	pending = exrnic_read(port->edev, EXRNIC_REG_PORTS_PENDING);
	if (pending != EXRNIC_REG_ABSENT && (pending & BIT(port->number)))
		exrnic_port_notice(port);
}

bool exrnic_port_is_closed(const struct exrnic_port *port)
{
	return READ_ONCE(port->dead);
}
EXRNIC_EXPORT(exrnic_port_is_closed);

bool exrnic_port_may_tell(const struct exrnic_port *port)
{
	return READ_ONCE(port->pending) || READ_ONCE(port->dead);
}
EXRNIC_EXPORT(exrnic_port_may_tell);

int exrnic_ports_reserve(struct exrnic_device *edev, u32 ports)
{
	unsigned long flags;
	int err = -EBUSY;

	spin_lock_irqsave(&edev->ports_lock, flags);
	if (!(edev->ports_reserved & ports)) {
		edev->ports_reserved |= ports;
		err = 0;
	}
	spin_unlock_irqrestore(&edev->ports_lock, flags);
	return err;
}
EXRNIC_EXPORT(exrnic_ports_reserve);

void exrnic_ports_give_back(struct exrnic_device *edev, u32 ports)
{
	unsigned long flags;

	spin_lock_irqsave(&edev->ports_lock, flags);
	edev->ports_reserved &= ~ports;
	spin_unlock_irqrestore(&edev->ports_lock, flags);
}
EXRNIC_EXPORT(exrnic_ports_give_back);

static int exrnic_port_claim(struct exrnic_port *port, bool reserved)
{
	struct exrnic_device *edev = port->edev;
	int err = -EBUSY;

	spin_lock_irq(&edev->ports_lock);
	if (!edev->ports[port->number] && !!(edev->ports_reserved & BIT(port->number)) == reserved) {
		edev->ports[port->number] = port;
		WRITE_ONCE(port->vector->ports, port->vector->ports | BIT(port->number));
		err = 0;
	}
	spin_unlock_irq(&edev->ports_lock);
	return err;
}

static void exrnic_port_give_back(struct exrnic_port *port)
{
	struct exrnic_device *edev = port->edev;

	spin_lock_irq(&edev->ports_lock);
	edev->ports[port->number] = NULL;
	WRITE_ONCE(port->vector->ports, port->vector->ports & ~BIT(port->number));
	spin_unlock_irq(&edev->ports_lock);
	exrnic_vectors_remove_port(port);
}

/* Enabling forgets the bells of the port's last owner; until then it is not pending. */
static void exrnic_port_enable(struct exrnic_port *port, const struct exrnic_port_attr *attr,
			       u32 msix_vector)
{
	exrnic_port_write(port, EXRNIC_REG_PORT_PEER, attr->peer_node << 16 | attr->peer_port);
	exrnic_port_write(port, EXRNIC_REG_PORT_VECTOR, msix_vector);
	exrnic_port_write(port, EXRNIC_REG_PORT_BELLS_MASK, attr->mask);
	exrnic_port_write(port, EXRNIC_REG_PORT_CONTROL, EXRNIC_PORT_CONTROL_ENABLE);
}

void exrnic_port_init(struct exrnic_port *port, void (*wake)(struct exrnic_port *port))
{
	spin_lock_init(&port->lock);
	port->wake = wake;
	port->dead = true;
	port->pending = false;
}
EXRNIC_EXPORT(exrnic_port_init);

/* Who has acted on it while it was closed finds it open, from one moment on. */
static void exrnic_port_begin(struct exrnic_port *port, const struct exrnic_port_attr *attr, u32 msix_vector)
{
	spin_lock_irq(&port->lock);
	port->mask = attr->mask;
	port->taken = 0;
	exrnic_port_enable(port, attr, msix_vector);
	WRITE_ONCE(port->dead, false);
	exrnic_port_look_again(port);
	spin_unlock_irq(&port->lock);
}

int exrnic_port_open(struct exrnic_device *edev, struct exrnic_port *port,
		     const struct exrnic_port_attr *attr)
{
	int err, msix_vector;

	if (attr->port >= EXRNIC_PORTS || attr->peer_port >= EXRNIC_PORTS ||
	    attr->peer_node >= edev->limits.node ||
	    attr->peer_node == exrnic_read(edev, EXRNIC_REG_NODE_ID))
		return -EINVAL;
	port->edev = edev;
	port->number = array_index_nospec(attr->port, EXRNIC_PORTS);
	msix_vector = exrnic_vectors_add_port(edev, port, attr->comp_vector);
	if (msix_vector < 0)
		return msix_vector;
	err = exrnic_port_claim(port, attr->reserved);
	if (err)
		exrnic_vectors_remove_port(port);
	else
		exrnic_port_begin(port, attr, msix_vector);
	return err;
}
EXRNIC_EXPORT(exrnic_port_open);

/* Also of a device that goes away. Behind the lock nothing acts on it any more. */
void exrnic_port_close(struct exrnic_port *port)
{
	bool closed;

	spin_lock_irq(&port->lock);
	closed = port->dead;
	if (!closed)
		exrnic_port_write(port, EXRNIC_REG_PORT_CONTROL, 0);
	WRITE_ONCE(port->dead, true);
	spin_unlock_irq(&port->lock);
	if (!closed)
		exrnic_port_give_back(port);
	port->wake(port);
}
EXRNIC_EXPORT(exrnic_port_close);

static int exrnic_port_check_link(struct exrnic_port *port)
{
	u32 status = exrnic_port_read(port, EXRNIC_REG_PORT_STATUS);

	if (status == EXRNIC_REG_ABSENT)
		return -ENODEV;
	return status & EXRNIC_PORT_STATUS_LINK_UP ? 0 : -ENOTCONN;
}

static bool exrnic_port_read_news(struct exrnic_port *port, struct exrnic_port_news *news)
{
	const int link = exrnic_port_check_link(port);

	*news = (struct exrnic_port_news){ .link_up = !link, .taken = port->taken };
	if (link == -ENODEV)
		return false;
	news->bells = exrnic_port_read(port, EXRNIC_REG_PORT_BELLS_RUNG) & ~port->mask;
	news->events = exrnic_port_read(port, EXRNIC_REG_PORT_EVENTS) & EXRNIC_PORT_EVENTS_ALL;
	return news->bells || news->events;
}

bool exrnic_port_peek(struct exrnic_port *port, struct exrnic_port_news *news)
{
	unsigned long flags;
	bool any = false;

	spin_lock_irqsave(&port->lock, flags);
	if (!port->dead) {
		any = exrnic_port_read_news(port, news);
		if (any)
			exrnic_port_notice(port);	/* its interrupt is still to come */
		else
			exrnic_port_look_again(port);
	}
	spin_unlock_irqrestore(&port->lock, flags);
	return any;
}
EXRNIC_EXPORT(exrnic_port_peek);

bool exrnic_port_look(struct exrnic_port *port, struct exrnic_port_news *news)
{
	unsigned long flags;
	bool any = false;

	spin_lock_irqsave(&port->lock, flags);
	if (!port->dead) {
		WRITE_ONCE(port->pending, false);	/* before the registers: what comes from here on wakes */
		any = exrnic_port_read_news(port, news);
	}
	spin_unlock_irqrestore(&port->lock, flags);
	return any;
}
EXRNIC_EXPORT(exrnic_port_look);

bool exrnic_port_is_up(struct exrnic_port *port)
{
	unsigned long flags;
	bool up;

	spin_lock_irqsave(&port->lock, flags);
	up = !port->dead && !exrnic_port_check_link(port);
	spin_unlock_irqrestore(&port->lock, flags);
	return up;
}
EXRNIC_EXPORT(exrnic_port_is_up);

u32 exrnic_port_bells(struct exrnic_port *port)
{
	unsigned long flags;
	u32 bells = 0;

	spin_lock_irqsave(&port->lock, flags);
	if (!port->dead && exrnic_port_check_link(port) != -ENODEV)
		bells = exrnic_port_read(port, EXRNIC_REG_PORT_BELLS_RUNG);
	spin_unlock_irqrestore(&port->lock, flags);
	return bells;
}
EXRNIC_EXPORT(exrnic_port_bells);

void exrnic_port_clear_bells(struct exrnic_port *port, u32 bells)
{
	unsigned long flags;

	spin_lock_irqsave(&port->lock, flags);
	if (!port->dead)
		exrnic_port_write(port, EXRNIC_REG_PORT_BELLS_RUNG, bells);
	spin_unlock_irqrestore(&port->lock, flags);
}
EXRNIC_EXPORT(exrnic_port_clear_bells);

bool exrnic_port_take(struct exrnic_port *port, const struct exrnic_port_news *news)
{
	unsigned long flags;
	bool taken;

	spin_lock_irqsave(&port->lock, flags);
	taken = !port->dead && port->taken == news->taken;
	if (taken) {
		exrnic_port_write(port, EXRNIC_REG_PORT_BELLS_RUNG, news->bells);
		exrnic_port_write(port, EXRNIC_REG_PORT_EVENTS, news->events);
		port->taken++;
		exrnic_port_look_again(port);
	}
	spin_unlock_irqrestore(&port->lock, flags);
	return taken;
}
EXRNIC_EXPORT(exrnic_port_take);

static int exrnic_port_say(struct exrnic_port *port, u32 reg, u32 value)
{
	unsigned long flags;
	int err = -ENODEV;

	spin_lock_irqsave(&port->lock, flags);
	if (!port->dead)
		err = exrnic_port_check_link(port);
	if (!err)
		exrnic_port_write(port, reg, value);
	spin_unlock_irqrestore(&port->lock, flags);
	return err;
}

int exrnic_port_ring(struct exrnic_port *port, u32 bits)
{
	return exrnic_port_say(port, EXRNIC_REG_PORT_RING, bits);
}
EXRNIC_EXPORT(exrnic_port_ring);

/* The first register of a bank of scratchpads. */
static u32 exrnic_port_spads(bool of_peer)
{
	return of_peer ? EXRNIC_REG_PORT_PEER_SPAD : EXRNIC_REG_PORT_SPAD;
}

int exrnic_port_set_spad(struct exrnic_port *port, bool of_peer, u32 index, u32 value)
{
	if (index >= EXRNIC_PORT_SPADS)
		return -EINVAL;
	return exrnic_port_say(port, exrnic_port_spads(of_peer) + 4 * index, value);
}
EXRNIC_EXPORT(exrnic_port_set_spad);

int exrnic_port_get_spad(struct exrnic_port *port, bool of_peer, u32 index, u32 *value)
{
	unsigned long flags;
	int err = 0;

	if (index >= EXRNIC_PORT_SPADS)
		return -EINVAL;
	spin_lock_irqsave(&port->lock, flags);
	if (port->dead || exrnic_port_check_link(port) == -ENODEV)
		err = -ENODEV;
	else
		*value = exrnic_port_read(port, exrnic_port_spads(of_peer) + 4 * index);
	spin_unlock_irqrestore(&port->lock, flags);
	return err;
}
EXRNIC_EXPORT(exrnic_port_get_spad);

/* What has been rung and is masked now is not told; what was rung while it was masked is. */
int exrnic_port_set_mask(struct exrnic_port *port, u32 mask)
{
	unsigned long flags;
	int err = -ENODEV;

	spin_lock_irqsave(&port->lock, flags);
	if (!port->dead) {
		port->mask = mask;
		exrnic_port_write(port, EXRNIC_REG_PORT_BELLS_MASK, mask);
		exrnic_port_look_again(port);
		err = 0;
	}
	spin_unlock_irqrestore(&port->lock, flags);
	return err;
}
EXRNIC_EXPORT(exrnic_port_set_mask);
