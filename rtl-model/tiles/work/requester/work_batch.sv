// SPDX-License-Identifier: BSD-2-Clause
// The work requests of a turn: fetches slots, and hands out the work requests in them one by one,
// checked. The next one is checked while the one before it is executed, unless that one's elements
// are still to be read from the batch. What is posted behind them is fetched ahead, if wanted. A
// first slot that is held on chip is not fetched.

`include "exrnic_assert.svh"

module work_batch
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import requester_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    work_batch_if.batch turn,
    input logic         held_i,       // with turn.start: not to be fetched, the only slot there is so far
    input wqe_slot_t    held_slot_i,  // stays for as many cycles as it has beats
    output logic        waits_o,      // nothing changes before more is there
    // The queue pair: the ring and its indices with turn.start and turn.more, the others all the time.
    /* verilator lint_off UNUSEDSIGNAL */  // a reader needs a part of the record
    input qp_t          qp_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic         slots_only_i,  // none of its work requests is executed
    input logic         has_windows_i,
    settings_if.user    settings,

    input  word_index_t word_index_i,  // not before turn.done
    output sge_t        word_o,        // one cycle later

    xlate_if.client    xlate,
    dma_read_if.client read
);

  localparam int unsigned SlotWords = WQE_BYTES / SGE_BYTES;
  localparam int unsigned SecondSge = SlotWords - 1;  // word of a slot

  // All by index in the ring; the low bits are the place in the buffer.
  wqe_index_t consumer, producer;
  wqe_index_t at_q, next_at;  // of the work request that is checked, or will be next
  wqe_index_t end_q;          // behind what is there
  wqe_index_t posted_q;       // behind what was posted when the last slots were asked for
  logic begun_q;   // a work request of this turn was handed out
  logic stuck_q;   // the slot at end_q cannot be read
  logic wanted_q;  // one is to be handed out
  logic due_q;     // a check is to begin,
  logic part_q;    // when more is there
  logic checking_q;
  logic ready_q;   // the next one is checked

  logic fetched, failed, fetch_waits, check, check_done, checked, again, ahead, due, incomplete;
  batch_count_t there_q;
  wqe_index_t check_at, left_posted_q;
  word_index_t check_word_index;
  cqe_status_e status;
  slots_t slots;
  wqe_t wqe;
  inline_t inline_data;
  reads_t reads;

  // One that cannot be read counts as a slot that is not there: it ends behind end_q.
  function automatic logic is_before(wqe_index_t index, wqe_index_t limit);
    wqe_index_t left;
    left = limit - index;
    return left != '0 && !left[$bits(left)-1];
  endfunction

  // Not one of an earlier turn, and not if what is missing has come meanwhile or may come.
  assign again   = check_done && checking_q && incomplete &&
      (!turn.idle || there_q != batch_count_t'(end_q - at_q));
  assign checked = check_done && checking_q && !again;
  assign next_at = at_q + wqe_index_t'(slots);
  assign turn.last = turn.idle && !is_before(at_q, end_q);
  assign turn.torn = begun_q && (incomplete || there_q == '0);
  assign turn.done = wanted_q && (checked || ready_q);
  assign ahead   = turn.done && !turn.torn && wqe.num_sge <= 8'd1 && is_before(next_at, end_q);
  assign due     = due_q || ahead || (turn.next && !checking_q && !ready_q);
  assign check_at = turn.done ? next_at : at_q;
  assign check   = due && !turn.start && (turn.idle || (is_before(check_at, end_q) && !part_q));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wanted_q   <= 1'b0;
      due_q      <= 1'b0;
      part_q     <= 1'b0;
      checking_q <= 1'b0;
      ready_q    <= 1'b0;
    end else begin
      wanted_q   <= turn.start || turn.next || (wanted_q && !turn.done);
      due_q      <= turn.start || again || (due && !check);
      part_q     <= !turn.start && (again || (part_q && !check));
      checking_q <= check || (checking_q && !check_done && !turn.start);
      ready_q    <= (checked || ready_q) && !turn.done && !turn.start;
    end
  end
  assign waits_o = fetch_waits && !turn.start && !turn.next && !check && !checking_q && !turn.done;
  always_ff @(posedge clk_i) begin
    if (check) begin
      there_q       <= batch_count_t'(end_q - check_at);
      left_posted_q <= posted_q - check_at;
    end
    if (turn.start) begin
      begun_q <= 1'b0;
      at_q    <= consumer;
    end else if (turn.done) begin
      begun_q      <= 1'b1;
      at_q         <= next_at;
      turn.request <= '{
          status: status,
          index: at_q,
          slots: slots,
          wqe: wqe,
          inline_data: inline_data,
          reads: reads,
          second_sge: word_index_t'(32'(at_q) * SlotWords + SecondSge)
      };
    end
  end

  // ---- Slots: at first those of a short turn, so that it begins soon. The work request in hand
  // keeps its place.
  wqe_index_t posted, from, behind;
  logic [$clog2(AHEAD_SLOTS):0] count;
  logic room, fetch;
  assign consumer = qp_i.sq.consumer;
  assign producer = qp_i.sq_producer;
  assign posted = producer - consumer;
  assign room   = end_q - turn.request.index <= wqe_index_t'(BATCH_SLOTS - AHEAD_SLOTS);
  assign from   = turn.start ? consumer : end_q;
  assign behind = turn.start && posted > wqe_index_t'(TURN_SLOTS) ?
      consumer + wqe_index_t'(TURN_SLOTS) : producer;
  assign fetch  = turn.start ? !held_i :
      turn.more && turn.idle && !stuck_q && room && producer != end_q;
  always_ff @(posedge clk_i) begin
    if (fetch || turn.start) posted_q <= producer;
    if (turn.start) begin
      end_q   <= held_i ? consumer + 1'b1 : consumer;
      stuck_q <= 1'b0;
    end else if (fetched) begin
      end_q   <= end_q + wqe_index_t'(count);
      stuck_q <= failed;
    end
  end

  // The held slot goes to its place as if it had been read, one line before the check at least.
  localparam int unsigned SlotLines = WQE_BYTES / DATA_BYTES;
  typedef logic [$clog2(SlotLines)-1:0] line_t;
  logic held, loading_q;
  line_t line, line_q;
  dma_read_beat_t slot_beat;
  assign held = (turn.start && held_i) || loading_q;
  assign line = turn.start ? '0 : line_q;
  assign slot_beat = '{
          dst: tx_address_t'({($clog2(BATCH_SLOTS))'(turn.start ? consumer : at_q), line,
                              ($clog2(DATA_BYTES))'(0)}),
          data: held_slot_i[DATA_W*32'(line)+:DATA_W],
          bytes: chunk_t'(DATA_BYTES),
          error: 1'b0
      };
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) loading_q <= 1'b0;
    else loading_q <= held && line != line_t'(SlotLines - 1);
  end
  always_ff @(posedge clk_i) line_q <= line + 1'b1;

  dma_read_if slots_read ();
  assign read.valid = slots_read.valid;
  assign read.req = slots_read.req;
  assign slots_read.ready = read.ready;
  assign slots_read.beat_valid = read.beat_valid || held;
  assign slots_read.beat = held ? slot_beat : read.beat;
  wqe_fetch #(
      .BATCH(AHEAD_SLOTS),
      .SLOTS(BATCH_SLOTS)
  ) u_fetch (
      .clk_i,
      .rst_ni,
      .start_i(fetch),
      .place_i(($clog2(BATCH_SLOTS))'(from)),
      .ring_pbl_i(qp_i.cfg.sq_pbl),
      .ring_log_i(qp_i.cfg.sq_log),
      .consumer_i(from),
      .producer_i(behind),
      .idle_o(turn.idle),
      .waits_o(fetch_waits),
      .done_o(fetched),
      .failed_o(failed),
      .count_o(count),
      .word_index_i(check || checking_q ? check_word_index : word_index_i),
      .word_o,
      .xlate,
      .read(slots_read)
  );

  wqe_check u_check (
      .clk_i,
      .rst_ni,
      .start_i(check),
      .slots_only_i,
      .first_word_i(word_index_t'(32'(check_at) * SlotWords)),
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
      .slots_o(slots),
      .wqe_o(wqe),
      .inline_o(inline_data),
      .reads_o(reads)
  );

  // ---- What is promised
  // The work request in hand is not written over.
  `EXRNIC_ALWAYS(keeps_its_place,
      !begun_q || end_q - turn.request.index <= wqe_index_t'(BATCH_SLOTS))

endmodule
