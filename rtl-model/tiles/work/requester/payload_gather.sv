// SPDX-License-Identifier: BSD-2-Clause
// Goes through the elements of a message: asks for the payload of one segment, element after
// element and page after page, without gaps in its slot; or looks all of them up. It translates
// ahead while the slot is awaited; what it knows from before a time of rest, or from before an
// invalidation, it looks up again.

module payload_gather
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import requester_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    input logic quiesce_i,
    input logic let_go_i,  // what was looked up may be of the past

    // The elements of a message: see sge_cursor.
    input  logic        load_i,
    input  sge_t        first_i,
    input  sges_t       count_i,
    input  word_index_t next_word_i,
    input  logic [31:0] skip_i,
    output word_index_t word_index_o,
    input  sge_t        word_i,
    output logic        valid_o,
    output logic        end_o,
    output sge_t        sge_o,
    input  logic        take_i,  // with valid_o, when idle: sge_o is done with

    input  logic start_i,
    input  logic look_i,  // with start_i: no payload, but look up all elements
    input  logic stop_i,  // the segment will not be sent; until idle_o
    output logic idle_o,  // done, refused or stopped
    output logic done_o,  // pulse: all is asked for, idle_o follows
    output logic quiet_o,  // idle, or waiting for the end of quiesce_i
    output logic hold_o,   // it knows an address that it has not read from
    output xlate_status_e status_o,  // when idle: XLATE_OK, or why an element was refused
    output chunk_t        filled_o,  // bytes of payload that were asked for

    input logic   slot_valid_i,  // the slot is there; these two stay until idle_o
    input slot_t  slot_i,
    input chunk_t segment_i,

    input pd_t        pd_i,
    input logic [7:0] access_i,

    output logic       xlate_valid_o,
    input  logic       xlate_ready_i,
    output xlate_req_t xlate_o,
    input  logic       xlate_rsp_valid_i,
    input  xlate_rsp_t xlate_rsp_i,

    output logic          read_valid_o,
    input  logic          read_ready_i,
    output dma_read_req_t read_o
);

  typedef enum logic [1:0] { StIdle, StFind, StXlate, StRead } state_e;
  state_e state_q, state_d;

  logic look_q;
  xlate_status_e status_q;
  chunk_t filled_q, page_left_q, chunk;
  logic [63:0] address_q;

  logic wait_for_rest, found, fits;
  assign wait_for_rest = (quiesce_i || let_go_i) && !slot_valid_i && !look_q;
  assign found = xlate_rsp_valid_i && xlate_rsp_i.status == XLATE_OK;
  assign chunk = page_left_q < segment_i - filled_q ? page_left_q : segment_i - filled_q;
  assign fits = xlate_rsp_i.length < 32'(MTU_MAX);

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle: if (start_i) state_d = StFind;
      StFind:
      if (stop_i || (look_q && end_o)) state_d = StIdle;
      else if (xlate_valid_o && xlate_ready_i) state_d = StXlate;
      StXlate:
      if (xlate_rsp_valid_i) begin
        if (!found) state_d = StIdle;
        else state_d = look_q ? StFind : StRead;
      end
      StRead:
      if (stop_i) state_d = StIdle;
      else if (wait_for_rest) state_d = StFind;
      else if (read_valid_o && read_ready_i)
        state_d = done_o ? StIdle : StFind;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= StIdle;
    else state_q <= state_d;
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StIdle && start_i) begin
      look_q   <= look_i;
      status_q <= XLATE_OK;
      filled_q <= '0;
    end
    if (state_q == StXlate && xlate_rsp_valid_i) begin
      status_q    <= xlate_rsp_i.status;
      address_q   <= xlate_rsp_i.address;
      page_left_q <= fits ? chunk_t'(xlate_rsp_i.length) : chunk_t'(MTU_MAX);
    end
    if (read_valid_o && read_ready_i) filled_q <= filled_q + chunk;
  end

  assign idle_o = state_q == StIdle;
  assign done_o = asked && filled_q + chunk == segment_i;
  assign quiet_o = idle_o || (state_q == StFind && wait_for_rest);
  assign hold_o = state_q == StRead;
  assign status_o = status_q;
  assign filled_o = filled_q;

  logic asked, looked;
  assign asked = read_valid_o && read_ready_i;
  assign looked = state_q == StXlate && look_q && found;
  sge_cursor u_cursor (
      .clk_i,
      .load_i,
      .first_i,
      .count_i,
      .next_word_i,
      .skip_i,
      .word_index_o,
      .word_i,
      .valid_o,
      .end_o,
      .sge_o,
      .take_i(asked || looked || take_i),
      .bytes_i(asked ? 32'(chunk) : sge_o.length)
  );

  assign xlate_valid_o = state_q == StFind && valid_o && !wait_for_rest && !stop_i;
  assign xlate_o = '{
          invalidate: 1'b0,
          ring: 1'b0,
          pbl_address: '0,
          stag: sge_o.stag,
          pd: pd_i,
          access: access_i,
          to: sge_o.address,
          length: sge_o.length
      };
  assign read_valid_o = state_q == StRead && slot_valid_i && !stop_i;
  assign read_o = '{
          address: address_q,
          length: chunk,
          dst: {slot_i, filled_q[$clog2(MTU_MAX)-1:0]}
      };

endmodule
