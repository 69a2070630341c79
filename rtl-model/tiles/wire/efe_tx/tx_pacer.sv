// SPDX-License-Identifier: BSD-2-Clause
// When the next frame to a node may leave: a window is spread over three quarters of a round trip,
// with one frame to catch up. A window below one frame so becomes a rate. The largest window, and
// one whose round trip time is not measured yet, is not paced.

module tx_pacer
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import efe_tx_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,

  input  logic [31:0]  now_i,
  input  logic         sent_i,    // a frame with a segment leaves to
  input  node_t        node_i,
  input  cycles_t      mean_i,    // its round trip time
  input  window_size_t window_i,

  input  node_t        new_node_i,
  output logic         new_due_o,
  input  node_t        resend_node_i,
  output logic         resend_due_o
);

  typedef logic [25:0] wide_t;

  logic [31:0] due [MAX_NODE];
  logic [MAX_NODE-1:0] paced_q;
  node_t scan_q;

  // interval = mean * 12 / window. The divisor by its highest five bits: window = mantissa << (top - 4).
  logic [3:0] top;
  logic [4:0] mantissa;
  wide_t interval;
  logic [31:0] base;

  always_comb begin
    top = '0;
    for (int unsigned i = 0; i < $bits(window_size_t); i++) begin
      if (window_i[i]) top = 4'(i);
    end
    mantissa = 5'(15'(window_i) << 4 >> top);
    interval = sent_i ? wide_t'(mean_i) * (wide_t'(768) / wide_t'(mantissa)) >> (2 + top) : '0;
    base = now_i - 32'(interval);
    if (paced_q[node_i] && signed'(due[node_i] - base) > 0) base = due[node_i];
  end

  assign new_due_o    = !paced_q[new_node_i] || signed'(due[new_node_i] - now_i) <= 0;
  assign resend_due_o = !paced_q[resend_node_i] || signed'(due[resend_node_i] - now_i) <= 0;

  always_ff @(posedge clk_i) begin
    if (sent_i) due[node_i] <= base + 32'(interval);
  end

  // What has been due for longer than any interval stays so when the clock wraps: one node is looked
  // at in a cycle.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      paced_q <= '0;
      scan_q  <= '0;
    end else begin
      scan_q <= scan_q + 1;
      if (signed'(due[scan_q] - now_i) < -signed'(32'd1 << $bits(wide_t))) begin
        paced_q[scan_q] <= 1'b0;
      end
      if (sent_i) paced_q[node_i] <= mean_i != '0 && window_i != window_size_t'(WindowMax);
    end
  end

endmodule
