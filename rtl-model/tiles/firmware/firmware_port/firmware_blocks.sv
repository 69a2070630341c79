// SPDX-License-Identifier: BSD-2-Clause
// PIO blocks of user pages that wait for firmware, in the order in which they came. Copies: one that
// finds no place is read from its ring.

module firmware_blocks
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    input logic empty_i,  // nobody takes them: what is there goes away

    input logic      put_i,
    input page_t     page_i,
    input wqe_slot_t block_i,

    output logic        any_o,
    output page_t       page_o,  // of the oldest one
    input  logic [$clog2(FW_BLOCK_WORDS)-1:0] word_index_i,
    output logic [31:0] word_o,
    input  logic        pop_i
);

  localparam int unsigned PlaceBits = $clog2(FW_BLOCKS);
  logic [PlaceBits:0] put_q, get_q, count;
  page_t page_q[FW_BLOCKS];
  wqe_slot_t block_q[FW_BLOCKS];

  logic enters;
  assign count = put_q - get_q;
  assign any_o = count != '0;
  assign enters = put_i && !empty_i && !count[PlaceBits];
  assign page_o = page_q[get_q[PlaceBits-1:0]];
  assign word_o = block_q[get_q[PlaceBits-1:0]][32*32'(word_index_i)+:32];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      put_q <= '0;
      get_q <= '0;
    end else if (empty_i) begin
      get_q <= put_q;
    end else begin
      if (enters) put_q <= put_q + 1'b1;
      if (pop_i && any_o) get_q <= get_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (enters) begin
      page_q[put_q[PlaceBits-1:0]]  <= page_i;
      block_q[put_q[PlaceBits-1:0]] <= block_i;
    end
  end

endmodule
