// SPDX-License-Identifier: BSD-2-Clause
// The completion queues: what the driver configured, and how far their rings are.

module cq_table
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned N_CQ = MAX_CQ
) (
    input  logic clk_i,
    input  logic rst_ni,
    output logic init_done_o,
    output cqn_t init_cqn_o,  // until then: the queue that is made invalid in this cycle

    // The driver's access; a write empties the queue.
    input  logic       config_we_i,
    input  cqn_t       config_cqn_i,
    input  cq_config_t config_i,
    output cq_config_t config_o,  // of config_cqn_i, combinational

    // The queue in hand: the answer to a look stays until the next one.
    input  logic        look_i,
    input  cqn_t        cqn_i,
    output cq_config_t  cq_o,
    output logic [31:0] producer_o,
    output logic [31:0] consumer_o,
    input  logic        producer_we_i,  // one completion more
    input  logic        consumer_we_i,
    input  logic [31:0] consumer_i
);

  cq_config_t config_q[N_CQ];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      init_cqn_o  <= '0;
      init_done_o <= 1'b0;
    end else if (!init_done_o) begin
      init_cqn_o  <= init_cqn_o + 1'b1;
      init_done_o <= init_cqn_o == cqn_t'(N_CQ - 1);
    end
  end
  always_ff @(posedge clk_i) begin
    if (!init_done_o) config_q[init_cqn_o] <= '0;
    else if (config_we_i) config_q[config_cqn_i] <= config_i;
  end
  ram_1r1w #(
      .WIDTH(32),
      .DEPTH(N_CQ)
  ) u_producer (
      .clk_i,
      .write_i        (config_we_i || producer_we_i),
      .write_address_i(config_we_i ? config_cqn_i : cqn_i),
      .write_data_i   (config_we_i ? '0 : producer_o + 1'b1),
      .read_i         (look_i),
      .read_address_i (cqn_i),
      .read_data_o    (producer_o)
  );
  ram_1r1w #(
      .WIDTH(32),
      .DEPTH(N_CQ)
  ) u_consumer (
      .clk_i,
      .write_i        (config_we_i || consumer_we_i),
      .write_address_i(config_we_i ? config_cqn_i : cqn_i),
      .write_data_i   (config_we_i ? '0 : consumer_i),
      .read_i         (look_i),
      .read_address_i (cqn_i),
      .read_data_o    (consumer_o)
  );
  assign config_o = config_q[config_cqn_i];

  always_ff @(posedge clk_i) begin
    if (look_i) cq_o <= config_q[cqn_i];
  end

endmodule
