// SPDX-License-Identifier: BSD-2-Clause
// Receive side of EFE: checks frames, keeps those of the reliable class that are next in sequence
// until they are placed, and says how far to acknowledge; beside them those of the unreliable class.

module efe_rx
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import efe_rx_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  node_t       cfg_node_i,
  input  logic        enable_i,

  input  logic        rx_valid_i,
  output logic        rx_ready_o,  // always
  input  logic        rx_sop_i,
  input  logic        rx_eop_i,
  input  data_t       rx_data_i,
  input  beat_bytes_t rx_bytes_i,  // of the last beat; others are full
  input  logic        rx_error_i,  // with eop: bad FCS

  output logic        desc_valid_o,
  input  logic        desc_ready_i,
  output rx_desc_t    desc_o,
  output logic        once_valid_o,  // what is sent once: in an order of its own
  input  logic        once_ready_i,  // not in a cycle of desc_ready_i
  output rx_desc_t    once_o,
  output logic        group_look_o,  // is a queue pair attached to that group?
  output group_t      group_o,
  input  logic        group_known_i, // in the same cycle
  input  rx_address_t read_address_i,
  output data_t       read_data_o,  // next cycle: DATA_BYTES bytes from any address, around the end
  input  logic        frame_done_valid_i,
  input  node_t       frame_done_node_i,

  input  logic        hold_set_valid_i,
  input  node_t       hold_set_node_i,
  input  logic [31:0] hold_set_seq_i,
  input  logic        hold_clear_valid_i,
  input  node_t       hold_clear_node_i,

  output logic        ack_valid_o,
  input  logic        ack_ready_i,
  output rx_ack_t     ack_o,
  output logic        ack_request_valid_o,
  output node_t       ack_request_node_o,
  output logic        ack_request_sack_o,  // with what is held behind a missing one
  output logic        credit_valid_o,      // pulse: a peer tells of receives
  output credit_update_t credit_o,
  output logic        peer_restart_valid_o,
  input  logic        peer_restart_ready_i,
  output node_t       peer_restart_node_o,
  output logic [15:0] peer_restart_known_o,  // session of ours that it acknowledges; 0: none
  input  node_t       rx_query_node_i,
  output rx_state_t   rx_state_o,            // in the same cycle
  input  logic        ack_sent_i,            // a frame to that node acknowledges

  output logic        init_done_o,
  output logic        idle_o,
  output logic        waits_o,  // at most for the end of frames that have been handed out
  output event_t      event_o
);

  // A segment starts in the word that has the end of the EFE header.
  localparam int unsigned StartOffset = (ETH_BYTES + EFE_BYTES) % DATA_BYTES;

  logic store, store_first, missed, check, good, parser_busy;
  verdict_e verdict;
  efe_t efe;
  ddp_head_t ddp;
  logic frames_empty, held_idle;
  logic accept, adopt, restart, ack, stranger, duplicate, hold, no_room, marked, greeted, greeting;
  logic once, once_kept;  // a frame of the unreliable class or a datagram; it finds room
  logic datagram, for_nobody, once_room;
  logic held_known, held_fits, can_drop, follow, drop, drop_ready;
  logic [31:0] next, old_next, ahead, follow_next;
  node_t follow_node, init_node;
  rx_slot_t slot, follow_slot, drop_slot, done_slot;
  rx_slots_t spare;
  logic init, buffer_init_done, sequence_init_done;
  logic again, marked_any, placed;
  logic [31:0] done_seq;
  logic [15:0] done_session, query_session;
  rx_desc_t desc;
  node_t node;
  logic acks_empty, requests_empty, quiet;

  assign rx_ready_o = 1'b1;
  assign node       = node_t'(efe.src_node);
  assign good       = check && verdict == VERDICT_GOOD;
  assign once       = good && efe.klass != EFE_CLASS_RELIABLE;
  assign datagram   = efe.klass == EFE_CLASS_DATAGRAM;
  // What is for a group without a queue pair here takes nothing from anybody.
  assign group_look_o = once && datagram && is_group(efe.dst_qpn);
  assign group_o    = group_t'(efe.dst_qpn);
  assign for_nobody = group_look_o && !group_known_i;
  assign once_kept  = once && !for_nobody && !missed && once_room &&
                      spare >= rx_slots_t'(RxSlotsInOrder);
  assign drop_ready = !frame_done_valid_i;
  // Of a frame that is kept; in other cycles nobody looks at it.
  always_comb begin
    desc = '0;
    if (check) begin
      desc = '{node: node, seq: efe.seq, ack: efe.ack,
               refused: efe.refused, dst_qpn: efe.dst_qpn,
               src_qpn: efe.src_qpn, src_generation: efe.src_generation,
               dst_generation: efe.dst_generation, length: efe.length,
               imm_valid: efe.flags[EFE_FLAGS_IMM], imm: efe.sack_imm,
               rnr: efe.flags[EFE_FLAGS_RNR], ask: efe.credit != '0, unreliable: once,
               first: efe.flags[EFE_FLAGS_SYN] || datagram, datagram: datagram,
               pkey: efe.peer_session, more: 1'b0, ddp: ddp,
               start: {slot, ($clog2(RX_SLOT_SPACE))'(StartOffset)}};
    end
  end
  assign init_done_o = buffer_init_done && sequence_init_done;
  assign quiet      = !parser_busy && held_idle && acks_empty && requests_empty;
  assign waits_o    = quiet && !desc_valid_o && !once_valid_o;
  assign idle_o     = quiet && frames_empty;

  assign credit_valid_o = ack && !efe.flags[EFE_FLAGS_SEQ] && efe.credit != '0;
  assign credit_o = '{node: node, dst_qpn: efe.dst_qpn, src_qpn: efe.src_qpn,
                      src_generation: efe.src_generation, dst_generation: efe.dst_generation,
                      limit: credit_t'(efe.credit)};

  assign rx_state_o.valid   = query_session != '0;
  assign rx_state_o.session = query_session;
  // A greeting is answered: so its sender knows that it has been heard.
  assign greeting = greeted && !efe.flags[EFE_FLAGS_ACK];
  assign again = duplicate || hold || greeting;
  assign marked_any = marked || (once && efe.flags[EFE_FLAGS_CE]);
  // One of the unreliable class has no session, and is not acknowledged.
  assign placed = frame_done_valid_i && done_session != '0;

  always_comb begin
    event_o = '0;
    if (check) begin
      event_o[COUNTER_FRAMES_RX]       = 1'b1;
      event_o[COUNTER_ACKS_RX]         = good && !efe.flags[EFE_FLAGS_SEQ];
      event_o[COUNTER_CREDIT_UPDATES_RX] = credit_valid_o;
      event_o[COUNTER_RX_FCS_ERROR]    = verdict == VERDICT_FCS;
      event_o[COUNTER_RX_MALFORMED]    = verdict == VERDICT_MALFORMED;
      event_o[COUNTER_RX_MISDIRECTED]  = verdict == VERDICT_MISDIRECTED;
      event_o[COUNTER_RX_SESSION]      = stranger;
      event_o[COUNTER_RX_DUPLICATE]    = duplicate;
      event_o[COUNTER_RX_OUT_OF_ORDER] = hold;
      event_o[COUNTER_RX_MARKED]       = marked_any;
      event_o[COUNTER_RX_OVERFLOW]     = verdict == VERDICT_DISABLED || no_room ||
                                         (once && !for_nobody && !once_kept);
      event_o[COUNTER_UNRELIABLE_DROPPED] = for_nobody;
    end
  end

  rx_parser u_parser (
    .clk_i,
    .rst_ni,
    .cfg_node_i,
    .enable_i     (enable_i && init_done_o),
    .rx_valid_i,
    .rx_sop_i,
    .rx_eop_i,
    .rx_data_i,
    .rx_bytes_i,
    .rx_error_i,
    .store_o      (store),
    .store_first_o(store_first),
    .check_o      (check),
    .verdict_o    (verdict),
    .efe_o        (efe),
    .ddp_o        (ddp),
    .busy_o       (parser_busy)
  );

  rx_sequence u_sequence (
    .clk_i,
    .rst_ni,
    .frame_valid_i  (good && !once),
    .frame_i        (efe),
    .room_i         (!missed),
    .hold_room_i    (spare >= rx_slots_t'(RxSlotsInOrder)),
    .known_i        (held_known),
    .hold_fits_i    (held_fits),
    .can_drop_i     (can_drop),
    .next_o         (next),
    .old_next_o     (old_next),
    .ahead_o        (ahead),
    .accept_o       (accept),
    .adopt_o        (adopt),
    .restart_o      (restart),
    .ack_o          (ack),
    .stranger_o     (stranger),
    .duplicate_o    (duplicate),
    .hold_o         (hold),
    .overflow_o     (no_room),
    .marked_o       (marked),
    .greeted_o      (greeted),
    .query_node_i   (rx_query_node_i),
    .query_session_o(query_session),
    .query_next_o   (rx_state_o.missing),
    .follow_node_i  (follow_node),
    .follow_i       (follow),
    .follow_next_o  (follow_next),
    .init_o         (init),
    .init_node_o    (init_node),
    .init_done_o    (sequence_init_done)
  );

  rx_held u_held (
    .clk_i,
    .rst_ni,
    .node_i       (node),
    .next_i       (next),
    .old_next_i   (old_next),
    .ahead_i      (ahead),
    .known_o      (held_known),
    .fits_o       (held_fits),
    .can_drop_o   (can_drop),
    .hold_i       (hold),
    .slot_i       (slot),
    .accept_i     (accept),
    .adopt_i      (adopt),
    .frame_i      (good),
    .follow_node_o(follow_node),
    .follow_o     (follow),
    .follow_slot_o(follow_slot),
    .follow_next_i(follow_next),
    .drop_o       (drop),
    .drop_slot_o  (drop_slot),
    .drop_ready_i (drop_ready),
    .query_node_i (rx_query_node_i),
    .query_held_o (rx_state_o.sack),
    .query_bits_o (rx_state_o.arrived),
    .init_i       (init),
    .init_node_i  (init_node),
    .idle_o       (held_idle)
  );

  rx_buffer u_buffer (
    .clk_i,
    .rst_ni,
    .store_first_i(store_first),
    .store_i      (store),
    .store_data_i (rx_data_i),
    .missed_o     (missed),
    .slot_o       (slot),
    .spare_o      (spare),
    .keep_i       (accept || hold || once_kept),
    .free_i       (frame_done_valid_i || drop),
    .free_slot_i  (frame_done_valid_i ? done_slot : drop_slot),
    .read_address_i,
    .read_data_o,
    .init_done_o  (buffer_init_done)
  );

  rx_frames u_frames (
    .clk_i,
    .rst_ni,
    .store_i        (accept || hold || once_kept),
    .store_slot_i   (slot),
    .store_desc_i   (desc),
    .store_session_i(efe.session),
    .put_i          (accept || follow),
    .put_once_i     (once_kept),
    .put_slot_i     (follow ? follow_slot : slot),
    .once_room_o    (once_room),
    .desc_valid_o,
    .desc_ready_i,
    .desc_o,
    .once_valid_o,
    .once_ready_i,
    .once_o,
    .done_i         (frame_done_valid_i),
    .done_slot_o    (done_slot),
    .done_seq_o     (done_seq),
    .done_session_o (done_session),
    .empty_o        (frames_empty)
  );

  rx_placed u_placed (
    .clk_i,
    .rst_ni,
    .placed_valid_i  (placed),
    .placed_node_i   (frame_done_node_i),
    .placed_session_i(done_session),
    .placed_seq_i    (done_seq),
    .hold_set_valid_i,
    .hold_set_node_i,
    .hold_set_seq_i,
    .hold_clear_valid_i,
    .hold_clear_node_i,
    .adopt_valid_i   (adopt),
    .adopt_node_i    (node),
    .query_node_i    (rx_query_node_i),
    .query_session_i (query_session),
    .query_ack_o     (rx_state_o.ack),
    .query_beyond_o  (rx_state_o.beyond)
  );

  rx_marks u_marks (
    .clk_i,
    .rst_ni,
    .marked_i    (marked_any),
    .node_i      (node),
    .query_node_i(rx_query_node_i),
    .query_ece_o (rx_state_o.ece),
    .echoed_i    (ack_sent_i)
  );

  rx_ack_queue u_ack_queue (
    .clk_i,
    .rst_ni,
    .put_ack_i      (ack),
    .put_restart_i  (restart),
    .put_i          ('{node: node, peer_session: efe.peer_session, ack: efe.ack,
                       beyond: efe.beyond, ece: efe.flags[EFE_FLAGS_ECE], sack: efe.flags[EFE_FLAGS_SACK],
                       missing: efe.seq, arrived: efe.sack_imm}),
    .restart_valid_o(peer_restart_valid_o),
    .restart_ready_i(peer_restart_ready_i),
    .restart_node_o (peer_restart_node_o),
    .restart_known_o(peer_restart_known_o),
    .ack_valid_o,
    .ack_ready_i,
    .ack_o,
    .empty_o        (acks_empty)
  );

  rx_ack_request u_ack_request (
    .clk_i,
    .rst_ni,
    .placed_valid_i (placed),
    .placed_node_i  (frame_done_node_i),
    .again_valid_i  (again),
    .again_node_i   (node),
    .again_sack_i   (hold),
    .unheld_valid_i (hold_clear_valid_i),
    .unheld_node_i  (hold_clear_node_i),
    .request_valid_o(ack_request_valid_o),
    .request_node_o (ack_request_node_o),
    .request_sack_o (ack_request_sack_o),
    .empty_o        (requests_empty)
  );

endmodule
