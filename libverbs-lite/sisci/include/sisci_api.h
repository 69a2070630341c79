/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SISCI on the exrnic: memory segments and interrupts of other nodes, for programs that were
 * written for Dolphin's library. Which calls do what, and what is different here: README.md.
 *
 * Errors: every call stores its result at *error, unless that is NULL. Times are milliseconds.
 * Threads: any, on the same object, too. A call that waits for an object ends with
 * SCI_ERR_CANCELLED when that is removed. Callbacks run one at a time, in a thread of the library,
 * and may call everything.
 */
#ifndef EXRNIC_SISCI_API_H
#define EXRNIC_SISCI_API_H

#include "sisci_error.h"
#include "sisci_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SCI_API __attribute__((visibility("default")))

#define SCI_INFINITE_TIMEOUT 0xffffffffu
#define SCI_LOCAL_HOST 0xffffffffu /* as a node: the own one */

/* ---- Flags: a number may mean several things, each of another call --------------------------- */

#define SCI_FLAG_USE_CALLBACK 0x1u

/* SCIOpen */
#define SCI_FLAG_THREAD_SAFE 0x2u /* as ever */

/* SCICreateSegment, SCIPrepareSegment, SCIRemoveSegment */
#define SCI_FLAG_EMPTY 0x2u   /* memory comes by SCIRegisterSegmentMemory */
#define SCI_FLAG_PRIVATE 0x4u /* nobody connects to it; its id is not looked at */
#define SCI_FLAG_DMA_SOURCE_ONLY 0x8u
#define SCI_FLAG_FORCE_REMOVE 0x20u /* whoever is connected loses it */
#define SCI_FLAG_DMA_GLOBAL 0x40u   /* as ever */
#define SCI_FLAG_ALLOW_UNICAST 0x80u
#define SCI_FLAG_BROADCAST 0x40000u
#define SCI_FLAG_AUTO_ID 0x20000000u /* any free id, segmentId if that is free */

/* SCISetSegmentUnavailable */
#define SCI_FLAG_FORCE_DISCONNECT 0x1u
#define SCI_FLAG_NOTIFY 0x2u

/* SCIConnectSegment */
#define SCI_FLAG_ASYNCHRONOUS_CONNECT 0x4u

/* SCIMapLocalSegment, SCIMapRemoteSegment */
#define SCI_FLAG_FIXED_MAP_ADDR 0x1u
#define SCI_FLAG_READONLY_MAP 0x2u
#define SCI_FLAG_LOCK_OPERATION 0x4u
#define SCI_FLAG_CONDITIONAL_INTERRUPT_MAP 0x8u
#define SCI_FLAG_UNCONDITIONAL_DATA_INTERRUPT_MAP 0x10u
#define SCI_FLAG_READ_PREFETCH_AGGR_HOLD_MAP 0x20u
#define SCI_FLAG_READ_PREFETCH_NO_HOLD_MAP 0x40u
#define SCI_FLAG_IO_MAP_IOSPACE 0x80u
#define SCI_FLAG_DMOVE_MAP 0x100u
#define SCI_FLAG_WRITES_DISABLE_GATHER_MAP 0x200u
#define SCI_FLAG_DISABLE_128_BYTES_PACKETS 0x400u
#define SCI_FLAG_NO_MEMORY_LOOPBACK_MAP 0x800u
#define SCI_FLAG_SHARED_MAP 0x2000u
#define SCI_FLAG_WRITE_BACK_CACHE_MAP 0x8000000u
/* Of this library: no memory, and no window of the RNIC; SCIMapRemoteSegment returns NULL with
   SCI_ERR_OK. The map is for SCIMemCpy and SCITransferBlock. */
#define SCI_FLAG_COPY_ONLY_MAP 0x40000000u

/* SCIStartDmaTransfer, SCIStartDmaTransferVec, SCIEnqueueDMATransfer */
#define SCI_FLAG_DMA_POST 0x2u
#define SCI_FLAG_DMA_WAIT 0x4u
#define SCI_FLAG_DMA_RESET 0x8u
#define SCI_FLAG_DMA_READ 0x10u
#define SCI_FLAG_DMA_PHDMA 0x20u
#define SCI_FLAG_DMA_SYSDMA 0x100u
#define SCI_FLAG_DMA_USER_MEM 0x200u

