// SPDX-License-Identifier: BSD-2-Clause
// The requester's ways to translation: one request at a time, those for slots of a ring first.

`include "exrnic_assert.svh"

module xlate_turns
  import exrnic_core_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    // The other two do not ask at the same time.
    xlate_if.server slots,
    xlate_if.server payload,
    xlate_if.server change,

    xlate_if.client xlate
);

  logic busy_q, slots_q;  // a request is under way, and is for slots
  assign xlate.valid = !busy_q && (slots.valid || payload.valid || change.valid);
  assign xlate.hold = slots.hold || payload.hold || change.hold;
  always_comb begin
    xlate.req = payload.req;
    if (change.valid) xlate.req = change.req;
    if (slots.valid) xlate.req = slots.req;
  end

  logic turn_ready, turn_rsp_valid;
  assign turn_ready = xlate.ready && !busy_q && !slots.valid;
  assign turn_rsp_valid = xlate.rsp_valid && !slots_q;
  assign slots.ready = xlate.ready && !busy_q;
  assign slots.rsp_valid = xlate.rsp_valid && slots_q;
  assign slots.rsp = xlate.rsp;
  assign slots.let_go = xlate.let_go;
  assign payload.ready = turn_ready;
  assign payload.rsp_valid = turn_rsp_valid;
  assign payload.rsp = xlate.rsp;
  assign payload.let_go = xlate.let_go;
  assign change.ready = turn_ready;
  assign change.rsp_valid = turn_rsp_valid;
  assign change.rsp = xlate.rsp;
  assign change.let_go = xlate.let_go;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= 1'b0;
    else busy_q <= (xlate.valid && xlate.ready) || (busy_q && !xlate.rsp_valid);
  end
  always_ff @(posedge clk_i) begin
    if (xlate.valid && xlate.ready) slots_q <= slots.valid;
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(one_of_a_turn, !(payload.valid && change.valid))

endmodule
