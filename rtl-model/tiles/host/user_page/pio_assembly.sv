// SPDX-License-Identifier: BSD-2-Clause
// Puts PIO blocks together from their stores, however a processor cuts and orders them. Each user
// page has room for one block that is not complete: no process can tear another one's.

module pio_assembly
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    // A store into the PIO area of a page.
    input  logic        store_i,
    input  page_t       page_i,
    input  logic [11:0] offset_i,  // in the page
    input  logic [3:0]  size_i,
    input  logic [63:0] data_i,
    // These two in the cycle of the store.
    output logic        complete_o,  // it was the last one that its block lacked
    output logic        refused_o,   // it is no good, or what the page had so far is given up for it
    output wqe_t        block_o,     // two cycles behind the store that completes it, till the next one

    input logic  drop_i,  // what a page has so far is forgotten
    input page_t drop_page_i,
    input logic [1:0] drop_firmware_i,  // likewise, if it is of firmware's block
    input page_t      drop_firmware_page_i[2]
);

  localparam int unsigned WordBytes = 8;
  localparam int unsigned Words = WQE_BYTES / WordBytes;
  typedef logic [$clog2(USER_PAGE_SIZE/WQE_BYTES)-1:0] number_t;
  typedef logic [WQE_BYTES-1:0] mask_t;
  localparam number_t Firmware = number_t'(PIO_FIRMWARE / WQE_BYTES);

  logic [USER_PAGES-1:0] open_q;  // the page has an incomplete block:
  number_t begun[3];  // which one, of this page and of those that drop firmware's,
  page_t   begun_page[3];
  mask_t   there[1];  // and its bytes that are there

  number_t number;
  logic [$clog2(Words)-1:0] word;
  logic [2:0] lane;
  assign {number, word, lane} = offset_i;

  logic [WordBytes-1:0] lanes;  // bytes of the word
  logic [63:0] data;
  mask_t bytes, bytes_now;
  logic accept, goes_on;
  always_comb begin
    {lanes, data, bytes, bytes_now, accept, goes_on, complete_o, refused_o} = '0;
    if (store_i) begin
      unique case (size_i)
        4'd1: lanes = 8'h01;
        4'd2: lanes = 8'h03;
        4'd4: lanes = 8'h0f;
        default: lanes = 8'hff;
      endcase
      lanes = lanes << lane;
      data = data_i << {lane, 3'd0};
      bytes = mask_t'(lanes) << {word, 3'd0};
      goes_on = open_q[page_i] && begun[0] == number && (there[0] & bytes) == '0;
      bytes_now = goes_on ? there[0] | bytes : bytes;
      accept = size_i inside {4'd1, 4'd2, 4'd4, 4'd8} && ({1'b0, lane} & (size_i - 4'd1)) == '0;
      complete_o = accept && bytes_now == '1;
      refused_o = !accept || (open_q[page_i] && !goes_on);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q <= '0;
    end else begin
      if (drop_i) open_q[drop_page_i] <= 1'b0;
      for (int unsigned i = 0; i < 2; i++)
        if (drop_firmware_i[i] && begun[1+i] == Firmware)
          open_q[drop_firmware_page_i[i]] <= 1'b0;
      if (accept) open_q[page_i] <= !complete_o;
    end
  end

  assign begun_page = '{page_i, drop_firmware_page_i[0], drop_firmware_page_i[1]};
  lut_ram_nr1w #(
      .WIDTH($bits(number_t)),
      .DEPTH(USER_PAGES),
      .READERS(3)
  ) u_begun (
      .clk_i,
      .write_i        (accept),
      .write_address_i(page_i),
      .write_data_i   (number),
      .read_address_i (begun_page),
      .read_data_o    (begun)
  );
  lut_ram_nr1w #(
      .WIDTH($bits(mask_t)),
      .DEPTH(USER_PAGES)
  ) u_there (
      .clk_i,
      .write_i        (accept),
      .write_address_i(page_i),
      .write_data_i   (bytes_now),
      .read_address_i ('{page_i}),
      .read_data_o    (there)
  );

  // ---- Data: a memory for each word of a block
  page_t page_q;
  logic read_q;
  always_ff @(posedge clk_i) begin
    read_q <= complete_o;
    if (accept) page_q <= page_i;
  end
  for (genvar i = 0; i < Words; i++) begin : gen_word
    ram_1r1w #(
        .WIDTH(64),
        .DEPTH(USER_PAGES),
        .LANES(WordBytes)
    ) u_word (
        .clk_i,
        .write_i        (accept && 32'(word) == i ? lanes : '0),
        .write_address_i(page_i),
        .write_data_i   (data),
        .read_i         (read_q),
        .read_address_i (page_q),
        .read_data_o    (block_o[64*i+:64])
    );
  end

endmodule
