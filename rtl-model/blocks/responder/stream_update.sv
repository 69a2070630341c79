// SPDX-License-Identifier: BSD-2-Clause
// What a queue pair remembers behind a step of the responder. Combinational.

module stream_update
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
(
    input stream_t stream_i,

    // A segment is served; a receive is taken; or the open one has ended without its message.
    input logic accepted_i,
    input logic taken_i,
    input logic closed_i,

    input message_e    message_i,  // the segment
    input chunk_t      payload_i,
    input logic        last_i,
    input wqe_index_t  wqe_index_i,  // the receive that is taken
    input logic [31:0] length_i,
    input logic [$clog2(MAX_SGE)-1:0] element_i,  // position behind its payload, if it has any
    input logic [31:0]                offset_i,

    output stream_t stream_o
);

  logic [31:0] written;
  assign written = stream_i.writing ? stream_i.written : '0;

  always_comb begin
    stream_o = stream_i;
    if (taken_i) begin
      stream_o.open      = 1'b1;
      stream_o.wqe_index = wqe_index_i;
      stream_o.length    = length_i;
      stream_o.received  = '0;
      stream_o.element   = '0;
      stream_o.offset    = '0;
    end
    if (closed_i) stream_o.open = 1'b0;
    if (accepted_i && message_i == MESSAGE_WRITE) begin
      stream_o.writing = !last_i;
      stream_o.written = written + 32'(payload_i);
    end
    if (accepted_i && message_i == MESSAGE_READ_REQUEST) stream_o.reads = stream_i.reads + 1'b1;
    if (accepted_i && message_i inside {MESSAGE_SEND, MESSAGE_IMMEDIATE}) begin
      stream_o.received = stream_i.received + 32'(payload_i);
      if (payload_i != '0) begin
        stream_o.element = element_i;
        stream_o.offset  = offset_i;
      end
      if (last_i) begin
        stream_o.open     = 1'b0;
        stream_o.messages = stream_i.messages + 1'b1;
      end
    end
  end

endmodule
