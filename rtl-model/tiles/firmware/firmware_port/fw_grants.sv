// SPDX-License-Identifier: BSD-2-Clause
// What firmware lets other nodes write. A segment that finds no grant here is dropped.

module fw_grants
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    input logic empty_i,  // nobody takes anything: all grants have ended

    input logic      we_i,  // a grant, or the end of one (valid is 0)
    input fw_grant_t grant_i,

    input  fw_grant_index_t index_i,  // combinational: what is in that place
    output fw_grant_t       grant_o
);

  fw_grant_t grants_q[FW_GRANTS];
  logic [FW_GRANTS-1:0] valid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (empty_i) valid_q <= '0;
    else if (we_i) valid_q[fw_grant_index_t'(grant_i.name)] <= grant_i.valid;
  end
  always_ff @(posedge clk_i) begin
    if (we_i) grants_q[fw_grant_index_t'(grant_i.name)] <= grant_i;
  end

  always_comb begin
    grant_o = grants_q[index_i];
    grant_o.valid = valid_q[index_i];
  end

endmodule
