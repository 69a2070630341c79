// SPDX-License-Identifier: BSD-2-Clause
// Stands at the element whose bytes come next. Passes over empty elements, and over bytes that
// earlier turns have taken.

module sge_cursor
  import exrnic_pkg::*;
  import requester_pkg::*;
(
    input logic clk_i,

    input  logic        load_i,
    input  sge_t        first_i,      // with load_i: the first element,
    input  sges_t       count_i,      // how many there are,
    input  word_index_t next_word_i,  // where the second one stands,
    input  logic [31:0] skip_i,       // and bytes that are done already
    output word_index_t word_index_o,
    input  sge_t        word_i,       // one cycle later

    output logic        valid_o,  // sge_o has the next bytes
    output logic        end_o,    // there are none
    output sge_t        sge_o,
    input  logic        take_i,   // with valid_o: that many of them are taken
    input  logic [31:0] bytes_i
);

  sge_t sge_q;
  sges_t count_q;
  word_index_t next_word_q;
  logic [31:0] skip_q;
  logic coming_q;  // word_i is the next element

  logic pass;
  logic [31:0] gone;
  assign gone = take_i ? bytes_i : skip_q;
  assign pass = !coming_q && count_q != '0 && skip_q >= sge_q.length;
  assign end_o = count_q == '0;
  assign valid_o = !end_o && !coming_q && !pass && skip_q == '0;
  assign sge_o = sge_q;
  assign word_index_o = next_word_q;

  always_ff @(posedge clk_i) begin
    coming_q <= 1'b0;
    if (load_i) begin
      sge_q       <= first_i;
      count_q     <= count_i;
      next_word_q <= next_word_i;
      skip_q      <= skip_i;
    end else if (coming_q) begin
      sge_q <= word_i;
    end else if (pass) begin
      skip_q      <= skip_q - sge_q.length;
      count_q     <= count_q - 1'b1;
      next_word_q <= next_word_q + 1'b1;
      coming_q    <= 1'b1;
    end else if (skip_q != '0 || take_i) begin
      sge_q.address <= sge_q.address + 64'(gone);
      sge_q.length  <= sge_q.length - gone;
      skip_q        <= '0;
    end
  end

endmodule
