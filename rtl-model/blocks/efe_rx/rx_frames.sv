// SPDX-License-Identifier: BSD-2-Clause
// Accepted segments: those not handed out yet, and behind them those being placed.

module rx_frames
  import exrnic_core_pkg::*;
  import efe_rx_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  output logic        room_o,
  input  logic        put_i,
  input  rx_desc_t    put_desc_i,
  input  logic [15:0] put_session_i,
  input  rx_words_t   put_words_i,

  output logic        desc_valid_o,
  input  logic        desc_ready_i,
  output rx_desc_t    desc_o,

  input  logic        done_i,          // the oldest one is placed
  output logic [31:0] done_seq_o,
  output logic [15:0] done_session_o,
  output rx_words_t   done_words_o,

  output logic        empty_o
);

  localparam int unsigned IndexBits = $clog2(RxFrames);

  typedef struct packed {
    logic [31:0] seq;
    logic [15:0] session;
    rx_words_t   words;
  } placing_t;

  rx_desc_t descs [RxFrames];
  placing_t placings [RxFrames];
  logic [IndexBits:0] put_q, get_q, done_q;

  assign room_o       = put_q - done_q != (IndexBits+1)'(RxFrames);
  assign empty_o      = put_q == done_q;
  assign desc_valid_o = put_q != get_q;
  assign desc_o       = descs[get_q[IndexBits-1:0]];

  assign {done_seq_o, done_session_o, done_words_o} = placings[done_q[IndexBits-1:0]];

  always_ff @(posedge clk_i) begin
    if (put_i) begin
      descs[put_q[IndexBits-1:0]]    <= put_desc_i;
      placings[put_q[IndexBits-1:0]] <=
          '{seq: put_desc_i.seq, session: put_session_i, words: put_words_i};
    end
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
