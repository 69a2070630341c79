// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Event queues: rings of memory in which the device tells what has happened. */
#include <linux/dma-mapping.h>
#include <linux/log2.h>

#include "mbox.h"
#include "regs.h"

static size_t exrnic_eq_bytes(const struct exrnic_eq *eq)
{
	return sizeof(*eq->ring) << eq->log_entries;
}

void exrnic_eq_free(struct exrnic_eq *eq)
{
	if (eq->ring)
		dma_free_coherent(&eq->edev->pdev->dev, exrnic_eq_bytes(eq), eq->ring, eq->bus);
	eq->ring = NULL;
}

int exrnic_eq_create(struct exrnic_device *edev, struct exrnic_eq *eq, u32 eqn, u32 entries,
		     u32 msix_vector)
{
	struct exrnic_mbox_create_eq in = {
		.eqn = cpu_to_le32(eqn),
		.msix_vector = cpu_to_le32(msix_vector),
	};
	int err;

	eq->edev = edev;
	eq->eqn = eqn;
	eq->taken = 0;
	eq->log_entries = clamp_t(u32, order_base_2(entries), EXRNIC_RING_LOG_MIN, EXRNIC_EQ_LOG_MAX);
	eq->ring = dma_alloc_coherent(&edev->pdev->dev, exrnic_eq_bytes(eq), &eq->bus, GFP_KERNEL);
	if (!eq->ring)
		return -ENOMEM;
	in.log_entries = cpu_to_le32(eq->log_entries);
	in.address = cpu_to_le64(eq->bus);
	err = exrnic_mbox_create_eq(edev, &in);
	if (err)
		exrnic_eq_free(eq);
	return err;
}

void exrnic_eq_end(struct exrnic_eq *eq)
{
	if (eq->ring)
		exrnic_mbox_destroy_eq(eq->edev, eq->eqn);
}

u32 exrnic_eq_entries(const struct exrnic_eq *eq)
{
	return 1u << eq->log_entries;
}

static const struct exrnic_eqe *exrnic_eq_next(const struct exrnic_eq *eq)
{
	return &eq->ring[eq->taken & (exrnic_eq_entries(eq) - 1)];
}

bool exrnic_eq_has_event(const struct exrnic_eq *eq)
{
	const u8 phase = !(eq->taken >> eq->log_entries & 1);

	return eq->ring && READ_ONCE(exrnic_eq_next(eq)->phase) == phase;
}

bool exrnic_eq_take(struct exrnic_eq *eq, struct exrnic_eqe *eqe)
{
	if (!exrnic_eq_has_event(eq))
		return false;
	exrnic_rmb_phase_before_event();
	*eqe = *exrnic_eq_next(eq);
	eq->taken++;
	return true;
}

void exrnic_eq_arm(struct exrnic_eq *eq)
{
	exrnic_write(eq->edev, EXRNIC_REG_EQ_ARM + eq->eqn * sizeof(u32), eq->taken);
}
