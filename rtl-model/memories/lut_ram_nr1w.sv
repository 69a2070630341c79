// SPDX-License-Identifier: BSD-2-Clause
// A small memory with one writer and some readers that have their word in the cycle of the address: LUT RAM of
// an FPGA, a copy for each reader; latches or flip-flops of an ASIC. What is larger is no memory that
// answers in time: it has a registered read, see ram_nr1w.
//
// - Read and write of one word in one cycle: the read gets what was there before.
// - Who writes says for each lane whether it is written.
// - After reset a word is whatever it was: who needs more writes it first.
module lut_ram_nr1w #(
    parameter int unsigned WIDTH   = 8,
    parameter int unsigned DEPTH   = 256,
    parameter int unsigned READERS = 1,
    parameter int unsigned LANES   = 1  // parts of a word, all as wide
) (
    input logic clk_i,

    input logic [LANES-1:0]         write_i,
    input logic [$clog2(DEPTH)-1:0] write_address_i,
    input logic [WIDTH-1:0]         write_data_i,

    input  logic [$clog2(DEPTH)-1:0] read_address_i[READERS],
    output logic [WIDTH-1:0]         read_data_o   [READERS]
);

  // What 1,024 peers take (N_NODE); with 256, the full build, a quarter of it.
  localparam int unsigned MostWords = 2048;
  localparam int unsigned MostBits = 49152;
  localparam int unsigned LaneBits = WIDTH / LANES;
  if (DEPTH < 2) begin : gen_refuse_depth
    $error("DEPTH is %0d, at least 2 are needed", DEPTH);
  end
  if (WIDTH % LANES != 0) begin : gen_refuse_lanes
    $error("WIDTH %0d is no multiple of LANES %0d", WIDTH, LANES);
  end
  if (DEPTH > MostWords || WIDTH * DEPTH > MostBits) begin : gen_refuse_bits
    $error("%0d words of %0d bits: at most %0d words and %0d bits", DEPTH, WIDTH, MostWords, MostBits);
  end

  logic [WIDTH-1:0] memory[DEPTH];

  for (genvar reader = 0; reader < READERS; reader++) begin : gen_read
    assign read_data_o[reader] = memory[read_address_i[reader]];
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned lane = 0; lane < LANES; lane++)
      if (write_i[lane])
        memory[write_address_i][LaneBits*lane+:LaneBits] <= write_data_i[LaneBits*lane+:LaneBits];
  end

endmodule
