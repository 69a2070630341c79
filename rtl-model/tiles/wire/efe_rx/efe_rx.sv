// SPDX-License-Identifier: BSD-2-Clause
// Receive side of EFE: checks frames, keeps those of the reliable class that are next in sequence
// until they are placed, and says how far to acknowledge; beside them those of the unreliable class.

`include "exrnic_assert.svh"

module efe_rx
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import efe_rx_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  node_t       cfg_node_i,
  input  logic        enable_i,

  input  logic        rx_valid_i,  // it is always ready
  input  logic        rx_sop_i,
  input  logic        rx_eop_i,
  input  data_t       rx_data_i,
  input  beat_bytes_t rx_bytes_i,  // of the last beat; others are full
  input  logic        rx_error_i,  // with eop: bad FCS
  input  logic        rx_looped_i, // this node's own: it has been on no line

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

  // The segment in hand is refused: from now on a refusal is in force. While another one of that
  // node is, it is put off: forgotten, with all behind it of its sender, as if the network had lost it.
  input  logic        refuse_valid_i,
  output logic        refuse_ready_o,
  input  node_t       refuse_node_i,
  input  logic [31:0] refuse_seq_i,
  output logic        refuse_put_off_o,  // with ready. If it is not to be told either (peer.refusal_set), its
                                         // sender has begun a new session

  efe_peer_if.rx      peer,
  output logic        credit_valid_o,      // pulse: a peer tells of receives
  output credit_update_t credit_o,

  output logic        init_done_o,
  output logic        idle_o,
  output logic        waits_o,  // at most for the end of frames that have been handed out
  output event_t      event_o
);

  // A segment starts in the word that has the end of the EFE header.
  localparam int unsigned StartOffset = (ETH_BYTES + EFE_BYTES) % DATA_BYTES;

  logic store, store_first, missed, ends, check, good, parser_busy;
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
  logic [15:0] query_session, head_session, rewind_session, done_session;
  placing_t placing, done_placing;
  /* verilator lint_off UNUSEDSIGNAL */  // what of them is looked at before their end
  placing_t head_placing, taken_placing;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [31:0] rewind_next, placed_next, refused;
  logic [7:0] refusal_number;
  refusal_id_t brought, heard;
  logic can_rewind, taken_counts, in_force, dealt, ended;
  logic refusal, refusal_fresh, refusal_answered, refusal_kept, refuses;
  rx_desc_t head;
  rx_desc_t desc;
  node_t node;
  logic acks_empty, requests_empty, quiet;

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
      desc = '{node: node, seq: efe.seq, ack: efe.refusal != '0 ? efe.seq : efe.ack,
               session: efe.session, dst_qpn: efe.dst_qpn,
               src_qpn: efe.src_qpn, src_generation: efe.src_generation,
               dst_generation: efe.dst_generation, length: efe.length,
               imm_valid: efe.flags[EFE_FLAGS_IMM], imm: efe.sack_imm,
               rnr: efe.flags[EFE_FLAGS_RNR], ask: efe.credit != '0, unreliable: once,
               first: efe.flags[EFE_FLAGS_SYN] || datagram, datagram: datagram,
               pkey: efe.peer_session, to_group: 1'b0, group: '0, more: 1'b0, stale: 1'b0, ddp: ddp,
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

  assign peer.state.valid   = query_session != '0;
  assign peer.state.session = query_session;
  // A greeting is answered: so its sender knows that it has been heard.
  assign greeting = greeted && !efe.flags[EFE_FLAGS_ACK];
  assign again = duplicate || hold || greeting || (refusal && refusal_answered);
  assign refusal_kept = refusal && refusal_fresh && !missed;
  assign marked_any = marked || (once && efe.flags[EFE_FLAGS_CE]);

  // ---- What is forgotten. A sender's epoch changes when its segments are; those that were in
  // sequence by then, and those of an old session, are handed out as `stale`, and do not count. Two
  // epochs are enough: the next change comes with a segment that came behind all those.
  logic [N_NODE-1:0] epoch_q;
  assign brought = '{session: efe.peer_session, number: efe.refusal};
  assign placing = '{seq: refusal_kept ? 32'(brought) : efe.seq, session: efe.session,
                     epoch: epoch_q[node], refusal: refusal_kept};
  assign taken_counts = taken_placing.session == rewind_session &&
                        taken_placing.epoch == epoch_q[refuse_node_i];
  // Not while another one ends, as both ask for a frame.
  assign refuse_ready_o   = !taken_counts || (in_force ? !check && can_rewind : !ended);
  assign peer.refusal_set     = refuse_valid_i && refuse_ready_o && taken_counts && !in_force;
  assign refuse_put_off_o = refuse_valid_i && refuse_ready_o && taken_counts && in_force;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) epoch_q <= '0;
    else if (refuse_put_off_o) epoch_q[refuse_node_i] <= !epoch_q[refuse_node_i];
  end
  always_comb begin
    desc_o = head;
    desc_o.stale = head_placing.session != head_session ||
                   (!head_placing.refusal && head_placing.epoch != epoch_q[head.node]);
  end

  // One of the unreliable class has no session, and is not acknowledged. One that is forgotten was
  // heard: so its sender does not give up.
  logic acknowledges;
  assign acknowledges = frame_done_valid_i && done_placing.session != '0;
  assign placed = acknowledges && !done_placing.refusal &&
                  done_placing.epoch == epoch_q[frame_done_node_i];
  assign dealt  = acknowledges && done_placing.refusal && done_placing.session == done_session;

  // A refused segment is not acknowledged before its sender has heard of that.
  assign peer.state.heard         = heard.number;
  assign peer.state.heard_session = heard.session;
  assign peer.state.refusal = refusal_number;
  assign peer.state.refused = refused;
  assign peer.state.ack =
      refusal_number != '0 && signed'(refused - placed_next) < 0 ? refused : placed_next;

  always_comb begin
    event_o = '0;
    event_o[COUNTER_TERMINATES_TX] = peer.refusal_set;
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
                                         (refusal && refusal_fresh && missed) ||
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
    .rx_looped_i,
    .store_o      (store),
    .store_first_o(store_first),
    .ends_o       (ends),
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
    .query_node_i   (peer.query_node),
    .query_session_o(query_session),
    .query_next_o   (peer.state.missing),
    .refusal_o      (refusal),
    .rewind_i       (refuse_put_off_o),
    .rewind_node_i  (refuse_node_i),
    .rewind_seq_i   (refuse_seq_i),
    .rewind_next_o  (rewind_next),
    .head_node_i    (head.node),
    .head_session_o (head_session),
    .rewind_session_o(rewind_session),
    .done_node_i    (frame_done_node_i),
    .done_session_o (done_session),
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
    .rewind_i     (refuse_put_off_o),
    .rewind_node_i(refuse_node_i),
    .rewind_next_i(rewind_next),
    .can_rewind_o (can_rewind),
    .frame_i      (good),
    .follow_node_o(follow_node),
    .follow_o     (follow),
    .follow_slot_o(follow_slot),
    .follow_next_i(follow_next),
    .drop_o       (drop),
    .drop_slot_o  (drop_slot),
    .drop_ready_i (drop_ready),
    .query_node_i (peer.query_node),
    .query_held_o (peer.state.sack),
    .query_bits_o (peer.state.arrived),
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
    .keep_i       (accept || hold || once_kept || refusal_kept),
    .free_i       (frame_done_valid_i || drop),
    .free_slot_i  (frame_done_valid_i ? done_slot : drop_slot),
    .read_address_i,
    .read_data_o,
    .init_done_o  (buffer_init_done)
  );

  rx_frames u_frames (
    .clk_i,
    .rst_ni,
    .store_i        (accept || hold || once_kept || refusal_kept),
    .store_slot_i   (slot),
    .store_desc_i   (desc),
    .store_placing_i(placing),
    .put_i          (accept || follow || refusal_kept),
    .put_once_i     (once_kept),
    .put_slot_i     (follow ? follow_slot : slot),
    .once_room_o    (once_room),
    .desc_valid_o,
    .desc_ready_i,
    .desc_o         (head),
    .desc_placing_o (head_placing),
    .taken_placing_o(taken_placing),
    .once_valid_o,
    .once_ready_i,
    .once_o,
    .done_i         (frame_done_valid_i),
    .done_slot_o    (done_slot),
    .done_o         (done_placing),
    .empty_o        (frames_empty)
  );

  rx_placed u_placed (
    .clk_i,
    .placed_valid_i  (placed),
    .placed_node_i   (frame_done_node_i),
    .placed_session_i(done_placing.session),
    .placed_seq_i    (done_placing.seq),
    .query_node_i    (peer.query_node),
    .query_session_i (query_session),
    .query_next_o    (placed_next),
    .init_i          (init),
    .init_node_i     (init_node)
  );

  rx_refusals u_refusals (
    .clk_i,
    .rst_ni,
    .set_node_i     (refuse_node_i),
    .in_force_o     (in_force),
    .set_i          (peer.refusal_set),
    .set_seq_i      (refuse_seq_i),
    .heard_valid_i(peer.heard_valid),
    .heard_node_i(peer.heard_node),
    .heard_i(peer.heard),
    .ended_o        (ended),
    .node_i         (node),
    .adopt_i        (adopt),
    .brought_i      (brought),
    .fresh_o        (refusal_fresh),
    .answered_o     (refusal_answered),
    .refuses_o      (refuses),
    .keep_i         (refusal_kept),
    .dealt_i        (dealt),
    .dealt_node_i   (frame_done_node_i),
    .dealt_what_i   (refusal_id_t'(done_placing.seq)),
    .query_node_i   (peer.query_node),
    .query_refusal_o(refusal_number),
    .query_refused_o(refused),
    .query_heard_o  (heard),
    .init_i         (init),
    .init_node_i    (init_node)
  );

  rx_marks u_marks (
    .clk_i,
    .rst_ni,
    .marked_i    (marked_any),
    .node_i      (node),
    .query_node_i(peer.query_node),
    .query_ece_o (peer.state.ece),
    .echoed_i    (peer.ack_sent)
  );

  rx_ack_queue u_ack_queue (
    .clk_i,
    .rst_ni,
    .look_i         (ends),
    .put_ack_i      (ack),
    .put_restart_i  (restart),
    .put_i          ('{node: node, peer_session: efe.peer_session, ack: efe.ack,
                       heard: efe.heard, ece: efe.flags[EFE_FLAGS_ECE], sack: efe.flags[EFE_FLAGS_SACK],
                       missing: efe.seq, arrived: efe.sack_imm}),
    .restart_valid_o(peer.restart_valid),
    .restart_ready_i(peer.restart_ready),
    .restart_node_o (peer.restart_node),
    .restart_known_o(peer.restart_known),
    .ack_valid_o(peer.ack_valid),
    .ack_ready_i(peer.ack_ready),
    .ack_o(peer.ack),
    .empty_o        (acks_empty)
  );

  rx_ack_request u_ack_request (
    .clk_i,
    .rst_ni,
    .placed_valid_i (acknowledges),
    .placed_node_i  (frame_done_node_i),
    .again_valid_i  (again),
    .again_node_i   (node),
    .again_sack_i   (hold || refuses),
    .refusal_valid_i(peer.refusal_set || ended),
    .refusal_node_i (peer.refusal_set ? refuse_node_i : peer.heard_node),
    .request_valid_o(peer.ack_request),
    .request_node_o (peer.ack_request_node),
    .request_sack_o (peer.ack_request_sack),
    .empty_o        (requests_empty)
  );

  // ---- What is promised
  // A segment is kept for one reason, and one in a cycle is put in order.
  `EXRNIC_ALWAYS(one_is_kept, $onehot0({accept, hold, once_kept, refusal_kept}))
  `EXRNIC_ALWAYS(one_is_in_order, $onehot0({accept, follow, refusal_kept}))
  // It may become stale meanwhile.
  `EXRNIC_HELD(desc_is_held, desc_valid_o, desc_ready_i, {desc_o.node, desc_o.seq, desc_o.start})
  `EXRNIC_HELD(once_is_held, once_valid_o, once_ready_i, once_o)
  // A later one of the same node replaces it; a restart of that node goes before it.
  `EXRNIC_ALWAYS(ack_is_offered,
                 peer.ack_valid && !peer.ack_ready |=> peer.ack_valid || peer.restart_valid)
  // Another one of the same node makes one of them.
  `EXRNIC_HELD(peer_restart_is_held, peer.restart_valid, peer.restart_ready, peer.restart_node)

endmodule
