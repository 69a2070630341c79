/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The mailbox: one typed function per command. They sleep.
 *
 * Errors: -EIO the device refused or is broken, -EINVAL it found a value bad, -ENODEV it is gone,
 * -ETIMEDOUT it did not answer and is broken from now on.
 *
 * After a destroy or invalidate command, whatever it returns, the device touches no memory of
 * that object: either it said so, or its bus mastering has been switched off.
 */
#ifndef EXRNIC_MBOX_H
#define EXRNIC_MBOX_H

#include "device.h"

/* fatal: called in the mailbox's lock when the device has been cut off because something is wrong. */
void exrnic_mbox_init(struct exrnic_mbox *mbox, void (*fatal)(struct exrnic_device *edev));
/* A device that was cut off, or not, takes commands from now on... */
void exrnic_mbox_renew(struct exrnic_device *edev);
/* ...and no longer. Nobody is told, now or of what goes wrong later: between two lives there is nobody. */
void exrnic_mbox_retire(struct exrnic_device *edev);

/* Called by the handler of vector 0. */
void exrnic_mbox_interrupt(struct exrnic_mbox *mbox);

/* Cuts the device off: disabled, no bus mastering, all further commands fail. */
void exrnic_mbox_break(struct exrnic_device *edev, const char *why);
/* The same as an orderly end: nothing is wrong, nobody needs to be told. */
void exrnic_mbox_shutdown(struct exrnic_device *edev);

int exrnic_mbox_nop(struct exrnic_device *edev);
int exrnic_mbox_create_eq(struct exrnic_device *edev, const struct exrnic_mbox_create_eq *in);
void exrnic_mbox_destroy_eq(struct exrnic_device *edev, u32 eqn);
int exrnic_mbox_create_cq(struct exrnic_device *edev, const struct exrnic_mbox_create_cq *in);
void exrnic_mbox_destroy_cq(struct exrnic_device *edev, u32 cqn);
/* -ENOSPC: more is unread than the new ring has entries. */
int exrnic_mbox_resize_cq(struct exrnic_device *edev, const struct exrnic_mbox_resize_cq *in,
			  struct exrnic_mbox_resized_cq *out);
int exrnic_mbox_create_srq(struct exrnic_device *edev, const struct exrnic_mbox_create_srq *in);
int exrnic_mbox_modify_srq(struct exrnic_device *edev, const struct exrnic_mbox_modify_srq *in);
int exrnic_mbox_query_srq(struct exrnic_device *edev, u32 srqn, struct exrnic_mbox_query_srq *out);
void exrnic_mbox_destroy_srq(struct exrnic_device *edev, u32 srqn);
int exrnic_mbox_create_qp(struct exrnic_device *edev, const struct exrnic_mbox_create_qp *in);
/* -EPERM: the queue pair's state does not allow the transition. */
int exrnic_mbox_modify_qp(struct exrnic_device *edev, const struct exrnic_mbox_modify_qp *in);
int exrnic_mbox_query_qp(struct exrnic_device *edev, u32 qpn, struct exrnic_mbox_query_qp *out);
void exrnic_mbox_destroy_qp(struct exrnic_device *edev, u32 qpn);
/* Of a queue pair that exists and is of service UD. -EEXIST: attached already, -ENOSPC: no room. */
int exrnic_mbox_attach_group(struct exrnic_device *edev, const struct exrnic_mbox_group *in);
/* -ENOENT: it is not attached. */
int exrnic_mbox_detach_group(struct exrnic_device *edev, const struct exrnic_mbox_group *in);
/* -EPERM: its queue pair is not in RTS. */
int exrnic_mbox_set_window(struct exrnic_device *edev, const struct exrnic_mbox_set_window *in);
void exrnic_mbox_close_window(struct exrnic_device *edev, u32 window);
int exrnic_mbox_register_mr(struct exrnic_device *edev, const struct exrnic_mbox_register_mr *in);
int exrnic_mbox_register_mr_anew(struct exrnic_device *edev, const struct exrnic_mbox_register_mr *in);
void exrnic_mbox_invalidate_mr(struct exrnic_device *edev, u32 stag);

#endif
