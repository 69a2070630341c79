// SPDX-License-Identifier: BSD-2-Clause
// What the completer tells the tables of queues, of the queue pair that it has read.

interface completer_queues_if
  import exrnic_core_pkg::*;
();
  logic       ended_we;
  qp_ended_t  ended;
  logic       status_valid;
  logic       status_ready;
  qpn_t       status_qpn;
  qp_status_t status;

  modport completer(output ended_we, ended, status_valid, status_qpn, status, input status_ready);
  modport queues(input ended_we, ended, status_valid, status_qpn, status, output status_ready);

endinterface