/* SCIMemCpy, SCIMemCopy, SCITransferBlock */
#define SCI_FLAG_BLOCK_READ 0x2u
#define SCI_FLAG_ERROR_CHECK 0x4u

/* SCICreateMapSequence, SCICheckSequence, SCIFlush */
#define SCI_FLAG_FAST_BARRIER 0x1u
#define SCI_FLAG_NO_FLUSH 0x1u
#define SCI_FLAG_NO_STORE_BARRIER 0x2u
#define SCI_FLAG_FLUSH_CPU_BUFFERS_ONLY 0x1u
#define FLUSH_CPU_BUFFERS_ONLY SCI_FLAG_FLUSH_CPU_BUFFERS_ONLY

/* SCICreateInterrupt, SCICreateDataInterrupt */
#define SCI_FLAG_FIXED_INTNO 0x2u
#define SCI_FLAG_SHARED_INT 0x4u
#define SCI_FLAG_CONDITIONAL_INTERRUPT 0x8u
#define SCI_FLAG_COUNTING_INT 0x20u

/* SCICacheSync */
#define SCI_FLAG_CACHE_FLUSH 0x100000u
#define SCI_FLAG_CACHE_INVALIDATE 0x200000u

/* ---- Library --------------------------------------------------------------------------------- */

SCI_API void SCIInitialize(unsigned int flags, sci_error_t* error);
SCI_API void SCITerminate(void);
SCI_API void SCIOpen(sci_desc_t* sd, unsigned int flags, sci_error_t* error);
SCI_API void SCIClose(sci_desc_t sd, unsigned int flags, sci_error_t* error);
SCI_API const char* SCIGetErrorString(sci_error_t error);
SCI_API void SCIGetLocalNodeId(unsigned int adapterNo, unsigned int* nodeId, unsigned int flags,
                               sci_error_t* error);
SCI_API void SCIGetNodeIdByAdapterName(char* adapterName, dis_nodeId_list_t* nodeIdList,
                                       dis_virt_adapter_t* type, unsigned int flags,
                                       sci_error_t* error);
SCI_API int SCIProbeNode(sci_desc_t sd, unsigned int localAdapterNo, unsigned int nodeId,
                         unsigned int flags, sci_error_t* error);

/* ---- Local segments -------------------------------------------------------------------------- */

SCI_API void SCICreateSegment(sci_desc_t sd, sci_local_segment_t* segment, unsigned int segmentId,
                              size_t size, sci_cb_local_segment_t callback, void* callbackArg,
                              unsigned int flags, sci_error_t* error);
SCI_API void SCIRemoveSegment(sci_local_segment_t segment, unsigned int flags, sci_error_t* error);
SCI_API void SCIPrepareSegment(sci_local_segment_t segment, unsigned int localAdapterNo,
                               unsigned int flags, sci_error_t* error);
SCI_API void SCISetSegmentAvailable(sci_local_segment_t segment, unsigned int localAdapterNo,
                                    unsigned int flags, sci_error_t* error);
SCI_API void SCISetSegmentUnavailable(sci_local_segment_t segment, unsigned int localAdapterNo,
                                      unsigned int flags, sci_error_t* error);
SCI_API void SCIRegisterSegmentMemory(void* address, size_t size, sci_local_segment_t segment,
                                      unsigned int flags, sci_error_t* error);
SCI_API sci_segment_cb_reason_t SCIWaitForLocalSegmentEvent(sci_local_segment_t segment,
                                                            unsigned int* sourcenodeId,
                                                            unsigned int* localAdapterNo,
                                                            unsigned int timeout,
                                                            unsigned int flags, sci_error_t* error);
SCI_API unsigned int SCIGetLocalSegmentId(sci_local_segment_t segment);
SCI_API size_t SCIGetLocalSegmentSize(sci_local_segment_t segment);

/* ---- Remote segments ------------------------------------------------------------------------- */

