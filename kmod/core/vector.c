// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* MSI-X: the control vector, and vectors that completion queues and ports share. */
#include <linux/bitops.h>
#include <linux/interrupt.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/nospec.h>

#include "regs.h"

static unsigned int max_vectors = EXRNIC_MSIX_VECTORS;
module_param(max_vectors, uint, 0444);
MODULE_PARM_DESC(max_vectors, "Most MSI-X vectors to ask for; with 1, completions share that of control");

/* Events that are told at once, with interrupts off. */
#define EXRNIC_VECTOR_BATCH 64
/* Rounds in a jiffy that have told nobody anything; behind so many of them it pauses. */
#define EXRNIC_VECTOR_USELESS 16
#define EXRNIC_VECTOR_PAUSE 1	/* jiffies */

/* What a destroyed queue had to tell has been taken before its number was given back. */
static void exrnic_vector_tell_cq(struct exrnic_vector *vector, u32 cqn)
{
	struct exrnic_cq *cq = xa_load(&vector->eq.edev->cqs, cqn);

	if (cq && cq->vector == vector && cq->completion && cq->completion(cq))
		vector->useful = true;
}

void exrnic_cq_fire(struct exrnic_cq *cq)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->vector->lock, flags);
	cq->completion(cq);
	spin_unlock_irqrestore(&cq->vector->lock, flags);
}
EXRNIC_EXPORT(exrnic_cq_fire);

/* So many of its events. False: there may be more. */
static bool exrnic_vector_tell(struct exrnic_vector *vector)
{
	struct exrnic_eqe eqe;
	unsigned int i;

	lockdep_assert_held(&vector->lock);
	for (i = 0; i < EXRNIC_VECTOR_BATCH; i++) {
		if (!exrnic_eq_take(&vector->eq, &eqe))
			return true;
		vector->begun = true;
		exrnic_vector_tell_cq(vector, le32_to_cpu(eqe.number));
	}
	return false;
}

static void exrnic_vector_arm(struct exrnic_vector *vector)
{
	lockdep_assert_held(&vector->lock);
	vector->begun = false;
	vector->useful = false;
	exrnic_eq_arm(&vector->eq);
}

static void exrnic_vector_end_round(struct exrnic_vector *vector)
{
	lockdep_assert_held(&vector->lock);
	if (!vector->begun)
		return;
	if (vector->jiffy != jiffies) {
		vector->jiffy = jiffies;
		vector->useless = 0;
	}
	if (vector->useful || vector->useless++ < EXRNIC_VECTOR_USELESS)
		exrnic_vector_arm(vector);
	else
		schedule_delayed_work(&vector->pause, EXRNIC_VECTOR_PAUSE);
}

static void exrnic_vector_pause_ends(struct work_struct *work)
{
	struct exrnic_vector *vector =
		container_of(to_delayed_work(work), struct exrnic_vector, pause);

	spin_lock_irq(&vector->lock);
	if (vector->eq.ring && vector->begun)
		exrnic_vector_arm(vector);
	spin_unlock_irq(&vector->lock);
}

/*
 * What a port has to tell stays in the device until it is taken, and what is there already fires no
 * more: a peer interrupts no oftener than the port's owner reads.
 */
static void exrnic_vector_tell_ports(struct exrnic_vector *vector)
{
	struct exrnic_device *edev = vector->eq.edev;
	unsigned long pending, flags;
	unsigned int i;

	if (!READ_ONCE(vector->ports))
		return;
	pending = exrnic_read(edev, EXRNIC_REG_PORTS_PENDING);
	spin_lock_irqsave(&edev->ports_lock, flags);
	pending &= vector->ports;
	for_each_set_bit(i, &pending, EXRNIC_PORTS)
		exrnic_port_notice(edev->ports[i]);
	spin_unlock_irqrestore(&edev->ports_lock, flags);
}

static irqreturn_t exrnic_vector_comp(int irq, void *data)
{
	struct exrnic_vector *vector = data;
	unsigned long flags;
	bool all;

	spin_lock_irqsave(&vector->lock, flags);
	all = exrnic_vector_tell(vector);
	if (all)
		exrnic_vector_end_round(vector);
	spin_unlock_irqrestore(&vector->lock, flags);
	exrnic_vector_tell_ports(vector);
	return all ? IRQ_HANDLED : IRQ_WAKE_THREAD;
}

/* The others of those that are there: as many as the queue holds, and then a new round. */
static void exrnic_vector_finish(struct exrnic_vector *vector)
{
	u32 left = exrnic_eq_entries(&vector->eq);
	bool all;

	do {
		spin_lock_irq(&vector->lock);
		all = exrnic_vector_tell(vector);
		left -= min_t(u32, left, EXRNIC_VECTOR_BATCH);
		if (all || !left)
			exrnic_vector_end_round(vector);
		spin_unlock_irq(&vector->lock);
		cond_resched();
	} while (!all && left);
}

