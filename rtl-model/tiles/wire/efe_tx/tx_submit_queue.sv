// SPDX-License-Identifier: BSD-2-Clause
// Submitted slots, for each lane in order, until each leaves for the first time; and the
// descriptors of all slots. The queues of all lanes are lists through one memory of links.

`include "exrnic_assert.svh"

module tx_submit_queue
  import exrnic_core_pkg::*;
  import efe_tx_pkg::*;
(
  input  logic                clk_i,
  input  logic                rst_ni,

  input  logic                submit_valid_i,  // as many places as slots: always taken
  input  tx_desc_t            submit_i,

  // Oldest slot of a lane; it counts only while something of that lane waits.
  input  lane_t               lane_i,
  output slot_t               head_slot_o,
  output chunk_t              head_expected_o,  // bytes that come by DMA

  input  logic                pop_i,  // it goes,
  input  logic                stop_i,  // with pop_i: but must not leave
  output logic                pop_last_o,  // nothing else of it waits, but for what is just submitted

  // Gives up what waits for a node.
  input  logic                doom_valid_i,
  input  node_t               doom_node_i,
  output logic [TX_SLOTS-1:0] unwanted_o,  // given up, submitted as unsent,
  output logic [TX_SLOTS-1:0] stopped_o,   // or stopped

  input  logic                read_i,
  input  slot_t               read_slot_i,
  output tx_desc_t            desc_o  // next cycle, and until the next read
);

  node_t [TX_SLOTS-1:0] node_q;
  logic [TX_SLOTS-1:0] waiting_q, unwanted_q, stopped_q;

  // The head of a list is the slot that made it nonempty, or what the last pop has left. So each
  // memory has one writer.
  slot_t first, left, tail, submit_tail, linked;
  logic [Lanes-1:0] popped_q, nonempty_q;

  lane_t submit_lane;
  logic joins;  // the submitted slot goes behind others

  assign submit_lane     = '{prompt: submit_i.prompt, node: submit_i.node};
  assign head_slot_o     = popped_q[lane_i] ? left : first;
  assign unwanted_o      = unwanted_q | stopped_q;
  assign stopped_o       = stopped_q;
  assign pop_last_o      = head_slot_o == tail;
  assign joins           = nonempty_q[submit_lane] &&
                           !(pop_i && pop_last_o && lane_i == submit_lane);

  always_ff @(posedge clk_i) begin
    if (submit_valid_i) node_q[submit_i.slot] <= submit_i.node;
  end

  lut_ram_nr1w #(
    .WIDTH($bits(slot_t)),
    .DEPTH(TX_SLOTS)
  ) u_links (
    .clk_i,
    .write_i        (submit_valid_i && joins),
    .write_address_i(submit_tail),
    .write_data_i   (submit_i.slot),
    .read_address_i ('{head_slot_o}),
    .read_data_o    ('{linked})
  );

  lut_ram_nr1w #(
    .WIDTH($bits(slot_t)),
    .DEPTH(Lanes)
  ) u_first (
    .clk_i,
    .write_i        (submit_valid_i && !joins),
    .write_address_i(submit_lane),
    .write_data_i   (submit_i.slot),
    .read_address_i ('{lane_i}),
    .read_data_o    ('{first})
  );

  lut_ram_nr1w #(
    .WIDTH($bits(slot_t)),
    .DEPTH(Lanes)
  ) u_left (
    .clk_i,
    .write_i        (pop_i),
    .write_address_i(lane_i),
    .write_data_i   (linked),
    .read_address_i ('{lane_i}),
    .read_data_o    ('{left})
  );

  lut_ram_nr1w #(
    .WIDTH($bits(slot_t)),
    .DEPTH(Lanes),
    .READERS(2)
  ) u_tail (
    .clk_i,
    .write_i        (submit_valid_i),
    .write_address_i(submit_lane),
    .write_data_i   (submit_i.slot),
    .read_address_i ('{lane_i, submit_lane}),
    .read_data_o    ('{tail, submit_tail})
  );

  lut_ram_nr1w #(
    .WIDTH($bits(chunk_t)),
    .DEPTH(TX_SLOTS)
  ) u_expected (
    .clk_i,
    .write_i        (submit_valid_i),
    .write_address_i(submit_i.slot),
    .write_data_i   (submit_i.inlined ? '0 : submit_i.length),
    .read_address_i ('{head_slot_o}),
    .read_data_o    ('{head_expected_o})
  );

  ram_1r1w #(
    .WIDTH($bits(tx_desc_t)),
    .DEPTH(TX_SLOTS)
  ) u_descs (
    .clk_i,
    .write_i        (submit_valid_i),
    .write_address_i(submit_i.slot),
    .write_data_i   (submit_i),
    .read_i         (read_i),
    .read_address_i (read_slot_i),
    .read_data_o    (desc_o)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      waiting_q  <= '0;
      unwanted_q <= '0;
      stopped_q  <= '0;
      popped_q   <= '0;
      nonempty_q <= '0;
    end else begin
      if (doom_valid_i) begin
        for (int unsigned s = 0; s < TX_SLOTS; s++) begin
          if (waiting_q[s] && node_q[s] == doom_node_i) unwanted_q[s] <= 1'b1;
        end
      end
      if (pop_i) begin
        waiting_q[head_slot_o] <= 1'b0;
        stopped_q[head_slot_o] <= stop_i;
        popped_q[lane_i]       <= 1'b1;
        nonempty_q[lane_i]     <= !pop_last_o;
      end
      if (submit_valid_i) begin
        waiting_q[submit_i.slot]  <= 1'b1;
        unwanted_q[submit_i.slot] <= submit_i.unsent;
        stopped_q[submit_i.slot]  <= 1'b0;
        nonempty_q[submit_lane]   <= 1'b1;
        if (!joins) popped_q[submit_lane] <= 1'b0;
      end
    end
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(submitted_once, !submit_valid_i || !waiting_q[submit_i.slot])
`ifdef EXRNIC_ASSERT
  // One bit: of all that a property looks at the simulator keeps a copy, and of very wide vectors Verilator
  // 5.006 makes code that does not compile.
  logic has_segments /*verilator public_flat_rd*/;
  assign has_segments = nonempty_q[lane_i];
`endif
  `EXRNIC_ALWAYS(has_a_head, !pop_i || (has_segments && waiting_q[head_slot_o]))

endmodule
