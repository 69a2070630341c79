// SPDX-License-Identifier: BSD-2-Clause
// Does a segment with a good header fit what came before it on its queue pair, and what the queue
// pair has asked for (RFC 5041, 8; RFC 5040, 4.8)? Combinational.

module stream_check
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
(
    /* verilator lint_off UNUSEDSIGNAL */  // a checker needs a part of each record
    input  segment_t    segment_i,
    input  term_code_e  header_code_i,  // with MESSAGE_BAD
    input  ddp_head_t   ddp_i,
    input  stream_t     stream_i,
    input  pull_t       pull_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input  reads_t      pull_count_i,
    input  reads_t      read_count_i,
    input  reads_t      max_reads_i,
    /* verilator lint_off UNUSEDSIGNAL */
    input  logic [7:0]  access_i,  // what the peer may do
    /* verilator lint_on UNUSEDSIGNAL */
    input  logic        lost_i,      // firmware has lost requests of this queue pair
    output logic        good_o,
    output term_code_e  code_o,
    output logic        right_o  // the peer may do that
);

  /* verilator lint_off UNUSEDSIGNAL */
  ddp_tagged_t header;
  ddp_untagged_t untagged;
  read_request_t request;
  atomic_response_t response;
  /* verilator lint_on UNUSEDSIGNAL */
  assign header   = ddp_i[$bits(ddp_head_t)-1-:$bits(ddp_tagged_t)];
  assign untagged = ddp_i[$bits(ddp_head_t)-1-:$bits(ddp_untagged_t)];
  assign request  = ddp_i[PayloadTop-:$bits(read_request_t)];
  assign response = ddp_i[PayloadTop-:$bits(atomic_response_t)];

  /* verilator lint_off UNUSEDSIGNAL */  // one property counts
  wqe_opcode_properties_t pull;
  /* verilator lint_on UNUSEDSIGNAL */
  assign pull = of_wqe_opcode(pull_i.opcode);

  // Without bytes no right is needed, as no region is.
  always_comb begin
    unique case (segment_i.message)
      MESSAGE_WRITE: right_o = access_i[ACCESS_REMOTE_WRITE] || segment_i.payload == '0;
      MESSAGE_REQUEST:
      right_o = segment_i.atomic ? access_i[ACCESS_REMOTE_ATOMIC]
                                 : access_i[ACCESS_REMOTE_READ] || request.length == '0;
      default: right_o = 1'b1;
    endcase
  end

  logic [31:0] received;
  assign received = stream_i.open ? stream_i.received : '0;

  always_comb begin
    good_o = 1'b0;
    code_o = TERM_CODE_OPCODE;
    unique case (segment_i.message)
      MESSAGE_BAD: code_o = header_code_i;
      MESSAGE_RESPONSE:
      if (segment_i.atomic) begin
        if (untagged.msn != stream_i.atomics + 1'b1) code_o = TERM_CODE_UNTAGGED_MSN;
        else if (untagged.mo != '0) code_o = TERM_CODE_UNTAGGED_MO;
        else
          good_o = pull_count_i != '0 && pull.atomic &&
              response.request_id == 32'(pull_i.wqe_index);
      end else if (pull_count_i == '0 || pull.atomic || header.stag != pull_i.stag) code_o = TERM_CODE_TAGGED_STAG;
      else if (header.to != pull_i.to || 32'(segment_i.payload) > pull_i.left)
        code_o = TERM_CODE_TAGGED_BOUNDS;
      else good_o = header.last == (32'(segment_i.payload) == pull_i.left);
      MESSAGE_SEND, MESSAGE_IMMEDIATE:
      if (untagged.msn != stream_i.messages + 1'b1) code_o = TERM_CODE_UNTAGGED_MSN;
      else if (untagged.mo != received) code_o = TERM_CODE_UNTAGGED_MO;
      else good_o = segment_i.message == MESSAGE_SEND || !stream_i.open;
      MESSAGE_REQUEST:
      if (untagged.msn != stream_i.reads + 1'b1) code_o = TERM_CODE_UNTAGGED_MSN;
      else if (untagged.mo != '0) code_o = TERM_CODE_UNTAGGED_MO;
      else if (!segment_i.atomic && request.length > 32'(MESSAGE_MAX))
        code_o = TERM_CODE_RDMAP_BOUNDS;
      else if (read_count_i >= max_reads_i) code_o = TERM_CODE_UNTAGGED_NO_BUFFER;
      else if (!right_o) code_o = TERM_CODE_ACCESS;
      else if (lost_i) code_o = TERM_CODE_STREAM;
      else good_o = 1'b1;
      MESSAGE_WRITE:
      if (!right_o) code_o = TERM_CODE_ACCESS;
      else good_o = 1'b1;
      default: good_o = 1'b1;
    endcase
  end

endmodule
