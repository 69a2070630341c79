// SPDX-License-Identifier: BSD-2-Clause
// Serves received segments: checks the queue pair, the DDP/RDMAP headers and what they name, takes
// receives, and sends the payload to its pages. What it refuses is answered by a terminate message
// with the RFC's code; a refused segment is not acknowledged before its sender has heard of that. It
// also ends receives and PULLs of queue pairs in ERROR.

`include "exrnic_assert.svh"

module responder
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    output logic init_done_o,
    input  logic clear_i,         // what is remembered of that queue pair is void
    input  qpn_t clear_qpn_i,
    input  logic look_i,          // at a queue pair: has a message of it taken a receive, and not
    input  qpn_t look_qpn_i,      // ended? One cycle later, until the next look
    output logic message_open_o,
    input  logic quiesce_i,       // begin nothing that touches a table or host memory
    output logic quiescent_o,
    output logic waits_o,         // for receives that have been asked for
    output logic idle_o,

    stream_if.sink       desc,
    refusal_if.responder refusal,  // of the segment in hand

    // The queue pair is in ERROR: end one receive or PULL of it.
    input  logic flush_valid_i,
    output logic flush_ready_o,
    input  qpn_t flush_qpn_i,

    // Its tables answer in the next cycle, until the next read; all of qp.index.
    table_read_if.client          qp,
    table_read_if.client          srq,
    responder_queues_if.responder queues,
    stream_if.source              wake,
    output logic                  qp_error_o,         // pulse: a queue pair went to ERROR,
    output qp_cause_e             qp_cause_o,         // for this reason
    output logic                  srq_limit_event_o,  // pulse

    // Requests of the peer for firmware.
    firmware_path_if.engines firmware,
    input logic              punt_reads_i,  // it gets all that are no atomics, while it takes requests

    input pkeys_t pkeys_i,

    output logic     rx_done_valid_o,
    input  logic     rx_done_ready_i,
    output rx_done_t rx_done_o,

    xlate_if.client  xlate,
    stream_if.source write,
    input logic      write_idle_i,  // nothing accepted is still to be written

    // Slots of receives, also ahead of their messages.
    xlate_if.client    fetch_xlate,
    dma_read_if.client fetch_read,

    // What is for the core itself; behind all that came before it.
    port_arrival_if.responder port,
    output logic              answer_valid_o,  // to a load
    output window_answer_t    answer_o,

    output event_t event_o
);

  // ---- What is in hand
  step_e step, next;
  rx_desc_t desc_q;
  qpn_t qpn_q;
  logic takes, frees;
  assign takes = frees && !quiesce_i;
  assign flush_ready_o = takes;
  assign desc.ready = takes && !flush_valid_i;
  qpn_t qpn;
  always_comb begin
    qpn = qpn_q;
    if (frees) qpn = flush_valid_i ? flush_qpn_i : desc.data.dst_qpn[$bits(qpn_t)-1:0];
  end
  always_ff @(posedge clk_i) begin
    if (frees) begin
      desc_q <= desc.data;
      qpn_q  <= qpn;
    end
  end

  stream_t stream;
  segment_t segment;
  verdict_t verdict;
  qp_peer_t peer;
  flush_t flush_job;
  logic flush;
  segment_judge u_judge (
      .desc_i(desc_q),
      .pkeys_i,
      .qp_i(qp.row),
      .stream_i(stream),
      .pull_i(queues.pull_head),
      .pull_count_i(queues.pull_count),
      .read_count_i(queues.read_count),
      .lost_i(!firmware.active && firmware.held),
      .segment_o(segment),
      .verdict_o(verdict),
      .peer_o(peer),
      .flush_i(step == STEP_JUDGE && flush),
      .flush_o(flush_job)
  );

  for_core_t for_core;
  core_segments u_core (
      .clk_i,
      .step_i(step),
      .flush_i(flush),
      .quiesce_i,
      .written_i(write_idle_i),
      .desc_i(desc_q),
      .segment_i(segment),
      .qp_i(qp.row),
      .qpn_i(qpn_q),
      .receiving_i(verdict.receiving),
      .punt_reads_i,
      .for_core_o(for_core),
      .firmware,
      .port,
      .answer_valid_o,
      .answer_o
  );

  // ---- What to do
  logic deferred, invalidating, affected, ring_any, refusal_done, put_off, punt_waiting;
  stream_change_t change;
  refused_t refused;
  fetched_t fetched;
  placed_t placed;
  cqe_status_e end_status;
  responder_control u_control (
      .clk_i,
      .rst_ni,
      .begin_i((flush_valid_i || desc.valid) && !quiesce_i),
      .is_flush_i(flush_valid_i),
      .stale_i(desc.data.stale),
      .frees_o(frees),
      .step_o(step),
      .next_o(next),
      .waiting_o(punt_waiting),
      .segment_i(segment),
      .verdict_i(verdict),
      .for_core_i(for_core),
      .flush_i(flush_job),
      .unreliable_i(desc_q.unreliable),
      .datagram_i(desc_q.datagram),
      .open_i(stream.open),
      .pull_last_i(queues.pull_head.last),
      .same_i(same),
      .quiesce_i,
      .written_i(write_idle_i),
      .ring_any_i(ring_any),
      .fetched_i(fetched),
      .placed_i(placed),
      .xlate_ready_i(xlate.ready),
      .xlate_rsp_valid_i(xlate.rsp_valid),
      .xlate_status_i(xlate.rsp.status),
      .write_ready_i(write.ready),
      .rx_done_ready_i,
      .refusal_done_i(refusal_done),
      .put_off_i(put_off),
      .status_ready_i(queues.status_ready),
      .wake_ready_i(wake.ready),
      .change_o(change),
      .deferred_o(deferred),
      .flush_o(flush),
      .invalidating_o(invalidating),
      .refused_o(refused),
      .affected_o(affected),
      .end_status_o(end_status)
  );

  // ---- Receives

  // One that has ended is not over until the completer knows.
  logic receive_open, in_hand_q;
  always_ff @(posedge clk_i) begin
    if (look_i) in_hand_q <= step != STEP_IDLE && qpn_q == look_qpn_i;
  end
  assign message_open_o = receive_open || in_hand_q;

  logic fetch_quiescent, fetch_idle, fetch_waits;
  ring_change_t ring_change;
  position_t position;
  logic [$clog2(MAX_SGE)-1:0] element_index;
  sge_t element;
  receives u_receives (
      .clk_i,
      .rst_ni,
      .init_done_o,
      .clear_i,
      .clear_qpn_i,
      .clear_ring_i(queues.clear_ring),
      .clear_ring_id_i(queues.clear_ring_id),
      .quiesce_i,
      .waits_o(fetch_waits),
      .quiescent_o(fetch_quiescent),
      .idle_o(fetch_idle),
      .look_i,
      .look_qpn_i,
      .message_open_o(receive_open),
      .qpn_i(qpn_q),
      .read_qpn_i(qpn),
      .qp_i(qp.row),
      .srq_i(srq.row),
      .read_i(qp.read),
      .stream_o(stream),
      .posted_valid_i(queues.posted_valid),
      .posted_i(queues.posted),
      .any_o(ring_any),
      .fetch_i(step == STEP_TAKE && ring_any),
      .flush_i(flush),
      .fetched_o(fetched),
      .ring_change_o(ring_change),
      .change_i(change),
      .renewed_i(queues.peer_we && verdict.renews),
      .desc_i(desc_q),
      .segment_i(segment),
      .owed_i(refused.code),
      .position_i(position),
      .element_index_i(element_index),
      .element_o(element),
      .xlate(fetch_xlate),
      .read(fetch_read)
  );
  assign queues.rq_we = ring_change.own;
  assign queues.rq_consumer = ring_change.consumer;
  assign queues.srq_we = ring_change.shared;
  assign queues.srq_consumer = ring_change.consumer;
  assign queues.srq_limit = ring_change.limit;
  assign srq_limit_event_o = ring_change.limit_event;
  assign queues.taken =
      ((change.taken && !desc_q.unreliable) || change.paused) && !qp.row.cfg.has_srq;
  assign queues.taken_what = '{
          qpn: qpn_q,
          node: desc_q.node,
          peer: desc_q.src_qpn,
          src_generation: qp.row.cfg.generation,
          dst_generation: qp.row.peer.generation,
          messages: credit_t'(stream.messages) + credit_t'(change.taken),
          consumer: credit_t'(change.taken ? ring_change.consumer : qp.row.rq_consumer),
          lapsed: change.paused || desc_q.ask
      };
  assign srq.read = step == STEP_JUDGE;
  assign srq.index = qp.row.cfg.srqn;

  // ---- Payload
  logic [31:0] left_free;
  assign left_free = left_to_software(qp.row.cfg.grh);
  segment_placer u_placer (
      .clk_i,
      .rst_ni,
      .desc_i(desc_q),
      .segment_i(segment),
      .pull_i(queues.pull_head),
      .grant_i(firmware.grant),
      .granted_i(for_core.data),
      .pd_i(qp.row.cfg.pd),
      .qpn_i(qpn_q),
      .generation_i(qp.row.cfg.generation),
      .start_i(step != STEP_PLACE && next == STEP_PLACE),
      .placed_o(placed),
      .invalidates_i(invalidating),
      .invalidate_i(step == STEP_INVALIDATE),
      .end_i(step == STEP_DONE),
      .position_i('{
          element: stream.position.element,
          offset: stream.position.offset + left_free
      }),
      .position_o(position),
      .element_index_o(element_index),
      .element_i(element),
      .xlate,
      .write
  );

  // ---- Reads under way
  reads_update u_reads (
      .clk_i,
      .rst_ni,
      .step_i(step),
      .write_ready_i(write.ready),
      .desc_i(desc_q),
      .segment_i(segment),
      .accepted_i(change.accepted),
      .punts_i(for_core.punts),
      .deferred_i(deferred),
      .code_i(verdict.code),
      .flush_pull_i(flush_job.pull),
      .pull_i(queues.pull_head),
      .pull_pop_o(queues.pull_pop),
      .pull_set_o(queues.pull_set),
      .pull_rest_o(queues.pull_rest),
      .read_push_o(queues.read_push),
      .read_new_o(queues.read_new),
      .refused_we_o(queues.refused_we),
      .refused_o(queues.refused)
  );

  // ---- What others are told
  logic refusal_waiting;
  refusal u_refusal (
      .clk_i,
      .rst_ni,
      .quiesce_i,
      .start_i(step != STEP_REFUSE && next == STEP_REFUSE),
      .desc_i(desc_q),
      .code_i(refused.code),
      .rnr_i(refused.rnr),
      .rnr_code_i(rnr_code_q),
      .waiting_o(refusal_waiting),
      .done_o(refusal_done),
      .put_off_o(put_off),
      .write_idle_i,
      .refuse_valid_o(refusal.valid),
      .refuse_ready_i(refusal.ready),
      .refuse_put_off_i(refusal.put_off),
      .refusal_o(refusal.what)
  );

  rx_done_t ended, ended_q;
  message_end u_end (
      .qpn_i(qpn_q),
      .generation_i(qp.row.cfg.generation),
      .status_i(end_status),
      .emptied_i(flush_job.emptied),
      .drained_i(flush_job.drained),
      .is_pull_i(flush ? flush_job.pull : segment.message == MESSAGE_RESPONSE),
      .pull_i(queues.pull_head),
      .stream_i(stream),
      .wqe_index_i(step == STEP_FETCH ? fetched.wqe_index : stream.wqe_index),
      .left_free_i(left_free),
      .segment_i(segment),
      .desc_i(desc_q),
      .done_o(ended)
  );
  always_ff @(posedge clk_i) begin
    if (step inside {STEP_JUDGE, STEP_FETCH, STEP_ROOM, STEP_PLACE, STEP_INVALIDATE_WAIT})
      ended_q <= ended;
  end
  assign rx_done_valid_o = step == STEP_REPORT;
  assign rx_done_o = ended_q;

  assign queues.peer_we = !flush && verdict.introduction && (verdict.parts ? queues.status_valid && queues.status_ready :
      step == STEP_JUDGE && next == STEP_WAKE);
  assign queues.peer = peer;

  logic pauses;  // we are asked to
  error_status u_status (
      .status_i(qp.row.status),
      .desc_i(desc_q),
      .refused_i(refused.refused || desc_q.unreliable),
      .told_i(refused.told || desc_q.unreliable),
      .parts_i(verdict.parts),
      .unreliable_i(qp.row.cfg.service == SERVICE_UC && !desc_q.unreliable),
      .pull_count_i(queues.pull_count),
      .rnr_o(pauses),
      .status_o(queues.status)
  );
  assign queues.pause = queues.status_valid && queues.status_ready && pauses;
  assign queues.pause_code = desc_q.imm[4:0];

  // The queue pair may be another one by the time a message can be refused.
  generation_t generation_q;
  logic [4:0] rnr_code_q;
  logic same;
  assign same = qp.row.cfg.generation == generation_q;
  always_ff @(posedge clk_i) begin
    if (step == STEP_JUDGE) begin
      generation_q <= qp.row.cfg.generation;
      rnr_code_q   <= qp.row.cfg.rnr_timer;
    end
  end
  // What is taken is read at once.
  assign qp.read = step inside {STEP_READ, STEP_STATUS_READ} || (takes && (flush_valid_i || desc.valid));
  assign qp.index = qpn;
  assign queues.status_valid =
      step == STEP_STATUS && affected && !refused.rnr && !(pauses && qp.row.status.rnr);
  assign queues.status_qpn = qpn_q;
  assign qp_error_o = queues.status_valid && queues.status_ready && verdict.receiving &&
      queues.status.state == QP_STATE_ERROR;
  assign qp_cause_o = queues.status.fault ? QP_CAUSE_PEER : QP_CAUSE_REQUEST;
  assign wake.valid = step == STEP_WAKE;
  assign wake.data = qpn_q;

  assign idle_o = step == STEP_IDLE && fetch_idle;
  assign waits_o = step inside {STEP_IDLE, STEP_FETCH} && fetch_waits;
  // A report may wait for the completer, which rests; its queue pair may go meanwhile.
  assign quiescent_o = fetch_quiescent &&
      (step == STEP_IDLE || step == STEP_REPORT || refusal_waiting || punt_waiting);

  logic judges, terminates;  // the segment in hand
  assign judges = step == STEP_JUDGE && !flush;
  assign terminates = segment.message == MESSAGE_TERMINATE;
  always_comb begin
    event_o = '0;
    if (step != STEP_IDLE) begin
      event_o[COUNTER_UC_LOST] = change.came && verdict.gap;
      event_o[COUNTER_BAD_PKEY] = judges && verdict.bad_pkey;
      event_o[COUNTER_BAD_QKEY] = judges && verdict.bad_qkey;
      event_o[COUNTER_UNRELIABLE_NO_RECEIVE] = change.dropped && step == STEP_TAKE;
      event_o[COUNTER_UNRELIABLE_DROPPED] = change.dropped || (desc_q.unreliable && !flush &&
          ((step == STEP_JUDGE && !change.came) || (step != STEP_STATUS_READ && next == STEP_STATUS_READ)));
      event_o[COUNTER_RX_DISCARDED] = judges && !desc_q.unreliable &&
          (verdict.behind || (verdict.mine && !verdict.receiving && !verdict.introduction && !terminates));
      event_o[COUNTER_RNR_NAK_TX] = refusal_done && refused.rnr && !put_off;
      event_o[COUNTER_REFUSALS_PUT_OFF] = put_off;
      event_o[COUNTER_RNR_NAK_RX] = judges && verdict.receiving && pauses && terminates;
      event_o[COUNTER_TERMINATES_RX] =
          judges && verdict.receiving && !desc_q.unreliable && terminates;
      event_o[COUNTER_SEGMENTS_PLACED] = change.accepted && segment.message != MESSAGE_REQUEST;
      event_o[COUNTER_FW_DROPPED] =
          (judges && next != STEP_JUDGE && for_core.firmware && for_core.device) ||
          (step == STEP_PLACE && placed.refused && for_core.data);
      event_o[COUNTER_RECVS] = change.accepted && segment.last &&
          segment.message inside {MESSAGE_SEND, MESSAGE_IMMEDIATE};
    end
  end

  // ---- What is promised
  `EXRNIC_HELD(refuse_is_held, refusal.valid, refusal.ready, 1'b0)
  `EXRNIC_HELD(status_is_held, queues.status_valid, queues.status_ready, {queues.status_qpn, queues.status})
  `EXRNIC_HELD(wake_is_held, wake.valid, wake.ready, wake.data)
  `EXRNIC_HELD(rx_done_is_held, rx_done_valid_o && !rx_done_o.drained, rx_done_ready_i, rx_done_o)
  `EXRNIC_HELD(xlate_is_held, xlate.valid, xlate.ready, {xlate.req, xlate.hold})
  `EXRNIC_HELD(fetch_xlate_is_held, fetch_xlate.valid, fetch_xlate.ready, fetch_xlate.req)
  `EXRNIC_HELD(fetch_read_is_held, fetch_read.valid, fetch_read.ready, fetch_read.req)
  `EXRNIC_HELD(write_is_held, write.valid, write.ready, write.data)
  `EXRNIC_HELD(port_is_held, port.valid, port.ready, {port.good, port.message})
  // A segment does one thing after the other.
  `EXRNIC_ALWAYS(one_at_a_time, $onehot0({port.valid, answer_valid_o, firmware.punt_valid, write.valid,
      rx_done_valid_o, refusal.valid, queues.status_valid, wake.valid}))
  `EXRNIC_ALWAYS(one_ring, !(queues.rq_we && queues.srq_we))
  `EXRNIC_ALWAYS(one_hears, $onehot0({change.paused, change.told, change.owes}))
  `EXRNIC_ALWAYS(one_fate_of_a_pull, !(queues.pull_pop && queues.pull_set))
  `EXRNIC_ALWAYS(has_a_pull, !(queues.pull_pop || queues.pull_set) || queues.pull_count != '0)
  `EXRNIC_ALWAYS(one_fate_of_a_read, !(queues.read_push && queues.refused_we))
  `EXRNIC_ALWAYS(has_room_for_a_read, !queues.read_push || queues.read_count < qp.row.cfg.max_reads_in)

endmodule
