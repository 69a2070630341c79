// SPDX-License-Identifier: BSD-2-Clause
// Pulses: what the driver hears of its objects.

interface host_event_if
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
();
  logic      qp_error;
  qpn_t      qpn;
  qp_cause_e cause;
  logic      cq_error;
  cqn_t      cqn;
  logic      srq_limit;
  srqn_t     srqn;
  logic      last_wqe;  // a queue pair has nothing of a shared receive queue any more
  qpn_t      last_wqe_qpn;
  logic      sq_drained;  // in SQD
  qpn_t      sq_drained_qpn;
  logic      completion;  // an armed completion queue has fired, of this event queue
  cqn_t      completion_cqn;
  eqn_t      completion_eqn;
  logic      peer_dead;
  node_t     dead_node;
  logic      host_silent;      // a read of host memory was not answered
  logic      firmware_failed;
  logic      firmware_irq;     // firmware wants the control interrupt

  modport work(
      output qp_error, qpn, cause, cq_error, cqn, srq_limit, srqn, last_wqe, last_wqe_qpn, sq_drained,
      output sq_drained_qpn, completion, completion_cqn, completion_eqn
  );
  modport wire_tile(output peer_dead, dead_node);
  modport firmware(output firmware_failed, firmware_irq);
  modport host(
      input qp_error, qpn, cause, cq_error, cqn, srq_limit, srqn, last_wqe, last_wqe_qpn, sq_drained,
      input sq_drained_qpn, completion, completion_cqn, completion_eqn, peer_dead, dead_node, host_silent, firmware_failed, firmware_irq
  );

endinterface
