/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A device, as exrnic.ko alone knows it, and what each floor offers to those above. The files of this folder are
 * floors: each uses those that Kbuild names before it only (tools/lint checks that), and is told by what stands
 * above by the callbacks in here.
 *
 * Locks, outermost first:
 *   exrnic_device.clients_lock	who takes part in the device's lives; outside of clients' own locks, and of RTNL
 *   exrnic_mbox.lock		one mailbox command at a time
 *   exrnic_firmware.lock	the on-chip processor
 *   exrnic_async.lock		who is told of a queue; nothing is waited for inside it
 *   exrnic_device.pkeys_lock	the table of P_Keys, here and in the device
 *   exrnic_device.management_lock	registers of management frames, and whose they are
 *   exrnic_device.users_lock	what each user has
 *   exrnic_device.clients_list_lock	who is told that it is cut off; then locks of who is told
 * and in interrupts, too: exrnic_port.lock, ports_lock, exrnic_firmware.wake_lock, exrnic_vector.lock, then locks of who is told.
 */
#ifndef EXRNIC_DEVICE_H
#define EXRNIC_DEVICE_H

#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/idr.h>
#include <linux/irqreturn.h>
#include <linux/kref.h>
#include <linux/pci.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "exrnic_compat.h"
#include "exrnic_core.h"

struct exrnic_mbox {
	struct mutex lock;
	struct completion done;	/* vector 0 said that a command has ended */
	bool broken;		/* no command is sent any more; bus mastering is off. Also between lives */
	void (*fatal)(struct exrnic_device *edev);	/* it has been cut off; in the lock */
};

/* STags in use, and the last key that each index had. */
struct exrnic_stags {
	struct mutex lock;
	unsigned long *used;
	u8 *keys;
	u32 size;
};

/* A ring in which the device tells events. Who takes them sees to it that nobody else does at the same time. */
struct exrnic_eq {
	struct exrnic_device *edev;
	struct exrnic_eqe *ring;	/* NULL: there is none */
	dma_addr_t bus;
	u32 eqn;
	u32 log_entries;
	u32 taken;			/* free-running */
};

/*
 * An MSI-X vector for completion queues, and the event queue that says which of them have fired. Behind some rounds that
 * have told nobody anything it is armed no earlier than a jiffy later: a process can arm its queues without end.
 */
struct exrnic_vector {
	struct exrnic_eq eq;
	spinlock_t lock;	/* who takes events */
	struct delayed_work pause;
	unsigned int users;
	unsigned int ports;	/* BIT() of each whose vector it is; under ports_lock */
	bool begun;		/* an event was taken since it was armed, */
	bool useful;		/* and has told somebody something */
	unsigned long jiffy;	/* in which so many rounds... */
	unsigned int useless;	/* ...have told nobody anything */
};

/* What the control vector's event queue has told, until a thread finds out whom it concerns. */
struct exrnic_async {
	struct exrnic_eq eq;
	struct delayed_work work;
	struct mutex lock;	/* who takes events; queues come into exrnic_device's tables, and go */
	unsigned long next;	/* jiffies: when the thread may run again */
	atomic_t notices;	/* EXRNIC_NOTICE_* that are still to be told: by this one */
	struct work_struct notice_work;
	void (*firmware_failed)(struct exrnic_device *edev);
};

struct exrnic_firmware {
	struct work_struct work;
	struct mutex lock;
	bool present;		/* there is a processor */
	bool running;		/* image runs, as far as the driver knows */
	bool silent;		/* stopped, as it did not answer; to be started again */
	u32 version;		/* as the image's head says */
	u32 restarts;		/* after failures, of this image */
	__le32 *image;		/* payload, kept to start it again */
	u32 bytes;
	/* Open ones, which are told to firmware whenever it starts. */
	struct exrnic_msg_channel *channels[EXRNIC_FW_CHANNELS];
	spinlock_t wake_lock;	/* also in interrupts */
	struct exrnic_msg_channel *woken[EXRNIC_FW_CHANNELS];	/* those that hear when they are woken */
};

/* On the auxiliary bus, one for each driver on top. */
#define EXRNIC_AUXILIARIES 4

