// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* MSI-X: the control vector, and vectors that the completion queues share. */
#include <linux/interrupt.h>

#include "exrnic_core.h"
#include "exrnic_mbox.h"
#include "exrnic_regs.h"

#define EXRNIC_CAUSES \
	(EXRNIC_INT_CAUSE_MBOX | EXRNIC_INT_CAUSE_QP_ERROR | EXRNIC_INT_CAUSE_CQ_ERROR | \
	 EXRNIC_INT_CAUSE_SRQ_LIMIT)

/* A cause that comes up between read and clear is seen by the next pass; no device needs more. */
#define EXRNIC_CAUSE_PASSES 8

static irqreturn_t exrnic_irq_control(int irq, void *data)
{
	struct exrnic_device *edev = data;
	irqreturn_t handled = IRQ_NONE;
	unsigned int pass;
	u32 cause;

	for (pass = 0; pass < EXRNIC_CAUSE_PASSES; pass++) {
		cause = exrnic_read(edev, EXRNIC_REG_INT_CAUSE);
		if (cause == EXRNIC_REG_ABSENT || !(cause & EXRNIC_CAUSES))
			break;
		exrnic_write(edev, EXRNIC_REG_INT_CAUSE, cause);
		handled = IRQ_HANDLED;
		if (cause & EXRNIC_INT_CAUSE_MBOX)
			exrnic_mbox_interrupt(&edev->mbox);
		/* Users see these in their CQEs and queues; the log is for whoever debugs them. */
		if (cause & ~EXRNIC_INT_CAUSE_MBOX)
			dev_dbg_ratelimited(&edev->pdev->dev, "events of queues, cause 0x%x\n", cause);
	}
	return handled;
}

/* Armed completion queues share these; /proc/interrupts counts them. */
static irqreturn_t exrnic_irq_cq(int irq, void *data)
{
	return IRQ_HANDLED;
}

static void exrnic_irq_free(struct exrnic_device *edev, unsigned int requested)
{
	while (requested--)
		pci_free_irq(edev->pdev, requested, edev);
	pci_free_irq_vectors(edev->pdev);
}

static int exrnic_irq_request(struct exrnic_device *edev, unsigned int vector)
{
	if (vector == EXRNIC_MSIX_VECTOR_CONTROL)
		return pci_request_irq(edev->pdev, vector, exrnic_irq_control, NULL, edev,
				       EXRNIC_NAME "-%s-control", pci_name(edev->pdev));
	return pci_request_irq(edev->pdev, vector, exrnic_irq_cq, NULL, edev,
			       EXRNIC_NAME "-%s-cq%u", pci_name(edev->pdev), vector);
}

int exrnic_irq_init(struct exrnic_device *edev)
{
	unsigned int wanted = min_t(unsigned int, EXRNIC_MSIX_VECTORS, 1 + num_online_cpus());
	unsigned int i;
	int vectors, err;

	vectors = pci_alloc_irq_vectors(edev->pdev, 1, wanted, PCI_IRQ_MSIX);
	if (vectors < 0) {
		dev_err(&edev->pdev->dev, "no MSI-X vector: error %d\n", vectors);
		return vectors;
	}
	for (i = 0; i < vectors; i++) {
		err = exrnic_irq_request(edev, i);
		if (err) {
			dev_err(&edev->pdev->dev, "MSI-X vector %u: error %d\n", i, err);
			exrnic_irq_free(edev, i);
			return err;
		}
	}
	edev->vectors = vectors;
	exrnic_write(edev, EXRNIC_REG_INT_CAUSE, EXRNIC_CAUSES);
	exrnic_write(edev, EXRNIC_REG_INT_ENABLE, EXRNIC_CAUSES);
	return 0;
}

void exrnic_irq_fini(struct exrnic_device *edev)
{
	exrnic_write(edev, EXRNIC_REG_INT_ENABLE, 0);
	exrnic_irq_free(edev, edev->vectors);
}

u32 exrnic_irq_cq_vector(struct exrnic_device *edev, u32 cqn)
{
	if (edev->vectors == 1)
		return EXRNIC_MSIX_VECTOR_CONTROL;
	return 1 + cqn % (edev->vectors - 1);
}
