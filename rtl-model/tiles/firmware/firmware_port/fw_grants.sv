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

  logic [FW_GRANTS-1:0] valid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (empty_i) valid_q <= '0;
    else if (we_i) valid_q[fw_grant_index_t'(grant_i.name)] <= grant_i.valid;
  end

  fw_grant_t grant[1];
  lut_ram_nr1w #(
      .WIDTH($bits(fw_grant_t)),
      .DEPTH(FW_GRANTS)
  ) u_grants (
      .clk_i,
      .write_i        (we_i),
      .write_address_i(fw_grant_index_t'(grant_i.name)),
      .write_data_i   (grant_i),
      .read_address_i ('{index_i}),
      .read_data_o    (grant)
  );
  always_comb begin
    grant_o = grant[0];
    grant_o.valid = valid_q[index_i];
  end

endmodule
