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
    output step_e step_o,
    output step_e next_o,

    // The segment.
    input message_e   message_i,
    input logic       mine_i,
    input logic       receiving_i,
    input logic       told_i,  // the peer of a queue pair in ERROR
    input logic       good_i,
    input term_code_e code_i,  // why not
    input logic       empty_i,
    input logic       last_i,
    input logic       invalidates_i,
    input logic       open_i,       // a receive is
    input logic       too_long_i,   // for it
    input logic       pull_last_i,  // of the PULL whose head it, or the flush job, ends

    // What a flush job has to do, if anything.
    input logic flush_pull_i,
    input logic flush_message_i,
    input logic flush_receive_i,

    // How the steps end.
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
    input logic          status_ready_i,
    input logic          wake_ready_i,

    // Pulses for the queue pair.
    output logic accepted_o,  // the segment is served: nothing can go wrong with it any more
    output logic taken_o,     // a receive is
    output logic closed_o,    // the open receive has ended without its message

    output logic        flush_o,         // in hand: a flush job
    output logic        invalidating_o,  // the segment ends with an invalidation
    output logic        refused_o,       // the segment was
    output term_code_e  code_o,          // with that
    output logic        affected_o,      // the addressee is the one of the judgement
    output cqe_status_e end_status_o     // what completes in this step does it with this
);

  step_e step_q, step_d;
  logic flush_q;
  logic completes_q;  // the segment was served, and a receive or a PULL ends with it
  logic refused_q, was_mine_q;
  term_code_e code_q;

  logic is_send, takes_receive, bare, answered, completes;
  assign is_send = message_i == MESSAGE_SEND;
  assign takes_receive = is_send || message_i == MESSAGE_IMMEDIATE;
  assign bare = empty_i || message_i == MESSAGE_IMMEDIATE;  // nothing to place
  assign invalidating_o = is_send && last_i && invalidates_i;
  assign answered = step_q == StInvalidateWait && xlate_rsp_valid_i;
  // A queue pair that became the addressee only after the refusal is not to blame for it.
  assign affected_o = mine_i && was_mine_q;

  function automatic step_e judged();
    if (message_i == MESSAGE_TERMINATE) return receiving_i ? StStatus : StDone;
    if (mine_i && !receiving_i && told_i) return StDone;
    if (!receiving_i || !good_i) return StRefuse;
    if (message_i == MESSAGE_READ_REQUEST) return StWake;
    if (takes_receive) return open_i ? StRoom : StTake;
    return empty_i ? StDone : StPlace;
  endfunction
  function automatic step_e flush_judged();
    if (flush_pull_i) return pull_last_i ? StReport : StWake;
    if (flush_message_i) return StReport;
    return flush_receive_i ? StTake : StIdle;
  endfunction
  function automatic step_e roomed();
    if (too_long_i) return StReport;
    if (!bare) return StPlace;
    return invalidating_o ? StInvalidate : StDone;
  endfunction
  function automatic step_e placed();
    if (place_refused_i) return is_send ? StReport : StRefuse;
    if (invalidating_o) return StInvalidate;
    return completes ? StReport : StIdle;
  endfunction
  // A failed receive completes before the refusal flushes those behind it.
  function automatic step_e reported();
    if (flush_q) return StWake;
    if (!completes_q) return StRefuse;
    return message_i == MESSAGE_RESPONSE ? StWake : StIdle;
  endfunction

  always_comb begin
    step_d = step_q;
    unique case (step_q)
      StIdle: if (begin_i) step_d = StRead;
      StRead: step_d = StJudge;
      StJudge: step_d = flush_q ? flush_judged() : judged();
      StTake: step_d = ring_any_i ? StFetch : StRefuse;
      StFetch: if (fetch_done_i) step_d = taken_o ? StRoom : StReport;
      StRoom: step_d = roomed();
      StPlace: if (place_done_i) step_d = placed();
      StInvalidate: if (xlate_ready_i) step_d = StInvalidateWait;
      StInvalidateWait: if (answered) step_d = accepted_o ? StDone : StRefuse;
      StDone: if (write_ready_i) step_d = completes_q ? StReport : StIdle;
      StReport: if (rx_done_ready_i) step_d = reported();
      StRefuse: if (refusal_done_i) step_d = StStatusRead;
      StStatusRead: step_d = StStatus;
      StStatus: if (!affected_o || status_ready_i)
        step_d = affected_o && receiving_i ? StWake : StDone;
      StWake: if (wake_ready_i) step_d = flush_q || completes_q ? StIdle : StDone;
      default: step_d = StIdle;
    endcase
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) step_q <= StIdle;
    else step_q <= step_d;
  end
  assign step_o = step_q;
  assign next_o = step_d;

  // ---- Marks
  always_comb begin
    unique case (step_q)
      StJudge: accepted_o = !flush_q && receiving_i && good_i && (message_i == MESSAGE_READ_REQUEST ||
          (empty_i && message_i inside {MESSAGE_WRITE, MESSAGE_RESPONSE}));
      StRoom: accepted_o = !too_long_i && bare && !invalidating_o;
      StPlace: accepted_o = place_done_i && !place_refused_i && !invalidating_o;
      default: accepted_o = answered && xlate_status_i == XLATE_OK;
    endcase
  end
  assign completes = accepted_o && last_i &&
      (takes_receive || (message_i == MESSAGE_RESPONSE && pull_last_i));
  assign taken_o = fetch_done_i && !flush_q && fetch_status_i == CQE_STATUS_SUCCESS;

  logic place_failed;
  assign place_failed = step_q == StPlace && place_done_i && place_refused_i && is_send;
  assign closed_o = flush_message_i || (step_q == StRoom && too_long_i) || place_failed;

  always_comb begin
    end_status_o = CQE_STATUS_SUCCESS;
    if (flush_q) end_status_o = CQE_STATUS_WR_FLUSH_ERR;
    else if (step_q == StFetch) end_status_o = fetch_status_i;
    else if (step_q == StRoom && too_long_i) end_status_o = CQE_STATUS_LOC_LEN_ERR;
    else if (place_failed) end_status_o = CQE_STATUS_LOC_PROT_ERR;
  end

  always_ff @(posedge clk_i) begin
    if (step_q == StIdle) begin
      flush_q     <= is_flush_i;
      completes_q <= 1'b0;
      refused_q   <= 1'b0;
    end
    if (step_q == StJudge) was_mine_q <= mine_i;
    if (step_q == StRefuse) refused_q <= 1'b1;
    if (accepted_o) completes_q <= completes;
  end
  assign flush_o   = flush_q;
  assign refused_o = refused_q;

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
      StJudge: code_q <= code_i;
      StTake: code_q <= TERM_CODE_UNTAGGED_NO_BUFFER;
      StFetch: code_q <= TERM_CODE_LOCAL_CATASTROPHIC;
      StRoom: code_q <= TERM_CODE_UNTAGGED_TOO_LONG;
      StPlace: code_q <= is_send ? TERM_CODE_LOCAL_CATASTROPHIC : place_code(xlate_status_i);
      StInvalidateWait: code_q <= invalidate_code(xlate_status_i);
      default: ;
    endcase
  end
  assign code_o = code_q;

endmodule
