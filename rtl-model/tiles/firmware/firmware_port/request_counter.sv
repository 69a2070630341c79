// SPDX-License-Identifier: BSD-2-Clause
// A count for each queue pair, that runs on and round. It is kept twice: for those who look, as the tables of queues
// are read; and for a step and the walk, which need it in the cycle of the address.

module request_counter
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned READERS = 4
) (
    input logic clk_i,

    input logic step_i,  // one more
    input qpn_t step_qpn_i,
    input logic clear_i,  // from zero on; a step in that cycle is none
    input qpn_t clear_qpn_i,

    input  logic [READERS-1:0] look_i,
    input  qpn_t               look_qpn_i[READERS],
    output reads_t             count_o   [READERS],

    input  qpn_t   walk_qpn_i,  // combinational
    output reads_t walk_count_o
);

  logic write;
  qpn_t write_qpn, now_qpn[2];
  reads_t count, now[2];
  assign write = clear_i || step_i;
  assign write_qpn = clear_i ? clear_qpn_i : step_qpn_i;
  assign count = clear_i ? '0 : now[0] + 1'b1;
  assign now_qpn = '{step_qpn_i, walk_qpn_i};
  assign walk_count_o = now[1];

  ram_nr1w #(
      .WIDTH($bits(reads_t)),
      .DEPTH(N_QP),
      .READERS(READERS)
  ) u_looks (
      .clk_i,
      .write_i        (write),
      .write_address_i(write_qpn),
      .write_data_i   (count),
      .read_i         (look_i),
      .read_address_i (look_qpn_i),
      .read_data_o    (count_o)
  );
  lut_ram_nr1w #(
      .WIDTH($bits(reads_t)),
      .DEPTH(N_QP),
      .READERS(2)
  ) u_now (
      .clk_i,
      .write_i        (write),
      .write_address_i(write_qpn),
      .write_data_i   (count),
      .read_address_i (now_qpn),
      .read_data_o    (now)
  );

endmodule
