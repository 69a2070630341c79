// SPDX-License-Identifier: BSD-2-Clause
// Takes the receive at the consumer of a ring: has its slots fetched, checks it, and hands out its
// elements. To flush it, only its number of slots counts.

module receive_fetch
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
#(
    localparam int unsigned WORDS = WQE_SLOTS_MAX * WQE_BYTES / SGE_BYTES
) (
    input  logic clk_i,
    input  logic rst_ni,

    // A ring with at least one slot posted; its indices are constant until it is fetched.
    input  logic        start_i,
    input  logic        flush_i,
    input  wqe_index_t  consumer_i,
    input  wqe_index_t  producer_i,
    output fetched_t    fetched_o,

    output logic                       element_we_o,
    output logic [$clog2(MAX_SGE)-1:0] element_index_o,
    output sge_t                       element_o,

    // The slots, see receive_cache.
    output logic        in_use_o,
    output logic        want_o,
    output wqe_slots_t slots_o,
    input  logic        there_i,
    input  wqe_slots_t readable_i,
    output logic [$clog2(WORDS)-1:0] word_index_o,
    input  logic [8*SGE_BYTES-1:0]   word_i
);

  typedef enum logic [2:0] { StIdle, StFetch, StHead, StLength, StElements, StEnd } state_e;
  state_e state_q, state_d;

  wqe_slots_t want_q;  // so many slots are needed
  logic [$clog2(WORDS)-1:0] index_q;  // of the word that is asked for

  // ---- Its header, word by word
  /* verilator lint_off UNUSEDSIGNAL */  // a receive has nothing to do with a peer's memory
  wqe_t head, tail;
  /* verilator lint_on UNUSEDSIGNAL */
  assign head = wqe_t'(word_i);
  assign tail = wqe_t'({word_i, {8 * SGE_BYTES{1'b0}}});

  // Slots that so many elements need.
  function automatic logic [7:0] slots_for(logic [7:0] elements);
    if (elements <= 8'(WQE_SGES)) return 8'd1;
    return 8'd1 + (elements - 8'(WQE_SGES) + 8'(WQE_SLOT_SGES - 1)) / 8'(WQE_SLOT_SGES);
  endfunction

  // No more are readable than are posted, and than a work request can have; they may be on their way.
  logic countable, incomplete, well_formed;
  wqe_index_t posted;
  assign posted = producer_i - consumer_i;
  assign countable = head.num_slots != '0 && head.num_slots <= 8'(readable_i);
  assign incomplete = head.num_slots > 8'(want_q) && head.num_slots <= 8'(WQE_SLOTS_MAX) &&
      wqe_index_t'(head.num_slots) <= posted && head.num_slots > 8'(readable_i);
  assign well_formed = countable && head.opcode == WQE_OPCODE_RECV && head.flags == '0 &&
      head.imm_data == '0 && head.num_sge <= 8'(MAX_SGE) &&
      head.num_slots == slots_for(head.num_sge);

  // ---- Its elements
  logic [$clog2(MAX_SGE):0] elements_q, taken_q;
  logic [$clog2(MAX_SGE)+32:0] sum_q;
  logic [31:0] length_q;
  logic well_formed_q;
  wqe_slots_t slots_q;
  logic last_element;
  assign last_element = taken_q + 1'b1 == elements_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle: if (start_i) state_d = StFetch;
      StFetch: if (there_i) state_d = readable_i == '0 ? StEnd : StHead;
      StHead: state_d = incomplete ? StFetch : well_formed && !flush_i ? StLength : StEnd;
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
    index_q <= state_d inside {StIdle, StFetch} ? '0 : index_q + 1'b1;
    unique case (state_q)
      StIdle: begin
        want_q        <= 1;
        well_formed_q <= 1'b0;
        slots_q       <= 1;  // nothing sensible says how many
        taken_q       <= '0;
        sum_q         <= '0;
      end
      StHead: begin
        want_q        <= wqe_slots_t'(head.num_slots);
        well_formed_q <= well_formed;
        elements_q    <= ($clog2(MAX_SGE) + 1)'(head.num_sge);
        if (countable) slots_q <= wqe_slots_t'(head.num_slots);
      end
      StLength: length_q <= tail.length;
      StElements: begin
        taken_q <= taken_q + 1'b1;
        sum_q   <= sum_q + ($bits(sum_q))'(element_o.length);
      end
      default: ;
    endcase
  end

  assign in_use_o = state_q != StIdle;
  assign want_o = state_q == StFetch;
  assign slots_o = want_q;
  assign word_index_o = index_q;

  assign element_we_o = state_q == StElements;
  assign element_index_o = ($clog2(MAX_SGE))'(taken_q);
  assign element_o = sge_t'(word_i);

  cqe_status_e status;
  always_comb begin
    if (!well_formed_q) status = CQE_STATUS_LOC_QP_OP_ERR;
    else if (sum_q != ($bits(sum_q))'(length_q) || length_q > 32'(MESSAGE_MAX))
      status = CQE_STATUS_LOC_LEN_ERR;
    else status = CQE_STATUS_SUCCESS;
  end
  assign fetched_o = '{
          done: state_q == StEnd,
          status: status,
          wqe_index: consumer_i + wqe_index_t'(slots_q) - 1'b1,
          length: length_q
      };

endmodule
