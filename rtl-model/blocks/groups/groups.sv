// SPDX-License-Identifier: BSD-2-Clause
// Which queue pairs are attached to which groups, and copies for them of each datagram to a group.
// All other frames go through without a cycle in between.

module groups
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    output logic idle_o,

    // A change of the driver's: it stays until it is done. A queue pair is attached to a group once.
    input  logic      valid_i,
    input  group_op_e op_i,
    input  group_t    group_i,  // GROUP_FORGET: all of them
    input  qpn_t      qpn_i,
    output logic      done_o,
    output logic      found_o,  // with done_o: it was attached before,
    output logic      full_o,   // and there is no place for another

    input  logic     desc_valid_i,
    output logic     desc_ready_o,
    input  rx_desc_t desc_i,
    output logic     desc_valid_o,
    input  logic     desc_ready_i,
    output rx_desc_t desc_o,  // of a datagram to a group: to a queue pair, unless none is attached

    output event_t event_o
);

  localparam int unsigned IndexBits = $clog2(MAX_ATTACHED);
  typedef logic [IndexBits-1:0] index_t;
  typedef logic [IndexBits:0] walk_t;  // MAX_ATTACHED: over

  logic [MAX_ATTACHED-1:0] valid_q;
  group_t group_q[MAX_ATTACHED];
  qpn_t qpn_q[MAX_ATTACHED];

  // ---- A datagram to a group: a queue pair is served when the next one is found, or none is left.
  // It waits while the attachments change.
  logic to_group, walked, match, copies, taken;
  walk_t walk_q;
  index_t at;
  logic held_q;  // one is found, and not served yet:
  qpn_t held_qpn_q;
  assign to_group = desc_valid_i && desc_i.datagram && is_group(desc_i.dst_qpn);
  assign walked   = walk_q == walk_t'(MAX_ATTACHED);
  assign at       = walk_q[IndexBits-1:0];
  always_comb begin
    {match, copies} = '0;
    if (to_group) begin
      match = !walked && valid_q[at] && group_q[at] == group_t'(desc_i.dst_qpn);
      copies = match && held_q;
    end
  end

  assign desc_valid_o = to_group ? (walked || copies) && !valid_i : desc_valid_i;
  assign desc_ready_o = desc_ready_i && (!to_group || (walked && !valid_i));
  assign taken        = desc_valid_o && desc_ready_i;
  always_comb begin
    desc_o = desc_i;
    desc_o.more = copies;
    if (to_group && held_q) desc_o.dst_qpn = 24'(held_qpn_q);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      walk_q <= '0;
      held_q <= 1'b0;
    end else if (valid_i) begin
      if (detached && qpn_i == held_qpn_q) held_q <= 1'b0;
    end else if (to_group) begin
      if (walked && taken) begin
        walk_q <= '0;
        held_q <= 1'b0;
      end else if (!walked && (!copies || taken)) begin
        walk_q <= walk_q + 1'b1;
        held_q <= held_q || match;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (to_group && match && !valid_i && (!copies || taken)) held_qpn_q <= qpn_q[at];
  end

  // ---- A change
  logic looked, hit, found_q, spare_q, attaches, detached;
  walk_t look_q;
  index_t entry, spare_at_q;
  assign looked   = look_q == walk_t'(MAX_ATTACHED);
  assign entry    = look_q[IndexBits-1:0];
  always_comb begin
    {hit, detached} = '0;
    if (valid_i) begin
      hit = !looked && valid_q[entry] && qpn_q[entry] == qpn_i &&
          (op_i == GROUP_FORGET || group_q[entry] == group_i);
      detached = hit && op_i != GROUP_ATTACH && group_q[entry] == group_t'(desc_i.dst_qpn);
    end
  end
  assign done_o   = valid_i && looked;
  assign found_o  = found_q;
  assign full_o   = !spare_q;
  assign attaches = done_o && op_i == GROUP_ATTACH && !found_q && spare_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      look_q  <= '0;
      found_q <= 1'b0;
      spare_q <= 1'b0;
      valid_q <= '0;
    end else if (!valid_i || looked) begin
      look_q  <= '0;
      found_q <= 1'b0;
      spare_q <= 1'b0;
      if (attaches) valid_q[spare_at_q] <= 1'b1;
    end else begin
      look_q  <= look_q + 1'b1;
      found_q <= found_q || hit;
      spare_q <= spare_q || !valid_q[entry];
      if (hit && op_i != GROUP_ATTACH) valid_q[entry] <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!spare_q && !looked) spare_at_q <= entry;
    if (attaches) begin
      group_q[spare_at_q] <= group_i;
      qpn_q[spare_at_q]   <= qpn_i;
    end
  end

  assign idle_o = !desc_valid_i && !valid_i;

  always_comb begin
    event_o = '0;
    event_o[COUNTER_GROUP_COPIES] = copies && taken;
  end

endmodule
