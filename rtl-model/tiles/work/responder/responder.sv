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
    output logic                  qp_error_o,         // pulse: a queue pair went to ERROR
    output logic                  srq_limit_event_o,  // pulse

    // Requests of the peer for firmware.
    firmware_path_if.engines firmware,
    input logic              punt_reads_i,  // it gets all, else only atomics and what is behind those

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

  assign fetch_xlate.hold = 1'b0;  // it translates rings only

  // ---- What is in hand
  step_e step, next;
  rx_desc_t desc_q;
  qpn_t qpn_q;
  logic takes;
  assign takes = step == STEP_IDLE && !quiesce_i;
  assign flush_ready_o = takes;
  assign desc.ready = takes && !flush_valid_i;
  always_ff @(posedge clk_i) begin
    if (step == STEP_IDLE) begin
      desc_q <= desc.data;
      qpn_q  <= flush_valid_i ? flush_qpn_i : desc.data.dst_qpn[$bits(qpn_t)-1:0];
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
      .qp_i(qp.row),
      .stream_i(stream),
      .pull_i(queues.pull_head),
      .pull_count_i(queues.pull_count),
      .read_count_i(queues.read_count),
      .firmware_i(firmware.active),
      .lost_i(!firmware.active && queues.punt_count != '0),
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
  assign fw_takes = for_firmware && firmware.active && desc_q.src_qpn == 24'(FW_QPN) &&
      segment.message == MESSAGE_WRITE;
  assign fw_message = fw_takes && header.stag == FW_STAG && segment.last &&
      segment.payload == chunk_t'(FW_MESSAGE_BYTES);
  // Bytes go where firmware has granted that node, under the name that the segment has for an STag.
  fw_grant_t grant;
  assign grant = firmware.grant;
  localparam int unsigned GrantBits = $bits(grant.length);
  assign firmware.grant_index = fw_grant_index_t'(header.stag);
  assign fw_granted = grant.valid && grant.name == header.stag &&
      grant.node == desc_q.node && header.to >> GrantBits == '0 &&
      (GrantBits + 1)'(header.to[GrantBits-1:0]) + (GrantBits + 1)'(segment.payload) <=
          (GrantBits + 1)'(grant.length);
  // Once judged so, it is that to its end: firmware may go away meanwhile.
  assign fw_data = step == STEP_JUDGE ?
      fw_takes && header.stag != FW_STAG && segment.payload != '0 && fw_granted : fw_data_q;
  assign firmware.placing = !flush && fw_data && step inside {STEP_JUDGE, STEP_PLACE};
  always_ff @(posedge clk_i) begin
    if (step == STEP_IDLE) fw_data_q <= 1'b0;
    else fw_data_q <= fw_data;
  end
  assign device = for_port || for_load || (for_firmware && !fw_message && !fw_data);
  assign device_ready = write_idle_i && (port.ready || !for_port);
  assign port.valid = step == STEP_JUDGE && !flush && for_port && write_idle_i;
  assign port.good = (desc_q.src_qpn & ~24'(PORTS - 1)) == 24'(PORT_QPN) &&
      segment.message == MESSAGE_WRITE && segment.last && header.stag == PORT_STAG &&
      segment.payload == chunk_t'(PORT_MESSAGE_BYTES) && header.to[63:8] == '0;
  assign answer_valid_o = step == STEP_JUDGE && !flush && for_load && write_idle_i;

  logic [63:0] first_bytes;  // of the payload of a tagged segment
  always_comb begin
    for (int unsigned i = 0; i < 8; i++)
      first_bytes[8*i+:8] = desc_q.ddp[$bits(ddp_head_t)-1-8*(DDP_TAGGED_BYTES+i)-:8];
  end
  assign port.message = '{
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
  assign punts = firmware.active && (punt_reads_i || segment.atomic || queues.punt_count != '0);
  assign firmware.punt_valid = step == STEP_PUNT && !quiesce_i;
  always_comb begin
    firmware.punt = '{message: 1'b0, atomic: segment.atomic, qpn: qpn_q, generation: qp.row.cfg.generation,
               pd: qp.row.cfg.pd, msn: untagged.msn,
               payload: desc_q.ddp[PayloadTop-:8*ATOMIC_REQUEST_BYTES]};
    if (fw_message) begin
      firmware.punt = '0;
      firmware.punt.message = 1'b1;
      firmware.punt.qpn = qpn_t'(desc_q.node);
      firmware.punt.payload[$bits(firmware.punt.payload)-1-:8*FW_MESSAGE_BYTES] =
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
      .begin_i((flush_valid_i || desc.valid) && !quiesce_i),
      .is_flush_i(flush_valid_i),
      .stale_i(desc.data.stale),
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
      .told_i(qp.row.status.told && (!stream.told || stream.told_in == desc_q.session)),
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
      .pull_last_i(queues.pull_head.last),
      .flush_pull_i(flush_pull),
      .flush_message_i(flush_message),
      .flush_receive_i(flush_receive),
      .quiesce_i,
      .written_i(write_idle_i),
      .punted_i(firmware.punt_valid && firmware.punt_ready),
      .ring_any_i(ring_any),
      .fetch_done_i(fetch_done),
      .fetch_status_i(fetch_status),
      .place_done_i(place_done),
      .place_refused_i(place_refused),
      .xlate_ready_i(xlate.ready),
      .xlate_rsp_valid_i(xlate.rsp_valid),
      .xlate_status_i(xlate.rsp.status),
      .write_ready_i(write.ready),
      .rx_done_ready_i,
      .refusal_done_i(refusal_done),
      .put_off_i(put_off),
      .status_ready_i(queues.status_ready),
      .wake_ready_i(wake.ready),
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
      .qp_i(qp.row),
      .srq_i(srq.row),
      .read_i(step inside {STEP_READ, STEP_STATUS_READ}),
      .stream_o(stream),
      .posted_valid_i(queues.posted_valid),
      .posted_i(queues.posted),
      .any_o(ring_any),
      .fetch_i(step == STEP_TAKE && ring_any),
      .flush_i(flush),
      .fetch_done_o(fetch_done),
      .fetch_status_o(fetch_status),
      .wqe_index_o(wqe_index),
      .rq_we_o(queues.rq_we),
      .rq_consumer_o(queues.rq_consumer),
      .srq_we_o(queues.srq_we),
      .srq_consumer_o(queues.srq_consumer),
      .srq_limit_o(queues.srq_limit),
      .srq_limit_event_o,
      .accepted_i(accepted),
      .taken_i(taken),
      .closed_i(closed),
      .paused_i(paused && same),
      .told_i(tells && same),
      .session_i(desc_q.session),
      .owes_i(owes && same),
      .owed_i(code),
      .renewed_i(queues.peer_we && renews),
      .came_i(came),
      .first_i(desc_q.first),
      .number_i(desc_q.seq),
      .dropped_i(dropped),
      .segment_i(segment),
      .position_i(position),
      .element_index_i(element_index),
      .element_o(element),
      .xlate_valid_o(fetch_xlate.valid),
      .xlate_ready_i(fetch_xlate.ready),
      .xlate_o(fetch_xlate.req),
      .xlate_rsp_valid_i(fetch_xlate.rsp_valid),
      .xlate_rsp_i(fetch_xlate.rsp),
      .read_valid_o(fetch_read.valid),
      .read_ready_i(fetch_read.ready),
      .read_o(fetch_read.req),
      .beat_valid_i(fetch_read.beat_valid),
      .beat_i(fetch_read.beat)
  );
  assign queues.taken = ((taken && !desc_q.unreliable) || (paused && same)) && !qp.row.cfg.has_srq;
  assign queues.taken_what = '{
          qpn: qpn_q,
          node: desc_q.node,
          peer: desc_q.src_qpn,
          src_generation: qp.row.cfg.generation,
          dst_generation: qp.row.peer.generation,
          messages: credit_t'(stream.messages) + credit_t'(taken),
          consumer: credit_t'(taken ? queues.rq_consumer : qp.row.rq_consumer),
          lapsed: paused || desc_q.ask
      };
  assign srq.read = step == STEP_JUDGE;
  assign srq.index = qp.row.cfg.srqn;

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
      .stag_i(segment.atomic ? queues.pull_head.stag : fw_data ? grant.stag : header.stag),
      .to_i(segment.atomic ? queues.pull_head.to : fw_data ? grant.to + header.to : header.to),
      .access_i(access),
      .pd_i(fw_data ? pd_t'(FW_PD) : qp.row.cfg.pd),
      .node_i(desc_q.node),
      .finish_i(!invalidating && !desc_q.more),
      .position_i(stream.position),
      .position_o(position),
      .element_index_o(element_index),
      .element_i(element),
      .done_o(place_done),
      .refused_o(place_refused),
      .xlate_valid_o(place_xlate_valid),
      .xlate_ready_i(xlate.ready),
      .xlate_o(place_xlate),
      .xlate_rsp_valid_i(xlate.rsp_valid),
      .xlate_rsp_i(xlate.rsp),
      .write_valid_o(place_write_valid),
      .write_ready_i(write.ready),
      .write_o(place_write)
  );
  xlate_req_t invalidate_xlate;
  always_comb begin
    invalidate_xlate = '0;
    invalidate_xlate.invalidate = 1'b1;
    invalidate_xlate.stag = untagged.invalidate_stag;
    invalidate_xlate.pd = qp.row.cfg.pd;
    invalidate_xlate.access = 8'((1 << ACCESS_REMOTE_READ) | (1 << ACCESS_REMOTE_WRITE));
  end
  // One of them at a time.
  assign xlate.valid = place_xlate_valid || step == STEP_INVALIDATE;
  assign xlate.req = step == STEP_PLACE ? place_xlate : invalidate_xlate;
  assign xlate.hold = place_write_valid;
  assign write.valid = place_write_valid || step == STEP_DONE;
  always_comb begin
    write.data = place_write;
    if (step == STEP_DONE) begin
      write.data.kind = DMA_WRITE_NONE;
      write.data.frame_done = !desc_q.more;
      write.data.node = desc_q.node;
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
  assign queues.pull_pop = (answered && step != STEP_JUDGE) ||
      (answered_q && step == STEP_DONE && write.ready) || flush_pull;
  assign queues.pull_set = answers && !segment.last;
  always_comb begin
    queues.pull_rest = queues.pull_head;
    queues.pull_rest.to = queues.pull_head.to + 64'(segment.payload);
    queues.pull_rest.left = queues.pull_head.left - 32'(segment.payload);
  end
  // One that is refused ends as a read that cannot be served: its peer hears of it behind the answers to
  // those before it.
  assign queues.refused_we = deferred;
  always_comb begin
    queues.refused = '0;
    if (queues.refused_we) begin
      queues.refused = '{
          valid: 1'b1,
          code: judge_code,
          atomic: segment.atomic,
          msn: untagged.msn,
          mo: untagged.mo,
          request: desc_q.ddp[PayloadTop-:$bits(read_request_t)]
      };
    end
  end
  assign queues.read_push = accepted && segment.message == MESSAGE_REQUEST && !punts;
  always_comb begin
    queues.read_new = '0;
    if (queues.read_push) begin
      queues.read_new.request = desc_q.ddp[PayloadTop-:$bits(read_request_t)];
      queues.read_new.msn = untagged.msn;
      queues.read_new.answer = ANSWER_READ;
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
      .is_pull_i(flush ? flush_pull : segment.message == MESSAGE_RESPONSE),
      .pull_i(queues.pull_head),
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

  assign queues.peer_we = !flush && introduction && (parts ? queues.status_valid && queues.status_ready :
      step == STEP_JUDGE && next == STEP_WAKE);
  assign queues.peer = peer;

  logic pauses;  // we are asked to
  error_status u_status (
      .status_i(qp.row.status),
      .desc_i(desc_q),
      .refused_i(refused || desc_q.unreliable),
      .told_i(told || desc_q.unreliable),
      .parts_i(parts),
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
  assign qp.read = step == STEP_READ || step == STEP_STATUS_READ;
  assign qp.index = qpn_q;
  assign queues.status_valid =
      step == STEP_STATUS && affected && !rnr && !(pauses && qp.row.status.rnr);
  assign queues.status_qpn = qpn_q;
  assign qp_error_o = queues.status_valid && queues.status_ready && receiving &&
      queues.status.state == QP_STATE_ERROR;
  assign wake.valid = step == STEP_WAKE;
  assign wake.data = qpn_q;

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
  `EXRNIC_HELD(refuse_is_held, refusal.valid, refusal.ready, 1'b0)
  `EXRNIC_HELD(status_is_held, queues.status_valid, queues.status_ready, {queues.status_qpn, queues.status})
  `EXRNIC_HELD(wake_is_held, wake.valid, wake.ready, wake.data)
  `EXRNIC_HELD(rx_done_is_held, rx_done_valid_o, rx_done_ready_i, rx_done_o)
  `EXRNIC_HELD(xlate_is_held, xlate.valid, xlate.ready, {xlate.req, xlate.hold})
  `EXRNIC_HELD(fetch_xlate_is_held, fetch_xlate.valid, fetch_xlate.ready, fetch_xlate.req)
  `EXRNIC_HELD(fetch_read_is_held, fetch_read.valid, fetch_read.ready, fetch_read.req)
  `EXRNIC_HELD(write_is_held, write.valid, write.ready, write.data)
  `EXRNIC_HELD(port_is_held, port.valid, port.ready, {port.good, port.message})

endmodule
