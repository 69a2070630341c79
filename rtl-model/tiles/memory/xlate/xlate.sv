// SPDX-License-Identifier: BSD-2-Clause
// Address translation for all who touch host memory: STag checks, then the PBL. One look-up at a time
// is in hand; one whose PBL line has to be read first waits aside and begins anew. See README.md.

`include "exrnic_assert.svh"

module xlate
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
  parameter int unsigned PBL_LINES = 512,
  parameter int unsigned CLIENTS = 3  // at least 2
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  output logic               init_done_o,
  output logic               idle_o,

  // Clients
  input  logic [CLIENTS-1:0] req_valid_i,
  output logic [CLIENTS-1:0] req_ready_o,
  input  xlate_req_t         req_i[CLIENTS],
  output logic [CLIENTS-1:0] rsp_valid_o,
  output xlate_rsp_t         rsp_o,
  input  logic [CLIENTS-1:0] hold_i,     // has an address of a region that no transfer was asked for with,
  output logic               let_go_o,   // and is to forget it, or to use it soon

  // When has all been read that was asked for by now?
  output logic               fence_o,       // pulse
  input  logic               fence_done_i,  // pulse: now

  // Management of regions
  input  logic               mr_we_i,
  input  stag_index_t        mr_index_i,
  input  mr_t                mr_i,
  output mr_t                mr_o,
  input  logic               flush_i,
  output logic               flush_done_o,

  // DMA read of PBL lines
  output logic               rd_valid_o,
  input  logic               rd_ready_i,
  output dma_read_req_t      rd_req_o,
  input  logic               beat_valid_i,
  input  dma_read_beat_t     beat_i,

  output event_t             event_o
);
  typedef enum logic [2:0] {
    ST_IDLE,
    ST_STAG_ASK,
    ST_STAG_WAIT,
    ST_PBL_ASK,
    ST_PBL_WAIT,
    ST_FLUSH_ASK,
    ST_FLUSH_WAIT
  } state_e;

  localparam int unsigned CLIENT_W = $clog2(CLIENTS);
  typedef logic [CLIENT_W-1:0] client_t;

  state_e             state_q;
  client_t            client_q;  // whose look-up is in hand, or was
  xlate_req_t         req_q[CLIENTS];
  logic [CLIENTS-1:0] open_q;    // taken, not answered
  logic [CLIENTS-1:0] again_q;   // of these: it has asked the cache before
  logic               flush_q;   // asked for, not begun
  logic               flush;     // now or from before
  xlate_req_t         req;       // in hand
  assign flush = flush_q || flush_i;
  assign req = req_q[client_q];

  // ---- Clients in turn: the search starts behind the one served last.

  logic [CLIENTS-1:0] waiting;  // for their lines
  logic [CLIENTS-1:0] wants;
  logic               take;
  logic               accept;   // a new one
  client_t            next_client;

  function automatic client_t behind(client_t client, int unsigned places);
    int unsigned sum = 32'(client) + places;
    return client_t'(sum < CLIENTS ? sum : sum - CLIENTS);
  endfunction

  assign wants = (open_q & ~waiting & ~invalidated_q) | (~open_q & req_valid_i);
  always_comb begin
    next_client = client_q;
    if (take)
      for (int unsigned i = CLIENTS - 1; i > 0; i--) begin
        if (wants[behind(client_q, i)]) next_client = behind(client_q, i);
      end
  end

  assign take = state_q == ST_IDLE && init_done_o && !flush && wants != '0;
  assign accept = take && !open_q[next_client];
  assign req_ready_o = accept ? CLIENTS'(1) << next_client : '0;

  // ---- Parts

  logic stag_init_done, stag_ready, stag_done;
  logic pbl_init_done, pbl_ready, pbl_done, pbl_missed, pbl_error, pbl_idle;
  logic hit, miss, pbl_flush_done;
  logic region_huge, is_window, replaces;
  mr_life_t region_life;
  logic [63:0] region_pbl, region_offset, page;
  xlate_status_e stag_status;

  // Two entries are looked at where a memory window is one of them: behind the window its region,
  // and behind the region the window that is to be bound to it.
  localparam logic [7:0] WrittenRights = 8'(1 << ACCESS_REMOTE_WRITE | 1 << ACCESS_REMOTE_ATOMIC);
  logic        second_q;
  mw_binding_t binding_q;  // with second_q
  logic        of_window;    // the region of a memory window is asked for
  logic        asks_region;  // the same, or a region to bind to
  logic [31:0] asked_stag;
  logic [7:0]  asked_access;
  assign of_window = second_q && !req.binds;
  assign asks_region = second_q != req.binds;
  always_comb begin
    asked_stag = req.stag;
    asked_access = req.access;
    if (asks_region) begin
      asked_stag = of_window ? 32'(binding_q.region) << STAG_INDEX_SHIFT : req.region;
      asked_access = 8'd1 << ACCESS_MW_BIND;
      if ((req.access & WrittenRights) != '0) asked_access |= 8'd1 << ACCESS_LOCAL_WRITE;
    end
  end

  stag_table u_stag_table (
    .clk_i,
    .rst_ni,
    .init_done_o(stag_init_done),
    .we_i(mr_we_i),
    .index_i(mr_index_i),
    .mr_i,
    .mr_o,
    .req_valid_i(state_q == ST_STAG_ASK),
    .req_ready_o(stag_ready),
    .req_invalidate_i(req.invalidate),
    .req_registers_i(req.registers),
    .req_binds_i(req.binds && second_q),
    .req_behind_i(of_window),
    .req_life_i(binding_q.life),
    .req_stag_i(asked_stag),
    .req_pd_i(req.pd),
    .req_qpn_i(req.qpn),
    .req_generation_i(req.generation),
    .req_access_i(asked_access),
    .req_to_i(req.to),
    .req_length_i(req.registers || req.binds ? req.size : 64'(req.length)),
    .req_pbl_address_i(req.binds ? 64'(binding_q) : req.pbl_address),
    .req_huge_i(req.huge_pages),
    .rsp_valid_o(stag_done),
    .rsp_status_o(stag_status),
    .rsp_window_o(is_window),
    .rsp_replaces_o(replaces),
    .rsp_pbl_address_o(region_pbl),
    .rsp_huge_o(region_huge),
    .rsp_life_o(region_life),
    .rsp_offset_o(region_offset)
  );

  // ---- The byte asked for: its place among the pages of ring or region, from the PBL's start

  localparam int unsigned ENTRY_SHIFT = $clog2(PBL_ENTRY_SIZE);
  logic                   huge_pages;
  logic [63:0]            pbl;
  logic [63:0]            offset;
  logic [63-PAGE_SHIFT:0] page_index;
  logic [31:0]            place;  // in its page
  logic [31:0]            rest;   // of its page, from the byte on
  logic [63:ENTRY_SHIFT]  entry;

  // The STag table holds its answer until the next look-up.
  assign huge_pages = !req.ring && region_huge;
  assign pbl = req.ring ? req.pbl_address : region_pbl;
  assign offset = req.ring ? req.to : region_offset;

  always_comb begin
    if (huge_pages) begin
      page_index = $bits(page_index)'(offset[63:HUGE_PAGE_SHIFT]);
      place = 32'(offset[HUGE_PAGE_SHIFT-1:0]);
      rest = (32'd1 << HUGE_PAGE_SHIFT) - place;
    end else begin
      page_index = offset[63:PAGE_SHIFT];
      place = 32'(offset[PAGE_SHIFT-1:0]);
      rest = (32'd1 << PAGE_SHIFT) - place;
    end
  end
  assign entry = pbl[63:ENTRY_SHIFT] + $bits(entry)'(page_index);

  // The list of a region may be that of another one later.
  pbl_owner_t owner;
  always_comb begin
    owner = '0;
    owner.ring = req.ring;
    if (!req.ring) begin
      owner.index = of_window ? binding_q.region : stag_index_t'(req.stag >> STAG_INDEX_SHIFT);
      owner.life = region_life;
    end
  end

  // A PBL is aligned, page frames are whole pages.
  logic unused_low_bits;
  assign unused_low_bits = ^{pbl[ENTRY_SHIFT-1:0], page[PAGE_SHIFT-1:0]};

  pbl_cache #(
    .LINES(PBL_LINES),
    .CLIENTS(CLIENTS)
  ) u_pbl_cache (
    .clk_i,
    .rst_ni,
    .init_done_o(pbl_init_done),
    .idle_o(pbl_idle),
    .req_valid_i(state_q == ST_PBL_ASK),
    .req_ready_o(pbl_ready),
    .req_client_i(client_q),
    .req_again_i(again_q[client_q]),
    .req_address_i(entry),
    .req_owner_i(owner),
    .rsp_valid_o(pbl_done),
    .rsp_missed_o(pbl_missed),
    .rsp_error_o(pbl_error),
    .rsp_page_o(page),
    .waiting_o(waiting),
    .flush_i(state_q == ST_FLUSH_ASK),
    .flush_done_o(pbl_flush_done),
    .rd_valid_o,
    .rd_ready_i,
    .rd_req_o,
    .beat_valid_i,
    .beat_i,
    .hit_o(hit),
    .miss_o(miss)
  );

  // ---- Control. Look-ups that a flush meets, in hand or waiting, begin anew with the STag: what was
  // read for them may speak of a region that is gone. So after flush_done_o nothing old is in use
  // here. An invalidation, a registration or a bind is not repeated: it has been
  // done, and answers no address.

  logic stag_final;  // the PBL is not asked
  logic stag_again;  // the second entry is
  logic finished, changes, invalidated, lives_used_up;
  assign changes = req.invalidate || req.registers || req.binds;
  assign stag_again = stag_status == XLATE_OK && !second_q && (req.binds || is_window);
  assign stag_final = stag_done && (stag_status != XLATE_OK || (changes && !stag_again));
  assign invalidated = stag_done && stag_status == XLATE_OK &&
                       (req.invalidate || (req.binds && second_q && replaces));
  // What the PBL cache knows of the first life of a region is not for the one that has its number again.
  assign lives_used_up = stag_done && stag_status == XLATE_OK && req.registers && region_life == '1;
  assign finished = (stag_final && !invalidated && (!flush || changes)) ||
                    (pbl_done && !pbl_missed && !flush);

  // ---- The fence. An invalidation that was done, and a bind that replaces one, is answered when what
  // was let in before is over: no client has an address from before, and all reads have ended.
  // (Writes are in order: who asked says so behind them.) Those that come meanwhile wait for the next
  // fence.

  typedef enum logic [1:0] {FENCE_NONE, FENCE_HOLDS, FENCE_READS, FENCE_DONE} fence_e;
  fence_e             fence_q;
  logic [CLIENTS-1:0] invalidated_q;  // done, not answered
  logic [CLIENTS-1:0] fenced_q;       // of these: the fence is for them
  logic [CLIENTS-1:0] holding_q;      // may still have an address from before
  logic               fence_answers;

  assign let_go_o = fence_q == FENCE_HOLDS;
  assign fence_o = fence_q == FENCE_HOLDS && holding_q == '0;
  assign fence_answers = fence_q == FENCE_DONE && !finished;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fence_q <= FENCE_NONE;
      invalidated_q <= '0;
      fenced_q <= '0;
      holding_q <= '0;
    end else begin
      if (invalidated) invalidated_q[client_q] <= 1'b1;
      unique case (fence_q)
        FENCE_NONE:
        if (invalidated_q != '0) begin
          fence_q <= FENCE_HOLDS;
          fenced_q <= invalidated_q;
          holding_q <= '1;
        end
        FENCE_HOLDS: begin
          holding_q <= holding_q & hold_i;
          if (fence_o) fence_q <= FENCE_READS;
        end
        FENCE_READS: if (fence_done_i) fence_q <= FENCE_DONE;
        default:
        if (fence_answers) begin
          fence_q <= FENCE_NONE;
          for (int unsigned i = 0; i < CLIENTS; i++)
            if (fenced_q[i]) invalidated_q[i] <= 1'b0;
        end
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= ST_IDLE;
    end else begin
      unique case (state_q)
        ST_IDLE: begin
          if (flush && init_done_o) state_q <= ST_FLUSH_ASK;
          else if (take) begin
            state_q <= (accept ? req_i[next_client].ring : req_q[next_client].ring) ? ST_PBL_ASK
                                                                                    : ST_STAG_ASK;
          end
        end
        ST_STAG_ASK: if (stag_ready) state_q <= ST_STAG_WAIT;
        ST_STAG_WAIT: begin
          if (stag_done)
            state_q <= flush ? ST_FLUSH_ASK : stag_final ? ST_IDLE : stag_again ? ST_STAG_ASK : ST_PBL_ASK;
        end
        ST_PBL_ASK: if (pbl_ready) state_q <= ST_PBL_WAIT;
        ST_PBL_WAIT: if (pbl_done) state_q <= flush ? ST_FLUSH_ASK : ST_IDLE;
        ST_FLUSH_ASK: state_q <= ST_FLUSH_WAIT;
        ST_FLUSH_WAIT: if (pbl_flush_done) state_q <= ST_IDLE;
        default: state_q <= ST_IDLE;
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      flush_q <= 1'b0;
      open_q <= '0;
      again_q <= '0;
      client_q <= '0;
      rsp_valid_o <= '0;
    end else begin
      flush_q <= (flush && state_q != ST_FLUSH_ASK) || lives_used_up;
      if (take) client_q <= next_client;
      if (accept) open_q[next_client] <= 1'b1;
      if (accept) again_q[next_client] <= 1'b0;
      if (pbl_done) again_q[client_q] <= 1'b1;
      if (finished) open_q[client_q] <= 1'b0;
      rsp_valid_o <= finished ? CLIENTS'(1) << client_q : '0;
      if (fence_answers) begin
        open_q <= open_q & ~fenced_q;
        if (accept) open_q[next_client] <= 1'b1;
        rsp_valid_o <= fenced_q;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == ST_IDLE) second_q <= 1'b0;
    if (stag_done && stag_again) begin
      second_q <= 1'b1;
      binding_q <= mw_binding_t'(region_pbl);
      if (req.binds)
        binding_q <= '{
            region: stag_index_t'(req.region >> STAG_INDEX_SHIFT),
            life: region_life,
            qpn: req.qpn,
            generation: req.generation
        };
    end
    if (accept) req_q[next_client] <= req_i[next_client];
    if (fence_answers) rsp_o.status <= XLATE_OK;
    if (finished) begin
      rsp_o.status <= stag_final ? stag_status : pbl_error ? XLATE_MEMORY : XLATE_OK;
      rsp_o.address <= huge_pages ? {page[63:HUGE_PAGE_SHIFT], place[HUGE_PAGE_SHIFT-1:0]}
                                  : {page[63:PAGE_SHIFT], place[PAGE_SHIFT-1:0]};
      rsp_o.length <= req.length < rest ? req.length : rest;
    end
  end

  assign flush_done_o = pbl_flush_done;
  assign init_done_o = stag_init_done && pbl_init_done;
  assign idle_o = init_done_o && state_q == ST_IDLE && !flush_q && open_q == '0 && pbl_idle &&
                  rsp_valid_o == '0;

  always_comb begin
    event_o = '0;
    if (!again_q[client_q]) begin
      event_o[COUNTER_PBL_HITS] = hit;
      event_o[COUNTER_PBL_MISSES] = miss;
    end
  end
  // ---- What is promised
  `EXRNIC_OFFERED(rd_is_offered, rd_valid_o, rd_ready_i)
  `EXRNIC_ALWAYS(one_is_taken, $onehot0(req_ready_o))
  // Who is answered has asked, and has no answer yet.
  `EXRNIC_ALWAYS(answers_once, !finished || (open_q[client_q] && !invalidated_q[client_q]))
  `EXRNIC_ALWAYS(invalidates_once, (invalidated_q & ~open_q) == '0)
  `EXRNIC_ALWAYS(fenced_once, !fence_answers || (fenced_q & ~invalidated_q) == '0)

endmodule
