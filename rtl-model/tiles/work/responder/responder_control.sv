// SPDX-License-Identifier: BSD-2-Clause
// The steps of a segment or a flush job, one after the other.

module responder_control
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
(
    input  logic  clk_i,
    input  logic  rst_ni,
    input  logic  begin_i,    // there is a segment or a flush job,
    output logic  frees_o,    // which begins in the next cycle: the one in hand ends in this one
    input  logic  is_flush_i,
    input  logic  stale_i,    // a segment that is forgotten: nobody looks at it
    output step_e step_o,
    output step_e next_o,
    output logic  waiting_o,  // for room in the punt queue, while the core is to rest

    // The segment, or what a flush job has to do.
    /* verilator lint_off UNUSEDSIGNAL */  // parts of the records count
    input segment_t  segment_i,
    input verdict_t  verdict_i,
    input for_core_t for_core_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input flush_t    flush_i,
    input logic      unreliable_i,  // of that class: it is never answered
    input logic      datagram_i,    // anyone may have sent it: it is not for a receive to fail
    input logic      open_i,        // a receive is
    input logic      pull_last_i,   // of the PULL whose head it, or the flush job, ends
    input logic      same_i,        // the queue pair is the one that was judged

    // How the steps end.
    input logic          quiesce_i,
    input logic          written_i,  // all writes that were asked for are done
    input logic          ring_any_i,
    /* verilator lint_off UNUSEDSIGNAL */
    input fetched_t      fetched_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input placed_t       placed_i,
    input logic          xlate_ready_i,
    input logic          xlate_rsp_valid_i,
    input xlate_status_e xlate_status_i,
    input logic          write_ready_i,
    input logic          rx_done_ready_i,
    input logic          refusal_done_i,
    input logic          put_off_i,   // with that: the segment comes again
    input logic          status_ready_i,
    input logic          wake_ready_i,

    output stream_change_t change_o,
    output logic           deferred_o,      // pulse: it is a request, and refused behind those before it
    output logic           flush_o,         // in hand: a flush job
    output logic           invalidating_o,  // the segment ends with an invalidation
    output refused_t       refused_o,
    output logic           affected_o,      // the addressee is the one of the judgement
    output cqe_status_e    end_status_o     // what completes in this step does it with this
);

  step_e step_q, step_d;
  logic flush_q;
  logic completes_q;  // the segment was served, and a receive or a PULL ends with it
  logic refused_q, was_mine_q;
  logic failed_q;     // its receive has ended with an error: so does the queue pair
  logic put_off_q;
  logic drained_q;    // a flush job: all has ended
  logic rnr_q;        // there was no receive
  logic again_q;      // it has waited for room in the punt queue
  term_code_e code_q;

  logic asks, empty, is_send, takes_receive, bare, answered, accepted, taken, came, completes;
  assign asks = segment_i.message == MESSAGE_REQUEST;
  assign empty = segment_i.payload == '0;
  assign is_send = segment_i.message == MESSAGE_SEND;
  assign takes_receive = is_send || segment_i.message == MESSAGE_IMMEDIATE;
  assign bare = empty || segment_i.message == MESSAGE_IMMEDIATE;  // nothing to place
  assign invalidating_o = is_send && segment_i.last && segment_i.invalidates;
  assign answered = step_q == STEP_INVALIDATE_WAIT && xlate_rsp_valid_i;
  // A queue pair that became the addressee only after the refusal is not to blame for it.
  assign affected_o = verdict_i.mine && was_mine_q;

  function automatic step_e judged();
    if (unreliable_i && !(verdict_i.receiving && verdict_i.good)) return STEP_DONE;
    if (for_core_i.device) return for_core_i.ready ? STEP_DONE : STEP_JUDGE;
    if (for_core_i.message) return STEP_PUNT;
    if (for_core_i.data) return STEP_PLACE;
    if (verdict_i.parts) return STEP_STATUS;
    if (verdict_i.introduction)
      return verdict_i.meets ? STEP_WAKE : verdict_i.wants_answer ? STEP_REFUSE : STEP_DONE;
    if (segment_i.message == MESSAGE_TERMINATE) return verdict_i.receiving ? STEP_STATUS : STEP_DONE;
    if (verdict_i.mine && !verdict_i.receiving && verdict_i.told) return STEP_DONE;
    if (verdict_i.behind) return STEP_DONE;
    if (!verdict_i.receiving || !verdict_i.good)
      return verdict_i.receiving && asks ? STEP_WAKE : STEP_REFUSE;
    // What it reads was written before. Meanwhile much may change: it is judged anew.
    if (asks && !written_i) return STEP_READ;
    if (asks) return for_core_i.punts ? STEP_PUNT : STEP_WAKE;
    if (takes_receive) return open_i ? STEP_ROOM : STEP_TAKE;
    return empty ? STEP_DONE : STEP_PLACE;
  endfunction
  function automatic step_e flush_judged();
    if (flush_i.pull) return pull_last_i ? STEP_REPORT : STEP_WAKE;
    if (flush_i.message || flush_i.emptied || flush_i.drained) return STEP_REPORT;
    return flush_i.receive ? STEP_TAKE : STEP_IDLE;
  endfunction
  function automatic step_e roomed();
    if (verdict_i.too_long) return datagram_i ? STEP_DONE : STEP_REPORT;
    if (!bare) return STEP_PLACE;
    return invalidating_o ? STEP_INVALIDATE : STEP_DONE;
  endfunction
  function automatic step_e placed();
    if (for_core_i.data) return placed_i.refused ? STEP_DONE : STEP_IDLE;
    if (placed_i.refused) return is_send ? STEP_REPORT : unreliable_i ? STEP_DONE : STEP_REFUSE;
    if (invalidating_o) return STEP_INVALIDATE;
    return completes ? STEP_REPORT : STEP_IDLE;
  endfunction
  // A failed receive completes before the refusal flushes those behind it.
  function automatic step_e reported();
    if (drained_q) return STEP_IDLE;
    if (flush_q) return STEP_WAKE;
    if (!completes_q) return unreliable_i ? STEP_STATUS_READ : STEP_REFUSE;
    return segment_i.message == MESSAGE_RESPONSE ? STEP_WAKE : STEP_IDLE;
  endfunction

  // What is placed or reported has nothing else to do.
  always_comb begin
    unique case (step_q)
      STEP_IDLE: frees_o = 1'b1;
      STEP_PLACE:
      frees_o = placed_i.done && segment_i.message == MESSAGE_WRITE && placed() == STEP_IDLE && !for_core_i.data;
      STEP_REPORT: frees_o = rx_done_ready_i && takes_receive && reported() == STEP_IDLE;
      default: frees_o = 1'b0;
    endcase
    if (flush_q && step_q != STEP_IDLE) frees_o = 1'b0;
  end

  always_comb begin
    step_d = step_q;
    unique case (step_q)
      STEP_IDLE: ;
      STEP_READ: if (!waiting_o) step_d = STEP_JUDGE;
      STEP_JUDGE: step_d = flush_q ? flush_judged() : judged();
      // The core may have been at rest meanwhile: it is judged anew.
      STEP_PUNT: step_d = for_core_i.punted ? STEP_DONE : STEP_READ;
      STEP_TAKE:
      if (!ring_any_i) step_d = unreliable_i ? STEP_DONE : STEP_REFUSE;
      else if (fetched_i.done) step_d = STEP_ROOM;  // it was known
      else step_d = STEP_FETCH;
      STEP_FETCH: if (fetched_i.done) step_d = taken ? STEP_ROOM : STEP_REPORT;
      STEP_ROOM: step_d = roomed();
      STEP_PLACE: if (placed_i.done) step_d = placed();
      STEP_INVALIDATE: if (xlate_ready_i) step_d = STEP_INVALIDATE_WAIT;
      STEP_INVALIDATE_WAIT: if (answered) step_d = accepted ? STEP_DONE : STEP_REFUSE;
      STEP_DONE: if (write_ready_i) step_d = completes_q ? STEP_REPORT : STEP_IDLE;
      // That all has ended may not be so behind a change of the queue pair: it is asked for anew.
      STEP_REPORT: if (rx_done_ready_i) step_d = reported();
      else if (drained_q && quiesce_i) step_d = STEP_WAKE;
      // As if it had never come, unless a receive is gone.
      STEP_REFUSE:
      if (refusal_done_i) step_d = put_off_i && !failed_q ? STEP_DONE : STEP_STATUS_READ;
      STEP_STATUS_READ: step_d = STEP_STATUS;
      STEP_STATUS: if (!affected_o || rnr_q || status_ready_i)
        step_d = affected_o && verdict_i.receiving && !rnr_q ? STEP_WAKE : STEP_DONE;
      STEP_WAKE: if (wake_ready_i) step_d = flush_q || completes_q ? STEP_IDLE : STEP_DONE;
      default: step_d = STEP_IDLE;
    endcase
    if (frees_o && begin_i) step_d = stale_i && !is_flush_i ? STEP_DONE : STEP_JUDGE;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) step_q <= STEP_IDLE;
    else step_q <= step_d;
  end
  assign step_o = step_q;
  assign waiting_o = step_q == STEP_READ && again_q && quiesce_i;
  assign next_o = step_d;

  // ---- Marks
  always_comb begin
    unique case (step_q)
      STEP_JUDGE:
      accepted = !flush_q && verdict_i.receiving && verdict_i.good && !verdict_i.behind &&
          !verdict_i.introduction &&
          ((asks && written_i && !for_core_i.punts) ||
           (empty && segment_i.message inside {MESSAGE_WRITE, MESSAGE_RESPONSE}));
      STEP_PUNT: accepted = for_core_i.punted && !for_core_i.message;
      STEP_ROOM: accepted = !verdict_i.too_long && bare && !invalidating_o;
      STEP_PLACE:
      accepted = placed_i.done && !placed_i.refused && !invalidating_o && !for_core_i.data;
      default: accepted = answered && xlate_status_i == XLATE_OK;
    endcase
  end
  assign deferred_o = step_q == STEP_JUDGE && !flush_q && step_d == STEP_WAKE && asks && !verdict_i.good;
  assign completes = accepted && segment_i.last &&
      (takes_receive || (segment_i.message == MESSAGE_RESPONSE && pull_last_i));
  assign taken = fetched_i.done && !flush_q && fetched_i.status == CQE_STATUS_SUCCESS;

  assign came = step_q == STEP_JUDGE && !flush_q && unreliable_i && verdict_i.receiving && !verdict_i.late;
  logic dropped, place_failed;
  assign dropped = (came && !verdict_i.good) || (unreliable_i && !flush_q &&
      ((step_q == STEP_TAKE && !ring_any_i) ||
       (step_q == STEP_ROOM && verdict_i.too_long && datagram_i) ||
       (step_q == STEP_PLACE && placed_i.done && placed_i.refused && !is_send)));

  assign place_failed = step_q == STEP_PLACE && placed_i.done && placed_i.refused && is_send;

  logic hears;  // the queue pair hears of a refusal
  assign hears = step_q == STEP_STATUS && affected_o && same_i;
  assign change_o = '{
          accepted: accepted,
          taken: taken,
          closed: flush_i.message || (step_q == STEP_ROOM && verdict_i.too_long && !datagram_i) ||
              place_failed,
          paused: hears && rnr_q && verdict_i.receiving,
          told: hears && refused_o.told && !rnr_q,
          owes: hears && put_off_q,
          came: came,
          dropped: dropped,
          emptied: flush_i.emptied
      };

  always_comb begin
    end_status_o = CQE_STATUS_SUCCESS;
    if (flush_q) end_status_o = CQE_STATUS_WR_FLUSH_ERR;
    else if (step_q == STEP_FETCH) end_status_o = fetched_i.status;
    else if (step_q == STEP_ROOM && verdict_i.too_long) end_status_o = CQE_STATUS_LOC_LEN_ERR;
    else if (place_failed) end_status_o = CQE_STATUS_LOC_PROT_ERR;
  end

  always_ff @(posedge clk_i) begin
    if (step_q == STEP_JUDGE) drained_q <= flush_i.drained;
    if (step_q == STEP_JUDGE) was_mine_q <= verdict_i.mine;
    if (step_q == STEP_PUNT) again_q <= 1'b1;
    if (step_q == STEP_REFUSE) refused_q <= 1'b1;
    if (step_q == STEP_REFUSE) put_off_q <= put_off_i;
    if (step_q == STEP_REPORT) failed_q <= !completes_q;
    if (step_q == STEP_TAKE) rnr_q <= !ring_any_i;
    if (accepted) completes_q <= completes;
    if (frees_o) begin
      flush_q     <= is_flush_i;
      completes_q <= 1'b0;
      refused_q   <= 1'b0;
      failed_q    <= 1'b0;
      put_off_q   <= 1'b0;
      rnr_q       <= 1'b0;
      again_q     <= 1'b0;
    end
  end
  assign flush_o = flush_q;
  assign refused_o =
      '{refused: refused_q, told: refused_q && !put_off_q, rnr: rnr_q, code: code_q};

  // ---- Why a segment is refused
  function automatic term_code_e place_code(xlate_status_e status);
    unique case (status)
      XLATE_STAG: return TERM_CODE_TAGGED_STAG;
      XLATE_STREAM: return TERM_CODE_TAGGED_STREAM;
      XLATE_ACCESS: return TERM_CODE_ACCESS;
      XLATE_WRAP: return TERM_CODE_TAGGED_WRAP;
      XLATE_BOUNDS: return TERM_CODE_TAGGED_BOUNDS;
      default: return TERM_CODE_STREAM;
    endcase
  endfunction
  function automatic term_code_e invalidate_code(xlate_status_e status);
    unique case (status)
      XLATE_STAG: return TERM_CODE_RDMAP_STAG;
      XLATE_STREAM: return TERM_CODE_RDMAP_STREAM;
      default: return TERM_CODE_NOT_INVALIDATED;
    endcase
  endfunction
  always_ff @(posedge clk_i) begin
    unique case (step_q)
      STEP_JUDGE: code_q <= verdict_i.code;
      STEP_TAKE: code_q <= TERM_CODE_UNTAGGED_NO_BUFFER;
      STEP_FETCH: code_q <= TERM_CODE_LOCAL_CATASTROPHIC;
      STEP_ROOM: code_q <= TERM_CODE_UNTAGGED_TOO_LONG;
      STEP_PLACE: code_q <= is_send ? TERM_CODE_LOCAL_CATASTROPHIC : place_code(xlate_status_i);
      STEP_INVALIDATE_WAIT: code_q <= invalidate_code(xlate_status_i);
      default: ;
    endcase
  end

endmodule
