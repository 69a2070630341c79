// SPDX-License-Identifier: BSD-2-Clause
// The host's registers of the agent (MANAGEMENT_*): the frame that it sends, and what waits for it.
// Every access is taken at once; a read is answered in the next cycle.

module management_host
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import management_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    input  logic        valid_i,
    input  logic        write_i,
    input  logic        word_i,     // 32 bits, aligned
    input  logic [15:0] address_i,
    input  logic [31:0] data_i,
    output logic        rsp_valid_o,
    output logic [31:0] rsp_data_o,

    // MANAGEMENT_OUT, for the agent.
    output logic  sending_o,
    input  logic  sent_i,       // pulse: it has left, or is dropped
    input  logic  read_i,
    input  beat_t read_beat_i,
    output data_t read_data_o,  // in the next cycle, until the next read

    // What waits.
    input  logic  waiting_i,
    output logic  taken_o,
    output logic  in_read_o,
    output beat_t in_beat_o,
    input  data_t in_data_i     // in the next cycle
);

  localparam int unsigned Words = DATA_BYTES / 4;  // of a beat
  localparam int unsigned WordBits = $clog2(Words);
  typedef logic [WordBits-1:0] word_t;

  word_t word;
  beat_t beat;
  assign word = address_i[2+:WordBits];
  assign beat = address_i[2+WordBits+:$bits(beat_t)];

  logic write, read, in_out, in_in;
  always_comb begin
    {write, read, in_out, in_in} = '0;
    if (valid_i) begin
      write = write_i && word_i;
      read = !write_i && word_i;
      in_out = in_management_out(address_i);
      in_in = in_management_in(address_i);
    end
  end

  // ---- The frame to send. What nobody has written since the reset is zero.
  logic [BEATS-1:0][Words-1:0] written_q;
  logic puts;
  logic [Words-1:0] puts_to;
  assign puts = write && in_out && !sending_o;
  assign puts_to = puts ? Words'(1) << word : '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) written_q <= '0;
    else if (puts) written_q[beat][word] <= 1'b1;
  end

  data_t out[2];
  logic [Words-1:0] has_q;
  ram_nr1w #(
      .WIDTH(DATA_W),
      .DEPTH(BEATS),
      .READERS(2),
      .LANES(Words)
  ) u_out (
      .clk_i,
      .write_i(puts_to),
      .write_address_i(beat),
      .write_data_i({Words{data_i}}),
      .read_i({read_i, read && in_out}),
      .read_address_i('{beat, read_beat_i}),
      .read_data_o(out)
  );
  always_ff @(posedge clk_i) if (read_i) has_q <= written_q[read_beat_i];
  always_comb begin
    for (int unsigned w = 0; w < Words; w++)
      read_data_o[32*w+:32] = has_q[w] ? out[1][32*w+:32] : '0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) sending_o <= 1'b0;
    else if (write && address_i == REG_MANAGEMENT_SEND) sending_o <= 1'b1;
    else if (sent_i) sending_o <= 1'b0;
  end

  // ---- What waits
  assign taken_o = write && address_i == REG_MANAGEMENT_TAKEN;
  assign in_read_o = read && in_in && waiting_i;
  assign in_beat_o = beat;

  // ---- Reads
  logic from_out_q, from_in_q;
  word_t word_q;
  logic [31:0] value_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) rsp_valid_o <= 1'b0;
    else rsp_valid_o <= valid_i && !write_i;
  end
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      from_out_q <= read && in_out && written_q[beat][word];
      from_in_q <= in_read_o;
      word_q <= word;
      value_q <= '1;
      if (read && (in_out || in_in)) value_q <= '0;
      if (read && address_i == REG_MANAGEMENT_STATUS)
        value_q <= 32'(sending_o) << MANAGEMENT_STATUS_BITS_SENDING |
            32'(waiting_i) << MANAGEMENT_STATUS_BITS_WAITING;
    end
  end
  assign rsp_data_o = from_out_q ? out[0][32*word_q+:32] :
      from_in_q ? in_data_i[32*word_q+:32] : value_q;

endmodule
