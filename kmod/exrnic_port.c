// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Ports: doorbell bits, scratchpads and the link to one port of a peer. It knows no face. */
#include <linux/err.h>
#include <linux/nospec.h>

#include "exrnic_core.h"
#include "exrnic_regs.h"

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

/* Clear, then note: a bell that rings in between fires again. */
static bool exrnic_port_look(struct exrnic_port *port)
{
	u32 bells = exrnic_port_read(port, EXRNIC_REG_PORT_BELLS_RUNG) & ~port->mask;
	u32 events = exrnic_port_read(port, EXRNIC_REG_PORT_EVENTS) & EXRNIC_PORT_EVENTS_ALL;

	if (!bells && !events)
		return false;
	exrnic_port_write(port, EXRNIC_REG_PORT_BELLS_RUNG, bells);
	exrnic_port_write(port, EXRNIC_REG_PORT_EVENTS, events);
	port->bells |= bells;
	port->events |= events;
	wake_up_interruptible(&port->wait);
	return true;
}

/* The control vector has fired. A device that is gone reads as all ones. */
bool exrnic_ports_interrupt(struct exrnic_device *edev)
{
	unsigned long flags;
	bool any = false;
	unsigned int i;

	spin_lock_irqsave(&edev->ports_lock, flags);
	for (i = 0; i < EXRNIC_PORTS; i++)
		if (edev->ports[i] &&
		    exrnic_port_read(edev->ports[i], EXRNIC_REG_PORT_CONTROL) != EXRNIC_REG_ABSENT)
			any |= exrnic_port_look(edev->ports[i]);
	spin_unlock_irqrestore(&edev->ports_lock, flags);
	return any;
}

bool exrnic_port_is_pending(struct exrnic_port *port)
{
	return READ_ONCE(port->bells) || READ_ONCE(port->events) || READ_ONCE(port->dead);
}

/* Enabling forgets the bells of the port's last owner, which no interrupt may find before. */
static void exrnic_port_enable(struct exrnic_port *port, const struct exrnic_open_port *attr)
{
	lockdep_assert_held(&port->edev->ports_lock);
	exrnic_port_write(port, EXRNIC_REG_PORT_PEER, attr->peer_node << 16 | attr->peer_port);
	exrnic_port_write(port, EXRNIC_REG_PORT_VECTOR, EXRNIC_MSIX_VECTOR_CONTROL);
	exrnic_port_write(port, EXRNIC_REG_PORT_BELLS_MASK, 0);
	exrnic_port_write(port, EXRNIC_REG_PORT_CONTROL, EXRNIC_PORT_CONTROL_ENABLE);
	port->edev->ports[port->number] = port;
}

int exrnic_port_open(struct exrnic_device *edev, struct exrnic_port *port,
		     const struct exrnic_open_port *attr)
{
	int err = 0;

	if (attr->port >= EXRNIC_PORTS || attr->peer_port >= EXRNIC_PORTS ||
	    attr->peer_node >= edev->limits.node ||
	    attr->peer_node == exrnic_read(edev, EXRNIC_REG_NODE_ID))
		return -EINVAL;
	port->edev = edev;
	port->number = array_index_nospec(attr->port, EXRNIC_PORTS);
	init_waitqueue_head(&port->wait);
	spin_lock_irq(&edev->ports_lock);
	if (edev->ports[port->number])
		err = -EBUSY;
	else
		exrnic_port_enable(port, attr);
	spin_unlock_irq(&edev->ports_lock);
	return err;
}

/* Also of a device that goes away: then nothing acts on it any more. Twice does no harm. */
void exrnic_port_close(struct exrnic_port *port)
{
	struct exrnic_device *edev = port->edev;
	bool open;

	spin_lock_irq(&edev->ports_lock);
	open = !port->dead;
	if (open) {
		edev->ports[port->number] = NULL;
		exrnic_port_write(port, EXRNIC_REG_PORT_CONTROL, 0);
	}
	port->dead = true;
	spin_unlock_irq(&edev->ports_lock);
	wake_up_interruptible(&port->wait);
}

static int exrnic_port_check_link(struct exrnic_port *port)
{
	u32 status = exrnic_port_read(port, EXRNIC_REG_PORT_STATUS);

	if (status == EXRNIC_REG_ABSENT)
		return -ENODEV;
	return status & EXRNIC_PORT_STATUS_LINK_UP ? 0 : -ENOTCONN;
}

/* False: nothing has come. */
bool exrnic_port_take(struct exrnic_port *port, struct exrnic_port_event *event)
{
	struct exrnic_device *edev = port->edev;
	bool taken = false;

	spin_lock_irq(&edev->ports_lock);
	if (!port->dead && (port->bells || port->events)) {
		*event = (struct exrnic_port_event){
			.bells = port->bells,
			.events = port->events,
			.link_up = !exrnic_port_check_link(port),
		};
		port->bells = 0;
		port->events = 0;
		taken = true;
	}
	spin_unlock_irq(&edev->ports_lock);
	return taken;
}

static int exrnic_port_say(struct exrnic_port *port, u32 reg, u32 value)
{
	struct exrnic_device *edev = port->edev;
	int err = -ENODEV;

	spin_lock_irq(&edev->ports_lock);
	if (!port->dead)
		err = exrnic_port_check_link(port);
	if (!err)
		exrnic_port_write(port, reg, value);
	spin_unlock_irq(&edev->ports_lock);
	return err;
}

int exrnic_port_ring(struct exrnic_port *port, u32 bits)
{
	return exrnic_port_say(port, EXRNIC_REG_PORT_RING, bits);
}

int exrnic_port_set_spad(struct exrnic_port *port, const struct exrnic_port_spad *spad)
{
	if (spad->index >= EXRNIC_PORT_SPADS)
		return -EINVAL;
	return exrnic_port_say(port, EXRNIC_REG_PORT_SPAD_OUT + 4 * spad->index, spad->value);
}

int exrnic_port_get_spad(struct exrnic_port *port, struct exrnic_port_spad *spad)
{
	struct exrnic_device *edev = port->edev;
	int err = 0;

	if (spad->index >= EXRNIC_PORT_SPADS)
		return -EINVAL;
	spin_lock_irq(&edev->ports_lock);
	if (port->dead || exrnic_port_check_link(port) == -ENODEV)
		err = -ENODEV;
	else
		spad->value = exrnic_port_read(port, EXRNIC_REG_PORT_SPAD_IN + 4 * spad->index);
	spin_unlock_irq(&edev->ports_lock);
	return err;
}

/* What was rung while it was masked is told now. */
int exrnic_port_set_mask(struct exrnic_port *port, u32 mask)
{
	struct exrnic_device *edev = port->edev;
	int err = 0;

	spin_lock_irq(&edev->ports_lock);
	if (port->dead) {
		err = -ENODEV;
	} else {
		port->mask = mask;
		exrnic_port_write(port, EXRNIC_REG_PORT_BELLS_MASK, mask);
	}
	spin_unlock_irq(&edev->ports_lock);
	return err;
}
