// SPDX-License-Identifier: BSD-2-Clause
// Sequence numbers, acknowledgement and retransmission. One event of one node at a time: so a list
// is never walked while something else frees from it. State machine and rules: README.md.

module tx_sequencer
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import efe_tx_pkg::*;
(
  input  logic                clk_i,
  input  logic                rst_ni,

  input  logic [31:0]         cfg_rto_cycles_i,
  input  logic [7:0]          cfg_retry_limit_i,
  input  logic [31:0]         now_i,          // cycles
  input  logic [31:0]         entropy_i,      // for the first session

  output logic                rest_o,         // asks for the next event
  input  logic                op_valid_i,     // and has it
  input  op_e                 op_i,
  input  node_t               op_node_i,
  /* verilator lint_off UNUSEDSIGNAL */  // its node is op_node_i
  input  rx_ack_t             ack_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic [15:0]         known_i,
  output node_t               node_o,         // whose event is handled

  input  slot_t               head_slot_i,    // of op_node_i: oldest slot that has not left yet
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
  input  tx_tag_t             desc_tag_i,
  input  logic                desc_unsent_i,  // it ends with desc_status_i
  input  cqe_status_e         desc_status_i,
  input  logic                desc_unreliable_i,  // its slot is freed as soon as it has left
  input  logic                desc_stream_i,
  input  logic                broken_i,       // one before it in its stream is lost
  output logic                lost_o,         // this one is, with all that is behind it in its stream
  output logic                new_o,          // handles the oldest waiting slot of node_o
  output logic [MAX_NODE-1:0] silent_o,       // nodes that have not answered in time

  output logic                ended_valid_o,  // a slot
  input  logic                ended_ready_i,
  output slot_t               ended_slot_o,
  output tx_done_t            ended_o,
  input  logic                slot_in_use_i,  // a frame still leaves from ended_slot_o

  output logic                timer_set_o,    // of node_o, to deadline_o
  output logic [31:0]         deadline_o,
  output logic [MAX_NODE-1:0] outstanding_o,
  output logic [MAX_NODE-1:0] greeting_o,     // greeted, and no answer yet

  input  node_t               window_node_i,
  output logic                window_open_o,  // its window has room for a new frame
  output cycles_t             rtt_mean_o,     // these two of node_o
  output window_size_t        window_o,

  output logic                resend_set_o,
  output logic                resend_clear_o,
  output logic                resend_rotate_o,

  input  logic                rx_known_i,     // something has come from node_o
  output logic                ack_sent_o,
  output logic                send_o,
  output logic                send_data_o,    // with a segment
  output logic                send_credit_o,  // with what the event says of receives
  output logic [15:0]         send_session_o,
  output logic                send_syn_o,
  output logic [31:0]         send_seq_o,

  output logic                init_done_o,
  output event_t              event_o
);

  typedef enum logic [3:0] {
    ST_INIT, ST_REST, ST_LOAD, ST_SEEK, ST_JUDGE, ST_WALK, ST_DONE, ST_ARRIVED, ST_LOST,
    ST_FINISH, ST_SEND
  } state_e;

  peer_t peers [MAX_NODE];
  slot_t next_slot [TX_SLOTS];

  state_e state_q, state_d;
  op_e op_q;
  node_t node_q;
  slot_t slot_q;
  peer_t peer_q;
  logic [15:0] session_q;  // of ours, that the peer speaks of
  logic [31:0] ack_q;
  logic [7:0] heard_q;
  logic sack_q, ece_q;
  logic [31:0] missing_q, arrived_q;
  logic give_up_q, dead_q, dirty_q, progress_q, retry_q;
  logic [31:0] seq_q;         // of slot_q, in ST_ARRIVED
  logic sampled_q, limited_q;
  logic [7:0] acked_q, losses_q;
  logic [31:0] sample_q;
  node_t init_q;
  logic [MAX_NODE-1:0] outstanding_q, silent_q, greeting_q, open_q;

  logic listed;  // node_q has unacknowledged slots
  assign listed = outstanding_q[node_q];

  // ---- Verdict on an event

  logic session_known, ack_good, ack_progress, forgotten, peer_dead, give_up, retry, time_out;
  logic greets, greet_again;

  assign session_known = session_q != '0 && session_q == peer_q.session;
  assign ack_good      = op_q == OP_ACK && session_known && ack_q - peer_q.una <= peer_q.next - peer_q.una;
  assign ack_progress  = ack_good && ack_q != peer_q.una;
  // A peer that starts a session but knows ours has given up on us, not forgotten us. One that
  // knows an older one of ours will take the current one from its first frame, while that has SYN.
  assign forgotten     = session_q == '0 || (!session_known && peer_q.established);
  // A greeting goes out again until something comes from the node.
  assign greets        = op_q == OP_TIMEOUT && greeting_q[node_q];
  assign greet_again   = greets && !rx_known_i && peer_q.retries < cfg_retry_limit_i;
  assign time_out      = op_q == OP_TIMEOUT && !greets && !peer_q.suspects;
  // One that is heard from is not dead, however slow.
  assign peer_dead     = time_out && peer_q.retries >= cfg_retry_limit_i && !peer_q.heard;
  assign retry         = time_out && !peer_dead;
  assign give_up       = peer_dead || (op_q == OP_RESTART && forgotten);

  // ---- Walk along the list

  slot_t slot;
  logic slot_dead, walk_pop, ended, pop, stops;
  logic once;  // with its descriptor: of the unreliable class, neither numbered nor listed

  assign slot         = state_q inside {ST_WALK, ST_JUDGE} ? peer_q.head :
                        state_q == ST_SEEK ? peer_q.cursor : slot_q;
  assign stops        = state_q == ST_SEND && op_q == OP_NEW && desc_stream_i && broken_i;
  assign slot_dead    = dead_i[slot] || stops;
  assign once         = op_q == OP_NEW && desc_unreliable_i;
  assign walk_pop     = listed && (give_up_q || slot_dead || peer_q.una != ack_q);
  assign ended_valid_o = state_q == ST_DONE && !slot_in_use_i;
  assign ended         = ended_valid_o && ended_ready_i;
  assign ended_slot_o  = slot_q;
  assign pop           = ended && op_q != OP_NEW;

  always_comb begin
    ended_o = '{tag: desc_tag_i, node: node_q, seq: peer_q.una, status: CQE_STATUS_SUCCESS};
    if (desc_unsent_i) begin
      ended_o.status = desc_status_i;
    end else if (stopped_i[slot_q]) begin
      ended_o.status = CQE_STATUS_WR_FLUSH_ERR;
    end else if (poisoned_i[slot_q]) begin
      ended_o.status = CQE_STATUS_LOC_PROT_ERR;
    end else if ((give_up_q || slot_dead) && !once) begin
      ended_o.status = CQE_STATUS_RETRY_EXC_ERR;
    end
  end

  // ---- What is known of the slots under way. A frame counts as lost when one that left later has
  // arrived and it is old enough that reordering cannot be the reason; time-outs are for the rest.

  logic sent, again, arrived, lost, mark_arrived, mark_lost, suspect, strikes, trusted, listed_last;
  logic struck_q, forget;
  logic [31:0] sent_at, age, behind, patience, rto;
  rtt_t rtt_new;
  logic late;

  assign listed_last  = slot_q == peer_q.tail;
  assign behind       = seq_q - missing_q;
  assign mark_arrived = state_q == ST_ARRIVED && !slot_dead &&
                        (behind[31] || (behind - 1 < 32'd32 && arrived_q[5'(behind - 1)]));
  // A copy that has an answer too soon is not what is answered.
  assign trusted      = !again || age >= {13'd0, peer_q.rtt.mean[19:1]};
  assign suspect      = state_q == ST_LOST && !retry_q && !slot_dead && !arrived && !lost &&
                        signed'(sent_at - peer_q.newest) < 0;
  // A time-out is for the first frame that is not acknowledged. If the peer told that it has arrived
  // it may have forgotten that, and all else that it told.
  assign strikes      = state_q == ST_LOST && retry_q && !slot_dead && !struck_q;
  assign forget       = state_q == ST_LOST && retry_q && arrived && (strikes || struck_q);
  assign mark_lost    = strikes || (suspect && age >= patience);

  tx_flight u_flight (
    .clk_i,
    .rst_ni,
    .now_i,
    .slot_i   (slot),
    .sent_i   (sent),
    .again_i  (op_q == OP_RESEND),
    .arrived_i(mark_arrived),
    .lost_i   (mark_lost),
    .forget_i (forget),
    .sent_at_o(sent_at),
    .age_o    (age),
    .again_o  (again),
    .arrived_o(arrived),
    .lost_o   (lost)
  );

  tx_rtt u_rtt (
    .cfg_rto_cycles_i,
    .rtt_i     (peer_q.rtt),
    .sample_i  (sample_q),
    .rtt_o     (rtt_new),
    .late_o    (late),
    .retries_i (peer_q.retries),
    .rto_o     (rto),
    .patience_o(patience)
  );

  // ---- Congestion window

  window_t window_new;
  logic window_room;

  tx_window u_window (
    .window_i   (peer_q.window),
    .acked_i    (acked_q),
    .congested_i(ece_q || (sampled_q && late)),
    .lost_i     (retry_q ? '0 : losses_q),
    .limited_i  (limited_q),
    .time_out_i (state_q == ST_JUDGE),
    .window_o   (window_new)
  );

  assign window_room   = peer_q.next - peer_q.una < 32'(peer_q.window.size[$bits(window_size_t)-1:4]) ||
                         peer_q.next == peer_q.una;
  assign window_open_o = rest_o && dirty_q && window_node_i == node_q ? window_room
                                                                     : open_q[window_node_i];
  assign rtt_mean_o    = peer_q.rtt.mean;
  assign window_o      = peer_q.window.size;

  // ---- Sending

  logic sending, append, seek_last, resend_last, wanted;

  assign sending        = state_q == ST_SEND;
  assign append         = sending && op_q == OP_NEW && (!slot_dead || listed) && !once;
  assign wanted         = lost && !slot_dead;
  assign seek_last      = peer_q.cursor == peer_q.tail;
  assign resend_last    = slot_q == peer_q.tail;
  assign send_data_o    = op_q inside {OP_NEW, OP_RESEND};
  // Without data a frame acknowledges, or tells of a new session, or has nothing to say.
  assign send_o         = sending && (send_data_o ? !slot_dead && (op_q == OP_NEW || lost)
                                                 : rx_known_i || send_syn_o);
  assign sent           = send_o && send_data_o;
  assign send_credit_o  = op_q == OP_CREDIT && rx_known_i;
  assign send_session_o = peer_q.session;
  assign send_syn_o     = !peer_q.established;
  assign send_seq_o     = op_q == OP_RESEND ? peer_q.cursor_seq : peer_q.next;
  assign ack_sent_o     = sending && (send_o || !send_data_o) && !once;

  // ---- What follows from all this, outside

  logic start_resend, greeted;
  assign start_resend = state_q == ST_FINISH && losses_q != '0 && listed;
  assign greeted      = sending && !send_data_o && send_o && !rx_known_i && !listed;

  assign heard_valid_o = state_q == ST_JUDGE && ack_good;
  assign heard_o       = heard_q;

  assign rest_o          = state_q == ST_REST;
  assign node_o          = node_q;
  assign init_done_o     = state_q != ST_INIT;
  assign outstanding_o   = outstanding_q;
  assign new_o           = op_q == OP_NEW && state_q inside {ST_LOAD, ST_SEND};
  assign greeting_o      = greeting_q;
  assign silent_o        = silent_q;
  assign head_pop_o      = sending && op_q == OP_NEW;
  assign head_stop_o     = stops;
  // What has no payload passes here before anything behind it leaves.
  assign lost_o          = desc_stream_i && !desc_unsent_i &&
                           ((head_pop_o && slot_dead) || (ended && ended_o.status != CQE_STATUS_SUCCESS));
  assign doom_o          = state_q == ST_FINISH && give_up_q;
  assign desc_read_o     = state_q == ST_LOAD || state_q == ST_SEEK || state_q == ST_WALK;
  assign resend_set_o    = start_resend;
  assign resend_clear_o  = (state_q == ST_FINISH && !listed) ||
                           (sending && op_q == OP_RESEND && resend_last);
  assign resend_rotate_o = sending && op_q == OP_RESEND && !resend_last;

  // Progress, a resend that is over, or frames of which it must be told when they count as lost.
  assign timer_set_o = (append && !listed) || greeted || (sending && op_q == OP_RESEND && resend_last) ||
                       (state_q == ST_FINISH &&
                        (progress_q || peer_q.suspects || op_q == OP_TIMEOUT));
  assign deadline_o  = peer_q.suspects ? peer_q.suspects_at : now_i + rto;

  always_comb begin
    unique case (state_q)
      ST_LOAD: desc_slot_o = slot_q;
      ST_SEEK: desc_slot_o = peer_q.cursor;
      default: desc_slot_o = peer_q.head;
    endcase
  end

  always_comb begin
    event_o = '0;
    event_o[COUNTER_FRAMES_TX]     = send_o;
    event_o[COUNTER_ACKS_TX]       = send_o && !send_data_o;
    event_o[COUNTER_CREDIT_UPDATES_TX] = send_o && send_credit_o;
    event_o[COUNTER_RETRANSMITS]   = send_o && op_q == OP_RESEND;
    event_o[COUNTER_TERMINATES_TX] =
        send_o && op_q == OP_NEW && desc_tag_i.kind == TX_KIND_TERMINATE;
    event_o[COUNTER_TIMEOUTS]      = state_q == ST_JUDGE && time_out;
    // Introductions that nobody waits for are no loss, nor is what was never sent.
    event_o[COUNTER_PEERS_DEAD]    = ended && dead_q &&
        !slot_dead && desc_tag_i.kind != TX_KIND_INTRODUCTION;
    event_o[COUNTER_RX_BAD_ACK]    = state_q == ST_JUDGE && op_q == OP_ACK && !ack_good;
  end

  // ---- State machine

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      ST_INIT:   if (init_q == node_t'(MAX_NODE - 1)) state_d = ST_REST;
      ST_REST:   if (op_valid_i) state_d = ST_LOAD;
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
        if (give_up || ack_good) state_d = ST_WALK;
        else if (greets) state_d = greet_again ? ST_SEND : ST_REST;
        else if (op_q == OP_TIMEOUT && listed) state_d = ST_LOST;
      end
      ST_WALK: begin
        state_d = walk_pop ? ST_DONE : ST_FINISH;
        if (!walk_pop && listed && sack_q) state_d = ST_ARRIVED;
        else if (!walk_pop && listed && signed'(sent_at - peer_q.newest) < 0) state_d = ST_LOST;
      end
      ST_ARRIVED: if (listed_last || (!behind[31] && behind > 32'd32)) state_d = ST_LOST;
      // What left first time after the newest that arrived: so did all behind it.
      ST_LOST: if (listed_last || (strikes && !arrived) ||
                   (!retry_q && !suspect && !again && !arrived && !lost && !slot_dead)) begin
        state_d = ST_FINISH;
      end
      ST_DONE:   if (ended) state_d = op_q == OP_NEW ? ST_REST : ST_WALK;
      ST_FINISH: state_d = ST_REST;
      ST_SEND:   state_d = once || (op_q == OP_NEW && slot_dead && !listed) ? ST_DONE : ST_REST;
      default:   state_d = ST_REST;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q       <= ST_INIT;
      init_q        <= '0;
      outstanding_q <= '0;
      dirty_q       <= 1'b0;
      silent_q      <= '0;
      greeting_q    <= '0;
      open_q        <= '1;
    end else begin
      state_q <= state_d;
      if (state_q == ST_INIT) init_q <= init_q + 1;
      if (state_q == ST_JUDGE && (retry || give_up || ack_progress)) silent_q[node_q] <= retry;
      if (append) outstanding_q[node_q] <= 1'b1;
      if (append || (rx_known_i && state_q inside {ST_JUDGE, ST_SEND}) ||
          (state_q == ST_JUDGE && greets && !greet_again)) begin
        greeting_q[node_q] <= 1'b0;
      end else if (greeted) begin
        greeting_q[node_q] <= 1'b1;
      end
      if (rest_o && dirty_q) open_q[node_q] <= window_room;
      if (pop && peer_q.head == peer_q.tail) outstanding_q[node_q] <= 1'b0;
      if (state_q == ST_LOAD) dirty_q <= 1'b1;
      if (state_q == ST_REST) dirty_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rest_o) begin
      op_q      <= op_i;
      node_q    <= op_node_i;
      slot_q    <= head_slot_i;
      session_q <= op_i == OP_ACK ? ack_i.peer_session : known_i;
      ack_q     <= ack_i.ack;
      heard_q   <= ack_i.heard;
      sack_q    <= op_i == OP_ACK && ack_i.sack;
      ece_q     <= op_i == OP_ACK && ack_i.ece;
      missing_q <= ack_i.missing;
      arrived_q <= ack_i.arrived;
      {give_up_q, dead_q, progress_q, retry_q, struck_q, sampled_q, acked_q, losses_q} <= '0;
    end else if (state_q == ST_JUDGE) begin
      give_up_q  <= give_up;
      dead_q     <= peer_dead;
      progress_q <= ack_progress;
      retry_q    <= retry;
      seq_q      <= peer_q.una;
      acked_q    <= ack_good ? 8'(ack_q - peer_q.una) : '0;
      limited_q  <= peer_q.next - peer_q.una >= 32'(peer_q.window.size[$bits(window_size_t)-1:5]);
      slot_q     <= peer_q.head;
    end else if (state_q == ST_SEEK || state_q == ST_WALK) begin
      slot_q <= desc_slot_o;
      seq_q  <= peer_q.una;
    end else if (event_o[COUNTER_PEERS_DEAD]) begin
      dead_q <= 1'b0;
    end else if (state_q == ST_DONE && !slot_dead && !again && !arrived && !give_up_q) begin
      sample_q  <= age;
      sampled_q <= 1'b1;
    end else if (state_q == ST_ARRIVED) begin
      slot_q <= state_d == ST_LOST ? peer_q.head : next_slot[slot_q];
      if (!slot_dead) seq_q <= seq_q + 1;
    end else if (state_q == ST_LOST) begin
      slot_q <= next_slot[slot_q];
      if (!slot_dead) seq_q <= seq_q + 1;
      if (mark_lost) losses_q <= losses_q + 1;
      if (strikes) struck_q <= 1'b1;
    end
  end

  // ---- State of the node in work; it goes back to memory when the next event is chosen

  always_ff @(posedge clk_i) begin
    if (state_q == ST_INIT) begin
      peers[init_q] <= fresh_peer(16'd0);
    end else if (state_q == ST_REST && dirty_q) begin
      peers[node_q] <= peer_q;
    end
    if (append && listed) next_slot[peer_q.tail] <= slot_q;
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      ST_LOAD: begin
        peer_q <= peers[node_q];
        if (peers[node_q].session == '0 && op_q inside {OP_NEW, OP_ACK_ONLY, OP_CREDIT}) begin
          peer_q.session <= nonzero(entropy_i[15:0] ^ entropy_i[31:16] ^ 16'(node_q));
        end
      end
      ST_JUDGE: begin
        if (ack_good) begin
          peer_q.established <= 1'b1;
          peer_q.heard       <= 1'b1;
        end
        if (ack_progress || (greets && !greet_again)) peer_q.retries <= '0;
        else if ((retry || greet_again) && peer_q.retries != '1) begin
          peer_q.retries <= peer_q.retries + 1;
        end
        if (retry) begin
          peer_q.heard  <= 1'b0;
          peer_q.window <= window_new;
        end
        if (op_q == OP_TIMEOUT || ack_progress) peer_q.suspects <= 1'b0;
      end
      ST_DONE: begin
        if (pop) begin
          peer_q.head <= next_slot[slot_q];
          if (!slot_dead) peer_q.una <= peer_q.una + 1;
          if (!slot_dead && trusted && signed'(peer_q.newest - sent_at) < 0) begin
            peer_q.newest <= sent_at;
          end
          if (peer_q.cursor == slot_q) begin
            peer_q.cursor <= next_slot[slot_q];
            if (!slot_dead) peer_q.cursor_seq <= peer_q.cursor_seq + 1;
          end
        end
      end
      ST_ARRIVED: begin
        if (mark_arrived && trusted && signed'(peer_q.newest - sent_at) < 0) begin
          peer_q.newest <= sent_at;
        end
      end
      ST_LOST: begin
        if (suspect && !mark_lost &&
            (!peer_q.suspects || signed'(sent_at + patience - peer_q.suspects_at) < 0)) begin
          peer_q.suspects    <= 1'b1;
          peer_q.suspects_at <= sent_at + patience;
        end
      end
      ST_SEEK: begin
        if (!wanted && !seek_last) begin
          peer_q.cursor <= next_slot[peer_q.cursor];
          if (!slot_dead) peer_q.cursor_seq <= peer_q.cursor_seq + 1;
        end
      end
      ST_FINISH: begin
        if (sampled_q) peer_q.rtt <= rtt_new;
        peer_q.window <= window_new;
        if (give_up_q) peer_q <= fresh_peer(next_session(peer_q.session));
      end
      ST_SEND: begin
        if (op_q == OP_NEW && !slot_dead && !once) peer_q.next <= peer_q.next + 1;
        if (append && !listed) begin
          peer_q.head     <= slot_q;
          peer_q.retries  <= '0;     // of a greeting
          peer_q.newest   <= now_i;  // nothing under way is older
          peer_q.suspects <= 1'b0;
        end
        if (append) peer_q.tail <= slot_q;
        if (op_q == OP_RESEND) begin
          peer_q.cursor <= next_slot[slot_q];
          if (!slot_dead) peer_q.cursor_seq <= peer_q.cursor_seq + 1;
        end
      end
      default: ;
    endcase
    if (start_resend) begin
      peer_q.cursor     <= peer_q.head;
      peer_q.cursor_seq <= peer_q.una;
    end
  end

endmodule
