// SPDX-License-Identifier: BSD-2-Clause
// The work requests of a turn: fetches a batch of slots, and hands out the work requests in it one
// by one, checked.

module work_batch
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import requester_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    // The ring, the consumer and max_reads_i are those of the queue pair at any time until done_o.
    input  logic       start_i,       // fetch, then check the first work request
    input  logic       next_i,        // check the next one
    input  logic       slots_only_i,  // none of them is executed
    input  logic [63:0] ring_pbl_i,
    input  logic [3:0]  ring_log_i,
    input  wqe_index_t  consumer_i,
    input  wqe_index_t  producer_i,   // with start_i
    input  reads_t      max_reads_i,

    output logic        done_o,  // pulse; what follows stays until the next start_i or next_i
    output logic        torn_o,  // it goes on behind the batch, which begins before it
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

  batch_count_t at_q, next_at, check_at;  // first slot of the work request
  wqe_index_t producer_q;
  logic checking_q;

  logic fetched, check, incomplete;
  /* verilator lint_off UNUSEDSIGNAL */  // a batch that is there in part tells it by its length
  logic failed;
  /* verilator lint_on UNUSEDSIGNAL */
  batch_count_t count;
  word_index_t check_word_index;
  assign check   = fetched || next_i;
  assign next_at = at_q + batch_count_t'(slots_o);
  assign check_at = next_i ? next_at : at_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) checking_q <= 1'b0;
    else checking_q <= check || (checking_q && !done_o);
  end
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      at_q       <= '0;
      producer_q <= producer_i;
    end else if (next_i) begin
      at_q <= next_at;
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
      .posted_i(producer_q - consumer_i),
      .max_reads_i,
      .word_index_o(check_word_index),
      .word_i(word_o),
      .done_o,
      .status_o,
      .incomplete_o(incomplete),
      .slots_o,
      .wqe_o,
      .inline_o,
      .reads_o
  );

  assign torn_o = incomplete && at_q != '0;
  assign last_o = next_at >= count;
  assign second_sge_o = word_index_t'(32'(at_q) * SlotWords + SecondSge);

endmodule
