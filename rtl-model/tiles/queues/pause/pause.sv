// SPDX-License-Identifier: BSD-2-Clause
// Queue pairs whose message found no receive: until when each sends nothing of its own, and the
// wake-up behind that.

`include "exrnic_assert.svh"

module pause
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    output logic idle_o,  // nobody pauses

    /* verilator lint_off UNUSEDSIGNAL */
    input logic [63:0] time_i,  // ns; no pause is so long that the low bits do not tell
    /* verilator lint_on UNUSEDSIGNAL */

    input logic       start_i,
    input qpn_t       start_qpn_i,
    input logic [4:0] start_code_i,  // see RNR_TIMER_MAX

    // It waits for credits: a pause of CREDIT_PROBE_CODE, that ends when they come.
    input logic wait_i,
    input qpn_t wait_qpn_i,
    input logic raised_i,
    input qpn_t raised_qpn_i,

    // Not any more: it sends nothing now.
    input logic [3:0] clear_i,
    input qpn_t       clear_qpn_i[4],

    input  qpn_t look_qpn_i,
    output logic pauses_o,  // combinational

    output logic wake_valid_o,
    input  logic wake_ready_i,
    output qpn_t wake_qpn_o
);

  // More than twice the longest pause, in ns.
  localparam int unsigned TimeBits = 32;
  typedef logic [TimeBits-1:0] ns_t;

  logic [N_QP-1:0] pauses_q, waits_q, raised_q;

  // ---- How long
  function automatic ns_t length(logic [4:0] code);
    logic [4:0] shift;
    ns_t units;
    shift = code == '0 ? 5'd16 : {1'b0, code[4:1]};
    if (code > 5'd1 && code[0]) units = ns_t'(3) << (shift - 5'd1);
    else units = ns_t'(1) << shift;
    return units * ns_t'(RNR_UNIT_NS);
  endfunction
  ns_t now;
  assign now = time_i[TimeBits-1:0];

  // ---- Until when: a memory for each kind of pause, as both may begin at once
  qpn_t scan;
  ns_t  asked_until, waits_until, ask_until, wait_until;
  always_comb begin
    {ask_until, wait_until} = '0;
    if (start_i) ask_until = now + length(start_code_i);
    if (wait_i) wait_until = now + length(5'(CREDIT_PROBE_CODE));
  end
  ram_1r1w #(
      .WIDTH(TimeBits),
      .DEPTH(N_QP)
  ) u_asked_until (
      .clk_i,
      .write_i        (start_i),
      .write_address_i(start_qpn_i),
      .write_data_i   (ask_until),
      .read_i         (!idle_o),
      .read_address_i (scan),
      .read_data_o    (asked_until)
  );
  ram_1r1w #(
      .WIDTH(TimeBits),
      .DEPTH(N_QP)
  ) u_waits_until (
      .clk_i,
      .write_i        (wait_i),
      .write_address_i(wait_qpn_i),
      .write_data_i   (wait_until),
      .read_i         (!idle_o),
      .read_address_i (scan),
      .read_data_o    (waits_until)
  );

  // ---- One is looked at in a cycle. Of one whose pause has just begun the memory does not tell yet, but
  // no pause is over so soon. One whose credits have come is looked at between: the walk over all goes on where it
  // was, so nobody is passed over.
  qpn_t scan_q, walk_q;
  logic began_q;
  ns_t  over_by;
  always_comb begin
    {over_by, wake_valid_o} = '0;
    if (pauses_q[scan_q]) begin
      over_by = now - (waits_q[scan_q] ? waits_until : asked_until);
      wake_valid_o = raised_q[scan_q] || !(began_q || over_by[TimeBits-1]);
    end
  end
  assign wake_qpn_o = scan_q;
  logic moves;
  assign moves = !wake_valid_o || wake_ready_i;
  always_comb begin
    scan = scan_q;
    if (moves) begin
      if (raised) scan = raised_qpn_i;
      else scan = idle_o ? '0 : walk_q + 1'b1;
    end
  end

  logic changes;
  logic [N_QP-1:0] pauses;  // what they become then
  assign changes = (wake_valid_o && wake_ready_i) || clear_i != '0 || wait_i || start_i;
  always_comb begin
    pauses = '0;
    if (changes) begin
      pauses = pauses_q;
      if (wake_valid_o && wake_ready_i) pauses[scan_q] = 1'b0;
      for (int unsigned i = 0; i < 4; i++) if (clear_i[i]) pauses[clear_qpn_i[i]] = 1'b0;
      if (wait_i) pauses[wait_qpn_i] = 1'b1;
      if (start_i) pauses[start_qpn_i] = 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pauses_q <= '0;
      waits_q  <= '0;
      raised_q <= '0;
      scan_q   <= '0;
      walk_q   <= '0;
      began_q  <= 1'b0;
      idle_o   <= 1'b1;
    end else begin
      scan_q  <= scan;
      if (moves && !raised) walk_q <= scan;
      began_q <= (wait_i && wait_qpn_i == scan) || (start_i && start_qpn_i == scan);
      if (changes) begin
        pauses_q <= pauses;
        idle_o   <= pauses == '0;
      end
      if (raised) raised_q[raised_qpn_i] <= 1'b1;
      if (wait_i) {waits_q[wait_qpn_i], raised_q[wait_qpn_i]} <= 2'b10;
      if (start_i) {waits_q[start_qpn_i], raised_q[start_qpn_i]} <= 2'b00;
    end
  end
  logic raised;
  assign raised = raised_i && pauses_q[raised_qpn_i] && waits_q[raised_qpn_i];

  assign pauses_o = pauses_q[look_qpn_i];

  // ---- What is promised
  // Unless its queue pair pauses no more, or anew.
  `EXRNIC_ALWAYS(wake_is_held, wake_valid_o && !wake_ready_i |=>
      (wake_valid_o && $stable(wake_qpn_o)) || !pauses_q[$past(wake_qpn_o)] || began_q)

endmodule
