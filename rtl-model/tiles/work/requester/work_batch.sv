// SPDX-License-Identifier: BSD-2-Clause
// The work requests of a turn: hands them out one by one, checked, from the slots that are on chip. The
// next one is checked while the one before it is executed, unless that one's elements are still to be
// read from its slots. A first slot that is held on chip is not fetched.

`include "exrnic_assert.svh"

module work_batch
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import requester_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    input logic quiesce_i,  // nothing is fetched ahead

    work_batch_if.batch turn,
    input logic         held_i,       // with turn.start: not to be fetched, the only slot there is so far
    input wqe_slot_t    held_slot_i,
    output logic        waits_o,      // nothing changes before more is there
    output logic        quiescent_o,  // no slots are being fetched,
    output logic        idle_o,       // nor wanted

    input  logic       wish_valid_i,  // slots of that ring will be needed
    output logic       wish_ready_o,
    input  slot_ring_t wish_i,

    input logic clear_i,  // what is remembered of the ring of that queue pair is void
    input qpn_t clear_qpn_i,

    // The queue pair, as it was last read.
    /* verilator lint_off UNUSEDSIGNAL */  // a reader needs a part of the record
    input qp_t          qp_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input qpn_t         qpn_i,
    input logic         others_wait_i,  // they go on when this one has to wait for its slots
    input logic         slots_only_i,   // none of its work requests is executed
    input logic         has_windows_i,
    settings_if.user    settings,

    input  word_index_t word_index_i,  // not before turn.done
    output sge_t        word_o,        // one cycle later

    xlate_if.client    xlate,
    dma_read_if.client read
);

  localparam int unsigned SecondSge = SLOT_WORDS - 1;  // word of a slot

  wqe_index_t consumer, producer;
  assign consumer = qp_i.sq.consumer;
  assign producer = qp_i.sq_producer;

  wqe_index_t at_q, next_at;  // of the work request that is checked, or will be next
  logic in_turn_q;
  logic begun_q;   // a work request of this turn was handed out
  logic wanted_q;  // one is to be handed out
  logic due_q;     // a check is to begin, when so many slots are there
  wqe_slots_t slots_q;
  logic checking_q;
  logic ready_q;   // the next one is checked

  logic cached, there, check, check_done, checked, again, ahead, incomplete, held_here;
  wqe_slots_t readable, there_q, needed;
  wqe_index_t left_posted_q;
  word_index_t check_word_index;
  cqe_status_e status;
  slots_t slots;
  wqe_t wqe;
  inline_t inline_data;
  reads_t reads;

  // One that cannot be read counts as a slot that is not there.
  assign again   = check_done && checking_q && incomplete && !held_here && slots_q < needed;
  assign checked = check_done && checking_q && !again;
  assign next_at = at_q + wqe_index_t'(slots);
  assign turn.torn = begun_q && (incomplete || there_q == '0);
  assign turn.done = wanted_q && (checked || ready_q);
  assign ahead = turn.done && !turn.torn && wqe.num_sge <= 8'd1 && next_at != producer;
  assign turn.last = !ready_q && !checking_q && !check &&
      (at_q == producer || (others_wait_i && due_q));
  assign there = held_here || cached;
  assign check = due_q && there;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_turn_q  <= 1'b0;
      wanted_q   <= 1'b0;
      due_q      <= 1'b0;
      checking_q <= 1'b0;
      ready_q    <= 1'b0;
    end else begin
      in_turn_q  <= !turn.over && (turn.start || in_turn_q);
      wanted_q   <= !turn.over && (turn.start || turn.next || (wanted_q && !turn.done));
      // What nobody waits for is forgotten at rest: the ring may be another one behind it.
      due_q      <= !turn.over && !(quiesce_i && !wanted_q && !turn.next && !turn.start && !turn.done) &&
          (turn.start || again || ahead || (turn.next && !checking_q && !ready_q) || (due_q && !check));
      checking_q <= !turn.over && (check || (checking_q && !check_done));
      ready_q    <= (checked || ready_q) && !turn.done && !turn.start;
    end
  end
  always_ff @(posedge clk_i) begin
    if (check) begin
      there_q       <= held_here ? wqe_slots_t'(1) : readable;
      left_posted_q <= producer - at_q;
    end
    if (again) slots_q <= needed;
    if (turn.start) begin
      begun_q <= 1'b0;
      at_q    <= consumer;
      slots_q <= wqe_slots_t'(1);
    end else if (turn.done) begin
      begun_q      <= 1'b1;
      at_q         <= next_at;
      slots_q      <= wqe_slots_t'(1);
      turn.request <= '{
          status: status,
          index: at_q,
          slots: slots,
          wqe: wqe,
          inline_data: inline_data,
          reads: reads,
          second_sge: {at_q, ($clog2(SLOT_WORDS))'(SecondSge)}
      };
    end
  end

  /* verilator lint_off UNUSEDSIGNAL */  // some properties count
  wqe_opcode_properties_t op;
  /* verilator lint_on UNUSEDSIGNAL */
  assign op = of_wqe_opcode(wqe.opcode);
  assign turn.ahead = ready_q && status == CQE_STATUS_SUCCESS && !incomplete && !op.stays &&
      !wqe.flags[WQE_FLAGS_INLINE] && wqe.num_sge != '0 && wqe.sge0_length != '0;
  assign turn.ahead_pulls = op.pull;
  assign turn.ahead_sge =
      '{stag: wqe.sge0_stag, length: wqe.sge0_length, address: wqe.sge0_address};

  // ---- The slot that was held, as long as the turn may read it
  logic held_q, word_held_q;
  wqe_index_t held_index_q;
  logic [SLOT_WORDS-1:0][8*SGE_BYTES-1:0] held_slot_q;
  sge_t held_word_q, cached_word;
  word_index_t word_index;
  assign word_index = check || checking_q ? check_word_index : word_index_i;
  assign held_here = held_q && at_q == held_index_q;
  always_ff @(posedge clk_i) begin
    if (turn.start) begin
      held_q       <= held_i;
      held_index_q <= consumer;
      if (held_i) held_slot_q <= held_slot_i;
    end
    word_held_q <= held_q && word_index[$clog2(SLOT_WORDS)+:$bits(wqe_index_t)] == held_index_q;
    if (held_q) held_word_q <= held_slot_q[word_index[$clog2(SLOT_WORDS)-1:0]];
  end
  assign word_o = word_held_q ? held_word_q : cached_word;

  // ---- The others
  slot_ring_t ring;
  slot_ring_id_t cleared;
  logic cache_waits;
  always_comb begin
    ring = '0;
    ring.id.number = ($bits(ring.id.number))'(qpn_i);
    ring.pbl = qp_i.cfg.sq_pbl;
    ring.log_slots = qp_i.cfg.sq_log;
    ring.producer = producer;
    // The oldest one that is needed.
    ring.consumer = begun_q ? turn.request.index : at_q;
    cleared = '0;
    cleared.number = ($bits(cleared.number))'(clear_qpn_i);
  end
  slot_cache #(
      .WISHES_DISPLACE(1'b1)
  ) u_cache (
      .clk_i,
      .rst_ni,
      .quiesce_i,
      .waits_o(cache_waits),
      .quiescent_o,
      .idle_o,
      .clear_i,
      .clear_id_i(cleared),
      .wish_valid_i,
      .wish_ready_o,
      .wish_i,
      .in_use_i(in_turn_q),
      .ring_i(ring),
      .ahead_i(turn.start),
      .ahead_from_i(consumer + wqe_index_t'(held_i)),
      .want_i(due_q && !held_here && (wanted_q || !quiesce_i)),
      .at_i(at_q),
      .slots_i(slots_q),
      .there_o(cached),
      .readable_o(readable),
      .taken_i(turn.taken),
      .next_i(turn.request.index + wqe_index_t'(turn.request.slots)),
      .word_slot_i(word_index[$clog2(SLOT_WORDS)+:$bits(wqe_index_t)]),
      .word_i(word_index[$clog2(SLOT_WORDS)-1:0]),
      .word_o(cached_word),
      .xlate,
      .read
  );
  assign waits_o = cache_waits && !check && !checking_q && !turn.done;

  wqe_check u_check (
      .clk_i,
      .rst_ni,
      .start_i(check),
      .slots_only_i,
      .first_word_i({at_q, ($clog2(SLOT_WORDS))'(0)}),
      .there_i(there_q),
      .posted_i(left_posted_q),
      .max_reads_i(qp_i.cfg.max_reads_out),
      .service_i(qp_i.cfg.service),
      .has_windows_i,
      .mtu_i(settings.mtu),
      .word_index_o(check_word_index),
      .word_i(word_o),
      .done_o(check_done),
      .status_o(status),
      .incomplete_o(incomplete),
      .needed_o(needed),
      .slots_o(slots),
      .wqe_o(wqe),
      .inline_o(inline_data),
      .reads_o(reads)
  );

  // ---- What is promised
  `EXRNIC_ALWAYS(begins_anew, !turn.start || !(due_q || checking_q))

endmodule
