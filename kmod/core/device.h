/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A device, as exrnic.ko alone knows it, and what each floor offers to those above. The files of this folder are
 * floors: each uses those that Kbuild names before it only (tools/lint checks that), and is told by what stands
 * above by the callbacks in here.
 *
 * Locks, outermost first:
 *   exrnic_device.clients_lock	who takes part in the device's lives
 *   exrnic_mbox.lock		one mailbox command at a time
 *   exrnic_firmware.lock	the on-chip processor
 *   exrnic_async.lock		who is told of a queue; nothing is waited for inside it
 *   exrnic_port.lock		what is done with a port
 *   exrnic_device.pkeys_lock	the table of P_Keys, here and in the device
 * and in interrupts, too: ports_lock, exrnic_firmware.wake_lock, exrnic_vector.lock, then locks of who is told, and
 * exrnic_vector.listeners_lock innermost.
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

/*
 * An MSI-X vector that completion queues share. An interrupt tells those whose last event has been read. One
 * that finds none silences the vector until one is read: a process can arm its queues without end.
 */
struct exrnic_vector {
	spinlock_t lock;	/* an interrupt tells; a queue ends */
	spinlock_t listeners_lock;
	struct list_head listeners;	/* struct exrnic_cq */
	struct list_head told;	/* who is still to be told, by the vector's thread */
	unsigned int users;
	int irq;		/* 0: also that of control, which is never silent */
	bool silent;
};

/* What an interrupt has told, until a thread finds out whom it concerns. */
struct exrnic_async {
	struct delayed_work work;
	struct mutex lock;	/* queues come into exrnic_device's tables, and go */
	atomic_t causes;	/* EXRNIC_INT_CAUSE_*, EXRNIC_ASYNC_FATAL */
	unsigned long next;	/* jiffies: when the thread may run again */
	u64 peers_dead;		/* counter, as of the last look */
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
	unsigned int open_ports;

	struct mutex clients_lock;
	struct list_head clients;
	bool alive;

	struct exrnic_async async;
	struct exrnic_firmware firmware;
	struct delayed_work watch;
	atomic_t watchers;
	bool started;
	struct exrnic_auxiliary *cdev;
};

/* ---- Floors, from below. Registers: regs.h; the mailbox: mbox.h */

/* ---- Interrupts: one vector for control, whose handler is edev->control, the others for completion queues */

/* Sets limits.comp_vectors. Between these two, handlers run. */
int exrnic_vectors_init(struct exrnic_device *edev);
void exrnic_vectors_fini(struct exrnic_device *edev);
/*
 * Between these two, interrupts of the vector call cq->completion if it listens. comp_vector as in struct
 * exrnic_cq_attr; returns the MSI-X vector.
 */
int exrnic_vectors_add_cq(struct exrnic_device *edev, struct exrnic_cq *cq, u32 comp_vector);
void exrnic_vectors_remove_cq(struct exrnic_cq *cq);

/* ---- Clients: the core's side of struct exrnic_client */

void exrnic_clients_begin(struct exrnic_device *edev);
/* On return nobody has an object of the device. */
void exrnic_clients_end(struct exrnic_device *edev);
void exrnic_clients_tell(struct exrnic_device *edev, u32 notices);

/* ---- Events: causes of the control interrupt become calls of those whom they concern */

#define EXRNIC_CAUSES_QUEUES \
	(EXRNIC_INT_CAUSE_QP_ERROR | EXRNIC_INT_CAUSE_CQ_ERROR | EXRNIC_INT_CAUSE_SRQ_LIMIT)
/* What exrnic_async_notice() takes. */
#define EXRNIC_CAUSES_ASYNC	(EXRNIC_CAUSES_QUEUES | EXRNIC_INT_CAUSE_LINK)
#define EXRNIC_ASYNC_FATAL	BIT(30)
/* What interrupts at all. */
#define EXRNIC_CAUSES \
	(EXRNIC_CAUSES_ASYNC | EXRNIC_INT_CAUSE_MBOX | EXRNIC_INT_CAUSE_FIRMWARE | \
	 EXRNIC_INT_CAUSE_HOST_SILENT)

enum exrnic_async_what {
	EXRNIC_ASYNC_QP_FAILED,
	EXRNIC_ASYNC_CQ_OVERRUN,
	EXRNIC_ASYNC_SRQ_LOW,
};

void exrnic_async_init(struct exrnic_device *edev);
void exrnic_async_cancel(struct exrnic_device *edev);
/*
 * A queue, whose number is reserved in that table of the device, from now on hears of itself; and no
 * longer: it exists on the device no more, and what has happened to it is forgotten.
 */
void exrnic_async_publish(struct exrnic_device *edev, struct xarray *table, u32 number,
			  void *object);
void exrnic_async_withdraw(struct exrnic_device *edev, struct xarray *table, u32 number,
			   enum exrnic_async_what what);
/* These causes do not interrupt again before a thread has dealt with them. Also from interrupts. */
void exrnic_async_notice(struct exrnic_device *edev, u32 causes);

/* ---- Numbers of what the device has, and STags that nobody can guess */

int exrnic_stags_init(struct exrnic_stags *stags, u32 size);
void exrnic_stags_fini(struct exrnic_stags *stags);
int exrnic_stag_alloc(struct exrnic_stags *stags, u32 *stag);
void exrnic_stag_free(struct exrnic_stags *stags, u32 stag);

void exrnic_numbers_init(struct exrnic_device *edev);
void exrnic_numbers_fini(struct exrnic_device *edev);
/* Reserves the lowest that is free, below limit; -ENOSPC. */
int exrnic_number_alloc(struct xarray *table, u32 limit, u32 *number);

/* ---- Objects: exrnic_core.h */

/* The control vector has fired; false: no port is open. */
bool exrnic_ports_interrupt(struct exrnic_device *edev);

/* ---- Firmware of the on-chip processor */

void exrnic_firmware_init(struct exrnic_device *edev);
void exrnic_firmware_free(struct exrnic_device *edev);
/* Runs the image that is kept, or the default one, if there are a processor and an image. Sleeps. */
void exrnic_firmware_start(struct exrnic_device *edev);
void exrnic_firmware_stop(struct exrnic_device *edev);
/*
 * After EXRNIC_INT_CAUSE_FIRMWARE, from its interrupt: wakes whom firmware wakes. If it has failed, a thread
 * of its own says why and starts it again, and no event of a queue waits for that. False: it wakes only who
 * has been told, or does not want to be, as it does for a process that rings without end.
 */
bool exrnic_firmware_notice(struct exrnic_device *edev);

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
