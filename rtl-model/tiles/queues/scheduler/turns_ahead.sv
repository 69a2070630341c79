// SPDX-License-Identifier: BSD-2-Clause
// Looks at queue pairs whose turn comes soon, and wishes for the work requests of their first turn: so they
// are on chip when it begins. It may be wrong, and does no harm then.

`include "exrnic_assert.svh"

module turns_ahead
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    input  logic quiesce_i,  // what it has read may be of the past: it is forgotten
    output logic idle_o,

    input  logic next_valid_i,
    output logic next_ready_o,
    input  qpn_t next_qpn_i,

    output logic qp_read_o,
    output qpn_t qp_index_o,
    /* verilator lint_off UNUSEDSIGNAL */  // some fields count
    input  qp_t  qp_i,  // one cycle later
    /* verilator lint_on UNUSEDSIGNAL */

    output logic       wish_valid_o,
    input  logic       wish_ready_i,
    output slot_ring_t wish_o
);

  typedef enum logic [1:0] { StIdle, StLook, StWish } state_e;
  state_e state_q;
  qpn_t qpn_q;
  slot_ring_t wish_q, wish;
  wqe_index_t posted;
  logic sends;
  assign posted = qp_i.sq_producer - qp_i.sq.consumer;
  assign sends = qp_i.cfg.valid && qp_i.status.state == QP_STATE_RTS && !qp_i.sq.halted && posted != '0;
  always_comb begin
    wish = '0;
    wish.id.number = ($bits(wish.id.number))'(qpn_q);
    wish.pbl = qp_i.cfg.sq_pbl;
    wish.log_slots = qp_i.cfg.sq_log;
    wish.consumer = qp_i.sq.consumer;
    wish.producer =
        posted > wqe_index_t'(TURN_SLOTS) ? qp_i.sq.consumer + wqe_index_t'(TURN_SLOTS) : qp_i.sq_producer;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else if (quiesce_i) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle: if (next_valid_i) state_q <= StLook;
        StLook: state_q <= sends ? StWish : StIdle;
        default: if (wish_ready_i) state_q <= StIdle;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q == StIdle) qpn_q <= next_qpn_i;
    if (state_q == StLook) wish_q <= wish;
  end

  assign idle_o = state_q == StIdle && !next_valid_i;
  assign next_ready_o = state_q == StIdle && !quiesce_i;
  assign qp_read_o = next_valid_i && next_ready_o;
  assign qp_index_o = next_qpn_i;
  assign wish_valid_o = state_q == StWish && !quiesce_i;
  assign wish_o = wish_q;

endmodule
