/* SPDX-License-Identifier: BSD-2-Clause */
/* SISCI: types. Handles are opaque; one of an object that has ended is recognised, and refused. */
#ifndef EXRNIC_SISCI_TYPES_H
#define EXRNIC_SISCI_TYPES_H

#include <stddef.h>

#include "sisci_error.h"

#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef IN_OUT
#define IN_OUT
#endif

typedef struct sci_desc* sci_desc_t;
typedef struct sci_local_segment* sci_local_segment_t;
typedef struct sci_remote_segment* sci_remote_segment_t;
typedef struct sci_map* sci_map_t;
typedef struct sci_sequence* sci_sequence_t;
typedef struct sci_dma_queue* sci_dma_queue_t;
typedef struct sci_local_interrupt* sci_local_interrupt_t;
typedef struct sci_remote_interrupt* sci_remote_interrupt_t;
typedef struct sci_local_data_interrupt* sci_local_data_interrupt_t;
typedef struct sci_remote_data_interrupt* sci_remote_data_interrupt_t;
typedef struct sci_block_transfer* sci_block_transfer_t;

/* What has happened to a segment. */
typedef enum {
  SCI_CB_CONNECT = 1,     /* local: somebody connected; remote: an asynchronous connect has ended */
  SCI_CB_DISCONNECT,      /* local: somebody disconnected; remote: the owner asks for it */
  SCI_CB_NOT_OPERATIONAL, /* the link is down */
  SCI_CB_OPERATIONAL,     /* the link is back */
  SCI_CB_LOST             /* the other end is gone, or has ended the connection */
} sci_segment_cb_reason_t;

#define MAX_CB_REASON SCI_CB_LOST

typedef enum {
  SCI_DMAQUEUE_IDLE,
  SCI_DMAQUEUE_GATHER,
  SCI_DMAQUEUE_POSTED,
  SCI_DMAQUEUE_DONE,
  SCI_DMAQUEUE_ABORTED,
  SCI_DMAQUEUE_ERROR
} sci_dma_queue_state_t;

typedef enum {
  SCI_SEQ_OK,            /* all that was stored has arrived */
  SCI_SEQ_RETRIABLE,     /* never: the RNIC repeats what is lost by itself */
  SCI_SEQ_NOT_RETRIABLE, /* something was lost, and the map is of no use any more */
  SCI_SEQ_PENDING        /* the link is down */
} sci_sequence_status_t;

typedef enum { SCI_CALLBACK_CANCEL = 1, SCI_CALLBACK_CONTINUE } sci_callback_action_t;

typedef struct {
  unsigned short nodeId;
  unsigned short offsHi;
  unsigned int offsLo;
} sci_address_t;

typedef unsigned long long sci_ioaddr_t;

/* An element of SCIStartDmaTransferVec. */
typedef struct {
  size_t size;
  size_t local_offset;
  size_t remote_offset;
  unsigned int flags; /* 0 */
} dis_dma_vec_t;

#define DIS_DMA_MAX_VECLEN 1500

/* Ends with 0. */
typedef unsigned int dis_nodeId_list_t[8];
typedef enum { DIS_VIRT_ADAPTER_PHYSICAL } dis_virt_adapter_t;

typedef sci_callback_action_t (*sci_cb_local_segment_t)(void* arg, sci_local_segment_t segment,
                                                        sci_segment_cb_reason_t reason,
                                                        unsigned int nodeId,
                                                        unsigned int localAdapterNo,
                                                        sci_error_t error);
typedef sci_callback_action_t (*sci_cb_remote_segment_t)(void* arg, sci_remote_segment_t segment,
                                                         sci_segment_cb_reason_t reason,
                                                         sci_error_t status);
typedef sci_callback_action_t (*sci_cb_dma_t)(void* arg, sci_dma_queue_t queue, sci_error_t status);
typedef int (*sci_cb_block_transfer_t)(void* arg, sci_block_transfer_t block, sci_error_t status);
typedef sci_callback_action_t (*sci_cb_interrupt_t)(void* arg, sci_local_interrupt_t interrupt,
                                                    sci_error_t status);
typedef sci_callback_action_t (*sci_cb_data_interrupt_t)(void* arg,
                                                         sci_local_data_interrupt_t interrupt,
                                                         void* data, unsigned int length,
                                                         sci_error_t status);

#endif /* EXRNIC_SISCI_TYPES_H */
