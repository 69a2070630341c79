// SPDX-License-Identifier: BSD-2-Clause
// The shared receive queues: what the driver configured, how far their rings are, and the limit
// below which a queue calls for more. Every ring index has one writer.

`include "exrnic_assert.svh"

module srq_table
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    output logic init_done_o,

    // Reads: the answer is there in the next cycle and stays until the client's next read.
    input  logic [SRQ_CLIENTS-1:0] read_i,
    input  srqn_t                  read_srqn_i[SRQ_CLIENTS],
    output srq_t                   read_o     [SRQ_CLIENTS],

    // The driver. Only while the core is quiescent.
    input logic        config_we_i,
    input srqn_t       config_srqn_i,
    input srq_config_t config_i,
    input logic [15:0] config_limit_i,
    input logic        config_clear_i,  // ring back to zero

    // Slots posted.
    input logic       producer_we_i,
    input srqn_t      producer_srqn_i,
    input wqe_index_t producer_i,

    // Slots taken, and the limit as it is then.
    input logic        consumer_we_i,
    input srqn_t       consumer_srqn_i,
    input wqe_index_t  consumer_i,
    input logic [15:0] limit_i
);

  // A memory for each writer.
  srq_config_t config_read  [SRQ_CLIENTS];
  logic [15:0] limit_read   [SRQ_CLIENTS];
  wqe_index_t  producer_read[SRQ_CLIENTS];
  wqe_index_t  consumer_read[SRQ_CLIENTS];

  // After reset one entry a cycle is made invalid.
  srqn_t init_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      init_q      <= '0;
      init_done_o <= 1'b0;
    end else if (!init_done_o) begin
      init_q      <= init_q + 1'b1;
      init_done_o <= init_q == srqn_t'(N_SRQ - 1);
    end
  end

  logic clear;
  assign clear = config_we_i && config_clear_i;

  ram_nr1w #(
      .WIDTH($bits(srq_config_t)),
      .DEPTH(N_SRQ),
      .READERS(SRQ_CLIENTS)
  ) u_config (
      .clk_i,
      .write_i        (!init_done_o || config_we_i),
      .write_address_i(init_done_o ? config_srqn_i : init_q),
      .write_data_i   (init_done_o ? config_i : '0),
      .read_i,
      .read_address_i (read_srqn_i),
      .read_data_o    (config_read)
  );
  ram_nr1w #(
      .WIDTH(16),
      .DEPTH(N_SRQ),
      .READERS(SRQ_CLIENTS)
  ) u_limit (
      .clk_i,
      .write_i        (config_we_i || consumer_we_i),
      .write_address_i(config_we_i ? config_srqn_i : consumer_srqn_i),
      .write_data_i   (config_we_i ? config_limit_i : limit_i),
      .read_i,
      .read_address_i (read_srqn_i),
      .read_data_o    (limit_read)
  );
  ram_nr1w #(
      .WIDTH($bits(wqe_index_t)),
      .DEPTH(N_SRQ),
      .READERS(SRQ_CLIENTS)
  ) u_producer (
      .clk_i,
      .write_i        (clear || producer_we_i),
      .write_address_i(clear ? config_srqn_i : producer_srqn_i),
      .write_data_i   (clear ? '0 : producer_i),
      .read_i,
      .read_address_i (read_srqn_i),
      .read_data_o    (producer_read)
  );
  ram_nr1w #(
      .WIDTH($bits(wqe_index_t)),
      .DEPTH(N_SRQ),
      .READERS(SRQ_CLIENTS)
  ) u_consumer (
      .clk_i,
      .write_i        (clear || consumer_we_i),
      .write_address_i(clear ? config_srqn_i : consumer_srqn_i),
      .write_data_i   (clear ? '0 : consumer_i),
      .read_i,
      .read_address_i (read_srqn_i),
      .read_data_o    (consumer_read)
  );

  for (genvar i = 0; i < SRQ_CLIENTS; i++) begin : gen_read
    assign read_o[i] = '{
            cfg: config_read[i],
            limit: limit_read[i],
            producer: producer_read[i],
            consumer: consumer_read[i]
        };
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(driver_alone, !(config_we_i && (producer_we_i || consumer_we_i)))

endmodule
