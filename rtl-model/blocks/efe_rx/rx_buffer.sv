// SPDX-License-Identifier: BSD-2-Clause
// Ring of words for the received segments. A frame is stored behind the kept ones as it comes, and
// stays only if it is kept in the end. Even and odd words lie in two banks, so that DATA_BYTES
// bytes from any address are read in one cycle.

module rx_buffer
  import exrnic_core_pkg::*;
  import efe_rx_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        store_first_i,  // a frame starts (its first words may not be stored)
  input  logic        store_i,
  input  data_t       store_data_i,
  output logic        overflow_o,     // words of this frame did not fit
  input  logic        keep_i,         // between two frames: the last one stays
  input  rx_words_t   keep_words_i,
  output rx_word_t    keep_start_o,   // its place

  input  logic        free_i,         // oldest frame
  input  rx_words_t   free_words_i,

  input  rx_address_t read_address_i,
  output data_t       read_data_o     // next cycle
);

  localparam int unsigned OffsetBits = $clog2(DATA_BYTES);
  localparam int unsigned WordBits = $clog2(RxWords);

  data_t even [RxWords/2];
  data_t odd [RxWords/2];

  // Ends of the kept part, counted twice around the ring: so that full and empty differ.
  rx_words_t first_q, end_q;
  rx_words_t stored_q;  // words of the frame that is coming
  rx_words_t place;
  logic overflow_q, fits;

  assign place        = end_q + stored_q;
  assign fits         = place - first_q < rx_words_t'(RxWords);
  assign overflow_o   = overflow_q;
  assign keep_start_o = end_q[WordBits-1:0];

  always_ff @(posedge clk_i) begin
    if (store_i && fits && !place[0]) even[place[WordBits-1:1]] <= store_data_i;
    if (store_i && fits && place[0]) odd[place[WordBits-1:1]] <= store_data_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      first_q    <= '0;
      end_q      <= '0;
      stored_q   <= '0;
      overflow_q <= 1'b0;
    end else begin
      if (store_first_i) begin
        stored_q   <= '0;
        overflow_q <= 1'b0;
      end else if (store_i) begin
        if (fits) stored_q <= stored_q + 1;
        else overflow_q <= 1'b1;
      end
      if (keep_i) end_q <= end_q + keep_words_i;
      if (free_i) first_q <= first_q + free_words_i;
    end
  end

  // ---- Read

  logic [WordBits-1:0] word;
  data_t even_q, odd_q;
  logic swap_q;
  logic [OffsetBits-1:0] offset_q;

  assign word = read_address_i[$bits(rx_address_t)-1:OffsetBits];

  always_ff @(posedge clk_i) begin
    if (first_q != end_q) begin
      even_q   <= even[word[WordBits-1:1] + (WordBits-1)'(word[0])];
      odd_q    <= odd[word[WordBits-1:1]];
      swap_q   <= word[0];
      offset_q <= read_address_i[OffsetBits-1:0];
    end
  end

  assign read_data_o =
      data_t'((swap_q ? {even_q, odd_q} : {odd_q, even_q}) >> {offset_q, 3'b000});

endmodule
