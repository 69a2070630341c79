// SPDX-License-Identifier: BSD-2-Clause
#include "exrnic/messages.h"
#include "exrnic/verbs.h"
#include "exrnic_hw.h"

// Texts for people. A switch without default: the compiler names what is missing.

const char* vl_status_string(vl_wc_status status) {
  switch (status) {
    case VL_WC_SUCCESS:
      return "success";
    case VL_WC_LOC_LEN_ERR:
      return "local length error";
    case VL_WC_LOC_QP_OP_ERR:
      return "malformed work request";
    case VL_WC_LOC_PROT_ERR:
      return "local protection error";
    case VL_WC_WR_FLUSH_ERR:
      return "flushed: the queue pair is in the error state";
    case VL_WC_REM_ACCESS_ERR:
      return "remote access error";
    case VL_WC_REM_OP_ERR:
      return "remote operation error";
    case VL_WC_RETRY_EXC_ERR:
      return "the peer does not answer";
    case VL_WC_RNR_RETRY_EXC_ERR:
      return "the peer has no receive for it";
    case VL_WC_GENERAL_ERR:
      return "unknown status from the device";
  }
  return "no such status";
}

const char* vl_wc_opcode_string(vl_wc_opcode opcode) {
  switch (opcode) {
    case VL_WC_PUSH:
      return "PUSH";
    case VL_WC_RECV:
      return "receive";
    case VL_WC_SEND:
      return "SEND";
    case VL_WC_PULL:
      return "PULL";
    case VL_WC_LOCAL_INVALIDATE:
      return "local invalidation";
    case VL_WC_FETCH_ADD:
      return "fetch and add";
    case VL_WC_COMPARE_SWAP:
      return "compare and swap";
    case VL_WC_UNKNOWN:
      return "unknown operation from the device";
  }
  return "no such operation";
}

const char* vl_qp_state_string(vl_qp_state state) {
  switch (state) {
    case VL_QPS_RESET:
      return "RESET";
    case VL_QPS_INIT:
      return "INIT";
    case VL_QPS_RTR:
      return "RTR";
    case VL_QPS_RTS:
      return "RTS";
    case VL_QPS_ERROR:
      return "ERROR";
  }
  return "no such state";
}

const char* vl_event_type_string(vl_event_type type) {
  switch (type) {
    case VL_EVENT_QP_ERROR:
      return "a queue pair went to the error state";
    case VL_EVENT_CQ_ERROR:
      return "a completion queue has overrun";
    case VL_EVENT_SRQ_LIMIT:
      return "a shared receive queue is below its limit";
    case VL_EVENT_PEER_DEAD:
      return "a node does not answer any more";
    case VL_EVENT_LINK:
      return "the Ethernet link came or went";
    case VL_EVENT_DEVICE_FATAL:
      return "the RNIC is gone";
  }
  return "no such event";
}

const char* vl_terminate_string(uint32_t detail) {
  switch (static_cast<exrnic_term_code>(detail)) {
    case EXRNIC_TERM_CODE_LOCAL_CATASTROPHIC:
      return "RDMAP: local catastrophic error, the receive that the message met is unusable";
    case EXRNIC_TERM_CODE_RDMAP_STAG:
      return "RDMAP: invalid STag";
    case EXRNIC_TERM_CODE_RDMAP_BOUNDS:
      return "RDMAP: base or bounds violation";
    case EXRNIC_TERM_CODE_ACCESS:
      return "RDMAP: access rights violation";
    case EXRNIC_TERM_CODE_RDMAP_STREAM:
      return "RDMAP: STag not associated with the stream";
    case EXRNIC_TERM_CODE_RDMAP_WRAP:
      return "RDMAP: TO wrap";
    case EXRNIC_TERM_CODE_NOT_INVALIDATED:
      return "RDMAP: STag cannot be invalidated";
    case EXRNIC_TERM_CODE_RDMAP_VERSION:
      return "RDMAP: invalid RDMAP version";
    case EXRNIC_TERM_CODE_OPCODE:
      return "RDMAP: unexpected opcode";
    case EXRNIC_TERM_CODE_STREAM:
      return "RDMAP: catastrophic, localized to the stream";
    case EXRNIC_TERM_CODE_TAGGED_STAG:
      return "DDP: tagged buffer, invalid STag";
    case EXRNIC_TERM_CODE_TAGGED_BOUNDS:
      return "DDP: tagged buffer, base or bounds violation";
    case EXRNIC_TERM_CODE_TAGGED_STREAM:
      return "DDP: tagged buffer, STag not associated with the stream";
    case EXRNIC_TERM_CODE_TAGGED_WRAP:
      return "DDP: tagged buffer, TO wrap";
    case EXRNIC_TERM_CODE_TAGGED_VERSION:
      return "DDP: tagged buffer, invalid DDP version";
    case EXRNIC_TERM_CODE_UNTAGGED_QN:
      return "DDP: untagged buffer, invalid QN";
    case EXRNIC_TERM_CODE_UNTAGGED_NO_BUFFER:
      return "DDP: untagged buffer, invalid MSN, no buffer available";
    case EXRNIC_TERM_CODE_UNTAGGED_MSN:
      return "DDP: untagged buffer, invalid MSN, out of range";
    case EXRNIC_TERM_CODE_UNTAGGED_MO:
      return "DDP: untagged buffer, invalid MO";
    case EXRNIC_TERM_CODE_UNTAGGED_TOO_LONG:
      return "DDP: untagged buffer, message too long for the buffer";
    case EXRNIC_TERM_CODE_UNTAGGED_VERSION:
      return "DDP: untagged buffer, invalid DDP version";
  }
  return "no such terminate code";
}

const char* vl_message_status_string(vl_message_status status) {
  switch (status) {
    case VL_MESSAGE_OK:
      return "success";
    case VL_MESSAGE_MALFORMED:
      return "no such node, or not one of this group";
    case VL_MESSAGE_TIMEOUT:
      return "not everybody answered in time";
    case VL_MESSAGE_TOO_LONG:
      return "longer than the receiver's places for messages";
  }
  return "no such status";
}
