// SPDX-License-Identifier: BSD-2-Clause
// The queue pairs: what the driver configured, their state, and how far their rings are.
// Every item has one writer, but for the status, whose writers are arbitrated.

`include "exrnic_assert.svh"

module qp_table
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    localparam int unsigned STATUS_WRITERS = 3
) (
    input  logic clk_i,
    input  logic rst_ni,
    output logic init_done_o,

    // Reads: the answer is there in the next cycle and stays until the client's next read.
    input  logic [QP_CLIENTS-1:0] read_i,
    input  qpn_t                  read_qpn_i[QP_CLIENTS],
    output qp_t                   read_o    [QP_CLIENTS],

    // The driver: replaces everything and empties the rings. Only while the core is quiescent.
    input logic       config_we_i,
    input qpn_t       config_qpn_i,
    input qp_config_t config_i,
    input qp_status_t config_status_i,
    input logic       config_clear_i,  // rings back to zero

    // Status changes by themselves: responder (0), completer (1), requester (2).
    input  logic [STATUS_WRITERS-1:0] status_valid_i,
    output logic [STATUS_WRITERS-1:0] status_ready_o,
    input  qpn_t                      status_qpn_i[STATUS_WRITERS],
    input  qp_status_t                status_i    [STATUS_WRITERS],

    // What the responder has heard of its peer.
    input logic     peer_we_i,
    input qpn_t     peer_qpn_i,
    input qp_peer_t peer_i,

    // A request of the peer that it has refused.
    input logic             refused_we_i,
    input qpn_t             refused_qpn_i,
    input refused_request_t refused_i,

    // Where the requester stands, and what the completer has seen the end of.
    input logic        sq_we_i,
    input qpn_t        sq_qpn_i,
    input qp_sq_t      sq_i,
    input logic        ended_we_i,
    input qpn_t        ended_qpn_i,
    input qp_ended_t   ended_i,

    // Rings.
    input logic       producer_we_i,
    input logic       producer_rq_i,  // receive queue, else send queue
    input qpn_t       producer_qpn_i,
    input wqe_index_t producer_i,
    input logic       rq_consumer_we_i,
    input qpn_t       rq_consumer_qpn_i,
    input wqe_index_t rq_consumer_i
);

  // A memory for each writer.
  qp_config_t       config_read     [QP_CLIENTS];
  qp_status_t       status_read     [QP_CLIENTS];
  qp_peer_t         peer_read       [QP_CLIENTS];
  qp_sq_t           sq_read         [QP_CLIENTS];
  qp_ended_t        ended_read      [QP_CLIENTS];
  refused_request_t refused_read    [QP_CLIENTS];
  wqe_index_t       sq_producer_read[QP_CLIENTS];
  wqe_index_t       rq_producer_read[QP_CLIENTS];
  wqe_index_t       rq_consumer_read[QP_CLIENTS];

  // After reset one entry a cycle is made invalid. Its generation stays: what the network still holds
  // of a life before the reset is of none that comes after it.
  qpn_t init_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      init_q      <= '0;
      init_done_o <= 1'b0;
    end else if (!init_done_o) begin
      init_q      <= init_q + 1'b1;
      init_done_o <= init_q == qpn_t'(N_QP - 1);
    end
  end

  ram_nr1w #(
      .WIDTH($bits(qp_config_t)),
      .DEPTH(N_QP),
      .READERS(QP_CLIENTS)
  ) u_config (
      .clk_i,
      .write_i        (!init_done_o || config_we_i),
      .write_address_i(init_done_o ? config_qpn_i : init_q),
      .write_data_i   (init_done_o ? config_i : '0),
      .read_i,
      .read_address_i (read_qpn_i),
      .read_data_o    (config_read)
  );

  generation_t generation_read[QP_CLIENTS];
  ram_nr1w #(
      .WIDTH($bits(generation_t)),
      .DEPTH(N_QP),
      .READERS(QP_CLIENTS)
  ) u_generation (
      .clk_i,
      .write_i        (config_we_i),
      .write_address_i(config_qpn_i),
      .write_data_i   (config_i.generation),
      .read_i,
      .read_address_i (read_qpn_i),
      .read_data_o    (generation_read)
  );

  assign status_ready_o =
      config_we_i ? '0 : {status_valid_i[1:0] == '0, !status_valid_i[0], 1'b1};
  // ERROR is left by the driver alone: what another block makes of a status before it is void.
  qpn_t status_qpn;
  qp_status_t status;
  logic stale, status_we;
  logic [N_QP-1:0] in_error_q;  // beside the memory: asked for in the cycle of the write
  always_comb begin
    {status_qpn, status, stale} = '0;
    for (int i = STATUS_WRITERS - 1; i >= 0; i--) begin
      if (status_valid_i[i]) begin
        status_qpn = status_qpn_i[i];
        status     = status_i[i];
      end
    end
    if (status_valid_i != '0)
      stale = in_error_q[status_qpn] && status.state != QP_STATE_ERROR;
  end
  assign status_we = config_we_i || (status_valid_i != '0 && !stale);
  always_ff @(posedge clk_i) begin
    if (config_we_i) in_error_q[config_qpn_i] <= config_status_i.state == QP_STATE_ERROR;
    else if (status_we) in_error_q[status_qpn] <= status.state == QP_STATE_ERROR;
  end
  ram_nr1w #(
      .WIDTH($bits(qp_status_t)),
      .DEPTH(N_QP),
      .READERS(QP_CLIENTS)
  ) u_status (
      .clk_i,
      .write_i        (status_we),
      .write_address_i(config_we_i ? config_qpn_i : status_qpn),
      .write_data_i   (config_we_i ? config_status_i : status),
      .read_i,
      .read_address_i (read_qpn_i),
      .read_data_o    (status_read)
  );

  logic clear;
  assign clear = config_we_i && config_clear_i;
  ram_nr1w #(
      .WIDTH($bits(qp_peer_t)),
      .DEPTH(N_QP),
      .READERS(QP_CLIENTS)
  ) u_peer (
      .clk_i,
      .write_i        (clear || peer_we_i),
      .write_address_i(clear ? config_qpn_i : peer_qpn_i),
      .write_data_i   (clear ? '0 : peer_i),
      .read_i,
      .read_address_i (read_qpn_i),
      .read_data_o    (peer_read)
  );
  ram_nr1w #(
      .WIDTH($bits(refused_request_t)),
      .DEPTH(N_QP),
      .READERS(QP_CLIENTS)
  ) u_refused (
      .clk_i,
      .write_i        (clear || refused_we_i),
      .write_address_i(clear ? config_qpn_i : refused_qpn_i),
      .write_data_i   (clear ? '0 : refused_i),
      .read_i,
      .read_address_i (read_qpn_i),
      .read_data_o    (refused_read)
  );
  ram_nr1w #(
      .WIDTH($bits(qp_sq_t)),
      .DEPTH(N_QP),
      .READERS(QP_CLIENTS)
  ) u_sq (
      .clk_i,
      .write_i        (clear || sq_we_i),
      .write_address_i(clear ? config_qpn_i : sq_qpn_i),
      .write_data_i   (clear ? '0 : sq_i),
      .read_i,
      .read_address_i (read_qpn_i),
      .read_data_o    (sq_read)
  );
  ram_nr1w #(
      .WIDTH($bits(qp_ended_t)),
      .DEPTH(N_QP),
      .READERS(QP_CLIENTS)
  ) u_ended (
      .clk_i,
      .write_i        (clear || ended_we_i),
      .write_address_i(clear ? config_qpn_i : ended_qpn_i),
      .write_data_i   (clear ? '0 : ended_i),
      .read_i,
      .read_address_i (read_qpn_i),
      .read_data_o    (ended_read)
  );
  ram_nr1w #(
      .WIDTH($bits(wqe_index_t)),
      .DEPTH(N_QP),
      .READERS(QP_CLIENTS)
  ) u_sq_producer (
      .clk_i,
      .write_i        (clear || (producer_we_i && !producer_rq_i)),
      .write_address_i(clear ? config_qpn_i : producer_qpn_i),
      .write_data_i   (clear ? '0 : producer_i),
      .read_i,
      .read_address_i (read_qpn_i),
      .read_data_o    (sq_producer_read)
  );
  ram_nr1w #(
      .WIDTH($bits(wqe_index_t)),
      .DEPTH(N_QP),
      .READERS(QP_CLIENTS)
  ) u_rq_producer (
      .clk_i,
      .write_i        (clear || (producer_we_i && producer_rq_i)),
      .write_address_i(clear ? config_qpn_i : producer_qpn_i),
      .write_data_i   (clear ? '0 : producer_i),
      .read_i,
      .read_address_i (read_qpn_i),
      .read_data_o    (rq_producer_read)
  );
  ram_nr1w #(
      .WIDTH($bits(wqe_index_t)),
      .DEPTH(N_QP),
      .READERS(QP_CLIENTS)
  ) u_rq_consumer (
      .clk_i,
      .write_i        (clear || rq_consumer_we_i),
      .write_address_i(clear ? config_qpn_i : rq_consumer_qpn_i),
      .write_data_i   (clear ? '0 : rq_consumer_i),
      .read_i,
      .read_address_i (read_qpn_i),
      .read_data_o    (rq_consumer_read)
  );

  for (genvar i = 0; i < QP_CLIENTS; i++) begin : gen_read
    qp_config_t cfg;
    always_comb begin
      cfg = config_read[i];
      cfg.generation = generation_read[i];
    end
    assign read_o[i] = '{
            cfg: cfg,
            status: status_read[i],
            peer: peer_read[i],
            sq: sq_read[i],
            sq_producer: sq_producer_read[i],
            rq_producer: rq_producer_read[i],
            rq_consumer: rq_consumer_read[i],
            ended: ended_read[i],
            refused: refused_read[i]
        };
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(one_status_is_taken, $onehot0(status_valid_i & status_ready_o))
  `EXRNIC_ALWAYS(driver_alone, !config_we_i || !(peer_we_i || refused_we_i || sq_we_i ||
      ended_we_i || producer_we_i || rq_consumer_we_i))

endmodule
