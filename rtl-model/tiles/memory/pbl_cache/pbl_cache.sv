// SPDX-License-Identifier: BSD-2-Clause
// Direct-mapped cache of page buffer list entries that live in host memory. A look-up that misses
// leaves, and its client comes again when the line is there. See README.md.

`include "exrnic_assert.svh"

module pbl_cache
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
  parameter int unsigned LINES = 512,  // a power of two
  parameter int unsigned CLIENTS = 3,
  localparam int unsigned CLIENT_W = CLIENTS > 1 ? $clog2(CLIENTS) : 1,
  localparam int unsigned PLACE_W = $clog2(PBL_ENTRY_SIZE)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  output logic                init_done_o,
  output logic                idle_o,

  // Look-up of the entry at a bus address; a multiple of PBL_ENTRY_SIZE, so without its zeros
  input  logic                req_valid_i,
  output logic                req_ready_o,
  input  logic [CLIENT_W-1:0] req_client_i,
  input  logic                req_again_i,  // it has been here before
  input  logic [63:PLACE_W]   req_address_i,
  input  pbl_owner_t          req_owner_i,  // whose PBL it is: lines of another one do not count
  output logic                rsp_valid_o,
  output logic                rsp_missed_o, // no answer: come again when the client's waiting_o ends
  output logic                rsp_error_o,
  output logic [63:0]         rsp_page_o,
  output logic [CLIENTS-1:0]  waiting_o,

  // Forget everything
  input  logic                flush_i,
  output logic                flush_done_o,

  // DMA read, one request in flight for each client
  output logic                rd_valid_o,
  input  logic                rd_ready_i,
  output dma_read_req_t       rd_req_o,
  input  logic                beat_valid_i,
  input  dma_read_beat_t      beat_i,

  output logic                hit_o,
  output logic                miss_o
);
  localparam int unsigned ENTRY_W = 8 * PBL_ENTRY_SIZE;
  localparam int unsigned LINE_W = 8 * PBL_LINE_SIZE;
  localparam int unsigned BYTE_W = $clog2(PBL_LINE_SIZE);
  localparam int unsigned INDEX_W = $clog2(LINES);
  localparam int unsigned LINE_ADDRESS_W = $bits(pbl_owner_t) + 64 - BYTE_W;
  localparam int unsigned TAG_W = LINE_ADDRESS_W - INDEX_W;
  localparam int unsigned GENERATION_W = 8;

  typedef logic [INDEX_W-1:0] index_t;
  typedef logic [LINE_W-1:0] line_t;
  typedef logic [LINE_ADDRESS_W-1:0] line_address_t;  // owner, and number of the line

  typedef struct packed {
    logic                    valid;
    logic [GENERATION_W-1:0] generation;  // of an older one: flushed
    logic [TAG_W-1:0]        tag;
  } tag_t;

  logic                    clear_now_q;  // all lines become invalid, one a cycle
  logic                    compare_q;
  logic                    init_done_q;
  logic [CLIENT_W-1:0]     client_q;
  logic                    again_q;
  logic [63:PLACE_W]       address_q;
  pbl_owner_t              owner_q;
  line_address_t           line_in_hand;
  tag_t                    tag_q;   // as read
  line_t                   line_q;  // as read
  index_t                  clear_q;
  logic [GENERATION_W-1:0] generation_q;
  logic                    flush_q;  // asked for, not begun

  // PBLs mostly start on pages. Folding the high bits in keeps them off each other's lines.
  function automatic index_t index_of(line_address_t line_address);
    index_t folded = '0;
    for (int unsigned i = 0; i < LINE_ADDRESS_W; i += INDEX_W) begin
      folded ^= index_t'(line_address >> i);
    end
    return folded;
  endfunction

  function automatic tag_t fresh_tag(logic [TAG_W-1:0] tag, logic [GENERATION_W-1:0] generation);
    return '{valid: 1'b1, generation: generation, tag: tag};
  endfunction

  // ---- Control

  logic accept;
  logic compare;
  logic flush;
  logic generations_used_up;
  logic install;  // a line that has come
  logic arrived;  // the line that the client waited for

  // Between look-ups; or amid one, which then misses: what was read for it may be of the past.
  assign flush = (flush_q || flush_i) && !clear_now_q;
  assign generations_used_up = generation_q == '1;

  // Not while a line is written, whatever the RAM does on a collision.
  assign req_ready_o = !clear_now_q && !flush && !install;
  assign accept = req_valid_i && req_ready_o;

  assign compare = compare_q;
  always_comb begin
    {arrived, hit_o, miss_o} = '0;
    if (compare) begin
      arrived = !flush && again_q && found;
      hit_o = !flush && !arrived && tag_q == fresh_tag(line_in_hand[LINE_ADDRESS_W-1-:TAG_W], generation_q);
      miss_o = !arrived && !hit_o;
    end
  end

  assign init_done_o = init_done_q;
  assign idle_o = !clear_now_q && !compare_q && !flush_q && !rsp_valid_o && waiting_o == '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      clear_now_q <= 1'b1;
      compare_q <= 1'b0;
    end else begin
      clear_now_q <= flush ? generations_used_up : clear_now_q && clear_q != '1;
      compare_q <= accept;
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
      if (clear_now_q) begin
        clear_q <= clear_q + 1'b1;
        if (clear_q == '1) begin
          init_done_q <= 1'b1;
          flush_done_o <= init_done_q;
        end
      end
    end
  end

  // ---- Lines on their way

  logic             found, found_error, install_valid;
  line_t            found_line, install_line;
  line_address_t    install_address;
  assign line_in_hand = {owner_q, address_q[63:BYTE_W]};

  pbl_fill #(
    .CLIENTS(CLIENTS)
  ) u_fill (
    .clk_i,
    .rst_ni,
    .flush_i(flush),
    .waiting_o,
    .client_i(client_q),
    .line_address_i(line_in_hand),
    .forget_i(compare),
    .start_i(miss_o),
    .found_o(found),
    .error_o(found_error),
    .line_o(found_line),
    .install_o(install_valid),
    .install_address_o(install_address),
    .install_line_o(install_line),
    .rd_valid_o,
    .rd_ready_i,
    .rd_req_o,
    .beat_valid_i,
    .beat_i
  );

  // ---- Memories

  // One that comes while the lines are cleared goes to its client only.
  index_t install_index;
  assign install = install_valid && !clear_now_q;
  tag_t written_tag;
  always_comb begin
    install_index = '0;
    written_tag   = '0;
    if (install_valid) install_index = index_of(install_address);
    if (install) written_tag = fresh_tag(install_address[LINE_ADDRESS_W-1-:TAG_W], generation_q);
  end

  index_t read_index;
  always_comb begin
    read_index = '0;
    if (accept) read_index = index_of({req_owner_i, req_address_i[63:BYTE_W]});
  end

  ram_1r1w #(
    .WIDTH($bits(tag_t)),
    .DEPTH(LINES)
  ) u_tags (
    .clk_i,
    .write_i        (clear_now_q || install),
    .write_address_i(clear_now_q ? clear_q : install_index),
    .write_data_i   (written_tag),
    .read_i         (accept),
    .read_address_i (read_index),
    .read_data_o    (tag_q)
  );
  ram_1r1w #(
    .WIDTH(LINE_W),
    .DEPTH(LINES)
  ) u_lines (
    .clk_i,
    .write_i        (install),
    .write_address_i(install_index),
    .write_data_i   (install_line),
    .read_i         (accept),
    .read_address_i (read_index),
    .read_data_o    (line_q)
  );

  always_ff @(posedge clk_i) begin
    if (accept) begin
      client_q <= req_client_i;
      again_q <= req_again_i;
      address_q <= req_address_i;
      owner_q <= req_owner_i;
    end
  end

  // ---- Response

  line_t line;
  assign line = arrived ? found_line : line_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) rsp_valid_o <= 1'b0;
    else rsp_valid_o <= compare;
  end

  always_ff @(posedge clk_i) begin
    if (compare) begin
      rsp_missed_o <= miss_o;
      rsp_error_o <= arrived && found_error;
      rsp_page_o <= line[ENTRY_W*address_q[BYTE_W-1:PLACE_W]+:ENTRY_W];
    end
  end
  // ---- What is promised
  `EXRNIC_OFFERED(rd_is_offered, rd_valid_o, rd_ready_i)

endmodule
