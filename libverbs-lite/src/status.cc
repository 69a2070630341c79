// SPDX-License-Identifier: BSD-2-Clause
#include "exrnic/messages.h"
#include "exrnic/verbs.h"
#include "exrnic_hw.h"

// Texts for people: what the specification says of what the device knows. A switch without default:
// the compiler names what is missing.

const char* vl_status_string(vl_wc_status status) {
  switch (status) {
#define EXRNIC_CASE(name, meaning) \
  case VL_WC_##name:               \
    return meaning;
    EXRNIC_CQE_STATUS_EACH(EXRNIC_CASE)
    case VL_WC_GENERAL_ERR:
      return "Unknown status from the device";
  }
  return "no such status";
}

const char* vl_wc_opcode_string(vl_wc_opcode opcode) {
  switch (opcode) { EXRNIC_COMPLETION_EACH(EXRNIC_CASE) }
#undef EXRNIC_CASE
  return "no such operation";
}

const char* vl_qp_state_string(vl_qp_state state) {
  switch (state) {
#define EXRNIC_CASE(name, meaning) \
  case VL_QPS_##name:              \
    return #name;
    EXRNIC_QP_STATE_EACH(EXRNIC_CASE)
#undef EXRNIC_CASE
  }
  return "no such state";
}

const char* vl_event_type_string(vl_event_type type) {
  switch (type) {
    case VL_EVENT_QP_ERROR:
      return "a queue pair went to the error state";
    case VL_EVENT_QP_LAST_WQE:
      return "a queue pair holds no receive of its shared receive queue any more";
    case VL_EVENT_QP_SQ_DRAINED:
      return "the send queue of a queue pair has drained";
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
#define EXRNIC_CASE(name, meaning) \
  case EXRNIC_TERM_CODE_##name:    \
    return meaning;
    EXRNIC_TERM_CODE_EACH(EXRNIC_CASE)
#undef EXRNIC_CASE
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