SCI_API void SCIConnectSegment(sci_desc_t sd, sci_remote_segment_t* segment, unsigned int nodeId,
                               unsigned int segmentId, unsigned int localAdapterNo,
                               sci_cb_remote_segment_t callback, void* callbackArg,
                               unsigned int timeout, unsigned int flags, sci_error_t* error);
SCI_API void SCIDisconnectSegment(sci_remote_segment_t segment, unsigned int flags,
                                  sci_error_t* error);
SCI_API size_t SCIGetRemoteSegmentSize(sci_remote_segment_t segment);
SCI_API unsigned int SCIGetRemoteSegmentId(sci_remote_segment_t segment);
SCI_API sci_segment_cb_reason_t SCIWaitForRemoteSegmentEvent(sci_remote_segment_t segment,
                                                             sci_error_t* status,
                                                             unsigned int timeout,
                                                             unsigned int flags,
                                                             sci_error_t* error);

/* ---- Maps ------------------------------------------------------------------------------------ */

SCI_API void* SCIMapLocalSegment(sci_local_segment_t segment, sci_map_t* map, size_t offset,
                                 size_t size, void* addr, unsigned int flags, sci_error_t* error);
SCI_API volatile void* SCIMapRemoteSegment(sci_remote_segment_t segment, sci_map_t* map,
                                           size_t offset, size_t size, void* addr,
                                           unsigned int flags, sci_error_t* error);
SCI_API void SCIUnmapSegment(sci_map_t map, unsigned int flags, sci_error_t* error);

/* ---- Order, and what has arrived ------------------------------------------------------------- */

SCI_API void SCICreateMapSequence(sci_map_t map, sci_sequence_t* sequence, unsigned int flags,
                                  sci_error_t* error);
SCI_API void SCIRemoveSequence(sci_sequence_t sequence, unsigned int flags, sci_error_t* error);
SCI_API sci_sequence_status_t SCIStartSequence(sci_sequence_t sequence, unsigned int flags,
                                               sci_error_t* error);
SCI_API sci_sequence_status_t SCICheckSequence(sci_sequence_t sequence, unsigned int flags,
                                               sci_error_t* error);
SCI_API void SCIStoreBarrier(sci_sequence_t sequence, unsigned int flags);
SCI_API void SCIFlush(sci_sequence_t sequence, unsigned int flags);
SCI_API void SCIFlushReadBuffers(sci_sequence_t sequence);
SCI_API void SCICacheSync(sci_map_t map, void* addr, size_t length, unsigned int flags,
                          sci_error_t* error);

/* ---- Copies ---------------------------------------------------------------------------------- */

SCI_API void SCIMemCpy(sci_sequence_t sequence, void* memAddr, sci_map_t remoteMap,
                       size_t remoteOffset, size_t size, unsigned int flags, sci_error_t* error);
SCI_API void SCIMemCopy(void* memAddr, sci_map_t remoteMap, size_t remoteOffset, size_t size,
                        unsigned int flags, sci_error_t* error);
SCI_API void SCITransferBlock(sci_map_t sourceMap, size_t sourceOffset, sci_map_t destinationMap,
                              size_t destinationOffset, size_t size, unsigned int flags,
                              sci_error_t* error);
SCI_API void SCITransferBlockAsync(sci_map_t sourceMap, size_t sourceOffset,
                                   sci_map_t destinationMap, size_t destinationOffset, size_t size,
                                   sci_block_transfer_t* block, sci_cb_block_transfer_t callback,
                                   void* callbackArg, unsigned int flags, sci_error_t* error);
SCI_API void SCIWaitForBlockTransfer(sci_block_transfer_t block, unsigned int timeout,
                                     unsigned int flags, sci_error_t* error);
SCI_API void SCIAbortBlockTransfer(sci_block_transfer_t block, unsigned int flags,
                                   sci_error_t* error);

/* ---- DMA ------------------------------------------------------------------------------------- */

SCI_API void SCICreateDMAQueue(sci_desc_t sd, sci_dma_queue_t* dq, unsigned int localAdapterNo,
                               unsigned int maxEntries, unsigned int flags, sci_error_t* error);
