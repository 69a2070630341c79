// SPDX-License-Identifier: BSD-2-Clause
// One node's EFE, for efe_loop_test: efe_tx and efe_rx joined as in the core, and what refuses
// for the responder.

module efe_loop
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
  input  logic           clk_i,
  input  logic           rst_ni,

  input  node_t          cfg_node_i,
  input  logic [31:0]    cfg_rto_cycles_i,
  input  logic [7:0]     cfg_retry_limit_i,
  input  logic           enable_i,
  input  logic [63:0]    time_i,

  output logic           alloc_valid_o,
  output logic           alloc_payload_valid_o,
  output slot_t          alloc_slot_o,
  input  logic           alloc_ready_i,
  input  node_t          quota_node_i,
  output logic           quota_start_o,
  output logic           quota_room_o,
  input  node_t          window_node_i,
  input  logic           window_prompt_i,
  output logic           window_room_o,
  input  logic           beat_valid_i,
  input  dma_read_beat_t beat_i,
  input  logic           submit_valid_i,
  output logic           submit_ready_o,
  input  tx_desc_t       submit_i,
  output logic           done_valid_o,
  input  logic           done_ready_i,
  output tx_done_t       done_o,
  output logic           prompt_done_valid_o,
  output tx_done_t       prompt_done_o,

  input  logic           credit_valid_i,
  output logic           credit_ready_o,
  input  credit_update_t credit_i,
  output logic           credit_valid_o,
  output credit_update_t credit_o,

  output logic           desc_valid_o,
  input  logic           desc_ready_i,
  output rx_desc_t       desc_o,
  input  rx_address_t    read_address_i,
  output data_t          read_data_o,
  input  logic           frame_done_valid_i,
  input  node_t          frame_done_node_i,
  input  logic           refuse_start_i,  // pulse: that segment is refused
  input  rx_desc_t       refuse_desc_i,   // until refuse_done_o
  output logic           refuse_done_o,
  output logic           refuse_put_off_o,

  output logic           tx_valid_o,
  input  logic           tx_ready_i,
  output logic           tx_sop_o,
  output logic           tx_eop_o,
  output data_t          tx_data_o,
  output beat_bytes_t    tx_bytes_o,
  input  logic           rx_valid_i,
  input  logic           rx_sop_i,
  input  logic           rx_eop_i,
  input  data_t          rx_data_i,
  input  beat_bytes_t    rx_bytes_i,
  input  logic           rx_error_i,

  output logic           init_done_o,
  output logic           idle_o,
  output logic           waits_o,
  output node_t          dead_node_o,
  output event_t         event_o
);

  efe_peer_if peer ();
  settings_if settings ();
  stream_if #(.T(credit_update_t)) credit ();
  assign settings.node = node_id_t'(cfg_node_i);
  assign settings.rto_cycles = cfg_rto_cycles_i;
  assign settings.retry_limit = cfg_retry_limit_i;
  assign settings.now = time_i;
  assign credit.valid = credit_valid_i;
  assign credit.data = credit_i;
  assign credit_ready_o = credit.ready;
  logic tx_init_done, rx_init_done, tx_idle, rx_idle, tx_waits, rx_waits;
  event_t tx_event, rx_event;

  logic refuse_valid, refuse_ready, put_off;
  refusal_t refused;
  /* verilator lint_off UNUSEDSIGNAL */
  logic refusal_waits;
  /* verilator lint_on UNUSEDSIGNAL */
  refusal u_refusal (
    .clk_i,
    .rst_ni,
    .quiesce_i       (1'b0),
    .start_i         (refuse_start_i),
    .desc_i          (refuse_desc_i),
    .code_i          (TERM_CODE_STREAM),
    .rnr_i           (1'b0),
    .rnr_code_i      ('0),
    .waiting_o       (refusal_waits),
    .done_o          (refuse_done_o),
    .put_off_o       (refuse_put_off_o),
    .write_idle_i    (1'b1),
    .refuse_valid_o  (refuse_valid),
    .refuse_ready_i  (refuse_ready),
    .refuse_put_off_i(put_off),
    .refusal_o       (refused)
  );

  assign init_done_o = tx_init_done && rx_init_done;
  assign idle_o      = tx_idle && rx_idle;
  assign waits_o     = tx_waits && rx_waits;
  assign event_o     = tx_event | rx_event;

  /* verilator lint_off UNUSEDSIGNAL */  // nothing is dropped
  logic drop_ready;
  /* verilator lint_on UNUSEDSIGNAL */
  life_change_if change ();  // nor does a life begin
  assign {change.goes_back, change.begins, change.qpn, change.generation} = '0;
  efe_tx u_tx (
    .clk_i,
    .rst_ni,
    .settings,
    .peer,
    .credit,
    .enable_i,
    .alloc_valid_o,
    .alloc_payload_valid_o,
    .alloc_slot_o,
    .alloc_ready_i,
    .quota_node_i,
    .quota_slots_i       (reads_t'(1)),
    .quota_start_o,
    .quota_room_o,
    .window_node_i,
    .window_prompt_i,
    .window_room_o,
    .beat_valid_i,
    .beat_i,
    .submit_valid_i,
    .submit_ready_o,
    .submit_i,
    .done_valid_o,
    .done_ready_i,
    .done_o,
    .prompt_done_valid_o,
    .prompt_done_o,
    .drop_valid_i        (1'b0),
    .drop_ready_o        (drop_ready),
    .drop_i              ('0),
    .change              (change),
    .refusal_i           (refused),
    .tx_valid_o,
    .tx_ready_i,
    .tx_sop_o,
    .tx_eop_o,
    .tx_data_o,
    .tx_bytes_o,
    .init_done_o         (tx_init_done),
    .idle_o              (tx_idle),
    .waits_o             (tx_waits),
    .dead_node_o,
    .event_o             (tx_event)
  );

  efe_rx u_rx (
    .clk_i,
    .rst_ni,
    .peer,
    .cfg_node_i,
    .enable_i,
    .rx_valid_i,
    .rx_sop_i,
    .rx_eop_i,
    .rx_data_i,
    .rx_bytes_i,
    .rx_error_i,
    .rx_looped_i         (1'b0),
    .desc_valid_o,
    .desc_ready_i,
    .desc_o,
    .once_ready_i        (1'b0),
    .group_known_i       (1'b0),
    /* verilator lint_off PINCONNECTEMPTY */  // nothing is sent once here
    .once_valid_o        (),
    .once_o              (),
    .group_look_o        (),
    .group_o             (),
    /* verilator lint_on PINCONNECTEMPTY */
    .read_address_i,
    .read_data_o,
    .frame_done_valid_i,
    .frame_done_node_i,
    .refuse_valid_i      (refuse_valid),
    .refuse_ready_o      (refuse_ready),
    .refuse_node_i       (refused.node),
    .refuse_seq_i        (refused.seq),
    .refuse_put_off_o    (put_off),
    .credit_valid_o,
    .credit_o,
    .init_done_o         (rx_init_done),
    .idle_o              (rx_idle),
    .waits_o             (rx_waits),
    .event_o             (rx_event)
  );

endmodule
