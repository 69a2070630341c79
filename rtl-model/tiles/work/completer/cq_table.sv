// SPDX-License-Identifier: BSD-2-Clause
// The completion queues: what the driver configured, and how far their rings are.

`include "exrnic_assert.svh"

module cq_table
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    output logic init_done_o,
    output cqn_t init_cqn_o,  // until then: the queue that is made invalid in this cycle

    // The driver's access; a write empties the queue, the answer to a look stays until the next one.
    input  logic       config_look_i,
    input  logic       config_we_i,
    input  cqn_t       config_cqn_i,
    input  cq_config_t config_i,
    output cq_config_t config_o,

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

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      init_cqn_o  <= '0;
      init_done_o <= 1'b0;
    end else if (!init_done_o) begin
      init_cqn_o  <= init_cqn_o + 1'b1;
      init_done_o <= init_cqn_o == cqn_t'(N_CQ - 1);
    end
  end

  cqn_t config_cqn[2];
  cq_config_t config_read[2];
  assign config_cqn = '{cqn_i, config_cqn_i};
  assign cq_o = config_read[0];
  assign config_o = config_read[1];
  ram_nr1w #(
      .WIDTH($bits(cq_config_t)),
      .DEPTH(N_CQ),
      .READERS(2)
  ) u_config (
      .clk_i,
      .write_i        (config_we_i || !init_done_o),
      .write_address_i(init_done_o ? config_cqn_i : init_cqn_o),
      .write_data_i   (init_done_o ? config_i : '0),
      .read_i         ({config_look_i, look_i}),
      .read_address_i (config_cqn),
      .read_data_o    (config_read)
  );
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

  // ---- What is promised
  `EXRNIC_ALWAYS(one_writer,
      $onehot0({!init_done_o, config_we_i, producer_we_i, consumer_we_i}))

endmodule
