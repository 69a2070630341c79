// SPDX-License-Identifier: BSD-2-Clause
// Reads of the peers in firmware's hands: how many, and answers of firmware.

interface firmware_queues_if
  import exrnic_core_pkg::*;
();
  logic [2:0] look;  // requester, responder and mailbox look, as at the other reads
  qpn_t       look_qpn[3];
  reads_t     open[3];
  logic       lost;          // mailbox: firmware is gone, nobody answers those
  logic       answer_valid;  // to queue pair `answer_qpn`
  logic       answer_ready;
  qpn_t       answer_qpn;
  read_t      answer;

  modport firmware(input look, look_qpn, answer_ready, output open, lost, answer_valid, answer_qpn, answer);
  modport queues(output look, look_qpn, answer_ready, input open, lost, answer_valid, answer_qpn, answer);

endinterface
