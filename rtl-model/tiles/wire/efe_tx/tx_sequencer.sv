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
  output logic [MAX_NODE-1:0] silent_o,       // nodes that have not answered in time

  stream_if.source            ended,
  input  logic                slot_in_use_i,  // a frame still leaves from that slot

  output logic                timer_set_o,    // of node_o, to deadline_o
  output logic [31:0]         deadline_o,
  output logic [MAX_NODE-1:0] outstanding_o,
  output logic [MAX_NODE-1:0] greeting_o,     // greeted, and no answer yet

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

  typedef enum logic [3:0] {
    ST_INIT, ST_REST, ST_LOAD, ST_SEEK, ST_JUDGE, ST_WALK, ST_DONE, ST_ARRIVED, ST_LOST,
    ST_FINISH, ST_SEND
  } state_e;

  slot_t next_slot [TX_SLOTS];

  state_e state_q, state_d;
  op_e op_q;
  node_t node_q;
  slot_t slot_q;
  peer_t peer_q;
  /* verilator lint_off UNUSEDSIGNAL */  // its node is node_q
  rx_ack_t ack_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic sack, echo;
  logic give_up_q, dead_q, dirty_q, progress_q, retry_q;
  logic [31:0] seq_q;         // of slot_q, in ST_ARRIVED
  logic sampled_q, limited_q;
  logic [7:0] acked_q, losses_q;
  logic [31:0] sample_q;
  node_t init_q;
  logic [MAX_NODE-1:0] outstanding_q, silent_q, greeting_q, open_q;

  logic listed;  // node_q has unacknowledged slots
  assign listed = outstanding_q[node_q];
  assign sack   = op_q == OP_ACK && ack_q.sack;
  assign echo   = op_q == OP_ACK && ack_q.ece;

  verdict_t verdict;
  tx_verdict u_verdict (
    .cfg_retry_limit_i(settings.retry_limit),
    .op_i             (op_q),
    .peer_i           (peer_q),
    .ack_i            (ack_q),
    .greeting_i       (greeting_q[node_q]),
    .known_i          (rx_known_i),
    .verdict_o        (verdict)
  );

  // ---- State of the nodes. That of the node in work is in peer_q. It goes back to memory when the
  // next event is chosen; if that is one of the same node it also stays.

  peer_t stored, loaded;
  logic stays_q;
  assign loaded = stays_q ? peer_q : stored;
  assign pace_o = '{valid: state_q == ST_LOAD, mean: loaded.rtt.mean, window: loaded.window.size};

  ram_1r1w #(
    .WIDTH($bits(peer_t)),
    .DEPTH(MAX_NODE)
  ) u_peers (
    .clk_i,
    .write_i        (!init_done_o || (rest_o && dirty_q)),
    .write_address_i(init_done_o ? node_q : init_q),
    .write_data_i   (init_done_o ? peer_q : fresh_peer(16'd0)),
    .read_i         (rest_o && pick_i.valid),
    .read_address_i (pick_i.node),
    .read_data_o    (stored)
  );

  // ---- Walk along the list

  slot_t slot;
  logic slot_dead, walk_pop, is_ended, pop, stops;
  logic once;  // with its descriptor: of the unreliable class, neither numbered nor listed

  assign slot        = state_q inside {ST_WALK, ST_JUDGE} ? peer_q.head :
                       state_q == ST_SEEK ? peer_q.cursor : slot_q;
  assign stops       = state_q == ST_SEND && op_q == OP_NEW && desc_i.stream && broken_i;
  assign slot_dead   = dead_i[slot] || stops;
  assign once        = op_q == OP_NEW && desc_i.unreliable;
  assign walk_pop    = listed && (give_up_q || slot_dead || peer_q.una != ack_q.ack);
  assign ended.valid = state_q == ST_DONE && !slot_in_use_i;
  assign is_ended    = ended.valid && ended.ready;
  assign pop         = is_ended && op_q != OP_NEW;

  cqe_status_e status;
  always_comb begin
    status = CQE_STATUS_SUCCESS;
    if (desc_i.unsent) status = desc_i.status;
    else if (stopped_i[slot_q]) status = CQE_STATUS_WR_FLUSH_ERR;
    else if (poisoned_i[slot_q]) status = CQE_STATUS_LOC_PROT_ERR;
    else if ((give_up_q || slot_dead) && !once) status = CQE_STATUS_RETRY_EXC_ERR;
  end
  assign ended.data = '{
    slot: slot_q, done: '{tag: desc_i.tag, node: node_q, seq: peer_q.una, status: status}
  };

  // ---- What is known of the slots under way

  flight_t flight;
  logic sent, arrived, beyond, strikes, suspect, lost, listed_last;
  logic [31:0] patience, rto;
  rtt_t rtt_new;
  logic late;

  assign listed_last = slot_q == peer_q.tail;

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
    .peer_i    (peer_q),
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
    .congested_i(echo || (sampled_q && late)),
    .lost_i     (retry_q ? '0 : losses_q),
    .limited_i  (limited_q),
    .time_out_i (state_q == ST_JUDGE),
    .window_o   (window_new)
  );

  assign window_room   = peer_q.next - peer_q.una < 32'(peer_q.window.size[$bits(window_size_t)-1:4]) ||
                         peer_q.next == peer_q.una;
  assign window_open_o = rest_o && dirty_q && window_node_i == node_q ? window_room
                                                                     : open_q[window_node_i];

  // ---- Sending

  logic sending, with_data, append, seek_last, resend_last, wanted;

  assign sending     = state_q == ST_SEND;
  assign with_data   = op_q inside {OP_NEW, OP_RESEND};
  assign append      = sending && op_q == OP_NEW && (!slot_dead || listed) && !once;
  assign wanted      = flight.lost && !slot_dead;
  assign seek_last   = peer_q.cursor == peer_q.tail;
  assign resend_last = slot_q == peer_q.tail;
  assign sent        = sending && with_data && !slot_dead && (op_q == OP_NEW || flight.lost);
  assign send_o      = '{
    // Without data a frame acknowledges, or tells of a new session, or has nothing to say.
    valid:   with_data ? sent : sending && (rx_known_i || !peer_q.established),
    data:    with_data,
    credit:  op_q == OP_CREDIT && rx_known_i,
    session: peer_q.session,
    syn:     !peer_q.established,
    seq:     op_q == OP_RESEND ? peer_q.cursor_seq : peer_q.next
  };
  assign ack_sent_o  = sending && (send_o.valid || !with_data) && !once;

  // ---- What follows from all this, outside

  logic start_resend, greeted;
  assign start_resend = state_q == ST_FINISH && losses_q != '0 && listed;
  assign greeted      = send_o.valid && !with_data && !rx_known_i && !listed;

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
  assign doom_o        = state_q == ST_FINISH && give_up_q;
  assign desc_read_o   = state_q == ST_LOAD || state_q == ST_SEEK || state_q == ST_WALK;
  assign resend_o      = '{
    enter:  start_resend,
    leave:  (state_q == ST_FINISH && !listed) || (sending && op_q == OP_RESEND && resend_last),
    rotate: sending && op_q == OP_RESEND && !resend_last
  };

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
      ST_INIT:   if (init_q == node_t'(MAX_NODE - 1)) state_d = ST_REST;
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
      if (rest_o && dirty_q) open_q[node_q] <= window_room;
      if (pop && peer_q.head == peer_q.tail) outstanding_q[node_q] <= 1'b0;
      if (state_q == ST_LOAD) dirty_q <= 1'b1;
      if (state_q == ST_REST) dirty_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rest_o) begin
      op_q    <= pick_i.op;
      node_q  <= pick_i.node;
      stays_q <= dirty_q && pick_i.node == node_q;
      slot_q  <= head_slot_i;
      ack_q   <= ack_i;
      if (pick_i.op != OP_ACK) ack_q.peer_session <= known_i;
      {give_up_q, dead_q, progress_q, retry_q, sampled_q, acked_q, losses_q} <= '0;
    end else if (state_q == ST_JUDGE) begin
      give_up_q  <= verdict.give_up;
      dead_q     <= verdict.peer_dead;
      progress_q <= verdict.ack_progress;
      retry_q    <= verdict.retry;
      seq_q      <= peer_q.una;
      acked_q    <= verdict.ack_good ? 8'(ack_q.ack - peer_q.una) : '0;
      limited_q  <= peer_q.next - peer_q.una >= 32'(peer_q.window.size[$bits(window_size_t)-1:5]);
      slot_q     <= peer_q.head;
    end else if (state_q == ST_SEEK || state_q == ST_WALK) begin
      slot_q <= desc_slot_o;
      seq_q  <= peer_q.una;
    end else if (event_o[COUNTER_PEERS_DEAD]) begin
      dead_q <= 1'b0;
    end else if (state_q == ST_DONE && !slot_dead && !flight.again && !flight.arrived &&
                 !give_up_q) begin
      sample_q  <= flight.age;
      sampled_q <= 1'b1;
    end else if (state_q == ST_ARRIVED) begin
      slot_q <= state_d == ST_LOST ? peer_q.head : next_slot[slot_q];
      if (!slot_dead) seq_q <= seq_q + 1;
    end else if (state_q == ST_LOST) begin
      slot_q <= next_slot[slot_q];
      if (!slot_dead) seq_q <= seq_q + 1;
      if (lost) losses_q <= losses_q + 1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (append && listed) next_slot[peer_q.tail] <= slot_q;
  end

  // ---- State of the node in work

  logic [31:0] entropy;  // for the first session
  assign entropy = settings.now[31:0] ^ settings.now[63:32];

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      ST_LOAD: begin
        peer_q <= loaded;
        if (loaded.session == '0 && op_q inside {OP_NEW, OP_ACK_ONLY, OP_CREDIT}) begin
          peer_q.session <= nonzero(entropy[15:0] ^ entropy[31:16] ^ 16'(node_q));
        end
      end
      ST_JUDGE: begin
        if (verdict.ack_good) begin
          peer_q.established <= 1'b1;
          peer_q.heard       <= 1'b1;
        end
        if (verdict.ack_progress || (verdict.greets && !verdict.greet_again)) peer_q.retries <= '0;
        else if ((verdict.retry || verdict.greet_again) && peer_q.retries != '1) begin
          peer_q.retries <= peer_q.retries + 1;
        end
        if (verdict.retry) begin
          peer_q.heard  <= 1'b0;
          peer_q.window <= window_new;
        end
        if (op_q == OP_TIMEOUT || verdict.ack_progress) peer_q.suspects <= 1'b0;
      end
      ST_DONE: begin
        if (pop) begin
          peer_q.head <= next_slot[slot_q];
          if (!slot_dead) peer_q.una <= peer_q.una + 1;
          if (!slot_dead && flight.newest) peer_q.newest <= flight.sent_at;
          if (peer_q.cursor == slot_q) begin
            peer_q.cursor <= next_slot[slot_q];
            if (!slot_dead) peer_q.cursor_seq <= peer_q.cursor_seq + 1;
          end
        end
      end
      ST_ARRIVED: if (arrived && flight.newest) peer_q.newest <= flight.sent_at;
      ST_LOST: begin
        if (suspect && !lost &&
            (!peer_q.suspects || signed'(flight.sent_at + patience - peer_q.suspects_at) < 0)) begin
          peer_q.suspects    <= 1'b1;
          peer_q.suspects_at <= flight.sent_at + patience;
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

  // ---- What is promised. peer_q means something behind ST_LOAD.
  `EXRNIC_HELD(ended_is_held, ended.valid, ended.ready, ended.data)
  `EXRNIC_ALWAYS(window_is_kept, !dirty_q || peer_q.next - peer_q.una <= 32'(WINDOW_MAX))
  `EXRNIC_ALWAYS(window_has_bounds, !dirty_q || (peer_q.window.size != '0 &&
                 peer_q.window.size <= window_size_t'(WindowMax)))
  `EXRNIC_ALWAYS(listed_is_numbered, !dirty_q || peer_q.next == peer_q.una || listed)

endmodule
