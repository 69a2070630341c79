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
  logic [63:0] counter_q[COUNTERS] /*verilator public_flat_rd*/;

  event_t any;
  always_comb begin
    any = '0;
    for (int unsigned s = 0; s < SOURCES; s++) any |= event_i[s];
  end

  // Each on its own: most of them have no event in a cycle, and cost a simulation one test then.
  for (genvar i = 0; i < COUNTERS; i++) begin : gen_counter
    always_ff @(posedge clk_i or negedge rst_ni) begin
      automatic logic [SOURCES-1:0] pulses;
      if (!rst_ni) begin
        counter_q[i] <= '0;
      end else if (any[i]) begin
        for (int unsigned s = 0; s < SOURCES; s++) pulses[s] = event_i[s][i];
        counter_q[i] <= counter_q[i] + 64'($countones(pulses));
      end
    end
  end

  assign value_o = counter_q[index_i];

endmodule
