// SPDX-License-Identifier: BSD-2-Clause
// Sessions and sequence numbers of the peers: which frame is the next one of its sender.
`include "exrnic_assert.svh"

module rx_sequence
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        frame_valid_i,  // a frame whose headers are good
  /* verilator lint_off UNUSEDSIGNAL */  // the other fields have been looked at
  input  efe_t        frame_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic        room_i,         // for a segment that is the next one
  input  logic        hold_room_i,    // for one that is not
  input  logic        known_i,        // of rx_held: it is here already,
  input  logic        hold_fits_i,    // can be held,
  input  logic        can_drop_i,     // what is held can be dropped
  output logic [31:0] next_o,         // number expected,
  output logic [31:0] old_next_o,     // and before a new session
  output logic [31:0] ahead_o,        // how far its own number is ahead

  output logic        accept_o,       // next segment of its sender
  output logic        adopt_o,        // sender has started a session
  output logic        restart_o,      // and we knew another one
  output logic        ack_o,          // its acknowledgement counts
  output logic        stranger_o,     // dropped: of another session
  output logic        duplicate_o,
  output logic        hold_o,         // one before it is missing
  output logic        overflow_o,
  output logic        marked_o,       // a segment of this session, with CE
  output logic        greeted_o,      // no segment, and SYN
  output logic        refusal_o,      // it refuses a segment of ours

  input  node_t       query_node_i,
  output logic [15:0] query_session_o,  // 0: nothing has come
  output logic [31:0] query_next_o,

  // What came from a number on is forgotten as if the network had lost it, in a cycle without a frame.
  input  logic        rewind_i,
  input  node_t       rewind_node_i,
  input  logic [31:0] rewind_seq_i,
  output logic [31:0] rewind_next_o,  // number expected of it so far

  // Sessions of three more peers.
  input  node_t       head_node_i,
  output logic [15:0] head_session_o,
  output logic [15:0] rewind_session_o,
  input  node_t       done_node_i,
  output logic [15:0] done_session_o,

  // A segment that was held becomes the next one, in a cycle without a frame.
  input  node_t       follow_node_i,  // of this node in the next cycle, if at all,
  output logic [31:0] follow_next_o,  // when that is the number expected of it
  input  logic        follow_i,       // of the one that was said in the last cycle

  output logic        init_o,
  output node_t       init_node_o,
  output logic        init_done_o
);

  // Late frames must not bring an old session back: neither that of a peer that has restarted
  // since, nor one of those that the peer has given up lately and of which nothing came in time.
  localparam logic [15:0] LateSessions = 4;

  typedef struct packed {
    logic [15:0] session;   // 0: none
    logic [15:0] previous;  // the one before
    logic [31:0] next;      // sequence number expected
  } peer_t;

  peer_t peer, peer_new;
  node_t node;
  logic [31:0] ahead;
  logic known, late, starts, in_session, sequenced, gap;
  logic [15:0] behind;
  logic [$clog2(N_NODE):0] init_q;

  assign node            = node_t'(frame_i.src_node);
  assign init_o          = !init_done_o;
  assign init_node_o     = init_q[$clog2(N_NODE)-1:0];
  assign init_done_o     = init_q[$clog2(N_NODE)];

  // ---- What is known of the peers: one event in a cycle changes it.
  logic frame_counts;
  node_t write_node, follow_node_q;
  assign frame_counts = adopt_o || accept_o;
  always_comb begin
    write_node = follow_node_q;
    if (rewind_i) write_node = rewind_node_i;
    if (frame_counts) write_node = node;
    if (init_o) write_node = init_node_o;
  end

  logic [15:0] session [5];
  assign peer.session     = session[0];
  assign query_session_o  = session[1];
  assign rewind_session_o = session[2];
  assign head_session_o   = session[3];
  assign done_session_o   = session[4];
  lut_ram_nr1w #(
    .WIDTH(16),
    .DEPTH(N_NODE),
    .READERS(5)
  ) u_session (
    .clk_i,
    .write_i        (init_o || adopt_o),
    .write_address_i(write_node),
    .write_data_i   (init_o ? '0 : peer_new.session),
    .read_address_i ('{node, query_node_i, rewind_node_i, head_node_i, done_node_i}),
    .read_data_o    (session)
  );
  logic [15:0] previous [1];
  assign peer.previous = previous[0];
  lut_ram_nr1w #(
    .WIDTH(16),
    .DEPTH(N_NODE)
  ) u_previous (
    .clk_i,
    .write_i        (init_o || adopt_o),
    .write_address_i(write_node),
    .write_data_i   (init_o ? '0 : peer_new.previous),
    .read_address_i ('{node}),
    .read_data_o    (previous)
  );
  logic [31:0] next [4];
  logic [31:0] next_new, follow_next_q;
  logic next_write;
  assign next_write = init_o || frame_counts || rewind_i || follow_i;
  always_comb begin
    next_new = follow_next_q + 1;
    if (rewind_i) next_new = rewind_seq_i;
    if (frame_counts) next_new = peer_new.next + 32'(accept_o);
    if (init_o) next_new = '0;
  end
  assign peer.next     = next[0];
  assign query_next_o  = next[1];
  assign rewind_next_o = next[2];
  assign follow_next_o = next_write && write_node == follow_node_i ? next_new : next[3];
  lut_ram_nr1w #(
    .WIDTH(32),
    .DEPTH(N_NODE),
    .READERS(4)
  ) u_next (
    .clk_i,
    .write_i        (next_write),
    .write_address_i(write_node),
    .write_data_i   (next_new),
    .read_address_i ('{node, query_node_i, rewind_node_i, follow_node_i}),
    .read_data_o    (next)
  );
  always_ff @(posedge clk_i) {follow_node_q, follow_next_q} <= {follow_node_i, follow_next_o};

  // ---- A frame

  assign known      = frame_i.session == peer.session;
  assign behind     = peer.session - frame_i.session;
  assign late       = frame_i.session == peer.previous ||
                      (peer.session != '0 && behind <= LateSessions);
  assign starts     = frame_valid_i && frame_i.flags[EFE_FLAGS_SYN] && !known && !late;
  assign adopt_o    = starts && can_drop_i;
  assign restart_o  = adopt_o && peer.session != '0;
  assign in_session = frame_valid_i && (known || adopt_o);
  assign sequenced  = in_session && frame_i.flags[EFE_FLAGS_SEQ];
  assign marked_o   = sequenced && frame_i.flags[EFE_FLAGS_CE];
  assign greeted_o  = in_session && frame_i.flags[EFE_FLAGS_SYN] && !sequenced;
  assign refusal_o  = in_session && frame_i.refusal != '0;
  assign ahead      = frame_i.seq - peer_new.next;

  always_comb begin
    peer_new = peer;
    if (adopt_o) begin
      peer_new = '{session: frame_i.session, previous: peer.session, next: 32'(INITIAL_SEQ)};
    end
  end

  assign next_o     = peer_new.next;
  assign old_next_o = peer.next;
  assign ahead_o    = ahead;

  assign stranger_o  = frame_valid_i && !in_session && !starts;
  assign ack_o       = in_session && frame_i.flags[EFE_FLAGS_ACK];
  assign duplicate_o = sequenced && (ahead[31] || known_i);
  assign accept_o    = sequenced && ahead == '0 && !known_i && room_i;
  assign gap         = sequenced && ahead != '0 && !duplicate_o;
  assign hold_o      = gap && room_i && hold_room_i && hold_fits_i;
  assign overflow_o  = (starts && !adopt_o) || (gap && !hold_o) ||
                       (sequenced && ahead == '0 && !known_i && !room_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      init_q <= '0;
    end else if (!init_done_o) begin
      init_q <= init_q + 1;
    end
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(one_at_a_time, $onehot0({!init_done_o, frame_counts, rewind_i, follow_i}))

endmodule
