// SPDX-License-Identifier: BSD-2-Clause
// Takes the receive at the consumer of a ring: reads its work request, checks it, and hands out its
// elements. To flush it, only its number of slots counts.

module receive_fetch
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,

    // A ring with at least one slot posted; constant until done_o.
    input  logic        start_i,
    input  logic        flush_i,
    input  logic [63:0] ring_pbl_i,
    input  logic [3:0]  ring_log_i,
    input  wqe_index_t  consumer_i,
    input  wqe_index_t  producer_i,
    output logic        done_o,       // pulse, with:
    output cqe_status_e status_o,     // SUCCESS, or what it completes with
    output wqe_index_t  wqe_index_o,  // its last slot
    output logic [31:0] length_o,     // bytes that it takes

    output logic                       element_we_o,
    output logic [$clog2(MAX_SGE)-1:0] element_index_o,
    output sge_t                       element_o,

    output logic       xlate_valid_o,
    input  logic       xlate_ready_i,
    output xlate_req_t xlate_o,
    input  logic       xlate_rsp_valid_i,
    input  xlate_rsp_t xlate_rsp_i,

    output logic           read_valid_o,
    input  logic           read_ready_i,
    output dma_read_req_t  read_o,
    input  logic           beat_valid_i,
    input  dma_read_beat_t beat_i
);

  localparam int unsigned Words = WQE_SLOTS_MAX * WQE_BYTES / SGE_BYTES;
  typedef logic [$clog2(Words)-1:0] word_index_t;

  typedef enum logic [2:0] { StIdle, StFetch, StAsk, StHead, StLength, StElements, StEnd } state_e;
  state_e state_q, state_d;

  logic fetched;
  logic [$clog2(WQE_SLOTS_MAX):0] readable;
  word_index_t index_q;  // of the word that is asked for
  logic [8*SGE_BYTES-1:0] word;

  /* verilator lint_off PINCONNECTEMPTY */  // what counts is whether enough slots are readable
  wqe_fetch #(
      .BATCH(WQE_SLOTS_MAX)
  ) u_fetch (
      .clk_i,
      .rst_ni,
      .start_i,
      .place_i('0),
      .ring_pbl_i,
      .ring_log_i,
      .consumer_i,
      .producer_i,
      .idle_o(),
      .done_o(fetched),
      .failed_o(),
      .count_o(readable),
      .word_index_i(index_q),
      .word_o(word),
      .xlate_valid_o,
      .xlate_ready_i,
      .xlate_o,
      .xlate_rsp_valid_i,
      .xlate_rsp_i,
      .read_valid_o,
      .read_ready_i,
      .read_o,
      .beat_valid_i,
      .beat_i
  );
  /* verilator lint_on PINCONNECTEMPTY */

  // ---- Its header, word by word
  /* verilator lint_off UNUSEDSIGNAL */  // a receive has nothing to do with a peer's memory
  wqe_t head, tail;
  /* verilator lint_on UNUSEDSIGNAL */
  assign head = wqe_t'(word);
  assign tail = wqe_t'({word, {8 * SGE_BYTES{1'b0}}});

  // Slots that so many elements need.
  function automatic logic [7:0] slots_for(logic [7:0] elements);
    if (elements <= 8'(WQE_SGES)) return 8'd1;
    return 8'd1 + (elements - 8'(WQE_SGES) + 8'(WQE_SLOT_SGES - 1)) / 8'(WQE_SLOT_SGES);
  endfunction

  // No more are readable than are posted, and than a work request can have.
  logic countable, well_formed;
  assign countable = head.num_slots != '0 && head.num_slots <= 8'(readable);
  assign well_formed = countable && head.opcode == WQE_OPCODE_RECV && head.flags == '0 &&
      head.imm_data == '0 && head.num_sge <= 8'(MAX_SGE) &&
      head.num_slots == slots_for(head.num_sge);

  // ---- Its elements
  logic [$clog2(MAX_SGE):0] elements_q, taken_q;
  logic [$clog2(MAX_SGE)+32:0] sum_q;
  logic [31:0] length_q;
  logic well_formed_q;
  logic [$clog2(WQE_SLOTS_MAX):0] slots_q;
  logic last_element;
  assign last_element = taken_q + 1'b1 == elements_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle: if (start_i) state_d = StFetch;
      StFetch: if (fetched) state_d = readable == '0 ? StEnd : StAsk;
      StAsk: state_d = StHead;
      StHead: state_d = well_formed && !flush_i ? StLength : StEnd;
      StLength: state_d = elements_q == '0 ? StEnd : StElements;
      StElements: if (last_element) state_d = StEnd;
      default: state_d = StIdle;
    endcase
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= StIdle;
    else state_q <= state_d;
  end

  always_ff @(posedge clk_i) begin
    index_q <= state_q inside {StIdle, StFetch} ? '0 : index_q + 1'b1;
    unique case (state_q)
      StIdle: begin
        well_formed_q <= 1'b0;
        slots_q       <= 1;  // nothing sensible says how many
        taken_q       <= '0;
        sum_q         <= '0;
      end
      StHead: begin
        well_formed_q <= well_formed;
        elements_q    <= ($clog2(MAX_SGE) + 1)'(head.num_sge);
        if (countable) slots_q <= ($clog2(WQE_SLOTS_MAX) + 1)'(head.num_slots);
      end
      StLength: length_q <= tail.length;
      StElements: begin
        taken_q <= taken_q + 1'b1;
        sum_q   <= sum_q + ($bits(sum_q))'(element_o.length);
      end
      default: ;
    endcase
  end

  assign element_we_o = state_q == StElements;
  assign element_index_o = ($clog2(MAX_SGE))'(taken_q);
  assign element_o = sge_t'(word);

  assign done_o = state_q == StEnd;
  assign wqe_index_o = consumer_i + wqe_index_t'(slots_q) - 1'b1;
  assign length_o = length_q;
  always_comb begin
    if (!well_formed_q) status_o = CQE_STATUS_LOC_QP_OP_ERR;
    else if (sum_q != ($bits(sum_q))'(length_q) || length_q > 32'(MESSAGE_MAX))
      status_o = CQE_STATUS_LOC_LEN_ERR;
    else status_o = CQE_STATUS_SUCCESS;
  end

endmodule
