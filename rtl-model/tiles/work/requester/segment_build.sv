// SPDX-License-Identifier: BSD-2-Clause
// What is submitted for the slot in hand: DDP/RDMAP header, what is short enough to go with it, and
// what to complete. Combinational.

module segment_build
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import requester_pkg::*;
(
    input logic        valid_i,      // what is built is taken; else it is nothing
    /* verilator lint_off UNUSEDSIGNAL */  // parts of these records have done their work
    input segment_t    segment_i,
    input wqe_t        wqe_i,        // TURN_WORK, TURN_FLUSH: the work request,
    input wqe_opcode_properties_t op_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input inline_t     inline_i,     // its inline data,
    input wqe_index_t  last_slot_i,  // index of its last slot,
    input logic        completes_i,  // and whether the end of the segment is its end too
    input logic        probe_i,      // or it asks for a receive
    input logic        begs_i,       // and for credits
    input logic        alone_i,      // TURN_FLUSH: it ends behind nothing that the queue pair has sent
    input logic [31:0] msn_i,
    input generation_t peer_i,        // generation of the peer
    input service_e    service_i,     // of the queue pair: service,
    input logic [31:0] qkey_i,        // Q_Key
    input logic [15:0] pkey_i,        // and P_Key of UD,
    input logic [31:0] number_i,      // and the number of its next frame
    input sge_t        sge_i,        // PULL: the element that the response goes to
    input logic        last_i,       // whether it has the last bytes of its message
    input chunk_t      gathered_i,   // bytes of payload that were asked for
    output tx_desc_t   submit_o
);

  logic asks, introduces, answers_atomic, is_read, solicits;
  assign is_read = segment_i.turn == TURN_READ;
  assign asks = segment_i.turn == TURN_ASK;
  assign introduces = segment_i.turn == TURN_INTRODUCE;
  assign answers_atomic = is_read && segment_i.read.answer == ANSWER_ATOMIC;
  assign solicits = wqe_i.flags[WQE_FLAGS_SOLICITED];

  // ---- Header
  ddp_tagged_t tagged_header;
  ddp_untagged_t untagged_header, quoted_header;
  always_comb begin
    tagged_header = '0;
    if (valid_i) begin
      tagged_header.t = 1'b1;
      tagged_header.last = last_i;
      tagged_header.dv = 2'(DDP_VERSION);
      tagged_header.rv = 2'(RDMAP_VERSION);
      if (is_read) begin
        tagged_header.opcode = RDMAP_OPCODE_READ_RESPONSE;
        tagged_header.stag = segment_i.read.request.sink_stag;
        tagged_header.to = segment_i.read.request.sink_to + 64'(segment_i.read.done);
      end else begin
        tagged_header.opcode = RDMAP_OPCODE_WRITE;
        if (introduces) begin
          tagged_header.stag = INTRODUCTION_STAG;
          tagged_header.to = segment_i.wants ? 64'(INTRODUCTION_ASKS) : 64'(INTRODUCTION_PLAIN);
        end else if (!asks) begin
          tagged_header.stag = wqe_i.remote_stag;
          tagged_header.to = wqe_i.remote_to + 64'(segment_i.offset);
        end
      end
    end
  end

  always_comb begin
    untagged_header = '0;
    if (valid_i) begin
      untagged_header.last = last_i || op_i.pull || segment_i.immediate || answers_atomic;
      untagged_header.dv = 2'(DDP_VERSION);
      untagged_header.rv = 2'(RDMAP_VERSION);
      untagged_header.msn = msn_i;
      if (answers_atomic) begin
        untagged_header.opcode = RDMAP_OPCODE_ATOMIC_RESPONSE;
        untagged_header.qn = ATOMIC_QN;
      end else if (op_i.pull) begin
        untagged_header.opcode = op_i.opcode;
        untagged_header.qn = READ_QN;
      end else if (segment_i.immediate) begin
        untagged_header.opcode = solicits ? op_i.solicits : RDMAP_OPCODE_IMMEDIATE;
        untagged_header.qn = SEND_QN;
      end else begin
        untagged_header.opcode = solicits ? op_i.solicits : op_i.opcode;
        untagged_header.invalidate_stag = op_i.invalidates ? wqe_i.imm_data : '0;
        untagged_header.qn = SEND_QN;
        untagged_header.mo = segment_i.offset;
      end
    end
  end

  // ---- What goes inline
  localparam int unsigned QuotedRest =
      $bits(ddp_head_t) - $bits(ddp_untagged_t) - $bits(read_request_t);
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
          opcode: segment_i.read.atomic ? RDMAP_OPCODE_ATOMIC_REQUEST : RDMAP_OPCODE_READ_REQUEST,
          invalidate_stag: '0,
          qn: READ_QN,
          msn: segment_i.read.msn,
          mo: segment_i.read_mo
      };
  terminate_message u_terminate (
      .valid_i(valid_i && segment_i.turn == TURN_TERMINATE),
      .code_i(segment_i.code),
      .quote_i(segment_i.quote),
      .quoted_i({quoted_header, segment_i.read.request, QuotedRest'(0)}),
      .segment_length_i(16'(DDP_UNTAGGED_BYTES) +
          (segment_i.read.atomic ? 16'(ATOMIC_REQUEST_BYTES) : 16'(READ_REQUEST_BYTES))),
      .ddp_o(terminate_ddp),
      .length_o(terminate_length),
      .inline_data_o(terminate_inline)
  );

  read_request_t request;
  atomic_request_t atomic_request;
  immediate_t immediate;
  assign atomic_request = '{
          rsvd: '0,
          operation: op_i.operation,
          request_id: 32'(last_slot_i),
          stag: wqe_i.remote_stag,
          to: wqe_i.remote_to,
          data: wqe_i.sge1_address,
          mask: op_i.operation == ATOMIC_OPERATION_FETCH_ADD ? '0 : '1,
          compare: {wqe_i.sge1_stag, wqe_i.sge1_length},
          compare_mask: '1
      };
  assign request = '{
          sink_stag: sge_i.stag,
          sink_to: sge_i.address,
          length: sge_i.length,
          source_stag: wqe_i.remote_stag,
          source_to: wqe_i.remote_to + 64'(segment_i.offset)
      };
  assign immediate = '{rsvd: '0, data: wqe_i.imm_data};

  // Bytes as on the wire, from the top down, to bytes as in memory.
  inline_t request_inline, atomic_inline, response_inline, immediate_inline;
  always_comb begin
    atomic_inline = '0;
    response_inline = '0;
    request_inline = '0;
    immediate_inline = '0;
    if (valid_i) begin
      for (int unsigned i = 0; i < ATOMIC_REQUEST_BYTES; i++)
        atomic_inline[8*i+:8] = atomic_request[$bits(atomic_request)-1-8*i-:8];
      for (int unsigned i = 0; i < ATOMIC_RESPONSE_BYTES; i++)
        response_inline[8*i+:8] = segment_i.read.request[$bits(read_request_t)-1-8*i-:8];
      for (int unsigned i = 0; i < READ_REQUEST_BYTES; i++)
        request_inline[8*i+:8] = request[$bits(request)-1-8*i-:8];
      for (int unsigned i = 0; i < IMMEDIATE_BYTES; i++)
        immediate_inline[8*i+:8] = immediate[$bits(immediate)-1-8*i-:8];
    end
  end

  // ---- The descriptor
  logic inlined;
  always_comb begin
    submit_o = '0;
    inlined = 1'b0;
    if (valid_i) begin
      submit_o.untagged = 1'b1;
      submit_o.ddp = untagged_header;
      inlined = 1'b1;
      if (segment_i.turn == TURN_TERMINATE) begin
        submit_o.ddp = terminate_ddp;
        submit_o.inline_data = terminate_inline;
        submit_o.length = terminate_length;
      end else if (asks || introduces) begin
        submit_o.untagged = 1'b0;
        submit_o.ddp = {tagged_header, 32'd0};
        inlined = 1'b0;
      end else if (answers_atomic) begin
        submit_o.inline_data = response_inline;
        submit_o.length = chunk_t'(ATOMIC_RESPONSE_BYTES);
      end else if (!is_read && op_i.atomic) begin
        submit_o.inline_data = atomic_inline;
        submit_o.length = chunk_t'(ATOMIC_REQUEST_BYTES);
      end else if (!is_read && op_i.pull) begin
        submit_o.inline_data = request_inline;
        submit_o.length = chunk_t'(READ_REQUEST_BYTES);
      end else if (!is_read && segment_i.immediate) begin
        submit_o.inline_data = immediate_inline;
        submit_o.length = chunk_t'(IMMEDIATE_BYTES);
      end else begin
        submit_o.untagged = !is_read && !op_i.push;
        if (!submit_o.untagged) submit_o.ddp = {tagged_header, 32'd0};
        inlined = !is_read && wqe_i.flags[WQE_FLAGS_INLINE];
        submit_o.inline_data = inline_i;
        submit_o.length = chunk_t'(wqe_i.length);
      end

      submit_o.slot = segment_i.slot;
      submit_o.node = segment_i.node;
      submit_o.dst_qpn = segment_i.dest_qpn;
      submit_o.src_qpn = 24'(segment_i.qpn);
      submit_o.src_generation = segment_i.generation;
      submit_o.dst_generation = peer_i;
      submit_o.unsent = segment_i.returned || segment_i.status != CQE_STATUS_SUCCESS ||
          (segment_i.turn == TURN_WORK && op_i.stays);
      submit_o.status = segment_i.returned ? CQE_STATUS_SUCCESS : segment_i.status;
      submit_o.imm_valid = segment_i.turn == TURN_WORK && op_i.imm && !op_i.immediate &&
          last_i;
      submit_o.imm = submit_o.imm_valid ? wqe_i.imm_data : '0;
      submit_o.ask = begs_i && segment_i.turn == TURN_WORK;
      submit_o.unreliable = (service_i != SERVICE_RC && !introduces) || alone_i;
      submit_o.first = submit_o.unreliable && service_i == SERVICE_UC && segment_i.offset == '0 && !segment_i.immediate;
      submit_o.number = submit_o.unreliable ? number_i : '0;
      submit_o.datagram = service_i == SERVICE_UD;
      submit_o.dest = node_t'(wqe_i.remote_to >> DATAGRAM_NODE_SHIFT);
      submit_o.qkey = (wqe_i.remote_stag & QKEY_CONTROLLED) != '0 ? qkey_i : wqe_i.remote_stag;
      submit_o.pkey = pkey_i;
      if (submit_o.datagram) begin
        submit_o.dst_qpn = wqe_i.remote_to[23:0];
        submit_o.src_generation = '0;
        submit_o.dst_generation = '0;
      end
      submit_o.inlined = inlined && !submit_o.unsent;
      if (!submit_o.inlined) submit_o.length = segment_i.gathered ? gathered_i : '0;

      submit_o.tag.qpn = segment_i.qpn;
      submit_o.tag.generation = segment_i.generation;
      submit_o.tag.wqe_index = last_slot_i;
      // What is flushed is not looked at; and nothing passes for a receive, whatever it says.
      submit_o.tag.byte_length = segment_i.turn == TURN_FLUSH ? '0 : wqe_i.length;
      submit_o.tag.signaled = segment_i.turn != TURN_FLUSH && wqe_i.flags[WQE_FLAGS_SIGNALED];
      submit_o.tag.opcode = op_i.posted ? wqe_i.opcode : WQE_OPCODE_PUSH;
      if (asks || introduces) submit_o.tag.opcode = WQE_OPCODE_PULL;
      if (segment_i.returned || is_read) submit_o.tag.kind = TX_KIND_RESPONSE;
      else if (segment_i.turn == TURN_TERMINATE) submit_o.tag.kind = TX_KIND_TERMINATE;
      else if (introduces && !segment_i.wants) submit_o.tag.kind = TX_KIND_INTRODUCTION;
      else if (asks || introduces) submit_o.tag.kind = TX_KIND_SEGMENT;
      else if (completes_i) submit_o.tag.kind = alone_i ? TX_KIND_FLUSH : TX_KIND_LAST;
      else submit_o.tag.kind = probe_i ? TX_KIND_PROBE : TX_KIND_SEGMENT;
      submit_o.stream = service_i == SERVICE_RC && !alone_i &&
          !(submit_o.tag.kind inside {TX_KIND_TERMINATE, TX_KIND_INTRODUCTION});
    end
  end

endmodule
