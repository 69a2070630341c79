// SPDX-License-Identifier: BSD-2-Clause
// Direct-mapped cache of page buffer list entries that live in host memory. See README.md.

module pbl_cache
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
  parameter int unsigned LINES = 512,  // a power of two
  localparam int unsigned PLACE_W = $clog2(PBL_ENTRY_SIZE)
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  output logic              init_done_o,
  output logic              idle_o,

  // Look-up of the entry at a bus address; a multiple of PBL_ENTRY_SIZE, so without its zeros
  input  logic              req_valid_i,
  output logic              req_ready_o,
  input  logic [63:PLACE_W] req_address_i,
  output logic              rsp_valid_o,
  output logic              rsp_error_o,
  output logic [63:0]       rsp_page_o,

  // Forget everything
  input  logic              flush_i,
  output logic              flush_done_o,

  // DMA read, one request in flight
  output logic              rd_valid_o,
  input  logic              rd_ready_i,
  output dma_read_req_t     rd_req_o,
  input  logic              beat_valid_i,
  input  dma_read_beat_t    beat_i,

  output logic              hit_o,
  output logic              miss_o
);
  localparam int unsigned ENTRY_W = 8 * PBL_ENTRY_SIZE;
  localparam int unsigned LINE_W = 8 * PBL_LINE_SIZE;
  localparam int unsigned BYTE_W = $clog2(PBL_LINE_SIZE);
  localparam int unsigned INDEX_W = $clog2(LINES);
  localparam int unsigned LINE_ADDRESS_W = 64 - BYTE_W;
  localparam int unsigned TAG_W = LINE_ADDRESS_W - INDEX_W;
  localparam int unsigned GENERATION_W = 8;

  typedef logic [INDEX_W-1:0] index_t;
  typedef logic [LINE_W-1:0] line_t;

  typedef struct packed {
    logic                    valid;
    logic [GENERATION_W-1:0] generation;  // of an older one: flushed
    logic [TAG_W-1:0]        tag;
  } tag_t;

  typedef enum logic [2:0] {
    ST_CLEAR,  // all lines invalid, one a cycle
    ST_IDLE,
    ST_COMPARE,
    ST_READ,
    ST_FILL,
    ST_FILLED
  } state_e;

  tag_t  tags_q[LINES];
  line_t lines_q[LINES];

  state_e                  state_q;
  logic                    init_done_q;
  logic [63:PLACE_W]       address_q;
  index_t                  index_q;
  tag_t                    tag_q;      // read from tags_q
  line_t                   line_q;     // read from lines_q
  line_t                   fill_q;
  chunk_t                  missing_q;  // bytes of the fill
  logic                    error_q;
  index_t                  clear_q;
  logic [GENERATION_W-1:0] generation_q;
  logic                    flush_q;    // asked for, not begun
  logic                    read_next_q;  // after ST_CLEAR: a look-up waits

  // PBLs mostly start on pages. Folding the high bits in keeps them off each other's lines.
  function automatic index_t index_of(logic [LINE_ADDRESS_W-1:0] line_address);
    index_t folded = '0;
    for (int unsigned i = 0; i < LINE_ADDRESS_W; i += INDEX_W) begin
      folded ^= index_t'(line_address >> i);
    end
    return folded;
  endfunction

  // ---- Control

  logic accept;
  logic flush;
  logic generations_used_up;
  logic hit;
  logic filled;
  tag_t fresh_tag;

  // Between look-ups; or amid one, whose data may be stale then: it reads again.
  assign flush = (flush_q || flush_i) &&
                 (state_q == ST_IDLE || state_q == ST_COMPARE || state_q == ST_FILLED);
  assign generations_used_up = generation_q == '1;

  assign req_ready_o = state_q == ST_IDLE && !flush;
  assign accept = req_valid_i && req_ready_o;

  assign fresh_tag = '{
    valid: 1'b1,
    generation: generation_q,
    tag: address_q[63-:TAG_W]
  };
  assign hit = state_q == ST_COMPARE && !flush && tag_q == fresh_tag;
  assign filled = state_q == ST_FILLED && !flush;

  assign init_done_o = init_done_q;
  assign idle_o = state_q == ST_IDLE && !flush_q && !rsp_valid_o;
  assign hit_o = hit;
  assign miss_o = state_q == ST_COMPARE && !hit;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= ST_CLEAR;
      read_next_q <= 1'b0;
    end else if (flush) begin
      read_next_q <= state_q != ST_IDLE;
      if (generations_used_up) state_q <= ST_CLEAR;
      else if (state_q != ST_IDLE) state_q <= ST_READ;
    end else begin
      unique case (state_q)
        ST_CLEAR:   if (clear_q == '1) state_q <= read_next_q ? ST_READ : ST_IDLE;
        ST_IDLE:    if (accept) state_q <= ST_COMPARE;
        ST_COMPARE: state_q <= hit ? ST_IDLE : ST_READ;
        ST_READ:    if (rd_ready_i) state_q <= ST_FILL;
        ST_FILL:    if (beat_valid_i && beat_i.bytes == missing_q) state_q <= ST_FILLED;
        ST_FILLED:  state_q <= ST_IDLE;
        default:    state_q <= ST_IDLE;
      endcase
    end
  end

  // ---- Flush: a new generation makes every line old; when they are used up, lines are cleared.

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      init_done_q <= 1'b0;
      clear_q <= '0;
      generation_q <= '0;
      flush_q <= 1'b0;
      flush_done_o <= 1'b0;
    end else begin
      flush_q <= (flush_q || flush_i) && !flush;
      flush_done_o <= flush && !generations_used_up;
      if (flush) generation_q <= generation_q + 1'b1;
      if (state_q == ST_CLEAR) begin
        clear_q <= clear_q + 1'b1;
        if (clear_q == '1) begin
          init_done_q <= 1'b1;
          flush_done_o <= init_done_q;
        end
      end
    end
  end

  // ---- Memories

  logic line_ok;
  assign line_ok = filled && !error_q;

  always_ff @(posedge clk_i) begin
    if (state_q == ST_CLEAR || line_ok) begin
      tags_q[line_ok ? index_q : clear_q] <= line_ok ? fresh_tag : '0;
    end
    if (line_ok) lines_q[index_q] <= fill_q;
    if (accept) begin
      tag_q <= tags_q[index_of(req_address_i[63:BYTE_W])];
      line_q <= lines_q[index_of(req_address_i[63:BYTE_W])];
      index_q <= index_of(req_address_i[63:BYTE_W]);
      address_q <= req_address_i;
    end
  end

  // ---- Fill: beats may be cut anywhere, so bytes go to their places one by one.

  assign rd_valid_o = state_q == ST_READ;
  assign rd_req_o = '{
    address: {address_q[63:BYTE_W], BYTE_W'(0)},
    length: chunk_t'(PBL_LINE_SIZE),
    dst: '0
  };

  logic [BYTE_W-1:0] beat_place;
  data_t             beat_data;  // without what lies behind its last byte

  assign beat_place = beat_i.dst[BYTE_W-1:0];
  assign beat_data = beat_i.data & ~(data_t'('1) << {beat_i.bytes[$bits(beat_bytes_t)-1:0], 3'b0});

  always_ff @(posedge clk_i) begin
    if (state_q == ST_READ) begin
      fill_q <= '0;
      missing_q <= chunk_t'(PBL_LINE_SIZE);
      error_q <= 1'b0;
    end else if (state_q == ST_FILL && beat_valid_i) begin
      fill_q <= fill_q | (line_t'(beat_data) << {beat_place, 3'b0});
      missing_q <= missing_q - beat_i.bytes;
      error_q <= error_q || beat_i.error;
    end
  end

  // ---- Response

  line_t line;
  assign line = state_q == ST_COMPARE ? line_q : fill_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) rsp_valid_o <= 1'b0;
    else rsp_valid_o <= hit || filled;
  end

  always_ff @(posedge clk_i) begin
    if (hit || filled) begin
      rsp_error_o <= filled && error_q;
      rsp_page_o <= line[ENTRY_W*address_q[BYTE_W-1:PLACE_W]+:ENTRY_W];
    end
  end
endmodule