SCI_API void SCIRemoveDMAQueue(sci_dma_queue_t dq, unsigned int flags, sci_error_t* error);
SCI_API void SCIStartDmaTransfer(sci_dma_queue_t dq, sci_local_segment_t localSegment,
                                 sci_remote_segment_t remoteSegment, size_t localOffset,
                                 size_t size, size_t remoteOffset, sci_cb_dma_t callback,
                                 void* callbackArg, unsigned int flags, sci_error_t* error);
SCI_API void SCIStartDmaTransferVec(sci_dma_queue_t dq, sci_local_segment_t localSegment,
                                    sci_remote_segment_t remoteSegment, size_t vecLength,
                                    dis_dma_vec_t* disDmaVec, sci_cb_dma_t callback,
                                    void* callbackArg, unsigned int flags, sci_error_t* error);
SCI_API sci_dma_queue_state_t SCIEnqueueDMATransfer(
    sci_dma_queue_t dq, sci_local_segment_t localSegment, sci_remote_segment_t remoteSegment,
    size_t localOffset, size_t remoteOffset, size_t size, unsigned int flags, sci_error_t* error);
SCI_API void SCIPostDMAQueue(sci_dma_queue_t dq, sci_cb_dma_t callback, void* callbackArg,
                             unsigned int flags, sci_error_t* error);
SCI_API void SCIResetDMAQueue(sci_dma_queue_t dq, unsigned int flags, sci_error_t* error);
SCI_API void SCIAbortDMAQueue(sci_dma_queue_t dq, unsigned int flags, sci_error_t* error);
SCI_API sci_dma_queue_state_t SCIDMAQueueState(sci_dma_queue_t dq);
SCI_API sci_dma_queue_state_t SCIWaitForDMAQueue(sci_dma_queue_t dq, unsigned int timeout,
                                                 unsigned int flags, sci_error_t* error);
SCI_API void SCIphDmaEnqueue(sci_dma_queue_t dmaqueue, unsigned int size, sci_ioaddr_t localBusAddr,
                             unsigned int remote_nodeid, unsigned int remote_highaddr,
                             unsigned int remote_lowaddr, unsigned int flags, sci_error_t* error);
SCI_API sci_dma_queue_state_t SCIphDmaStart(sci_dma_queue_t dmaqueue, sci_cb_dma_t callback,
                                            void* callbackArg, unsigned int flags,
                                            sci_error_t* error);

/* ---- Interrupts ------------------------------------------------------------------------------ */

SCI_API void SCICreateInterrupt(sci_desc_t sd, sci_local_interrupt_t* interrupt,
                                unsigned int localAdapterNo, unsigned int* interruptNo,
                                sci_cb_interrupt_t callback, void* callbackArg, unsigned int flags,
                                sci_error_t* error);
SCI_API void SCIRemoveInterrupt(sci_local_interrupt_t interrupt, unsigned int flags,
                                sci_error_t* error);
SCI_API void SCIWaitForInterrupt(sci_local_interrupt_t interrupt, unsigned int timeout,
                                 unsigned int flags, sci_error_t* error);
SCI_API void SCIConnectInterrupt(sci_desc_t sd, sci_remote_interrupt_t* interrupt,
                                 unsigned int nodeId, unsigned int localAdapterNo,
                                 unsigned int interruptNo, unsigned int timeout, unsigned int flags,
                                 sci_error_t* error);
SCI_API void SCIDisconnectInterrupt(sci_remote_interrupt_t interrupt, unsigned int flags,
                                    sci_error_t* error);
SCI_API void SCITriggerInterrupt(sci_remote_interrupt_t interrupt, unsigned int flags,
                                 sci_error_t* error);

/* With bytes: 1 to SCI_MAX_INTERRUPT_DATA of them. */
#define SCI_MAX_INTERRUPT_DATA 4096

SCI_API void SCICreateDataInterrupt(sci_desc_t sd, sci_local_data_interrupt_t* interrupt,
                                    unsigned int localAdapterNo, unsigned int* interruptNo,
                                    sci_cb_data_interrupt_t callback, void* callbackArg,
                                    unsigned int flags, sci_error_t* error);
SCI_API void SCIRemoveDataInterrupt(sci_local_data_interrupt_t interrupt, unsigned int flags,
                                    sci_error_t* error);
