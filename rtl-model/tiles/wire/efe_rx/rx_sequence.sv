// SPDX-License-Identifier: BSD-2-Clause
// Sessions and sequence numbers of the peers: which frame is the next one of its sender.

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
  input  node_t       follow_node_i,
  input  logic        follow_i,
  output logic [31:0] follow_next_o,

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

  peer_t peers [MAX_NODE];
  peer_t peer, peer_new;
  node_t node;
  logic [31:0] ahead;
  logic known, late, starts, in_session, sequenced, gap;
  logic [15:0] behind;
  logic [$clog2(MAX_NODE):0] init_q;

  assign node            = node_t'(frame_i.src_node);
  assign peer            = peers[node];
  assign query_session_o = peers[query_node_i].session;
  assign query_next_o    = peers[query_node_i].next;
  assign init_o          = !init_done_o;
  assign init_node_o     = init_q[$clog2(MAX_NODE)-1:0];
  assign init_done_o     = init_q[$clog2(MAX_NODE)];

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

  assign next_o        = peer_new.next;
  assign old_next_o    = peer.next;
  assign ahead_o       = ahead;
  assign follow_next_o = peers[follow_node_i].next;
  assign rewind_next_o    = peers[rewind_node_i].next;
  assign rewind_session_o = peers[rewind_node_i].session;
  assign head_session_o   = peers[head_node_i].session;
  assign done_session_o   = peers[done_node_i].session;

  assign stranger_o  = frame_valid_i && !in_session && !starts;
  assign ack_o       = in_session && frame_i.flags[EFE_FLAGS_ACK];
  assign duplicate_o = sequenced && (ahead[31] || known_i);
  assign accept_o    = sequenced && ahead == '0 && !known_i && room_i;
  assign gap         = sequenced && ahead != '0 && !duplicate_o;
  assign hold_o      = gap && room_i && hold_room_i && hold_fits_i;
  assign overflow_o  = (starts && !adopt_o) || (gap && !hold_o) ||
                       (sequenced && ahead == '0 && !known_i && !room_i);

  always_ff @(posedge clk_i) begin
    if (!init_done_o) begin
      peers[init_q[$clog2(MAX_NODE)-1:0]] <= '0;
    end else if (adopt_o || accept_o) begin
      peers[node] <= '{session: peer_new.session, previous: peer_new.previous,
                       next: peer_new.next + 32'(accept_o)};
    end else if (rewind_i) begin
      peers[rewind_node_i].next <= rewind_seq_i;
    end else if (follow_i) begin
      peers[follow_node_i].next <= follow_next_o + 1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      init_q <= '0;
    end else if (!init_done_o) begin
      init_q <= init_q + 1;
    end
  end

endmodule
