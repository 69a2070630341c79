// SPDX-License-Identifier: BSD-2-Clause
// What becomes of the congestion window of a node: as with DCTCP (RFC 8257) the share of marked
// frames says by how much it shrinks, here frame by frame. One that was marked, late or lost takes
// half a frame off the window, others add a frame or two in a round trip. Combinational.

module tx_window
  import exrnic_pkg::*;
  import efe_tx_pkg::*;
(
  input  window_t    window_i,
  input  logic [7:0] acked_i,      // slots that an acknowledgement has ended,
  input  logic       congested_i,  // and it echoes a mark, or the frames were late
  input  logic [7:0] lost_i,       // slots that count as lost from now on
  input  logic       limited_i,    // half of the window was in use
  input  logic       time_out_i,   // alone
  output window_t    window_o
);

  localparam int unsigned Least = 2;  // an eighth: the pacer makes whole frames of it

  logic [8:0] hits;
  logic [11:0] cut;
  logic [15:0] growth;
  logic [7:0] acked;
  logic [3:0] top;
  window_size_t half, size;

  assign hits = 9'(lost_i) + (congested_i ? (acked_i == '0 ? 9'd1 : 9'(acked_i)) : '0);
  assign half = window_i.size >> 1;
  assign cut  = 12'(hits) << 3;

  // One frame over the window for each frame, the window taken as a power of two; half a frame below
  // one frame.
  assign acked = acked_i + 8'(window_i.odd);
  always_comb begin
    top = '0;
    for (int unsigned i = 4; i < $bits(window_size_t); i++) begin
      if (window_i.size[i]) top = 4'(i);
    end
    if (window_i.slow) growth = {4'd0, acked_i, 4'd0};
    else if (top == '0) growth = {5'd0, acked_i, 3'd0};
    else growth = {acked, 8'd0} >> top;
  end

  always_comb begin
    window_o = window_i;
    size     = window_i.size;
    if (time_out_i || hits != '0) begin
      size = time_out_i || cut > 12'(half) ? half : window_i.size - window_size_t'(cut);
      window_o.size = size < window_size_t'(Least) ? window_size_t'(Least) : size;
      window_o.slow = 1'b0;
      window_o.odd  = 1'b0;
    end else if (acked_i != '0 && limited_i) begin
      window_o.size = 16'(window_i.size) + growth > 16'(WindowMax) ?
                      window_size_t'(WindowMax) : window_i.size + window_size_t'(growth);
      window_o.odd  = !window_i.slow && top >= 4'd9 && acked[0];
    end
  end

endmodule
