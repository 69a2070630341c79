// SPDX-License-Identifier: BSD-2-Clause
// The queue pairs: what the driver configured, their state, and how far their rings are.
// Every item has one writer, but for the status, whose writers are arbitrated.

module qp_table
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned N_QP = MAX_QP,
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

  qp_config_t  config_q[N_QP];
  qp_status_t  status_q[N_QP];
  qp_peer_t    peer_q[N_QP];
  qp_sq_t      sq_q[N_QP];
  qp_ended_t   ended_q[N_QP];
  refused_request_t refused_q[N_QP];
  wqe_index_t  sq_producer_q[N_QP];
  wqe_index_t  rq_producer_q[N_QP];
  wqe_index_t  rq_consumer_q[N_QP];

  // After reset one entry a cycle is made invalid.
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

  always_ff @(posedge clk_i) begin
    if (!init_done_o || config_we_i)
      config_q[init_done_o ? config_qpn_i : init_q] <= init_done_o ? config_i : '0;
  end

  assign status_ready_o =
      config_we_i ? '0 : {status_valid_i[1:0] == '0, !status_valid_i[0], 1'b1};
  // ERROR is left by the driver alone: what another block makes of a status before it is void.
  qpn_t status_qpn;
  qp_status_t status;
  logic stale;
  always_comb begin
    {status_qpn, status, stale} = '0;
    for (int i = STATUS_WRITERS - 1; i >= 0; i--) begin
      if (status_valid_i[i]) begin
        status_qpn = status_qpn_i[i];
        status     = status_i[i];
      end
    end
    if (status_valid_i != '0)
      stale = status_q[status_qpn].state == QP_STATE_ERROR && status.state != QP_STATE_ERROR;
  end
  always_ff @(posedge clk_i) begin
    if (config_we_i) status_q[config_qpn_i] <= config_status_i;
    else if (status_valid_i != '0 && !stale) status_q[status_qpn] <= status;
  end

  logic clear;
  assign clear = config_we_i && config_clear_i;
  always_ff @(posedge clk_i) begin
    if (clear || peer_we_i) peer_q[clear ? config_qpn_i : peer_qpn_i] <= clear ? '0 : peer_i;
  end
  always_ff @(posedge clk_i) begin
    if (clear || refused_we_i)
      refused_q[clear ? config_qpn_i : refused_qpn_i] <= clear ? '0 : refused_i;
  end
  always_ff @(posedge clk_i) begin
    if (clear || sq_we_i) sq_q[clear ? config_qpn_i : sq_qpn_i] <= clear ? '0 : sq_i;
  end
  always_ff @(posedge clk_i) begin
    if (clear || ended_we_i) ended_q[clear ? config_qpn_i : ended_qpn_i] <= clear ? '0 : ended_i;
  end
  always_ff @(posedge clk_i) begin
    if (clear) sq_producer_q[config_qpn_i] <= '0;
    else if (producer_we_i && !producer_rq_i) sq_producer_q[producer_qpn_i] <= producer_i;
  end
  always_ff @(posedge clk_i) begin
    if (clear) rq_producer_q[config_qpn_i] <= '0;
    else if (producer_we_i && producer_rq_i) rq_producer_q[producer_qpn_i] <= producer_i;
  end
  always_ff @(posedge clk_i) begin
    if (clear) rq_consumer_q[config_qpn_i] <= '0;
    else if (rq_consumer_we_i) rq_consumer_q[rq_consumer_qpn_i] <= rq_consumer_i;
  end

  for (genvar i = 0; i < QP_CLIENTS; i++) begin : gen_read
    always_ff @(posedge clk_i) begin
      if (read_i[i]) begin
        read_o[i] <= '{
            cfg: config_q[read_qpn_i[i]],
            status: status_q[read_qpn_i[i]],
            peer: peer_q[read_qpn_i[i]],
            sq: sq_q[read_qpn_i[i]],
            sq_producer: sq_producer_q[read_qpn_i[i]],
            rq_producer: rq_producer_q[read_qpn_i[i]],
            rq_consumer: rq_consumer_q[read_qpn_i[i]],
            ended: ended_q[read_qpn_i[i]],
            refused: refused_q[read_qpn_i[i]]
        };
      end
    end
  end

endmodule
