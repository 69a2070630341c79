// SPDX-License-Identifier: BSD-2-Clause
// Does a segment of the unreliable class go on with its message, or begin one; or is a datagram a
// message (EFE.md)?
// Combinational.

module message_check
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
(
    /* verilator lint_off UNUSEDSIGNAL */  // parts of these records count
    input  segment_t    segment_i,
    input  stream_t     stream_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input  logic        datagram_i,  // then number_i means nothing
    input  logic        first_i,
    input  logic [31:0] number_i,
    input  logic [31:0] offset_i,  // of an untagged segment in its message
    output logic        good_o,    // it may be served
    output logic        late_o,    // it was overtaken, or came twice
    output logic        gap_o      // frames before it are missing
);

  logic [31:0] behind;
  assign behind = stream_i.next - number_i;
  assign late_o = !datagram_i && behind != '0 && behind <= 32'(UC_STALE);
  assign gap_o  = !datagram_i && behind != '0 && !late_o;

  logic begins, goes_on;
  always_comb begin
    begins  = 1'b0;
    goes_on = 1'b0;
    unique case (segment_i.message)
      MESSAGE_WRITE: begin
        begins  = 1'b1;
        goes_on = stream_i.writing;
      end
      MESSAGE_SEND: begin
        begins  = offset_i == '0;
        goes_on = !stream_i.writing && stream_i.open && offset_i == stream_i.received;
      end
      // Behind the RDMA Write of its work request. A receive of an abandoned message may be open.
      MESSAGE_IMMEDIATE:
      goes_on = !stream_i.writing && (!stream_i.open || stream_i.received == '0);
      default: ;
    endcase
    if (datagram_i && !segment_i.last) begins = 1'b0;
    if (datagram_i ? !segment_i.ud : !segment_i.uc) {begins, goes_on} = '0;
  end
  assign good_o = !late_o && (first_i ? begins : goes_on && !gap_o && !stream_i.skips);

endmodule
