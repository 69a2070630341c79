// SPDX-License-Identifier: BSD-2-Clause
// What the RNIC has not: a programs that calls it links, and is told so. And texts of errors.
#include "library.h"

using exrnic::sisci::Require;
using exrnic::sisci::TheLibrary;

namespace {

// *error, unless it is NULL.
void SayMissing(sci_error_t* error) {
  exrnic::sisci::Call(error, [] {
    Require(TheLibrary().initialised, SCI_ERR_NOT_INITIALIZED);
    throw exrnic::sisci::Failure{SCI_ERR_NOT_IMPLEMENTED};
  });
}

}  // namespace

// ---- Registers of SCI

SISCI_EXPORT(SCIGetCSRRegister);
unsigned int SCIGetCSRRegister(sci_desc_t, unsigned int, unsigned int, unsigned int, unsigned int,
                               sci_error_t* error) {
  SayMissing(error);
  return 0;
}
SISCI_EXPORT(SCISetCSRRegister);
void SCISetCSRRegister(sci_desc_t, unsigned int, unsigned int, unsigned int, unsigned int,
                       unsigned int, sci_error_t* error) {
  SayMissing(error);
}
SISCI_EXPORT(SCIGetLocalCSR);
unsigned int SCIGetLocalCSR(sci_desc_t, unsigned int, unsigned int, unsigned int,
                            sci_error_t* error) {
  SayMissing(error);
  return 0;
}
SISCI_EXPORT(SCISetLocalCSR);
void SCISetLocalCSR(sci_desc_t, unsigned int, unsigned int, unsigned int, unsigned int,
                    sci_error_t* error) {
  SayMissing(error);
}

// ---- Physical addresses

SISCI_EXPORT(SCIAttachPhysicalMemory);
void SCIAttachPhysicalMemory(sci_ioaddr_t, void*, unsigned int, size_t, sci_local_segment_t,
                             unsigned int, sci_error_t* error) {
  SayMissing(error);
}
SISCI_EXPORT(SCIConnectSCISpace);
void SCIConnectSCISpace(sci_desc_t, unsigned int, sci_remote_segment_t*, sci_address_t, size_t,
                        unsigned int, sci_error_t* error) {
  SayMissing(error);
}
SISCI_EXPORT(SCIphDmaEnqueue);
void SCIphDmaEnqueue(sci_dma_queue_t, unsigned int, sci_ioaddr_t, unsigned int, unsigned int,
                     unsigned int, unsigned int, sci_error_t* error) {
  SayMissing(error);
}
SISCI_EXPORT(SCIphDmaStart);
sci_dma_queue_state_t SCIphDmaStart(sci_dma_queue_t, sci_cb_dma_t, void*, unsigned int,
                                    sci_error_t* error) {
  SayMissing(error);
  return SCI_DMAQUEUE_ERROR;
}

// ---- Segments that processes share

SISCI_EXPORT(SCIAttachLocalSegment);
void SCIAttachLocalSegment(sci_desc_t, sci_local_segment_t*, unsigned int, size_t*,
                           sci_cb_local_segment_t, void*, unsigned int, sci_error_t* error) {
  SayMissing(error);
}
SISCI_EXPORT(SCIShareSegment);
void SCIShareSegment(sci_local_segment_t, unsigned int, sci_error_t* error) { SayMissing(error); }

// ---- Interrupts by stores

SISCI_EXPORT(SCIRegisterInterruptFlag);
void SCIRegisterInterruptFlag(unsigned int, sci_local_interrupt_t*, sci_local_segment_t, size_t,
                              sci_cb_interrupt_t, void*, unsigned int, sci_error_t* error) {
  SayMissing(error);
}
SISCI_EXPORT(SCIEnableConditionalInterrupt);
void SCIEnableConditionalInterrupt(sci_local_interrupt_t, unsigned int, sci_error_t* error) {
  SayMissing(error);
}
SISCI_EXPORT(SCIDisableConditionalInterrupt);
void SCIDisableConditionalInterrupt(sci_local_interrupt_t, unsigned int, sci_error_t* error) {
  SayMissing(error);
}
SISCI_EXPORT(SCIGetConditionalInterruptTrigCounter);
void SCIGetConditionalInterruptTrigCounter(sci_local_interrupt_t, unsigned int*, unsigned int,
                                           sci_error_t* error) {
  SayMissing(error);
}

// ---- Blocks that are copied meanwhile: DMA queues do that

