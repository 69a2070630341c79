// SPDX-License-Identifier: BSD-2-Clause
// Pulses: what the driver hears of its objects.

interface host_event_if
  import exrnic_core_pkg::*;
();
  logic  qp_error;
  qpn_t  qpn;
  logic  cq_error;
  cqn_t  cqn;
  logic  srq_limit;
  srqn_t srqn;

  modport source(output qp_error, qpn, cq_error, cqn, srq_limit, srqn);
  modport registers(input qp_error, qpn, cq_error, cqn, srq_limit, srqn);

endinterface
