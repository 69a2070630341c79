// SPDX-License-Identifier: BSD-2-Clause
/*
 * libverbs-lite: the fabric that the RNIC is in. Management frames (rtl-model/FABRIC.md) discover
 * it, number its nodes and set its routes; exrnic-fm is a program that does.
 *
 * Errors, threads: as in exrnic/verbs.h. With the kernel module both calls need CAP_NET_ADMIN
 * (EPERM), and one process at a time has them (EBUSY), until it closes the RNIC. A process that
 * resets the RNIC or opens it anew loses frames that wait.
 */
#ifndef EXRNIC_FABRIC_H
#define EXRNIC_FABRIC_H

#include "exrnic/verbs.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VL_MANAGEMENT_BYTES 256 /* of a management frame, without FCS */

/*
 * Sends the frame: VL_MANAGEMENT_BYTES from its destination MAC address on, as on the wire. The
 * RNIC puts its own address into it, and drops what is no request. EAGAIN: the one before has not
 * left yet. That somebody has got it only an answer says.
 */
VL_API int vl_send_management(struct vl_rnic* rnic, const void* frame);

/*
 * Takes the frame that has waited longest, VL_MANAGEMENT_BYTES. EAGAIN: none waits. A few can wait;
 * then more are dropped, so do not ask more than 8 questions at once. What comes is whatever
 * somebody has sent.
 */
VL_API int vl_receive_management(struct vl_rnic* rnic, void* frame);

#ifdef __cplusplus
}
#endif

#endif /* EXRNIC_FABRIC_H */
