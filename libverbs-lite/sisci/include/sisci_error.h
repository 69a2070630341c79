/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SISCI: what calls return in *error. The names and numbers are those of Dolphin's interface;
 * README.md says when this library gives which.
 */
#ifndef EXRNIC_SISCI_ERROR_H
#define EXRNIC_SISCI_ERROR_H

#define SCI_ERR_MASK 0x40000000

typedef enum {
  SCI_ERR_OK = 0,

  SCI_ERR_BUSY = SCI_ERR_MASK | 0x900,  /* the object is in use */
  SCI_ERR_FLAG_NOT_IMPLEMENTED,         /* the flag is one, and does nothing here */
  SCI_ERR_ILLEGAL_FLAG,                 /* the call has not such a flag */
  SCI_ERR_NOSPC = SCI_ERR_MASK | 0x904, /* no memory, or no room for what came */
  SCI_ERR_API_NOSPC,                    /* a limit of this library */
  SCI_ERR_HW_NOSPC,                     /* the RNIC has no more of them */
  SCI_ERR_NOT_IMPLEMENTED,              /* the RNIC has not such a thing */
  SCI_ERR_ILLEGAL_ADAPTERNO,            /* beyond the numbers of adapters */
  SCI_ERR_NO_SUCH_ADAPTERNO,            /* there is no RNIC with that number */
  SCI_ERR_TIMEOUT,                      /* the time was over */
  SCI_ERR_OUT_OF_RANGE,                 /* beyond the end of a segment or a map */
  SCI_ERR_NO_SUCH_SEGMENT,              /* the node has none with that id, or hides it */
  SCI_ERR_ILLEGAL_NODEID,               /* no node of the fabric */
  SCI_ERR_CONNECTION_REFUSED,           /* the owner takes no more connections */
  SCI_ERR_SEGMENT_NOT_CONNECTED,        /* through this adapter, or not any more */
  SCI_ERR_SIZE_ALIGNMENT,               /* a size of 0 */
  SCI_ERR_OFFSET_ALIGNMENT,
  SCI_ERR_ILLEGAL_PARAMETER,    /* a null pointer, or a handle of nothing */
  SCI_ERR_MAX_ENTRIES,          /* the DMA queue is full */
  SCI_ERR_SEGMENT_NOT_PREPARED, /* for this adapter */
  SCI_ERR_ILLEGAL_ADDRESS,      /* no memory of this process */
  SCI_ERR_ILLEGAL_OPERATION,    /* not of this object, or not in its state */
  SCI_ERR_ILLEGAL_QUERY,
  SCI_ERR_SEGMENTID_USED, /* by this host */
  SCI_ERR_SYSTEM,         /* errno says more */
  SCI_ERR_CANCELLED,      /* the object was removed meanwhile */
  SCI_ERR_NOT_CONNECTED,
  SCI_ERR_NOT_AVAILABLE,
  SCI_ERR_INCONSISTENT_VERSIONS, /* of this library and the driver */
  SCI_ERR_COND_INT_RACE_PROBLEM,
  SCI_ERR_OVERFLOW,
  SCI_ERR_NOT_INITIALIZED, /* SCIInitialize comes first */
  SCI_ERR_ACCESS,

  SCI_ERR_NO_SUCH_NODEID = SCI_ERR_MASK | 0xA00,
  SCI_ERR_NODE_NOT_RESPONDING = SCI_ERR_MASK | 0xA02,
  SCI_ERR_NO_REMOTE_LINK_ACCESS = SCI_ERR_MASK | 0xA04,
  SCI_ERR_NO_LINK_ACCESS, /* the own link is down */
  SCI_ERR_TRANSFER_FAILED
} sci_error_t;

/* Names of interrupts for what segments call otherwise. */
#define SCI_ERR_NO_SUCH_INTNO SCI_ERR_NO_SUCH_SEGMENT
#define SCI_ERR_INTNO_USED SCI_ERR_SEGMENTID_USED

#endif /* EXRNIC_SISCI_ERROR_H */
