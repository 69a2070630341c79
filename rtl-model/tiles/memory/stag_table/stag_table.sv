// SPDX-License-Identifier: BSD-2-Clause
// Memory regions and memory windows by STag index, the checks of RFC 5041, 8 and RFC 5040, 8 on an
// access, and the invalidation of one by a work request or a peer, and its registration by a work
// request.
// See README.md.

module stag_table
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
  input  logic          clk_i,
  input  logic          rst_ni,
  output logic          init_done_o,

  // Management
  input  logic          we_i,
  input  stag_index_t   index_i,
  input  mr_t           mr_i,
  output mr_t           mr_o,

  // Look-up, or invalidation, or registration, or bind
  input  logic          req_valid_i,
  output logic          req_ready_o,
  input  logic          req_invalidate_i,
  input  logic          req_registers_i,
  input  logic          req_binds_i,
  input  logic          req_behind_i,    // the region of a memory window,
  input  mr_life_t      req_life_i,      // in this life, whatever its key
  input  logic [31:0]   req_stag_i,
  input  pd_t           req_pd_i,
  input  qpn_t          req_qpn_i,       // for whose peer, with a right of peers
  input  generation_t   req_generation_i,
  input  logic [7:0]    req_access_i,
  input  logic [63:0]   req_to_i,
  input  logic [63:0]   req_length_i,
  input  logic [63:0]   req_pbl_address_i,  // these with a registration or a bind
  input  logic          req_huge_i,
  output logic          rsp_valid_o,
  output xlate_status_e rsp_status_o,
  output logic          rsp_window_o,
  output logic          rsp_replaces_o,  // of a bind: the one before it ended
  output logic [63:0]   rsp_pbl_address_o,
  output logic          rsp_huge_o,
  output mr_life_t      rsp_life_o,
  output logic [63:0]   rsp_offset_o
);
  localparam int unsigned INDEX_W = $clog2(N_STAG);
  localparam int unsigned STAG_INDEX_W = 32 - STAG_INDEX_SHIFT;
  typedef logic [INDEX_W-1:0] index_t;

  // ---- After reset no entry counts as written: cleared a word of entries a cycle.

  localparam int unsigned LOG_WORD = 6;
  localparam int unsigned LOG_WORDS = INDEX_W - LOG_WORD;
  typedef logic [2**LOG_WORD-1:0] word_t;

  typedef logic [LOG_WORDS-1:0] word_index_t;

  logic [LOG_WORDS:0] init_q;
  word_t       written[2];  // words of the entries that management and the look-up read
  word_index_t written_index[2];
  word_t       written_now;  // with the entry that management writes

  assign init_done_o = init_q[LOG_WORDS];
  assign written_index = '{read_index[MANAGEMENT][INDEX_W-1:LOG_WORD], read_index[LOOK_UP][INDEX_W-1:LOG_WORD]};
  assign written_now = written[MANAGEMENT] | word_t'(1) << write_index[LOG_WORD-1:0];

  lut_ram_nr1w #(
    .WIDTH($bits(word_t)),
    .DEPTH(2**LOG_WORDS),
    .READERS(2)
  ) u_written (
    .clk_i,
    .write_i        (!init_done_o || write),
    .write_address_i(init_done_o ? written_index[MANAGEMENT] : init_q[LOG_WORDS-1:0]),
    .write_data_i   (init_done_o ? written_now : '0),
    .read_address_i (written_index),
    .read_data_o    (written)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) init_q <= '0;
    else if (!init_done_o) init_q <= init_q + 1'b1;
  end

  // ---- The table: management reads it, and the look-up

  localparam int unsigned MANAGEMENT = 0;
  localparam int unsigned LOOK_UP = 1;
  logic [1:0] read;
  index_t read_index[2];
  mr_t    region_read[2];
  logic   invalidated_read[2];  // mr_t.invalidated: the one field that is written by itself
  assign read = {accept, 1'b1};
  assign read_index = '{write_index, index_t'(stag_index)};

  ram_nr1w #(
    .WIDTH($bits(mr_t)),
    .DEPTH(N_STAG),
    .READERS(2)
  ) u_regions (
    .clk_i,
    .write_i        (write || (pending_q && becomes_pending_q)),
    .write_address_i(write ? write_index : pending_index_q),
    .write_data_i   (write ? mr_i : registered_q),
    .read_i         (read),
    .read_address_i (read_index),
    .read_data_o    (region_read)
  );
  ram_nr1w #(
    .WIDTH(1),
    .DEPTH(N_STAG),
    .READERS(2)
  ) u_invalidated (
    .clk_i,
    .write_i        (write || pending_q),
    .write_address_i(write ? write_index : pending_index_q),
    .write_data_i   (write ? mr_i.invalidated : !becomes_pending_q),
    .read_i         (read),
    .read_address_i (read_index),
    .read_data_o    (invalidated_read)
  );

  // ---- Management port

  logic   manage_in_range;
  logic   managed_q;
  logic   write;
  index_t write_index;

  // An index beyond a small table must not hit another entry.
  assign manage_in_range = {1'b0, index_i} < ($bits(stag_index_t) + 1)'(N_STAG);
  assign write_index = index_t'(index_i);
  assign write = init_done_o && we_i && manage_in_range;

  always_ff @(posedge clk_i) begin
    managed_q <= manage_in_range && written[MANAGEMENT][write_index[LOG_WORD-1:0]];
  end
  always_comb begin
    mr_o = '0;
    if (managed_q) begin
      mr_o = region_read[MANAGEMENT];
      mr_o.invalidated = invalidated_read[MANAGEMENT];
    end
  end

  // ---- Look-up, stage 0: read the entry. It waits for a write, so that it sees all of the old
  // entry or all of the new one whatever the RAM does on a collision.

  logic                    accept;
  logic                    read_valid_q;  // one is in stage 1
  logic                    invalidate_q;  // and it is an invalidation,
  logic                    registers_q;   // or a registration,
  logic                    binds_q;       // or a bind
  logic                    pending_q;     // one of these is granted, not done
  logic [STAG_INDEX_W-1:0] stag_index;

  assign req_ready_o = init_done_o && !we_i && !(read_valid_q && changes_q) && !pending_q;
  assign accept = req_valid_i && req_ready_o;
  assign stag_index = req_stag_i[31:STAG_INDEX_SHIFT];

  mr_t         mr_q;
  logic        changes_q;
  assign changes_q = invalidate_q || becomes_q;
  logic        becomes_q;
  assign becomes_q = registers_q || binds_q;
  logic        behind_q;
  mr_life_t    wanted_life_q;
  qpn_t        qpn_q;
  generation_t generation_q;
  logic        written_entry_q;
  index_t      entry_q;
  logic        in_table_q;
  logic [7:0]  key_q;
  pd_t         pd_q;
  logic [7:0]  access_q;
  logic [63:0] to_q;
  logic [63:0] length_q;
  logic [63:0] new_pbl_q;
  logic        new_huge_q;

  always_ff @(posedge clk_i) begin
    if (accept) begin
      written_entry_q <= written[LOOK_UP][stag_index[LOG_WORD-1:0]];
      entry_q <= index_t'(stag_index);
      invalidate_q <= req_invalidate_i;
      registers_q <= req_registers_i;
      binds_q <= req_binds_i;
      behind_q <= req_behind_i;
      wanted_life_q <= req_life_i;
      qpn_q <= req_qpn_i;
      generation_q <= req_generation_i;
      in_table_q <= stag_index < STAG_INDEX_W'(N_STAG);
      key_q <= req_stag_i[STAG_INDEX_SHIFT-1:0];
      pd_q <= req_pd_i;
      access_q <= req_access_i;
      to_q <= req_to_i;
      length_q <= req_length_i;
      new_pbl_q <= req_pbl_address_i;
      new_huge_q <= req_huge_i;
    end
  end

  always_comb begin
    mr_q = region_read[LOOK_UP];
    mr_q.valid = region_read[LOOK_UP].valid && written_entry_q;
    mr_q.invalidated = invalidated_read[LOOK_UP];
  end

  // ---- Stage 1: ends of the access and of the region, 65 bits: the end may be 2^64 itself.

  logic          sums_valid_q;
  logic          exempt_q;  // from the checks of the range
  logic          window_q;
  logic          replaces_q;
  xlate_status_e right_status_q;
  logic [64:0]   end_q;
  logic [64:0]   region_end_q;
  logic          below_q;
  logic [63:0]   pbl_address_q;
  logic          huge_q;
  mr_life_t      life_q;
  logic [63:0]   offset_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_valid_q <= 1'b0;
      sums_valid_q <= 1'b0;
      rsp_valid_o <= 1'b0;
    end else begin
      read_valid_q <= accept;
      sums_valid_q <= read_valid_q;
      rsp_valid_o <= sums_valid_q;
    end
  end

  // A memory window is for the peer of one queue pair, as long as that lives, or for peers of the whole domain, and
  // for nobody here. (Whose it is may invalidate it by any queue pair.)
  /* verilator lint_off UNUSEDSIGNAL */  // what it says of its region, others look at
  mw_binding_t binding;
  /* verilator lint_on UNUSEDSIGNAL */
  logic        is_window, of_domain, for_peer, bound_here;
  if ($bits(mw_binding_t) > 64) begin : gen_refuse_width
    $error("mw_binding has %0d bits, more than mr.pbl_address", $bits(mw_binding_t));
  end
  assign binding = mw_binding_t'(mr_q.pbl_address);
  assign of_domain = mr_q.kind == REGION_KIND_DOMAIN_WINDOW;
  assign is_window = mr_q.kind == REGION_KIND_MEMORY_WINDOW || of_domain;
  assign for_peer = (access_q & REMOTE_RIGHTS) != '0;
  assign bound_here = of_domain || (binding.qpn == qpn_q && binding.generation == generation_q);

  logic          right, stream;
  xlate_status_e right_status;
  logic [63:0]   first_page_offset;  // where the region starts in its first page

  // An access needs all of the rights, an invalidation of a region one of them; a registration and a bind give them.
  // No peer invalidates a window of the domain.
  always_comb begin
    if (becomes_q) right = 1'b1;
    else if (invalidate_q) right = access_q == '0 || (is_window ? !of_domain : (access_q & mr_q.access) != '0);
    else right = (access_q & ~mr_q.access) == '0 && (!is_window || for_peer);
  end
  assign stream = mr_q.pd == pd_q && (becomes_q || !is_window || !for_peer || bound_here);
  // What is to be registered or bound is not; else it must be, with this key. But of a window of the domain the
  // last bind counts, and own work ends any.
  logic named;
  always_comb begin
    if (registers_q) named = mr_q.kind == REGION_KIND_FAST && mr_q.invalidated;
    else if (binds_q) named = of_domain || (is_window && mr_q.invalidated);
    else if (invalidate_q && of_domain && access_q == '0) named = 1'b1;
    else if (behind_q) named = !is_window && !mr_q.invalidated && mr_q.life == wanted_life_q;
    else named = !mr_q.invalidated && mr_q.key == key_q;
  end
  always_comb begin
    if (!read_valid_q) right_status = XLATE_OK;
    else if (!in_table_q || !mr_q.valid || !named) right_status = XLATE_STAG;
    else if (!stream) right_status = XLATE_STREAM;
    else if (!right) right_status = XLATE_ACCESS;
    else right_status = XLATE_OK;
  end
  assign first_page_offset = mr_q.huge_pages ? 64'(mr_q.base[HUGE_PAGE_SHIFT-1:0])
                                             : 64'(mr_q.base[PAGE_SHIFT-1:0]);

  always_ff @(posedge clk_i) begin
    if (read_valid_q) begin
      right_status_q <= right_status;
      exempt_q <= changes_q;
      window_q <= is_window && !changes_q;
      replaces_q <= binds_q && !mr_q.invalidated;
      end_q <= {1'b0, to_q} + {1'b0, length_q};
      region_end_q <= {1'b0, mr_q.base} + {1'b0, mr_q.length};
      below_q <= to_q < mr_q.base;
      pbl_address_q <= mr_q.pbl_address;
      huge_q <= mr_q.huge_pages;
      life_q <= mr_q.life;
      offset_q <= (to_q - mr_q.base) + first_page_offset;
    end
  end

  // ---- Invalidation, registration and bind: granted in stage 1, done in the first cycle without a write by
  // management. A region that is written in the meantime is not the one that was meant.

  logic   change;
  index_t pending_index_q;
  logic   becomes_pending_q;
  mr_t    registered_q;

  assign change = read_valid_q && changes_q && right_status == XLATE_OK;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) pending_q <= 1'b0;
    else if (change) pending_q <= !(write && write_index == entry_q);
    else if (!write || write_index == pending_index_q) pending_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (change) begin
      pending_index_q <= entry_q;
      becomes_pending_q <= becomes_q;
      registered_q <= '{
          valid: 1'b1,
          kind: mr_q.kind,
          invalidated: 1'b0,
          life: mr_q.life + 1'b1,
          key: key_q,
          pd: pd_q,
          access: access_q,
          huge_pages: new_huge_q,
          base: to_q,
          length: length_q,
          pbl_address: new_pbl_q
      };
    end
  end

  // ---- Stage 2: verdict

  logic wraps;
  assign wraps = end_q[64] && end_q[63:0] != '0;

  always_ff @(posedge clk_i) begin
    if (sums_valid_q) begin
      rsp_status_o <= exempt_q || right_status_q != XLATE_OK ? right_status_q :
                      wraps ? XLATE_WRAP :
                      below_q || end_q > region_end_q ? XLATE_BOUNDS : XLATE_OK;
      rsp_window_o <= window_q;
      rsp_replaces_o <= replaces_q;
      rsp_pbl_address_o <= pbl_address_q;
      rsp_huge_o <= huge_q;
      rsp_life_o <= life_q;
      rsp_offset_o <= offset_q;
    end
  end
endmodule
