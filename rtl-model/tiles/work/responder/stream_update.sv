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
    input logic paused_i,  // the next message found no receive
    input logic        told_i,  // the sender hears of a refusal, in that session
    input logic [15:0] session_i,
    input logic       owes_i,  // a refusal was put off
    input term_code_e owed_i,
    // The peer has begun another life: it sends from the beginning, and nothing comes again.
    input logic renewed_i,

    // Of the unreliable class: a segment has come that is not late; nothing more of its message is
    // served.
    input logic        came_i,
    input logic        first_i,
    input logic [31:0] number_i,
    input logic        dropped_i,

    /* verilator lint_off UNUSEDSIGNAL */
    input segment_t    segment_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input position_t   position_i,   // behind its payload, if it has any
    input wqe_index_t  wqe_index_i,  // the receive that is taken
    input logic [31:0] length_i,

    output stream_t stream_o
);

  // What was begun is abandoned; its receive is there for the next message.
  logic abandons;
  assign abandons = dropped_i || renewed_i || (came_i && (first_i || number_i != stream_i.next));

  logic [31:0] written;
  assign written = stream_i.writing && !abandons ? stream_i.written : '0;

  always_comb begin
    stream_o = stream_i;
    if (came_i) stream_o.next = number_i + 1'b1;
    if (abandons) begin
      stream_o.writing  = 1'b0;
      stream_o.received = '0;
      stream_o.position = '0;
      stream_o.skips    = !renewed_i && (dropped_i || !first_i);
    end
    if (renewed_i) begin
      stream_o.next    = '0;
      stream_o.refused = 1'b0;
    end
    if (taken_i) begin
      stream_o.open      = 1'b1;
      stream_o.refused   = 1'b0;
      stream_o.wqe_index = wqe_index_i;
      stream_o.length    = length_i;
      stream_o.received  = '0;
      stream_o.position  = '0;
    end
    if (closed_i) stream_o.open = 1'b0;
    if (paused_i) stream_o.refused = 1'b1;
    if (told_i) begin
      stream_o.told    = 1'b1;
      stream_o.told_in = session_i;
    end
    if (owes_i) begin
      stream_o.owes = 1'b1;
      stream_o.owed = owed_i;
    end
    if (accepted_i && segment_i.message == MESSAGE_WRITE) begin
      stream_o.writing = !segment_i.last;
      stream_o.written = written + 32'(segment_i.payload);
    end
    if (accepted_i && segment_i.message == MESSAGE_REQUEST)
      stream_o.reads = stream_i.reads + 1'b1;
    if (accepted_i && segment_i.message == MESSAGE_RESPONSE && segment_i.atomic)
      stream_o.atomics = stream_i.atomics + 1'b1;
    if (accepted_i && segment_i.message inside {MESSAGE_SEND, MESSAGE_IMMEDIATE}) begin
      stream_o.received = stream_i.received + 32'(segment_i.payload);
      if (segment_i.payload != '0) stream_o.position = position_i;
      if (segment_i.last) begin
        stream_o.open     = 1'b0;
        stream_o.messages = stream_i.messages + 1'b1;
      end
    end
  end

endmodule
