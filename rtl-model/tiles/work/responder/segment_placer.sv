// SPDX-License-Identifier: BSD-2-Clause
// Places the payload of a segment, page by page: in one region from a tagged offset on, or over the
// elements of a receive.

module segment_placer
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,

    // A segment with payload. These two and the position count with start_i, the rest until done_o.
    input  logic        start_i,
    input  chunk_t      length_i,
    input  rx_address_t src_i,
    input  logic        inline_i,   // 8 bytes that are here, a little-endian number
    input  logic [63:0] inline_data_i,
    input  logic        scatter_i,  // over elements, else from `to` on
    input  logic [31:0] stag_i,
    input  logic [63:0] to_i,
    input  logic [7:0]  access_i,
    input  pd_t         pd_i,
    input  node_t       node_i,
    input  logic        finish_i,   // its last write ends the segment

    input  position_t                  position_i,
    output position_t                  position_o,  // with done_o: behind the last byte
    output logic [$clog2(MAX_SGE)-1:0] element_index_o,
    input  sge_t                       element_i,  // one cycle later

    output logic done_o,     // pulse: the last write is accepted, or:
    output logic refused_o,  // by the look-up that is answered now

    output logic       xlate_valid_o,
    input  logic       xlate_ready_i,
    output xlate_req_t xlate_o,
    input  logic       xlate_rsp_valid_i,
    input  xlate_rsp_t xlate_rsp_i,

    output logic           write_valid_o,  // it knows where, see xlate
    input  logic           write_ready_i,
    output dma_write_cmd_t write_o
);

  typedef enum logic [2:0] { StIdle, StElement, StXlate, StXlateWait, StWrite } state_e;
  state_e state_q, state_d;

  position_t position_q;
  logic [63:0] to_q, bus_address_q;
  chunk_t left_q, chunk_q;
  position_t behind;  // the chunk
  rx_address_t src_q;

  logic used_up, answered, refused, last;
  assign used_up  = scatter_i && position_q.offset == element_i.length;
  assign answered = state_q == StXlateWait && xlate_rsp_valid_i;
  assign refused  = answered && xlate_rsp_i.status != XLATE_OK;
  assign last     = chunk_q == left_q;
  assign behind   = '{element: position_q.element, offset: position_q.offset + 32'(chunk_q)};

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle: if (start_i) state_d = scatter_i ? StElement : StXlate;
      StElement: state_d = StXlate;
      StXlate: if (used_up) state_d = StElement;
               else if (xlate_ready_i) state_d = StXlateWait;
      StXlateWait: if (answered) state_d = refused ? StIdle : StWrite;
      StWrite: if (write_ready_i) state_d = last ? StIdle : StXlate;
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
        to_q       <= to_i;
        left_q     <= length_i;
        src_q      <= src_i;
      end
      StXlate:
      if (used_up) position_q <= '{element: position_q.element + 1'b1, offset: '0};
      StXlateWait:
      if (xlate_rsp_valid_i) begin
        bus_address_q <= xlate_rsp_i.address;
        chunk_q <= xlate_rsp_i.length < 32'(left_q) ? chunk_t'(xlate_rsp_i.length) : left_q;
      end
      StWrite:
      if (write_ready_i) begin
        position_q <= behind;
        to_q       <= to_q + 64'(chunk_q);
        left_q     <= left_q - chunk_q;
        src_q      <= src_q + rx_address_t'(chunk_q);
      end
      default: ;
    endcase
  end

  assign element_index_o = position_q.element;
  assign position_o = behind;
  assign done_o = refused || (state_q == StWrite && write_ready_i && last);
  assign refused_o = refused;

  // An element is looked up to its end, so that one which its region does not cover is refused
  // whatever the length of the message.
  assign xlate_valid_o = state_q == StXlate && !used_up;
  assign xlate_o = '{
          invalidate: 1'b0,
          ring: 1'b0,
          pbl_address: '0,
          stag: scatter_i ? element_i.stag : stag_i,
          pd: pd_i,
          access: access_i,
          to: scatter_i ? element_i.address + 64'(position_q.offset) : to_q,
          length: scatter_i ? element_i.length - position_q.offset : 32'(left_q)
      };

  assign write_valid_o = state_q == StWrite;
  always_comb begin
    write_o = '0;
    if (write_valid_o) begin
      write_o.kind = inline_i ? DMA_WRITE_INLINE : DMA_WRITE_FRAME;
      write_o.address = bus_address_q;
      write_o.length = chunk_q;
      write_o.src = src_q;
      if (inline_i)
        write_o.data = 256'(inline_data_i) >> {3'(chunk_t'(ATOMIC_BYTES) - left_q), 3'b0};
      write_o.frame_done = finish_i && last;
      write_o.node = node_i;
    end
  end

endmodule
