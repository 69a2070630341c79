/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A device, from probe until the last one lets go of its memory, and its lives. */
#ifndef EXRNIC_LIFE_H
#define EXRNIC_LIFE_H

#include "device.h"

/* Everything but PCI. The last put frees it. */
struct exrnic_device *exrnic_device_alloc(struct pci_dev *pdev);

/* From registers that can be read to a device that serves doorbells, and clients that are told. */
int exrnic_life_begin(struct exrnic_device *edev);
/* The device is about to lose what it knows. Nobody has an object of it on return. Twice does no harm. */
void exrnic_life_end(struct exrnic_device *edev);

#endif
