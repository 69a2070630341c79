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
    input  receive_ring_id_t clear_ring_id_i,
    input  logic quiesce_i,
    output logic waits_o,      // for receives that have been asked for
    output logic quiescent_o,  // nothing is being fetched,
    output logic idle_o,       // nor is to be
    input  logic look_i,
    input  qpn_t look_qpn_i,
    output logic message_open_o,  // one cycle later

    // The queue pair in hand, and its shared receive queue if it has one.
    input  qpn_t    qpn_i,
    input  qp_t     qp_i,
    input  srq_t    srq_i,
    input  logic    read_i,
    output stream_t stream_o,

    input logic          posted_valid_i,  // pulse: receives were posted
    input receive_ring_t posted_i,

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

  receive_ring_t ring;
  receive_ring u_ring (
      .qpn_i,
      .qp_i,
      .srq_i,
      .any_o,
      .ring_o(ring),
      .fetched_i(fetched_o),
      .change_o(ring_change_o)
  );

  localparam int unsigned Words = WQE_SLOTS_MAX * WQE_BYTES / SGE_BYTES;
  logic in_use, want, there;
  slot_count_t slots, readable;
  logic [$clog2(Words)-1:0] word_index;
  logic [8*SGE_BYTES-1:0] word;
  receive_cache u_cache (
      .clk_i,
      .rst_ni,
      .quiesce_i,
      .waits_o,
      .quiescent_o,
      .idle_o,
      .clear_i(clear_ring_i),
      .clear_id_i(clear_ring_id_i),
      .posted_valid_i,
      .posted_i,
      .in_use_i(in_use),
      .ring_i(ring),
      .want_i(want),
      .slots_i(slots),
      .there_o(there),
      .readable_o(readable),
      .word_index_i(word_index),
      .word_o(word),
      .taken_i(fetched_o.done),
      .next_i(ring_change_o.consumer),
      .xlate,
      .read
  );

  receive_fetch u_fetch (
      .clk_i,
      .rst_ni,
      .start_i(fetch_i),
      .flush_i,
      .consumer_i(ring.consumer),
      .producer_i(ring.producer),
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
