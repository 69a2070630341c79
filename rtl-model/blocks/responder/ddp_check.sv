// SPDX-License-Identifier: BSD-2-Clause
// What a received DDP segment belongs to, or which error its header is (RFC 5041, 8; RFC 5040,
// 4.8). Combinational.

module ddp_check
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
(
    input  logic [143:0] ddp_i,      // first 18 bytes of the segment
    input  logic [15:0]  length_i,   // of all of it
    output segment_t     segment_o,
    output term_code_e   code_o      // with MESSAGE_BAD: why
);

  /* verilator lint_off UNUSEDSIGNAL */  // reserved bits are ignored on receipt, as the RFCs say;
  ddp_tagged_t header;                   // STag, offset and numbers are checked elsewhere
  ddp_untagged_t untagged;
  /* verilator lint_on UNUSEDSIGNAL */
  assign header   = ddp_i[143-:$bits(ddp_tagged_t)];
  assign untagged = ddp_i;

  message_e message;
  logic atomic, atomic_response;
  assign atomic_response = !untagged.t && untagged.opcode == RDMAP_OPCODE_ATOMIC_RESPONSE;
  assign atomic = atomic_response || (!untagged.t && untagged.opcode == RDMAP_OPCODE_ATOMIC_REQUEST);
  assign segment_o = '{
          message: message,
          atomic: atomic,
          payload: atomic_response ? chunk_t'(ATOMIC_BYTES) : chunk_t'(length_i -
              (untagged.t ? 16'(DDP_TAGGED_BYTES) : 16'(DDP_UNTAGGED_BYTES))),
          last: untagged.last,
          solicited: untagged.opcode inside {RDMAP_OPCODE_SEND_SE, RDMAP_OPCODE_SEND_SE_INVALIDATE,
              RDMAP_OPCODE_IMMEDIATE_SE},
          invalidates: untagged.opcode inside {RDMAP_OPCODE_SEND_INVALIDATE,
              RDMAP_OPCODE_SEND_SE_INVALIDATE}
      };

  function automatic message_e tagged_message(logic [3:0] opcode);
    case (opcode)
      RDMAP_OPCODE_WRITE: return MESSAGE_WRITE;
      RDMAP_OPCODE_READ_RESPONSE: return MESSAGE_RESPONSE;
      default: return MESSAGE_BAD;
    endcase
  endfunction

  // Of a message that is one segment, the length is known.
  logic whole_immediate, whole_request, whole_atomic;
  assign whole_atomic = untagged.last && length_i == 16'(DDP_UNTAGGED_BYTES) +
      (atomic_response ? 16'(ATOMIC_RESPONSE_BYTES) : 16'(ATOMIC_REQUEST_BYTES));
  assign whole_immediate = untagged.last && length_i == 16'(DDP_UNTAGGED_BYTES + IMMEDIATE_BYTES);
  assign whole_request = untagged.last && length_i == 16'(DDP_UNTAGGED_BYTES + READ_REQUEST_BYTES);

  function automatic message_e untagged_message(logic [3:0] opcode, logic [31:0] qn,
                                                logic immediate, logic request,
                                                logic whole_atomic_message);
    case (opcode)
      RDMAP_OPCODE_SEND, RDMAP_OPCODE_SEND_SE, RDMAP_OPCODE_SEND_INVALIDATE,
      RDMAP_OPCODE_SEND_SE_INVALIDATE:
      return qn == SEND_QN ? MESSAGE_SEND : MESSAGE_BAD;
      RDMAP_OPCODE_IMMEDIATE, RDMAP_OPCODE_IMMEDIATE_SE:
      return qn == SEND_QN && immediate ? MESSAGE_IMMEDIATE : MESSAGE_BAD;
      RDMAP_OPCODE_READ_REQUEST:
      return qn == READ_QN && request ? MESSAGE_READ_REQUEST : MESSAGE_BAD;
      RDMAP_OPCODE_ATOMIC_REQUEST:
      return qn == READ_QN && whole_atomic_message ? MESSAGE_READ_REQUEST : MESSAGE_BAD;
      RDMAP_OPCODE_ATOMIC_RESPONSE:
      return qn == ATOMIC_QN && whole_atomic_message ? MESSAGE_RESPONSE : MESSAGE_BAD;
      default: return MESSAGE_BAD;
    endcase
  endfunction

  always_comb begin
    message = MESSAGE_BAD;
    code_o  = TERM_CODE_OPCODE;
    if (untagged.t) begin
      if (header.dv != 2'(DDP_VERSION)) code_o = TERM_CODE_TAGGED_VERSION;
      else if (header.rv != 2'(RDMAP_VERSION)) code_o = TERM_CODE_RDMAP_VERSION;
      else message = tagged_message(header.opcode);
    end else if (untagged.opcode == RDMAP_OPCODE_TERMINATE) begin
      message = MESSAGE_TERMINATE;  // well formed or not: a terminate message is never refused
    end else begin
      if (untagged.dv != 2'(DDP_VERSION)) code_o = TERM_CODE_UNTAGGED_VERSION;
      else if (untagged.rv != 2'(RDMAP_VERSION)) code_o = TERM_CODE_RDMAP_VERSION;
      else if (untagged.qn > ATOMIC_QN) code_o = TERM_CODE_UNTAGGED_QN;
      else
        message = untagged_message(untagged.opcode, untagged.qn, whole_immediate, whole_request,
                                   whole_atomic);
    end
  end

endmodule
