// SPDX-License-Identifier: BSD-2-Clause
// The ring that a queue pair takes receives from, its own or a shared one, and what becomes of it
// when a receive is taken. Combinational.

module receive_ring
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    /* verilator lint_off UNUSEDSIGNAL */  // what the two have in common
    input  qp_t  qp_i,
    input  srq_t srq_i,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic        any_o,  // a slot is posted
    output logic [63:0] pbl_o,
    output logic [3:0]  log_o,
    output wqe_index_t  producer_o,
    output wqe_index_t  consumer_o,

    input  logic        taken_i,      // pulse: a receive is taken,
    input  wqe_index_t  wqe_index_i,  // this is its last slot
    output logic        rq_we_o,
    output logic        srq_we_o,
    output wqe_index_t  next_o,
    output logic [15:0] limit_o,  // of the shared queue from now on
    output logic        limit_event_o
);

  logic shared, below;
  wqe_index_t left;
  assign shared = qp_i.cfg.has_srq;

  assign pbl_o      = shared ? srq_i.cfg.pbl : qp_i.cfg.rq_pbl;
  assign log_o      = shared ? srq_i.cfg.log_slots : qp_i.cfg.rq_log;
  assign producer_o = shared ? srq_i.producer : qp_i.rq_producer;
  assign consumer_o = shared ? srq_i.consumer : qp_i.rq_consumer;
  assign any_o      = producer_o != consumer_o && (!shared || srq_i.cfg.valid);

  assign rq_we_o  = taken_i && !shared;
  assign srq_we_o = taken_i && shared;
  assign next_o   = wqe_index_i + 1'b1;
  assign left     = srq_i.producer - next_o;
  assign below    = srq_i.limit != '0 && left < srq_i.limit;
  assign limit_o  = below ? '0 : srq_i.limit;
  assign limit_event_o = srq_we_o && below;

endmodule
