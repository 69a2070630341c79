// SPDX-License-Identifier: BSD-2-Clause
// What the blocks of the core share: records and numbers from rtl-model/spec/blocks, and functions.
// Numbers that software shares are in exrnic_pkg.
//
// Handshakes: `valid` and `ready` in the same cycle move one item; `valid` does not wait for
// `ready`. A pulse (no ready) is always taken.

package exrnic_core_pkg;
  import exrnic_pkg::*;
  import exrnic_records_pkg::*;
  export exrnic_records_pkg::*;

  /* verilator lint_off UNUSEDPARAM */

  typedef logic [$clog2(DATA_BYTES):0] beat_bytes_t;  // 1..DATA_BYTES

  function automatic logic credit_beyond(credit_t a, credit_t b);  // is a above b?
    return signed'(credit_t'(b - a)) < 0;
  endfunction

  function automatic generation_t next_generation(generation_t now);
    return now == '1 ? generation_t'(1) : now + 1'b1;
  endfunction

  // Why an RDMA Read or Atomic Request is refused whose memory is not granted.
  function automatic term_code_e request_refusal(xlate_status_e status);
    unique case (status)
      XLATE_STAG: return TERM_CODE_RDMAP_STAG;
      XLATE_STREAM: return TERM_CODE_RDMAP_STREAM;
      XLATE_ACCESS: return TERM_CODE_ACCESS;
      XLATE_WRAP: return TERM_CODE_RDMAP_WRAP;
      XLATE_BOUNDS: return TERM_CODE_RDMAP_BOUNDS;
      default: return TERM_CODE_STREAM;
    endcase
  endfunction

  // Does a queue pair in that state serve its peer; and may it have own work under way?
  function automatic logic qp_connected(qp_state_e state);
    return state inside {QP_STATE_RTR, QP_STATE_RTS, QP_STATE_SQD};
  endfunction
  function automatic logic qp_sends(qp_state_e state);
    return state inside {QP_STATE_RTS, QP_STATE_SQD};
  endfunction

  // It is in SQD, and nobody knows yet that all work which had begun has ended.
  /* verilator lint_off UNUSEDSIGNAL */  // some fields count
  function automatic logic is_draining(qp_t qp);
    return qp.status.state == QP_STATE_SQD && qp.status.drains != qp.ended.drained;
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  // Of the flags access those that peers have.
  localparam logic [7:0] REMOTE_RIGHTS =
      8'(1 << ACCESS_REMOTE_WRITE | 1 << ACCESS_REMOTE_READ | 1 << ACCESS_REMOTE_ATOMIC);

  // The attributes of a queue pair that nobody has set any (mbox_modify_qp).
  function automatic qp_config_t new_attributes(qp_config_t qp);
    new_attributes = qp;
    new_attributes.qkey = '0;
    new_attributes.pkey_index = '0;
    new_attributes.access = REMOTE_RIGHTS;
    new_attributes.path_mtu = chunk_t'(MTU_MAX);
    new_attributes.max_reads_in = qp.places_in;
    new_attributes.max_reads_out = qp.places_out;
    new_attributes.rnr_timer = '0;
    new_attributes.rnr_retry = '0;
    new_attributes.timeout = '0;
    new_attributes.retry_count = '0;
  endfunction

  // Does a P_Key of a frame or a queue pair name a partition; which one is an entry of the table; and
  // do two match (PKEY_FULL)?
  function automatic logic pkey_valid(logic [15:0] pkey);
    return (pkey & ~16'(PKEY_FULL)) != '0;
  endfunction
  function automatic logic [15:0] pkey_of(pkeys_t pkeys, pkey_index_t index);
    return pkeys[16*index+:16];
  endfunction
  function automatic logic pkeys_match(logic [15:0] a, logic [15:0] b);
    return pkey_valid(a) && ((a ^ b) & ~16'(PKEY_FULL)) == '0 &&
        ((a | b) & 16'(PKEY_FULL)) != '0;
  endfunction

  // Is a queue pair number of a frame or a work request that of a group?
  function automatic logic is_group(logic [23:0] qpn);
    return (qpn & ~24'(GROUP_MAX)) == 24'(GROUP_QPN);
  endfunction

  /* verilator lint_on UNUSEDPARAM */
endpackage
