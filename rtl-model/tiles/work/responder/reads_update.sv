// SPDX-License-Identifier: BSD-2-Clause
// What becomes of reads under way: of ours, which are answered, and of those of the peer.

module reads_update
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
(
    input logic  clk_i,
    input logic  rst_ni,
    input step_e step_i,
    input logic  write_ready_i,  // the write of STEP_DONE is accepted

    /* verilator lint_off UNUSEDSIGNAL */  // parts of the records count
    input rx_desc_t   desc_i,
    input segment_t   segment_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic       accepted_i,    // pulse: it is served,
    input logic       punts_i,       // a request by firmware
    input logic       deferred_i,    // pulse: it is a request, and refused behind those before it,
    input term_code_e code_i,        // with that
    input logic       flush_pull_i,  // pulse: a flush job ends the oldest of ours
    input pull_t      pull_i,        // which is this one

    output logic             pull_pop_o,
    output logic             pull_set_o,
    output pull_t            pull_rest_o,
    output logic             read_push_o,
    output read_t            read_new_o,
    output logic             refused_we_o,
    output refused_request_t refused_o
);

  /* verilator lint_off UNUSEDSIGNAL */
  ddp_untagged_t untagged;
  /* verilator lint_on UNUSEDSIGNAL */
  read_request_t request;
  assign untagged = desc_i.ddp[$bits(ddp_head_t)-1-:$bits(ddp_untagged_t)];
  assign request  = desc_i.ddp[PayloadTop-:$bits(read_request_t)];

  // ---- Ours. Work behind a PULL may begin as soon as that is not under way any more, and fail at once. So
  // it is until its end is about to be told: an empty answer has to wait for its place among the writes.
  logic answers, answered, answered_q;
  assign answers  = accepted_i && segment_i.message == MESSAGE_RESPONSE;
  assign answered = answers && segment_i.last;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) answered_q <= 1'b0;
    else if (step_i == STEP_JUDGE) answered_q <= answered;
    else if (step_i != STEP_DONE) answered_q <= 1'b0;
  end
  assign pull_pop_o = (answered && step_i != STEP_JUDGE) ||
      (answered_q && step_i == STEP_DONE && write_ready_i) || flush_pull_i;
  assign pull_set_o = answers && !segment_i.last;
  always_comb begin
    pull_rest_o = pull_i;
    pull_rest_o.to = pull_i.to + 64'(segment_i.payload);
    pull_rest_o.left = pull_i.left - 32'(segment_i.payload);
  end

  // ---- The peer's. One that is refused ends as a read that cannot be served: its peer hears of it behind
  // the answers to those before it.
  assign read_push_o = accepted_i && segment_i.message == MESSAGE_REQUEST && !punts_i;
  always_comb begin
    read_new_o = '0;
    if (read_push_o) begin
      read_new_o.request = request;
      read_new_o.msn = untagged.msn;
      read_new_o.answer = ANSWER_READ;
    end
  end
  assign refused_we_o = deferred_i;
  always_comb begin
    refused_o = '0;
    if (deferred_i) begin
      refused_o = '{
          valid: 1'b1,
          code: code_i,
          atomic: segment_i.atomic,
          msn: untagged.msn,
          mo: untagged.mo,
          request: request
      };
    end
  end

endmodule
