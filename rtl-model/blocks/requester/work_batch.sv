// SPDX-License-Identifier: BSD-2-Clause
// The work requests of a turn: fetches a batch of slots, and hands out the work requests in it one
// by one, checked. The next one is checked while the one before it is executed, unless that one's
// elements are still to be read from the batch.

module work_batch
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import requester_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    input  logic       start_i,       // fetch, then hand out the first work request
    input  logic       next_i,        // hand out the next one
    // Of the queue pair: the indices with start_i, the others all the time.
    input  logic       slots_only_i,  // none of them is executed
    input  logic [63:0] ring_pbl_i,
    input  logic [3:0]  ring_log_i,
    input  wqe_index_t  consumer_i,
    input  wqe_index_t  producer_i,
    input  reads_t      max_reads_i,

    output logic        done_o,  // pulse: it is handed out,
    output logic        torn_o,  // or it goes on behind the batch, which begins before it
    // From the cycle behind done_o to the next one.
    output logic        last_o,  // no other follows in the batch
    output cqe_status_e status_o,
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

  batch_count_t at_q, next_at;  // first slot of the work request that is checked, or will be next
  wqe_index_t posted_q;         // slots, when the batch began
  logic wanted_q;               // one is to be handed out
  logic checking_q;
  logic ready_q;                // the next one is checked

  logic fetched, check, check_done, checked, ahead, incomplete, last;
  /* verilator lint_off UNUSEDSIGNAL */  // a batch that is there in part tells it by its length
  logic failed;
  /* verilator lint_on UNUSEDSIGNAL */
  batch_count_t count, check_at;
  word_index_t check_word_index;
  cqe_status_e status;
  slots_t slots;
  wqe_t wqe;
  inline_t inline_data;
  reads_t reads;
  assign checked = check_done && checking_q;  // not one of an earlier batch
  assign next_at = at_q + batch_count_t'(slots);
  assign last    = next_at >= count;
  assign torn_o  = incomplete && at_q != '0;
  assign done_o  = wanted_q && (checked || ready_q);
  assign ahead   = done_o && !last && !torn_o && wqe.num_sge <= 8'd1;
  assign check   = fetched || ahead || (next_i && !checking_q && !ready_q);
  assign check_at = done_o ? next_at : at_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wanted_q   <= 1'b0;
      checking_q <= 1'b0;
      ready_q    <= 1'b0;
    end else begin
      wanted_q   <= start_i || next_i || (wanted_q && !done_o);
      checking_q <= check || (checking_q && !checked && !start_i);
      ready_q    <= (checked || ready_q) && !done_o && !start_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      at_q     <= '0;
      posted_q <= producer_i - consumer_i;
    end else if (done_o) begin
      at_q         <= next_at;
      last_o       <= last;
      status_o     <= status;
      slots_o      <= slots;
      wqe_o        <= wqe;
      inline_o     <= inline_data;
      reads_o      <= reads;
      second_sge_o <= word_index_t'(32'(at_q) * SlotWords + SecondSge);
    end
  end

  wqe_fetch #(
      .BATCH(BATCH)
  ) u_fetch (
      .clk_i,
      .rst_ni,
      .start_i,
      .ring_pbl_i,
      .ring_log_i,
      .consumer_i,
      .producer_i,
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
      .beat_valid_i,
      .beat_i
  );

  wqe_check u_check (
      .clk_i,
      .rst_ni,
      .start_i(check),
      .slots_only_i,
      .first_word_i(word_index_t'(32'(check_at) * SlotWords)),
      .there_i(count - at_q),
      .posted_i(posted_q - wqe_index_t'(at_q)),
      .max_reads_i,
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
