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

    // The driver's access; a write with `clear` empties the queue, the answer to a look stays until the next one.
    input  logic        config_look_i,
    input  logic        config_we_i,
    input  logic        config_clear_i,
    input  cqn_t        config_cqn_i,
    input  cq_config_t  config_i,
    output cq_config_t  config_o,
    output logic [31:0] config_producer_o,
    output logic [31:0] config_unread_o,

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

  // Whose row is read: of the queue in hand, and of the one that the driver looks at.
  logic [1:0] looks;
  cqn_t look_cqn[2];
  cq_config_t config_read[2];
  logic [31:0] producer_read[2], consumer_read[2];
  assign looks = {config_look_i, look_i};
  assign look_cqn = '{cqn_i, config_cqn_i};
  assign cq_o = config_read[0];
  assign producer_o = producer_read[0];
  assign consumer_o = consumer_read[0];
  assign config_o = config_read[1];
  assign config_producer_o = producer_read[1];
  assign config_unread_o = producer_read[1] - consumer_read[1];
  logic clears;
  assign clears = config_we_i && config_clear_i;
  ram_nr1w #(
      .WIDTH($bits(cq_config_t)),
      .DEPTH(N_CQ),
      .READERS(2)
  ) u_config (
      .clk_i,
      .write_i        (config_we_i || !init_done_o),
      .write_address_i(init_done_o ? config_cqn_i : init_cqn_o),
      .write_data_i   (init_done_o ? config_i : '0),
      .read_i         (looks),
      .read_address_i (look_cqn),
      .read_data_o    (config_read)
  );
  ram_nr1w #(
      .WIDTH(32),
      .DEPTH(N_CQ),
      .READERS(2)
  ) u_producer (
      .clk_i,
      .write_i        (clears || producer_we_i),
      .write_address_i(clears ? config_cqn_i : cqn_i),
      .write_data_i   (clears ? '0 : producer_o + 1'b1),
      .read_i         (looks),
      .read_address_i (look_cqn),
      .read_data_o    (producer_read)
  );
  ram_nr1w #(
      .WIDTH(32),
      .DEPTH(N_CQ),
      .READERS(2)
  ) u_consumer (
      .clk_i,
      .write_i        (clears || consumer_we_i),
      .write_address_i(clears ? config_cqn_i : cqn_i),
      .write_data_i   (clears ? '0 : consumer_i),
      .read_i         (looks),
      .read_address_i (look_cqn),
      .read_data_o    (consumer_read)
  );

  // ---- What is promised
  `EXRNIC_ALWAYS(one_writer,
      $onehot0({!init_done_o, config_we_i, producer_we_i, consumer_we_i}))

endmodule
