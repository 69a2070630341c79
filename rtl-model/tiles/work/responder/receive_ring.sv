// SPDX-License-Identifier: BSD-2-Clause
// The ring that a queue pair takes receives from, its own or a shared one, and what becomes of it
// when a receive is taken. Combinational.

module receive_ring
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  qpn_t qpn_i,
    /* verilator lint_off UNUSEDSIGNAL */  // what the two have in common
    input  qp_t  qp_i,
    input  srq_t srq_i,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic        any_o,  // a slot is posted
    output receive_ring_t ring_o,

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

  always_comb begin
    ring_o.id.shared = shared;
    ring_o.id.number = shared ? ($bits(ring_o.id.number))'(qp_i.cfg.srqn) : qpn_i;
    ring_o.pbl       = shared ? srq_i.cfg.pbl : qp_i.cfg.rq_pbl;
    ring_o.log_slots = shared ? srq_i.cfg.log_slots : qp_i.cfg.rq_log;
    ring_o.producer  = shared ? srq_i.producer : qp_i.rq_producer;
    ring_o.consumer  = shared ? srq_i.consumer : qp_i.rq_consumer;
  end
  assign any_o = ring_o.producer != ring_o.consumer && (!shared || srq_i.cfg.valid);

  assign rq_we_o  = taken_i && !shared;
  assign srq_we_o = taken_i && shared;
  assign next_o   = wqe_index_i + 1'b1;
  assign left     = srq_i.producer - next_o;
  assign below    = srq_i.limit != '0 && left < srq_i.limit;
  assign limit_o  = below ? '0 : srq_i.limit;
  assign limit_event_o = srq_we_o && below;

endmodule
