/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The data path of the device (libverbs-lite/data_path), for drivers on top of exrnic.ko: rings of coherent memory,
 * and a page that exrnic_page_map() gives, as exrnic_user_page.mapped.
 */
#ifndef EXRNIC_KERNEL_PATH_H
#define EXRNIC_KERNEL_PATH_H

#include <asm/barrier.h>
#include <linux/io.h>
#include <linux/string.h>
#include <linux/types.h>

/* Of the kernel's barriers those that count for device memory that is write-combining, too. */
#define EXRNIC_DP_STORE_BARRIER()		wmb()
#define EXRNIC_DP_LOAD_STORE_BARRIER()		mb()
#define EXRNIC_DP_FLUSH_BARRIER()		wmb()

#define EXRNIC_DP_LOAD_ACQUIRE(from)		smp_load_acquire(from)
#define EXRNIC_DP_STORE_RELEASE(to, value)	smp_store_release(to, value)
#define EXRNIC_DP_LOAD(from)			READ_ONCE(*(from))
#define EXRNIC_DP_STORE(to, value)		WRITE_ONCE(*(to), value)
#define EXRNIC_DP_EXCHANGE_IF(at, expected, value) try_cmpxchg_release(at, expected, value)

#define EXRNIC_DP_STORE_TO_PAGE(to, word)	__raw_writeq(word, to)
#define EXRNIC_DP_IOMEM				__iomem

#define EXRNIC_DP_LE32(value)			cpu_to_le32(value)
#define EXRNIC_DP_FROM_LE16(value)		le16_to_cpu(value)
#define EXRNIC_DP_COPY(to, from, bytes)		memcpy(to, from, bytes)

#include "exrnic_data_path.h"

#endif
