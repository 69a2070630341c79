// SPDX-License-Identifier: BSD-2-Clause
// State of each node, and what the steps of an event make of that of the node in work. It is read
// when its event is picked, and goes back to memory when the next one is; if that is one of the same
// node it stays here, too.
`include "exrnic_assert.svh"

module tx_peer
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import efe_tx_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic [31:0] now_i,          // cycles
  input  logic [31:0] entropy_i,      // for the first session

  input  logic        pick_valid_i,   // in ST_REST: the next event is one
  input  node_t       pick_node_i,    // of this node
  input  step_e       step_i,
  input  op_e         op_i,
  input  node_t       node_i,         // in work; in ST_INIT that which is made
  output peer_t       peer_o,         // behind ST_LOAD
  output pace_t       pace_o,         // in ST_LOAD
  output logic        changes_o,      // it has been read for an event, and has not gone back

  /* verilator lint_off UNUSEDSIGNAL */  // what of it is needed here
  input  verdict_t    verdict_i,      // ST_JUDGE
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic        give_up_i,      // ST_FINISH: it begins anew,
  input  logic        sampled_i,      // else with this round trip time,
  input  rtt_t        rtt_i,
  input  window_t     window_i,       // and this window; in ST_JUDGE too
  input  logic        start_resend_i,

  // The slot in hand, and that behind it.
  input  slot_t       slot_i,
  input  slot_t       next_slot_i,
  input  logic        dead_i,         // it has no number
  input  logic [31:0] sent_at_i,
  input  logic        newest_i,       // of those known to have arrived, if it has
  input  logic        pop_i,          // ST_DONE: its end is taken
  input  logic        arrived_i,      // ST_ARRIVED: it has
  input  logic        suspect_i,      // ST_LOST: from this time on it counts as lost
  input  logic [31:0] suspect_at_i,
  input  logic        skip_i,         // ST_SEEK: it is not to be sent again
  input  logic        numbered_i,     // ST_SEND: it gets a number,
  input  logic        append_i,       // and a place in the list, or only that
  input  logic        listed_i        // where others are
);

  peer_t stored, loaded, peer_q;
  logic stays_q, changes_q;

  assign loaded    = stays_q ? peer_q : stored;
  assign pace_o    = '{valid: step_i == ST_LOAD, mean: loaded.rtt.mean, window: loaded.window.size};
  assign peer_o    = peer_q;
  assign changes_o = changes_q;

  ram_1r1w #(
    .WIDTH($bits(peer_t)),
    .DEPTH(N_NODE)
  ) u_peers (
    .clk_i,
    .write_i        (step_i == ST_INIT || (step_i == ST_REST && changes_q)),
    .write_address_i(node_i),
    .write_data_i   (step_i == ST_INIT ? fresh_peer(16'd0) : peer_q),
    .read_i         (step_i == ST_REST && pick_valid_i),
    .read_address_i (pick_node_i),
    .read_data_o    (stored)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      changes_q <= 1'b0;
    end else begin
      if (step_i == ST_LOAD) changes_q <= 1'b1;
      if (step_i == ST_REST) changes_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    unique case (step_i)
      ST_REST: stays_q <= changes_q && pick_node_i == node_i;
      ST_LOAD: begin
        peer_q <= loaded;
        if (loaded.session == '0 && op_i inside {OP_NEW, OP_ACK_ONLY, OP_CREDIT}) begin
          peer_q.session <= nonzero(entropy_i[15:0] ^ entropy_i[31:16] ^ 16'(node_i));
        end
      end
      ST_JUDGE: begin
        if (verdict_i.ack_good) begin
          peer_q.established <= 1'b1;
          peer_q.heard       <= 1'b1;
        end
        if (verdict_i.ack_progress || (verdict_i.greets && !verdict_i.greet_again)) begin
          peer_q.retries <= '0;
        end else if ((verdict_i.retry || verdict_i.greet_again) && peer_q.retries != '1) begin
          peer_q.retries <= peer_q.retries + 1;
        end
        if (verdict_i.retry) begin
          peer_q.heard  <= 1'b0;
          peer_q.window <= window_i;
        end
        if (op_i == OP_TIMEOUT || verdict_i.ack_progress) peer_q.suspects <= 1'b0;
      end
      ST_DONE: begin
        if (pop_i) begin
          peer_q.head <= next_slot_i;
          if (!dead_i) peer_q.una <= peer_q.una + 1;
          if (!dead_i && newest_i) peer_q.newest <= sent_at_i;
          if (peer_q.cursor == slot_i) begin
            peer_q.cursor <= next_slot_i;
            if (!dead_i) peer_q.cursor_seq <= peer_q.cursor_seq + 1;
          end
        end
      end
      ST_ARRIVED: if (arrived_i && newest_i) peer_q.newest <= sent_at_i;
      ST_LOST: begin
        if (suspect_i &&
            (!peer_q.suspects || signed'(suspect_at_i - peer_q.suspects_at) < 0)) begin
          peer_q.suspects    <= 1'b1;
          peer_q.suspects_at <= suspect_at_i;
        end
      end
      ST_SEEK: begin
        if (skip_i) begin
          peer_q.cursor <= next_slot_i;
          if (!dead_i) peer_q.cursor_seq <= peer_q.cursor_seq + 1;
        end
      end
      ST_FINISH: begin
        if (sampled_i) peer_q.rtt <= rtt_i;
        peer_q.window <= window_i;
        if (give_up_i) peer_q <= fresh_peer(next_session(peer_q.session));
      end
      ST_SEND: begin
        if (numbered_i) peer_q.next <= peer_q.next + 1;
        if (append_i && !listed_i) begin
          peer_q.head     <= slot_i;
          peer_q.retries  <= '0;     // of a greeting
          peer_q.newest   <= now_i;  // nothing under way is older
          peer_q.suspects <= 1'b0;
        end
        if (append_i) peer_q.tail <= slot_i;
        if (op_i == OP_RESEND) begin
          peer_q.cursor <= next_slot_i;
          if (!dead_i) peer_q.cursor_seq <= peer_q.cursor_seq + 1;
        end
      end
      default: ;
    endcase
    if (start_resend_i) begin
      peer_q.cursor     <= peer_q.head;
      peer_q.cursor_seq <= peer_q.una;
    end
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(window_is_kept, !changes_q || peer_q.next - peer_q.una <= 32'(WINDOW_MAX))
  `EXRNIC_ALWAYS(window_has_bounds, !changes_q || (peer_q.window.size != '0 &&
                 peer_q.window.size <= window_size_t'(WindowMax)))
  `EXRNIC_ALWAYS(numbered_is_listed, !changes_q || peer_q.next == peer_q.una || listed_i)

endmodule
