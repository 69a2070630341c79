// SPDX-License-Identifier: BSD-2-Clause
// Payload of the frames not yet acknowledged. Even and odd words lie in two banks, so that a beat
// at any byte address, which touches two neighbouring words, is written in one cycle.

module tx_buffer
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
  localparam int unsigned Words = TX_SLOTS * MTU_MAX / DATA_BYTES
) (
  input  logic                     clk_i,

  input  logic                     write_i,
  input  tx_address_t              write_address_i,
  input  beat_bytes_t              write_bytes_i,
  input  data_t                    write_data_i,

  input  logic                     read_i,
  input  logic [$clog2(Words)-1:0] read_word_i,
  output data_t                    read_data_o  // next cycle, and until the next read
);

  localparam int unsigned OffsetBits = $clog2(DATA_BYTES);
  localparam int unsigned WordBits = $clog2(Words);
  localparam int unsigned BankBits = WordBits - 1;

  typedef logic [2*DATA_BYTES-1:0] enable_pair_t;

  logic [OffsetBits-1:0] offset;
  logic [WordBits-1:0] word;
  logic odd;
  data_t low_data, high_data;
  logic [DATA_BYTES-1:0] low_bytes, high_bytes;

  assign offset = write_address_i[OffsetBits-1:0];
  assign word   = write_address_i[$bits(tx_address_t)-1:OffsetBits];
  assign odd    = word[0];

  always_comb begin
    {high_data, low_data} = '0;
    {high_bytes, low_bytes} = '0;
    if (write_i) begin
      {high_data, low_data} = {DATA_W'(0), write_data_i} << {offset, 3'b000};
      {high_bytes, low_bytes} = ((enable_pair_t'(1) << write_bytes_i) - 1) << offset;
    end
  end

  data_t even_read, odd_read;
  logic read_odd_q;

  always_ff @(posedge clk_i) begin
    if (read_i) read_odd_q <= read_word_i[0];
  end
  assign read_data_o = read_odd_q ? odd_read : even_read;

  ram_1r1w #(
    .WIDTH(DATA_W),
    .DEPTH(Words / 2),
    .LANES(DATA_BYTES)
  ) u_even (
    .clk_i,
    .write_i        (odd ? high_bytes : low_bytes),
    .write_address_i(word[WordBits-1:1] + BankBits'(odd)),
    .write_data_i   (odd ? high_data : low_data),
    .read_i         (read_i && !read_word_i[0]),
    .read_address_i (read_word_i[WordBits-1:1]),
    .read_data_o    (even_read)
  );

  ram_1r1w #(
    .WIDTH(DATA_W),
    .DEPTH(Words / 2),
    .LANES(DATA_BYTES)
  ) u_odd (
    .clk_i,
    .write_i        (odd ? low_bytes : high_bytes),
    .write_address_i(word[WordBits-1:1]),
    .write_data_i   (odd ? low_data : high_data),
    .read_i         (read_i && read_word_i[0]),
    .read_address_i (read_word_i[WordBits-1:1]),
    .read_data_o    (odd_read)
  );

endmodule