static irqreturn_t exrnic_vector_comp_thread(int irq, void *data)
{
	exrnic_vector_finish(data);
	return IRQ_HANDLED;
}

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
		INIT_DELAYED_WORK(&edev->comp[i].pause, exrnic_vector_pause_ends);
		edev->comp[i].eq.ring = NULL;
	}
}

int exrnic_vectors_init(struct exrnic_device *edev)
{
	/* Many: processors share the work of completions. */
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
	unsigned int i;

	exrnic_vectors_free(edev, edev->vectors);
	for (i = 0; i < edev->limits.comp_vectors; i++) {
		cancel_delayed_work_sync(&edev->comp[i].pause);
		exrnic_eq_free(&edev->comp[i].eq);
	}
}

static u32 exrnic_vector_eqn(u32 comp_vector)
{
	return EXRNIC_EQN_ASYNC + 1 + comp_vector;
}

static u32 exrnic_vector_msix(const struct exrnic_device *edev, u32 comp_vector)
{
	return edev->vectors == 1 ? EXRNIC_MSIX_VECTOR_CONTROL : 1 + comp_vector;
}

static int exrnic_vector_begin(struct exrnic_device *edev, u32 comp_vector)
{
	struct exrnic_vector *vector = &edev->comp[comp_vector];
	struct exrnic_eq eq;
	int err;

	err = exrnic_eq_create(edev, &eq, exrnic_vector_eqn(comp_vector), edev->limits.cq,
			       exrnic_vector_msix(edev, comp_vector));
	if (err)
		return err;
	spin_lock_irq(&vector->lock);
	vector->eq = eq;
	exrnic_vector_arm(vector);
	spin_unlock_irq(&vector->lock);
	return 0;
}

/* What was begun before a failure ends with the others. */
int exrnic_vectors_begin(struct exrnic_device *edev)
{
	int err = 0;
	u32 i;

	for (i = 0; i < edev->limits.comp_vectors && !err; i++)
		err = exrnic_vector_begin(edev, i);
	return err;
}

void exrnic_vectors_end(struct exrnic_device *edev)
{
	u32 i;

	for (i = 0; i < edev->limits.comp_vectors; i++)
		exrnic_eq_end(&edev->comp[i].eq);
}

static u32 exrnic_vectors_pick(struct exrnic_device *edev)
{
	u32 best = 0, i;

	for (i = 1; i < edev->limits.comp_vectors; i++)
		if (READ_ONCE(edev->comp[i].users) < READ_ONCE(edev->comp[best].users))
			best = i;
	return best;
}

/* The vector, or NULL: there is none of that number. */
static struct exrnic_vector *exrnic_vectors_add_user(struct exrnic_device *edev, u32 comp_vector)
{
	struct exrnic_vector *vector;

	if (comp_vector == EXRNIC_ANY_COMP_VECTOR)
		comp_vector = exrnic_vectors_pick(edev);
	if (comp_vector >= edev->limits.comp_vectors)
		return NULL;
	vector = &edev->comp[array_index_nospec(comp_vector, edev->limits.comp_vectors)];
	spin_lock_irq(&vector->lock);
	WRITE_ONCE(vector->users, vector->users + 1);
	spin_unlock_irq(&vector->lock);
	return vector;
}

static void exrnic_vector_remove_user(struct exrnic_vector *vector)
{
	spin_lock_irq(&vector->lock);
	WRITE_ONCE(vector->users, vector->users - 1);
	spin_unlock_irq(&vector->lock);
}

int exrnic_vectors_add_cq(struct exrnic_device *edev, struct exrnic_cq *cq, u32 comp_vector)
{
	cq->vector = exrnic_vectors_add_user(edev, comp_vector);
	return cq->vector ? exrnic_vector_eqn(cq->vector - edev->comp) : -EINVAL;
}

/* Whatever it had to tell is among what the event queue holds now. */
void exrnic_vectors_remove_cq(struct exrnic_cq *cq)
{
	struct exrnic_vector *vector = cq->vector;

	exrnic_vector_finish(vector);
	exrnic_vector_remove_user(vector);
}

int exrnic_vectors_add_port(struct exrnic_device *edev, struct exrnic_port *port, u32 comp_vector)
{
	port->vector = exrnic_vectors_add_user(edev, comp_vector);
	return port->vector ? exrnic_vector_msix(edev, port->vector - edev->comp) : -EINVAL;
}

void exrnic_vectors_remove_port(struct exrnic_port *port)
{
	exrnic_vector_remove_user(port->vector);
}
