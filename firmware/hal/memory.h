/* SPDX-License-Identifier: BSD-2-Clause */
/* How much of the processor's memory is in use. */
#ifndef EXRNIC_FW_MEMORY_H
#define EXRNIC_FW_MEMORY_H

#include "exrnic_hw.h"

uint32_t memory_used(void);       /* bytes, code and data */
uint32_t memory_stack_used(void); /* bytes, at most so far */

#endif
