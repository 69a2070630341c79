// SPDX-License-Identifier: BSD-2-Clause
// What each queue pair remembers from one segment to the next, and the elements of its open
// receive, so that a work request is fetched once for a message of any number of segments.

module receive_table
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    output logic init_done_o,

    // Forgets a queue pair. Not in the cycle of a write.
    input logic clear_i,
    input qpn_t clear_qpn_i,

    // Is a receive of that queue pair open? One cycle later, until the next look.
    input  logic look_i,
    input  qpn_t look_qpn_i,
    output logic open_o,

    input  qpn_t    qpn_i,     // of all that follows,
    input  qpn_t    read_qpn_i,  // but of this a read
    input  logic    read_i,
    output stream_t stream_o,  // one cycle later, until the next read; writes show
    input  logic    we_i,
    input  stream_t stream_i,

    input  logic [$clog2(MAX_SGE)-1:0] element_read_index_i,
    output sge_t                       element_o,  // one cycle later
    input  logic                       element_we_i,
    input  logic [$clog2(MAX_SGE)-1:0] element_index_i,
    input  sge_t                       element_i
);

  // After reset one queue pair a cycle is cleared.
  qpn_t init_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      init_q      <= '0;
      init_done_o <= 1'b0;
    end else if (!init_done_o) begin
      init_q      <= init_q + 1'b1;
      init_done_o <= init_q == qpn_t'(N_QP - 1);
    end
  end

  logic we;
  qpn_t qpn;
  stream_t stream;
  always_comb begin
    we     = we_i || clear_i || !init_done_o;
    qpn    = qpn_i;
    stream = stream_i;
    if (!init_done_o || clear_i) begin
      qpn    = init_done_o ? clear_qpn_i : init_q;
      stream = '0;
    end
  end

  // What was written since the last read stands beside the memory.
  stream_t stream_read, written_q;
  logic written_since_q;
  always_ff @(posedge clk_i) begin
    if (read_i) written_since_q <= we_i && qpn_i == read_qpn_i;
    else if (we_i) written_since_q <= 1'b1;
  end
  always_ff @(posedge clk_i) if (we_i) written_q <= stream_i;
  assign stream_o = written_since_q ? written_q : stream_read;

  ram_1r1w #(
      .WIDTH($bits(stream_t)),
      .DEPTH(N_QP)
  ) u_streams (
      .clk_i,
      .write_i        (we),
      .write_address_i(qpn),
      .write_data_i   (stream),
      .read_i         (read_i),
      .read_address_i (read_qpn_i),
      .read_data_o    (stream_read)
  );
  // The same as in the stream, for another reader.
  ram_1r1w #(
      .WIDTH(1),
      .DEPTH(N_QP)
  ) u_open (
      .clk_i,
      .write_i        (we),
      .write_address_i(qpn),
      .write_data_i   (stream.open),
      .read_i         (look_i),
      .read_address_i (look_qpn_i),
      .read_data_o    (open_o)
  );
  ram_1r1w #(
      .WIDTH($bits(sge_t)),
      .DEPTH(N_QP*MAX_SGE)
  ) u_elements (
      .clk_i,
      .write_i        (element_we_i),
      .write_address_i({qpn_i, element_index_i}),
      .write_data_i   (element_i),
      .read_i         (1'b1),
      .read_address_i ({qpn_i, element_read_index_i}),
      .read_data_o    (element_o)
  );

endmodule
