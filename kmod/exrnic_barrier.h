/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ordering points between driver and device, by purpose. README.md tells the whole story. */
#ifndef EXRNIC_BARRIER_H
#define EXRNIC_BARRIER_H

#include <asm/barrier.h>

static inline void exrnic_wmb_payload_before_command(void)
{
	/*
	 * The device reads PBLs as soon as it sees the command: what was stored to coherent
	 * memory, and the mailbox payload, must be visible before it.
	 */
	wmb();
}

static inline void exrnic_rmb_status_before_answer(void)
{
	/*
	 * The answer in MBOX_DATA is valid only behind a status other than BUSY. On the link,
	 * the completion of the status read also pushes every posted write that the device made
	 * before it: behind it, memory of an object that a command has destroyed is quiet.
	 */
	rmb();
}

#endif
