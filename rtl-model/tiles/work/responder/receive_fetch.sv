// SPDX-License-Identifier: BSD-2-Clause
// Takes the receive at the consumer of a ring: has its slots fetched, checks it, and hands out its
// elements. To flush it, only its number of slots counts. The next receive of that ring is looked at
// meanwhile: if it is a plain one it is taken in one cycle.

module receive_fetch
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
#(
    localparam int unsigned WORDS = WQE_SLOTS_MAX * WQE_BYTES / SGE_BYTES
) (
    input  logic clk_i,
    input  logic rst_ni,

    input logic          quiesce_i,   // nothing is looked at ahead
    input logic          clear_i,     // that ring is another one from now on
    input slot_ring_id_t clear_id_i,

    // A ring with at least one slot posted; its indices are constant until it is fetched.
    input  logic        start_i,
    input  logic        flush_i,
    input  slot_ring_t  ring_i,
    output fetched_t    fetched_o,  // done with start_i, or later

    output logic                       element_we_o,
    output logic [$clog2(MAX_SGE)-1:0] element_index_o,
    output sge_t                       element_o,

    // The slots, see slot_cache.
    output logic       in_use_o,
    output slot_ring_t ring_o,
    output logic       want_o,
    output wqe_slots_t slots_o,
    input  logic       there_i,
    input  wqe_slots_t readable_i,
    output logic [$clog2(WORDS)-1:0] word_index_o,
    input  logic [8*SGE_BYTES-1:0]   word_i
);

  typedef enum logic [2:0] { StIdle, StFetch, StHead, StLength, StElements, StEnd } state_e;
  state_e state_q, state_d;

  wqe_slots_t want_q;  // so many slots are needed
  logic [$clog2(WORDS)-1:0] index_q;  // of the word that is asked for

  // ---- The next receive: looked at when the one before it was taken, and kept until it is taken too
  logic       ahead_q;    // it is in hand
  logic       due_q;      // it is to be looked at
  logic       known_q;    // it was: it takes one slot, and has one element or none
  logic       some_q;     // one
  slot_ring_t next_q;
  sge_t       next_element_q;
  logic [31:0] next_length_q;
  logic       hit, ends, plain;
  slot_ring_t ring;
  assign ring = ahead_q ? next_q : ring_i;
  assign ring_o = ring;
  assign hit = start_i && !flush_i && known_q && next_q.id == ring_i.id && next_q.consumer == ring_i.consumer;
  assign ends = state_q == StEnd && !ahead_q;
  assign plain = well_formed_q && slots_q == 1 && elements_q <= 1 && status == CQE_STATUS_SUCCESS;

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
  assign posted = ring.producer - ring.consumer;
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
  /* verilator lint_off UNUSEDSIGNAL */  // its length counts
  sge_t fetched_element;
  /* verilator lint_on UNUSEDSIGNAL */
  assign fetched_element = sge_t'(word_i);
  assign last_element = taken_q + 1'b1 == elements_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle: if (due_q && !quiesce_i) state_d = StFetch;
      StFetch: if (there_i) state_d = readable_i == '0 ? StEnd : StHead;
      StHead: state_d = incomplete ? StFetch : well_formed && !(flush_i && !ahead_q) ? StLength : StEnd;
      StLength: state_d = elements_q == '0 ? StEnd : StElements;
      StElements: if (last_element) state_d = StEnd;
      default: state_d = StIdle;
    endcase
    if (ahead_q && (quiesce_i || (state_q == StHead && head.num_sge > 8'd1))) state_d = StIdle;
    if (start_i) state_d = hit ? StIdle : StFetch;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      ahead_q <= 1'b0;
      due_q   <= 1'b0;
      known_q <= 1'b0;
    end else begin
      state_q <= state_d;
      ahead_q <= !start_i && state_d != StIdle && (ahead_q || state_q == StIdle);
      due_q   <= fetched_o.done && !flush_i && fetched_o.status == CQE_STATUS_SUCCESS &&
          ring_i.producer != fetched_o.wqe_index + 1'b1;
      // Who takes another one looks at its ring from then on.
      known_q <= !start_i && ((ahead_q && state_q == StEnd && plain) || known_q) &&
          !(clear_i && clear_id_i == next_q.id);
    end
  end
  always_ff @(posedge clk_i) begin
    if (fetched_o.done) begin
      next_q <= ring_i;
      next_q.consumer <= fetched_o.wqe_index + 1'b1;
    end
    if (ahead_q && state_q == StElements) next_element_q <= sge_t'(word_i);
    if (ahead_q && state_q == StEnd) begin
      some_q        <= elements_q != '0;
      next_length_q <= length_q;
    end
  end

  always_ff @(posedge clk_i) begin
    index_q <= state_d inside {StIdle, StFetch} ? '0 : index_q + 1'b1;
    if (start_i || state_q == StIdle) begin
      want_q        <= 1;
      well_formed_q <= 1'b0;
      slots_q       <= 1;  // nothing sensible says how many
      taken_q       <= '0;
      sum_q         <= '0;
    end else unique case (state_q)
      StHead: begin
        want_q        <= wqe_slots_t'(head.num_slots);
        well_formed_q <= well_formed;
        elements_q    <= ($clog2(MAX_SGE) + 1)'(head.num_sge);
        if (countable) slots_q <= wqe_slots_t'(head.num_slots);
      end
      StLength: length_q <= tail.length;
      StElements: begin
        taken_q <= taken_q + 1'b1;
        sum_q   <= sum_q + ($bits(sum_q))'(fetched_element.length);
      end
      default: ;
    endcase
  end

  assign in_use_o = state_q != StIdle;
  // Who wants another ring's begins anew; at rest nothing is looked at.
  assign want_o = state_q == StFetch && !start_i && !(ahead_q && quiesce_i);
  assign slots_o = want_q;
  assign word_index_o = index_q;

  assign element_we_o = (state_q == StElements && !ahead_q) || (hit && some_q);
  assign element_index_o = hit ? '0 : ($clog2(MAX_SGE))'(taken_q);
  assign element_o = hit ? next_element_q : sge_t'(word_i);

  cqe_status_e status;
  always_comb begin
    if (!well_formed_q) status = CQE_STATUS_LOC_QP_OP_ERR;
    else if (sum_q != ($bits(sum_q))'(length_q) || length_q > 32'(MESSAGE_MAX))
      status = CQE_STATUS_LOC_LEN_ERR;
    else status = CQE_STATUS_SUCCESS;
  end
  always_comb begin
    fetched_o = '{
            done: ends,
            status: status,
            wqe_index: ring_i.consumer + wqe_index_t'(slots_q) - 1'b1,
            length: length_q
        };
    if (hit) fetched_o = '{done: 1'b1, status: CQE_STATUS_SUCCESS, wqe_index: ring_i.consumer, length: next_length_q};
  end

endmodule
