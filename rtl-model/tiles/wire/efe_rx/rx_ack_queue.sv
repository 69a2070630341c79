// SPDX-License-Identifier: BSD-2-Clause
// What the transmit side is to learn: peers that have restarted, and acknowledgements. One entry
// for each node, in which a later acknowledgement replaces an earlier one: so none is lost.
`include "exrnic_assert.svh"

module rx_ack_queue
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        look_i,         // something of put_i.node's may be put in the next cycle
  input  logic        put_ack_i,      // not in two cycles that follow each other
  input  logic        put_restart_i,  // the frame of the restart also brings put_i, if it has ACK
  input  rx_ack_t     put_i,

  output logic        restart_valid_o,
  input  logic        restart_ready_i,
  output node_t       restart_node_o,
  output logic [15:0] restart_known_o,

  output logic        ack_valid_o,    // after the restart of the same node
  input  logic        ack_ready_i,
  output rx_ack_t     ack_o,

  output logic        empty_o
);

  typedef struct packed {
    logic [15:0] peer_session;
    logic [31:0] ack;
    logic [7:0]  heard;
    logic        ece;
    logic        sack;
    logic [31:0] missing;
    logic [31:0] arrived;
  } entry_t;

  logic [N_NODE-1:0] ack_q, restart_q;

  node_t node, head, next;
  logic head_valid, restart_taken, ack_taken, last_taken;
  entry_t old, now;
  logic overtaken;

  assign node = put_i.node;
  assign overtaken = signed'(put_i.ack - old.ack) < 0;  // on its way

  always_comb begin
    now = '{peer_session: put_i.peer_session, ack: put_i.ack, heard: put_i.heard, ece: put_i.ece,
            sack: put_i.sack, missing: put_i.missing, arrived: put_i.arrived};
    if (ack_q[node] && old.peer_session == put_i.peer_session) begin
      if (!put_i.sack) begin
        now.sack    = old.sack;
        now.missing = old.missing;
        now.arrived = old.arrived;
      end
      if (overtaken) now = old;
      now.ece = old.ece || put_i.ece;
    end
  end

  assign restart_valid_o = head_valid && restart_q[head];
  assign ack_valid_o     = head_valid && ack_q[head] && !restart_q[head];
  assign restart_node_o  = head;
  assign ack_o = '{node: head, peer_session: first.peer_session, ack: first.ack,
                   heard: first.heard, ece: first.ece, sack: first.sack, missing: first.missing,
                   arrived: first.arrived};

  assign restart_taken = restart_valid_o && restart_ready_i;
  assign ack_taken     = ack_valid_o && ack_ready_i;
  assign last_taken    = ack_taken || (restart_taken && !ack_q[head]);

  // ---- Entries: that of a node for which one may be put, and that of the head in the next cycle.
  // What is put for that one comes past the memory.
  entry_t entries [2];
  entry_t first, passed_entry_q;
  logic pass, passed_q, moves;
  assign old   = entries[0];
  assign first = passed_q ? passed_entry_q : entries[1];
  assign pass  = put_ack_i && node == next;
  assign moves = !head_valid && !empty_o;
  ram_nr1w #(
    .WIDTH($bits(entry_t)),
    .DEPTH(N_NODE),
    .READERS(2)
  ) u_entries (
    .clk_i,
    .write_i        (put_ack_i),
    .write_address_i(node),
    .write_data_i   (now),
    .read_i         ({moves && !pass, look_i}),
    .read_address_i ('{node, next}),
    .read_data_o    (entries)
  );
  always_ff @(posedge clk_i) begin
    if (pass || moves) passed_q <= pass;
    if (pass) passed_entry_q <= now;
  end

  // Two restarts at once: the peer cannot have known our session all the time.
  logic [15:0] known [1];
  assign restart_known_o = known[0];
  lut_ram_nr1w #(
    .WIDTH(16),
    .DEPTH(N_NODE)
  ) u_known (
    .clk_i,
    .write_i        (put_restart_i),
    .write_address_i(node),
    .write_data_i   (put_ack_i && !restart_q[node] ? put_i.peer_session : '0),
    .read_address_i ('{head}),
    .read_data_o    (known)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ack_q     <= '0;
      restart_q <= '0;
    end else begin
      if (ack_taken) ack_q[head] <= 1'b0;
      if (restart_taken) restart_q[head] <= 1'b0;
      if (put_ack_i) ack_q[node] <= 1'b1;
      if (put_restart_i) restart_q[node] <= 1'b1;
    end
  end

  rx_node_queue u_queue (
    .clk_i,
    .rst_ni,
    .set_valid_i (put_ack_i || put_restart_i),
    .set_node_i  (node),
    .done_i      (last_taken),
    .head_valid_o(head_valid),
    .head_node_o (head),
    .next_node_o (next),
    .empty_o
  );

  // ---- What is promised
  `EXRNIC_ALWAYS(looked_before, !put_ack_i || ($past(look_i) && $past(node) == node))
  `EXRNIC_ALWAYS(puts_apart, put_ack_i |=> !put_ack_i)
  `EXRNIC_ALWAYS(one_is_taken, $onehot0({restart_taken, ack_taken}))

endmodule
