// SPDX-License-Identifier: BSD-2-Clause
// A memory with one writer and one reader: a block RAM of an FPGA, a 1R1W macro of an ASIC library.
//
// - A read is answered in the next cycle, and the answer stays until the next read.
// - Read and write of one word in one cycle: the read gets what was there before.
// - Who writes says for each lane whether it is written.
// - After reset a word is whatever it was: who needs more writes it first.
module ram_1r1w #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned DEPTH = 256,
    parameter int unsigned LANES = 1  // parts of a word, all as wide
) (
    input logic clk_i,

    input logic [LANES-1:0]         write_i,
    input logic [$clog2(DEPTH)-1:0] write_address_i,
    input logic [WIDTH-1:0]         write_data_i,

    input  logic                     read_i,
    input  logic [$clog2(DEPTH)-1:0] read_address_i,
    output logic [WIDTH-1:0]         read_data_o
);

  localparam int unsigned LaneBits = WIDTH / LANES;
  if (DEPTH < 2) begin : gen_refuse_depth
    $error("DEPTH is %0d, at least 2 are needed", DEPTH);
  end
  if (WIDTH % LANES != 0) begin : gen_refuse_lanes
    $error("WIDTH %0d is no multiple of LANES %0d", WIDTH, LANES);
  end

  logic [WIDTH-1:0] memory[DEPTH];

  // Nobody else looks at the memory, so it is written in place behind the read: Verilator keeps a
  // delayed copy of what is written otherwise.
  /* verilator lint_off BLKSEQ */
  always_ff @(posedge clk_i) begin
    if (read_i) read_data_o <= memory[read_address_i];
    if (write_i != '0)
      for (int unsigned lane = 0; lane < LANES; lane++)
        if (write_i[lane])
          memory[write_address_i][LaneBits*lane+:LaneBits] = write_data_i[LaneBits*lane+:LaneBits];
  end
  /* verilator lint_on BLKSEQ */

endmodule
