/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers of what the device has, and which STags nobody can guess. */
#ifndef EXRNIC_NUMBER_H
#define EXRNIC_NUMBER_H

#include "device.h"

void exrnic_numbers_init(struct exrnic_device *edev);
void exrnic_numbers_fini(struct exrnic_device *edev);
/* Reserves the lowest that is free, below limit; -ENOSPC. */
int exrnic_number_alloc(struct xarray *table, u32 limit, u32 *number);

/* stag.c */
int exrnic_stags_init(struct exrnic_stags *stags, u32 size);
void exrnic_stags_fini(struct exrnic_stags *stags);
int exrnic_stag_alloc(struct exrnic_stags *stags, u32 *stag);
void exrnic_stag_free(struct exrnic_stags *stags, u32 stag);

#endif
