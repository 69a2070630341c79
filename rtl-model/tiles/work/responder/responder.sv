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
#(
    parameter int unsigned N_QP = MAX_QP
) (
    input  logic clk_i,
    input  logic rst_ni,
    output logic init_done_o,
    input  logic clear_i,      // what is remembered of that queue pair is void
    input  qpn_t clear_qpn_i,
    input  logic clear_ring_i,  // likewise of that ring of receives
    input  receive_ring_id_t clear_ring_id_i,
    input  logic          posted_valid_i,  // pulse: receives were posted
    input  receive_ring_t posted_i,
    input  logic look_i,       // at a queue pair: has a message of it taken a receive, and not
    input  qpn_t look_qpn_i,   // ended? One cycle later, until the next look
    output logic message_open_o,
    input  logic quiesce_i,    // begin nothing that touches a table or host memory
    output logic waits_o,  // for receives that have been asked for
    output logic quiescent_o,
    output logic idle_o,

    input  logic     desc_valid_i,
    output logic     desc_ready_o,
    input  rx_desc_t desc_i,

    // The queue pair is in ERROR: end one receive or PULL of it.
    input  logic flush_valid_i,
    output logic flush_ready_o,
    input  qpn_t flush_qpn_i,

    output logic     refuse_valid_o,  // the segment in hand is refused,
    input  logic     refuse_ready_i,
    input  logic     refuse_put_off_i,  // with ready: or put off
    output refusal_t refusal_o,

    // Its tables answer in the next cycle, until the next read; all of qp_read_qpn_o.
    output logic qp_read_o,
    output qpn_t qp_read_qpn_o,
    /* verilator lint_off UNUSEDSIGNAL */  // a reader needs a part of the record
    input  qp_t  qp_i,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic       peer_we_o,  // what it has heard of its peer
    output qp_peer_t   peer_o,
    output logic             refused_we_o,  // a request of the peer is refused behind those before it
    output refused_request_t refused_o,
    output logic       rq_we_o,
    output wqe_index_t rq_consumer_o,
    input  reads_t     pull_count_i,
    input  pull_t      pull_i,
    output logic       pull_pop_o,
    output logic       pull_set_o,
    output pull_t      pull_o,
    input  reads_t     read_count_i,  // with those in firmware's hands:
    input  reads_t     punt_count_i,
    output logic       read_push_o,
    output read_t      read_o,

    // Requests of the peer for firmware.
    input  logic  firmware_i,  // it takes them
    output fw_grant_index_t fw_grant_index_o,  // what has it granted? Combinational
    input  fw_grant_t       fw_grant_i,
    output logic            fw_placing_o,      // granted bytes are in hand
    input  logic  punt_reads_i,  // it gets all of them, else only atomics and what is behind those
    output logic  punt_valid_o,  // may be withdrawn
    input  logic  punt_ready_i,
    output punt_t punt_o,

    output logic        srq_read_o,
    output srqn_t       srq_read_srqn_o,
    /* verilator lint_off UNUSEDSIGNAL */
    input  srq_t        srq_i,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic        srq_we_o,
    output wqe_index_t  srq_consumer_o,
    output logic [15:0] srq_limit_o,
    output logic        srq_limit_event_o,  // pulse

    output logic       status_valid_o,
    input  logic       status_ready_i,
    output qpn_t       status_qpn_o,
    output qp_status_t status_o,
    output logic       wake_valid_o,
    input  logic       wake_ready_i,
    output qpn_t       wake_qpn_o,
    output logic       qp_error_o,  // pulse: a queue pair went to ERROR
    output logic       rx_done_valid_o,
    input  logic       rx_done_ready_i,
    output rx_done_t   rx_done_o,

    output logic       xlate_valid_o,
    input  logic       xlate_ready_i,
    output xlate_req_t xlate_o,
    input  logic       xlate_rsp_valid_i,
    input  xlate_rsp_t xlate_rsp_i,
    output logic       xlate_hold_o,  // it knows a place that it has not written to

    // Slots of receives, also ahead of their messages.
    output logic       fetch_xlate_valid_o,
    input  logic       fetch_xlate_ready_i,
    output xlate_req_t fetch_xlate_o,
    input  logic       fetch_xlate_rsp_valid_i,
    input  xlate_rsp_t fetch_xlate_rsp_i,
    output logic           fetch_read_valid_o,
    input  logic           fetch_read_ready_i,
    output dma_read_req_t  fetch_read_o,
    input  logic           fetch_beat_valid_i,
    input  dma_read_beat_t beat_i,

    output logic           write_valid_o,
    input  logic           write_ready_i,
    output dma_write_cmd_t write_o,
    input  logic           write_idle_i,  // nothing accepted is still to be written

    // The peer asks the queue pair status_qpn_o for a pause.
    output logic       pause_valid_o,  // pulse
    output logic [4:0] pause_code_o,   // see RNR_TIMER_MAX

    // A message has taken a receive of the queue pair's own, or found none.
    output logic          credit_valid_o,  // pulse
    output credit_taken_t credit_o,

    // What is for the core itself; behind all that came before it.
    output logic           port_valid_o,
    input  logic           port_ready_i,
    output logic           port_good_o,  // well formed
    output port_message_t  port_o,       // as the receiver sees it
    output logic           answer_valid_o,  // to a load
    output window_answer_t answer_o,

    output event_t event_o
);

  // ---- What is in hand
  step_e step, next;
  rx_desc_t desc_q;
  qpn_t qpn_q;
  logic takes;
  assign takes = step == STEP_IDLE && !quiesce_i;
  assign flush_ready_o = takes;
  assign desc_ready_o = takes && !flush_valid_i;
  always_ff @(posedge clk_i) begin
    if (step == STEP_IDLE) begin
      desc_q <= desc_i;
      qpn_q  <= flush_valid_i ? flush_qpn_i : desc_i.dst_qpn[$bits(qpn_t)-1:0];
    end
  end

  /* verilator lint_off UNUSEDSIGNAL */  // what the judge looks at
  ddp_tagged_t header;
  ddp_untagged_t untagged;
  /* verilator lint_on UNUSEDSIGNAL */
  assign header   = desc_q.ddp[$bits(ddp_head_t)-1-:$bits(ddp_tagged_t)];
  assign untagged = desc_q.ddp[$bits(ddp_head_t)-1-:$bits(ddp_untagged_t)];

  stream_t stream;
  segment_t segment;
  term_code_e judge_code;
  logic flush, flush_pull, flush_message, flush_receive;
  logic introduction, wants_answer, meets, renews, parts;
  qp_peer_t peer;
  logic mine, receiving, good, too_long, behind, late, gap, bad_pkey, bad_qkey;
  segment_judge #(
      .N_QP(N_QP)
  ) u_judge (
      .desc_i(desc_q),
      .qp_i,
      .stream_i(stream),
      .pull_i,
      .pull_count_i,
      .read_count_i,
      .firmware_i,
      .lost_i(!firmware_i && punt_count_i != '0),
      .bad_pkey_o(bad_pkey),
      .bad_qkey_o(bad_qkey),
      .mine_o(mine),
      .receiving_o(receiving),
      .introduction_o(introduction),
      .wants_answer_o(wants_answer),
      .meets_o(meets),
      .peer_o(peer),
      .renews_o(renews),
      .parts_o(parts),
      .segment_o(segment),
      .good_o(good),
      .code_o(judge_code),
      .too_long_o(too_long),
      .behind_o(behind),
      .late_o(late),
      .gap_o(gap),
      .flush_i(step == STEP_JUDGE && flush),
      .flush_pull_o(flush_pull),
      .flush_message_o(flush_message),
      .flush_receive_o(flush_receive)
  );

  // ---- What is for the core itself
  logic for_port, for_load, for_firmware, fw_takes, fw_message, fw_granted, device, device_ready;
  logic fw_data, fw_data_q;
  assign for_port = !desc_q.unreliable && (desc_q.dst_qpn & ~24'(PORTS - 1)) == 24'(PORT_QPN);
  assign for_load = receiving && !desc_q.unreliable && segment.message == MESSAGE_RESPONSE && !segment.atomic &&
      header.stag == WINDOW_STAG;
  assign for_firmware = !desc_q.unreliable && desc_q.dst_qpn == 24'(FW_QPN);
  assign fw_takes = for_firmware && firmware_i && desc_q.src_qpn == 24'(FW_QPN) &&
      segment.message == MESSAGE_WRITE;
  assign fw_message = fw_takes && header.stag == FW_STAG && segment.last &&
      segment.payload == chunk_t'(FW_MESSAGE_BYTES);
  // Bytes go where firmware has granted that node, under the name that the segment has for an STag.
  localparam int unsigned GrantBits = $bits(fw_grant_i.length);
  assign fw_grant_index_o = fw_grant_index_t'(header.stag);
  assign fw_granted = fw_grant_i.valid && fw_grant_i.name == header.stag &&
      fw_grant_i.node == desc_q.node && header.to >> GrantBits == '0 &&
      (GrantBits + 1)'(header.to[GrantBits-1:0]) + (GrantBits + 1)'(segment.payload) <=
          (GrantBits + 1)'(fw_grant_i.length);
  // Once judged so, it is that to its end: firmware may go away meanwhile.
  assign fw_data = step == STEP_JUDGE ?
      fw_takes && header.stag != FW_STAG && segment.payload != '0 && fw_granted : fw_data_q;
  assign fw_placing_o = !flush && fw_data && step inside {STEP_JUDGE, STEP_PLACE};
  always_ff @(posedge clk_i) begin
    if (step == STEP_IDLE) fw_data_q <= 1'b0;
    else fw_data_q <= fw_data;
  end
  assign device = for_port || for_load || (for_firmware && !fw_message && !fw_data);
  assign device_ready = write_idle_i && (port_ready_i || !for_port);
  assign port_valid_o = step == STEP_JUDGE && !flush && for_port && write_idle_i;
  assign port_good_o = (desc_q.src_qpn & ~24'(PORTS - 1)) == 24'(PORT_QPN) &&
      segment.message == MESSAGE_WRITE && segment.last && header.stag == PORT_STAG &&
      segment.payload == chunk_t'(PORT_MESSAGE_BYTES) && header.to[63:8] == '0;
  assign answer_valid_o = step == STEP_JUDGE && !flush && for_load && write_idle_i;

  logic [63:0] first_bytes;  // of the payload of a tagged segment
  always_comb begin
    for (int unsigned i = 0; i < 8; i++)
      first_bytes[8*i+:8] = desc_q.ddp[$bits(ddp_head_t)-1-8*(DDP_TAGGED_BYTES+i)-:8];
  end
  assign port_o = '{
          port: port_t'(desc_q.dst_qpn),
          node: desc_q.node,
          peer: port_t'(desc_q.src_qpn),
          to: header.to[7:0],
          data: first_bytes[31:0]
      };
  assign answer_o = '{
          qpn: qpn_q,
          token: header.to,
          length: segment.payload,
          data: first_bytes
      };

  // In the order in which they came: behind one that firmware has, the others go there too.
  logic punts, punt_waiting;
  assign punts = firmware_i && (punt_reads_i || segment.atomic || punt_count_i != '0);
  assign punt_valid_o = step == STEP_PUNT && !quiesce_i;
  always_comb begin
    punt_o = '{message: 1'b0, atomic: segment.atomic, qpn: qpn_q, generation: qp_i.cfg.generation,
               pd: qp_i.cfg.pd, msn: untagged.msn,
               payload: desc_q.ddp[PayloadTop-:8*ATOMIC_REQUEST_BYTES]};
    if (fw_message) begin
      punt_o = '0;
      punt_o.message = 1'b1;
      punt_o.qpn = qpn_t'(desc_q.node);
      punt_o.payload[$bits(punt_o.payload)-1-:8*FW_MESSAGE_BYTES] =
          desc_q.ddp[$bits(ddp_head_t)-8*DDP_TAGGED_BYTES-1-:8*FW_MESSAGE_BYTES];
    end
  end

  // ---- What to do
  logic accepted, deferred, taken, closed, paused, tells, owes, came, dropped, invalidating, refused, rnr, affected;
  logic ring_any, fetch_done, place_done, place_refused, refusal_done, put_off, told;
  cqe_status_e fetch_status, end_status;
  term_code_e code;
  responder_control u_control (
      .clk_i,
      .rst_ni,
      .begin_i((flush_valid_i || desc_valid_i) && !quiesce_i),
      .is_flush_i(flush_valid_i),
      .stale_i(desc_i.stale),
      .step_o(step),
      .next_o(next),
      .waiting_o(punt_waiting),
      .segment_i(segment),
      .mine_i(mine),
      .receiving_i(receiving),
      .introduction_i(introduction),
      .wants_answer_i(wants_answer),
      .meets_i(meets),
      .parts_i(parts),
      .told_i(qp_i.status.told && (!stream.told || stream.told_in == desc_q.session)),
      .device_i(device),
      .device_ready_i(device_ready),
      .fw_message_i(fw_message),
      .fw_data_i(fw_data),
      .unreliable_i(desc_q.unreliable),
      .late_i(late),
      .datagram_i(desc_q.datagram),
      .good_i(good),
      .code_i(judge_code),
      .open_i(stream.open),
      .too_long_i(too_long),
      .behind_i(behind),
      .punts_i(punts),
      .pull_last_i(pull_i.last),
      .flush_pull_i(flush_pull),
      .flush_message_i(flush_message),
      .flush_receive_i(flush_receive),
      .quiesce_i,
      .written_i(write_idle_i),
      .punted_i(punt_valid_o && punt_ready_i),
      .ring_any_i(ring_any),
      .fetch_done_i(fetch_done),
      .fetch_status_i(fetch_status),
      .place_done_i(place_done),
      .place_refused_i(place_refused),
      .xlate_ready_i,
      .xlate_rsp_valid_i,
      .xlate_status_i(xlate_rsp_i.status),
      .write_ready_i,
      .rx_done_ready_i,
      .refusal_done_i(refusal_done),
      .put_off_i(put_off),
      .status_ready_i,
      .wake_ready_i,
      .accepted_o(accepted),
      .deferred_o(deferred),
      .taken_o(taken),
      .closed_o(closed),
      .paused_o(paused),
      .tells_o(tells),
      .owes_o(owes),
      .came_o(came),
      .dropped_o(dropped),
      .flush_o(flush),
      .invalidating_o(invalidating),
      .refused_o(refused),
      .told_o(told),
      .rnr_o(rnr),
      .code_o(code),
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
  wqe_index_t wqe_index;
  position_t position;
  logic [$clog2(MAX_SGE)-1:0] element_index;
  sge_t element;
  receives #(
      .N_QP(N_QP)
  ) u_receives (
      .clk_i,
      .rst_ni,
      .init_done_o,
      .clear_i,
      .clear_qpn_i,
      .clear_ring_i,
      .clear_ring_id_i,
      .quiesce_i,
      .waits_o(fetch_waits),
      .quiescent_o(fetch_quiescent),
      .idle_o(fetch_idle),
      .look_i,
      .look_qpn_i,
      .message_open_o(receive_open),
      .qpn_i(qpn_q),
      .qp_i,
      .srq_i,
      .read_i(step inside {STEP_READ, STEP_STATUS_READ}),
      .stream_o(stream),
      .posted_valid_i,
      .posted_i,
      .any_o(ring_any),
      .fetch_i(step == STEP_TAKE && ring_any),
      .flush_i(flush),
      .fetch_done_o(fetch_done),
      .fetch_status_o(fetch_status),
      .wqe_index_o(wqe_index),
      .rq_we_o,
      .rq_consumer_o,
      .srq_we_o,
      .srq_consumer_o,
      .srq_limit_o,
      .srq_limit_event_o,
      .accepted_i(accepted),
      .taken_i(taken),
      .closed_i(closed),
      .paused_i(paused && same),
      .told_i(tells && same),
      .session_i(desc_q.session),
      .owes_i(owes && same),
      .owed_i(code),
      .renewed_i(peer_we_o && renews),
      .came_i(came),
      .first_i(desc_q.first),
      .number_i(desc_q.seq),
      .dropped_i(dropped),
      .segment_i(segment),
      .position_i(position),
      .element_index_i(element_index),
      .element_o(element),
      .xlate_valid_o(fetch_xlate_valid_o),
      .xlate_ready_i(fetch_xlate_ready_i),
      .xlate_o(fetch_xlate_o),
      .xlate_rsp_valid_i(fetch_xlate_rsp_valid_i),
      .xlate_rsp_i(fetch_xlate_rsp_i),
      .read_valid_o(fetch_read_valid_o),
      .read_ready_i(fetch_read_ready_i),
      .read_o(fetch_read_o),
      .beat_valid_i(fetch_beat_valid_i),
      .beat_i
  );
  assign credit_valid_o = ((taken && !desc_q.unreliable) || (paused && same)) && !qp_i.cfg.has_srq;
  assign credit_o = '{
          qpn: qpn_q,
          node: desc_q.node,
          peer: desc_q.src_qpn,
          src_generation: qp_i.cfg.generation,
          dst_generation: qp_i.peer.generation,
          messages: credit_t'(stream.messages) + credit_t'(taken),
          consumer: credit_t'(taken ? rq_consumer_o : qp_i.rq_consumer),
          lapsed: paused || desc_q.ask
      };
  assign srq_read_o = step == STEP_JUDGE;
  assign srq_read_srqn_o = qp_i.cfg.srqn;

  // ---- Payload
  /* verilator lint_off UNUSEDSIGNAL */
  atomic_response_t response;
  /* verilator lint_on UNUSEDSIGNAL */
  assign response = desc_q.ddp[PayloadTop-:$bits(atomic_response_t)];
  logic place_xlate_valid, place_write_valid;
  xlate_req_t place_xlate;
  dma_write_cmd_t place_write;
  logic [7:0] access;
  assign access =
      8'd1 << (segment.message == MESSAGE_WRITE ? ACCESS_REMOTE_WRITE : ACCESS_LOCAL_WRITE);
  segment_placer u_placer (
      .clk_i,
      .rst_ni,
      .start_i(step != STEP_PLACE && next == STEP_PLACE),
      .length_i(segment.payload),
      .src_i(desc_q.start + rx_address_t'(header.t ? DDP_TAGGED_BYTES : DDP_UNTAGGED_BYTES)),
      .inline_i(segment.atomic),
      .inline_data_i(response.value),
      .scatter_i(!header.t && !segment.atomic),
      .stag_i(segment.atomic ? pull_i.stag : fw_data ? fw_grant_i.stag : header.stag),
      .to_i(segment.atomic ? pull_i.to : fw_data ? fw_grant_i.to + header.to : header.to),
      .access_i(access),
      .pd_i(fw_data ? pd_t'(FW_PD) : qp_i.cfg.pd),
      .node_i(desc_q.node),
      .finish_i(!invalidating && !desc_q.more),
      .position_i(stream.position),
      .position_o(position),
      .element_index_o(element_index),
      .element_i(element),
      .done_o(place_done),
      .refused_o(place_refused),
      .xlate_valid_o(place_xlate_valid),
      .xlate_ready_i,
      .xlate_o(place_xlate),
      .xlate_rsp_valid_i,
      .xlate_rsp_i,
      .write_valid_o(place_write_valid),
      .write_ready_i,
      .write_o(place_write)
  );
  xlate_req_t invalidate_xlate;
  always_comb begin
    invalidate_xlate = '0;
    invalidate_xlate.invalidate = 1'b1;
    invalidate_xlate.stag = untagged.invalidate_stag;
    invalidate_xlate.pd = qp_i.cfg.pd;
    invalidate_xlate.access = 8'((1 << ACCESS_REMOTE_READ) | (1 << ACCESS_REMOTE_WRITE));
  end
  // One of them at a time.
  assign xlate_valid_o = place_xlate_valid || step == STEP_INVALIDATE;
  assign xlate_o = step == STEP_PLACE ? place_xlate : invalidate_xlate;
  assign xlate_hold_o = place_write_valid;
  assign write_valid_o = place_write_valid || step == STEP_DONE;
  always_comb begin
    write_o = place_write;
    if (step == STEP_DONE) begin
      write_o.kind = DMA_WRITE_NONE;
      write_o.frame_done = !desc_q.more;
      write_o.node = desc_q.node;
    end
  end

  // ---- Reads under way
  logic answers;
  assign answers = accepted && segment.message == MESSAGE_RESPONSE;
  // Work behind a PULL may begin as soon as that is not under way any more, and fail at once. So it is
  // until its end is about to be told: an empty answer has to wait for its place among the writes.
  logic answered, answered_q;
  assign answered = answers && segment.last;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) answered_q <= 1'b0;
    else if (step == STEP_JUDGE) answered_q <= answered;
    else if (step != STEP_DONE) answered_q <= 1'b0;
  end
  assign pull_pop_o = (answered && step != STEP_JUDGE) ||
      (answered_q && step == STEP_DONE && write_ready_i) || flush_pull;
  assign pull_set_o = answers && !segment.last;
  always_comb begin
    pull_o = pull_i;
    pull_o.to = pull_i.to + 64'(segment.payload);
    pull_o.left = pull_i.left - 32'(segment.payload);
  end
  // One that is refused ends as a read that cannot be served: its peer hears of it behind the answers to
  // those before it.
  assign refused_we_o = deferred;
  always_comb begin
    refused_o = '0;
    if (refused_we_o) begin
      refused_o = '{
          valid: 1'b1,
          code: judge_code,
          atomic: segment.atomic,
          msn: untagged.msn,
          mo: untagged.mo,
          request: desc_q.ddp[PayloadTop-:$bits(read_request_t)]
      };
    end
  end
  assign read_push_o = accepted && segment.message == MESSAGE_REQUEST && !punts;
  always_comb begin
    read_o = '0;
    if (read_push_o) begin
      read_o.request = desc_q.ddp[PayloadTop-:$bits(read_request_t)];
      read_o.msn = untagged.msn;
      read_o.answer = ANSWER_READ;
    end
  end

  // ---- What others are told
  logic refusal_waiting;
  refusal u_refusal (
      .clk_i,
      .rst_ni,
      .quiesce_i,
      .start_i(step != STEP_REFUSE && next == STEP_REFUSE),
      .desc_i(desc_q),
      .code_i(code),
      .rnr_i(rnr),
      .rnr_code_i(rnr_code_q),
      .waiting_o(refusal_waiting),
      .done_o(refusal_done),
      .put_off_o(put_off),
      .write_idle_i,
      .refuse_valid_o,
      .refuse_ready_i,
      .refuse_put_off_i,
      .refusal_o
  );

  rx_done_t ended, ended_q;
  message_end u_end (
      .qpn_i(qpn_q),
      .generation_i(qp_i.cfg.generation),
      .status_i(end_status),
      .is_pull_i(flush ? flush_pull : segment.message == MESSAGE_RESPONSE),
      .pull_i,
      .stream_i(stream),
      .wqe_index_i(step == STEP_FETCH ? wqe_index : stream.wqe_index),
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

  assign peer_we_o = !flush && introduction && (parts ? status_valid_o && status_ready_i :
      step == STEP_JUDGE && next == STEP_WAKE);
  assign peer_o = peer;

  logic pauses;  // we are asked to
  error_status u_status (
      .status_i(qp_i.status),
      .desc_i(desc_q),
      .refused_i(refused || desc_q.unreliable),
      .told_i(told || desc_q.unreliable),
      .parts_i(parts),
      .unreliable_i(qp_i.cfg.service == SERVICE_UC && !desc_q.unreliable),
      .pull_count_i,
      .rnr_o(pauses),
      .status_o
  );
  assign pause_valid_o = status_valid_o && status_ready_i && pauses;
  assign pause_code_o = desc_q.imm[4:0];

  // The queue pair may be another one by the time a message can be refused.
  generation_t generation_q;
  logic [4:0] rnr_code_q;
  logic same;
  assign same = qp_i.cfg.generation == generation_q;
  always_ff @(posedge clk_i) begin
    if (step == STEP_JUDGE) begin
      generation_q <= qp_i.cfg.generation;
      rnr_code_q   <= qp_i.cfg.rnr_timer;
    end
  end
  assign qp_read_o = step == STEP_READ || step == STEP_STATUS_READ;
  assign qp_read_qpn_o = qpn_q;
  assign status_valid_o =
      step == STEP_STATUS && affected && !rnr && !(pauses && qp_i.status.rnr);
  assign status_qpn_o = qpn_q;
  assign qp_error_o = status_valid_o && status_ready_i && receiving &&
      status_o.state == QP_STATE_ERROR;
  assign wake_valid_o = step == STEP_WAKE;
  assign wake_qpn_o = qpn_q;

  assign idle_o = step == STEP_IDLE && fetch_idle;
  assign waits_o = step inside {STEP_IDLE, STEP_FETCH} && fetch_waits;
  // A report may wait for the completer, which rests; its queue pair may go meanwhile.
  assign quiescent_o = fetch_quiescent &&
      (step == STEP_IDLE || step == STEP_REPORT || refusal_waiting || punt_waiting);

  always_comb begin
    event_o = '0;
    if (step != STEP_IDLE) begin
      event_o[COUNTER_UC_LOST] = came && gap;
      event_o[COUNTER_BAD_PKEY] = step == STEP_JUDGE && !flush && bad_pkey;
      event_o[COUNTER_BAD_QKEY] = step == STEP_JUDGE && !flush && bad_qkey;
      event_o[COUNTER_UNRELIABLE_NO_RECEIVE] = dropped && step == STEP_TAKE;
      event_o[COUNTER_UNRELIABLE_DROPPED] = dropped || (desc_q.unreliable && !flush &&
          ((step == STEP_JUDGE && !came) || (step != STEP_STATUS_READ && next == STEP_STATUS_READ)));
      event_o[COUNTER_RX_DISCARDED] = step == STEP_JUDGE && !flush && !desc_q.unreliable &&
          (behind || (mine && !receiving && !introduction && segment.message != MESSAGE_TERMINATE));
      event_o[COUNTER_RNR_NAK_TX] = refusal_done && rnr && !put_off;
      event_o[COUNTER_REFUSALS_PUT_OFF] = put_off;
      event_o[COUNTER_RNR_NAK_RX] = step == STEP_JUDGE && !flush && receiving && pauses &&
          segment.message == MESSAGE_TERMINATE;
      event_o[COUNTER_TERMINATES_RX] = step == STEP_JUDGE && !flush && receiving && !desc_q.unreliable &&
          segment.message == MESSAGE_TERMINATE;
      event_o[COUNTER_SEGMENTS_PLACED] = accepted && segment.message != MESSAGE_REQUEST;
      event_o[COUNTER_FW_DROPPED] =
          (step == STEP_JUDGE && !flush && next != STEP_JUDGE && for_firmware && device) ||
          (step == STEP_PLACE && place_refused && fw_data);
      event_o[COUNTER_RECVS] = accepted && segment.last &&
          segment.message inside {MESSAGE_SEND, MESSAGE_IMMEDIATE};
    end
  end

  // ---- What is promised
  `EXRNIC_HELD(refuse_is_held, refuse_valid_o, refuse_ready_i, 1'b0)
  `EXRNIC_HELD(status_is_held, status_valid_o, status_ready_i, {status_qpn_o, status_o})
  `EXRNIC_HELD(wake_is_held, wake_valid_o, wake_ready_i, wake_qpn_o)
  `EXRNIC_HELD(rx_done_is_held, rx_done_valid_o, rx_done_ready_i, rx_done_o)
  `EXRNIC_HELD(xlate_is_held, xlate_valid_o, xlate_ready_i, {xlate_o, xlate_hold_o})
  `EXRNIC_HELD(fetch_xlate_is_held, fetch_xlate_valid_o, fetch_xlate_ready_i, fetch_xlate_o)
  `EXRNIC_HELD(fetch_read_is_held, fetch_read_valid_o, fetch_read_ready_i, fetch_read_o)
  `EXRNIC_HELD(write_is_held, write_valid_o, write_ready_i, write_o)
  `EXRNIC_HELD(port_is_held, port_valid_o, port_ready_i, {port_good_o, port_o})

endmodule
