// SPDX-License-Identifier: BSD-2-Clause
// A memory with one writer and some readers: a copy of a 1R1W memory for each reader, all written at once.
// It promises each reader what ram_1r1w does. The copies hold the same, so a simulation has one.
module ram_nr1w #(
    parameter int unsigned WIDTH   = 32,
    parameter int unsigned DEPTH   = 256,
    parameter int unsigned READERS = 2,
    parameter int unsigned LANES   = 1  // parts of a word, all as wide
) (
    input logic clk_i,

    input logic [LANES-1:0]         write_i,
    input logic [$clog2(DEPTH)-1:0] write_address_i,
    input logic [WIDTH-1:0]         write_data_i,

    input  logic [READERS-1:0]       read_i,
    input  logic [$clog2(DEPTH)-1:0] read_address_i[READERS],
    output logic [WIDTH-1:0]         read_data_o   [READERS]
);

  localparam int unsigned LaneBits = WIDTH / LANES;
  if (DEPTH < 2) begin : gen_refuse_depth
    $error("DEPTH is %0d, at least 2 are needed", DEPTH);
  end
  if (WIDTH % LANES != 0) begin : gen_refuse_lanes
    $error("WIDTH %0d is no multiple of LANES %0d", WIDTH, LANES);
  end

  logic [WIDTH-1:0] memory[DEPTH];

  /* verilator lint_off BLKSEQ */  // as in ram_1r1w
  always_ff @(posedge clk_i) begin
    for (int unsigned reader = 0; reader < READERS; reader++)
      if (read_i[reader]) read_data_o[reader] <= memory[read_address_i[reader]];
    if (write_i != '0)
      for (int unsigned lane = 0; lane < LANES; lane++)
        if (write_i[lane])
          memory[write_address_i][LaneBits*lane+:LaneBits] = write_data_i[LaneBits*lane+:LaneBits];
  end
  /* verilator lint_on BLKSEQ */

endmodule
