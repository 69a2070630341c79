// SPDX-License-Identifier: BSD-2-Clause
// The shared receive queues: what the driver configured, how far their rings are, and the limit
// below which a queue calls for more. Every ring index has one writer.

`include "exrnic_assert.svh"

module srq_table
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned N_SRQ = MAX_SRQ
) (
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

  srq_config_t config_q[N_SRQ];
  logic [15:0] limit_q[N_SRQ];
  wqe_index_t  producer_q[N_SRQ];
  wqe_index_t  consumer_q[N_SRQ];

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

  always_ff @(posedge clk_i) begin
    if (!init_done_o) config_q[init_q] <= '0;
    else if (config_we_i) config_q[config_srqn_i] <= config_i;
  end
  always_ff @(posedge clk_i) begin
    if (config_we_i) limit_q[config_srqn_i] <= config_limit_i;
    else if (consumer_we_i) limit_q[consumer_srqn_i] <= limit_i;
  end

  logic clear;
  assign clear = config_we_i && config_clear_i;
  always_ff @(posedge clk_i) begin
    if (clear) producer_q[config_srqn_i] <= '0;
    else if (producer_we_i) producer_q[producer_srqn_i] <= producer_i;
  end
  always_ff @(posedge clk_i) begin
    if (clear) consumer_q[config_srqn_i] <= '0;
    else if (consumer_we_i) consumer_q[consumer_srqn_i] <= consumer_i;
  end

  for (genvar i = 0; i < SRQ_CLIENTS; i++) begin : gen_read
    always_ff @(posedge clk_i) begin
      if (read_i[i]) begin
        read_o[i] <= '{
            cfg: config_q[read_srqn_i[i]],
            limit: limit_q[read_srqn_i[i]],
            producer: producer_q[read_srqn_i[i]],
            consumer: consumer_q[read_srqn_i[i]]
        };
      end
    end
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(driver_alone, !(config_we_i && (producer_we_i || consumer_we_i)))

endmodule
