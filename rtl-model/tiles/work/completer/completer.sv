// SPDX-License-Identifier: BSD-2-Clause
// Writes completions. It learns from the EFE, in order per peer, how each submitted slot ended, and
// from the responder which messages and PULLs have ended. It gives the work request its status,
// writes the CQE with its phase bit, and fires the vector of an armed queue behind it. It owns the
// completion queues.

`include "exrnic_assert.svh"

module completer
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    output logic init_done_o,
    input  logic quiesce_i,    // begin nothing that touches a table or host memory
    output logic quiescent_o,
    output logic settled_o,  // at most a doorbell is in hand: with quiesce_i host memory is left alone
    output logic idle_o,       // quiescent, and no queue will fire by itself
    input  logic [63:0] time_i,

    input  logic     done_valid_i,
    output logic     done_ready_o,
    /* verilator lint_off UNUSEDSIGNAL */  // whose it was is in the tag
    input  tx_done_t done_i,
    /* verilator lint_on UNUSEDSIGNAL */

    input  logic     rx_done_valid_i,
    output logic     rx_done_ready_o,
    input  rx_done_t rx_done_i,

    stream_if.sink bell,         // doorbells of completion queues
    output logic   bell_busy_o,  // one that was taken has not had its effect yet

    table_read_if.client          qp,
    completer_queues_if.completer queues,  // of qp.index
    stream_if.source              wake,
    output logic                  qp_error_o,  // pulse: a queue pair went to ERROR,
    output qp_cause_e             qp_cause_o,  // for this reason
    output logic                  cq_error_o,  // pulse: a completion was lost
    output cqn_t                  cq_error_cqn_o,
    output logic                  last_wqe_o,  // pulse: of queue pair queues.status_qpn
    output logic                  sq_drained_o,  // likewise
    output logic                  completion_o,  // pulse: queue cq_error_cqn_o has fired,
    output eqn_t                  completion_eqn_o,  // which this event queue hears
    command_if.engines            command,

    xlate_if.client  xlate,
    stream_if.source write,

    output event_t event_o
);

  assign xlate.hold = 1'b0;  // it translates rings only

  typedef enum logic [3:0] {
    StIdle, StQpRead, StJudge, StStatus, StWake, StCqRead, StBell, StTimer, StCq, StXlate,
    StXlateWait, StWrite, StFire
  } state_e;
  state_e state_q, state_d;

  // ---- What is in hand: a doorbell, a queue whose time is over, or something that has ended
  typedef enum logic [1:0] {JobBell, JobTimer, JobEnd} job_e;
  job_e job_q;
  cqn_t cqn_q;
  /* verilator lint_off UNUSEDSIGNAL */  // the low bits of its number are the table index
  cq_doorbell_t bell_q;
  /* verilator lint_on UNUSEDSIGNAL */

  typedef struct packed {
    logic        silent;    // none of these: nothing was heard of the queue pair's work
    logic        received;  // a message or a PULL, from the responder; else a slot, from the EFE
    tx_kind_e    kind;
    logic [31:0] seq;
    rx_done_t    work;
  } ended_t;
  ended_t ended_q, slot_ended, message_ended, silent;
  always_comb begin
    slot_ended = '0;
    slot_ended.kind = done_i.tag.kind;
    slot_ended.seq = done_i.seq;
    slot_ended.work.qpn = done_i.tag.qpn;
    slot_ended.work.generation = done_i.tag.generation;
    slot_ended.work.wqe_index = done_i.tag.wqe_index;
    slot_ended.work.byte_length = done_i.tag.byte_length;
    slot_ended.work.signaled = done_i.tag.signaled;
    slot_ended.work.opcode = done_i.tag.opcode;
    slot_ended.work.status = done_i.status;
    message_ended = '0;
    message_ended.received = 1'b1;
    message_ended.work = rx_done_i;
    silent = '0;
    silent.silent = 1'b1;
    silent.received = 1'b1;
    silent.work.qpn = queues.silent_qpn;
    silent.work.opcode = WQE_OPCODE_RECV;
  end

  // Doorbells go first: they make room. But an end waits behind one of them at most: a process that
  // rings all the time holds nobody up. They are taken while the core comes to rest, and while an end
  // waits for the place of its CQE: completions of reads may stand behind them on the bus. EFE and
  // responder take turns if both have something, but the end of a PULL goes before those of work that
  // may have begun behind it.
  logic ready, rests, timer_valid, begins, rx_turn_q, rx_first, end_turn_q, end_first;
  logic asked_q, came_q, placed;  // the place of a CQE was asked for, and is known; or is now
  cqn_t timer_cqn;
  assign rests = state_q == StIdle && init_done_o;
  assign ready = rests && !quiesce_i;
  assign rx_first = rx_done_valid_i &&
      (rx_turn_q || !done_valid_i || rx_done_i.opcode != WQE_OPCODE_RECV);
  assign end_first = end_turn_q && ready && (rx_done_valid_i || done_valid_i);
  assign begins = ready && (end_first || (!bell.valid && !timer_valid));
  assign placed = xlate.rsp_valid || came_q;
  assign bell.ready = (rests && !end_first) || (state_q == StXlateWait && !placed);
  assign rx_done_ready_o = begins && rx_first;
  assign done_ready_o = begins && !rx_first;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) end_turn_q <= 1'b0;
    else if (ready) end_turn_q <= !end_first && (bell.valid || timer_valid);
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) rx_turn_q <= 1'b0;
    else if (begins && (rx_done_valid_i || done_valid_i)) rx_turn_q <= !rx_first;
  end

  // Of whom nothing was heard waits until no end does: it may be a word. It is withdrawn when there is one.
  logic silent_first, still_silent;
  assign still_silent = queues.silent_valid && queues.silent_qpn == ended_q.work.qpn;
  assign silent_first = queues.silent_valid && !done_valid_i && !rx_done_valid_i;
  assign queues.silent_ready = state_q == StJudge && ended_q.silent;

  // ---- What an end means
  logic lost_q;  // its completion could not be written
  logic ends, well, past, heard, withdraws, wants_cqe, known, drained, changes, fails, catches_up;
  /* verilator lint_off UNUSEDSIGNAL */  // one property counts
  wqe_opcode_properties_t op;
  /* verilator lint_on UNUSEDSIGNAL */
  assign op = of_wqe_opcode(ended_q.work.opcode);
  cqe_status_e cqe_status;
  logic [15:0] detail;
  completion_status u_status (
      .received_i(ended_q.received),
      .note_i(ended_q.work.emptied || ended_q.work.drained || ended_q.silent),
      .kind_i(ended_q.kind),
      .generation_i(ended_q.work.generation),
      .signaled_i(ended_q.work.signaled),
      .opcode_i(ended_q.work.opcode),
      .status_i(ended_q.work.status),
      .seq_i(ended_q.seq),
      .lost_i(lost_q),
      .silent_i(ended_q.silent && (state_q != StJudge || still_silent)),
      .qp_i(qp.row),
      .ends_o(ends),
      .well_o(well),
      .past_o(past),
      .heard_o(heard),
      .withdraws_o(withdraws),
      .wants_cqe_o(wants_cqe),
      .known_o(known),
      .status_o(cqe_status),
      .detail_o(detail),
      .changes_o(changes),
      .fails_o(fails),
      .cause_o(qp_cause_o),
      .qp_status_o(queues.status)
  );
  // All completions of a send queue that has drained are written.
  assign drained = known && ended_q.work.drained && is_draining(qp.row);
  // All that was issued has ended: work that waits for that can go on, and a send queue may be drained. The end
  // of a slot may come before the requester has counted it.
  always_comb begin
    queues.ended = qp.row.ended;
    if (ends) queues.ended.count = qp.row.ended.count + 16'd1;
    if (past) queues.ended.slots = ended_q.work.wqe_index + 1'b1;
    if (withdraws) queues.ended.withdrawn = 1'b1;
    if (drained) queues.ended.drained = qp.row.status.drains;
    if (well && !ended_q.received && op.receive) queues.ended.msn = qp.row.ended.msn + 32'd1;
  end
  assign catches_up = ends && caught_up &&
      (qp.row.sq.consumer != qp.row.sq_producer || qp.row.status.rnr || is_draining(qp.row));

  // Behind a message that found no receive nothing is under way when all has ended; in ERROR nothing is
  // awaited, though a segment may have left since.
  logic caught_up, in_error;
  assign caught_up = $signed(queues.ended.count - qp.row.sq.issued) >= 0;
  assign in_error = known && qp.row.status.state == QP_STATE_ERROR;
  assign queues.heard = state_q == StJudge && (heard || in_error);
  assign queues.heard_none = caught_up && (qp.row.sq.progress == '0 || qp.row.status.rnr);
  assign queues.heard_error = in_error;

  // ---- The completion queue in hand
  cq_config_t cq;
  logic [31:0] cq_producer, cq_consumer, entries, unread, told, pending;
  cqn_t init_cqn;
  logic look, written, bell_owned, rings, rings_at_once, fires_now, full, fires, running;
  assign entries = 32'd1 << cq.log_entries;
  // An index that lies behind the one before it, as of a thread that was slower, takes back nothing.
  logic moves;
  assign unread = cq_producer - cq_consumer;
  assign told = cq_producer - bell_q.consumer;
  assign moves = told < unread;
  assign pending = job_q == JobBell && moves ? told : unread;
  assign bell_owned = cq.valid && cq.page == bell_q.page && told <= entries;
  assign rings = state_q == StBell && bell_owned;
  assign rings_at_once = bell_owned && bell_q.arm && pending != '0;
  // While the core comes to rest nothing is written: it is due behind that.
  assign fires_now = rings_at_once && !quiesce_i;
  assign full = pending == entries;
  // In the cycle of the judgement the queue of the end is read, if it is wanted.
  cqn_t cqn;
  assign cqn = state_q == StJudge ? end_cqn : cqn_q;
  assign look = state_q inside {StCqRead, StJudge};
  assign written = state_q == StWrite && write.ready;

  cq_table u_cqs (
      .clk_i,
      .rst_ni,
      .init_done_o,
      .init_cqn_o(init_cqn),
      .config_look_i(command.cq_look),
      .config_we_i(command.cq_we),
      .config_cqn_i(command.cqn),
      .config_clear_i(command.cq_clear),
      .config_i(command.cq_config),
      .config_o(command.cq_now),
      .config_producer_o(command.cq_producer),
      .config_unread_o(command.cq_unread),
      .look_i(look),
      .cqn_i(cqn),
      .cq_o(cq),
      .producer_o(cq_producer),
      .consumer_o(cq_consumer),
      .producer_we_i(written),
      .consumer_we_i(rings && moves),
      .consumer_i(bell_q.consumer)
  );

  cq_moderation u_moderation (
      .clk_i,
      .rst_ni,
      .time_i,
      .init_i(!init_done_o),
      .clear_i(!init_done_o || (command.cq_we && command.cq_clear)),
      .clear_cqn_i(init_done_o ? command.cqn : init_cqn),
      .look_i(look),
      .cqn_i(cqn),
      .limit_count_i(cq.moderation_count),
      .limit_ns_i(cq.moderation_ns),
      .set_i((rings && bell_q.arm) || state_q == StTimer),
      .set_armed_i(job_q == JobBell && !fires_now),
      .set_due_i(job_q == JobBell && rings_at_once),
      .set_solicited_i(bell_q.solicited),
      .complete_i(written),
      .solicited_i(ended_q.work.flags[CQE_FLAGS_SOLICITED] || cqe_status != CQE_STATUS_SUCCESS),
      .fires_o(fires),
      .timer_valid_o(timer_valid),
      .timer_cqn_o(timer_cqn),
      .running_o(running)
  );

  // ---- Steps
  // Nobody waits for it.
  logic means_nothing;
  assign means_nothing =
      done_i.tag.kind inside {TX_KIND_FIRMWARE, TX_KIND_INTRODUCTION} ||
      (done_i.tag.kind == TX_KIND_TERMINATE && done_i.status == CQE_STATUS_SUCCESS);

  // The row of its queue pair is read when an end is taken.
  ended_t next_end;
  logic takes_end;
  assign next_end = rx_first ? message_ended : done_valid_i ? slot_ended : silent;
  assign takes_end = begins && (rx_first || (done_valid_i && !means_nothing) || silent_first);

  logic unreadable, unreadable_q, resumes;
  assign unreadable = came_q ? unreadable_q : xlate.rsp.status != XLATE_OK;
  assign cq_error_o = (state_q == StCq && !asked_q && (!cq.valid || full)) ||
      (state_q == StXlateWait && placed && unreadable);
  assign resumes = asked_q && job_q == JobBell;  // an end that a doorbell came between

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle:
      if (bell.valid && bell.ready) state_d = bell.data.cqn < 32'(N_CQ) ? StCqRead : StIdle;
      else if (!ready) state_d = StIdle;
      else if (timer_valid && !end_first) state_d = StCqRead;
      else if (takes_end) state_d = StJudge;
      StQpRead: state_d = StJudge;
      StJudge:
      if (changes) state_d = StStatus;
      else if (catches_up || drained) state_d = StWake;
      else state_d = wants_cqe ? StCq : StIdle;
      StStatus: if (queues.status_ready) state_d = StWake;
      StWake: if (wake.ready) state_d = wants_cqe ? StCqRead : StIdle;
      StCqRead:
      unique case (job_q)
        JobBell: state_d = StBell;
        JobTimer: state_d = StTimer;
        default: state_d = StCq;
      endcase
      StBell: state_d = fires_now ? StFire : resumes ? StCqRead : StIdle;
      StTimer: state_d = StFire;
      StCq:
      if (asked_q) state_d = StXlateWait;
      else if (cq_error_o) state_d = StQpRead;
      else state_d = xlate.ready ? StXlateWait : StXlate;
      StXlate: if (xlate.ready) state_d = StXlateWait;
      StXlateWait:
      if (placed) state_d = unreadable ? StQpRead : StWrite;
      else if (bell.valid && bell.data.cqn < 32'(N_CQ)) state_d = StCqRead;
      StWrite: if (write.ready) state_d = fires ? StFire : StIdle;
      StFire: if (write.ready || cq.has_eq) state_d = resumes ? StCqRead : StIdle;
      default: state_d = StIdle;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      asked_q <= 1'b0;
      came_q  <= 1'b0;
    end else begin
      asked_q <= (xlate.valid && xlate.ready) ||
          (asked_q && !(state_q == StXlateWait && placed));
      came_q <= asked_q && placed && state_q != StXlateWait;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= StIdle;
    else state_q <= state_d;
  end

  logic [63:0] address_q;
  cqn_t end_cqn;
  assign end_cqn = ended_q.received && ended_q.work.opcode == WQE_OPCODE_RECV ? qp.row.cfg.recv_cqn
                                                                              : qp.row.cfg.send_cqn;
  always_ff @(posedge clk_i) begin
    unique case (state_q)
      StIdle: begin
        bell_q  <= bell.data;
        ended_q <= next_end;
        lost_q  <= 1'b0;
        job_q   <= end_first ? JobEnd : bell.valid ? JobBell : timer_valid ? JobTimer : JobEnd;
        cqn_q   <= bell.valid ? cqn_t'(bell.data.cqn) : timer_cqn;
      end
      // Where it comes from decides: software may write any opcode into its send queue.
      StJudge: cqn_q <= end_cqn;
      StXlateWait:
      if (!placed && bell.valid) begin
        bell_q <= bell.data;
        if (bell.data.cqn < 32'(N_CQ)) begin
          job_q <= JobBell;
          cqn_q <= cqn_t'(bell.data.cqn);
        end
      end
      StBell, StFire:
      if (resumes && state_d == StCqRead) begin
        job_q <= JobEnd;
        cqn_q <= end_cqn;
      end
      default: ;
    endcase
    if (xlate.rsp_valid) begin
      address_q    <= xlate.rsp.address;
      unreadable_q <= xlate.rsp.status != XLATE_OK;
    end
    if (cq_error_o) lost_q <= 1'b1;
  end

  // ---- Outputs
  assign quiescent_o = state_q == StIdle;
  assign settled_o = quiescent_o || (job_q == JobBell && !asked_q && state_q != StFire);
  assign cq_error_cqn_o = cqn_q;
  assign last_wqe_o = state_q == StJudge && known && ended_q.work.emptied;
  assign sq_drained_o = state_q == StJudge && drained;
  assign completion_o = state_q == StFire && cq.has_eq;
  assign completion_eqn_o = cq.eqn;
  assign idle_o = quiescent_o && !running;
  assign bell_busy_o = job_q == JobBell && state_q != StIdle;

  assign qp.read = state_q == StQpRead || takes_end;
  assign qp.index = state_q == StIdle ? next_end.work.qpn : ended_q.work.qpn;
  assign queues.ended_we = state_q == StJudge && (ends || past || drained || withdraws);
  assign queues.status_valid = state_q == StStatus;
  assign queues.status_qpn = ended_q.work.qpn;
  assign qp_error_o = queues.status_valid && queues.status_ready && fails;
  assign wake.valid = state_q == StWake;
  assign wake.data = ended_q.work.qpn;

  logic [31:0] slot;
  assign slot = cq_producer & (entries - 32'd1);
  assign xlate.valid = state_q == StXlate || (state_q == StCq && !asked_q && !cq_error_o);
  assign xlate.req = '{
          invalidate: 1'b0,
          registers: 1'b0,
          binds: 1'b0,
          ring: 1'b1,
          pbl_address: cq.pbl,
          stag: '0,
          region: '0,
          qpn: '0,
          generation: '0,
          pd: '0,
          access: '0,
          to: 64'(slot) << $clog2(CQE_BYTES),
          length: 32'(CQE_BYTES),
          size: '0,
          huge_pages: 1'b0
      };

  assign write.valid = state_q == StWrite || (state_q == StFire && !cq.has_eq);
  cqe_t cqe;
  always_comb begin
    cqe = '0;
    write.data = '0;
    if (state_q == StWrite) begin
      cqe.timestamp = time_i;
      cqe.wqe_index = ended_q.work.wqe_index;
      cqe.group = ended_q.work.group;
      cqe.byte_length = ended_q.work.byte_length;
      cqe.imm_data = ended_q.work.imm_data;
      cqe.qpn = 32'(ended_q.work.qpn);
      cqe.detail = 32'(detail) | ended_q.work.sender;
      cqe.opcode = ended_q.work.opcode;
      cqe.status = cqe_status;
      cqe.flags = ended_q.work.flags;
      cqe.phase = 8'(!cq_producer[cq.log_entries]);  // 1 in the first round, 0 in the next
      write.data.kind = DMA_WRITE_INLINE;
      write.data.address = address_q;
      write.data.length = chunk_t'(CQE_BYTES);
      write.data.data = cqe;
    end else if (state_q == StFire) begin
      write.data.kind = DMA_WRITE_MSIX;
      write.data.address = 64'(cq.msix_vector);
    end
  end

  always_comb begin
    event_o = '0;
    event_o[COUNTER_CQES] = written;
    event_o[COUNTER_QP_TIMEOUTS] = state_q == StJudge && withdraws;
    event_o[COUNTER_CQ_OVERRUNS] = cq_error_o;
    event_o[COUNTER_DOORBELLS] = rings;
    event_o[COUNTER_DOORBELLS_REFUSED] = (state_q == StBell && !bell_owned) ||
        (bell.valid && bell.ready && bell.data.cqn >= 32'(N_CQ));
  end

  // ---- What is promised
  `EXRNIC_HELD(status_is_held, queues.status_valid, queues.status_ready, {queues.status_qpn, queues.status})
  `EXRNIC_HELD(wake_is_held, wake.valid, wake.ready, wake.data)
  `EXRNIC_HELD(xlate_is_held, xlate.valid, xlate.ready, xlate.req)
  // A completion has the time at which it is taken.
  `EXRNIC_HELD(write_is_held, write.valid, write.ready,
      {write.data.kind, write.data.address, write.data.data[255:64]})
  `EXRNIC_ALWAYS(one_at_a_time,
      $onehot0({done_valid_i && done_ready_o, rx_done_valid_i && rx_done_ready_o, bell.valid && bell.ready}))
  `EXRNIC_ALWAYS(one_output, $onehot0({queues.status_valid, wake.valid, xlate.valid, write.valid}))
  `EXRNIC_ALWAYS(has_room, state_q != StWrite || pending < entries)

endmodule
