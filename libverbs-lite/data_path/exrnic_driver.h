// SPDX-License-Identifier: BSD-2-Clause
/*
 * What drivers of the device do alike, exrnic.ko in a kernel and that of this library in a process:
 * rules for the numbers that they give objects, and what they tell of a refusal. C11, C++17, Linux.
 */
#ifndef EXRNIC_DRIVER_H
#define EXRNIC_DRIVER_H

#ifdef __KERNEL__
#include <linux/errno.h>
#else
#include <errno.h>
#endif

#include "exrnic_hw.h"

/*
 * From here on numbers of queue pairs are handed out. Verbs reserve those below for management:
 * that of the general services, and EXRNIC_ETHERNET_QPN. Kernel users may ask for these.
 */
#define EXRNIC_QPN_MIN 2
#define EXRNIC_QPN_GSI 1
/* RFC 5040, 3.2 keeps STag zero for the privileged. */
#define EXRNIC_STAG_INDEX_MIN 1

/*
 * The next STag of that index: any key but the last one, so that a stale STag is not soon valid
 * again. random: 32 bits that a peer cannot guess (RFC 5042, 5.3.1), as the index is to be.
 */
static inline uint32_t exrnic_next_stag(uint32_t index, uint8_t last_key, uint32_t random) {
  const uint32_t keys = 1u << EXRNIC_STAG_INDEX_SHIFT;

  return index << EXRNIC_STAG_INDEX_SHIFT | ((last_key + 1 + random % (keys - 1)) & (keys - 1));
}

/*
 * The errno that says of a mailbox command how it has ended: 0 of OK; EIO where nobody expects it:
 * the driver has told the device nonsense, or it is broken.
 */
static inline int exrnic_mbox_status_errno(enum exrnic_mbox_op op, uint32_t status) {
  const int state = status == EXRNIC_MBOX_STATUS_BAD_STATE;

  if (status == EXRNIC_MBOX_STATUS_OK) return 0;
  if (status == EXRNIC_MBOX_STATUS_BAD_PARAMETER) return EINVAL;
  if (status == EXRNIC_MBOX_STATUS_NO_ROOM) return ENOSPC;
  /* A queue pair may have gone to another state since its owner looked. */
  if (state && (op == EXRNIC_MBOX_OP_MODIFY_QP || op == EXRNIC_MBOX_OP_SET_WINDOW)) return EPERM;
  if (state && op == EXRNIC_MBOX_OP_ATTACH_GROUP) return EEXIST;
  /* More is unread than the new ring has entries. */
  if (state && op == EXRNIC_MBOX_OP_RESIZE_CQ) return ENOSPC;
  if (state && op == EXRNIC_MBOX_OP_DETACH_GROUP) return ENOENT;
  /* The table of attachments is full. */
  if (status == EXRNIC_MBOX_STATUS_BAD_INDEX && op == EXRNIC_MBOX_OP_ATTACH_GROUP) return ENOSPC;
  return EIO;
}

/*
 * Whether a word of a management frame that has come says anything: the path has as many ports as
 * its way is long, and data are zero where their attribute has none. frame: with the words before
 * it; those that say nothing are zero.
 */
static inline int exrnic_management_word_counts(const uint8_t* frame, unsigned int word) {
  const uint8_t* header = frame + EXRNIC_ETH_BYTES;
  const unsigned int at = word * 4;
  const unsigned int data = at - EXRNIC_MANAGEMENT_DATA_AT;

  if (at < EXRNIC_MANAGEMENT_PATH_AT) return 1;
  if (at < EXRNIC_MANAGEMENT_DATA_AT)
    return at <= EXRNIC_MANAGEMENT_PATH_AT + 2 * exrnic_management_header_hops(header);
  if (exrnic_management_header_method(header) == EXRNIC_MANAGEMENT_METHOD_TRAP)
    return data < EXRNIC_MANAGEMENT_PORT_BYTES;
  return exrnic_management_header_attribute(header) != EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE ||
         data < EXRNIC_MANAGEMENT_DEVICE_BYTES;
}

#endif
