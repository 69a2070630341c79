// SPDX-License-Identifier: BSD-2-Clause
// What a received DDP segment is, or which error it is (RFC 5041, 8; RFC 5040, 4.8). Combinational.

module ddp_check
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    /* verilator lint_off UNUSEDSIGNAL */  // STag and offset are checked by the look-up
    input  logic [143:0] ddp_i,   // first 18 bytes of the segment
    /* verilator lint_on UNUSEDSIGNAL */
    output logic         write_o,      // a segment of an RDMA Write
    output logic         terminate_o,  // a terminate message, well formed or not
    output term_code_e   code_o        // with neither: why not
);

  /* verilator lint_off UNUSEDSIGNAL */  // reserved bits are ignored on receipt, as the RFCs say
  ddp_tagged_t header;
  ddp_untagged_t untagged;
  /* verilator lint_on UNUSEDSIGNAL */
  assign header   = ddp_i[143-:$bits(ddp_tagged_t)];
  assign untagged = ddp_i;

  always_comb begin
    write_o     = 1'b0;
    terminate_o = 1'b0;
    code_o      = TERM_CODE_OPCODE;
    if (header.t) begin
      if (header.dv != 2'(DDP_VERSION)) code_o = TERM_CODE_TAGGED_VERSION;
      else if (header.rv != 2'(RDMAP_VERSION)) code_o = TERM_CODE_RDMAP_VERSION;
      else write_o = header.opcode == RDMAP_OPCODE_WRITE;
    end else begin
      terminate_o = untagged.opcode == RDMAP_OPCODE_TERMINATE;
      if (untagged.dv != 2'(DDP_VERSION)) code_o = TERM_CODE_UNTAGGED_VERSION;
      else if (untagged.rv != 2'(RDMAP_VERSION)) code_o = TERM_CODE_RDMAP_VERSION;
      else if (untagged.qn > TERMINATE_QN) code_o = TERM_CODE_UNTAGGED_QN;
    end
  end

endmodule
