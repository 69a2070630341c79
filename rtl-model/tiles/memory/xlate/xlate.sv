// SPDX-License-Identifier: BSD-2-Clause
// Address translation for all who touch host memory: STag checks, then the PBL. A look-up of each client
// is in the pipeline; one whose PBL line has to be read first waits aside and begins anew. See README.md.

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
  // Where the look-up of a client is.
  typedef enum logic [2:0] {
    AT_NONE,
    AT_START,   // to ask stag_table, or of a ring the cache
    AT_STAG,    // stag_table has it
    AT_PAGE,    // to ask the cache
    AT_PBL,     // the cache has it
    AT_LINE,    // its line is being read: then it begins anew
    AT_FENCE,   // an invalidation that is done, not over
    AT_ANSWER   // answered when nobody else is
  } at_e;

  localparam int unsigned CLIENT_W = $clog2(CLIENTS);
  typedef logic [CLIENT_W-1:0] client_t;
  typedef logic [CLIENTS-1:0] clients_t;

  function automatic clients_t only(logic valid, client_t client);
    return clients_t'(valid) << client;
  endfunction

  at_e           at_q[CLIENTS];
  xlate_req_t    req_q[CLIENTS];
  xlate_status_e status_q[CLIENTS];  // AT_ANSWER: with which
  clients_t      again_q;   // it has asked the cache before
  clients_t      second_q;  // the second of two entries is asked for
  mw_binding_t   binding_q[CLIENTS];  // with second_q
  logic          flush_q;   // asked for, not begun: what is looked up is thrown away
  logic          flush;     // now or from before: nobody begins
  assign flush = flush_q || flush_i;

  clients_t idle, starts, between, in_stag, to_page, in_pbl, invalidated, to_answer;
  always_comb begin
    for (int unsigned i = 0; i < CLIENTS; i++) begin
      idle[i] = at_q[i] == AT_NONE;
      starts[i] = at_q[i] inside {AT_START, AT_LINE} && !waiting[i];
      between[i] = at_q[i] == AT_START && second_q[i];  // the first of two entries was granted
      in_stag[i] = at_q[i] == AT_STAG;
      to_page[i] = at_q[i] == AT_PAGE;
      in_pbl[i] = at_q[i] == AT_PBL;
      invalidated[i] = at_q[i] == AT_FENCE;
      to_answer[i] = at_q[i] == AT_ANSWER;
    end
  end

  // ---- Clients in turn: the search starts behind the one served last.

  function automatic client_t behind(client_t client, int unsigned places);
    int unsigned sum = 32'(client) + places;
    return client_t'(sum < CLIENTS ? sum : sum - CLIENTS);
  endfunction
  function automatic client_t next_of(clients_t wants, client_t last);
    next_of = last;
    for (int unsigned i = CLIENTS - 1; i > 0; i--) if (wants[behind(last, i)]) next_of = behind(last, i);
  endfunction

  // One a cycle begins: a new one, or one again. A ring goes to the cache, all else to stag_table.
  clients_t   wants;
  client_t    last_q, next;
  logic       begins, accept, asks_stag, stag_ready;
  xlate_req_t request;
  assign wants = starts | (idle & req_valid_i);
  assign next = next_of(wants, last_q);
  assign request = idle[next] ? req_i[next] : req_q[next];
  assign begins = wants != '0 && init_done_o && !flush && !flushing_q && (request.ring || stag_ready);
  assign accept = begins && idle[next];
  assign asks_stag = begins && !request.ring;
  assign req_ready_o = only(accept, next);

  // ---- stag_table: answers come in order, three cycles after they were asked for.

  // Two entries are looked at where a memory window is one of them: behind the window its region,
  // and behind the region the window that is to be bound to it.
  localparam logic [7:0] WrittenRights = 8'(1 << ACCESS_REMOTE_WRITE | 1 << ACCESS_REMOTE_ATOMIC);
  logic        second;       // of the one that asks
  mw_binding_t binding;
  logic        of_window;    // the region of a memory window is asked for
  logic        asks_region;  // the same, or a region to bind to
  logic [31:0] asked_stag;
  logic [7:0]  asked_access;
  assign second = at_q[next] == AT_START && second_q[next];
  assign binding = binding_q[next];
  assign of_window = second && !request.binds;
  assign asks_region = second != request.binds;
  always_comb begin
    asked_stag = request.stag;
    asked_access = request.access;
    if (asks_region) begin
      asked_stag = of_window ? 32'(binding.region) << STAG_INDEX_SHIFT : request.region;
      asked_access = 8'd1 << ACCESS_MW_BIND;
      if ((request.access & WrittenRights) != '0) asked_access |= 8'd1 << ACCESS_LOCAL_WRITE;
    end
  end

  localparam int unsigned STAG_CYCLES = 3;
  client_t stag_client_q[STAG_CYCLES];
  client_t stag_client;  // whose answer it is
  always_ff @(posedge clk_i) begin
    stag_client_q[0] <= next;
    for (int unsigned i = 1; i < STAG_CYCLES; i++) stag_client_q[i] <= stag_client_q[i-1];
  end
  assign stag_client = stag_client_q[STAG_CYCLES-1];

  logic stag_init_done, stag_done, region_huge, is_window, replaces;
  mr_life_t region_life;
  logic [63:0] region_pbl, region_offset;
  xlate_status_e stag_status;

  stag_table u_stag_table (
    .clk_i,
    .rst_ni,
    .init_done_o(stag_init_done),
    .we_i(mr_we_i),
    .index_i(mr_index_i),
    .mr_i,
    .mr_o,
    .req_valid_i(asks_stag),
    .req_ready_o(stag_ready),
    .req_invalidate_i(request.invalidate),
    .req_registers_i(request.registers),
    .req_binds_i(request.binds && second),
    .req_behind_i(of_window),
    .req_life_i(binding.life),
    .req_stag_i(asked_stag),
    .req_pd_i(request.pd),
    .req_qpn_i(request.qpn),
    .req_generation_i(request.generation),
    .req_access_i(asked_access),
    .req_to_i(request.to),
    .req_length_i(request.registers || request.binds ? request.size : 64'(request.length)),
    .req_pbl_address_i(request.binds ? 64'(binding) : request.pbl_address),
    .req_huge_i(request.huge_pages),
    .rsp_valid_o(stag_done),
    .rsp_status_o(stag_status),
    .rsp_window_o(is_window),
    .rsp_replaces_o(replaces),
    .rsp_pbl_address_o(region_pbl),
    .rsp_huge_o(region_huge),
    .rsp_life_o(region_life),
    .rsp_offset_o(region_offset)
  );

  // ---- What it means for its client

  /* verilator lint_off UNUSEDSIGNAL */  // parts of the records count
  xlate_req_t  answered;  // by stag_table
  mw_binding_t answered_binding;
  /* verilator lint_on UNUSEDSIGNAL */
  logic        changes;     // no page is asked for
  logic        stag_again;  // the second entry is
  logic        stag_final, invalidates, page_known, lives_used_up;
  assign answered = req_q[stag_client];
  assign answered_binding = binding_q[stag_client];
  assign changes = answered.invalidate || answered.registers || answered.binds;
  assign stag_again = stag_status == XLATE_OK && !second_q[stag_client] && (answered.binds || is_window);
  assign stag_final = stag_done && (stag_status != XLATE_OK || (changes && !stag_again));
  assign invalidates = stag_final && stag_status == XLATE_OK &&
                       (answered.invalidate || (answered.binds && replaces));
  assign page_known = stag_done && !stag_final && !stag_again;
  // What the PBL cache knows of the first life of a region is not for the one that has its number again.
  assign lives_used_up = stag_final && stag_status == XLATE_OK && answered.registers && region_life == '1;

  // ---- The byte asked for: its place among the pages of ring or region, from the PBL's start

  localparam int unsigned ENTRY_SHIFT = $clog2(PBL_ENTRY_SIZE);
  typedef struct packed {
    logic [63:ENTRY_SHIFT] entry;
    pbl_owner_t            owner;
    logic                  huge_page;  // a huge one
    logic [HUGE_PAGE_SHIFT-1:0] offset;  // in its page
  } place_t;

  /* verilator lint_off UNUSEDSIGNAL */  // a PBL is aligned
  function automatic place_t place_of(logic [63:0] pbl, pbl_owner_t owner, logic huge_page, logic [63:0] offset);
    logic [63-PAGE_SHIFT:0] page;
    page = huge_page ? $bits(page)'(offset[63:HUGE_PAGE_SHIFT]) : offset[63:PAGE_SHIFT];
    place_of = '{
        entry: pbl[63:ENTRY_SHIFT] + (64 - ENTRY_SHIFT)'(page),
        owner: owner,
        huge_page: huge_page,
        offset: huge_page ? offset[HUGE_PAGE_SHIFT-1:0] : HUGE_PAGE_SHIFT'(offset[PAGE_SHIFT-1:0])
    };
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  // The list of a region may be that of another one later.
  pbl_owner_t region_owner, ring_owner;
  place_t     region_place, ring_place, place_q[CLIENTS];
  always_comb begin
    region_owner = '0;
    region_owner.index = second_q[stag_client] ? answered_binding.region :
                                                 stag_index_t'(answered.stag >> STAG_INDEX_SHIFT);
    region_owner.life = region_life;
    ring_owner = '0;
    ring_owner.ring = 1'b1;
  end
  assign region_place = place_of(region_pbl, region_owner, region_huge, region_offset);
  assign ring_place = place_of(request.pbl_address, ring_owner, 1'b0, request.to);

  // ---- The cache: those that wait for it go first, else what stag_table has just answered.

  client_t page_last_q, page_client, pbl_compared_q, pbl_client_q;
  /* verilator lint_off UNUSEDSIGNAL */  // where it is, or where in the page
  place_t  asked_place, place;
  /* verilator lint_on UNUSEDSIGNAL */
  logic    pbl_asks, pbl_asked, pbl_ready, pbl_init_done, pbl_done, pbl_missed, pbl_error, pbl_idle;
  logic    hit, miss, pbl_flush_done;
  logic [63:0] page;
  assign page_client = to_page != '0 ? next_of(to_page, page_last_q) : stag_client;
  assign pbl_asks = !flush && (to_page != '0 || page_known);
  assign pbl_asked = pbl_asks && pbl_ready;
  assign asked_place = to_page != '0 ? place_q[page_client] : region_place;
  always_ff @(posedge clk_i) begin
    if (pbl_asked) pbl_compared_q <= page_client;
    pbl_client_q <= pbl_compared_q;
  end

  pbl_cache #(
    .LINES(PBL_LINES),
    .CLIENTS(CLIENTS)
  ) u_pbl_cache (
    .clk_i,
    .rst_ni,
    .init_done_o(pbl_init_done),
    .idle_o(pbl_idle),
    .req_valid_i(pbl_asks),
    .req_ready_o(pbl_ready),
    .req_client_i(page_client),
    .req_again_i(again_q[page_client]),
    .req_address_i(asked_place.entry),
    .req_owner_i(asked_place.owner),
    .rsp_valid_o(pbl_done),
    .rsp_missed_o(pbl_missed),
    .rsp_error_o(pbl_error),
    .rsp_page_o(page),
    .waiting_o(waiting),
    .flush_i(flush_begins),
    .flush_done_o(pbl_flush_done),
    .rd_valid_o,
    .rd_ready_i,
    .rd_req_o,
    .beat_valid_i,
    .beat_i,
    .hit_o(hit),
    .miss_o(miss)
  );

  // ---- Answers: from the cache; else of those that need none, one a cycle, or all that a fence was for.

  logic     found, others, fence_answers;
  client_t  other;
  clients_t ends;
  /* verilator lint_off UNUSEDSIGNAL */  // how much was asked for
  xlate_req_t found_req;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [31:0] rest;  // of its page, from the byte on
  assign found = pbl_done && !pbl_missed && !flush_q;
  assign others = !pbl_done && to_answer != '0;
  assign fence_answers = fence_q == FENCE_DONE && !pbl_done && !others;
  always_comb begin
    other = '0;
    for (int unsigned i = 0; i < CLIENTS; i++) if (to_answer[i]) other = client_t'(i);
  end
  assign ends = only(found, pbl_client_q) | only(others, other) | (fence_answers ? fenced_q : '0);
  assign rsp_valid_o = ends;
  assign place = place_q[pbl_client_q];
  assign found_req = req_q[pbl_client_q];
  assign rest = (32'd1 << (place.huge_page ? HUGE_PAGE_SHIFT : PAGE_SHIFT)) - 32'(place.offset);
  always_comb begin
    rsp_o = '0;
    if (pbl_done) begin
      rsp_o.status = pbl_error ? XLATE_MEMORY : XLATE_OK;
      rsp_o.address = place.huge_page ? {page[63:HUGE_PAGE_SHIFT], place.offset}
                                 : {page[63:PAGE_SHIFT], place.offset[PAGE_SHIFT-1:0]};
      rsp_o.length = found_req.length < rest ? found_req.length : rest;
    end else if (others) begin
      rsp_o.status = status_q[other];
    end
  end
  // Page frames are whole pages.
  logic unused_low_bits;
  assign unused_low_bits = ^page[PAGE_SHIFT-1:0];

  // ---- Where each is. What a flush meets begins anew with the STag: what was read for it may speak of a
  // region that is gone. An invalidation, a registration or a bind is not repeated: it has been done, and
  // answers no address.

  clients_t waiting;  // for their lines
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned i = 0; i < CLIENTS; i++) at_q[i] <= AT_NONE;
      again_q <= '0;
      second_q <= '0;
      last_q <= '0;
      page_last_q <= '0;
    end else begin
      for (int unsigned i = 0; i < CLIENTS; i++) begin
        unique case (at_q[i])
          AT_NONE, AT_START, AT_LINE:
          if (begins && next == client_t'(i)) begin
            at_q[i] <= request.ring ? AT_PAGE : AT_STAG;
            if (at_q[i] != AT_START) second_q[i] <= 1'b0;
            if (at_q[i] == AT_NONE) again_q[i] <= 1'b0;
          end else if (flush) second_q[i] <= 1'b0;
          AT_STAG:
          if (stag_done && stag_client == client_t'(i)) begin
            second_q[i] <= second_q[i] || stag_again;
            if (invalidates) at_q[i] <= AT_FENCE;
            else if (stag_final && (!flush_q || changes)) at_q[i] <= AT_ANSWER;
            else if (flush_q) {at_q[i], second_q[i]} <= {AT_START, 1'b0};
            else if (stag_again) at_q[i] <= AT_START;
            else at_q[i] <= pbl_asked && page_client == client_t'(i) ? AT_PBL : AT_PAGE;
          end
          AT_PAGE:
          if (flush) {at_q[i], second_q[i]} <= {AT_START, 1'b0};
          else if (pbl_asked && page_client == client_t'(i)) at_q[i] <= AT_PBL;
          AT_PBL:
          if (pbl_done && pbl_client_q == client_t'(i)) begin
            again_q[i] <= 1'b1;
            if (flush_q) {at_q[i], second_q[i]} <= {AT_START, 1'b0};
            else at_q[i] <= pbl_missed ? AT_LINE : AT_NONE;
          end
          default: if (ends[i]) at_q[i] <= AT_NONE;
        endcase
      end
      if (begins) last_q <= next;
      if (pbl_asked) page_last_q <= page_client;
    end
  end
  always_ff @(posedge clk_i) begin
    if (accept) req_q[next] <= request;
    if (begins && request.ring) place_q[next] <= ring_place;
    if (stag_done) begin
      status_q[stag_client] <= stag_status;
      place_q[stag_client] <= region_place;
      if (stag_again) begin
        binding_q[stag_client] <= mw_binding_t'(region_pbl);
        if (answered.binds)
          binding_q[stag_client] <= '{
              region: stag_index_t'(answered.region >> STAG_INDEX_SHIFT),
              life: region_life,
              qpn: answered.qpn,
              generation: answered.generation
          };
      end
    end
  end

  // ---- Flush: when nobody is with stag_table or the cache.

  logic flush_begins, flushing_q;
  assign flush_begins = flush && !flushing_q && init_done_o && in_stag == '0 && in_pbl == '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      flush_q <= 1'b0;
      flushing_q <= 1'b0;
    end else begin
      flush_q <= (flush && !flush_begins) || lives_used_up;
      flushing_q <= flush_begins || (flushing_q && !pbl_flush_done);
    end
  end

  // ---- The fence. An invalidation that was done, and a bind that replaces one, is answered when what
  // was let in before is over: no client has an address from before, or gets one, and all reads have ended.
  // (Writes are in order: who asked says so behind them.) Those that come meanwhile wait for the next
  // fence.

  typedef enum logic [1:0] {FENCE_NONE, FENCE_HOLDS, FENCE_READS, FENCE_DONE} fence_e;
  fence_e   fence_q;
  clients_t fenced_q;   // the fence is for these
  clients_t holding_q;  // may still have an address from before
  clients_t before_q;   // may still get one, or got it a cycle ago

  assign let_go_o = fence_q == FENCE_HOLDS;
  assign fence_o = fence_q == FENCE_HOLDS && holding_q == '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fence_q <= FENCE_NONE;
      fenced_q <= '0;
      holding_q <= '0;
      before_q <= '0;
    end else begin
      before_q <= before_q & (between | in_stag | to_page | in_pbl);
      unique case (fence_q)
        FENCE_NONE:
        if (invalidated != '0) begin
          fence_q <= FENCE_HOLDS;
          fenced_q <= invalidated;
          holding_q <= '1;
          before_q <= between | in_stag | to_page | in_pbl;
        end
        FENCE_HOLDS: begin
          holding_q <= holding_q & (hold_i | before_q);
          if (fence_o) fence_q <= FENCE_READS;
        end
        FENCE_READS: if (fence_done_i) fence_q <= FENCE_DONE;
        default: if (fence_answers) fence_q <= FENCE_NONE;
      endcase
    end
  end

  assign flush_done_o = pbl_flush_done;
  assign init_done_o = stag_init_done && pbl_init_done;
  assign idle_o = init_done_o && !flush_q && !flushing_q && idle == '1 && pbl_idle;

  always_comb begin
    event_o = '0;
    if (!again_q[pbl_compared_q]) begin
      event_o[COUNTER_PBL_HITS] = hit;
      event_o[COUNTER_PBL_MISSES] = miss;
    end
  end
  // ---- What is promised
  `EXRNIC_OFFERED(rd_is_offered, rd_valid_o, rd_ready_i)
  `EXRNIC_ALWAYS(one_is_taken, $onehot0(req_ready_o))
  // Who is answered has asked, and has no answer yet.
  `EXRNIC_ALWAYS(answers_once, (ends & idle) == '0)
  `EXRNIC_ALWAYS(fenced_once, !fence_answers || (fenced_q & ~invalidated) == '0)
  `EXRNIC_ALWAYS(stag_answers_its_client, !stag_done || in_stag[stag_client])
  `EXRNIC_ALWAYS(pbl_answers_its_client, !pbl_done || in_pbl[pbl_client_q])

endmodule
