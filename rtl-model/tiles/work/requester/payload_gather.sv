// SPDX-License-Identifier: BSD-2-Clause
// Goes through the elements of a message: asks for the payload of one segment, element after
// element and page after page, without gaps in its slot; or looks all of them up. It translates
// ahead while the slot is awaited, and where the next message begins while this one is gathered; what it
// knows from before a time of rest, or from before an invalidation, it looks up again.

`include "exrnic_assert.svh"

module payload_gather
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import requester_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    input logic quiesce_i,

    payload_gather_if.gather turn,

    // The elements of a message: see sge_cursor.
    input  sge_t        first_i,
    input  sges_t       count_i,
    input  word_index_t next_word_i,
    input  logic [31:0] skip_i,
    output word_index_t word_index_o,
    input  sge_t        word_i,
    input  logic        take_i,  // when idle: the one in hand, if there is one, is done with

    // Where the message after this one begins, in the same turn: looked up when there is time.
    input logic ahead_i,
    input sge_t ahead_sge_i,
    input logic ahead_pulls_i, // it is for a PULL
    input logic over_i,        // none follows

    input logic   look_i,        // with turn.start: no payload, but look up all elements
    input logic   slot_valid_i,  // the slot is there; these two stay until turn.idle
    input logic   read_i,        // memory may be read
    input slot_t  slot_i,
    input chunk_t segment_i,

    input pd_t         pd_i,
    input qpn_t        qpn_i,  // with rights of its peer
    input generation_t generation_i,
    input logic [7:0]  access_i,

    xlate_if.client   xlate,  // what it asks for may be withdrawn, with the end of a turn
    dma_read_if.asker read
);

  typedef enum logic [1:0] { StIdle, StFind, StXlate, StRead } state_e;
  state_e state_q, state_d;

  logic look_q;
  xlate_status_e status_q;
  chunk_t filled_q, page_left_q, chunk;
  logic [63:0] address_q;

  logic wait_for_rest, found, fits, valid, ended;
  sge_t sge;
  assign wait_for_rest = (quiesce_i || xlate.let_go) && !slot_valid_i && !look_q;
  assign found = xlate.rsp_valid && xlate.rsp.status == XLATE_OK;

  // ---- The next message: a look-up that its gathering takes over when it finds that it is its own.
  typedef enum logic [2:0] { AheadNone, AheadAsk, AheadWait, AheadKnown, AheadDrop } ahead_e;
  ahead_e ahead_q;
  logic ahead_known, ahead_comes, tried_q;
  sge_t ahead_sge_q;
  logic [63:0] ahead_address_q;
  chunk_t ahead_left_q;
  logic ahead_fits, ahead_same;
  localparam logic [7:0] Written = 8'd1 << ACCESS_LOCAL_WRITE;
  logic ahead_pulls_q;
  assign ahead_fits = state_q == StFind && valid && !turn.stop && !wait_for_rest;
  assign ahead_same = ahead_fits && sge == ahead_sge_q && access_i == (ahead_pulls_q ? Written : '0);
  assign ahead_known = ahead_same && ahead_q == AheadKnown;
  assign ahead_comes = ahead_same && ahead_q == AheadWait;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ahead_q <= AheadNone;
      tried_q <= 1'b0;
    end else begin
      tried_q <= ahead_i && (tried_q || ahead_q == AheadAsk);
      unique case (ahead_q)
        AheadNone: if (ahead_i && !tried_q && !over_i && !quiesce_i && !xlate.let_go) ahead_q <= AheadAsk;
        AheadAsk:
        if (xlate.valid && xlate.ready && !asks) ahead_q <= over_i ? AheadDrop : AheadWait;
        else if (over_i || quiesce_i || !ahead_i) ahead_q <= AheadNone;
        AheadWait:
        if (ahead_comes) ahead_q <= AheadNone;  // taken over
        else if (xlate.rsp_valid) ahead_q <= found && !over_i ? AheadKnown : AheadNone;
        else if (over_i || ahead_fits) ahead_q <= AheadDrop;
        AheadKnown: if (over_i || ahead_fits || quiesce_i || xlate.let_go) ahead_q <= AheadNone;
        default: if (xlate.rsp_valid) ahead_q <= AheadNone;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (ahead_q == AheadNone) begin
      ahead_sge_q   <= ahead_sge_i;
      ahead_pulls_q <= ahead_pulls_i;
    end
    if (ahead_q == AheadWait && xlate.rsp_valid) begin
      ahead_address_q <= xlate.rsp.address;
      ahead_left_q <= fits ? chunk_t'(xlate.rsp.length) : chunk_t'(MTU_MAX);
    end
  end
  assign chunk = page_left_q < segment_i - filled_q ? page_left_q : segment_i - filled_q;
  assign fits = xlate.rsp.length < 32'(MTU_MAX);

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle: if (turn.start) state_d = StFind;
      StFind:
      if (turn.stop || (look_q && ended)) state_d = StIdle;
      else if (ahead_known) state_d = look_q ? StFind : StRead;
      else if (ahead_comes && xlate.rsp_valid) state_d = !found ? StIdle : look_q ? StFind : StRead;
      else if (ahead_comes) state_d = StXlate;
      else if (asks && xlate.ready) state_d = StXlate;
      StXlate:
      if (xlate.rsp_valid) begin
        if (!found) state_d = StIdle;
        else state_d = look_q ? StFind : StRead;
      end
      StRead:
      if (turn.stop) state_d = StIdle;
      else if (wait_for_rest) state_d = StFind;
      else if (read.valid && read.ready)
        state_d = turn.done ? StIdle : StFind;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= StIdle;
    else state_q <= state_d;
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StIdle && turn.start) begin
      look_q   <= look_i;
      status_q <= XLATE_OK;
      filled_q <= '0;
    end
    if (ahead_known) begin
      address_q   <= ahead_address_q;
      page_left_q <= ahead_left_q;
    end
    if ((state_q == StXlate || ahead_comes) && xlate.rsp_valid) begin
      status_q    <= xlate.rsp.status;
      address_q   <= xlate.rsp.address;
      page_left_q <= fits ? chunk_t'(xlate.rsp.length) : chunk_t'(MTU_MAX);
    end
    if (read.valid && read.ready) filled_q <= filled_q + chunk;
  end

  assign turn.idle = state_q == StIdle;
  assign turn.done = asked && filled_q + chunk == segment_i;
  assign turn.quiet = (turn.idle || (state_q == StFind && wait_for_rest)) && ahead_q == AheadNone;
  assign xlate.hold = state_q == StRead || ahead_q == AheadKnown;
  assign turn.status = status_q;
  assign turn.filled = filled_q;

  logic asked, looked;
  assign asked = read.valid && read.ready;
  assign looked = look_q && (ahead_known || (found && (state_q == StXlate || ahead_comes)));
  sge_cursor u_cursor (
      .clk_i,
      .load_i(turn.load),
      .first_i,
      .count_i,
      .next_word_i,
      .skip_i,
      .word_index_o,
      .word_i,
      .valid_o(valid),
      .end_o(ended),
      .sge_o(sge),
      .take_i(asked || looked || (take_i && valid)),
      .bytes_i(asked ? 32'(chunk) : sge.length)
  );

  assign turn.known = valid || ended;
  assign turn.sge = valid ? sge : '0;

  // One look-up at a time: what is in hand goes first.
  logic asks;
  assign asks = state_q == StFind && valid && !wait_for_rest && !turn.stop && ahead_q inside {AheadNone, AheadAsk};
  assign xlate.valid = asks || (ahead_q == AheadAsk && state_q inside {StIdle, StRead} && !over_i && !quiesce_i && ahead_i);
  always_comb begin
    xlate.req = '0;
    if (xlate.valid) begin
      xlate.req.stag = asks ? sge.stag : ahead_sge_q.stag;
      xlate.req.to = asks ? sge.address : ahead_sge_q.address;
      xlate.req.length = asks ? sge.length : ahead_sge_q.length;
      if (asks) xlate.req.access = access_i;
      else if (ahead_pulls_q) xlate.req.access = Written;
      xlate.req.qpn = qpn_i;
      xlate.req.generation = generation_i;
      xlate.req.pd = pd_i;
    end
  end
  assign read.valid = state_q == StRead && slot_valid_i && read_i && !turn.stop;
  assign read.req = '{
          address: address_q,
          length: chunk,
          dst: {slot_i, filled_q[$clog2(MTU_MAX)-1:0]}
      };

  // ---- What is promised
  `EXRNIC_ALWAYS(part_of_the_element, !read.valid || (chunk != '0 && 32'(chunk) <= sge.length))

endmodule
