// SPDX-License-Identifier: BSD-2-Clause
// A queue in which each node (or lane) stands at most once, so that it cannot overflow. One that is
// cleared keeps its place until it comes to the head, where it is passed over.
`include "exrnic_assert.svh"

module node_queue
  import exrnic_core_pkg::*;
#(
  parameter int unsigned N = N_NODE  // a power of two
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  logic                 set_valid_i,
  input  logic [$clog2(N)-1:0] set_node_i,
  input  logic                 clear_valid_i,  // a set of the same node in the same cycle wins
  input  logic [$clog2(N)-1:0] clear_node_i,
  input  logic                 rotate_i,       // head goes behind the others; not together with set

  output logic                 head_valid_o,
  output logic [$clog2(N)-1:0] head_node_o,
  output logic                 alone_o,        // no other has a place behind it
  output logic                 empty_o,
  output logic [N-1:0]         pending_o
);

  logic [$clog2(N):0] count;
  logic [N-1:0] pending_q, queued_q;

  logic drop, push, advance;

  assign head_valid_o = count != 0 && pending_q[head_node_o];
  assign alone_o      = count == 1;
  assign empty_o      = count == 0;
  assign pending_o    = pending_q;

  assign drop    = count != 0 && !pending_q[head_node_o];
  assign push    = set_valid_i && (!queued_q[set_node_i] || (drop && head_node_o == set_node_i));
  assign advance = drop || rotate_i;

  ram_fifo #(
    .WIDTH($clog2(N)),
    .DEPTH(N)
  ) u_queue (
    .clk_i,
    .rst_ni,
    .push_i     (push || rotate_i),
    .push_data_i(push ? set_node_i : head_node_o),
    .pop_i      (advance),
    .head_o     (head_node_o),
    .count_o    (count)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pending_q <= '0;
      queued_q  <= '0;
    end else begin
      if (drop) queued_q[head_node_o] <= 1'b0;
      if (push) queued_q[set_node_i] <= 1'b1;
      if (clear_valid_i) pending_q[clear_node_i] <= 1'b0;
      if (set_valid_i) pending_q[set_node_i] <= 1'b1;
    end
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(head_is_there, !rotate_i || head_valid_o)
  `EXRNIC_ALWAYS(set_alone, !rotate_i || !set_valid_i)

endmodule
