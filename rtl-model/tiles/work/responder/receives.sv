// SPDX-License-Identifier: BSD-2-Clause
// What each queue pair remembers from one segment to the next, with the receive that its message
// goes to, and the way to the next receive, which is fetched ahead.

module receives
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
#(
    parameter int unsigned N_QP = MAX_QP
) (
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
    output logic        any_o,    // is posted
    input  logic        fetch_i,  // pulse: take it,
    input  logic        flush_i,  // but only to pass it over
    output logic        fetch_done_o,  // pulse, with:
    output cqe_status_e fetch_status_o,
    output wqe_index_t  wqe_index_o,
    output logic        rq_we_o,
    output wqe_index_t  rq_consumer_o,
    output logic        srq_we_o,
    output wqe_index_t  srq_consumer_o,
    output logic [15:0] srq_limit_o,
    output logic        srq_limit_event_o,

    // What happens to its stream, see stream_update.
    input logic      accepted_i,
    input logic      taken_i,
    input logic      closed_i,
    input  logic       paused_i,  // the next message found no receive
    input logic        told_i,
    input logic [15:0] session_i,
    input logic       owes_i,
    input term_code_e owed_i,
    input  logic       renewed_i,  // its peer has begun another life
    input logic        came_i,
    input logic        first_i,
    input logic [31:0] number_i,
    input logic        dropped_i,
    input segment_t  segment_i,
    input position_t position_i,

    input  logic [$clog2(MAX_SGE)-1:0] element_index_i,
    output sge_t                       element_o,  // one cycle later

    output logic       xlate_valid_o,
    input  logic       xlate_ready_i,
    output xlate_req_t xlate_o,
    input  logic       xlate_rsp_valid_i,
    input  xlate_rsp_t xlate_rsp_i,

    output logic           read_valid_o,
    input  logic           read_ready_i,
    output dma_read_req_t  read_o,
    input  logic           beat_valid_i,
    input  dma_read_beat_t beat_i
);

  logic element_we;
  logic [$clog2(MAX_SGE)-1:0] element_index;
  sge_t element;
  stream_t stream;
  receive_table #(
      .N_QP(N_QP)
  ) u_table (
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
      .we_i(accepted_i || taken_i || closed_i || paused_i || told_i || owes_i || renewed_i || came_i ||
          dropped_i),
      .stream_i(stream),
      .element_read_index_i(element_index_i),
      .element_o,
      .element_we_i(element_we),
      .element_index_i(element_index),
      .element_i(element)
  );

  logic [31:0] length;
  stream_update u_update (
      .stream_i(stream_o),
      .accepted_i,
      .taken_i,
      .closed_i,
      .paused_i,
      .told_i,
      .session_i,
      .owes_i,
      .owed_i,
      .renewed_i,
      .came_i,
      .first_i,
      .number_i,
      .dropped_i,
      .segment_i,
      .position_i,
      .wqe_index_i(wqe_index_o),
      .length_i(length),
      .stream_o(stream)
  );

  receive_ring_t ring;
  wqe_index_t ring_next;
  receive_ring u_ring (
      .qpn_i,
      .qp_i,
      .srq_i,
      .any_o,
      .ring_o(ring),
      .taken_i(fetch_done_o),
      .wqe_index_i(wqe_index_o),
      .rq_we_o,
      .srq_we_o,
      .next_o(ring_next),
      .limit_o(srq_limit_o),
      .limit_event_o(srq_limit_event_o)
  );
  assign rq_consumer_o  = ring_next;
  assign srq_consumer_o = ring_next;

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
      .taken_i(fetch_done_o),
      .next_i(ring_next),
      .xlate_valid_o,
      .xlate_ready_i,
      .xlate_o,
      .xlate_rsp_valid_i,
      .xlate_rsp_i,
      .read_valid_o,
      .read_ready_i,
      .read_o,
      .beat_valid_i,
      .beat_i
  );

  receive_fetch u_fetch (
      .clk_i,
      .rst_ni,
      .start_i(fetch_i),
      .flush_i,
      .consumer_i(ring.consumer),
      .producer_i(ring.producer),
      .done_o(fetch_done_o),
      .status_o(fetch_status_o),
      .wqe_index_o,
      .length_o(length),
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

endmodule
