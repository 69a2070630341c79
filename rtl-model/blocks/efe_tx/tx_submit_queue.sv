// SPDX-License-Identifier: BSD-2-Clause
// Submitted slots, for each node in order, until each leaves for the first time; and the
// descriptors of all slots. The queues of all nodes are lists through one memory of links.

module tx_submit_queue
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
  input  logic                clk_i,
  input  logic                rst_ni,

  input  logic                submit_valid_i,  // as many places as slots: always taken
  input  tx_desc_t            submit_i,

  // Oldest slot of a node; it counts only while something of that node waits.
  input  node_t               node_i,
  output slot_t               head_slot_o,
  output chunk_t              head_expected_o,  // bytes that come by DMA

  input  logic                pop_i,  // that of pop_node_i goes
  input  node_t               pop_node_i,
  output logic                pop_last_o,  // nothing else waits, but for what is just submitted

  // Gives up what waits for a node.
  input  logic                doom_valid_i,
  input  node_t               doom_node_i,
  output logic [TX_SLOTS-1:0] unwanted_o,  // given up, or submitted as unsent

  input  logic                read_i,
  input  slot_t               read_slot_i,
  output tx_desc_t            desc_o  // next cycle, and until the next read
);

  tx_desc_t descs [TX_SLOTS];
  chunk_t expected [TX_SLOTS];
  node_t [TX_SLOTS-1:0] node_q;
  logic [TX_SLOTS-1:0] waiting_q, unwanted_q;

  // The head of a list is the slot that made it nonempty, or what the last pop has left. So each
  // memory has one writer.
  slot_t link [TX_SLOTS];
  slot_t first [MAX_NODE];
  slot_t left [MAX_NODE];
  slot_t tail [MAX_NODE];
  logic [MAX_NODE-1:0] popped_q, nonempty_q;

  slot_t pop_slot;
  logic joins;  // the submitted slot goes behind others

  assign head_slot_o     = popped_q[node_i] ? left[node_i] : first[node_i];
  assign head_expected_o = expected[head_slot_o];
  assign unwanted_o      = unwanted_q;
  assign pop_slot        = popped_q[pop_node_i] ? left[pop_node_i] : first[pop_node_i];
  assign pop_last_o      = pop_slot == tail[pop_node_i];
  assign joins           = nonempty_q[submit_i.node] &&
                           !(pop_i && pop_last_o && pop_node_i == submit_i.node);

  always_ff @(posedge clk_i) begin
    if (submit_valid_i) begin
      descs[submit_i.slot]    <= submit_i;
      expected[submit_i.slot] <= submit_i.inlined ? '0 : submit_i.length;
      node_q[submit_i.slot]   <= submit_i.node;
      tail[submit_i.node]     <= submit_i.slot;
      if (joins) link[tail[submit_i.node]] <= submit_i.slot;
      else first[submit_i.node] <= submit_i.slot;
    end
    if (pop_i) left[pop_node_i] <= link[pop_slot];
    if (read_i) desc_o <= descs[read_slot_i];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      waiting_q  <= '0;
      unwanted_q <= '0;
      popped_q   <= '0;
      nonempty_q <= '0;
    end else begin
      if (doom_valid_i) begin
        for (int unsigned s = 0; s < TX_SLOTS; s++) begin
          if (waiting_q[s] && node_q[s] == doom_node_i) unwanted_q[s] <= 1'b1;
        end
      end
      if (pop_i) begin
        waiting_q[pop_slot]    <= 1'b0;
        popped_q[pop_node_i]   <= 1'b1;
        nonempty_q[pop_node_i] <= !pop_last_o;
      end
      if (submit_valid_i) begin
        waiting_q[submit_i.slot]  <= 1'b1;
        unwanted_q[submit_i.slot] <= submit_i.unsent;
        nonempty_q[submit_i.node] <= 1'b1;
        if (!joins) popped_q[submit_i.node] <= 1'b0;
      end
    end
  end

endmodule
