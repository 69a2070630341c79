// SPDX-License-Identifier: BSD-2-Clause
// Submitted slots in order, until each leaves for the first time; and the descriptors of all slots.

module tx_submit_queue
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
  input  logic                clk_i,
  input  logic                rst_ni,

  input  logic                submit_valid_i,  // as many places as slots: always taken
  input  tx_desc_t            submit_i,

  output logic                head_valid_o,
  output slot_t               head_slot_o,
  output node_t               head_node_o,
  output chunk_t              head_expected_o,  // bytes that come by DMA
  input  logic                pop_i,

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
  slot_t queue [TX_SLOTS];
  node_t [TX_SLOTS-1:0] node_q;
  logic [TX_SLOTS-1:0] waiting_q, unwanted_q;
  slot_t read_q, write_q;
  logic [$clog2(TX_SLOTS):0] count_q;

  assign head_valid_o    = count_q != 0;
  assign head_slot_o     = queue[read_q];
  assign head_node_o     = node_q[head_slot_o];
  assign head_expected_o = expected[head_slot_o];
  assign unwanted_o      = unwanted_q;

  always_ff @(posedge clk_i) begin
    if (submit_valid_i) begin
      descs[submit_i.slot]    <= submit_i;
      expected[submit_i.slot] <= submit_i.inlined ? '0 : submit_i.length;
      node_q[submit_i.slot]   <= submit_i.node;
      queue[write_q]          <= submit_i.slot;
    end
    if (read_i) desc_o <= descs[read_slot_i];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_q     <= '0;
      write_q    <= '0;
      count_q    <= '0;
      waiting_q  <= '0;
      unwanted_q <= '0;
    end else begin
      if (doom_valid_i) begin
        for (int unsigned s = 0; s < TX_SLOTS; s++) begin
          if (waiting_q[s] && node_q[s] == doom_node_i) unwanted_q[s] <= 1'b1;
        end
      end
      if (pop_i) begin
        read_q                 <= read_q + 1;
        waiting_q[head_slot_o] <= 1'b0;
      end
      if (submit_valid_i) begin
        write_q                   <= write_q + 1;
        waiting_q[submit_i.slot]  <= 1'b1;
        unwanted_q[submit_i.slot] <= submit_i.unsent;
      end
      if (submit_valid_i && !pop_i) count_q <= count_q + 1;
      if (pop_i && !submit_valid_i) count_q <= count_q - 1;
    end
  end

endmodule
