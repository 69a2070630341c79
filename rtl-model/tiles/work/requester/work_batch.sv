// SPDX-License-Identifier: BSD-2-Clause
// The work requests of a turn: fetches slots, and hands out the work requests in them one by one,
// checked. The next one is checked while the one before it is executed, unless that one's elements
// are still to be read from the batch. What is posted behind them is fetched ahead, if wanted. A
// first slot that is held on chip is not fetched.

module work_batch
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import requester_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    input  logic       start_i,       // fetch, then hand out the first work request
    input  logic       held_i,        // with start_i: not to be fetched, the only slot there is so far
    input  wqe_slot_t  held_slot_i,   // stays for as many cycles as it has beats
    input  logic       next_i,        // hand out the next one
    input  logic       more_i,        // pulse: fetch ahead, if there is room for it
    output logic       idle_o,        // nothing is being fetched; to be awaited before start_i
    output logic       waits_o,       // nothing changes before more is there
    // Of the queue pair: the ring and its indices with start_i and more_i, the others all the time.
    input  logic       slots_only_i,  // none of them is executed
    input  logic [63:0] ring_pbl_i,
    input  logic [3:0]  ring_log_i,
    input  wqe_index_t  consumer_i,
    input  wqe_index_t  producer_i,
    input  reads_t      max_reads_i,
    input  service_e    service_i,
    input  logic        has_windows_i,
    input  node_t       own_node_i,
    input  chunk_t      mtu_i,

    output logic        done_o,  // pulse: it is handed out,
    output logic        torn_o,  // or it is not there, or not as a whole: for another turn
    output logic        last_o,  // no other follows in this turn
    // From the cycle behind done_o to the next one.
    output cqe_status_e status_o,
    output wqe_index_t  index_o,  // of its first slot
    output slots_t      slots_o,
    output wqe_t        wqe_o,
    output inline_t     inline_o,
    output reads_t      reads_o,

    output word_index_t second_sge_o,  // place of its second element
    input  word_index_t word_index_i,  // not before done_o
    output sge_t        word_o,        // one cycle later

    output logic           xlate_valid_o,
    input  logic           xlate_ready_i,
    output xlate_req_t     xlate_o,
    input  logic           xlate_rsp_valid_i,
    input  xlate_rsp_t     xlate_rsp_i,
    output logic           read_valid_o,
    input  logic           read_ready_i,
    output dma_read_req_t  read_o,
    input  logic           beat_valid_i,
    input  dma_read_beat_t beat_i
);

  localparam int unsigned SlotWords = WQE_BYTES / SGE_BYTES;
  localparam int unsigned SecondSge = SlotWords - 1;  // word of a slot

  // All by index in the ring; the low bits are the place in the buffer.
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
      (!idle_o || there_q != batch_count_t'(end_q - at_q));
  assign checked = check_done && checking_q && !again;
  assign next_at = at_q + wqe_index_t'(slots);
  assign last_o  = idle_o && !is_before(at_q, end_q);
  assign torn_o  = begun_q && (incomplete || there_q == '0);
  assign done_o  = wanted_q && (checked || ready_q);
  assign ahead   = done_o && !torn_o && wqe.num_sge <= 8'd1 && is_before(next_at, end_q);
  assign due     = due_q || ahead || (next_i && !checking_q && !ready_q);
  assign check_at = done_o ? next_at : at_q;
  assign check   = due && !start_i && (idle_o || (is_before(check_at, end_q) && !part_q));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wanted_q   <= 1'b0;
      due_q      <= 1'b0;
      part_q     <= 1'b0;
      checking_q <= 1'b0;
      ready_q    <= 1'b0;
    end else begin
      wanted_q   <= start_i || next_i || (wanted_q && !done_o);
      due_q      <= start_i || again || (due && !check);
      part_q     <= !start_i && (again || (part_q && !check));
      checking_q <= check || (checking_q && !check_done && !start_i);
      ready_q    <= (checked || ready_q) && !done_o && !start_i;
    end
  end
  assign waits_o = fetch_waits && !start_i && !next_i && !check && !checking_q && !done_o;
  always_ff @(posedge clk_i) begin
    if (check) begin
      there_q       <= batch_count_t'(end_q - check_at);
      left_posted_q <= posted_q - check_at;
    end
    if (start_i) begin
      begun_q <= 1'b0;
      at_q    <= consumer_i;
    end else if (done_o) begin
      begun_q      <= 1'b1;
      at_q         <= next_at;
      status_o     <= status;
      index_o      <= at_q;
      slots_o      <= slots;
      wqe_o        <= wqe;
      inline_o     <= inline_data;
      reads_o      <= reads;
      second_sge_o <= word_index_t'(32'(at_q) * SlotWords + SecondSge);
    end
  end

  // ---- Slots: at first those of a short turn, so that it begins soon. The work request in hand
  // keeps its place.
  wqe_index_t posted, from, behind;
  logic [$clog2(AHEAD_SLOTS):0] count;
  logic room, fetch;
  assign posted = producer_i - consumer_i;
  assign room   = end_q - index_o <= wqe_index_t'(BATCH_SLOTS - AHEAD_SLOTS);
  assign from   = start_i ? consumer_i : end_q;
  assign behind = start_i && posted > wqe_index_t'(TURN_SLOTS) ?
      consumer_i + wqe_index_t'(TURN_SLOTS) : producer_i;
  assign fetch  = start_i ? !held_i :
      more_i && idle_o && !stuck_q && room && producer_i != end_q;
  always_ff @(posedge clk_i) begin
    if (fetch || start_i) posted_q <= producer_i;
    if (start_i) begin
      end_q   <= held_i ? consumer_i + 1'b1 : consumer_i;
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
  assign held = (start_i && held_i) || loading_q;
  assign line = start_i ? '0 : line_q;
  assign slot_beat = '{
          dst: tx_address_t'({($clog2(BATCH_SLOTS))'(start_i ? consumer_i : at_q), line,
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

  wqe_fetch #(
      .BATCH(AHEAD_SLOTS),
      .SLOTS(BATCH_SLOTS)
  ) u_fetch (
      .clk_i,
      .rst_ni,
      .start_i(fetch),
      .place_i(($clog2(BATCH_SLOTS))'(from)),
      .ring_pbl_i,
      .ring_log_i,
      .consumer_i(from),
      .producer_i(behind),
      .idle_o,
      .waits_o(fetch_waits),
      .done_o(fetched),
      .failed_o(failed),
      .count_o(count),
      .word_index_i(check || checking_q ? check_word_index : word_index_i),
      .word_o,
      .xlate_valid_o,
      .xlate_ready_i,
      .xlate_o,
      .xlate_rsp_valid_i,
      .xlate_rsp_i,
      .read_valid_o,
      .read_ready_i,
      .read_o,
      .beat_valid_i(beat_valid_i || held),
      .beat_i(held ? slot_beat : beat_i)
  );

  wqe_check u_check (
      .clk_i,
      .rst_ni,
      .start_i(check),
      .slots_only_i,
      .first_word_i(word_index_t'(32'(check_at) * SlotWords)),
      .there_i(there_q),
      .posted_i(left_posted_q),
      .max_reads_i,
      .service_i,
      .has_windows_i,
      .own_node_i,
      .mtu_i,
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

endmodule
