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

  /* verilator lint_off UNUSEDSIGNAL */  // some properties count
  rdmap_opcode_properties_t op;
  /* verilator lint_on UNUSEDSIGNAL */
  assign op = of_rdmap_opcode(untagged.opcode);

  message_e message;
  assign segment_o = '{
          message: message,
          atomic: op.atomic,
          payload: op.atomic && message == MESSAGE_RESPONSE ? chunk_t'(ATOMIC_BYTES) :
              chunk_t'(length_i - (untagged.t ? 16'(DDP_TAGGED_BYTES) : 16'(DDP_UNTAGGED_BYTES))),
          last: untagged.last,
          solicited: op.solicited,
          invalidates: op.invalidates,
          uc: op.uc,
          ud: op.ud
      };

  logic whole;  // as its opcode wants it
  assign whole = op.whole == '0 ||
      (untagged.last && length_i == 16'(DDP_UNTAGGED_BYTES) + 16'(op.whole));

  always_comb begin
    message = MESSAGE_BAD;
    code_o  = TERM_CODE_OPCODE;
    if (untagged.t) begin
      if (header.dv != 2'(DDP_VERSION)) code_o = TERM_CODE_TAGGED_VERSION;
      else if (header.rv != 2'(RDMAP_VERSION)) code_o = TERM_CODE_RDMAP_VERSION;
      else if (op.is_tagged) message = op.message;
    end else if (op.message == MESSAGE_TERMINATE) begin
      message = MESSAGE_TERMINATE;  // well formed or not: a terminate message is never refused
    end else begin
      if (untagged.dv != 2'(DDP_VERSION)) code_o = TERM_CODE_UNTAGGED_VERSION;
      else if (untagged.rv != 2'(RDMAP_VERSION)) code_o = TERM_CODE_RDMAP_VERSION;
      else if (untagged.qn > ATOMIC_QN) code_o = TERM_CODE_UNTAGGED_QN;
      else if (!op.is_tagged && whole && untagged.qn == 32'(op.qn)) message = op.message;
    end
  end

endmodule
