// SPDX-License-Identifier: BSD-2-Clause
// What each queue pair remembers from one segment to the next, with the receive that its message
// goes to, and the way to the next receive, which is fetched ahead.

`include "exrnic_assert.svh"

module receives
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    output logic init_done_o,
    input  logic clear_i,
    input  qpn_t clear_qpn_i,
    input  logic clear_ring_i,
    input  slot_ring_id_t clear_ring_id_i,
    input  logic quiesce_i,
    output logic waits_o,      // for receives that have been asked for
    output logic quiescent_o,  // nothing is being fetched,
    output logic idle_o,       // nor is to be
    input  logic look_i,
    input  qpn_t look_qpn_i,
    output logic message_open_o,  // one cycle later

    // The queue pair in hand, and its shared receive queue if it has one.
    input  qpn_t    qpn_i,
    input  qpn_t    read_qpn_i,  // with read_i: the one that is in hand from then on
    input  qp_t     qp_i,
    input  srq_t    srq_i,
    input  logic    read_i,
    output stream_t stream_o,

    input logic          posted_valid_i,  // pulse: receives were posted
    input slot_ring_t posted_i,

    // Its next receive.
    output logic         any_o,    // is posted
    input  logic         fetch_i,  // pulse: take it,
    input  logic         flush_i,  // but only to pass it over
    output fetched_t     fetched_o,
    output ring_change_t ring_change_o,

    // What happens to its stream, see stream_update.
    input stream_change_t change_i,
    input logic           renewed_i,
    input rx_desc_t       desc_i,
    input segment_t       segment_i,
    input term_code_e     owed_i,
    input position_t      position_i,

    input  logic [$clog2(MAX_SGE)-1:0] element_index_i,
    output sge_t                       element_o,  // one cycle later

    xlate_if.client    xlate,
    dma_read_if.client read
);

  logic element_we;
  logic [$clog2(MAX_SGE)-1:0] element_index;
  sge_t element;
  stream_t stream;
  receive_table u_table (
      .clk_i,
      .rst_ni,
      .init_done_o,
      .clear_i,
      .clear_qpn_i,
      .look_i,
      .look_qpn_i,
      .open_o(message_open_o),
      .qpn_i,
      .read_qpn_i,
      .read_i,
      .stream_o,
      .we_i(change_i != '0 || renewed_i),
      .stream_i(stream),
      .element_read_index_i(element_index_i),
      .element_o,
      .element_we_i(element_we),
      .element_index_i(element_index),
      .element_i(element)
  );

  stream_update u_update (
      .stream_i(stream_o),
      .change_i,
      .renewed_i,
      .desc_i,
      .segment_i,
      .fetched_i(fetched_o),
      .owed_i,
      .position_i,
      .stream_o(stream)
  );

  slot_ring_t ring, cache_ring;
  receive_ring u_ring (
      .qpn_i,
      .qp_i,
      .srq_i,
      .any_o,
      .ring_o(ring),
      .fetched_i(fetched_o),
      .change_o(ring_change_o)
  );

  localparam int unsigned SlotWords = WQE_BYTES / SGE_BYTES;
  localparam int unsigned Words = WQE_SLOTS_MAX * SlotWords;
  localparam int unsigned Wishes = 16;
  logic cache_waits;
  logic in_use, want, there;
  wqe_slots_t slots, readable;
  logic [$clog2(Words)-1:0] word_index;
  logic [8*SGE_BYTES-1:0] word;
  // What is posted is wished for; a wish may be lost.
  slot_ring_t wish;
  logic wish_ready, cache_idle, cache_quiescent;
  logic [$clog2(Wishes):0] wishes;
  ram_fifo #(
      .WIDTH($bits(slot_ring_t)),
      .DEPTH(Wishes)
  ) u_wishes (
      .clk_i,
      .rst_ni,
      .push_i     (posted_valid_i && !quiesce_i && !wishes[$clog2(Wishes)]),
      .push_data_i(posted_i),
      .pop_i      (wishes != '0 && (wish_ready || quiesce_i)),
      .head_o     (wish),
      .count_o    (wishes)
  );
  assign idle_o = cache_idle && wishes == '0 && !in_use;
  assign quiescent_o = cache_quiescent && wishes == '0;

  slot_cache u_cache (
      .clk_i,
      .rst_ni,
      .quiesce_i,
      .waits_o(cache_waits),
      .quiescent_o(cache_quiescent),
      .idle_o(cache_idle),
      .clear_i(clear_ring_i),
      .clear_id_i(clear_ring_id_i),
      .wish_valid_i(wishes != '0),
      .wish_ready_o(wish_ready),
      .wish_i(wish),
      .in_use_i(in_use),
      .ring_i(cache_ring),
      .ahead_i(1'b0),
      .ahead_from_i('0),
      .want_i(want),
      .at_i(cache_ring.consumer),
      .slots_i(slots),
      .there_o(there),
      .readable_o(readable),
      .taken_i(fetched_o.done),
      .next_i(ring_change_o.consumer),
      .word_slot_i(cache_ring.consumer + wqe_index_t'(word_index[$bits(word_index)-1:$clog2(SlotWords)])),
      .word_i(word_index[$clog2(SlotWords)-1:0]),
      .word_o(word),
      .xlate,
      .read
  );
  assign waits_o = cache_waits && wishes == '0 && (!in_use || want);

  receive_fetch u_fetch (
      .clk_i,
      .rst_ni,
      .start_i(fetch_i),
      .flush_i,
      .quiesce_i,
      .clear_i(clear_ring_i),
      .clear_id_i(clear_ring_id_i),
      .ring_i(ring),
      .ring_o(cache_ring),
      .fetched_o,
      .element_we_o(element_we),
      .element_index_o(element_index),
      .element_o(element),
      .in_use_o(in_use),
      .want_o(want),
      .slots_o(slots),
      .there_i(there),
      .readable_i(readable),
      .word_index_o(word_index),
      .word_i(word)
  );

  // ---- What is promised
  `EXRNIC_ALWAYS(within_the_receive,
      !change_i.accepted || !stream.open || stream.received <= stream.length)

endmodule
