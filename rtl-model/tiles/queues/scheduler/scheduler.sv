// SPDX-License-Identifier: BSD-2-Clause
// Queue pairs that have something to do, each at most once, in the order of their turn. A queue
// pair that is served and has more to do goes to the end: no one starves another.

`include "exrnic_assert.svh"

module scheduler
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned SOURCES = 4,
    parameter int unsigned AHEAD = 8  // turns that are looked at before they come
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

    // Those that come next, each once, before their turn.
    output logic next_valid_o,
    input  logic next_ready_i,
    output qpn_t next_qpn_o,

    // The queue pair that has its turn, and whether any other waits for one.
    input  qpn_t serving_qpn_i,
    output logic others_wait_o
);

  localparam int unsigned PtrW = $clog2(N_QP);

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

  logic [PtrW:0] waiting;
  assign pop_valid_o = waiting != '0;
  assign pop         = pop_valid_o && pop_ready_i;

  // A wake-up in the very cycle of its pop must not be lost: it queues again.
  logic enqueue;
  assign enqueue = push && (!queued || (pop && pop_qpn_o == push_qpn));

  ram_fifo #(
      .WIDTH($bits(qpn_t)),
      .DEPTH(N_QP)
  ) u_turns (
      .clk_i,
      .rst_ni,
      .push_i     (enqueue),
      .push_data_i(push_qpn),
      .pop_i      (pop),
      .head_o     (pop_qpn_o),
      .count_o    (waiting)
  );

  // The same queue, from the first one on that was not looked at.
  logic [PtrW:0] unseen;
  logic sees;
  assign next_valid_o = unseen != '0 && waiting - unseen < (PtrW + 1)'(AHEAD) && !(pop && unseen == waiting);
  assign sees = (next_valid_o && next_ready_i) || (pop && unseen == waiting);
  ram_fifo #(
      .WIDTH($bits(qpn_t)),
      .DEPTH(N_QP)
  ) u_unseen (
      .clk_i,
      .rst_ni,
      .push_i     (enqueue),
      .push_data_i(push_qpn),
      .pop_i      (sees),
      .head_o     (next_qpn_o),
      .count_o    (unseen)
  );

  // ---- Who is queued: if these two differ, it was put in once more than it was taken out. So each of them has
  // one writer.
  logic queued, serving_queued;
  logic put[2], got[3];
  qpn_t put_qpn[2], got_qpn[3];
  assign put_qpn = '{push_qpn, serving_qpn_i};
  assign got_qpn = '{push_qpn, serving_qpn_i, pop_qpn_o};
  assign queued = put[0] != got[0];
  assign serving_queued = put[1] != got[1];
  assign others_wait_o = waiting > (PtrW + 1)'(serving_queued);

  lut_ram_nr1w #(
      .WIDTH(1),
      .DEPTH(N_QP),
      .READERS(2)
  ) u_put (
      .clk_i,
      .write_i        (!init_done_o || enqueue),
      .write_address_i(init_done_o ? push_qpn : qpn_t'(init_q)),
      .write_data_i   (init_done_o && !put[0]),
      .read_address_i (put_qpn),
      .read_data_o    (put)
  );
  lut_ram_nr1w #(
      .WIDTH(1),
      .DEPTH(N_QP),
      .READERS(3)
  ) u_got (
      .clk_i,
      .write_i        (!init_done_o || pop),
      .write_address_i(init_done_o ? pop_qpn_o : qpn_t'(init_q)),
      .write_data_i   (init_done_o && !got[2]),
      .read_address_i (got_qpn),
      .read_data_o    (got)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) init_q <= '0;
    else if (!init_done_o) init_q <= init_q + 1'b1;
  end

  // ---- What is promised
  `EXRNIC_HELD(pop_is_held, pop_valid_o, pop_ready_i, pop_qpn_o)
  `EXRNIC_ALWAYS(each_once, 32'(waiting) <= N_QP)
  `EXRNIC_ALWAYS(looks_ahead, unseen <= waiting)
  `EXRNIC_ALWAYS(one_is_taken, $onehot0(push_ready_o))

endmodule
