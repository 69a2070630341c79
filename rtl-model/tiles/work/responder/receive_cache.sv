// SPDX-License-Identifier: BSD-2-Clause
// Slots of receive rings on chip, of some rings at a time, fetched ahead: when slots are posted, and
// when a receive is taken. So a message seldom waits for the host. What cannot be read ahead is asked
// for again when a message needs it; only then it is an error.

`include "exrnic_assert.svh"

module receive_cache
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
#(
    localparam int unsigned WORDS = WQE_SLOTS_MAX * WQE_BYTES / SGE_BYTES
) (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic quiesce_i,    // nothing is fetched ahead
    output logic waits_o,      // for receives that have been asked for
    output logic quiescent_o,  // nothing is being fetched,
    output logic idle_o,       // nor wanted
    input  logic clear_i,      // that ring is another one from now on
    input  receive_ring_id_t clear_id_i,

    input logic          posted_valid_i,  // pulse: slots were posted
    input receive_ring_t posted_i,

    // The ring in use, constant meanwhile.
    input  logic          in_use_i,
    input  receive_ring_t ring_i,
    input  logic          want_i,   // so many of its slots from the consumer on, as are posted,
    input  slot_count_t   slots_i,
    output logic          there_o,  // are there, or cannot be read
    output slot_count_t   readable_o,
    input  logic [$clog2(WORDS)-1:0] word_index_i,  // from the consumer on
    output logic [8*SGE_BYTES-1:0]   word_o,        // one cycle later
    input  logic          taken_i,  // pulse: the consumer becomes next_i
    input  wqe_index_t    next_i,

    xlate_if.client    xlate,
    dma_read_if.client read
);

  localparam int unsigned Rings = 16;
  localparam int unsigned Slots = 16;  // of each, by the low bits of their index
  localparam int unsigned Batch = Slots / 2;
  typedef logic [$clog2(Rings)-1:0] entry_t;
  typedef logic [$clog2(Slots)-1:0] place_t;

  // ---- What is there: of a ring the slots from its consumer on. A ring has one place, any of them.
  logic [Rings-1:0] valid_q;
  logic [Rings-1:0] stuck_q;  // the slot behind the last one could not be read
  receive_ring_id_t id_q[Rings];
  wqe_index_t first_q[Rings];
  wqe_index_t end_q[Rings];

  logic ahead_q;  // a ring is wanted ahead
  receive_ring_t ahead_ring_q;

  // The place of the ring in use, else of the one that is wanted ahead: the one that it has, or that
  // it would get. Who has nothing left gives way first, then one after the other.
  receive_ring_t ring;
  entry_t entry, turn_q;
  logic found, room;  // it has one; it has, or gets one without making others give way
  assign ring = in_use_i ? ring_i : ahead_ring_q;
  always_comb begin
    {found, room} = '0;
    entry = turn_q;
    if (in_use_i || ahead_q) begin
      for (int unsigned i = 0; i < Rings; i++)
        if (!valid_q[i] || end_q[i] == first_q[i]) {room, entry} = {1'b1, entry_t'(i)};
      for (int unsigned i = 0; i < Rings; i++)
        if (valid_q[i] && id_q[i] == ring.id) {found, room, entry} = {2'b11, entry_t'(i)};
    end
  end

  wqe_index_t count;
  logic known, over_q;
  logic asked_q;  // the fetch under way is for the ring in use
  assign known = found && first_q[entry] == ring_i.consumer;
  assign count = end_q[entry] - first_q[entry];
  assign there_o = want_i && known && (count >= wqe_index_t'(slots_i) || over_q);
  assign readable_o =
      count < wqe_index_t'(WQE_SLOTS_MAX) ? slot_count_t'(count) : slot_count_t'(WQE_SLOTS_MAX);

  // ---- What is wanted ahead: the last wish counts. It may be lost, or late.
  logic ahead;
  assign ahead = ahead_q && !in_use_i && !quiesce_i;

  // ---- The next fetch
  entry_t entry_q;
  logic same, wanted, useful, start, fetch_idle, fetch_waits, fetched, failed;
  wqe_index_t from, posted, to_end;
  logic [$clog2(Batch):0] fetched_count;
  assign same   = in_use_i ? known : found;
  assign from   = same ? end_q[entry] : ring.consumer;
  assign posted = ring.producer - from;
  assign to_end = wqe_index_t'(Slots) - wqe_index_t'(place_t'(from));
  assign wanted = want_i && !there_o;
  assign useful = room && posted != '0 && !posted[$bits(posted)-1] &&  // a wish may be out of date
      (!same || (!stuck_q[entry] && from - first_q[entry] <= wqe_index_t'(Slots - Batch)));
  assign start  = fetch_idle && (wanted || (ahead && useful));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ahead_q <= 1'b0;
      over_q  <= 1'b0;
      asked_q <= 1'b0;
    end else begin
      ahead_q <= !quiesce_i &&
          (posted_valid_i || taken_i || (ahead_q && !(ahead && fetch_idle)));
      asked_q <= in_use_i && (start || asked_q);
      over_q  <= in_use_i && ((want_i && asked_q && fetched && failed) || over_q);
    end
  end
  always_ff @(posedge clk_i) begin
    if (posted_valid_i) begin
      ahead_ring_q <= posted_i;
    end else if (taken_i) begin
      ahead_ring_q <= ring_i;
      ahead_ring_q.consumer <= next_i;
    end
    if (start) entry_q <= entry;
  end

  // A receive that is taken although it cannot be read leaves nothing to go on from.
  logic beyond;
  assign beyond = next_i - ring_i.consumer > count;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      turn_q  <= '0;
    end else begin
      if (start) valid_q[entry] <= 1'b1;
      if (start && !found) turn_q <= turn_q + 1'b1;
      if (taken_i && beyond) valid_q[entry] <= 1'b0;
      if (clear_i)
        for (int unsigned i = 0; i < Rings; i++) if (id_q[i] == clear_id_i) valid_q[i] <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start && !same) begin
      id_q[entry]    <= ring.id;
      first_q[entry] <= ring.consumer;
      end_q[entry]   <= ring.consumer;
    end
    if (taken_i) first_q[entry] <= next_i;
    if (fetched) begin
      end_q[entry_q]   <= end_q[entry_q] + wqe_index_t'(fetched_count);
      stuck_q[entry_q] <= failed;
    end
  end

  assign quiescent_o = fetch_idle;
  assign waits_o = fetch_waits && (!in_use_i || wanted);
  assign idle_o = fetch_idle && !ahead_q;

  wqe_fetch #(
      .BATCH(Batch),
      .SLOTS(Rings * Slots)
  ) u_fetch (
      .clk_i,
      .rst_ni,
      .start_i(start),
      .place_i({entry, place_t'(from)}),
      .ring_pbl_i(ring.pbl),
      .ring_log_i(ring.log_slots),
      .consumer_i(from),
      .producer_i(posted < to_end ? ring.producer : from + to_end),
      .idle_o(fetch_idle),
      .waits_o(fetch_waits),
      .done_o(fetched),
      .failed_o(failed),
      .count_o(fetched_count),
      .word_index_i({entry, {place_t'(ring_i.consumer), 2'd0} + ($clog2(4*Slots))'(word_index_i)}),
      .word_o,
      .xlate,
      .read
  );

  // ---- What is promised
  `EXRNIC_ALWAYS(within_its_place, !found || count <= wqe_index_t'(Slots))

endmodule
