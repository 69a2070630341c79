// SPDX-License-Identifier: BSD-2-Clause
// Slots of each lane, counted without end, modulo more than there are.

module tx_lane_count
  import exrnic_core_pkg::*;
  import efe_tx_pkg::*;
#(
  parameter int unsigned READERS = 2
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        count_i,
  input  lane_t       lane_i,

  input  lane_t       read_lane_i [READERS],
  output slot_count_t read_o      [READERS],

  output logic        init_done_o
);

  logic [$clog2(Lanes):0] init_q;
  logic write;
  lane_t write_lane;
  slot_count_t count, count_new;

  assign init_done_o = init_q[$clog2(Lanes)];
  assign write       = !init_done_o || count_i;
  assign write_lane  = init_done_o ? lane_i : init_q[$clog2(Lanes)-1:0];
  assign count_new   = init_done_o ? count + 1 : '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) init_q <= '0;
    else if (!init_done_o) init_q <= init_q + 1;
  end

  // What is counted may depend on what is read. So the counter has a copy of its own: readers of one
  // copy are one for Verilator, which would see a circle.
  lut_ram_nr1w #(
    .WIDTH($bits(slot_count_t)),
    .DEPTH(Lanes)
  ) u_counted (
    .clk_i,
    .write_i        (write),
    .write_address_i(write_lane),
    .write_data_i   (count_new),
    .read_address_i ('{lane_i}),
    .read_data_o    ('{count})
  );

  lut_ram_nr1w #(
    .WIDTH($bits(slot_count_t)),
    .DEPTH(Lanes),
    .READERS(READERS)
  ) u_read (
    .clk_i,
    .write_i        (write),
    .write_address_i(write_lane),
    .write_data_i   (count_new),
    .read_address_i (read_lane_i),
    .read_data_o    (read_o)
  );

endmodule
