// SPDX-License-Identifier: BSD-2-Clause
// A terminate message (RFC 5040, 4.8): its DDP header, and its payload as inline data.

module terminate_message
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic         valid_i,           // it is taken; else there is no inline data
    input  term_code_e   code_i,
    input  logic         quote_i,           // quote a segment: the next two count
    input  ddp_head_t    quoted_i,          // how it begins
    input  logic [15:0]  segment_length_i,  // its bytes: header and payload
    output logic [143:0] ddp_o,
    output chunk_t       length_o,
    output inline_t      inline_data_o
);

  // Control and segment length, before the quoted header.
  localparam int unsigned ControlBytes = TERMINATE_BYTES - DDP_TAGGED_BYTES;

  localparam int unsigned RequestBytes = DDP_UNTAGGED_BYTES + READ_REQUEST_BYTES;

  ddp_untagged_t ddp;
  assign ddp = '{
          t: 1'b0,
          last: 1'b1,
          rsvd: '0,
          dv: 2'(DDP_VERSION),
          rv: 2'(RDMAP_VERSION),
          rdmap_rsvd: '0,
          opcode: RDMAP_OPCODE_TERMINATE,
          invalidate_stag: '0,
          qn: TERMINATE_QN,
          msn: 32'd1,
          mo: '0
      };
  assign ddp_o = ddp;

  // RDMAP errors quote the RDMAP header as well, which only an RDMA Read Request has.
  logic with_request;
  /* verilator lint_off UNUSEDSIGNAL */  // T and the opcode tell what it is
  ddp_untagged_t header;
  /* verilator lint_on UNUSEDSIGNAL */
  assign header = quoted_i[$bits(ddp_head_t)-1-:$bits(ddp_untagged_t)];
  assign with_request = !header.t && header.opcode == RDMAP_OPCODE_READ_REQUEST &&
      code_i[15:12] == '0 && segment_length_i >= 16'(RequestBytes);

  int unsigned quoted_bytes;
  always_comb begin
    if (!quote_i) quoted_bytes = 0;
    else if (header.t) quoted_bytes = DDP_TAGGED_BYTES;
    else quoted_bytes = with_request ? RequestBytes : DDP_UNTAGGED_BYTES;
  end

  terminate_t control;
  always_comb begin
    control = '0;
    control.code = code_i;
    control.m = quote_i;
    control.d = quote_i;
    control.r = quote_i && with_request;
    control.segment_length = quote_i ? segment_length_i : '0;
  end

  always_comb begin
    inline_data_o = '0;
    if (valid_i) begin
      for (int unsigned i = 0; i < ControlBytes; i++)
        inline_data_o[8*i+:8] = control[$bits(terminate_t)-1-8*i-:8];
      for (int unsigned i = 0; i < RequestBytes; i++)
        if (i < quoted_bytes)
          inline_data_o[8*(ControlBytes+i)+:8] = quoted_i[$bits(ddp_head_t)-1-8*i-:8];
    end
  end
  assign length_o = chunk_t'(ControlBytes + quoted_bytes);

endmodule
