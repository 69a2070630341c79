// SPDX-License-Identifier: BSD-2-Clause
// Transmit side of EFE: slots, sequence numbers, retransmission, framing; frames of the unreliable
// class beside those of the reliable one.

`include "exrnic_assert.svh"

module efe_tx
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import efe_tx_pkg::*;
(
  input  logic           clk_i,
  input  logic           rst_ni,

  settings_if.user       settings,
  input  logic           enable_i,  // without it no frame leaves and no time-out strikes

  output logic           alloc_valid_o,  // a slot for what is prompt,
  output logic           alloc_payload_valid_o,  // and for anything
  output slot_t          alloc_slot_o,
  input  logic           alloc_ready_i,
  input  node_t          quota_node_i,
  input  reads_t         quota_slots_i,  // at least 1
  output logic           quota_start_o,  // work for this node may begin: it will get so many slots
  output logic           quota_room_o,   // and may go on
  input  node_t          window_node_i,
  input  logic           window_prompt_i,
  output logic           window_room_o,  // likewise for what windows, ports and firmware send

  input  logic           beat_valid_i,
  input  dma_read_beat_t beat_i,

  input  logic           submit_valid_i,
  output logic           submit_ready_o,
  input  tx_desc_t       submit_i,

  output logic           done_valid_o,
  input  logic           done_ready_i,
  output tx_done_t       done_o,
  output logic           prompt_done_valid_o,  // pulse: the same of what was prompt
  output tx_done_t       prompt_done_o,
  input  logic           drop_valid_i,  // what should have been submitted was dropped
  output logic           drop_ready_o,
  input  tx_tag_t        drop_i,
  life_change_if.user    change,

  efe_peer_if.tx         peer,
  input  refusal_t       refusal_i,
  stream_if.sink         credit,  // to be told to a peer

  output logic           tx_valid_o,
  input  logic           tx_ready_i,
  output logic           tx_sop_o,
  output logic           tx_eop_o,
  output data_t          tx_data_o,
  output beat_bytes_t    tx_bytes_o,

  output logic           init_done_o,
  output logic           idle_o,
  output logic           waits_o,  // at most for payload and acknowledgements: only clocks run
  output node_t          dead_node_o,  // with COUNTER_PEERS_DEAD: who it is
  output event_t         event_o
);

  localparam int unsigned WordBits = $clog2(TX_SLOTS * MTU_MAX / DATA_BYTES);

  logic slots_init_done, sequencer_init_done, all_free;
  logic [TX_SLOTS-1:0] poisoned, unwanted, stopped, dead;
  chunk_t head_arrived, head_expected;
  slot_t head_slot;
  lane_t head_lane;
  logic head_valid, head_ready, head_dead, head_turn, head_alone, head_pop, head_pop_last, head_stop, doom;
  logic broken, lost;
  logic handles_new, payload_missing;
  logic [$clog2(TX_SLOTS):0] free_slots;
  logic [N_NODE-1:0] silent;
  logic turns_init_done, quota_init_done;
  logic desc_read;
  slot_t desc_slot;
  tx_desc_t desc;
  logic freed;
  slot_t freed_slot;
  lane_t freed_lane, submit_lane, window_lane;
  logic rest;
  pick_t pick;
  node_t node;
  logic expired, timer_set;
  logic [31:0] now, deadline;
  node_t expired_node;
  logic [N_NODE-1:0] outstanding, greeting, resending;
  pace_t pace;
  logic head_window, head_due, head_open, resend_due, resend_pass, resend_alone;
  logic resend_valid, resend_empty;
  resend_t resend;
  node_t resend_node;
  logic ack_head_sack;
  logic ack_owed_valid, ack_owed_sack, ack_owed_empty, ack_sent;
  node_t ack_owed_node;
  send_t send;
  logic framer_busy, done_in_use, left_in_use, ended_prompt;
  slot_t framer_slot, done_slot, left_slot;
  logic payload_read;
  logic [WordBits-1:0] payload_word;
  data_t payload;
  stream_if #(.T(end_t)) ended ();
  stream_if #(.T(frame_t)) frame ();

  assign init_done_o     = slots_init_done && sequencer_init_done &&
                           turns_init_done && quota_init_done;
  assign submit_ready_o  = init_done_o;
  assign peer.query_node = node;
  assign dead            = poisoned | unwanted;
  assign submit_lane     = '{prompt: submit_i.prompt, node: submit_i.node};
  assign window_lane     = '{prompt: window_prompt_i, node: window_node_i};
  assign head_ready      = head_arrived == head_expected;
  assign head_dead       = dead[head_slot];
  assign head_open       = head_window && head_due;
  assign peer.ack_sent   = send.valid && peer.state.valid && !(send.data && desc.unreliable);
  assign peer.heard_node = node;
  // A node whose frame is not due yet lets others pass.
  assign resend_pass     = rest && resend_valid && !resend_due && !resend_alone;

  assign peer.ack_ready     = pick.valid && pick.op == OP_ACK;
  assign peer.restart_ready = pick.valid && pick.op == OP_RESTART;
  assign credit.ready       = pick.valid && pick.op == OP_CREDIT;

  credit_update_t credit_q;
  always_ff @(posedge clk_i) begin
    if (credit.ready) credit_q <= credit.data;
  end

  assign payload_missing = !head_ready && !head_dead;
  assign waits_o = rest && !pick.valid && (!head_valid || (head_alone && payload_missing)) &&
                   greeting == '0 && resend_empty && ack_owed_empty && !frame.valid && !tx_valid_o;
  assign idle_o  = waits_o && all_free;

  // A slot must not be filled anew while a frame still leaves from it.
  function automatic logic in_use(slot_t slot);
    return (frame.valid && frame.data.efe.flags[EFE_FLAGS_SEQ] && frame.data.desc.slot == slot) ||
           (framer_busy && framer_slot == slot);
  endfunction
  assign done_in_use = in_use(done_slot);
  assign left_in_use = in_use(left_slot);

  tx_slots u_slots (
    .clk_i,
    .rst_ni,
    .alloc_valid_o,
    .alloc_payload_valid_o,
    .alloc_slot_o,
    .alloc_ready_i,
    .free_o         (free_slots),
    .beat_valid_i,
    .beat_slot_i    (beat_i.dst[$bits(tx_address_t)-1-:$bits(slot_t)]),
    .beat_bytes_i   (beat_i.bytes),
    .beat_error_i   (beat_i.error),
    .free_valid_i   (freed),
    .free_slot_i    (freed_slot),
    .query_slot_i   (head_slot),
    .query_arrived_o(head_arrived),
    .poisoned_o     (poisoned),
    .init_done_o    (slots_init_done),
    .all_free_o     (all_free)
  );

  tx_buffer u_buffer (
    .clk_i,
    .write_i        (beat_valid_i && !beat_i.error),
    .write_address_i(beat_i.dst),
    .write_bytes_i  (beat_i.bytes[$bits(beat_bytes_t)-1:0]),
    .write_data_i   (beat_i.data),
    .read_i         (payload_read),
    .read_word_i    (payload_word),
    .read_data_o    (payload)
  );

  tx_submit_queue u_submit_queue (
    .clk_i,
    .rst_ni,
    .submit_valid_i (submit_valid_i && submit_ready_o),
    .submit_i,
    .lane_i         (head_lane),
    .head_slot_o    (head_slot),
    .head_expected_o(head_expected),
    .pop_i          (head_pop),
    .stop_i         (head_stop),
    .pop_last_o     (head_pop_last),
    .doom_valid_i   (doom),
    .doom_node_i    (node),
    .unwanted_o     (unwanted),
    .stopped_o      (stopped),
    .read_i         (desc_read),
    .read_slot_i    (desc_slot),
    .desc_o         (desc)
  );

  tx_turns u_turns (
    .clk_i,
    .rst_ni,
    .submit_valid_i(submit_valid_i && submit_ready_o),
    .submit_lane_i (submit_lane),
    .valid_o       (head_valid),
    .lane_o        (head_lane),
    .able_i        (head_ready && (head_dead || (head_open && !resending[head_lane.node]))),
    .its_turn_o    (head_turn),
    .alone_o       (head_alone),
    .busy_i        (handles_new || (pick.valid && pick.op == OP_NEW)),
    .sent_i        (head_pop),
    .sent_last_i   (head_pop_last),
    .sent_bytes_i  (send.valid ? desc.length + chunk_t'(HEADER_UNTAGGED_BYTES) : '0),
    .init_done_o   (turns_init_done)
  );

  tx_quota u_quota (
    .clk_i,
    .rst_ni,
    .submit_valid_i(submit_valid_i && submit_ready_o),
    .submit_lane_i (submit_lane),
    .freed_valid_i (freed),
    .freed_lane_i  (freed_lane),
    .free_i        (free_slots),
    .silent_i      (silent),
    .query_node_i  (quota_node_i),
    .query_slots_i (quota_slots_i),
    .start_o       (quota_start_o),
    .room_o        (quota_room_o),
    .window_lane_i (window_lane),
    .window_room_o,
    .init_done_o   (quota_init_done)
  );

  tx_timer u_timer (
    .clk_i,
    .rst_ni,
    .now_o         (now),
    .set_valid_i   (timer_set),
    .set_node_i    (node),
    .set_deadline_i(deadline),
    .outstanding_i (outstanding | greeting),
    .resending_i   (resending),
    .expired_o     (expired),
    .expired_node_o(expired_node)
  );

  tx_pacer u_pacer (
    .clk_i,
    .rst_ni,
    .now_i        (now),
    .pace_i       (pace),
    .sent_i       (send.valid && send.data),
    .node_i       (node),
    .new_node_i   (head_lane.node),
    .new_due_o    (head_due),
    .resend_node_i(resend_node),
    .resend_due_o (resend_due)
  );

  node_queue u_resend_queue (
    .clk_i,
    .rst_ni,
    .set_valid_i  (resend.enter),
    .set_node_i   (node),
    .clear_valid_i(resend.leave),
    .clear_node_i (node),
    .rotate_i     (resend.rotate || resend_pass),
    .head_valid_o (resend_valid),
    .head_node_o  (resend_node),
    .alone_o      (resend_alone),
    .empty_o      (resend_empty),
    .pending_o    (resending)
  );

  tx_ack_pending u_ack_pending (
    .clk_i,
    .rst_ni,
    .request_valid_i(peer.ack_request),
    .request_node_i (peer.ack_request_node),
    .request_sack_i (peer.ack_request_sack),
    .sent_valid_i   (ack_sent && !(send.data && ack_owed_sack)),
    .sent_node_i    (node),
    .sent_sack_o    (ack_owed_sack),
    .head_valid_o   (ack_owed_valid),
    .head_sack_o    (ack_head_sack),
    .head_node_o    (ack_owed_node),
    .empty_o        (ack_owed_empty)
  );

  tx_arbiter u_arbiter (
    .clk_i,
    .rst_ni,
    .ask_i           (rest),
    .can_send_i      (enable_i && !frame.valid),
    .peer_restart_valid_i(peer.restart_valid),
    .peer_restart_node_i(peer.restart_node),
    .ack_valid_i     (peer.ack_valid),
    .ack_node_i      (peer.ack.node),
    .expired_i       (enable_i && expired),
    .expired_greets_i(greeting[expired_node]),
    .expired_node_i  (expired_node),
    .resend_valid_i  (resend_valid && resend_due),
    .resend_node_i   (resend_node),
    .resending_i     (resending),
    .head_ready_i    (head_valid && head_turn && head_ready),
    .head_dead_i     (head_dead),
    .head_open_i     (head_open),
    .head_node_i     (head_lane.node),
    .ack_owed_valid_i(ack_owed_valid),
    .ack_owed_node_i (ack_owed_node),
    .ack_owed_sack_i (ack_head_sack),
    .credit_valid_i  (credit.valid),
    .credit_node_i   (credit.data.node),
    .pick_o          (pick)
  );

  tx_sequencer u_sequencer (
    .clk_i,
    .rst_ni,
    .settings,
    .now_i          (now),
    .rest_o         (rest),
    .pick_i         (pick),
    .ack_i          (peer.ack),
    .known_i        (peer.restart_known),
    .node_o         (node),
    .head_slot_i    (head_slot),
    .head_pop_o     (head_pop),
    .head_stop_o    (head_stop),
    .doom_o         (doom),
    .heard_valid_o  (peer.heard_valid),
    .heard_o        (peer.heard),
    .dead_i         (dead),
    .poisoned_i     (poisoned),
    .stopped_i      (stopped),
    .desc_read_o    (desc_read),
    .desc_slot_o    (desc_slot),
    .desc_i         (desc),
    .broken_i       (broken),
    .lost_o         (lost),
    .new_o          (handles_new),
    .silent_o       (silent),
    .ended,
    .ended_prompt_o (ended_prompt),
    .done_slot_o    (done_slot),
    .left_slot_o    (left_slot),
    .done_in_use_i  (done_in_use),
    .left_in_use_i  (left_in_use),
    .timer_set_o    (timer_set),
    .deadline_o     (deadline),
    .outstanding_o  (outstanding),
    .greeting_o     (greeting),
    .window_node_i  (head_lane.node),
    .window_open_o  (head_window),
    .pace_o         (pace),
    .resend_o       (resend),
    .rx_known_i     (peer.state.valid),
    .ack_sent_o     (ack_sent),
    .send_o         (send),
    .init_done_o    (sequencer_init_done),
    .event_o
  );

  assign dead_node_o = node;

  tx_streams u_streams (
    .clk_i,
    .rst_ni,
    .change,
    .look_i      (desc.tag),
    .broken_o    (broken),
    .lost_i      (lost),
    .drop_valid_i,
    .drop_ready_o,
    .drop_i
  );

  tx_ends u_ends (
    .clk_i,
    .rst_ni,
    .ended,
    .ended_prompt_i(ended_prompt),
    .done_valid_o,
    .done_ready_i,
    .done_o,
    .prompt_done_valid_o,
    .freed_o       (freed),
    .freed_slot_o  (freed_slot),
    .freed_lane_o  (freed_lane)
  );
  assign prompt_done_o = ended.data.done;

  telling_t refusal;
  tx_refusals u_refusals (
    .clk_i,
    .set_i        (peer.refusal_set),
    .set_refusal_i(refusal_i),
    .read_i       (desc_read),
    .read_node_i  (node),
    .telling_o    (refusal)
  );

  tx_header u_header (
    .clk_i,
    .rst_ni,
    .cfg_node_i(settings.node),
    .send_i    (send),
    .node_i    (node),
    .sack_i    (ack_owed_sack),
    .rx_state_i(peer.state),
    .desc_i    (desc),
    .credit_i  (credit_q),
    .refusal_i (refusal),
    .frame
  );

  tx_framer u_framer (
    .clk_i,
    .rst_ni,
    .frame,
    .read_o     (payload_read),
    .read_word_o(payload_word),
    .read_data_i(payload),
    .busy_o     (framer_busy),
    .busy_slot_o(framer_slot),
    .tx_valid_o,
    .tx_ready_i,
    .tx_sop_o,
    .tx_eop_o,
    .tx_data_o,
    .tx_bytes_o
  );

  // ---- What is promised
  `EXRNIC_ALWAYS(no_more_than_is_expected, !head_valid || head_arrived <= head_expected)
  `EXRNIC_HELD(alloc_is_held, alloc_valid_o, alloc_ready_i, alloc_slot_o)
  `EXRNIC_HELD(done_is_held, done_valid_o, done_ready_i, done_o)
  `EXRNIC_HELD(tx_is_held, tx_valid_o, tx_ready_i, {tx_sop_o, tx_eop_o, tx_data_o, tx_bytes_o})

endmodule
