// SPDX-License-Identifier: BSD-2-Clause
// Descriptors of the kept segments, and the order of those that are in sequence: not handed out
// yet, and behind them those being placed.

module rx_frames
  import exrnic_core_pkg::*;
  import efe_rx_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        store_i,         // kept, whether in sequence or not
  input  rx_slot_t    store_slot_i,
  input  rx_desc_t    store_desc_i,
  input  logic [15:0] store_session_i,

  input  logic        put_i,           // the next one of its sender
  input  rx_slot_t    put_slot_i,

  output logic        desc_valid_o,
  input  logic        desc_ready_i,
  output rx_desc_t    desc_o,

  input  logic        done_i,          // the oldest one is placed
  output rx_slot_t    done_slot_o,
  output logic [31:0] done_seq_o,
  output logic [15:0] done_session_o,

  output logic        empty_o
);

  localparam int unsigned IndexBits = $clog2(RX_SLOTS);

  typedef struct packed {
    logic [31:0] seq;
    logic [15:0] session;
  } placing_t;

  rx_desc_t descs [RX_SLOTS];
  placing_t placings [RX_SLOTS];
  rx_slot_t order [RX_SLOTS];
  rx_slots_t put_q, get_q, done_q;

  assign empty_o      = put_q == done_q;
  assign desc_valid_o = put_q != get_q;
  assign desc_o       = descs[order[get_q[IndexBits-1:0]]];
  assign done_slot_o  = order[done_q[IndexBits-1:0]];

  assign {done_seq_o, done_session_o} = placings[done_slot_o];

  always_ff @(posedge clk_i) begin
    if (store_i) begin
      descs[store_slot_i]    <= store_desc_i;
      placings[store_slot_i] <= '{seq: store_desc_i.seq, session: store_session_i};
    end
    if (put_i) order[put_q[IndexBits-1:0]] <= put_slot_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      put_q  <= '0;
      get_q  <= '0;
      done_q <= '0;
    end else begin
      if (put_i) put_q <= put_q + 1;
      if (desc_valid_o && desc_ready_i) get_q <= get_q + 1;
      if (done_i) done_q <= done_q + 1;
    end
  end

endmodule
