// SPDX-License-Identifier: BSD-2-Clause
// Sequence numbers, acknowledgement and retransmission. One event of one node at a time: so a list
// is never walked while something else frees from it. State machine and rules: README.md.

`include "exrnic_assert.svh"

module tx_sequencer
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import efe_tx_pkg::*;
(
  input  logic                clk_i,
  input  logic                rst_ni,

  settings_if.user            settings,
  input  logic [31:0]         now_i,          // cycles

  output logic                rest_o,         // asks for the next event
  input  pick_t               pick_i,         // and has it
  input  rx_ack_t             ack_i,
  input  logic [15:0]         known_i,
  output node_t               node_o,         // whose event is handled

  input  slot_t               head_slot_i,    // of pick_i.node: oldest slot that has not left yet
  output logic                head_pop_o,
  output logic                head_stop_o,    // with it: it must not leave
  output logic                doom_o,         // gives up what waits for node_o

  output logic                heard_valid_o,  // the peer has dealt with our refusal of that number
  output logic [7:0]          heard_o,

  input  logic [TX_SLOTS-1:0] dead_i,         // slots that are not to be sent (any more)
  input  logic [TX_SLOTS-1:0] poisoned_i,     // because of their payload,
  input  logic [TX_SLOTS-1:0] stopped_i,      // or of others in their stream
  output logic                desc_read_o,
  output slot_t               desc_slot_o,
  /* verilator lint_off UNUSEDSIGNAL */  // the rest of it is for its frame
  input  tx_desc_t            desc_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic                broken_i,       // one before it in its stream is lost
  output logic                lost_o,         // this one is, with all that is behind it in its stream
  output logic                new_o,          // handles the oldest waiting slot of node_o
  output logic [N_NODE-1:0] silent_o,       // nodes that have not answered in time

  stream_if.source            ended,
  output logic                ended_prompt_o,
  output slot_t               done_slot_o,    // of these two:
  output slot_t               left_slot_o,
  input  logic                done_in_use_i,  // a frame still leaves from that slot
  input  logic                left_in_use_i,

  output logic                timer_set_o,    // of node_o, to deadline_o
  output logic [31:0]         deadline_o,
  output logic [N_NODE-1:0] outstanding_o,
  output logic [N_NODE-1:0] greeting_o,     // greeted, and no answer yet

  input  node_t               window_node_i,
  output logic                window_open_o,  // its window has room for a new frame
  output pace_t               pace_o,
  output resend_t             resend_o,

  input  logic                rx_known_i,     // something has come from node_o
  output logic                ack_sent_o,
  output send_t               send_o,

  output logic                init_done_o,
  output event_t              event_o
);

  step_e state_q, state_d;
  op_e op_q;
  node_t node_q;
  slot_t slot_q;
  peer_t peer;
  logic peer_changes;
  /* verilator lint_off UNUSEDSIGNAL */  // its node is node_q
  rx_ack_t ack_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic sack, echo;
  logic give_up_q, dead_q, progress_q, retry_q;
  logic [31:0] seq_q;         // of slot_q, in ST_ARRIVED
  logic sampled_q, limited_q;
  logic [7:0] acked_q, losses_q;
  logic [31:0] sample_q;
  logic [N_NODE-1:0] outstanding_q, silent_q, greeting_q, open_q;

  logic listed;  // node_q has unacknowledged slots
  assign listed = outstanding_q[node_q];
  assign sack   = op_q == OP_ACK && ack_q.sack;
  assign echo   = op_q == OP_ACK && ack_q.ece;

  verdict_t verdict;
  tx_verdict u_verdict (
    .cfg_retry_limit_i(settings.retry_limit),
    .op_i             (op_q),
    .peer_i           (peer),
    .ack_i            (ack_q),
    .greeting_i       (greeting_q[node_q]),
    .known_i          (rx_known_i),
    .verdict_o        (verdict)
  );

  // ---- Walk along the list

  slot_t slot, next;
  logic slot_dead, walk_pop, is_ended, pop, stops;
  logic once;  // with its descriptor: of the unreliable class, neither numbered nor listed

  assign slot        = state_q inside {ST_WALK, ST_JUDGE} ? peer.head :
                       state_q == ST_SEEK ? peer.cursor : slot_q;
  assign stops       = state_q == ST_SEND && op_q == OP_NEW && desc_i.stream && broken_i;
  assign slot_dead   = dead_i[slot] || stops;
  assign once        = op_q == OP_NEW && desc_i.unreliable;
  assign walk_pop    = listed && (give_up_q || slot_dead || peer.una != ack_q.ack);
  assign is_ended    = done && ended.ready;
  assign pop         = is_ended && op_q != OP_NEW;

  cqe_status_e status;
  always_comb begin
    status = CQE_STATUS_SUCCESS;
    if (desc_i.unsent) status = desc_i.status;
    else if (stopped_i[slot_q]) status = CQE_STATUS_WR_FLUSH_ERR;
    else if (poisoned_i[slot_q]) status = CQE_STATUS_LOC_PROT_ERR;
    else if ((give_up_q || slot_dead) && !once) status = CQE_STATUS_RETRY_EXC_ERR;
  end

  // ---- What ends: in ST_DONE; or what has left once and for all, when its frame has. Of the latter the
  // sequencer waits for none, but they end in order.

  localparam int unsigned Leaving = 2;  // in the frame's register, and in the framer
  end_t left_q[Leaving], done_end, left_end;
  logic [$clog2(Leaving+1)-1:0] leaving_q;
  logic leaves, left, done, done_waits_q;
  assign leaves    = sending && once && !slot_dead && leaving_q != ($bits(leaving_q))'(Leaving);
  assign left      = leaving_q != '0 && !left_in_use_i && !done_waits_q;
  assign done      = state_q == ST_DONE && !done_in_use_i && !left && !(once && leaving_q != '0);
  assign done_end  = '{
    slot: slot_q, done: '{tag: desc_i.tag, node: node_q, seq: peer.una, status: status}
  };
  assign left_end  = '{
    slot: slot_q, done: '{tag: desc_i.tag, node: node_q, seq: peer.una, status: CQE_STATUS_SUCCESS}
  };
  assign done_slot_o    = slot_q;
  assign left_slot_o    = left_q[0].slot;
  assign ended.valid    = done || left;
  assign ended.data     = left ? left_q[0] : done_end;
  assign ended_prompt_o = !left && desc_i.prompt;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      leaving_q    <= '0;
      done_waits_q <= 1'b0;
    end else begin
      leaving_q <= leaving_q + ($bits(leaving_q))'(leaves) - ($bits(leaving_q))'(left && ended.ready);
      done_waits_q <= done && !ended.ready;
    end
  end
  always_ff @(posedge clk_i) begin
    if (left && ended.ready) left_q[0] <= left_q[1];
    if (leaves) left_q[leaving_q[0] ^ (left && ended.ready)] <= left_end;
  end

  // ---- What is known of the slots under way

  flight_t flight;
  logic sent, arrived, beyond, strikes, suspect, lost, listed_last;
  logic [31:0] patience, rto;
  rtt_t rtt_new;
  logic late;

  assign listed_last = slot_q == peer.tail;

  tx_flight u_flight (
    .clk_i,
    .rst_ni,
    .now_i,
    .begin_i   (rest_o),
    .slot_i    (slot),
    .dead_i    (slot_dead),
    .sent_i    (sent),
    .again_i   (op_q == OP_RESEND),
    .flight_o  (flight),
    .ack_i     (ack_q),
    .peer_i    (peer),
    .told_i    (state_q == ST_ARRIVED),
    .seq_i     (seq_q),
    .arrived_o (arrived),
    .beyond_o  (beyond),
    .judge_i   (state_q == ST_LOST),
    .retry_i   (retry_q),
    .patience_i(patience),
    .strikes_o (strikes),
    .suspect_o (suspect),
    .lost_o    (lost)
  );

  tx_rtt u_rtt (
    .cfg_rto_cycles_i(settings.rto_cycles),
    .rtt_i     (peer.rtt),
    .sample_i  (sample_q),
    .rtt_o     (rtt_new),
    .late_o    (late),
    .retries_i (peer.retries),
    .rto_o     (rto),
    .patience_o(patience)
  );

  // ---- Congestion window

  window_t window_new;
  logic window_room;

  tx_window u_window (
    .window_i   (peer.window),
    .acked_i    (acked_q),
    .congested_i(echo || (sampled_q && late)),
    .lost_i     (retry_q ? '0 : losses_q),
    .limited_i  (limited_q),
    .time_out_i (state_q == ST_JUDGE),
    .window_o   (window_new)
  );

  assign window_room   = peer.next - peer.una < 32'(peer.window.size[$bits(window_size_t)-1:4]) ||
                         peer.next == peer.una;
  assign window_open_o = rest_o && peer_changes && window_node_i == node_q ?
                         window_room : open_q[window_node_i];

  // ---- Sending

  logic sending, with_data, append, seek_last, resend_last, wanted;

  assign sending     = state_q == ST_SEND;
  assign with_data   = op_q inside {OP_NEW, OP_RESEND};
  assign append      = sending && op_q == OP_NEW && (!slot_dead || listed) && !once;
  assign wanted      = flight.lost && !slot_dead;
  assign seek_last   = peer.cursor == peer.tail;
  assign resend_last = slot_q == peer.tail;
  assign sent        = sending && with_data && !slot_dead && (op_q == OP_NEW || flight.lost);
  assign send_o      = '{
    // Without data a frame acknowledges, or tells of a new session, or has nothing to say.
    valid:   with_data ? sent : sending && (rx_known_i || !peer.established),
    data:    with_data,
    credit:  op_q == OP_CREDIT && rx_known_i,
    session: peer.session,
    syn:     !peer.established,
    seq:     op_q == OP_RESEND ? peer.cursor_seq : peer.next
  };
  assign ack_sent_o  = sending && (send_o.valid || !with_data) && !once;

  // ---- What follows from all this, for the node

  logic start_resend, greeted;
  assign start_resend = state_q == ST_FINISH && losses_q != '0 && listed;
  assign greeted      = send_o.valid && !with_data && !rx_known_i && !listed;

  lut_ram_nr1w #(
    .WIDTH($bits(slot_t)),
    .DEPTH(TX_SLOTS)
  ) u_next_slots (
    .clk_i,
    .write_i        (append && listed),
    .write_address_i(peer.tail),
    .write_data_i   (slot_q),
    .read_address_i ('{slot}),
    .read_data_o    ('{next})
  );

  tx_peer u_peer (
    .clk_i,
    .rst_ni,
    .now_i,
    .entropy_i     (settings.now[31:0] ^ settings.now[63:32]),
    .pick_valid_i  (pick_i.valid),
    .pick_node_i   (pick_i.node),
    .step_i        (state_q),
    .op_i          (op_q),
    .node_i        (node_q),
    .peer_o        (peer),
    .pace_o,
    .changes_o     (peer_changes),
    .verdict_i     (verdict),
    .give_up_i     (give_up_q),
    .sampled_i     (sampled_q),
    .rtt_i         (rtt_new),
    .window_i      (window_new),
    .start_resend_i(start_resend),
    .slot_i        (slot),
    .next_slot_i   (next),
    .dead_i        (slot_dead),
    .sent_at_i     (flight.sent_at),
    .newest_i      (flight.newest),
    .pop_i         (pop),
    .arrived_i     (arrived),
    .suspect_i     (suspect && !lost),
    .suspect_at_i  (flight.sent_at + patience),
    .skip_i        (!wanted && !seek_last),
    .numbered_i    (op_q == OP_NEW && !slot_dead && !once),
    .append_i      (append),
    .listed_i      (listed)
  );

  // ---- And outside

  assign heard_valid_o = state_q == ST_JUDGE && verdict.ack_good;
  assign heard_o       = ack_q.heard;

  assign rest_o        = state_q == ST_REST;
  assign node_o        = node_q;
  assign init_done_o   = state_q != ST_INIT;
  assign outstanding_o = outstanding_q;
  assign new_o         = op_q == OP_NEW && state_q inside {ST_LOAD, ST_SEND};
  assign greeting_o    = greeting_q;
  assign silent_o      = silent_q;
  assign head_pop_o    = sending && op_q == OP_NEW;
  assign head_stop_o   = stops;
  // What has no payload passes here before anything behind it leaves.
  assign lost_o        = desc_i.stream && !desc_i.unsent &&
                         ((head_pop_o && slot_dead) || (is_ended && status != CQE_STATUS_SUCCESS));
  assign doom_o        = state_q == ST_JUDGE && verdict.give_up;
  assign desc_read_o   = state_q == ST_LOAD || state_q == ST_SEEK || state_q == ST_WALK;
  assign resend_o      = '{
    enter:  start_resend,
    leave:  (state_q == ST_FINISH && !listed) || (sending && op_q == OP_RESEND && resend_last),
    rotate: sending && op_q == OP_RESEND && !resend_last
  };

  // Progress, a resend that is over, or frames of which it must be told when they count as lost.
  assign timer_set_o = (append && !listed) || greeted || (sending && op_q == OP_RESEND && resend_last) ||
                       (state_q == ST_FINISH &&
                        (progress_q || peer.suspects || op_q == OP_TIMEOUT));
  assign deadline_o  = peer.suspects ? peer.suspects_at : now_i + rto;

  always_comb begin
    unique case (state_q)
      ST_LOAD: desc_slot_o = slot_q;
      ST_SEEK: desc_slot_o = peer.cursor;
      default: desc_slot_o = peer.head;
    endcase
  end

  always_comb begin
    event_o = '0;
    event_o[COUNTER_FRAMES_TX]     = send_o.valid;
    event_o[COUNTER_ACKS_TX]       = send_o.valid && !with_data;
    event_o[COUNTER_CREDIT_UPDATES_TX] = send_o.valid && send_o.credit;
    event_o[COUNTER_RETRANSMITS]   = send_o.valid && op_q == OP_RESEND;
    event_o[COUNTER_TERMINATES_TX] =
        send_o.valid && op_q == OP_NEW && desc_i.tag.kind == TX_KIND_TERMINATE;
    event_o[COUNTER_TIMEOUTS]      = state_q == ST_JUDGE && verdict.time_out;
    // Introductions that nobody waits for are no loss, nor is what was never sent.
    event_o[COUNTER_PEERS_DEAD]    = is_ended && dead_q &&
        !slot_dead && desc_i.tag.kind != TX_KIND_INTRODUCTION;
    event_o[COUNTER_RX_BAD_ACK]    = state_q == ST_JUDGE && op_q == OP_ACK && !verdict.ack_good;
  end

  // ---- State machine

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      ST_INIT:   if (node_q == node_t'(N_NODE - 1)) state_d = ST_REST;
      ST_REST:   if (pick_i.valid) state_d = ST_LOAD;
      ST_LOAD: begin
        unique case (op_q)
          OP_RESEND: state_d = ST_SEEK;
          OP_NEW, OP_ACK_ONLY, OP_CREDIT: state_d = ST_SEND;
          default: state_d = ST_JUDGE;
        endcase
      end
      ST_SEEK:   if (wanted || seek_last) state_d = ST_SEND;
      ST_JUDGE: begin
        state_d = ST_REST;
        if (verdict.give_up || verdict.ack_good) state_d = ST_WALK;
        else if (verdict.greets) state_d = verdict.greet_again ? ST_SEND : ST_REST;
        else if (op_q == OP_TIMEOUT && listed) state_d = ST_LOST;
      end
      ST_WALK: begin
        state_d = walk_pop ? ST_DONE : ST_FINISH;
        if (!walk_pop && listed && sack) state_d = ST_ARRIVED;
        else if (!walk_pop && listed && flight.older) state_d = ST_LOST;
      end
      ST_ARRIVED: if (listed_last || beyond) state_d = ST_LOST;
      // What left first time after the newest that arrived: so did all behind it.
      ST_LOST: if (listed_last || (strikes && !flight.arrived) ||
                   (!retry_q && !suspect && !flight.again && !flight.arrived && !flight.lost &&
                    !slot_dead)) begin
        state_d = ST_FINISH;
      end
      ST_DONE:   if (is_ended) state_d = op_q == OP_NEW ? ST_REST : ST_WALK;
      ST_FINISH: state_d = ST_REST;
      ST_SEND:   state_d = (once && !leaves) || (op_q == OP_NEW && slot_dead && !listed) ? ST_DONE : ST_REST;
      default:   state_d = ST_REST;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q       <= ST_INIT;
      node_q        <= '0;
      outstanding_q <= '0;
      silent_q      <= '0;
      greeting_q    <= '0;
      open_q        <= '1;
    end else begin
      state_q <= state_d;
      if (state_q == ST_INIT) node_q <= node_q + 1;
      if (rest_o) node_q <= pick_i.node;
      if (state_q == ST_JUDGE && (verdict.retry || verdict.give_up || verdict.ack_progress)) begin
        silent_q[node_q] <= verdict.retry;
      end
      if (append) outstanding_q[node_q] <= 1'b1;
      if (append || (rx_known_i && state_q inside {ST_JUDGE, ST_SEND}) ||
          (state_q == ST_JUDGE && verdict.greets && !verdict.greet_again)) begin
        greeting_q[node_q] <= 1'b0;
      end else if (greeted) begin
        greeting_q[node_q] <= 1'b1;
      end
      if (rest_o && peer_changes) open_q[node_q] <= window_room;
      if (pop && peer.head == peer.tail) outstanding_q[node_q] <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rest_o) begin
      op_q   <= pick_i.op;
      slot_q <= head_slot_i;
      ack_q  <= ack_i;
      if (pick_i.op != OP_ACK) ack_q.peer_session <= known_i;
      {give_up_q, dead_q, progress_q, retry_q, sampled_q, acked_q, losses_q} <= '0;
    end else if (state_q == ST_JUDGE) begin
      give_up_q  <= verdict.give_up;
      dead_q     <= verdict.peer_dead;
      progress_q <= verdict.ack_progress;
      retry_q    <= verdict.retry;
      seq_q      <= peer.una;
      acked_q    <= verdict.ack_good ? 8'(ack_q.ack - peer.una) : '0;
      limited_q  <= peer.next - peer.una >= 32'(peer.window.size[$bits(window_size_t)-1:5]);
      slot_q     <= peer.head;
    end else if (state_q == ST_SEEK || state_q == ST_WALK) begin
      slot_q <= desc_slot_o;
      seq_q  <= peer.una;
    end else if (event_o[COUNTER_PEERS_DEAD]) begin
      dead_q <= 1'b0;
    end else if (state_q == ST_DONE && !slot_dead && !flight.again && !flight.arrived &&
                 !give_up_q) begin
      sample_q  <= flight.age;
      sampled_q <= 1'b1;
    end else if (state_q == ST_ARRIVED) begin
      slot_q <= state_d == ST_LOST ? peer.head : next;
      if (!slot_dead) seq_q <= seq_q + 1;
    end else if (state_q == ST_LOST) begin
      slot_q <= next;
      if (!slot_dead) seq_q <= seq_q + 1;
      if (lost) losses_q <= losses_q + 1;
    end
  end

  // ---- What is promised
  `EXRNIC_HELD(ended_is_held, ended.valid, ended.ready, ended.data)
  `EXRNIC_ALWAYS(leaves_where_there_is_room, !(leaves && leaving_q == ($bits(leaving_q))'(Leaving)))

endmodule
