// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* MSI-X: the control vector, and vectors that the completion queues share. */
#include <linux/interrupt.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>

#include "exrnic_core.h"
#include "exrnic_mbox.h"
#include "exrnic_regs.h"

static unsigned int max_vectors = EXRNIC_MSIX_VECTORS;
module_param(max_vectors, uint, 0444);
MODULE_PARM_DESC(max_vectors, "Most MSI-X vectors to ask for; with 1, completions share that of control");

#define EXRNIC_CAUSES_AT_ONCE \
	(EXRNIC_INT_CAUSE_MBOX | EXRNIC_INT_CAUSE_FIRMWARE | EXRNIC_INT_CAUSE_HOST_SILENT)
#define EXRNIC_CAUSES (EXRNIC_CAUSES_AT_ONCE | EXRNIC_CAUSES_ASYNC)

/* A cause that comes up between read and clear is seen by the next pass; no device needs more. */
#define EXRNIC_CAUSE_PASSES 8

/* Completion queues that are told at once, with interrupts off. */
#define EXRNIC_VECTOR_BATCH 16

static irqreturn_t exrnic_irq_control(int irq, void *data)
{
	struct exrnic_device *edev = data;
	irqreturn_t handled = IRQ_NONE;
	unsigned int pass;
	u32 cause, pausing;

	if (exrnic_ports_interrupt(edev))
		handled = IRQ_HANDLED;
	for (pass = 0; pass < EXRNIC_CAUSE_PASSES; pass++) {
		cause = exrnic_read(edev, EXRNIC_REG_INT_CAUSE);
		if (cause == EXRNIC_REG_ABSENT || !(cause & EXRNIC_CAUSES))
			break;
		exrnic_write(edev, EXRNIC_REG_INT_CAUSE, cause);
		handled = IRQ_HANDLED;
		pausing = cause & EXRNIC_CAUSES_ASYNC ? EXRNIC_CAUSES_ASYNC : 0;
		if (cause & EXRNIC_INT_CAUSE_MBOX)
			exrnic_mbox_interrupt(&edev->mbox);
		if ((cause & EXRNIC_INT_CAUSE_FIRMWARE) && !exrnic_firmware_notice(edev))
			pausing = EXRNIC_CAUSES_ASYNC | EXRNIC_INT_CAUSE_FIRMWARE;
		if (cause & EXRNIC_INT_CAUSE_HOST_SILENT)
			dev_err_ratelimited(&edev->pdev->dev,
					    "a read of memory got no answer in time (counter dma_read_timeouts); what needed it has failed\n");
		if (pausing) {
			exrnic_write(edev, EXRNIC_REG_INT_ENABLE, EXRNIC_CAUSES & ~pausing);
			exrnic_async_notice(edev, cause & EXRNIC_CAUSES_ASYNC);
		}
	}
	return handled;
}

void exrnic_irq_enable_all(struct exrnic_device *edev)
{
	exrnic_write(edev, EXRNIC_REG_INT_ENABLE, EXRNIC_CAUSES);
}

/* Those who listen, who do not until they have read what they are told. */
static void exrnic_vector_take_listeners(struct exrnic_vector *vector)
{
	lockdep_assert_held(&vector->lock);
	spin_lock(&vector->listeners_lock);
	if (list_empty(&vector->listeners) && list_empty(&vector->told) && vector->irq &&
	    !vector->silent) {
		vector->silent = true;
		disable_irq_nosync(vector->irq);
	}
	list_splice_tail_init(&vector->listeners, &vector->told);
	spin_unlock(&vector->listeners_lock);
}

/* The first so many of those who are to be told. False: some are left. */
static bool exrnic_vector_tell(struct exrnic_vector *vector)
{
	struct exrnic_cq *cq, *next;
	unsigned int told = 0;

	lockdep_assert_held(&vector->lock);
	list_for_each_entry_safe(cq, next, &vector->told, vector_entry) {
		if (told++ == EXRNIC_VECTOR_BATCH)
			return false;
		list_del_init(&cq->vector_entry);
		exrnic_event_raise(&cq->completion);
	}
	return true;
}

static irqreturn_t exrnic_irq_comp(int irq, void *data)
{
	struct exrnic_vector *vector = data;
	unsigned long flags;
	bool all;

	spin_lock_irqsave(&vector->lock, flags);
	exrnic_vector_take_listeners(vector);
	all = exrnic_vector_tell(vector);
	spin_unlock_irqrestore(&vector->lock, flags);
	return all ? IRQ_HANDLED : IRQ_WAKE_THREAD;
}

/* Those whom the interrupt left. */
static irqreturn_t exrnic_irq_comp_thread(int irq, void *data)
{
	struct exrnic_vector *vector = data;
	bool all;

	do {
		spin_lock_irq(&vector->lock);
		all = exrnic_vector_tell(vector);
		spin_unlock_irq(&vector->lock);
		cond_resched();
	} while (!all);
	return IRQ_HANDLED;
}

/* What has fired while the vector was silent fires now. */
static void exrnic_cq_listen(struct exrnic_event_source *completion)
{
	struct exrnic_cq *cq = container_of(completion, struct exrnic_cq, completion);
	struct exrnic_vector *vector = cq->vector;

	spin_lock(&vector->listeners_lock);
	if (!cq->ended) {
		list_add_tail(&cq->vector_entry, &vector->listeners);
		if (vector->silent)
			enable_irq(vector->irq);
		vector->silent = false;
	}
	spin_unlock(&vector->listeners_lock);
}