struct exrnic_device {
	struct kref ref;
	struct pci_dev *pdev;
	void __iomem *regs;
	phys_addr_t user_base;	/* of BAR 2 */
	phys_addr_t window_base;	/* of BAR 4 */
	struct exrnic_limits limits;
	struct mutex counters_lock;
	bool enabled;		/* as the driver wants it to be: EXRNIC_DEVICE_CONTROL_ENABLE */
	struct mutex pkeys_lock;
	u16 pkeys[EXRNIC_PKEYS];	/* as the device is to have them, in each of its lives */
	struct exrnic_mbox mbox;

	unsigned int vectors;	/* granted, vector 0 for control included */
	struct exrnic_vector comp[EXRNIC_MSIX_VECTORS];
	irqreturn_t (*control)(struct exrnic_device *edev);	/* vector 0 has fired */

	struct ida pages;
	struct ida pds;
	struct xarray cqs;	/* struct exrnic_cq */
	struct xarray srqs;
	struct xarray qps;
	u32 next_qpn;
	struct exrnic_stags stags;
	struct mutex windows_lock;
	DECLARE_BITMAP(windows, EXRNIC_MAX_WINDOWS);	/* in use */
	spinlock_t ports_lock;	/* also in interrupts */
	struct exrnic_port *ports[EXRNIC_PORTS];	/* those that are open */
	u32 ports_reserved;	/* BIT() of each */

	struct mutex management_lock;
	const void *manager;	/* who sends and takes management frames, or NULL */

	struct mutex users_lock;
	struct list_head users;	/* struct exrnic_user */

	struct mutex clients_lock;
	spinlock_t clients_list_lock;	/* who changes the list has both */
	struct list_head clients;
	bool alive;
	spinlock_t netdev_lock;
	struct net_device *netdev;	/* the Ethernet interface, or NULL */

	struct exrnic_async async;
	struct exrnic_firmware firmware;
	struct delayed_work firmware_pause;	/* until it may interrupt again */
	struct delayed_work watch;
	atomic_t watchers;
	bool started;
	struct exrnic_auxiliary *auxiliaries[EXRNIC_AUXILIARIES];
};

/* What the control interrupt is for, beside events. */
#define EXRNIC_CAUSES	(EXRNIC_INT_CAUSE_MBOX | EXRNIC_INT_CAUSE_FIRMWARE)

/* ---- Floors, from below. Registers: regs.h; the mailbox: mbox.h */

/* ---- Event queues */

/* Of at least so many entries; not armed. -ENOMEM. */
int exrnic_eq_create(struct exrnic_device *edev, struct exrnic_eq *eq, u32 eqn, u32 entries,
		     u32 msix_vector);
/* The device tells it nothing any more; what it has told can still be taken. Also of one that was not created. */
void exrnic_eq_end(struct exrnic_eq *eq);
/* Behind that, when nobody takes anything any more. */
void exrnic_eq_free(struct exrnic_eq *eq);
u32 exrnic_eq_entries(const struct exrnic_eq *eq);
/* Whether there is an event. Any context, as the next ones. */
bool exrnic_eq_has_event(const struct exrnic_eq *eq);
/* The next event; false: there is none. */
bool exrnic_eq_take(struct exrnic_eq *eq, struct exrnic_eqe *eqe);
/* What was taken leaves room; the next event interrupts, or one that is there already at once. */
void exrnic_eq_arm(struct exrnic_eq *eq);

/* ---- Interrupts: one vector for control, whose handler is edev->control, the others for completion queues */

/* Sets limits.comp_vectors. Between these two, handlers run. */
int exrnic_vectors_init(struct exrnic_device *edev);
void exrnic_vectors_fini(struct exrnic_device *edev);
/* Between these two, which lie between those, events of completion queues are told. */
int exrnic_vectors_begin(struct exrnic_device *edev);
void exrnic_vectors_end(struct exrnic_device *edev);
/*
 * Between these two, cq->completion is called when the queue fires; it is in edev->cqs meanwhile. comp_vector as in
 * struct exrnic_cq_attr; returns the event queue's number. The device knows the queue no more at the latter.
 */
int exrnic_vectors_add_cq(struct exrnic_device *edev, struct exrnic_cq *cq, u32 comp_vector);
void exrnic_vectors_remove_cq(struct exrnic_cq *cq);
/* Returns the number of its MSI-X vector. */
int exrnic_vectors_add_port(struct exrnic_device *edev, struct exrnic_port *port, u32 comp_vector);
void exrnic_vectors_remove_port(struct exrnic_port *port);

/* ---- Clients: the core's side of struct exrnic_client */

