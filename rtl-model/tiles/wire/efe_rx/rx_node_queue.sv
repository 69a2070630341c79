// SPDX-License-Identifier: BSD-2-Clause
// Nodes that wait for their turn, each at most once, so that none is without a place. Who is the head
// in the next cycle is known in this one, so what is kept of it can come out of a registered memory.
`include "exrnic_assert.svh"

module rx_node_queue
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
  input  logic  clk_i,
  input  logic  rst_ni,

  input  logic  set_valid_i,
  input  node_t set_node_i,
  input  logic  done_i,        // of the head; if it is set in this cycle, too, it stays

  output logic  head_valid_o,  // not in the cycle behind done_i
  output node_t head_node_o,
  output node_t next_node_o,   // the head in the next cycle, if there is one
  output logic  empty_o
);

  // The head has left the queue of those behind it.
  logic here_q, valid_q;  // a head is there; it is not done
  node_t head_q;
  logic [N_NODE-1:0] queued_q;
  logic leaves, comes, push, stored, pop;
  node_t waiting;
  logic [$clog2(N_NODE):0] count;

  assign leaves = here_q && !valid_q;
  assign push   = set_valid_i && (!queued_q[set_node_i] || (leaves && head_q == set_node_i));
  assign pop    = leaves && count != '0;
  assign stored = push && (valid_q || pop);
  assign comes  = pop || (push && !valid_q);

  assign head_valid_o = valid_q;
  assign head_node_o  = head_q;
  assign empty_o      = !here_q;
  always_comb begin
    next_node_o = head_q;
    if (pop) next_node_o = waiting;
    else if (!valid_q) next_node_o = set_node_i;
  end

  ram_fifo #(
    .WIDTH($bits(node_t)),
    .DEPTH(N_NODE)
  ) u_waiting (
    .clk_i,
    .rst_ni,
    .push_i     (stored),
    .push_data_i(set_node_i),
    .pop_i      (pop),
    .head_o     (waiting),
    .count_o    (count)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {here_q, valid_q} <= '0;
      queued_q <= '0;
    end else begin
      if (!valid_q) {here_q, valid_q} <= {comes, comes};
      else if (done_i && !(set_valid_i && set_node_i == head_q)) valid_q <= 1'b0;
      if (leaves) queued_q[head_q] <= 1'b0;
      if (push) queued_q[set_node_i] <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) if (comes) head_q <= next_node_o;

  // ---- What is promised
  `EXRNIC_ALWAYS(has_a_head, !done_i || head_valid_o)
  `EXRNIC_ALWAYS(head_before_others, here_q || count == '0)

endmodule
