// SPDX-License-Identifier: BSD-2-Clause
// Which completion queues are armed, and when an armed one fires: behind so many completions, or so
// long after the first of them. Queues whose time runs stand in a list that is gone through again
// and again; without any nothing moves.

`include "exrnic_assert.svh"

module cq_moderation
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input logic        clk_i,
    input logic        rst_ni,
    /* verilator lint_off UNUSEDSIGNAL */  // a delay has fewer bits
    input logic [63:0] time_i,
    /* verilator lint_on UNUSEDSIGNAL */

    input logic init_i,       // after reset, with clear_i: the queue is in no list
    input logic clear_i,      // the queue is new
    input cqn_t clear_cqn_i,

    // The queue in hand: a look, then, from the next cycle on, at most one of the changes.
    input  logic        look_i,
    input  cqn_t        cqn_i,          // stays until the change
    input  logic [15:0] limit_count_i,  // of that queue, see mbox_create_cq
    input  logic [23:0] limit_ns_i,
    input  logic        set_i,          // it is armed or disarmed, and counts from zero
    input  logic        set_armed_i,
    input  logic        set_due_i,      // with set_armed_i: and its time is over
    input  logic        set_solicited_i,
    input  logic        complete_i,     // a completion was written
    input  logic        solicited_i,    // it is a solicited or a failed one
    output logic        fires_o,        // with complete_i: the queue fires, and is disarmed

    // A queue whose time is over; valid may take that back in the cycle of a change. It stays the
    // same until it is disarmed.
    output logic timer_valid_o,
    output cqn_t timer_cqn_o,
    output logic running_o       // the list is not empty
);

  // Half of their range is far longer than a delay and a round through the list.
  localparam int unsigned TimeBits = 32;
  typedef logic [TimeBits-1:0] time_t;

  typedef struct packed {
    logic        armed;
    logic        solicited;  // for solicited and failed completions only
    logic [15:0] count;      // completions of that kind since it was armed
    time_t       deadline;   // with count != 0: fires then
  } arm_t;

  time_t now;
  assign now = time_i[TimeBits-1:0];

  // ---- The queue in hand
  arm_t own_q, arm;
  logic counts, starts, change, any;
  assign any = own_q.armed && !own_q.solicited;  // somebody waits for any completion
  assign counts = complete_i && own_q.armed && (solicited_i || !own_q.solicited);
  assign fires_o = counts && (limit_ns_i == '0 || own_q.count + 16'd1 >= limit_count_i);
  assign starts = (counts && !fires_o && own_q.count == '0) || (set_i && set_armed_i && set_due_i);
  assign change = set_i || counts;

  always_comb begin
    arm = own_q;
    if (set_i) arm = '{set_armed_i, set_armed_i && set_solicited_i && !any, 16'(starts), '0};
    else if (fires_o) arm = '0;
    else arm.count = own_q.count + 16'd1;
    if (starts) arm.deadline = now + (set_i ? '0 : TimeBits'(limit_ns_i));
  end

  logic [1:0] arm_look;
  cqn_t arm_cqn[2];
  arm_t arm_read[2];
  assign arm_look = {!looked_q, look_i};
  assign arm_cqn  = '{cqn_i, front};
  assign own_q    = arm_read[0];
  assign front_q  = arm_read[1];
  ram_nr1w #(
      .WIDTH($bits(arm_t)),
      .DEPTH(N_CQ),
      .READERS(2)
  ) u_arms (
      .clk_i,
      .write_i        (clear_i || change),
      .write_address_i(clear_i ? clear_cqn_i : cqn_i),
      .write_data_i   (clear_i ? '0 : arm),
      .read_i         (arm_look),
      .read_address_i (arm_cqn),
      .read_data_o    (arm_read)
  );

  // ---- The list. One that fires or is disarmed in the meantime stays in it until its turn.
  cqn_t front;
  logic [$clog2(N_CQ):0] count;
  logic push, pop, rotate;
  ram_fifo #(
      .WIDTH($bits(cqn_t)),
      .DEPTH(N_CQ)
  ) u_list (
      .clk_i,
      .rst_ni,
      .push_i     (push || rotate),
      .push_data_i(push ? cqn_i : front),
      .pop_i      (pop || rotate),
      .head_o     (front),
      .count_o    (count)
  );
  assign running_o = count != '0;

  // The queues in it. None is taken out in the cycle of a change, so one bit of them changes at a time.
  cqn_t listed_cqn[1];
  logic listed[1];
  assign listed_cqn = '{cqn_i};
  assign push = starts && !listed[0];
  lut_ram_nr1w #(
      .WIDTH(1),
      .DEPTH(N_CQ)
  ) u_listed (
      .clk_i,
      .write_i        (init_i || push || pop),
      .write_address_i(init_i ? clear_cqn_i : push ? cqn_i : front),
      .write_data_i   (push),
      .read_address_i (listed_cqn),
      .read_data_o    (listed)
  );

  // Look at the first of the list, then judge, but never what is being changed.
  logic looked_q, judge;
  /* verilator lint_off UNUSEDSIGNAL */  // that it is armed follows from its count
  arm_t front_q;
  /* verilator lint_on UNUSEDSIGNAL */
  assign judge = looked_q && !change && !clear_i;
  assign pop = judge && front_q.count == '0;
  assign timer_valid_o = judge && !pop && $signed(now - front_q.deadline) >= 0;
  assign timer_cqn_o = front;
  assign rotate = judge && !pop && !timer_valid_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) looked_q <= 1'b0;
    else looked_q <= running_o && !change && !clear_i && (!looked_q || timer_valid_o);
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(one_change, !(set_i && complete_i))
  `EXRNIC_ALWAYS(one_list_change, $onehot0({init_i, push, pop}))

endmodule
