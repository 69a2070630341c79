// SPDX-License-Identifier: BSD-2-Clause
// Time-outs of queue pairs: those whose work is under way, and of which nothing was heard for longer than
// their own time-out and retry count allow. The completer ends them.

`include "exrnic_assert.svh"

module retry_watch
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    output logic idle_o,   // nobody is to be looked at,
    output logic ticks_o,  // but somebody is when the next tick comes

    /* verilator lint_off UNUSEDSIGNAL */
    input logic [63:0] time_i,  // ns
    /* verilator lint_on UNUSEDSIGNAL */

    // The driver has changed a queue pair: what it allows, and whether its work is under way.
    input logic       config_we_i,
    input qpn_t       config_qpn_i,
    input logic [4:0] timeout_i,
    input logic [2:0] retries_i,
    input logic       config_out_i,
    input logic       config_pulls_i,  // and PULLs are

    input logic begin_i,  // a segment of its own work leaves it; it has a time-out
    input logic begin_pull_i,  // and asks for a response
    input qpn_t own_qpn_i,
    input logic acked_i,  // one was acknowledged,
    input logic acked_none_i,  // and nothing else is under way, but PULLs if there are any;
    input logic acked_error_i,  // or it ended in ERROR, where nothing is awaited
    input qpn_t acked_qpn_i,
    input logic answered_i,  // a part of a response came, or a PULL ended,
    input logic answered_none_i,  // and it was the last one
    input qpn_t answered_qpn_i,
    input logic [2:0] failed_i,  // it is in ERROR by now
    input qpn_t failed_qpn_i[3],

    output logic silent_valid_o,  // nothing was heard of it: withdrawn when something is,
    input  logic silent_ready_i,  // and over with this
    output qpn_t silent_qpn_o
);

  localparam int unsigned Group = 32;  // queue pairs that are passed over at once
  localparam int unsigned Groups = N_QP / Group;
  localparam int unsigned TickBits = QP_TIMEOUT_SHIFT + QP_TIMEOUT_MAX - QP_TICK_SHIFT + 1;
  localparam int unsigned Ticks = QP_TICK_SHIFT - QP_TIMEOUT_SHIFT;
  typedef logic [TickBits-1:0] tick_t;
  typedef logic [Group-1:0] members_t;
  typedef logic [$clog2(Group)-1:0] member_t;
  typedef logic [$clog2(Groups)-1:0] group_t;

  // Work is under way; a word came in the present interval; there were too many without; PULLs are under way, if
  // it is watched.
  logic [N_QP-1:0] watched_q, heard_q, silent_q, pulls_q;
  logic [N_QP-1:0] watched, heard, silent, pulls;  // what they become

  function automatic members_t of_group(logic [N_QP-1:0] all, group_t group);
    return all[Group*int'(group)+:Group];
  endfunction
  function automatic member_t first_of(members_t members);
    first_of = '0;
    for (int i = Group - 1; i >= 0; i--) if (members[i]) first_of = member_t'(i);
  endfunction

  // A cycle later: an acknowledgement is judged by what was under way a cycle before.
  logic begin_q, begin_pull_q;
  qpn_t begin_qpn_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin_q <= 1'b0;
    else begin_q <= begin_i && !config_we_i;
  end
  always_ff @(posedge clk_i) if (begin_i) {begin_pull_q, begin_qpn_q} <= {begin_pull_i, own_qpn_i};

  // ---- At each tick those are looked at that are watched
  tick_t now, tick_q, changed_q;
  logic scans_q, looks, toggles, counts, expires;
  members_t left_q;  // of the group in hand
  group_t group_q;
  qpn_t place;
  logic [4:0] timeout;
  logic [2:0] retries, intervals;  // so many more without a word may be, and have been
  assign now = tick_t'(time_i >> QP_TICK_SHIFT);
  assign looks = scans_q && left_q != '0;
  assign place = {group_q, looks ? first_of(left_q) : member_t'(0)};

  // An interval of its own begins when its bit of the time changes.
  assign toggles = looks && watched_q[place] &&
      changed_q[timeout > 5'(Ticks) ? timeout - 5'(Ticks) : 5'd0];
  assign counts = toggles && !heard_q[place];
  assign expires = counts && intervals == retries;

  lut_ram_nr1w #(
      .WIDTH(8),
      .DEPTH(N_QP)
  ) u_allowed (
      .clk_i,
      .write_i        (config_we_i),
      .write_address_i(config_qpn_i),
      .write_data_i   ({timeout_i, retries_i}),
      .read_address_i ('{place}),
      .read_data_o    ('{{timeout, retries}})
  );
  lut_ram_nr1w #(
      .WIDTH(3),
      .DEPTH(N_QP)
  ) u_intervals (
      .clk_i,
      .write_i        (toggles && !expires),
      .write_address_i(place),
      .write_data_i   (counts ? intervals + 1'b1 : 3'd0),
      .read_address_i ('{place}),
      .read_data_o    ('{intervals})
  );

  // ---- What is known of them
  logic changes;
  assign changes = begin_q || acked_i || answered_i || failed_i != '0 || config_we_i || toggles ||
      (silent_valid_o && silent_ready_i);
  always_comb begin
    {watched, heard, silent, pulls} = '0;
    if (changes) begin
      pulls   = pulls_q;
      watched = watched_q;
      heard   = heard_q;
      silent  = silent_q;
      if (toggles) heard[place] = 1'b0;
      if (expires) silent[place] = 1'b1;
      if (silent_valid_o && silent_ready_i)
        {watched[silent_qpn_o], silent[silent_qpn_o], pulls[silent_qpn_o]} = '0;
      if (acked_i) {heard[acked_qpn_i], silent[acked_qpn_i]} = 2'b10;
      // The completer counts no PULLs.
      if (acked_i && acked_none_i && !pulls_q[acked_qpn_i]) watched[acked_qpn_i] = 1'b0;
      if (acked_i && acked_error_i) {watched[acked_qpn_i], pulls[acked_qpn_i]} = '0;
      if (answered_i) {heard[answered_qpn_i], silent[answered_qpn_i]} = 2'b10;
      if (answered_i && answered_none_i)
        {watched[answered_qpn_i], pulls[answered_qpn_i]} = '0;
      if (begin_q && !watched[begin_qpn_q])
        {watched[begin_qpn_q], heard[begin_qpn_q], silent[begin_qpn_q]} = 3'b110;
      if (begin_q && begin_pull_q) pulls[begin_qpn_q] = 1'b1;
      for (int i = 0; i < 3; i++)
        if (failed_i[i])
          {watched[failed_qpn_i[i]], silent[failed_qpn_i[i]], pulls[failed_qpn_i[i]]} = '0;
      if (config_we_i) begin
        watched[config_qpn_i] = config_out_i && timeout_i != '0;
        {heard[config_qpn_i], silent[config_qpn_i]} = 2'b10;
        pulls[config_qpn_i] = config_pulls_i;
      end
    end
  end

  logic any_silent_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {watched_q, heard_q, silent_q, pulls_q} <= '0;
      ticks_o <= 1'b0;
      any_silent_q <= 1'b0;
    end else if (changes) begin
      watched_q <= watched;
      heard_q   <= heard;
      silent_q  <= silent;
      pulls_q   <= pulls;
      ticks_o   <= watched != '0;
      any_silent_q <= silent != '0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tick_q    <= '0;
      changed_q <= '0;
      scans_q   <= 1'b0;
      left_q    <= '0;
      group_q   <= '0;
    end else if (!scans_q) begin
      if (now != tick_q) begin
        tick_q    <= now;
        changed_q <= now ^ tick_q;
        scans_q   <= watched_q != '0;
        left_q    <= of_group(watched_q, '0);
        group_q   <= '0;
      end
    end else if (looks) begin
      left_q <= left_q & (left_q - 1'b1);
    end else if (group_q == group_t'(Groups - 1)) begin
      scans_q <= 1'b0;
    end else begin
      group_q <= group_q + 1'b1;
      left_q  <= of_group(watched_q, group_q + 1'b1);
    end
  end

  // ---- Those of which nothing was heard for too long are told one after the other
  logic tells_q;
  qpn_t tells_qpn_q;
  group_t tells_group_q;
  members_t silent_here;
  assign silent_here = any_silent_q ? of_group(silent_q, tells_group_q) : '0;
  assign silent_valid_o = tells_q && silent_q[tells_qpn_q];
  assign silent_qpn_o = tells_qpn_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tells_q <= 1'b0;
      tells_qpn_q <= '0;
      tells_group_q <= '0;
    end else if (tells_q) begin
      tells_q <= silent_valid_o && !silent_ready_i;
    end else if (silent_here != '0) begin
      tells_q <= 1'b1;
      tells_qpn_q <= {tells_group_q, first_of(silent_here)};
    end else if (any_silent_q) begin
      tells_group_q <= tells_group_q + 1'b1;
    end
  end

  assign idle_o = !scans_q && !any_silent_q;

  // ---- What is promised
  // Unless something is heard of its queue pair, or it is changed.
  `EXRNIC_ALWAYS(silent_is_held, silent_valid_o && !silent_ready_i |=>
      (silent_valid_o && $stable(silent_qpn_o)) || !silent_q[$past(silent_qpn_o)])
  `EXRNIC_ALWAYS(only_of_the_watched, !silent_valid_o || watched_q[silent_qpn_o])
  `EXRNIC_ALWAYS(looks_at_each_once, !looks || !$past(looks) || $past(group_q) != group_q ||
      $past(place) < place)

endmodule
