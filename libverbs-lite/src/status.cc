// SPDX-License-Identifier: BSD-2-Clause
#include "exrnic/verbs.h"

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
    case VL_WC_GENERAL_ERR:
      return "unknown status from the device";
  }
  return "no such status";
}