/* *length: room at data; then the bytes that came. SCI_ERR_NOSPC: more than that; they stay. */
SCI_API void SCIWaitForDataInterrupt(sci_local_data_interrupt_t interrupt, void* data,
                                     unsigned int* length, unsigned int timeout, unsigned int flags,
                                     sci_error_t* error);
SCI_API void SCIConnectDataInterrupt(sci_desc_t sd, sci_remote_data_interrupt_t* interrupt,
                                     unsigned int nodeId, unsigned int localAdapterNo,
                                     unsigned int interruptNo, unsigned int timeout,
                                     unsigned int flags, sci_error_t* error);
SCI_API void SCIDisconnectDataInterrupt(sci_remote_data_interrupt_t interrupt, unsigned int flags,
                                        sci_error_t* error);
/* SCI_ERR_NOSPC: the other end has not taken those before it. */
SCI_API void SCITriggerDataInterrupt(sci_remote_data_interrupt_t interrupt, void* data,
                                     unsigned int length, unsigned int flags, sci_error_t* error);

SCI_API void SCIRegisterInterruptFlag(unsigned int localAdapterNo, sci_local_interrupt_t* interrupt,
                                      sci_local_segment_t segment, size_t offset,
                                      sci_cb_interrupt_t callback, void* callbackArg,
                                      unsigned int flags, sci_error_t* error);
SCI_API void SCIEnableConditionalInterrupt(sci_local_interrupt_t interrupt, unsigned int flags,
                                           sci_error_t* error);
SCI_API void SCIDisableConditionalInterrupt(sci_local_interrupt_t interrupt, unsigned int flags,
                                            sci_error_t* error);
SCI_API void SCIGetConditionalInterruptTrigCounter(sci_local_interrupt_t interrupt,
                                                   unsigned int* interruptTrigCounter,
                                                   unsigned int flags, sci_error_t* error);

/* ---- Queries --------------------------------------------------------------------------------- */

SCI_API void SCIQuery(unsigned int command, void* data, unsigned int flags, sci_error_t* error);

#define SCI_Q_VENDORID 1u /* sci_query_string_t */
#define SCI_Q_API 2u      /* sci_query_string_t */
#define SCI_Q_ADAPTER 3u
#define SCI_Q_SYSTEM 4u
#define SCI_Q_LOCAL_SEGMENT 5u
#define SCI_Q_REMOTE_SEGMENT 6u
#define SCI_Q_MAP 7u

typedef struct {
  char* str;
  unsigned int length; /* room at str */
} sci_query_string_t;

typedef struct {
  unsigned int localAdapterNo;
  unsigned int portNo;
  unsigned int subcommand;
  void* data; /* of an unsigned int */
} sci_query_adapter_t;

typedef struct {
  unsigned int subcommand;
  void* data; /* of an unsigned int */
} sci_query_system_t;

typedef struct {
  sci_local_segment_t segment;
  unsigned int subcommand;
  union {
    sci_ioaddr_t ioaddr;
  } data;
} sci_query_local_segment_t;

typedef struct {
  sci_remote_segment_t segment;
  unsigned int subcommand;
  union {
    sci_ioaddr_t ioaddr;
  } data;
} sci_query_remote_segment_t;

typedef struct {
  sci_map_t map;
  unsigned int subcommand;
  unsigned int data;
} sci_query_map_t;

