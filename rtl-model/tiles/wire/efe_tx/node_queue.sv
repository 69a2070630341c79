// SPDX-License-Identifier: BSD-2-Clause
// A queue in which each node (or lane) stands at most once, so that it cannot overflow. One that is
// cleared keeps its place until it comes to the head, where it is passed over.

module node_queue
  import exrnic_pkg::*;
#(
  parameter int unsigned N = MAX_NODE  // a power of two
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

  typedef logic [$clog2(N)-1:0] member_t;
  member_t queue [N];
  member_t read_q, write_q;
  logic [$clog2(N):0] count_q;
  logic [N-1:0] pending_q, queued_q;

  logic drop, push, advance;

  assign head_node_o  = queue[read_q];
  assign head_valid_o = count_q != 0 && pending_q[head_node_o];
  assign alone_o      = count_q == 1;
  assign empty_o      = count_q == 0;
  assign pending_o    = pending_q;

  assign drop    = count_q != 0 && !pending_q[head_node_o];
  assign push    = set_valid_i && (!queued_q[set_node_i] || (drop && head_node_o == set_node_i));
  assign advance = drop || rotate_i;

  always_ff @(posedge clk_i) begin
    if (push) begin
      queue[write_q] <= set_node_i;
    end else if (rotate_i) begin
      queue[write_q] <= head_node_o;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_q    <= '0;
      write_q   <= '0;
      count_q   <= '0;
      pending_q <= '0;
      queued_q  <= '0;
    end else begin
      if (advance) read_q <= read_q + 1;
      if (push || rotate_i) write_q <= write_q + 1;
      if ((push || rotate_i) && !advance) count_q <= count_q + 1;
      if (advance && !(push || rotate_i)) count_q <= count_q - 1;
      if (drop) queued_q[head_node_o] <= 1'b0;
      if (push) queued_q[set_node_i] <= 1'b1;
      if (clear_valid_i) pending_q[clear_node_i] <= 1'b0;
      if (set_valid_i) pending_q[set_node_i] <= 1'b1;
    end
  end

endmodule
