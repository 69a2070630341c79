/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef EXRNIC_SYSFS_H
#define EXRNIC_SYSFS_H

/* Makes the counters' attributes; once. */
void exrnic_sysfs_init(void);

#endif
