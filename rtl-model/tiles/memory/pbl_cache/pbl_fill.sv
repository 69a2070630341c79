// SPDX-License-Identifier: BSD-2-Clause
// Lines of PBLs on their way from host memory: one buffer for each client of the cache. The line
// stays in the buffer until its client has looked at it, so a client gets on even where others
// displace its line in the cache. See README.md.

`include "exrnic_assert.svh"

module pbl_fill
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
  parameter int unsigned CLIENTS = 3,
  localparam int unsigned CLIENT_W = CLIENTS > 1 ? $clog2(CLIENTS) : 1,
  localparam int unsigned LINE_W = 8 * PBL_LINE_SIZE,
  localparam int unsigned BYTE_W = $clog2(PBL_LINE_SIZE),
  localparam int unsigned LINE_ADDRESS_W = $bits(pbl_owner_t) + 64 - BYTE_W
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                flush_i,    // what has come, and what was asked for, is of the past
  output logic [CLIENTS-1:0]  waiting_o,  // for the line

  // The client in hand
  input  logic [CLIENT_W-1:0] client_i,
  input  logic [LINE_ADDRESS_W-1:0] line_address_i,  // owner, and number of the line
  input  logic                forget_i,   // its buffer is of no use any more
  input  logic                start_i,    // the line is to be read; likewise
  output logic                found_o,    // it has come...
  output logic                error_o,    // ...but the host refused to read it
  output logic [LINE_W-1:0]   line_o,

  // A good line has come
  output logic                install_o,
  output logic [LINE_ADDRESS_W-1:0] install_address_o,
  output logic [LINE_W-1:0]   install_line_o,

  // DMA read
  output logic                rd_valid_o,
  input  logic                rd_ready_i,
  output dma_read_req_t       rd_req_o,
  input  logic                beat_valid_i,
  /* verilator lint_off UNUSEDSIGNAL */  // `dst` has bits to spare
  input  dma_read_beat_t      beat_i
  /* verilator lint_on UNUSEDSIGNAL */
);
  typedef logic [CLIENT_W-1:0] client_t;
  typedef logic [LINE_W-1:0] line_t;

  typedef enum logic [2:0] {
    BUF_FREE,
    BUF_ASK,
    BUF_FILL,
    BUF_STALE,  // as BUF_FILL, but a flush came
    BUF_FULL
  } state_e;

  state_e [CLIENTS-1:0] state_q;
  logic [LINE_ADDRESS_W-1:0] address_q[CLIENTS];
  line_t                line_q[CLIENTS];
  chunk_t [CLIENTS-1:0] missing_q;  // bytes
  logic   [CLIENTS-1:0] error_q;

  // ---- The client in hand

  assign found_o = state_q[client_i] == BUF_FULL && address_q[client_i] == line_address_i;
  assign error_o = error_q[client_i];
  assign line_o = line_q[client_i];

  always_comb begin
    waiting_o = '0;
    for (int unsigned i = 0; i < CLIENTS; i++) begin
      if (state_q[i] != BUF_FREE) waiting_o[i] = state_q[i] inside {BUF_ASK, BUF_FILL, BUF_STALE};
    end
  end

  // ---- Reads: their place in the buffers comes back with the data.

  client_t rd_client;
  logic    rd_taken;

  always_comb begin
    rd_valid_o = 1'b0;
    rd_client = '0;
    for (int unsigned i = 0; i < CLIENTS; i++) begin
      if (state_q[i] == BUF_ASK && !rd_valid_o) begin
        rd_valid_o = 1'b1;
        rd_client = client_t'(i);
      end
    end
  end
  assign rd_taken = rd_valid_o && rd_ready_i;
  assign rd_req_o = '{
    address: {address_q[rd_client][63-BYTE_W:0], BYTE_W'(0)},
    length: chunk_t'(PBL_LINE_SIZE),
    dst: tx_address_t'({rd_client, BYTE_W'(0)})
  };

  // ---- Data: beats may be cut anywhere, so bytes go to their places one by one.

  client_t           beat_client;
  logic [BYTE_W-1:0] beat_place;
  logic              beat_last;

  function automatic data_t front_of(data_t data, beat_bytes_t bytes);
    return data & ~(data_t'('1) << {bytes, 3'b0});
  endfunction

  assign beat_client = beat_i.dst[BYTE_W+:CLIENT_W];
  assign beat_place = beat_i.dst[BYTE_W-1:0];
  always_comb begin
    beat_last = 1'b0;
    if (beat_valid_i) beat_last = beat_i.bytes == missing_q[beat_client];
  end

  always_ff @(posedge clk_i) begin
    if (start_i) address_q[client_i] <= line_address_i;
    if (rd_taken) begin
      line_q[rd_client] <= '0;
      missing_q[rd_client] <= chunk_t'(PBL_LINE_SIZE);
      error_q[rd_client] <= 1'b0;
    end
    if (beat_valid_i) begin
      line_q[beat_client] <= line_q[beat_client] |
          (line_t'(front_of(beat_i.data, beat_bytes_t'(beat_i.bytes))) << {beat_place, 3'b0});
      missing_q[beat_client] <= missing_q[beat_client] - beat_i.bytes;
      error_q[beat_client] <= error_q[beat_client] || beat_i.error;
    end
  end

  // ---- States. A read that is taken in the cycle of a flush may have seen the past.

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= {CLIENTS{BUF_FREE}};
    end else if (rd_taken || beat_last || start_i || forget_i || flush_i) begin
      for (int unsigned i = 0; i < CLIENTS; i++) begin
        unique case (state_q[i])
          BUF_ASK:
          if (rd_taken && rd_client == client_t'(i)) state_q[i] <= flush_i ? BUF_STALE : BUF_FILL;
          BUF_FILL: begin
            if (beat_last && beat_client == client_t'(i))
              state_q[i] <= flush_i ? BUF_FREE : BUF_FULL;
            else if (flush_i) state_q[i] <= BUF_STALE;
          end
          BUF_STALE: if (beat_last && beat_client == client_t'(i)) state_q[i] <= BUF_FREE;
          default: begin
            if (start_i && client_i == client_t'(i)) state_q[i] <= BUF_ASK;
            else if (flush_i || (forget_i && client_i == client_t'(i))) state_q[i] <= BUF_FREE;
          end
        endcase
      end
    end
  end

  // ---- A line goes into the cache in the cycle after its last beat.

  logic    complete_q;
  client_t complete_client_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) complete_q <= 1'b0;
    else complete_q <= beat_last;
  end
  always_ff @(posedge clk_i) complete_client_q <= beat_client;

  assign install_o = complete_q && state_q[complete_client_q] == BUF_FULL &&
                     !error_q[complete_client_q] && !flush_i;
  assign install_address_o = address_q[complete_client_q];
  assign install_line_o = line_q[complete_client_q];

  // ---- What is promised: a buffer is asked for when nothing is on its way to it, and gets what was asked for.
  `EXRNIC_ALWAYS(starts_when_free, !start_i || state_q[client_i] inside {BUF_FREE, BUF_FULL})
  `EXRNIC_ALWAYS(beats_were_asked_for, !beat_valid_i || (state_q[beat_client] inside {BUF_FILL, BUF_STALE} &&
      beat_i.bytes <= missing_q[beat_client]))
endmodule
