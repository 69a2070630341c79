// SPDX-License-Identifier: BSD-2-Clause
// Queue pairs whose PULLs are under way, or that wait for the answer to an introduction: behind an
// interval of time in which nothing was heard of that a queue pair is to ask its peer's, and is woken for that.

`include "exrnic_assert.svh"

module pull_watch
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    output logic idle_o,     // nobody is to be woken,
    output logic watches_o,  // but somebody may be when the next interval begins

    /* verilator lint_off UNUSEDSIGNAL */
    input logic [63:0] time_i,  // ns
    /* verilator lint_on UNUSEDSIGNAL */

    input logic begin_i,  // a PULL begins, or it introduces itself and waits,
    input logic asked_i,  // or the peer was asked
    input logic over_i,   // or it has a turn, and waits for nothing of its peer
    input qpn_t own_qpn_i,
    input logic heard_i,  // a part of a response came, or a PULL ended,
    input logic none_i,   // and it was the last one
    input qpn_t heard_qpn_i,
    input logic clear_i,  // the queue pair is configured anew
    input qpn_t clear_qpn_i,

    input  qpn_t look_qpn_i,
    output logic asks_o,  // combinational: it is to ask

    output logic wake_valid_o,
    input  logic wake_ready_i,
    output qpn_t wake_qpn_o
);

  logic [N_QP-1:0] watched_q, silent_q, asks_q;
  logic [N_QP-1:0] watched, silent, asks;  // what they become then

  logic interval_q, begins;
  assign begins = time_i[PULL_ASK_SHIFT] != interval_q;

  logic changes;
  assign changes = begins || begin_i || asked_i || heard_i || clear_i || over_i;
  always_comb begin
    {watched, silent, asks} = '0;
    if (changes) begin
      watched = watched_q;
      silent = begins ? watched_q : silent_q;
      asks = begins ? asks_q | silent_q : asks_q;
      if (heard_i) {silent[heard_qpn_i], asks[heard_qpn_i]} = '0;
      if (heard_i && none_i) watched[heard_qpn_i] = 1'b0;
      if (begin_i || asked_i) {silent[own_qpn_i], asks[own_qpn_i]} = '0;
      if (begin_i) watched[own_qpn_i] = 1'b1;
      if (over_i) {watched[own_qpn_i], silent[own_qpn_i], asks[own_qpn_i]} = '0;
      if (clear_i) {watched[clear_qpn_i], silent[clear_qpn_i], asks[clear_qpn_i]} = '0;
    end
  end

  // ---- Those that are to ask are woken once, one after the other
  logic wakes_q;
  qpn_t scan_q;
  assign wake_valid_o = wakes_q && asks_q[scan_q];
  assign wake_qpn_o = scan_q;
  assign idle_o = !wakes_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {watched_q, silent_q, asks_q} <= '0;
      interval_q <= 1'b0;
      watches_o  <= 1'b0;
      wakes_q    <= 1'b0;
      scan_q     <= '0;
    end else begin
      if (changes) begin
        interval_q <= time_i[PULL_ASK_SHIFT];
        watched_q  <= watched;
        silent_q   <= silent;
        asks_q     <= asks;
        watches_o  <= watched != '0;
      end
      if (begins) begin
        wakes_q <= asks != '0;
        scan_q  <= '0;
      end else if (wakes_q && (!wake_valid_o || wake_ready_i)) begin
        wakes_q <= scan_q != qpn_t'(N_QP - 1);
        scan_q  <= scan_q + 1'b1;
      end
    end
  end

  assign asks_o = asks_q[look_qpn_i];

  // ---- What is promised
  // Unless its queue pair need not ask any more, or the next interval begins.
  `EXRNIC_ALWAYS(wake_is_held, wake_valid_o && !wake_ready_i |=>
      (wake_valid_o && $stable(wake_qpn_o)) || !asks_q[$past(wake_qpn_o)] || $past(begins))

endmodule
