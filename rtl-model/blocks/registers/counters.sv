// SPDX-License-Identifier: BSD-2-Clause
// The event counters. Blocks pulse their events; several may pulse the same one in a cycle.

module counters
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned SOURCES = 8
) (
    input  logic   clk_i,
    input  logic   rst_ni,
    input  event_t event_i[SOURCES],
    input  logic [$clog2(COUNTERS)-1:0] index_i,
    output logic [63:0] value_o  // of counter index_i
);

  // A simulator looks at them from outside, too.
  logic [COUNTERS-1:0][63:0] counter_q /*verilator public_flat_rd*/;

  // Most cycles have no event: those cost a simulation nothing but this test.
  event_t any;
  always_comb begin
    any = '0;
    for (int unsigned s = 0; s < SOURCES; s++) any |= event_i[s];
  end

  logic [COUNTERS-1:0][SOURCES-1:0] pulses;
  always_comb begin
    pulses = '0;
    if (any != '0) begin
      for (int unsigned i = 0; i < COUNTERS; i++) begin
        for (int unsigned s = 0; s < SOURCES; s++) pulses[i][s] = event_i[s][i];
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      counter_q <= '0;
    end else if (any != '0) begin
      for (int unsigned i = 0; i < COUNTERS; i++) begin
        if (any[i]) counter_q[i] <= counter_q[i] + 64'($countones(pulses[i]));
      end
    end
  end

  assign value_o = counter_q[index_i];

endmodule
