// SPDX-License-Identifier: BSD-2-Clause
// What the completer tells the tables of queues, of queue pair status_qpn, which it has read.

interface completer_queues_if
  import exrnic_core_pkg::*;
();
  logic       ended_we;
  qp_ended_t  ended;
  logic       status_valid;
  logic       status_ready;
  qpn_t       status_qpn;
  qp_status_t status;

  logic heard;        // pulse: a segment of its work was acknowledged,
  logic heard_none;   // and nothing else of it is under way;
  logic heard_error;  // or something ends in ERROR, where nothing is awaited
  logic silent_valid;  // nothing was heard of this one's work for too long; withdrawn when something is
  logic silent_ready;
  qpn_t silent_qpn;

  modport completer(
      output ended_we, ended, status_valid, status_qpn, status, heard, heard_none, heard_error,
      silent_ready,
      input status_ready, silent_valid, silent_qpn
  );
  modport queues(
      input ended_we, ended, status_valid, status_qpn, status, heard, heard_none, heard_error,
      silent_ready,
      output status_ready, silent_valid, silent_qpn
  );

endinterface