/* The only vector there is: for whatever has fired. */
static irqreturn_t exrnic_irq_single(int irq, void *data)
{
	struct exrnic_device *edev = data;

	exrnic_irq_control(irq, edev);
	return exrnic_irq_comp(irq, &edev->comp[0]);
}

static irqreturn_t exrnic_irq_single_thread(int irq, void *data)
{
	struct exrnic_device *edev = data;

	return exrnic_irq_comp_thread(irq, &edev->comp[0]);
}

/* What the handler of a vector gets. */
static void *exrnic_irq_data(struct exrnic_device *edev, unsigned int vector)
{
	if (vector == EXRNIC_MSIX_VECTOR_CONTROL)
		return edev;
	return &edev->comp[vector - 1];
}

static void exrnic_irq_free(struct exrnic_device *edev, unsigned int requested)
{
	while (requested--)
		pci_free_irq(edev->pdev, requested, exrnic_irq_data(edev, requested));
	pci_free_irq_vectors(edev->pdev);
}

static int exrnic_irq_request(struct exrnic_device *edev, unsigned int vector)
{
	void *data = exrnic_irq_data(edev, vector);

	if (edev->vectors == 1)
		return pci_request_irq(edev->pdev, vector, exrnic_irq_single,
				       exrnic_irq_single_thread, data,
				       EXRNIC_NAME "-%s-control", pci_name(edev->pdev));
	if (vector == EXRNIC_MSIX_VECTOR_CONTROL)
		return pci_request_irq(edev->pdev, vector, exrnic_irq_control, NULL, data,
				       EXRNIC_NAME "-%s-control", pci_name(edev->pdev));
	return pci_request_irq(edev->pdev, vector, exrnic_irq_comp, exrnic_irq_comp_thread, data,
			       EXRNIC_NAME "-%s-comp%u", pci_name(edev->pdev), vector - 1);
}

static void exrnic_irq_init_vectors(struct exrnic_device *edev, unsigned int vectors)
{
	unsigned int i;

	edev->vectors = vectors;
	edev->comp_vectors = max(vectors - 1, 1u);
	for (i = 0; i < edev->comp_vectors; i++) {
		spin_lock_init(&edev->comp[i].lock);
		spin_lock_init(&edev->comp[i].listeners_lock);
		INIT_LIST_HEAD(&edev->comp[i].listeners);
		INIT_LIST_HEAD(&edev->comp[i].told);
		edev->comp[i].irq = vectors == 1 ? 0 : pci_irq_vector(edev->pdev, 1 + i);
		edev->comp[i].silent = false;
	}
}

int exrnic_irq_init(struct exrnic_device *edev)
{
	/* Many: queues that share a vector share its interrupts, and are woken in vain. */
	unsigned int wanted = clamp_t(unsigned int, max_vectors, 1, EXRNIC_MSIX_VECTORS);
	unsigned int i;
	int vectors, err;

	vectors = pci_alloc_irq_vectors(edev->pdev, 1, wanted, PCI_IRQ_MSIX);
	if (vectors < 0) {
		dev_err(&edev->pdev->dev, "no MSI-X vector: error %d\n", vectors);
		return vectors;
	}
	exrnic_irq_init_vectors(edev, vectors);
	for (i = 0; i < vectors; i++) {
		err = exrnic_irq_request(edev, i);
		if (err) {
			dev_err(&edev->pdev->dev, "MSI-X vector %u: error %d\n", i, err);
			exrnic_irq_free(edev, i);
			return err;
		}
	}
	exrnic_write(edev, EXRNIC_REG_INT_CAUSE, EXRNIC_CAUSES);
	exrnic_write(edev, EXRNIC_REG_INT_ENABLE, EXRNIC_CAUSES);
	return 0;
}

void exrnic_irq_fini(struct exrnic_device *edev)
{
	exrnic_write(edev, EXRNIC_REG_INT_ENABLE, 0);
	exrnic_irq_free(edev, edev->vectors);
}

u32 exrnic_irq_pick_vector(struct exrnic_device *edev)
{
	u32 best = 0, i;

	for (i = 1; i < edev->comp_vectors; i++)
		if (READ_ONCE(edev->comp[i].users) < READ_ONCE(edev->comp[best].users))
			best = i;
	return best;
}

u32 exrnic_irq_msix_vector(const struct exrnic_device *edev, u32 comp_vector)
{
	return edev->vectors == 1 ? EXRNIC_MSIX_VECTOR_CONTROL : 1 + comp_vector;
}

void exrnic_irq_add_cq(struct exrnic_device *edev, struct exrnic_cq *cq)
{
	struct exrnic_vector *vector = &edev->comp[cq->comp_vector];

	INIT_LIST_HEAD(&cq->vector_entry);
	cq->vector = vector;
	cq->completion.read = exrnic_cq_listen;
	spin_lock_irq(&vector->lock);
	WRITE_ONCE(vector->users, vector->users + 1);
	if (cq->completion.queue)
		exrnic_cq_listen(&cq->completion);
	spin_unlock_irq(&vector->lock);
}

void exrnic_irq_remove_cq(struct exrnic_device *edev, struct exrnic_cq *cq)
{
	struct exrnic_vector *vector = cq->vector;

	spin_lock_irq(&vector->lock);
	spin_lock(&vector->listeners_lock);
	cq->ended = true;
	list_del_init(&cq->vector_entry);
	spin_unlock(&vector->listeners_lock);
	WRITE_ONCE(vector->users, vector->users - 1);
	spin_unlock_irq(&vector->lock);
}
