// SPDX-License-Identifier: BSD-2-Clause
// Which queue pairs are attached to which groups, and copies for them of each datagram to a group.
// All else that is sent once goes through.
`include "exrnic_assert.svh"

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

    // Is any attached to this group? In the same cycle; of frames that come, and that leave.
    input  logic [1:0] look_i,
    input  group_t     look_group_i[2],
    output logic       known_o     [2],

    input  logic     desc_valid_i,
    output logic     desc_ready_o,
    input  rx_desc_t desc_i,
    output logic     desc_valid_o,
    input  logic     desc_ready_i,
    output rx_desc_t desc_o,  // of a datagram to a group: to a queue pair, unless none is attached any more

    output event_t event_o
);

  localparam int unsigned IndexBits = $clog2(MAX_ATTACHED);
  typedef logic [IndexBits-1:0] index_t;

  logic [MAX_ATTACHED-1:0] valid_q;
  group_t [MAX_ATTACHED-1:0] group_q;  // all are compared at once: no memory
  qpn_t qpn_q[MAX_ATTACHED];

  // ---- A datagram to a group: a copy a cycle, for the attached queue pairs in the order of their
  // entries. It waits while the attachments change.
  typedef logic [MAX_ATTACHED-1:0] entries_t;
  function automatic entries_t attached(group_t group);
    for (int unsigned i = 0; i < MAX_ATTACHED; i++)
      attached[i] = valid_q[i] && group_q[i] == group;
  endfunction

  logic to_group, more, taken;
  entries_t left, served_q;  // of the frame at hand
  index_t first;             // of those that are left
  assign to_group = desc_valid_i && desc_i.datagram && is_group(desc_i.dst_qpn);
  always_comb begin
    {left, first, more} = '0;
    if (to_group) begin
      left = attached(group_t'(desc_i.dst_qpn)) & ~served_q;
      for (int unsigned i = MAX_ATTACHED; i > 0; i--) if (left[i-1]) first = index_t'(i - 1);
      more = (left & (left - 1'b1)) != '0;
    end
  end

  assign desc_valid_o = desc_valid_i && !(to_group && valid_i);
  assign desc_ready_o = desc_ready_i && !(to_group && (valid_i || more));
  assign taken        = desc_valid_o && desc_ready_i;
  always_comb begin
    desc_o = desc_i;
    desc_o.more = more;
    desc_o.to_group = to_group;
    desc_o.group = to_group ? group_t'(desc_i.dst_qpn) : '0;
    if (left != '0) desc_o.dst_qpn = 24'(qpn_q[first]);
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) served_q <= '0;
    else if (taken) served_q <= more ? served_q | entries_t'(1) << first : '0;
  end

  always_comb begin
    known_o = '{default: 1'b0};
    for (int unsigned i = 0; i < 2; i++)
      if (look_i[i]) known_o[i] = attached(look_group_i[i]) != '0;
  end

  // ---- A change
  logic looked, hit, found_q, spare_q, attaches;
  typedef logic [IndexBits:0] walk_t;  // MAX_ATTACHED: over
  walk_t look_q;
  index_t entry, spare_at_q;
  assign looked   = look_q == walk_t'(MAX_ATTACHED);
  assign entry    = look_q[IndexBits-1:0];
  always_comb begin
    hit = 1'b0;
    if (valid_i)
      hit = !looked && valid_q[entry] && qpn_q[entry] == qpn_i &&
          (op_i == GROUP_FORGET || group_q[entry] == group_i);
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
    event_o[COUNTER_GROUP_COPIES] = taken && more;
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(place_is_free, !attaches || !valid_q[spare_at_q])
  `EXRNIC_ALWAYS(copies_come_to_an_end, served_q == '0 || to_group)

endmodule
