// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* MSI-X: the control vector, and vectors that the completion queues share. */
#include <linux/interrupt.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/nospec.h>

#include "device.h"

static unsigned int max_vectors = EXRNIC_MSIX_VECTORS;
module_param(max_vectors, uint, 0444);
MODULE_PARM_DESC(max_vectors, "Most MSI-X vectors to ask for; with 1, completions share that of control");

/* Completion queues that are told at once, with interrupts off. */
#define EXRNIC_VECTOR_BATCH 16

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
		spin_lock(&vector->listeners_lock);
		list_del_init(&cq->vector_entry);
		spin_unlock(&vector->listeners_lock);
		cq->completion(cq);
	}
	return true;
}

static irqreturn_t exrnic_vector_comp(int irq, void *data)
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
static irqreturn_t exrnic_vector_comp_thread(int irq, void *data)
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
void exrnic_cq_listen(struct exrnic_cq *cq)
{
	struct exrnic_vector *vector = cq->vector;
	unsigned long flags;

	spin_lock_irqsave(&vector->listeners_lock, flags);
	if (!cq->ended && list_empty(&cq->vector_entry)) {
		list_add_tail(&cq->vector_entry, &vector->listeners);
		if (vector->silent)
			enable_irq(vector->irq);
		vector->silent = false;
	}
	spin_unlock_irqrestore(&vector->listeners_lock, flags);
}
EXRNIC_EXPORT(exrnic_cq_listen);

static irqreturn_t exrnic_vector_control(int irq, void *data)
{
	struct exrnic_device *edev = data;

	return edev->control(edev);
}

/* The only vector there is: for whatever has fired. */
static irqreturn_t exrnic_vector_single(int irq, void *data)
{
	struct exrnic_device *edev = data;

	edev->control(edev);
	return exrnic_vector_comp(irq, &edev->comp[0]);
}

static irqreturn_t exrnic_vector_single_thread(int irq, void *data)
{
	struct exrnic_device *edev = data;

	return exrnic_vector_comp_thread(irq, &edev->comp[0]);
}

/* What the handler of a vector gets. */
static void *exrnic_vector_data(struct exrnic_device *edev, unsigned int vector)
{
	if (vector == EXRNIC_MSIX_VECTOR_CONTROL)
		return edev;
	return &edev->comp[vector - 1];
}

static void exrnic_vectors_free(struct exrnic_device *edev, unsigned int requested)
{
	while (requested--)
		pci_free_irq(edev->pdev, requested, exrnic_vector_data(edev, requested));
	pci_free_irq_vectors(edev->pdev);
}

static int exrnic_vector_request(struct exrnic_device *edev, unsigned int vector)
{
	void *data = exrnic_vector_data(edev, vector);

	if (edev->vectors == 1)
		return pci_request_irq(edev->pdev, vector, exrnic_vector_single,
				       exrnic_vector_single_thread, data,
				       EXRNIC_NAME "-%s-control", pci_name(edev->pdev));
	if (vector == EXRNIC_MSIX_VECTOR_CONTROL)
		return pci_request_irq(edev->pdev, vector, exrnic_vector_control, NULL, data,
				       EXRNIC_NAME "-%s-control", pci_name(edev->pdev));
	return pci_request_irq(edev->pdev, vector, exrnic_vector_comp, exrnic_vector_comp_thread,
			       data, EXRNIC_NAME "-%s-comp%u", pci_name(edev->pdev), vector - 1);
}

static void exrnic_vectors_prepare(struct exrnic_device *edev, unsigned int vectors)
{
	unsigned int i;

	edev->vectors = vectors;
	edev->limits.comp_vectors = max(vectors - 1, 1u);
	for (i = 0; i < edev->limits.comp_vectors; i++) {
		spin_lock_init(&edev->comp[i].lock);
		spin_lock_init(&edev->comp[i].listeners_lock);
		INIT_LIST_HEAD(&edev->comp[i].listeners);
		INIT_LIST_HEAD(&edev->comp[i].told);
		edev->comp[i].irq = vectors == 1 ? 0 : pci_irq_vector(edev->pdev, 1 + i);
		edev->comp[i].silent = false;
	}
}

int exrnic_vectors_init(struct exrnic_device *edev)
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
	exrnic_vectors_prepare(edev, vectors);
	for (i = 0; i < vectors; i++) {
		err = exrnic_vector_request(edev, i);
		if (err) {
			dev_err(&edev->pdev->dev, "MSI-X vector %u: error %d\n", i, err);
			exrnic_vectors_free(edev, i);
			return err;
		}
	}
	return 0;
}

void exrnic_vectors_fini(struct exrnic_device *edev)
{
	exrnic_vectors_free(edev, edev->vectors);
}

static u32 exrnic_vectors_pick(struct exrnic_device *edev)
{
	u32 best = 0, i;

	for (i = 1; i < edev->limits.comp_vectors; i++)
		if (READ_ONCE(edev->comp[i].users) < READ_ONCE(edev->comp[best].users))
			best = i;
	return best;
}

int exrnic_vectors_add_cq(struct exrnic_device *edev, struct exrnic_cq *cq, u32 comp_vector)
{
	struct exrnic_vector *vector;

	if (comp_vector == EXRNIC_ANY_COMP_VECTOR)
		comp_vector = exrnic_vectors_pick(edev);
	if (comp_vector >= edev->limits.comp_vectors)
		return -EINVAL;
	comp_vector = array_index_nospec(comp_vector, edev->limits.comp_vectors);
	vector = &edev->comp[comp_vector];
	INIT_LIST_HEAD(&cq->vector_entry);
	cq->vector = vector;
	cq->ended = false;
	spin_lock_irq(&vector->lock);
	WRITE_ONCE(vector->users, vector->users + 1);
	spin_unlock_irq(&vector->lock);
	return edev->vectors == 1 ? EXRNIC_MSIX_VECTOR_CONTROL : 1 + comp_vector;
}

void exrnic_vectors_remove_cq(struct exrnic_cq *cq)
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
