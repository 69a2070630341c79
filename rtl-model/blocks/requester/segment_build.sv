// SPDX-License-Identifier: BSD-2-Clause
// What goes into a slot for one segment, besides payload by DMA: its DDP/RDMAP header, and what is
// short enough to go with it. Combinational.

module segment_build
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import requester_pkg::*;
(
    input turn_e       turn_i,
    input logic        last_i,       // of its message
    /* verilator lint_off UNUSEDSIGNAL */
    input wqe_t        wqe_i,        // TURN_WORK: the work request,
    /* verilator lint_on UNUSEDSIGNAL */
    input inline_t     inline_i,     // its inline data,
    input logic        immediate_i,  // whether it has come to its Immediate Data message,
    input logic [31:0] offset_i,     // bytes of the message before this segment,
    input logic [31:0] msn_i,
    input sge_t        sge_i,        // and with PULL: the element that the response goes to
    input read_t       read_i,       // TURN_READ and TURN_TERMINATE: the request
    input term_code_e  code_i,       // TURN_TERMINATE: why,
    input logic        quote_i,      // and whether the request is quoted

    output logic         untagged_o,
    output logic [143:0] ddp_o,
    output logic         imm_valid_o,
    output logic [31:0]  imm_o,
    output logic         inlined_o,
    output inline_t      inline_o,
    output chunk_t       length_o  // with inlined_o
);

  localparam int unsigned RequestLength = DDP_UNTAGGED_BYTES + READ_REQUEST_BYTES;

  logic is_pull, is_push, invalidates, solicits;
  assign is_pull = wqe_i.opcode == WQE_OPCODE_PULL;
  assign is_push = wqe_i.opcode inside {WQE_OPCODE_PUSH, WQE_OPCODE_PUSH_IMM};
  assign invalidates = wqe_i.opcode == WQE_OPCODE_SEND_INVALIDATE;
  assign solicits = wqe_i.flags[WQE_FLAGS_SOLICITED];

  // ---- Header
  ddp_tagged_t tagged_header;
  ddp_untagged_t untagged_header, quoted_header;
  always_comb begin
    tagged_header = '0;
    tagged_header.t = 1'b1;
    tagged_header.last = last_i;
    tagged_header.dv = 2'(DDP_VERSION);
    tagged_header.rv = 2'(RDMAP_VERSION);
    if (turn_i == TURN_READ) begin
      tagged_header.opcode = RDMAP_OPCODE_READ_RESPONSE;
      tagged_header.stag = read_i.request.sink_stag;
      tagged_header.to = read_i.request.sink_to + 64'(read_i.done);
    end else begin
      tagged_header.opcode = RDMAP_OPCODE_WRITE;
      tagged_header.stag = wqe_i.remote_stag;
      tagged_header.to = wqe_i.remote_to + 64'(offset_i);
    end
  end

  always_comb begin
    untagged_header = '0;
    untagged_header.last = last_i;
    untagged_header.dv = 2'(DDP_VERSION);
    untagged_header.rv = 2'(RDMAP_VERSION);
    untagged_header.msn = msn_i;
    if (is_pull) begin
      untagged_header.opcode = RDMAP_OPCODE_READ_REQUEST;
      untagged_header.qn = READ_QN;
    end else if (immediate_i) begin
      untagged_header.opcode = solicits ? RDMAP_OPCODE_IMMEDIATE_SE : RDMAP_OPCODE_IMMEDIATE;
      untagged_header.qn = SEND_QN;
    end else begin
      untagged_header.opcode = rdmap_opcode_e'(
          invalidates ? (solicits ? RDMAP_OPCODE_SEND_SE_INVALIDATE : RDMAP_OPCODE_SEND_INVALIDATE)
                      : (solicits ? RDMAP_OPCODE_SEND_SE : RDMAP_OPCODE_SEND));
      untagged_header.invalidate_stag = invalidates ? wqe_i.imm_data : '0;
      untagged_header.qn = SEND_QN;
      untagged_header.mo = offset_i;
    end
  end

  // ---- What goes inline
  logic [143:0] terminate_ddp;
  chunk_t terminate_length;
  inline_t terminate_inline;
  assign quoted_header = '{
          t: 1'b0,
          last: 1'b1,
          rsvd: '0,
          dv: 2'(DDP_VERSION),
          rv: 2'(RDMAP_VERSION),
          rdmap_rsvd: '0,
          opcode: RDMAP_OPCODE_READ_REQUEST,
          invalidate_stag: '0,
          qn: READ_QN,
          msn: read_i.msn,
          mo: '0
      };
  terminate_message u_terminate (
      .code_i,
      .quote_i,
      .quoted_i({quoted_header, read_i.request}),
      .segment_length_i(16'(RequestLength)),
      .ddp_o(terminate_ddp),
      .length_o(terminate_length),
      .inline_data_o(terminate_inline)
  );

  read_request_t request;
  immediate_t immediate;
  assign request = '{
          sink_stag: sge_i.stag,
          sink_to: sge_i.address,
          length: sge_i.length,
          source_stag: wqe_i.remote_stag,
          source_to: wqe_i.remote_to + 64'(offset_i)
      };
  assign immediate = '{rsvd: '0, data: wqe_i.imm_data};

  // Bytes as on the wire, from the top down, to bytes as in memory.
  inline_t request_inline, immediate_inline;
  always_comb begin
    request_inline = '0;
    immediate_inline = '0;
    for (int unsigned i = 0; i < READ_REQUEST_BYTES; i++)
      request_inline[8*i+:8] = request[$bits(request)-1-8*i-:8];
    for (int unsigned i = 0; i < IMMEDIATE_BYTES; i++)
      immediate_inline[8*i+:8] = immediate[$bits(immediate)-1-8*i-:8];
  end

  always_comb begin
    untagged_o = 1'b1;
    ddp_o = untagged_header;
    inlined_o = 1'b1;
    if (turn_i == TURN_TERMINATE) begin
      ddp_o = terminate_ddp;
      inline_o = terminate_inline;
      length_o = terminate_length;
    end else if (turn_i != TURN_READ && is_pull) begin
      inline_o = request_inline;
      length_o = chunk_t'(READ_REQUEST_BYTES);
    end else if (turn_i != TURN_READ && immediate_i) begin
      inline_o = immediate_inline;
      length_o = chunk_t'(IMMEDIATE_BYTES);
    end else begin
      untagged_o = turn_i != TURN_READ && !is_push;
      if (!untagged_o) ddp_o = {tagged_header, 32'd0};
      inlined_o = turn_i != TURN_READ && wqe_i.flags[WQE_FLAGS_INLINE];
      inline_o = inline_i;
      length_o = chunk_t'(wqe_i.length);
    end
  end
  assign imm_valid_o = turn_i == TURN_WORK && wqe_i.opcode == WQE_OPCODE_SEND_IMM && last_i;
  assign imm_o = imm_valid_o ? wqe_i.imm_data : '0;

endmodule
