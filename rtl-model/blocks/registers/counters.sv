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

  logic [63:0] counter_q[COUNTERS];
  event_t any;
  always_comb begin
    any = '0;
    for (int unsigned s = 0; s < SOURCES; s++) any |= event_i[s];
  end

  for (genvar i = 0; i < COUNTERS; i++) begin : gen_counter
    logic [$clog2(SOURCES+1)-1:0] sum;
    always_comb begin
      sum = '0;
      if (any[i]) for (int unsigned s = 0; s < SOURCES; s++) sum += $bits(sum)'(event_i[s][i]);
    end
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) counter_q[i] <= '0;
      else if (any[i]) counter_q[i] <= counter_q[i] + 64'(sum);
    end
  end

  assign value_o = counter_q[index_i];

endmodule
