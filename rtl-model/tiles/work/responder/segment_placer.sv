// SPDX-License-Identifier: BSD-2-Clause
// What a segment asks of host memory. Its payload is placed page by page: in one region from a tagged offset
// on, or over the elements of a receive. It may end with an invalidation, or with an empty write.

`include "exrnic_assert.svh"

module segment_placer
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    // The segment, constant to its end.
    /* verilator lint_off UNUSEDSIGNAL */  // parts of the records count
    input rx_desc_t  desc_i,
    input segment_t  segment_i,
    input pull_t     pull_i,     // where an Atomic Response goes
    input fw_grant_t grant_i,    // where bytes for firmware go,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic      granted_i,  // if it is that
    input pd_t         pd_i,
    input qpn_t        qpn_i,
    input generation_t generation_i,

    // Pulse: its payload is to be placed, from this position on, which may lie behind its element. The position
    // is constant then.
    input  logic    start_i,
    output placed_t placed_o,
    input  logic    invalidates_i,  // it ends with an invalidation,
    input  logic    invalidate_i,   // which is due
    input  logic    end_i,          // the empty write is due

    input  position_t                  position_i,
    output position_t                  position_o,  // when it is placed: behind the last byte
    output logic [$clog2(MAX_SGE)-1:0] element_index_o,
    input  sge_t                       element_i,  // one cycle later

    xlate_if.client  xlate,
    stream_if.source write
);

  /* verilator lint_off UNUSEDSIGNAL */
  ddp_tagged_t header;
  ddp_untagged_t untagged;
  atomic_response_t response;
  /* verilator lint_on UNUSEDSIGNAL */
  assign header   = desc_i.ddp[$bits(ddp_head_t)-1-:$bits(ddp_tagged_t)];
  assign untagged = desc_i.ddp[$bits(ddp_head_t)-1-:$bits(ddp_untagged_t)];
  assign response = desc_i.ddp[PayloadTop-:$bits(atomic_response_t)];

  logic scatter;  // over elements, else from `to` on
  logic [31:0] stag;
  logic [63:0] to;
  assign scatter = !header.t && !segment_i.atomic;
  always_comb begin
    stag = header.stag;
    to   = header.to;
    if (segment_i.atomic) begin
      stag = pull_i.stag;
      to   = pull_i.to;
    end else if (granted_i) begin
      stag = grant_i.stag;
      to   = grant_i.to + header.to;
    end
  end

  typedef enum logic [2:0] { StIdle, StElement, StXlate, StXlateWait, StWrite } state_e;
  state_e state_q, state_d;

  position_t position_q;
  logic [63:0] to_q, bus_address_q;
  chunk_t left_q, chunk_q;
  position_t behind;  // the chunk
  rx_address_t src_q;

  logic used_up, answered, refused, last;
  assign used_up  = scatter && position_q.offset >= element_i.length;
  assign answered = state_q == StXlateWait && xlate.rsp_valid;
  assign refused  = answered && xlate.rsp.status != XLATE_OK;
  assign last     = chunk_q == left_q;
  assign behind   = '{element: position_q.element, offset: position_q.offset + 32'(chunk_q)};

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle: if (start_i) state_d = StXlate;  // its element is read already
      StElement: state_d = StXlate;
      StXlate: if (used_up) state_d = StElement;
               else if (xlate.ready) state_d = StXlateWait;
      StXlateWait: if (answered) state_d = refused ? StIdle : StWrite;
      StWrite: if (write.ready) state_d = last ? StIdle : StXlate;
      default: state_d = StIdle;
    endcase
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= StIdle;
    else state_q <= state_d;
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      StIdle: begin
        position_q <= position_i;
        to_q       <= to;
        left_q     <= segment_i.payload;
        src_q      <= desc_i.start + rx_address_t'(header.t ? DDP_TAGGED_BYTES : DDP_UNTAGGED_BYTES);
      end
      StXlate:
      if (used_up)
        position_q <= '{
            element: position_q.element + 1'b1,
            offset: position_q.offset - element_i.length
        };
      StXlateWait:
      if (xlate.rsp_valid) begin
        bus_address_q <= xlate.rsp.address;
        chunk_q <= xlate.rsp.length < 32'(left_q) ? chunk_t'(xlate.rsp.length) : left_q;
      end
      StWrite:
      if (write.ready) begin
        position_q <= behind;
        to_q       <= to_q + 64'(chunk_q);
        left_q     <= left_q - chunk_q;
        src_q      <= src_q + rx_address_t'(chunk_q);
      end
      default: ;
    endcase
  end

  assign element_index_o = state_q == StIdle ? position_i.element : position_q.element;
  assign position_o = behind;
  assign placed_o =
      '{done: refused || (state_q == StWrite && write.ready && last), refused: refused};

  // An element is looked up to its end, so that one which its region does not cover is refused
  // whatever the length of the message.
  assign xlate.valid = (state_q == StXlate && !used_up) || invalidate_i;
  assign xlate.hold = state_q == StWrite;  // it knows where, and has not written
  always_comb begin
    xlate.req = '0;
    if (state_q == StIdle) begin
      xlate.req.invalidate = 1'b1;
      xlate.req.stag = untagged.invalidate_stag;
      xlate.req.pd = pd_i;
      xlate.req.qpn = qpn_i;
      xlate.req.generation = generation_i;
      xlate.req.access = 8'((1 << ACCESS_REMOTE_READ) | (1 << ACCESS_REMOTE_WRITE));
    end else begin
      xlate.req.stag = scatter ? element_i.stag : stag;
      xlate.req.pd = granted_i ? pd_t'(FW_PD) : pd_i;
      if (!granted_i) begin
        xlate.req.qpn = qpn_i;
        xlate.req.generation = generation_i;
      end
      xlate.req.access = 8'd1 << (segment_i.message == MESSAGE_WRITE ? ACCESS_REMOTE_WRITE : ACCESS_LOCAL_WRITE);
      xlate.req.to = scatter ? element_i.address + 64'(position_q.offset) : to_q;
      xlate.req.length = scatter ? element_i.length - position_q.offset : 32'(left_q);
    end
  end

  assign write.valid = state_q == StWrite || end_i;
  always_comb begin
    write.data = '0;
    if (end_i) begin
      write.data.kind = DMA_WRITE_NONE;
      write.data.frame_done = !desc_i.more;
      write.data.node = desc_i.node;
    end else if (state_q == StWrite) begin
      write.data.kind = segment_i.atomic ? DMA_WRITE_INLINE : DMA_WRITE_FRAME;
      write.data.address = bus_address_q;
      write.data.length = chunk_q;
      write.data.src = src_q;
      if (segment_i.atomic)  // a little-endian number, from its first byte that is left on
        write.data.data = 256'(response.value) >> {3'(chunk_t'(ATOMIC_BYTES) - left_q), 3'b0};
      write.data.frame_done = !invalidates_i && !desc_i.more && last;
      write.data.node = desc_i.node;
    end
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(part_of_the_rest, state_q != StWrite || (chunk_q != '0 && chunk_q <= left_q))
  `EXRNIC_ALWAYS(within_the_element,
      state_q != StXlate || !scatter || left_q == segment_i.payload ||
      position_q.offset <= element_i.length)

endmodule
