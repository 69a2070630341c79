// SPDX-License-Identifier: BSD-2-Clause
// The steps of a segment or a flush job, one after the other.

module responder_control
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
(
    input  logic  clk_i,
    input  logic  rst_ni,
    input  logic  begin_i,    // there is a segment or a flush job
    input  logic  is_flush_i,
    input  logic  stale_i,    // a segment that is forgotten: nobody looks at it
    output step_e step_o,
    output step_e next_o,
    output logic  waiting_o,  // for room in the punt queue, while the core is to rest

    // The segment.
    /* verilator lint_off UNUSEDSIGNAL */
    input segment_t   segment_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic       mine_i,
    input logic       receiving_i,
    input logic       introduction_i,  // of a queue pair,
    input logic       wants_answer_i,  // which waits,
    input logic       meets_i,         // and this one is its peer,
    input logic       parts_i,         // with requests for an earlier life of it
    input logic       told_i,  // the peer of a queue pair in ERROR
    input logic       device_i,        // it is for a port, or a load waits for it: nothing is checked
    input logic       device_ready_i,  // or placed, and it is taken now
    input logic       fw_message_i,  // it is a message to firmware,
    input logic       fw_data_i,     // or bytes that firmware has asked for: nobody is told
    input logic       unreliable_i,  // of that class: it is never answered
    input logic       late_i,        // and has come too late
    input logic       datagram_i,    // anyone may have sent it: it is not for a receive to fail
    input logic       good_i,
    input term_code_e code_i,  // why not
    input logic       open_i,       // a receive is
    input logic       too_long_i,   // for it
    input logic       behind_i,      // a message that comes again, or a refused request
    input logic       punts_i,      // it is a request that goes to firmware
    input logic       pull_last_i,  // of the PULL whose head it, or the flush job, ends

    // What a flush job has to do, if anything.
    input logic flush_pull_i,
    input logic flush_message_i,
    input logic flush_receive_i,

    // How the steps end.
    input logic          quiesce_i,
    input logic          written_i,  // all writes that were asked for are done
    input logic          punted_i,
    input logic          ring_any_i,
    input logic          fetch_done_i,
    input cqe_status_e   fetch_status_i,
    input logic          place_done_i,
    input logic          place_refused_i,
    input logic          xlate_ready_i,
    input logic          xlate_rsp_valid_i,
    input xlate_status_e xlate_status_i,
    input logic          write_ready_i,
    input logic          rx_done_ready_i,
    input logic          refusal_done_i,
    input logic          put_off_i,   // with that: the segment comes again
    input logic          status_ready_i,
    input logic          wake_ready_i,

    // Pulses for the queue pair.
    output logic accepted_o,  // the segment is served: nothing can go wrong with it any more
    output logic deferred_o,  // it is a request, and refused behind those before it
    output logic taken_o,     // a receive is
    output logic closed_o,    // the open receive has ended without its message
    output logic paused_o,    // its next message found none
    output logic tells_o,   // its sender hears of a refusal
    output logic owes_o,    // it failed, and its sender could not be told
    output logic came_o,      // a segment of the unreliable class, in time,
    output logic dropped_o,   // which is not served; nor is what follows of its message

    output logic        flush_o,         // in hand: a flush job
    output logic        invalidating_o,  // the segment ends with an invalidation
    output logic        refused_o,       // the segment was,
    output logic        told_o,          // and its sender hears of it
    output logic        rnr_o,           // but may come again
    output term_code_e  code_o,          // with that
    output logic        affected_o,      // the addressee is the one of the judgement
    output cqe_status_e end_status_o     // what completes in this step does it with this
);

  step_e step_q, step_d;
  logic flush_q;
  logic completes_q;  // the segment was served, and a receive or a PULL ends with it
  logic refused_q, was_mine_q;
  logic failed_q;     // its receive has ended with an error: so does the queue pair
  logic put_off_q;
  logic rnr_q;        // there was no receive
  logic again_q;      // it has waited for room in the punt queue
  term_code_e code_q;

  logic asks, empty, is_send, takes_receive, bare, answered, completes;
  assign asks = segment_i.message == MESSAGE_REQUEST;
  assign empty = segment_i.payload == '0;
  assign is_send = segment_i.message == MESSAGE_SEND;
  assign takes_receive = is_send || segment_i.message == MESSAGE_IMMEDIATE;
  assign bare = empty || segment_i.message == MESSAGE_IMMEDIATE;  // nothing to place
  assign invalidating_o = is_send && segment_i.last && segment_i.invalidates;
  assign answered = step_q == STEP_INVALIDATE_WAIT && xlate_rsp_valid_i;
  // A queue pair that became the addressee only after the refusal is not to blame for it.
  assign affected_o = mine_i && was_mine_q;

  function automatic step_e judged();
    if (unreliable_i && !(receiving_i && good_i)) return STEP_DONE;
    if (device_i) return device_ready_i ? STEP_DONE : STEP_JUDGE;
    if (fw_message_i) return STEP_PUNT;
    if (fw_data_i) return STEP_PLACE;
    if (parts_i) return STEP_STATUS;
    if (introduction_i) return meets_i ? STEP_WAKE : wants_answer_i ? STEP_REFUSE : STEP_DONE;
    if (segment_i.message == MESSAGE_TERMINATE) return receiving_i ? STEP_STATUS : STEP_DONE;
    if (mine_i && !receiving_i && told_i) return STEP_DONE;
    if (behind_i) return STEP_DONE;
    if (!receiving_i || !good_i) return receiving_i && asks ? STEP_WAKE : STEP_REFUSE;
    // What it reads was written before. Meanwhile much may change: it is judged anew.
    if (asks && !written_i) return STEP_READ;
    if (asks) return punts_i ? STEP_PUNT : STEP_WAKE;
    if (takes_receive) return open_i ? STEP_ROOM : STEP_TAKE;
    return empty ? STEP_DONE : STEP_PLACE;
  endfunction
  function automatic step_e flush_judged();
    if (flush_pull_i) return pull_last_i ? STEP_REPORT : STEP_WAKE;
    if (flush_message_i) return STEP_REPORT;
    return flush_receive_i ? STEP_TAKE : STEP_IDLE;
  endfunction
  function automatic step_e roomed();
    if (too_long_i) return datagram_i ? STEP_DONE : STEP_REPORT;
    if (!bare) return STEP_PLACE;
    return invalidating_o ? STEP_INVALIDATE : STEP_DONE;
  endfunction
  function automatic step_e placed();
    if (fw_data_i) return place_refused_i ? STEP_DONE : STEP_IDLE;
    if (place_refused_i) return is_send ? STEP_REPORT : unreliable_i ? STEP_DONE : STEP_REFUSE;
    if (invalidating_o) return STEP_INVALIDATE;
    return completes ? STEP_REPORT : STEP_IDLE;
  endfunction
  // A failed receive completes before the refusal flushes those behind it.
  function automatic step_e reported();
    if (flush_q) return STEP_WAKE;
    if (!completes_q) return unreliable_i ? STEP_STATUS_READ : STEP_REFUSE;
    return segment_i.message == MESSAGE_RESPONSE ? STEP_WAKE : STEP_IDLE;
  endfunction

  always_comb begin
    step_d = step_q;
    unique case (step_q)
      STEP_IDLE: if (begin_i) step_d = stale_i && !is_flush_i ? STEP_DONE : STEP_READ;
      STEP_READ: if (!waiting_o) step_d = STEP_JUDGE;
      STEP_JUDGE: step_d = flush_q ? flush_judged() : judged();
      // The core may have been at rest meanwhile: it is judged anew.
      STEP_PUNT: step_d = punted_i ? STEP_DONE : STEP_READ;
      STEP_TAKE: step_d = ring_any_i ? STEP_FETCH : unreliable_i ? STEP_DONE : STEP_REFUSE;
      STEP_FETCH: if (fetch_done_i) step_d = taken_o ? STEP_ROOM : STEP_REPORT;
      STEP_ROOM: step_d = roomed();
      STEP_PLACE: if (place_done_i) step_d = placed();
      STEP_INVALIDATE: if (xlate_ready_i) step_d = STEP_INVALIDATE_WAIT;
      STEP_INVALIDATE_WAIT: if (answered) step_d = accepted_o ? STEP_DONE : STEP_REFUSE;
      STEP_DONE: if (write_ready_i) step_d = completes_q ? STEP_REPORT : STEP_IDLE;
      STEP_REPORT: if (rx_done_ready_i) step_d = reported();
      // As if it had never come, unless a receive is gone.
      STEP_REFUSE:
      if (refusal_done_i) step_d = put_off_i && !failed_q ? STEP_DONE : STEP_STATUS_READ;
      STEP_STATUS_READ: step_d = STEP_STATUS;
      STEP_STATUS: if (!affected_o || rnr_q || status_ready_i)
        step_d = affected_o && receiving_i && !rnr_q ? STEP_WAKE : STEP_DONE;
      STEP_WAKE: if (wake_ready_i) step_d = flush_q || completes_q ? STEP_IDLE : STEP_DONE;
      default: step_d = STEP_IDLE;
    endcase
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
      accepted_o = !flush_q && receiving_i && good_i && !behind_i && !introduction_i &&
          ((asks && written_i && !punts_i) ||
           (empty && segment_i.message inside {MESSAGE_WRITE, MESSAGE_RESPONSE}));
      STEP_PUNT: accepted_o = punted_i && !fw_message_i;
      STEP_ROOM: accepted_o = !too_long_i && bare && !invalidating_o;
      STEP_PLACE:
      accepted_o = place_done_i && !place_refused_i && !invalidating_o && !fw_data_i;
      default: accepted_o = answered && xlate_status_i == XLATE_OK;
    endcase
  end
  assign deferred_o = step_q == STEP_JUDGE && !flush_q && step_d == STEP_WAKE && asks && !good_i;
  assign completes = accepted_o && segment_i.last &&
      (takes_receive || (segment_i.message == MESSAGE_RESPONSE && pull_last_i));
  assign taken_o = fetch_done_i && !flush_q && fetch_status_i == CQE_STATUS_SUCCESS;

  assign came_o = step_q == STEP_JUDGE && !flush_q && unreliable_i && receiving_i && !late_i;
  assign dropped_o = (came_o && !good_i) || (unreliable_i && !flush_q &&
      ((step_q == STEP_TAKE && !ring_any_i) ||
       (step_q == STEP_ROOM && too_long_i && datagram_i) ||
       (step_q == STEP_PLACE && place_done_i && place_refused_i && !is_send)));

  logic place_failed;
  assign place_failed = step_q == STEP_PLACE && place_done_i && place_refused_i && is_send;
  assign closed_o = flush_message_i || (step_q == STEP_ROOM && too_long_i && !datagram_i) ||
      place_failed;

  always_comb begin
    end_status_o = CQE_STATUS_SUCCESS;
    if (flush_q) end_status_o = CQE_STATUS_WR_FLUSH_ERR;
    else if (step_q == STEP_FETCH) end_status_o = fetch_status_i;
    else if (step_q == STEP_ROOM && too_long_i) end_status_o = CQE_STATUS_LOC_LEN_ERR;
    else if (place_failed) end_status_o = CQE_STATUS_LOC_PROT_ERR;
  end

  always_ff @(posedge clk_i) begin
    if (step_q == STEP_IDLE) begin
      flush_q     <= is_flush_i;
      completes_q <= 1'b0;
      refused_q   <= 1'b0;
      failed_q    <= 1'b0;
      put_off_q <= 1'b0;
      rnr_q       <= 1'b0;
      again_q     <= 1'b0;
    end
    if (step_q == STEP_JUDGE) was_mine_q <= mine_i;
    if (step_q == STEP_PUNT) again_q <= 1'b1;
    if (step_q == STEP_REFUSE) refused_q <= 1'b1;
    if (step_q == STEP_REFUSE) put_off_q <= put_off_i;
    if (step_q == STEP_REPORT) failed_q <= !completes_q;
    if (step_q == STEP_TAKE) rnr_q <= !ring_any_i;
    if (accepted_o) completes_q <= completes;
  end
  assign flush_o   = flush_q;
  assign refused_o = refused_q;
  assign told_o    = refused_q && !put_off_q;
  assign rnr_o     = rnr_q;
  assign tells_o   = step_q == STEP_STATUS && told_o && affected_o && !rnr_q;
  assign owes_o    = step_q == STEP_STATUS && put_off_q && affected_o;
  assign paused_o  = step_q == STEP_STATUS && rnr_q && affected_o && receiving_i;

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
      STEP_JUDGE: code_q <= code_i;
      STEP_TAKE: code_q <= TERM_CODE_UNTAGGED_NO_BUFFER;
      STEP_FETCH: code_q <= TERM_CODE_LOCAL_CATASTROPHIC;
      STEP_ROOM: code_q <= TERM_CODE_UNTAGGED_TOO_LONG;
      STEP_PLACE: code_q <= is_send ? TERM_CODE_LOCAL_CATASTROPHIC : place_code(xlate_status_i);
      STEP_INVALIDATE_WAIT: code_q <= invalidate_code(xlate_status_i);
      default: ;
    endcase
  end
  assign code_o = code_q;

endmodule
