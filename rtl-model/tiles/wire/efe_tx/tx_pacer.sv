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
  input  pace_t        pace_i,    // of node_i, before the frame
  input  logic         sent_i,    // a frame with a segment leaves to
  input  node_t        node_i,

  input  node_t        new_node_i,
  output logic         new_due_o,
  input  node_t        resend_node_i,
  output logic         resend_due_o
);

  typedef logic [25:0] wide_t;

  // The interval is mean * Share / window. Of the window the highest bits count: a one, and the
  // mantissa behind it. So there are few quotients, and they are a table.
  localparam int unsigned Share = 16 * 3 / 4;  // a window counts in sixteenths
  localparam int unsigned MantissaBits = 4;
  localparam int unsigned Mantissas = 1 << MantissaBits;
  localparam int unsigned FractionBits = 2;
  typedef logic [$clog2((Share << FractionBits) + 1)-1:0] share_t;

  function automatic share_t [Mantissas-1:0] shares_of_mantissas();
    share_t [Mantissas-1:0] shares;
    for (int unsigned m = 0; m < Mantissas; m++)
      shares[m] = share_t'((Share << (MantissaBits + FractionBits)) / (Mantissas + m));
    return shares;
  endfunction
  localparam share_t [Mantissas-1:0] Shares = shares_of_mantissas();

  logic [3:0] top;
  logic [MantissaBits-1:0] mantissa;
  always_comb begin
    top = '0;
    mantissa = '0;
    if (pace_i.valid) begin
      for (int unsigned i = 0; i < $bits(window_size_t); i++) begin
        if (pace_i.window[i]) top = 4'(i);
      end
      mantissa = MantissaBits'(15'(pace_i.window) << MantissaBits >> top);
    end
  end

  // So the product is made before the frame leaves.
  wide_t product_q;
  logic [3:0] top_q;
  logic paces_q;
  always_ff @(posedge clk_i) begin
    if (pace_i.valid) begin
      product_q <= wide_t'(pace_i.mean) * wide_t'(Shares[mantissa]);
      top_q     <= top;
      paces_q   <= pace_i.mean != '0 && pace_i.window != window_size_t'(WindowMax);
    end
  end

  logic [N_NODE-1:0] paced_q;
  node_t scan_q;
  logic [31:0] interval, base, due, new_due, resend_due;
  logic [31:0] scan_due /* verilator public_flat_rw */;  // see systemc/transmit_clocks.h

  always_comb begin
    {interval, base} = '0;
    if (sent_i) begin
      interval = 32'(product_q) >> (FractionBits + 32'(top_q));
      base     = now_i - interval;
      if (paced_q[node_i] && signed'(due - base) > 0) base = due;
    end
  end

  assign new_due_o    = !paced_q[new_node_i] || signed'(new_due - now_i) <= 0;
  assign resend_due_o = !paced_q[resend_node_i] || signed'(resend_due - now_i) <= 0;

  lut_ram_nr1w #(
    .WIDTH(32),
    .DEPTH(N_NODE),
    .READERS(4)
  ) u_due (
    .clk_i,
    .write_i        (sent_i),
    .write_address_i(node_i),
    .write_data_i   (base + interval),
    .read_address_i ('{node_i, new_node_i, resend_node_i, scan_q}),
    .read_data_o    ('{due, new_due, resend_due, scan_due})
  );

  // What has been due for longer than any interval stays so when the clock wraps: one node is looked
  // at in a cycle.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      paced_q <= '0;
      scan_q  <= '0;
    end else begin
      scan_q <= scan_q + 1;
      if (signed'(scan_due - now_i) < -signed'(32'd1 << $bits(wide_t))) begin
        paced_q[scan_q] <= 1'b0;
      end
      if (sent_i) paced_q[node_i] <= paces_q;
    end
  end

endmodule
