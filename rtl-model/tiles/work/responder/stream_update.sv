// SPDX-License-Identifier: BSD-2-Clause
// What a queue pair remembers behind a step of the responder. Combinational.

module stream_update
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
(
    input stream_t stream_i,

    input stream_change_t change_i,
    // Pulse: the peer has begun another life: it sends from the beginning, and nothing comes again.
    input logic           renewed_i,
    /* verilator lint_off UNUSEDSIGNAL */  // parts of the records count
    input rx_desc_t       desc_i,
    input segment_t       segment_i,
    input fetched_t       fetched_i,   // the receive that is taken
    /* verilator lint_on UNUSEDSIGNAL */
    input term_code_e     owed_i,      // code of a refusal that was put off
    input position_t      position_i,  // behind its payload, if it has any

    output stream_t stream_o
);

  // What was begun is abandoned; its receive is there for the next message.
  logic abandons;
  assign abandons = change_i.dropped || renewed_i ||
      (change_i.came && (desc_i.first || desc_i.seq != stream_i.next));

  logic [31:0] written;
  assign written = stream_i.writing && !abandons ? stream_i.written : '0;

  always_comb begin
    stream_o = stream_i;
    if (change_i.came) stream_o.next = desc_i.seq + 1'b1;
    if (abandons) begin
      stream_o.writing  = 1'b0;
      stream_o.received = '0;
      stream_o.position = '0;
      stream_o.skips    = !renewed_i && (change_i.dropped || !desc_i.first);
    end
    if (renewed_i) begin
      stream_o.next    = '0;
      stream_o.refused = 1'b0;
    end
    if (change_i.taken) begin
      stream_o.open      = 1'b1;
      stream_o.refused   = 1'b0;
      stream_o.wqe_index = fetched_i.wqe_index;
      stream_o.length    = fetched_i.length;
      stream_o.received  = '0;
      stream_o.position  = '0;
    end
    if (change_i.closed) stream_o.open = 1'b0;
    if (change_i.emptied) stream_o.emptied = 1'b1;
    if (change_i.paused) stream_o.refused = 1'b1;
    if (change_i.told) begin
      stream_o.told    = 1'b1;
      stream_o.told_in = desc_i.session;
    end
    if (change_i.owes) begin
      stream_o.owes = 1'b1;
      stream_o.owed = owed_i;
    end
    if (change_i.accepted && segment_i.message == MESSAGE_WRITE) begin
      stream_o.writing = !segment_i.last;
      stream_o.written = written + 32'(segment_i.payload);
    end
    if (change_i.accepted && segment_i.message == MESSAGE_REQUEST)
      stream_o.reads = stream_i.reads + 1'b1;
    if (change_i.accepted && segment_i.message == MESSAGE_RESPONSE && segment_i.atomic)
      stream_o.atomics = stream_i.atomics + 1'b1;
    if (change_i.accepted && segment_i.message inside {MESSAGE_SEND, MESSAGE_IMMEDIATE}) begin
      stream_o.received = stream_i.received + 32'(segment_i.payload);
      if (segment_i.payload != '0) stream_o.position = position_i;
      if (segment_i.last) begin
        stream_o.open     = 1'b0;
        stream_o.messages = stream_i.messages + 1'b1;
      end
    end
  end

endmodule