#define SCI_Q_ADAPTER_DMA_SIZE_ALIGNMENT 1u
#define SCI_Q_ADAPTER_DMA_OFFSET_ALIGNMENT 2u
#define SCI_Q_ADAPTER_DMA_MTU 3u
#define SCI_Q_ADAPTER_SUGGESTED_MIN_DMA_SIZE 4u
#define SCI_Q_ADAPTER_SUGGESTED_MIN_BLOCK_SIZE 5u
#define SCI_Q_ADAPTER_NODEID 6u
#define SCI_Q_ADAPTER_SERIAL_NUMBER 7u
#define SCI_Q_ADAPTER_CARD_TYPE 8u
#define SCI_Q_ADAPTER_NUMBER_OF_STREAMS 9u
#define SCI_Q_ADAPTER_STREAM_BUFFER_SIZE 10u
#define SCI_Q_ADAPTER_CONFIGURED 11u
#define SCI_Q_ADAPTER_LINK_OPERATIONAL 12u
#define SCI_Q_ADAPTER_HW_LINK_STATUS_IS_OK 13u
#define SCI_Q_ADAPTER_NUMBER 14u
#define SCI_Q_ADAPTER_INSTANCE_NUMBER 15u
#define SCI_Q_ADAPTER_FIRMWARE_OK 16u
#define SCI_Q_ADAPTER_CONNECTED_TO_SWITCH 17u
#define SCI_Q_ADAPTER_LOCAL_SWITCH_TYPE 18u
#define SCI_Q_ADAPTER_LOCAL_SWITCH_PORT_NUMBER 19u
#define SCI_Q_ADAPTER_CONNECTED_TO_EXPECTED_SWITCH_PORT 20u
#define SCI_Q_ADAPTER_ATT_PAGE_SIZE 21u
#define SCI_Q_ADAPTER_ATT_NUMBER_OF_ENTRIES 22u
#define SCI_Q_ADAPTER_ATT_AVAILABLE_ENTRIES 23u
#define SCI_Q_ADAPTER_PHYS_MEM_NODEID 24u
#define SCI_Q_ADAPTER_PHYS_MBX_NODEID 25u
#define SCI_Q_ADAPTER_PHYS_LINK_PORT_NODEID 26u
#define SCI_Q_ADAPTER_SCI_LINK_FREQUENCY 27u
#define SCI_Q_ADAPTER_B_LINK_FREQUENCY 28u
#define SCI_Q_ADAPTER_IO_BUS_FREQUENCY 29u

#define SCI_Q_SYSTEM_HOSTBRIDGE 1u
#define SCI_Q_SYSTEM_WRITE_POSTING_ENABLED 2u
#define SCI_Q_SYSTEM_WRITE_COMBINING_ENABLED 3u

#define SCI_Q_LOCAL_SEGMENT_IOADDR 1u
#define SCI_Q_REMOTE_SEGMENT_IOADDR 1u
#define SCI_Q_MAP_MAPPED_TO_LOCAL_TARGET 1u
#define SCI_Q_MAP_QUERY_REMOTE_MAPPED_TO_LOCAL_TARGET 2u

/* ---- What the RNIC has not: SCI_ERR_NOT_IMPLEMENTED ------------------------------------------ */

SCI_API unsigned int SCIGetCSRRegister(sci_desc_t sd, unsigned int localAdapterNo,
                                       unsigned int SCINodeId, unsigned int CSROffset,
                                       unsigned int flags, sci_error_t* error);
SCI_API void SCISetCSRRegister(sci_desc_t sd, unsigned int localAdapterNo, unsigned int SCINodeId,
                               unsigned int CSROffset, unsigned int CSRValue, unsigned int flags,
                               sci_error_t* error);
SCI_API unsigned int SCIGetLocalCSR(sci_desc_t sd, unsigned int localAdapterNo,
                                    unsigned int CSROffset, unsigned int flags, sci_error_t* error);
SCI_API void SCISetLocalCSR(sci_desc_t sd, unsigned int localAdapterNo, unsigned int CSROffset,
                            unsigned int CSRValue, unsigned int flags, sci_error_t* error);
SCI_API void SCIAttachPhysicalMemory(sci_ioaddr_t ioaddress, void* address, unsigned int busNo,
                                     size_t size, sci_local_segment_t segment, unsigned int flags,
                                     sci_error_t* error);
SCI_API void SCIConnectSCISpace(sci_desc_t sd, unsigned int localAdapterNo,
                                sci_remote_segment_t* segment, sci_address_t address, size_t size,
                                unsigned int flags, sci_error_t* error);
SCI_API void SCIAttachLocalSegment(sci_desc_t sd, sci_local_segment_t* segment,
                                   unsigned int segmentId, size_t* size,
                                   sci_cb_local_segment_t callback, void* callbackArg,
                                   unsigned int flags, sci_error_t* error);
SCI_API void SCIShareSegment(sci_local_segment_t segment, unsigned int flags, sci_error_t* error);

#ifdef __cplusplus
}
#endif

#endif /* EXRNIC_SISCI_API_H */
