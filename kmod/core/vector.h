/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* MSI-X vectors: one for control, whose handler is edev->control, the others for completion queues. */
#ifndef EXRNIC_VECTOR_H
#define EXRNIC_VECTOR_H

#include <linux/irqreturn.h>

#include "device.h"

/* Sets limits.comp_vectors. Between these two, handlers run. */
int exrnic_vectors_init(struct exrnic_device *edev);
void exrnic_vectors_fini(struct exrnic_device *edev);
/*
 * Between these two, interrupts of the vector call cq->completion if it listens. comp_vector as in struct
 * exrnic_cq_attr; returns the MSI-X vector.
 */
int exrnic_vectors_add_cq(struct exrnic_device *edev, struct exrnic_cq *cq, u32 comp_vector);
void exrnic_vectors_remove_cq(struct exrnic_cq *cq);

#endif
