// SPDX-License-Identifier: BSD-2-Clause
// Queue pairs that have something to do, each at most once, in the order of their turn. A queue
// pair that is served and has more to do goes to the end: no one starves another.

`include "exrnic_assert.svh"

module scheduler
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned N_QP    = MAX_QP,
    parameter int unsigned SOURCES = 4
) (
    input  logic clk_i,
    input  logic rst_ni,
    output logic init_done_o,

    // Wake-ups; the lowest source wins. One that is queued already is taken and changes nothing.
    input  logic [SOURCES-1:0] push_valid_i,
    output logic [SOURCES-1:0] push_ready_o,
    input  qpn_t               push_qpn_i[SOURCES],

    output logic pop_valid_o,
    input  logic pop_ready_i,
    output qpn_t pop_qpn_o,

    // The queue pair that has its turn, and whether any other waits for one.
    input  qpn_t serving_qpn_i,
    output logic others_wait_o
);

  localparam int unsigned PtrW = $clog2(N_QP);

  qpn_t fifo_q[N_QP];
  logic queued_q[N_QP];
  logic [PtrW:0] head_q, tail_q;  // one bit more than an index: equal is empty

  logic [PtrW:0] init_q;
  assign init_done_o = init_q[PtrW];

  logic push, pop;
  qpn_t push_qpn;
  always_comb begin
    push_qpn     = '0;
    push_ready_o = '0;
    push         = 1'b0;
    for (int unsigned i = 0; i < SOURCES; i++) begin
      if (push_valid_i[i] && !push && init_done_o) begin
        push            = 1'b1;
        push_ready_o[i] = 1'b1;
        push_qpn        = push_qpn_i[i];
      end
    end
  end

  assign pop_valid_o = head_q != tail_q;
  assign pop_qpn_o   = fifo_q[head_q[PtrW-1:0]];
  assign pop         = pop_valid_o && pop_ready_i;

  logic [PtrW:0] waiting;
  assign waiting = tail_q - head_q;
  assign others_wait_o = waiting > (PtrW + 1)'(queued_q[serving_qpn_i]);

  // A wake-up in the very cycle of its pop must not be lost: it queues again.
  logic enqueue;
  assign enqueue = push && (!queued_q[push_qpn] || (pop && pop_qpn_o == push_qpn));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q <= '0;
      tail_q <= '0;
      init_q <= '0;
    end else begin
      if (!init_done_o) init_q <= init_q + 1'b1;
      if (pop) head_q <= head_q + 1'b1;
      if (enqueue) tail_q <= tail_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (enqueue) fifo_q[tail_q[PtrW-1:0]] <= push_qpn;
    if (!init_done_o) queued_q[qpn_t'(init_q)] <= 1'b0;
    else begin
      if (pop) queued_q[pop_qpn_o] <= 1'b0;
      if (push) queued_q[push_qpn] <= 1'b1;
    end
  end

  // ---- What is promised
  `EXRNIC_HELD(pop_is_held, pop_valid_o, pop_ready_i, pop_qpn_o)
  `EXRNIC_ALWAYS(each_once, 32'(waiting) <= N_QP)

endmodule
