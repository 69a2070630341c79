// SPDX-License-Identifier: BSD-2-Clause
// Slots of rings of work requests on chip, in blocks of eight, fetched before somebody needs them. What
// cannot be read ahead is asked for again when it is needed; only then it is an error. See README.md.

`include "exrnic_assert.svh"

module slot_cache
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned BLOCKS = 32,
    parameter int unsigned AHEAD = 3,        // blocks of a ring, behind that of its consumer
    parameter bit WISHES_DISPLACE = 1'b0,    // what is wished for at the port, too, takes the place of others
    localparam int unsigned SLOT_WORDS = WQE_BYTES / SGE_BYTES
) (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic quiesce_i,    // nothing is fetched ahead
    output logic waits_o,      // for slots that have been asked for
    output logic quiescent_o,  // nothing is being fetched,
    output logic idle_o,       // nor wanted

    // That ring is another one from now on. Only when quiescent.
    input logic          clear_i,
    input slot_ring_id_t clear_id_i,

    // Slots of this ring, as are posted from its consumer on, will be needed.
    input  logic       wish_valid_i,
    output logic       wish_ready_o,
    input  slot_ring_t wish_i,

    // The ring in use. What stands from its consumer on, in that block and the two behind it, is not
    // displaced.
    input  logic        in_use_i,
    input  slot_ring_t  ring_i,
    input  logic        ahead_i,  // pulse: as if it was wished for, from here on
    input  wqe_index_t  ahead_from_i,
    input  logic        want_i,   // so many of its slots from `at_i` on, as are posted,
    input  wqe_index_t  at_i,
    input  wqe_slots_t slots_i,
    output logic        there_o,  // are there, or cannot be read
    output wqe_slots_t readable_o,
    input  logic        taken_i,  // pulse: the consumer becomes next_i
    input  wqe_index_t  next_i,
    input  wqe_index_t  word_slot_i,  // a slot that is there, and a word of it
    input  logic [$clog2(SLOT_WORDS)-1:0] word_i,
    output logic [8*SGE_BYTES-1:0]        word_o,  // one cycle later

    xlate_if.client    xlate,
    dma_read_if.client read
);

  // A block is as many slots as the smallest ring: so a ring is whole blocks, and so is a page.
  localparam int unsigned PlaceBits = RING_LOG_MIN;
  localparam int unsigned Slots = 1 << PlaceBits;
  localparam int unsigned SlotShift = $clog2(WQE_BYTES);
  localparam int unsigned EntryBits = $clog2(BLOCKS);
  typedef logic [EntryBits-1:0] entry_t;
  typedef logic [PlaceBits-1:0] place_t;
  typedef logic [PlaceBits:0] end_t;  // behind a place
  typedef logic [$bits(wqe_index_t)-PlaceBits-1:0] block_t;  // of a ring
  typedef logic [BLOCKS-1:0] entries_t;

  function automatic block_t block_of(wqe_index_t index);
    return block_t'(index >> PlaceBits);
  endfunction

  // ---- What is there: of a block the slots from first_q to before end_q
  entries_t valid_q;
  entries_t busy_q;    // more is being read into it; also if nobody wants that any more
  entries_t stuck_q;   // the slot at end_q could not be read
  entries_t recent_q;  // not to be displaced in this round
  entries_t behind_q;  // its slots are behind the consumer: its place is as good as free
  slot_ring_id_t id_q[BLOCKS];
  block_t block_q[BLOCKS];
  place_t first_q[BLOCKS];
  end_t end_q[BLOCKS];
  end_t target_q[BLOCKS];   // busy: what end_q becomes,
  end_t bad_q[BLOCKS];      // unless this one cannot be read
  chunk_t missing_q[BLOCKS];  // bytes

  typedef struct packed {
    logic   found;
    entry_t entry;
  } look_t;
  function automatic look_t find(slot_ring_id_t id, block_t block);
    find = '0;
    for (int unsigned i = 0; i < BLOCKS; i++)
      if (valid_q[i] && block_q[i] == block && id_q[i] == id) find = '{found: 1'b1, entry: entry_t'(i)};
  endfunction

  // ---- The ring in use
  look_t here, behind;
  end_t count;  // readable slots, up to a block
  logic over_q;
  always_comb begin
    {here, behind, count} = '0;
    if (in_use_i) begin
      here = find(ring_i.id, block_of(at_i));
      behind = find(ring_i.id, block_of(at_i) + 1'b1);
      if (here.found && place_t'(at_i) >= first_q[here.entry] && end_t'(place_t'(at_i)) < end_q[here.entry])
        count = end_q[here.entry] - end_t'(place_t'(at_i));
      if (count != '0 && end_q[here.entry] == end_t'(Slots) && behind.found && first_q[behind.entry] == '0)
        count = end_q[behind.entry] < end_t'(place_t'(at_i)) ? count + end_q[behind.entry] : end_t'(Slots);
    end
  end
  assign readable_o = count < end_t'(WQE_SLOTS_MAX) ? wqe_slots_t'(count) : wqe_slots_t'(WQE_SLOTS_MAX);
  assign there_o = want_i && (readable_o >= slots_i || over_q);

  // What is behind the consumer stays known for a while: a wish that is out of date finds it.
  localparam int unsigned Remembered = BLOCKS;
  entries_t pinned, passed, forgotten;
  block_t first_in_use, back[BLOCKS];
  assign first_in_use = block_of(ring_i.consumer);
  always_comb begin
    {pinned, passed, forgotten} = '0;
    back = '{default: '0};
    if (in_use_i || taken_i)
      for (int unsigned i = 0; i < BLOCKS; i++) begin
        pinned[i] = id_q[i] == ring_i.id && block_t'(block_q[i] - first_in_use) <= block_t'(2);
        back[i] = block_of(next_i) - block_q[i];
        passed[i] = taken_i && id_q[i] == ring_i.id && $signed(back[i]) > 0;
        forgotten[i] = passed[i] && back[i] > block_t'(Remembered);
      end
  end

  // ---- What is wanted, or wished for: the ring in use first
  logic own_q, wish_q;
  slot_ring_t own_ring_q, wish_ring_q, ring;
  wqe_index_t own_at_q, wish_at_q, at, after_at, left;
  logic idle, wanted, scans, scan_over, reads, none, room, start, failed;
  look_t found;
  block_t distance;
  entry_t entry, hand_q;
  end_t from, upto, rest, more;
  entries_t unused, free;
  // What it needs next may be on its way, for whatever reason.
  logic comes;
  always_comb begin
    if (end_t'(place_t'(at_i)) + count >= end_t'(Slots)) comes = behind.found && busy_q[behind.entry];
    else comes = here.found && busy_q[here.entry];
  end
  assign idle = state_q == StIdle;
  assign wanted = want_i && !there_o && !comes;
  assign scans = !wanted && !quiesce_i && (own_q || wish_q);
  assign unused = ~valid_q & ~busy_q;
  assign free = unused | (behind_q & ~pinned & ~busy_q);
  always_comb begin
    ring = wanted ? ring_i : own_q ? own_ring_q : wish_ring_q;
    at = wanted ? at_i + wqe_index_t'(count) : own_q ? own_at_q : wish_at_q;
    {found, distance, from, upto, rest, left, scan_over, reads, none} = '0;
    after_at = at;
    if (idle && (wanted || scans)) begin
      found = find(ring.id, block_of(at));
      from = end_t'(place_t'(at));
      left = ring.producer - at;
      distance = block_of(at) - block_of(ring.consumer);
      rest = end_t'(Slots) - from;
      upto = left < wqe_index_t'(rest) ? from + end_t'(left) : end_t'(Slots);
      none = left == '0 || left[$bits(left)-1];  // a wish may be out of date
      scan_over = none || distance > block_t'(AHEAD);
      if (found.found && busy_q[found.entry]) begin
        after_at = {block_of(at) + 1'b1, place_t'(0)};
      end else if (found.found && place_t'(at) >= first_q[found.entry] && from < end_q[found.entry]) begin
        after_at = {block_of(at), place_t'(0)} + wqe_index_t'(end_q[found.entry]);
      end else begin
        if (found.found && from == end_q[found.entry] && stuck_q[found.entry] && !wanted) scan_over = 1'b1;
        reads = wanted || !scan_over;
        after_at = {block_of(at), place_t'(0)} + wqe_index_t'(upto);
      end
    end
  end

  assign more = upto - from;

  // A place: that of the block, a free one, or that of a block which was not used for a round.
  logic displaces;
  assign displaces = wanted || own_q || WISHES_DISPLACE;
  always_comb begin
    entry = hand_q;
    room = displaces && !busy_q[hand_q] && !pinned[hand_q] && !recent_q[hand_q];
    if (reads) begin
      for (int unsigned i = 0; i < BLOCKS; i++)
        if (unused == '0 ? free[i] : unused[i]) {room, entry} = {1'b1, entry_t'(i)};
      if (found.found) {room, entry} = {1'b1, found.entry};
    end
  end
  assign start = reads && room;
  assign wish_ready_o = !wish_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      own_q  <= 1'b0;
      wish_q <= 1'b0;
      hand_q <= '0;
    end else begin
      if (idle && scans && (scan_over || (reads && !room && !displaces))) begin
        if (own_q) own_q <= 1'b0;
        else wish_q <= 1'b0;
      end
      if (wish_valid_i && wish_ready_o) wish_q <= 1'b1;
      if (taken_i || ahead_i) own_q <= 1'b1;
      if (quiesce_i) {own_q, wish_q} <= '0;
      if (reads && !found.found && free == '0 && displaces) hand_q <= hand_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (idle && scans && (start || !reads)) begin
      if (own_q) own_at_q <= after_at;
      else wish_at_q <= after_at;
    end
    if (wish_valid_i && wish_ready_o) begin
      wish_ring_q <= wish_i;
      wish_at_q   <= wish_i.consumer;
    end
    if (taken_i || ahead_i) begin
      own_ring_q <= ring_i;
      own_ring_q.consumer <= taken_i ? next_i : ahead_from_i;
      own_at_q <= taken_i ? next_i : ahead_from_i;
    end
  end

  // ---- The reads: translated one after the other, and many under way
  typedef enum logic [1:0] { StIdle, StXlate, StXlateWait, StRead } state_e;
  state_e state_q;
  entry_t entry_q;
  /* verilator lint_off UNUSEDSIGNAL */  // whose it is, others know
  slot_ring_t reading_q;
  /* verilator lint_on UNUSEDSIGNAL */
  wqe_index_t from_q;
  chunk_t length_q;
  logic [63:0] address_q;
  assign failed = state_q == StXlateWait && xlate.rsp_valid && xlate.rsp.status != XLATE_OK;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle: if (start) state_q <= StXlate;
        StXlate: if (xlate.ready) state_q <= StXlateWait;
        StXlateWait: if (xlate.rsp_valid) state_q <= failed ? StIdle : StRead;
        default: if (read.ready) state_q <= StIdle;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (start) begin
      entry_q   <= entry;
      reading_q <= ring;
      from_q    <= at;
      length_q  <= chunk_t'(more) << SlotShift;
    end
    if (xlate.rsp_valid) address_q <= xlate.rsp.address;
  end
  wqe_index_t ring_mask, slot_of_ring;
  assign ring_mask = (wqe_index_t'(1) << reading_q.log_slots) - 1'b1;
  assign slot_of_ring = from_q & ring_mask;
  assign xlate.hold = 1'b0;  // it translates rings only
  assign xlate.valid = state_q == StXlate;
  always_comb begin
    xlate.req = '0;
    if (xlate.valid) begin
      xlate.req.ring = 1'b1;
      xlate.req.pbl_address = reading_q.pbl;
      xlate.req.to = 64'(slot_of_ring) << SlotShift;
      xlate.req.length = 32'(length_q);
    end
  end
  assign read.valid = state_q == StRead;
  assign read.req = '{
          address: address_q,
          length: length_q,
          dst: tx_address_t'({entry_q, place_t'(from_q), SlotShift'(0)})
      };

  // ---- What comes
  entry_t beat_entry;
  end_t beat_slot, bad;
  logic beat_last;
  assign beat_entry = read.beat.dst[SlotShift+PlaceBits+:EntryBits];
  assign beat_slot = end_t'(read.beat.dst[SlotShift+:PlaceBits]);
  always_comb begin
    {beat_last, bad} = '0;
    if (read.beat_valid) begin
      beat_last = read.beat.bytes == missing_q[beat_entry];
      bad = read.beat.error && beat_slot < bad_q[beat_entry] ? beat_slot : bad_q[beat_entry];
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q  <= '0;
      busy_q   <= '0;
      recent_q <= '0;
      behind_q <= '0;
    end else begin
      behind_q <= behind_q | passed;
      if (start) {valid_q[entry], busy_q[entry], recent_q[entry], behind_q[entry]} <= 4'b1110;
      else if (reads && !room && displaces) recent_q[hand_q] <= 1'b0;
      if (there_o && here.found) recent_q[here.entry] <= 1'b1;
      if (failed) busy_q[entry_q] <= 1'b0;
      if (beat_last) busy_q[beat_entry] <= 1'b0;
      for (int unsigned i = 0; i < BLOCKS; i++)
        if (forgotten[i] && !(start && entry == entry_t'(i))) valid_q[i] <= 1'b0;
      if (clear_i) for (int unsigned i = 0; i < BLOCKS; i++) if (id_q[i] == clear_id_i) valid_q[i] <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start) begin
      id_q[entry]     <= ring.id;
      block_q[entry]  <= block_of(at);
      target_q[entry] <= upto;
      bad_q[entry]    <= end_t'(Slots);
      stuck_q[entry]  <= 1'b0;
      if (!found.found || end_q[entry] != from) begin
        first_q[entry] <= place_t'(at);
        end_q[entry]   <= from;
      end
    end
    if (state_q == StRead) missing_q[entry_q] <= length_q;
    if (failed) stuck_q[entry_q] <= 1'b1;
    if (read.beat_valid) begin
      missing_q[beat_entry] <= missing_q[beat_entry] - read.beat.bytes;
      bad_q[beat_entry] <= bad;
      if (beat_last) begin
        end_q[beat_entry]   <= bad < target_q[beat_entry] ? bad : target_q[beat_entry];
        stuck_q[beat_entry] <= bad < target_q[beat_entry];
      end
    end
  end

  // What was asked for because it is needed, and failed, cannot be read.
  logic asked_q;
  entry_t asked_entry_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      asked_q <= 1'b0;
      over_q  <= 1'b0;
    end else begin
      asked_q <= want_i && ((start && wanted) || asked_q);
      over_q <= want_i && (over_q || (asked_q && ((failed && entry_q == asked_entry_q) ||
          (beat_last && beat_entry == asked_entry_q && bad < target_q[beat_entry]))));
    end
  end
  always_ff @(posedge clk_i) if (start && wanted) asked_entry_q <= entry;

  assign quiescent_o = idle && busy_q == '0;
  assign idle_o = quiescent_o && !own_q && !wish_q;
  assign waits_o = idle && busy_q != '0 && !read.beat_valid && !reads && !own_q && !wish_q && !there_o;

  // ---- The memory
  localparam int unsigned LineShift = $clog2(DATA_BYTES);
  localparam int unsigned LineWords = DATA_BYTES / SGE_BYTES;
  localparam int unsigned Lines = BLOCKS * Slots * WQE_BYTES / DATA_BYTES;
  typedef logic [$clog2(Lines)-1:0] line_t;
  /* verilator lint_off UNUSEDSIGNAL */  // it is there; which word of a line
  look_t word_entry;
  logic [EntryBits+PlaceBits+$clog2(SLOT_WORDS)-1:0] word_address;
  /* verilator lint_on UNUSEDSIGNAL */
  assign word_address = {word_entry.entry, place_t'(word_slot_i), word_i};
  data_t line_read;
  logic [$clog2(LineWords+1)-1:0] part_q;  // of the line: which word
  always_comb begin
    word_entry = '0;
    if (in_use_i) word_entry = find(ring_i.id, block_of(word_slot_i));
  end
  ram_1r1w #(
      .WIDTH(DATA_W),
      .DEPTH(Lines)
  ) u_slots (
      .clk_i,
      .write_i        (read.beat_valid && !read.beat.error),
      .write_address_i(read.beat.dst[LineShift+:$bits(line_t)]),
      .write_data_i   (read.beat.data),
      .read_i         (in_use_i),
      .read_address_i (word_address[$bits(word_address)-1-:$bits(line_t)]),
      .read_data_o    (line_read)
  );
  always_ff @(posedge clk_i) part_q <= ($clog2(LineWords + 1))'(32'(word_i) % LineWords);
  assign word_o = line_read[8*SGE_BYTES*part_q+:8*SGE_BYTES];

  // ---- What is promised
  `EXRNIC_HELD(xlate_is_held, xlate.valid, xlate.ready, xlate.req)
  `EXRNIC_HELD(read_is_held, read.valid, read.ready, read.req)
  `EXRNIC_ALWAYS(cleared_at_rest, !clear_i || quiescent_o)
  `EXRNIC_ALWAYS(reads_what_is_free, !start || !busy_q[entry])
  `EXRNIC_ALWAYS(wants_what_is_posted, !(idle && wanted) || !none)
  `EXRNIC_ALWAYS(a_block_is_in_a_page, !(state_q == StXlateWait && xlate.rsp_valid && !failed) ||
      xlate.rsp.length == 32'(length_q))


endmodule
