// SPDX-License-Identifier: BSD-2-Clause
// Pulses: queue pairs that go to ERROR, as the responder, the completer and the requester say.

interface failed_if
  import exrnic_core_pkg::*;
();
  logic [2:0] valid;
  qpn_t       qpn[3];

  modport source(output valid, qpn);
  modport sink(input valid, qpn);

endinterface
