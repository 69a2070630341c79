// SPDX-License-Identifier: BSD-2-Clause
// Doorbells and PIO blocks: stores of processes into their user pages. What a page does not own, it
// cannot ring.

`include "exrnic_assert.svh"

module user_page
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    // A store to BAR 2.
    input  logic        store_valid_i,
    output logic        store_ready_o,
    input  logic [31:0] store_address_i,
    input  logic [3:0]  store_size_i,
    input  logic [63:0] store_data_i,

    input logic enable_i,   // without it doorbells are refused
    input logic quiesce_i,  // no new store is taken
    output logic idle_o,

    output logic qp_read_o,
    output qpn_t qp_index_o,
    /* verilator lint_off UNUSEDSIGNAL */  // a reader needs a part of the record
    input  qp_t  qp_row_i,
    /* verilator lint_on UNUSEDSIGNAL */

    output logic  srq_read_o,
    output srqn_t srq_read_srqn_o,
    /* verilator lint_off UNUSEDSIGNAL */  // likewise
    input  srq_t  srq_i,
    /* verilator lint_on UNUSEDSIGNAL */

    output logic       producer_we_o,
    output logic       producer_rq_o,
    output qpn_t       producer_qpn_o,
    output wqe_index_t producer_o,
    output logic       srq_producer_we_o,  // of srq_read_srqn_o
    output wqe_index_t srq_producer_o,

    // Pulse: the work request at producer_o - 1 came whole, and is the next one of an idle queue.
    output logic      pio_valid_o,
    output wqe_slot_t pio_slot_o,
    input  logic      pio_drop_i,  // what this page has of a PIO block is forgotten
    input  page_t     pio_drop_page_i,

    output logic wake_valid_o,
    input  logic wake_ready_i,
    output qpn_t wake_qpn_o,

    output logic         cq_valid_o,
    input  logic         cq_ready_i,
    output cq_doorbell_t cq_o,

    // Pulse: a page rings for firmware.
    input  logic      firmware_i,  // it is READY
    input  logic      firmware_drop_i,  // what this page has of firmware's block is forgotten
    input  page_t     firmware_drop_page_i,
    output logic      firmware_valid_o,
    output page_t     firmware_page_o,
    output doorbell_t firmware_o,
    output logic      firmware_whole_o,  // it came by a PIO block:
    output wqe_slot_t firmware_block_o,

    output event_t event_o
);

  typedef enum logic [2:0] { StIdle, StBlock, StRead, StCheck, StWake, StCq } state_e;
  state_e state_q;
  logic [11:0] offset_q;
  page_t page_q;
  doorbell_t stored_q;

  // Well formed: 8 bytes at the place of a doorbell.
  doorbell_t stored;
  logic [11:0] offset;
  page_t page;
  logic for_qp, for_srq, for_cq;
  assign stored  = store_data_i;
  assign offset  = store_address_i[11:0];
  assign page    = store_address_i[$clog2(USER_PAGE_SIZE)+:$bits(page_t)];

  // Or a part of a PIO block, which rings when it is complete.
  logic accept, in_bar, well_formed, firmware_rings;
  logic for_pio, complete, block_refused, is_pio_q;
  wqe_t block;
  assign accept = store_valid_i && store_ready_o;
  always_comb begin
    {for_qp, for_srq, for_cq, for_pio, in_bar, well_formed, firmware_rings} = '0;
    if (accept) begin
      in_bar  = store_address_i < 32'(BAR2_SIZE);
      for_qp  = offset == 12'(DOORBELL_SQ) || offset == 12'(DOORBELL_RQ);
      for_srq = offset == 12'(DOORBELL_SRQ);
      for_cq  = offset == 12'(DOORBELL_CQ) || offset == 12'(DOORBELL_CQ_ARM) ||
          offset == 12'(DOORBELL_CQ_ARM_SOLICITED);
      for_pio = in_bar && offset >= (firmware_i ? 12'(PIO_FIRMWARE) : 12'(PIO_AREA));
      well_formed = enable_i && store_size_i == 4'd8 && in_bar &&
          (for_cq || for_qp || (for_srq && stored.number < 32'(N_SRQ)));
      firmware_rings = offset == 12'(DOORBELL_FIRMWARE) && firmware_i && enable_i &&
          store_size_i == 4'd8 && in_bar;
    end
  end
  pio_assembly u_pio (
      .clk_i,
      .rst_ni,
      .store_i(for_pio && enable_i),
      .page_i(page),
      .offset_i(offset),
      .size_i(store_size_i),
      .data_i(store_data_i),
      .complete_o(complete),
      .refused_o(block_refused),
      .block_o(block),
      .drop_i(pio_drop_i),
      .drop_page_i(pio_drop_page_i),
      // Whoever rings without a block has begun none, or lost it.
      .drop_firmware_i({firmware_rings, firmware_drop_i}),
      .drop_firmware_page_i('{firmware_drop_page_i, page})
  );
  doorbell_t bell;
  assign bell = is_pio_q ? '{number: block.number, index: block.index} : stored_q;

  // A block of firmware's goes there as it is.
  logic firmware_whole;
  localparam int unsigned BellBits = $bits(doorbell_t);
  assign firmware_whole = state_q == StRead && is_pio_q && offset_q < 12'(PIO_AREA);
  assign firmware_valid_o = firmware_rings || firmware_whole;
  assign firmware_page_o = firmware_whole ? page_q : page;
  assign firmware_o = firmware_whole ? doorbell_t'(firmware_block_o[$bits(wqe_slot_t)-1-:BellBits]) : stored;
  assign firmware_whole_o = firmware_whole;
  assign firmware_block_o = block;

  // The ring in question. A queue pair that takes its receives from a shared queue has none.
  logic is_rq, is_srq, owned;
  logic [3:0] log_slots;
  wqe_index_t producer, consumer;
  assign is_rq  = offset_q == 12'(DOORBELL_RQ);
  assign is_srq = offset_q == 12'(DOORBELL_SRQ);
  always_comb begin
    {owned, log_slots, producer, consumer} = '0;
    if (state_q != StCheck) begin
      // Nothing is read from a table.
    end else if (is_srq) begin
      owned     = srq_i.cfg.valid && srq_i.cfg.page == page_q;
      log_slots = srq_i.cfg.log_slots;
      producer  = srq_i.producer;
      consumer  = srq_i.consumer;
    end else begin
      owned     = qp_row_i.cfg.valid && qp_row_i.cfg.page == page_q &&
          qp_row_i.status.state != QP_STATE_RESET && !(is_rq && qp_row_i.cfg.has_srq);
      log_slots = is_rq ? qp_row_i.cfg.rq_log : qp_row_i.cfg.sq_log;
      producer  = is_rq ? qp_row_i.rq_producer : qp_row_i.sq_producer;
      consumer  = is_rq ? qp_row_i.rq_consumer : qp_row_i.sq.consumer;
    end
  end

  // The new index may run ahead of the consumer by no more than the ring holds, and takes back
  // nothing: what was posted may have been taken already.
  // A PIO block posts one slot, the next one.
  logic granted, next_slot;
  wqe_index_t posted, posted_before;
  always_comb begin
    {posted, posted_before, next_slot, granted} = '0;
    if (owned) begin
      posted = bell.index[15:0] - consumer;
      posted_before = producer - consumer;
      next_slot = posted == posted_before + 1'b1 && block.num_slots == 8'd1;
      granted = posted >= posted_before && posted <= (wqe_index_t'(1) << log_slots) &&
          bell.index[31:16] == '0 && (is_srq || bell.number < 32'(N_QP)) && (!is_pio_q || next_slot);
    end
  end

  // To be executed from the copy it must be the first one there is: all before it is done with.
  assign pio_valid_o = granted && is_pio_q && posted_before == '0 &&
      qp_row_i.status.state == QP_STATE_RTS && !qp_row_i.sq.halted;
  assign pio_slot_o = block;

  assign store_ready_o  = state_q == StIdle && !quiesce_i;
  assign idle_o         = state_q == StIdle;
  assign qp_read_o      = state_q == StRead && !is_srq && !firmware_whole;
  assign qp_index_o  = bell.number[$bits(qpn_t)-1:0];
  assign producer_we_o  = granted && !is_srq;
  assign producer_rq_o  = is_rq;
  assign producer_qpn_o = qp_index_o;
  assign producer_o     = bell.index[15:0];
  assign wake_valid_o   = state_q == StWake;
  assign wake_qpn_o     = qp_index_o;
  assign cq_valid_o     = state_q == StCq;
  assign cq_o           = '{
          cqn: bell.number,
          consumer: bell.index,
          arm: offset_q != 12'(DOORBELL_CQ),
          solicited: offset_q == 12'(DOORBELL_CQ_ARM_SOLICITED),
          page: page_q
      };
  assign srq_read_o        = state_q == StRead && is_srq;
  assign srq_read_srqn_o   = bell.number[$bits(srqn_t)-1:0];
  assign srq_producer_we_o = granted && is_srq;
  assign srq_producer_o    = bell.index[15:0];

  always_comb begin
    event_o = '0;
    if (accept || state_q != StIdle) begin
      event_o[COUNTER_DOORBELLS] = granted || firmware_valid_o;
      event_o[COUNTER_DOORBELLS_REFUSED] =
          (accept && !well_formed && !for_pio && !firmware_rings) ||
          (state_q == StCheck && !granted && !is_pio_q);
      event_o[COUNTER_PIO_REFUSED] = block_refused || (for_pio && !enable_i) ||
          (state_q == StCheck && !granted && is_pio_q);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle:
        if (complete) state_q <= StBlock;
        else if (accept && well_formed) state_q <= for_cq ? StCq : StRead;
        StBlock: state_q <= StRead;  // the block is read from the memory of the assembly
        StRead: state_q <= firmware_whole ? StIdle : StCheck;
        StCheck: state_q <= producer_we_o ? StWake : StIdle;
        StWake: if (wake_ready_i) state_q <= StIdle;
        StCq: if (cq_ready_i) state_q <= StIdle;
        default: state_q <= StIdle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (accept) begin
      offset_q <= offset;
      page_q   <= page;
      is_pio_q <= for_pio;
      stored_q <= stored;
    end
  end

  // ---- What is promised
  `EXRNIC_HELD(wake_is_held, wake_valid_o, wake_ready_i, wake_qpn_o)
  `EXRNIC_HELD(cq_is_held, cq_valid_o, cq_ready_i, cq_o)

endmodule