SISCI_EXPORT(SCITransferBlockAsync);
void SCITransferBlockAsync(sci_map_t, size_t, sci_map_t, size_t, size_t, sci_block_transfer_t*,
                           sci_cb_block_transfer_t, void*, unsigned int, sci_error_t* error) {
  SayMissing(error);
}
SISCI_EXPORT(SCIWaitForBlockTransfer);
void SCIWaitForBlockTransfer(sci_block_transfer_t, unsigned int, unsigned int, sci_error_t* error) {
  SayMissing(error);
}
SISCI_EXPORT(SCIAbortBlockTransfer);
void SCIAbortBlockTransfer(sci_block_transfer_t, unsigned int, sci_error_t* error) {
  SayMissing(error);
}

// ---- Texts

SISCI_EXPORT(SCIGetErrorString);
const char* SCIGetErrorString(sci_error_t error) {
  switch (error) {
    case SCI_ERR_OK:
      return "OK";
    case SCI_ERR_BUSY:
      return "the object is in use";
    case SCI_ERR_FLAG_NOT_IMPLEMENTED:
      return "the flag is not implemented";
    case SCI_ERR_ILLEGAL_FLAG:
      return "the call has not such a flag";
    case SCI_ERR_NOSPC:
      return "no memory, or no room";
    case SCI_ERR_API_NOSPC:
      return "a limit of the library is reached";
    case SCI_ERR_HW_NOSPC:
      return "the RNIC has no more of them";
    case SCI_ERR_NOT_IMPLEMENTED:
      return "not implemented";
    case SCI_ERR_ILLEGAL_ADAPTERNO:
      return "no such number of an adapter";
    case SCI_ERR_NO_SUCH_ADAPTERNO:
      return "there is no such adapter";
    case SCI_ERR_TIMEOUT:
      return "the time is over";
    case SCI_ERR_OUT_OF_RANGE:
      return "out of range";
    case SCI_ERR_NO_SUCH_SEGMENT:
      return "no such segment, or interrupt";
    case SCI_ERR_ILLEGAL_NODEID:
      return "no such number of a node";
    case SCI_ERR_CONNECTION_REFUSED:
      return "the connection was refused";
    case SCI_ERR_SEGMENT_NOT_CONNECTED:
      return "the segment is not connected";
    case SCI_ERR_SIZE_ALIGNMENT:
      return "the size is 0";
    case SCI_ERR_OFFSET_ALIGNMENT:
      return "the offset is not aligned";
    case SCI_ERR_ILLEGAL_PARAMETER:
      return "a null pointer, or a handle of nothing";
    case SCI_ERR_MAX_ENTRIES:
      return "the DMA queue is full";
    case SCI_ERR_SEGMENT_NOT_PREPARED:
      return "the segment is not prepared for the adapter";
    case SCI_ERR_ILLEGAL_ADDRESS:
      return "not all of it is memory of the process";
    case SCI_ERR_ILLEGAL_OPERATION:
      return "not allowed with this object, or in its state";
    case SCI_ERR_ILLEGAL_QUERY:
      return "no such query";
    case SCI_ERR_SEGMENTID_USED:
      return "the number is used";
    case SCI_ERR_SYSTEM:
      return "a system call failed";
    case SCI_ERR_CANCELLED:
      return "the object was removed";
    case SCI_ERR_NOT_CONNECTED:
      return "not connected";
    case SCI_ERR_NOT_AVAILABLE:
      return "not available";
    case SCI_ERR_INCONSISTENT_VERSIONS:
      return "library and driver are of different versions";
    case SCI_ERR_COND_INT_RACE_PROBLEM:
      return "an interrupt came meanwhile";
    case SCI_ERR_OVERFLOW:
      return "too many to be counted";
    case SCI_ERR_NOT_INITIALIZED:
      return "SCIInitialize was not called";
    case SCI_ERR_ACCESS:
      return "no access";
    case SCI_ERR_NO_SUCH_NODEID:
      return "no such node";
    case SCI_ERR_NODE_NOT_RESPONDING:
      return "the node, or the process there, does not answer";
    case SCI_ERR_NO_REMOTE_LINK_ACCESS:
      return "a link on the way is down";
    case SCI_ERR_NO_LINK_ACCESS:
      return "the link of the adapter is down";
    case SCI_ERR_TRANSFER_FAILED:
      return "the transfer has failed";
  }
  return "no error of SISCI";
}
