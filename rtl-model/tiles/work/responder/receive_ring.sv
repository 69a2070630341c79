// SPDX-License-Identifier: BSD-2-Clause
// The ring that a queue pair takes receives from, its own or a shared one, and what becomes of it
// when a receive is taken. Combinational.

module receive_ring
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
(
    input  qpn_t qpn_i,
    /* verilator lint_off UNUSEDSIGNAL */  // what the two have in common
    input  qp_t  qp_i,
    input  srq_t srq_i,
    input  fetched_t fetched_i,
    /* verilator lint_on UNUSEDSIGNAL */

    output logic          any_o,  // a slot is posted
    output slot_ring_t ring_o,
    output ring_change_t  change_o
);

  logic shared, below;
  wqe_index_t next, left;
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

  assign next  = fetched_i.wqe_index + 1'b1;
  assign left  = srq_i.producer - next;
  assign below = srq_i.limit != '0 && left < srq_i.limit;
  assign change_o = '{
          own: fetched_i.done && !shared,
          shared: fetched_i.done && shared,
          consumer: next,
          limit: below ? '0 : srq_i.limit,
          limit_event: fetched_i.done && shared && below
      };

endmodule
