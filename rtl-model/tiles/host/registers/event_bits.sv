// SPDX-License-Identifier: BSD-2-Clause
// A bit for each object to which something has happened, until the driver clears it.

module event_bits #(
    parameter int unsigned N = 1024,
    localparam int unsigned Words = (N + 31) / 32,
    localparam int unsigned NumberBits = $clog2(N),
    localparam int unsigned WordBits = $clog2(Words)
) (
    input logic clk_i,
    input logic rst_ni,

    input logic                  set_i,  // pulse; before clear_i
    input logic [NumberBits-1:0] number_i,

    input  logic                look_i,  // the outputs are of no interest without it
    input  logic                clear_i,
    input  logic [WordBits-1:0] word_i,
    input  logic [31:0]         ones_i,  // these bits are cleared
    output logic [31:0]         word_o,
    output logic [31:0]         words_o  // which words have a bit
);

  logic [Words-1:0][31:0] bits_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      bits_q <= '0;
    end else if (set_i || clear_i) begin
      if (clear_i) bits_q[word_i] <= bits_q[word_i] & ~ones_i;
      if (set_i) bits_q[number_i[NumberBits-1:5]][number_i[4:0]] <= 1'b1;
    end
  end

  always_comb begin
    {word_o, words_o} = '0;
    if (look_i) begin
      word_o = bits_q[word_i];
      for (int unsigned i = 0; i < Words; i++) words_o[i] = bits_q[i] != '0;
    end
  end

endmodule