void exrnic_clients_begin(struct exrnic_device *edev);
/* On return nobody has an object of the device. */
void exrnic_clients_end(struct exrnic_device *edev);
void exrnic_clients_tell(struct exrnic_device *edev, u32 notices);
/* In the mailbox's lock. */
void exrnic_clients_cut_off(struct exrnic_device *edev);

/* ---- Asynchronous events become calls of those whom they concern */

void exrnic_async_init(struct exrnic_device *edev);
/* Between these two, which lie between those of the vectors, events are told. */
int exrnic_async_begin(struct exrnic_device *edev);
void exrnic_async_end(struct exrnic_device *edev);
/* Without interrupts: what they schedule ends. */
void exrnic_async_fini(struct exrnic_device *edev);
/*
 * A queue, whose number is reserved in that table of the device, from now on hears of itself; and no
 * longer: it exists on the device no more, and what has happened to it is forgotten.
 */
void exrnic_async_publish(struct exrnic_device *edev, struct xarray *table, u32 number,
			  void *object);
void exrnic_async_withdraw(struct exrnic_device *edev, struct xarray *table, u32 number);
/* What the device has told before now is told on return. Not in a callback of an object. */
void exrnic_async_flush(struct exrnic_device *edev);
/* The control vector has fired; false: for no event. */
bool exrnic_async_interrupt(struct exrnic_device *edev);
/* Everybody hears these, EXRNIC_NOTICE_*. Any context. */
void exrnic_async_notice(struct exrnic_device *edev, u32 notices);

/* ---- Numbers of what the device has, and STags that nobody can guess */

int exrnic_stags_init(struct exrnic_stags *stags, u32 size);
void exrnic_stags_fini(struct exrnic_stags *stags);
int exrnic_stag_alloc(struct exrnic_stags *stags, u32 *stag);
void exrnic_stag_free(struct exrnic_stags *stags, u32 stag);

void exrnic_numbers_init(struct exrnic_device *edev);
void exrnic_numbers_fini(struct exrnic_device *edev);
/* Reserves the lowest that is free, below limit; -ENOSPC. */
int exrnic_number_alloc(struct xarray *table, u32 limit, u32 *number);

/* ---- Users: exrnic_core.h; and how long others wait for what they end */

/*
 * In jiffies: most; or nothing, if less than that ago a user has used it up, so that nobody holds others up once for each
 * object. Users of the kernel (NULL) have it each time.
 */
unsigned long exrnic_user_patience(const struct exrnic_user *user, unsigned long most);
void exrnic_user_used_up(struct exrnic_user *user, unsigned long most);

/* ---- Page lists: which bus addresses the kernel may map for the device, so that exrnic_pbl_build_bus() has them all */

u64 exrnic_pbl_bus_mask(struct device *dev);

/* ---- Objects: exrnic_core.h */

/* There may be something to take. */
static inline void exrnic_port_notice(struct exrnic_port *port)
{
	if (!xchg(&port->pending, true))
		port->wake(port);
}

/* ---- Firmware of the on-chip processor */

void exrnic_firmware_init(struct exrnic_device *edev);
void exrnic_firmware_free(struct exrnic_device *edev);
/* Runs the image that is kept, or the default one, if there are a processor and an image. Sleeps. */
void exrnic_firmware_start(struct exrnic_device *edev);
void exrnic_firmware_stop(struct exrnic_device *edev);
/*
 * After EXRNIC_INT_CAUSE_FIRMWARE, from its interrupt: wakes whom firmware wakes. False: it wakes only who
 * has been told, or does not want to be, as it does for a process that rings without end.
 */
bool exrnic_firmware_notice(struct exrnic_device *edev);
/* It has failed: a thread of its own says why and starts it again, and no event of a queue waits for that. */
void exrnic_firmware_failed(struct exrnic_device *edev);

/* ---- sysfs */

/* Makes the counters' attributes; once. */
void exrnic_sysfs_init(void);

/* ---- A device, from probe until the last one lets go of its memory, and its lives */

/* Everything but PCI. The last put frees it. */
struct exrnic_device *exrnic_device_alloc(struct pci_dev *pdev);

/* From registers that can be read to a device that serves doorbells, and clients that are told. */
int exrnic_life_begin(struct exrnic_device *edev);
/* The device is about to lose what it knows. Nobody has an object of it on return. Twice does no harm. */
void exrnic_life_end(struct exrnic_device *edev);

#endif
